"""Problems of estimators solved by ``solve``, ``path`` or rules of ``minimize``, and paths of any estimator.

A gap bounds what is left of the objective.  With a penalty ½·Σ μ_j x_j² it bounds the coefficients' error too, since

    ½·Σ μ_j (x_j − x*_j)² ≤ F(x) − F(x*) ≤ gap:

a gap of at most tol·½·Σ μ_j x_j² makes the relative error of the coefficients, in the penalty's norm, at most √tol.
``solve_problem`` continues until that holds as well, as far as float64 can tell.

A path falls through strengths of the penalty, each fit started from the one before; cross-validations share its grids.
Rules of the paper (``solver="a-ascd"``) run in ``minimize``, which stops on steepness: it is called with falling
tolerances until the duality gap is small enough.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ascd._core.checks import Array, as_count, as_finite_vector, as_number, as_vector, unknown_name
from ascd._core.timing import Stopwatch
from ascd.estimators._data import errors_about_x
from ascd.estimators._parameters import check_parameters, documented
from ascd.matrix.base import DataGone, as_block
from ascd.matrix.columns import UNIT
from ascd.problem.block_penalties import BlockNorm
from ascd.problem.certificate import predictor_error
from ascd.problem.penalties import Net
from ascd.problem.problem import Problem
from ascd.results import Solution, Status, hearing_of_losses, tell_of_loss
from ascd.solver import path, solve
from ascd.solver.loop import as_reference
from ascd.solver.state import State

Energy = Callable[[Array], float]
#: For the coefficients' sake a gap is asked to be as small as this, relative to F at zero, and no smaller: F itself has
#: rounding errors of about 1e-16 for each of its terms.
FINEST = 1e-14
#: The steepness asked of the engine, relative to the start's, from one run to the next: the gap is about its square.
FALLING = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14)
PARTS = ("rule", "oracle", "steepness", "step", "init")
#: What scikit-learn calls zero among strengths of penalties.
ZERO_STRENGTH = float(np.finfo(np.float64).resolution)
#: Advice about a fit that ended early.
ADVICE = {
    Status.ITERATION_LIMIT: "Increase max_iter, or increase tol if such a gap is good enough.",
    Status.STALLED: "Increase tol: what is left cannot be told from rounding errors; rescaling the features may help.",
    Status.UNREACHABLE: "Fit again where the data can be reached; warm_start=True continues from here where it exists.",
    Status.DIVERGED: "The objective has no minimum that can be reached: add a penalty or rescale the features.",
}


@dataclass(frozen=True)
class Settings:
    """How an estimator wants its problems solved."""

    tol: float
    max_iter: int
    n_jobs: int = 1
    solver: Any = "auto"
    random_state: Any = None
    to_float32: bool = False


def warn_of_copies(problem: Any, y: Array, names: Array | None) -> None:
    """Warn where a column equals the target, of which the model would learn nothing.

    Sums that the problem knows already find the columns to read; labels ±1 may be a column of 0 and 1.
    """
    stats, n = problem.column_stats, len(y)
    is_signed = y[0] * y[0] == 1.0 and bool(np.all(y * y == 1.0))
    for target in (y, (y > 0.0).astype(float)) if is_signed else (y,):
        with np.errstate(all="ignore"):
            size, total = float(target @ target), float(target.sum())
            is_like = np.abs(stats.plain - size) <= 1e-9 * size  # far beyond the rounding of the sums
            is_like &= np.abs(stats.total - total) <= 1e-9 * math.sqrt(n * size)
        if not is_like.any() or np.ptp(target) == 0.0:
            continue
        for j in np.flatnonzero(is_like)[:3]:
            if np.array_equal(as_block(problem.design.take(np.array([j])), n)[:, 0], target):
                name = f"column {j}" if names is None else f"column {names[j]!r}"
                message = f"{name} of X equals y: the model predicts the target from itself; leave the column out"
                warnings.warn(message, stacklevel=frames_to_the_user())
                return


def frames_to_the_user() -> int:
    """Return the ``stacklevel`` at which a warning, made by the caller, points at the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("ascd", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level


def warn_of_convergence(message: str) -> None:
    """Issue a ``ConvergenceWarning`` that points at the user's own line."""
    warnings.warn(message, ConvergenceWarning, stacklevel=frames_to_the_user())


def solve_problem(
    problem: Any, settings: Settings, *, intercept: bool, x0: Array | None = None, intercept0: Any = None,
    energy: Energy | None = None,
) -> Any:  # fmt: skip
    """Solve by the production solver or by rules of ``minimize``.

    ``energy`` is ½·Σ μ_j w_j² of the coefficients w that a point x stands for, by default x itself.
    """
    if x0 is not None and problem.is_by_coordinate and not math.isfinite(problem.cost(x0)):
        x0 = None  # a warm start that other bounds do not allow
    limits: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "intercept": intercept, "x0": x0}
    if settings.solver != "auto":
        try:
            found: Any = minimize_problem(problem, settings, intercept0=intercept0 or 0.0, **limits)
        except (TypeError, ValueError) as error:
            allowed = "'auto', or a rule or a dict of parts for ascd.minimize where that takes the problem"
            raise ValueError(f"solver must be {allowed}; got {settings.solver!r}: {error}") from error
    else:
        found = solve(problem, intercept0=intercept0 if intercept else None, n_jobs=settings.n_jobs, **limits)
        if energy is None:
            mu = curvatures_of(problem.penalty)
            if mu is not None and np.any(mu):
                energy = partial(energy_of, mu)
        if energy is not None:
            found = refined(problem, settings, intercept, found, energy)
    return in_float32(problem, found, settings) if settings.to_float32 else found


