"""From an estimator's parts to solutions: the one module that states problems and calls ``solve`` and ``path``.

A gap bounds what is left of the objective.  With a penalty ½·Σ μ_j x_j² it bounds the coefficients' error too, since

    ½·Σ μ_j (x_j − x*_j)² ≤ F(x) − F(x*) ≤ gap:

a gap of at most tol·½·Σ μ_j x_j² makes the relative error of the coefficients, in the penalty's norm, at most √tol.
``solve_problem`` continues until that holds as well, as far as float64 can tell.

Rules of the paper (``solver="a-ascd"``) run in ``minimize``, which stops on steepness: it is called with falling
tolerances until the duality gap is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from ascd._core.checks import Array, unknown_name
from ascd._core.timing import Stopwatch
from ascd.engine.minimize import minimize, with_constant
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.estimators._forms import errors_about_x
from ascd.estimators._tuning import FALL, FALLING, FINEST, LAST_DIGITS, ROUNDS
from ascd.matrix.base import DataGone
from ascd.matrix.columns import UNIT
from ascd.problem.penalties import L1L2, BoundedL1L2
from ascd.problem.penalties.blocks import BlockNorm, SparseGroup
from ascd.problem.problem import Problem
from ascd.problem.samples import evaluate_samples
from ascd.problem.terms import cost_of
from ascd.results.limits import hearing_of_losses, tell_of_loss
from ascd.results.solution import Solution, Status
from ascd.solver import path, solve
from ascd.solver.solve import as_reference
from ascd.solver.state import State

Energy = Callable[[Array], float]
PARTS = ("rule", "oracle", "steepness", "step", "init")


@dataclass(frozen=True)
class Settings:
    """How an estimator wants its problems solved."""

    tol: float
    max_iter: int
    n_jobs: int = 1
    solver: Any = "auto"
    random_state: Any = None
    to_float32: bool = False

    @property
    def is_auto(self) -> bool:
        """True for the production solver."""
        return isinstance(self.solver, str) and self.solver == "auto"


def state_problem(
    X: Any, y: Array, loss: Any, penalty: Any, weight: Array | None, offset: Array | None = None, n_jobs: int = 1
) -> Any:
    """Return the problem of a loss and a penalty on data (``_data``), with errors that name X and y."""
    with errors_about_x():
        try:
            return Problem(X.matrix, y, loss, penalty, weight, offset, n_jobs)
        except ValueError:
            if isinstance(X.matrix, np.ndarray) or sparse.issparse(X.matrix):  # scikit-learn's words for nan and inf
                assert_all_finite(X.matrix, input_name="X")
            raise


def changed(problem: Any, **parts: Any) -> Any:
    """Return the problem with other parts on the same matrix, with errors that name X and y."""
    if isinstance(parts.get("penalty"), SparseGroup):
        parts["penalty"] = parts["penalty"].compiled(problem.groups)
    with errors_about_x():
        return problem.replace(**parts)


def scaled_penalty(problem: Any, factor: float) -> Any:
    """Return the problem's penalty times a number."""
    return _penalty_of(problem).scaled(factor)


def _penalty_of(problem: Any) -> Any:
    return problem.penalty


def solve_problem(
    problem: Any,
    settings: Settings,
    *,
    intercept: bool,
    x0: Array | None = None,
    intercept0: Any = None,
    energy: Energy | None = None,
    closely: bool = True,
) -> Any:
    """Solve by the production solver or by rules of ``minimize``.

    ``energy`` is ½·Σ μ_j w_j² of the coefficients w that a point x stands for, by default x itself; without
    ``closely`` the gap need not bound their error.
    """
    if (
        problem.is_by_coordinate
        and x0 is not None
        and not math.isfinite(cost_of(problem.parts.penalty, np.arange(x0.size), x0))
    ):
        x0 = None  # a warm start that other bounds do not allow
    limits: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "intercept": intercept, "x0": x0}
    if not settings.is_auto:
        found: Any = minimize_problem(problem, settings, intercept0=intercept0 or 0.0, **limits)
    else:
        start = intercept0 if intercept else None
        found = solve(problem, intercept0=start, n_jobs=settings.n_jobs, **limits)
        energy = energy or energy_of(_penalty_of(problem))
        if energy is not None and closely:
            found = refined(problem, settings, intercept, found, energy)
    return in_float32(problem, found, settings)


def certify(problem: Problem, settings: Settings, *, intercept: bool, x0: Array, intercept0: float | None) -> Solution:
    """Return the point itself as a solution, with its gap."""
    how: dict[str, Any] = {"intercept": intercept, "intercept0": intercept0, "n_jobs": settings.n_jobs}
    return solve(problem, settings.tol, x0=x0, max_iter=0, **how)


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