def solve_in_turn(solvers: Iterable[Callable[[Settings], Any]], settings: Settings) -> list[Any]:
    """Solve several problems, one after the other; after Ctrl-C in one the others stay where they begin."""
    solutions: list[Any] = []
    is_over = False
    for solve_one in solvers:
        found = solve_one(replace(settings, max_iter=0) if is_over else settings)
        if is_over and not found.status.is_answer:
            found = replace(found, status=Status.INTERRUPTED)
        is_over = is_over or found.status is Status.INTERRUPTED
        solutions.append(found)
    return solutions


def energy_of(mu: Any, x: Array) -> float:
    """Return ½·Σ μ_j x_j²."""
    return 0.5 * float(np.sum(mu * x**2))


def curvatures_of(penalty: Any) -> Any:
    """Return the μ_j of a penalty ½·Σ μ_j x_j², one number or one a row of x; None where it has kinks."""
    if isinstance(penalty, Net) and not np.any(penalty.l1):
        return penalty.l2
    if isinstance(penalty, BlockNorm) and not (np.any(penalty.group) or np.any(penalty.l1)):
        return np.asarray(penalty.ridge)[:, None]
    return None


def refined(problem: Any, settings: Settings, intercept: bool, found: Any, energy: Energy) -> Any:
    """Continue until the gap bounds the coefficients' error too; that this may fail is no failure of the fit."""
    tol, zero = settings.tol, found.zero_objective
    while found.converged and tol > FINEST and found.n_iter < settings.max_iter:
        wanted = settings.tol * energy(found.x)
        if found.gap <= max(wanted, FINEST * zero):
            break
        tol = max(FINEST, min(1e-3 * tol, wanted / zero))
        start = {"x0": found.x, "intercept0": found.intercept if intercept else None}
        limits = {"max_iter": min(25, settings.max_iter - found.n_iter), "n_jobs": settings.n_jobs}
        try:
            finer = solve(problem, tol, intercept=intercept, **start, **limits)
        except KeyboardInterrupt:  # the certificate of the point so far is known
            return replace(found, status=Status.INTERRUPTED)
        except DataGone:
            break
        status = finer.status if finer.status is Status.INTERRUPTED else found.status
        work = ("n_iter", "reads", "seconds", "compile_seconds")
        spent: dict[str, Any] = {name: getattr(found, name) + getattr(finer, name) for name in work}
        found = replace(finer if finer.gap <= found.gap else found, status=status, **spent)
        if not finer.converged:
            break
    return found


def in_float32(problem: Any, found: Any, settings: Settings) -> Any:
    """Return the solution with coefficients and intercepts that float32 holds, and their own gap.

    Coefficients are rounded towards zero where bounds do not allow the nearest ones.  F(x') − min F is F(x') − F(x),
    whose rounding errors are added, and the gap of x; without the data nothing is proved.
    """
    with np.errstate(over="ignore"):
        nearest = found.x.astype(np.float32)
        if problem.is_by_coordinate and not math.isfinite(problem.cost(nearest.astype(np.float64))):
            is_larger = np.abs(nearest) > np.abs(found.x)
            nearest = np.where(is_larger, np.nextafter(nearest, np.float32(0.0)), nearest)
        x = nearest.astype(np.float64)
        constant: Any = np.asarray(found.intercept).astype(np.float32).astype(np.float64)[()]
    is_beyond = not (np.isfinite(nearest).all() and np.isfinite(constant).all())  # float32's range: float64 stays
    if is_beyond or (np.array_equal(x, found.x) and np.array_equal(constant, found.intercept)):
        return found
    if found.status is Status.UNREACHABLE:
        return replace(found, gap=math.inf)
    try:
        before, error = objective_at(problem, found.x, found.intercept)
        value, off = objective_at(problem, x, constant)
    except KeyboardInterrupt:
        return replace(found, status=Status.INTERRUPTED, gap=math.inf)
    except DataGone as gone:
        tell_of_loss(gone)
        return replace(found, status=Status.UNREACHABLE, gap=math.inf)
    gap = found.gap + max(0.0, value - before) + error + off
    is_missed = gap > settings.tol * found.zero_objective and found.status is Status.CONVERGED
    status = Status.STALLED if is_missed else found.status
    return replace(found, x=x, intercept=constant, objective=value, gap=gap, status=status)


def objective_at(problem: Any, x: Array, constant: Any) -> tuple[float, float]:
    """Return F(x, c) and a bound on its rounding error: of the sums, and of Ax + c."""
    value, predictor, gradient = problem.evaluate(x, constant)
    point, weight, n = problem.as_point(x, "x"), problem.weight, problem.n_samples
    cost, gradient, predictor = problem.cost(point), gradient.reshape(n, -1), predictor.reshape(n, -1)
    length = float(np.linalg.norm(gradient / np.sqrt(np.where(weight > 0.0, weight, np.inf))[:, None]))
    error = UNIT * (gradient.size + 16.0) * (abs(value - cost) + abs(cost))
    error += length * predictor_error(problem, point, np.ravel(constant))
    if not problem.loss.is_quadratic:  # a loss is itself a difference: exp(z) − y·z, say
        largest = np.abs(predictor).max(axis=1)
        targets = np.abs(problem.loss.given.reshape(n, -1)).max(axis=1)
        error += 16.0 * UNIT * float(weight @ ((1.0 + targets) * (1.0 + largest)))
    return float(value), 2.0 * error


def minimize_problem(
    problem: Problem, settings: Settings, *, tol: float, max_iter: int, intercept: bool, x0: Array | None,
    intercept0: float,
) -> Solution:  # fmt: skip
    """Solve by ``minimize`` with ``max_iter`` epochs at most; an intercept is one more coordinate without penalty."""
    from ascd.engine.minimize import minimize, with_constant

    solver, stopwatch, state = settings.solver, Stopwatch(), settings.random_state
    parts = {"rule": solver} if isinstance(solver, str) else dict(solver)
    for name in parts:
        if name not in PARTS:
            raise unknown_name(name, "part in solver", PARTS)
    seed = state.randint(np.iinfo(np.int32).max) if isinstance(state, np.random.RandomState) else state
    extended = with_constant(problem) if intercept else problem
    zero = as_reference(problem, State(problem, np.zeros((problem.n_features, 1)), intercept, np.zeros(1)))
    start = None if x0 is None else np.append(x0, intercept0) if intercept else np.asarray(x0, dtype=float)
    first = minimize(
        extended, "cyclic", steepness=parts.get("steepness", "gs-s"), x0=start, max_iter=0, record=None
    ).steepness
    steps, reads, seconds, target = 0, 0, 0.0, tol * zero
    for share in FALLING:
        left = max_iter * extended.n_features - steps
        found = minimize(
            extended, x0=start, tol=share * max(first, 1e-300), max_iter=left, rng=seed, record=None, **parts
        )
        steps, reads, seconds, start = steps + found.n_iter, reads + found.reads, seconds + found.seconds, found.x
        if not found.status.is_answer or found.gap <= target or math.isinf(found.gap):
            break
    status = Status.STATIONARY if found.status.is_answer else found.status  # flat, but not proved good enough
    x, constant = (found.x[:-1], float(found.x[-1])) if intercept else (found.x, 0.0)
    return replace(
        found, x=x, intercept=constant, status=Status.CONVERGED if found.gap <= target else status, zero_objective=zero,
        n_iter=max(1, math.ceil(steps / extended.n_features)), reads=reads, seconds=seconds,
        compile_seconds=stopwatch.compile_seconds,
    )  # fmt: skip