# ---- the precision of coefficients


def curvatures(penalty: Any) -> Any:
    """Return the μ_j of a penalty ½·Σ μ_j x_j², within bounds or not; None where it is not of this kind."""
    if isinstance(penalty, BlockNorm) and not (np.any(penalty.group) or np.any(penalty.l1)):
        return np.asarray(penalty.ridge)[:, None]
    if not isinstance(penalty, L1L2 | BoundedL1L2) or np.any(penalty.l1):
        return None
    return penalty.l2 * penalty.weights


def energy_of(penalty: Any) -> Energy | None:
    """Return ½·Σ μ_j x_j² as a function of x; None where the penalty has kinks or nothing is penalised."""
    mu = curvatures(penalty)
    return None if mu is None or not np.any(mu) else lambda x: 0.5 * float(np.sum(mu * x**2))


def refined(problem: Any, settings: Settings, intercept: bool, found: Any, energy: Energy) -> Any:
    """Continue until the gap bounds the coefficients' error too; that this may fail is no failure of the fit."""
    tol, zero = settings.tol, found.zero_objective
    while found.converged and tol > FINEST and found.n_iter < settings.max_iter:
        wanted = settings.tol * energy(found.x)
        if found.gap <= max(wanted, FINEST * zero):
            break
        tol = max(FINEST, min(FALL * tol, wanted / zero))
        start = {"x0": found.x, "intercept0": found.intercept if intercept else None}
        limits = {"max_iter": min(ROUNDS, settings.max_iter - found.n_iter), "n_jobs": settings.n_jobs}
        try:
            finer = solve(problem, tol, intercept=intercept, **start, **limits)
        except KeyboardInterrupt:  # the certificate of the point so far is known
            return replace(found, status=Status.INTERRUPTED)
        except DataGone:
            break
        is_over = finer.status is Status.INTERRUPTED
        best = finer if finer.gap <= found.gap else found
        found = added(found, finer, replace(best, status=Status.INTERRUPTED if is_over else found.status))
        if not finer.converged:
            break
    return found


def polished(problem: Any, settings: Settings, *, intercept: bool, x0: Array | None, intercept0: Any) -> Any:
    """Solve to the limits of float64: one round at a time, until one leaves every coefficient where it was.

    A tolerance below the rounding errors is never met, and the solver would continue to its last round.
    """
    if not settings.is_auto:
        return solve_problem(problem, settings, intercept=intercept, x0=x0, intercept0=intercept0, closely=False)
    limited = replace(settings, max_iter=min(1, settings.max_iter))
    one_round = partial(solve_problem, problem, limited, intercept=intercept, closely=False)
    found = one_round(x0=x0, intercept0=intercept0)
    while found.status is Status.ITERATION_LIMIT and found.n_iter < settings.max_iter:
        try:
            finer = one_round(x0=found.x, intercept0=found.intercept)
        except (KeyboardInterrupt, DataGone) as error:  # the certificate of the point so far is known
            is_lost = isinstance(error, DataGone)
            return replace(found, status=Status.UNREACHABLE if is_lost else Status.INTERRUPTED)
        before, after = np.append(found.x, found.intercept), np.append(finer.x, finer.intercept)
        stays = bool(np.all(np.abs(after - before) <= LAST_DIGITS * np.abs(before)))
        found = added(found, finer, finer)
        if stays:
            break
    return found


def added(first: Any, second: Any, best: Any) -> Any:
    """Return the best of two solutions with the work of both."""
    names = ("n_iter", "reads", "seconds", "compile_seconds")
    return replace(best, **{name: getattr(first, name) + getattr(second, name) for name in names})


# ---- float32


def in_float32(problem: Any, found: Any, settings: Settings) -> Any:
    """Return the solution in float32 where that is asked for; without the data nothing is proved of it."""
    if not settings.to_float32:
        return found
    status = found.status
    try:
        if status is not Status.UNREACHABLE:
            return rounded(problem, found, settings.tol)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except DataGone as error:
        tell_of_loss(error)
        status = Status.UNREACHABLE
    return replace(found, status=status, gap=math.inf)