class Followed(NamedTuple):
    """The fits for a sequence of penalties, one along the last axis of ``coefs``, in the solver's units."""

    coefs: Any
    intercepts: Array
    gaps: Array
    n_iters: Array
    tolerance: float
    status: Status


def follow(problem: Any, factors: Array, settings: Settings, *, intercept: bool, x0: Array | None = None) -> Followed:
    """Fit the problem with its penalty times each of the falling factors, each started from the one before."""
    if settings.solver == "auto":
        how: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "n_jobs": settings.n_jobs}
        found = whole(
            lambda: path(problem, alphas=factors, intercept=intercept, x0=x0, early_stop=False, **how), len(factors)
        )
        tolerance = settings.tol * found.zero_objective
        return Followed(found.coefs, found.intercepts, found.gaps, found.n_iters, tolerance, found.status)

    def fit(factor: float, before: Any) -> Any:
        start = (x0, 0.0) if before is None else (before.x, before.intercept)
        one = problem.replace(penalty=problem.penalty.scaled(factor))
        return solve_problem(one, settings, intercept=intercept, x0=start[0], intercept0=start[1])

    return one_by_one(fit, factors, settings.tol)


def one_by_one(fit: Callable[[float, Any], Any], factors: Array, tol: float) -> Followed:
    """Gather ``fit(factor, the solution before)`` for all factors."""

    def gathered() -> Followed:
        solutions: list[Any] = []
        for factor in factors:
            solutions.append(fit(float(factor), solutions[-1] if solutions else None))
            if solutions[-1].status in (Status.INTERRUPTED, Status.UNREACHABLE):
                break
        return Followed(
            coefs=np.stack([one.x for one in solutions], axis=-1),
            intercepts=np.stack([np.asarray(one.intercept) for one in solutions], axis=-1),
            gaps=np.array([one.gap for one in solutions]),
            n_iters=np.array([one.n_iter for one in solutions]),
            tolerance=tol * max(one.zero_objective for one in solutions),
            status=Status.of_all(one.status for one in solutions),
        )

    return whole(gathered, len(factors))


def whole(steps: Callable[[], Any], count: int) -> Any:
    """Return a path of ``count`` fits: an incomplete one is an error, Ctrl-C and the loss of data are raised again."""
    with hearing_of_losses() as lost:
        found = steps()
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if lost:
        raise lost[0]
    if found.gaps.size < count or not np.isfinite(found.coefs).all():
        raise ValueError(
            f"the fits ended ({found.status}) before the last penalty or with coefficients that are not finite. The "
            "input data may contain large values and need to be preprocessed."
        )
    return found


# ---- paths of estimators


class ModelPath(NamedTuple):
    """Fits from strong to weak penalties: one along the last axis of ``coefs``, ``intercepts``, ``gaps``, ``n_iters``.

    ``strengths`` are alphas, or the C of classifiers; ``coefs`` have the shape (n_features, n_strengths), with an axis
    of outputs in between where there are several.
    """

    strengths: Array
    coefs: Array
    intercepts: Array
    gaps: Array
    n_iters: Array


@documented
def model_path(
    model: Any, X: Any, y: Any, *, alphas: Any = 100, Cs: Any = 10, eps: float = 1e-3, sample_weight: Any = None,
    offset: Any = None, coef_init: Any = None,
) -> ModelPath:  # fmt: skip
    """Fit an estimator for falling alphas, or a classifier for rising C, each time from the fit before.

    Returns
    -------
    path : ModelPath
        With ``strengths``, ``coefs``, ``intercepts``, ``gaps`` and ``n_iters``.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import PoissonRegressor, model_path
    >>> path = model_path(PoissonRegressor(l1_ratio=1.0), np.eye(3), [1, 2, 9], alphas=[1.0, 0.1])
    >>> (path.coefs != 0.0).sum(axis=0).tolist()
    [1, 2]
    """
    if isinstance(model, type):
        raise TypeError(f"model must be an estimator, such as {model.__name__}(); got the class {model.__name__}")
    if not hasattr(model, "_follow"):
        raise TypeError(f"model must be an estimator of ascd; got {model!r}: ascd.path follows any Problem")
    name, taken = type(model).__name__, "Cs" if hasattr(model, "C") else "alphas"
    other, given, default = ("alphas", alphas, 100) if taken == "Cs" else ("Cs", Cs, 10)
    if not isinstance(given, Integral) or given != default:
        raise ValueError(f"{other} must be left out for {name}, whose strengths are {taken}; got {given!r}")
    check_parameters(model)
    ratio = as_ratio(getattr(model, "penalty", None), getattr(model, "l1_ratio", 0.0))
    with errors_about_x(X):
        data = model._read(X, y, sample_weight, offset)
        problem, settings = model._problems(data, [ratio])[0], model._settings()
        values = as_Cs(Cs) if taken == "Cs" else alpha_grid(model, data, problem, alphas, eps)
        x0 = None if coef_init is None else as_finite_vector(coef_init, "coef_init", data.X.shape[1])
        found = model._follow(data, problem, 1.0 / values if taken == "Cs" else values, settings, x0)
    warn_of_shortfalls(name, [found])
    return ModelPath(values, found.coefs, found.intercepts, found.gaps, np.maximum(1, found.n_iters))