def rounded(problem: Any, found: Any, tol: float) -> Any:
    """Return the solution with coefficients and intercepts that float32 holds, and their own gap.

    F(x') − min F is F(x') − F(x), whose rounding errors are added, and the gap of x.
    """
    with np.errstate(over="ignore"):
        x = nearest_float32(problem, found.x)
        constant = np.asarray(found.intercept).astype(np.float32).astype(np.float64)[()]
    is_beyond = not (np.isfinite(x).all() and np.isfinite(constant).all())  # float32's range: float64 stays
    if is_beyond or (np.array_equal(x, found.x) and np.array_equal(constant, found.intercept)):
        return found
    (before, error), (value, off) = (
        objective_at(problem, *point) for point in ((found.x, found.intercept), (x, constant))
    )
    gap = found.gap + max(0.0, value - before) + error + off
    is_missed = gap > tol * found.zero_objective and found.status is Status.CONVERGED
    intercept: Any = float(constant) if np.ndim(constant) == 0 else constant
    status = Status.STALLED if is_missed else found.status
    return replace(found, x=x, intercept=intercept, objective=value, gap=gap, status=status)


def nearest_float32(problem: Any, x: Array) -> Array:
    """Return the nearest coefficients that float32 holds and the penalty allows; zeros stay zeros."""
    nearest = x.astype(np.float32)
    wide = nearest.astype(np.float64)
    if not problem.is_by_coordinate:
        return wide
    penalty, everything = problem.parts.penalty, np.arange(x.size)
    if math.isfinite(cost_of(penalty, everything, wide)):
        return wide
    costs = [cost_of(penalty, everything[j : j + 1], wide[j : j + 1]) for j in everything]
    return np.where(np.isfinite(costs), nearest, np.nextafter(nearest, np.float32(0.0))).astype(np.float64)


def objective_at(problem: Any, x: Array, constant: Any) -> tuple[float, float]:
    """Return F(x, c) and a bound on its rounding error: of the sum, and of Ax + c."""
    if not problem.is_by_coordinate:
        return _block_objective_at(problem, x, constant)
    parts, predictor, raw_gradient = problem.parts, problem.image(x) + constant, np.empty(problem.n_samples)
    loss, _ = evaluate_samples(parts.sample, parts.loss, predictor, raw_gradient, np.empty(predictor.size), None)
    cost = cost_of(parts.penalty, np.arange(x.size), x)
    weights = np.sqrt(np.broadcast_to(parts.sample.weight, predictor.shape))
    scaled = np.divide(raw_gradient, weights, out=np.zeros(predictor.size), where=weights > 0.0)
    size = float(np.abs(x) @ parts.norm) + abs(constant) * float(np.linalg.norm(weights))
    error = (problem.n_samples + 16.0) * (abs(loss) + abs(cost)) + (x.size + 4.0) * float(np.linalg.norm(scaled)) * size
    if not parts.loss.is_quadratic():  # a loss is itself a difference: exp(z) − y·z, say
        targets, predictions = problem.stated.sizes(predictor)
        error += 16.0 * float(weights**2 @ ((1.0 + targets) * (1.0 + predictions)))
    return float(loss + cost), 2.0 * UNIT * error


def _block_objective_at(problem: Any, x: Array, constant: Any) -> tuple[float, float]:
    value, total = problem.objective(x, constant), float(problem.weight.sum())
    norms = float(np.abs(problem.as_point(x, "x")).sum(axis=1) @ problem.norm[problem.groups.order])
    size = norms + float(np.abs(constant).sum()) * math.sqrt(total)
    is_quadratic = problem.loss.is_quadratic
    steepest = math.sqrt(2.0 * value) if is_quadratic else math.sqrt(2.0 * total)
    error = (problem.n_samples * problem.n_outputs + 16.0) * abs(value)
    error += (problem.n_features + 4.0) * steepest * size
    error += 0.0 if is_quadratic else 8.0 * math.sqrt(total) * (math.sqrt(total) + size)
    return value, 2.0 * UNIT * error


# ---- rules of the paper


def as_parts(solver: Any) -> dict[str, Any]:
    """Return names of rules and dictionaries of parts as the arguments of ``minimize``."""
    parts = {"rule": solver} if isinstance(solver, str) else dict(solver)
    for name in parts:
        if name not in PARTS:
            raise unknown_name(name, "part in solver", PARTS)
    if isinstance(parts.get("rule"), str) and parts["rule"] not in RULES:
        raise unknown_name(parts["rule"], "solver", ["auto", *RULES])
    if isinstance(parts.get("oracle"), str) and parts["oracle"] not in ORACLES:
        raise unknown_name(parts["oracle"], "oracle", ORACLES)
    return parts


def minimize_problem(
    problem: Problem,
    settings: Settings,
    *,
    tol: float,
    max_iter: int,
    intercept: bool,
    x0: Array | None,
    intercept0: float,
) -> Solution:
    """Solve by ``minimize`` with ``max_iter`` epochs at most; an intercept is one more coordinate without penalty."""
    parts, stopwatch = as_parts(settings.solver), Stopwatch()
    state = settings.random_state
    seed = state.randint(np.iinfo(np.int32).max) if isinstance(state, np.random.RandomState) else state
    _check_for_rules(problem, settings.solver)
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