def as_ratio(penalty: str | None, l1_ratio: float | None) -> float:
    """Return the share of the L1 penalty, from either way to state it."""
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    return {"l1": 1.0, "l2": 0.0}.get(penalty or "", 0.0 if l1_ratio is None else l1_ratio)


def alpha_grid(model: Any, data: Any, problem: Any, alphas: Any, eps: float) -> Array:
    """Return the given alphas, falling, or a geometric grid from the smallest one that gives zero coefficients."""
    if not isinstance(alphas, Integral):
        given = np.sort(as_vector(alphas, "alphas"))[::-1]
        if given.size == 0 or not np.isfinite(given).all() or given[-1] < 0.0:
            raise ValueError(f"alphas must be finite and at least 0; got {alphas!r}")
        return given
    if curvatures_of(problem.penalty) is not None:
        name, way = type(model).__name__, f": alphas must be values, such as [1.0, 0.1]; got the number {alphas}"
        if "ElasticNet" in name:  # scikit-learn's words
            way = ". Please supply a grid by providing your estimator with the appropriate `alphas=` argument."
        what = "l1_ratio=0" if "l1_ratio" in model.get_params() else name
        raise ValueError(f"Automatic alpha grid generation is not supported for {what}{way}")
    count, eps = as_count(alphas, "alphas"), as_number(eps, "eps", low=0.0, strict=True)
    how: dict[str, Any] = {"intercept": model.fit_intercept, "n_jobs": model._settings().n_jobs}
    try:
        largest = whole(lambda: path(problem, n_alphas=1, **how), 1).alphas[0] / model._units(data)[0]
    except ValueError as error:
        if "every alpha" not in str(error):
            raise
        largest = 0.0
    if largest <= ZERO_STRENGTH:  # a constant target
        return np.full(count, ZERO_STRENGTH)
    return np.geomspace(largest, largest * eps, num=count)


def as_Cs(Cs: Any) -> Array:
    """Return rising values of C: those given, or a number of them between 1e-4 and 1e4."""
    if isinstance(Cs, Integral):
        return np.logspace(-4, 4, as_count(Cs, "Cs"))
    given = np.sort(as_vector(Cs, "Cs"))
    if given.size == 0 or not given[0] >= sys.float_info.min or math.isnan(given[-1]):  # nan is sorted last
        raise ValueError(f"Cs must be positive, with 1/C finite in float64; got {Cs!r}")
    return given


def warn_of_shortfalls(name: str, paths: Sequence[Followed], where: str = "") -> None:
    """Issue one ``ConvergenceWarning`` for all fits of some paths that ended early: how many, the worst gap, advice.

    First-order conditions are enough.
    """
    short = [(one.gaps[~(one.gaps <= one.tolerance)], one) for one in paths if not one.status.is_answer]
    missed = sum(gaps.size for gaps, _ in short)
    if not missed:
        return
    worst = [(float(gaps.max()), one) for gaps, one in short if gaps.size]
    gap, one = max(worst, key=lambda pair: pair[0] / max(pair[1].tolerance, 1e-300))
    warn_of_convergence(
        f"{name}: {missed} of {sum(one.gaps.size for one in paths)} fits{where} stopped early ({one.status}): the "
        f"worst has a duality gap of {gap:.3g} where the tolerance is {one.tolerance:.3g} (tol times the objective at "
        f"zero coefficients), both in the units of the objective. {ADVICE[one.status]}"
    )