def _check_for_rules(problem: Any, solver: Any) -> None:
    """Raise a ValueError that names what is allowed where rules of ``minimize`` do not apply."""
    if not problem.is_by_coordinate:
        raise ValueError(f"solver must be 'auto' for groups, several targets and several classes; got {solver!r}")
    if problem.design.is_dear:
        raise ValueError(f"solver must be 'auto' for data that are not in memory; got {solver!r}")
    if math.isinf(problem.parts.loss.curvature_bound()):
        loss = type(problem.stated.loss).__name__
        raise ValueError(f"solver must be 'auto' for the {loss} loss, whose curvature has no bound; got {solver!r}")


# ---- paths


class Followed(NamedTuple):
    """The fits for a sequence of penalties, one along the last axis of ``coefs``, in the solver's units.

    ``lost`` is the error where the data went out of reach; the fits are then those that were done before.
    """

    coefs: Array
    intercepts: Array
    gaps: Array
    n_iters: Array
    tolerance: float
    status: Status
    lost: DataGone | None = None

    @property
    def is_short(self) -> Array:
        """True for fits with a gap above the tolerance; none where first-order conditions are met."""
        return (not self.status.is_answer) & ~(self.gaps <= self.tolerance)

    def complete(self) -> Followed:
        """Return this, or raise the error of data that were lost."""
        if self.lost is not None:
            raise self.lost
        return self

    @classmethod
    def of(cls, solutions: list[Any], tol: float) -> Followed:
        """Gather the solutions of single fits."""
        return cls(
            coefs=np.stack([one.x for one in solutions], axis=-1),
            intercepts=np.stack([np.asarray(one.intercept) for one in solutions], axis=-1),
            gaps=np.array([one.gap for one in solutions]),
            n_iters=np.array([one.n_iter for one in solutions]),
            tolerance=tol * max(one.zero_objective for one in solutions),
            status=Status.of_all(one.status for one in solutions),
        )

    @classmethod
    def none(cls, shape: tuple[int, ...], intercepts: Array) -> Followed:
        """Return fits of zero coefficients, for which nothing had to be solved."""
        zero = np.zeros(shape[-1])
        return cls(np.zeros(shape), intercepts, zero, zero.astype(int), 0.0, Status.CONVERGED)


def follow(problem: Any, factors: Array, settings: Settings, *, intercept: bool, x0: Array | None = None) -> Followed:
    """Fit the problem with its penalty times each of the falling factors, each started from the one before."""
    steps = _along_path if settings.is_auto else _along_fits
    return followed(lambda: steps(problem, factors, settings, intercept, x0), len(factors))


def followed(steps: Callable[[], Followed], count: int) -> Followed:
    """Run ``count`` fits: an incomplete path is an error unless the data were lost; Ctrl-C is raised again."""
    with hearing_of_losses() as lost:
        found = steps()
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if lost:
        return found._replace(lost=lost[0])
    if found.gaps.size < count or not np.isfinite(found.coefs).all():
        raise ValueError(
            f"the fits ended ({found.status}) before the last penalty or with coefficients that are not finite. The "
            "input data may contain large values and need to be preprocessed."
        )
    return found


def _along_path(problem: Any, factors: Array, settings: Settings, intercept: bool, x0: Array | None) -> Followed:
    how: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "n_jobs": settings.n_jobs}
    found = path(problem, alphas=factors, intercept=intercept, x0=x0, early_stop=False, **how)
    tolerance = settings.tol * found.zero_objective
    return Followed(found.coefs, found.intercepts, found.gaps, found.n_iters, tolerance, found.status)


def _along_fits(problem: Any, factors: Array, settings: Settings, intercept: bool, x0: Array | None) -> Followed:
    solutions: list[Any] = []
    constant = 0.0
    for factor in factors:
        one = problem.replace(penalty=scaled_penalty(problem, float(factor)))
        solutions.append(solve_problem(one, settings, intercept=intercept, x0=x0, intercept0=constant))
        if solutions[-1].status is Status.INTERRUPTED:
            break
        x0, constant = solutions[-1].x, solutions[-1].intercept
    return Followed.of(solutions, settings.tol)


def largest_factor(problem: Any, *, intercept: bool, n_jobs: int) -> float:
    """Return the smallest factor of the penalty that gives zero coefficients, 0 if all do."""
    try:
        with hearing_of_losses() as lost:
            found = path(problem, n_alphas=1, intercept=intercept, n_jobs=n_jobs)
    except ValueError as error:
        if "every alpha" not in str(error):
            raise
        return 0.0
    if lost:
        raise lost[0]
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return float(found.alphas[0])
