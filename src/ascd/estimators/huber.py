"""Huber regression, robust to outliers in the target, with a scale that is fitted too (Huber's "proposal 2").

With residuals r = y − Xw − c and H(t) = t² for |t| ≤ ε, 2ε|t| − ε² beyond, minimise over w, c and σ > 0

    P(w, c, σ) = Σ_k s_k·(σ + σ·H(r_k/σ)) + Σ_j Φ_j(w_j),

which is jointly convex.  For a fixed σ it is a problem of this library: P = σ·Σs + (2/σ)·F with the Huber loss of
threshold εσ and the penalty (σ/2)·Φ.  What remains is one convex function of σ, whose derivative at the minimiser is

    G'(σ) = Σ s_k − ε²·Σ_{|r_k| > εσ} s_k − Σ_{|r_k| ≤ εσ} s_k r_k²/σ²:

its zero is found by secant steps inside a bracket, with warm-started fits.  The dual, max Σ s_k u_k y_k − Σ_j Φ_j*(p_j)
with p = Xᵀ(s∘u) over |u_k| ≤ 2ε, Σ s_k u_k²/4 ≤ Σ s_k and (for the intercept) Σ s_k u_k = 0, gives the gap of all
three together; u_k = 2·clip(r_k, ±εσ)/σ, centred and scaled down until it is allowed, is the dual point.

Rounding is counted: sums of d terms are wrong by (d + 16)·2⁻⁵³ of the sum of their sizes; u is scaled down by as much;
and where Σ s_k u_k = ρ instead of 0, the dual point is u − ρ/Σs, whose products differ by |ρ|/√Σs·‖a_j‖ at most.  With
an intercept Σ s_k u_k y_k does not depend on the origin of y, which is then put where the residuals are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ascd._core.checks import Array
from ascd.estimators._base import LinearRegressor, as_threads
from ascd.estimators._data import Training, fit_method
from ascd.estimators._parameters import NON_NEGATIVE_COUNT, Parameter, estimator
from ascd.estimators._solving import Settings, frames_to_the_user, solve_problem, state_problem
from ascd.estimators._tuning import FINEST, MOST_SCALE_FITS, SCALE_SHARE, SMALLEST_SCALE
from ascd.matrix.base import DataGone
from ascd.matrix.columns import UNIT
from ascd.problem.losses import Huber
from ascd.problem.problem import Problem
from ascd.problem.terms import cost_of, penalty_conjugates
from ascd.results.limits import tell_of_loss
from ascd.results.solution import Solution, Status

if TYPE_CHECKING:
    from typing_extensions import Self

#: Solves a problem from coefficients and an intercept, to a tolerance, in at most so many rounds (None: the user's).
SolveAt = Callable[[Problem, Any, Any, float, int | None], Any]


@estimator
class HuberRegressor(LinearRegressor):
    r"""Linear regression that is robust to outliers, with scikit-learn's objective.

    Minimise Σ s_k·(σ + σ·H((y_k − x_k·w − c)/σ)) + alpha·‖w‖² over w, c and the scale σ, with
    ``H(t) = t²`` for ``|t| ≤ epsilon`` and ``2·epsilon·|t| − epsilon²`` beyond.

    Attributes
    ----------
    coef_, intercept_, scale_ : the fitted model
    outliers_ : bool array, True for samples beyond ``epsilon·scale_``; missing where a cluster was lost before
    certificate_ : Certificate
        Its gap is that of coefficients and scale together; the tolerance refers to the best scale and intercept at
        zero coefficients.
    n_iter_, n_features_in_, feature_names_in_

    Notes
    -----
    A target that is fitted perfectly has no scale: ``scale_`` is then 1e-8 of the target's own.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import HuberRegressor
    >>> x = np.arange(10.0)
    >>> y = 2.0 * x + np.tile([0.3, -0.2, 0.1, -0.1, -0.3], 2)
    >>> y[9] = 100.0
    >>> model = HuberRegressor().fit(x[:, None], y)
    >>> float(model.coef_[0].round(1)), bool(model.outliers_[9])
    (2.0, True)
    """

    epsilon: float = 1.35
    alpha: float = 0.0001
    warm_start: bool = False
    penalty_weights: Any = None
    bounds: Any = None
    solver: Any = "auto"
    random_state: Any = None
    standardize: bool = False

    _keeps_float32: ClassVar[bool] = False
    _own: ClassVar[dict[str, Parameter]] = {
        "epsilon": Parameter(
            [Interval(Real, 1.0, None, closed="left")],
            "float, at least 1",
            "Residuals beyond epsilon·σ count linearly.",
        ),
        "max_iter": Parameter([NON_NEGATIVE_COUNT], "int", "Most iterations of the solver for each scale tried."),
    }

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit coefficients, intercept and scale.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional

        Returns
        -------
        self
        """
        data = self._read(X, y, sample_weight)
        coefs, constants = self._start(1, data.X.shape[1])
        start = (None, None, None) if coefs is None else (coefs[0], constants[0], getattr(self, "scale_", None))
        base = self._state(data, None)
        self._keep(self._fit_scale(data, base, self.alpha, self._settings(), start), 1.0)
        return self

    def _state(self, data: Training, penalty: Any) -> Any:
        """Return the problem for the scale 1."""
        loss = Huber(float(self.epsilon))  # True is 1, as in scikit-learn
        return state_problem(data.X, data.y, loss, penalty, data.weight, n_jobs=as_threads(self.n_jobs))

    def _fit_scale(self, data: Training, base: Problem, alpha: float, settings: Settings, start: Any) -> ScaledFit:
        """Fit with the penalty alpha·‖w‖² from coefficients, intercept and scale; ``base`` is for the scale 1."""
        epsilon, scale = float(self.epsilon), self._scale(data.X, data.weight) if self.standardize else None

        def problem_at(sigma: float) -> Problem:
            penalty = self._penalty(alpha * sigma, 0.0, data.X.shape[1], scale)
            return base.replace(loss=Huber(epsilon * sigma), penalty=penalty)

        def solve_at(problem: Problem, x0: Any, intercept0: Any, tol: float, rounds: int | None) -> Any:
            how = replace(settings, tol=tol, max_iter=min(rounds or settings.max_iter, settings.max_iter))
            return solve_problem(problem, how, intercept=self.fit_intercept, x0=x0, intercept0=intercept0)

        return fit_with_scale(problem_at, solve_at, epsilon, self.fit_intercept, settings.tol, start)

    def _keep(self, solution: Any, unit: float = 1.0) -> None:
        self.scale_, self.outliers_ = solution.scale, np.abs(solution.residuals) > self.epsilon * solution.scale
        if not solution.residuals.size:  # the data are gone
            del self.outliers_
        super()._keep(solution, unit)


# ---- the scale


@dataclass(frozen=True)
class ScaledFit(Solution):
    """A solution with its scale and its residuals, in the units of P."""

    scale: float = math.nan
    residuals: Array = field(default_factory=lambda: np.empty(0), repr=False)


@np.errstate(over="ignore")  # what overflows is infinite, and no certificate is given for it
def fit_with_scale(
    problem_at: Callable[[float], Problem],
    solve_at: SolveAt,
    epsilon: float,
    intercept: bool,
    tol: float,
    start: tuple[Any, Any, float | None] = (None, None, None),
) -> ScaledFit:
    """Minimise P, where ``problem_at(σ)`` states the problem for a scale and ``solve_at`` solves it.

    The tolerance is ``tol`` times the minimum of P over c and σ at zero coefficients, whatever the start is.
    """
    sample = problem_at(1.0).parts.sample
    data = _Sample(sample.target, np.broadcast_to(np.asarray(sample.weight, float), sample.target.shape), epsilon)
    search = _Search(*_first_scale(data, intercept, start[2]))
    # a constant target has no scale: 1 takes its place in the reference
    zero = data.total if search.ended else objective_at_zero(data, intercept, search.floor)
    descent = _Descent(problem_at, solve_at, data, intercept, tol * zero, search)
    status = descent.run(start[:2], SCALE_SHARE * tol)
    point = descent.best()
    if point.gap <= tol * zero:
        # an interrupted fit stays marked: the caller raises KeyboardInterrupt
        status = status if status is Status.INTERRUPTED else Status.CONVERGED
    elif status is not Status.INTERRUPTED and (point.is_stationary(tol * zero) or search.at_floor()):
        status = Status.STATIONARY
    elif status.is_answer:
        status = Status.ITERATION_LIMIT
    spent = descent.spent
    return ScaledFit(
        x=point.x, intercept=point.intercept, scale=point.scale, residuals=point.residuals, objective=point.objective,
        gap=point.gap, zero_objective=zero, status=status, n_iter=int(spent[0]), reads=int(spent[1]),
        seconds=float(spent[2]), compile_seconds=float(spent[3]),
    )  # fmt: skip


class _Sample:
    """Target and weights of the samples, and the threshold ε."""

    def __init__(self, target: Array, weight: Array, epsilon: float) -> None:
        self.target, self.weight, self.epsilon = target, weight, epsilon
        self.total = float(weight.sum())
        self.rounding = rounding_of(weight.size)


class _Descent:
    """Fits for one scale after the other."""

    def __init__(
        self, problem_at: Any, solve_at: SolveAt, data: _Sample, intercept: bool, tolerance: float, search: _Search
    ) -> None:
        self.problem_at, self.solve_at, self.data, self.intercept = problem_at, solve_at, data, intercept
        self.tolerance, self.search = tolerance, search
        self.points: list[_Point] = []
        self.spent = np.zeros(4)

    def run(self, start: tuple[Any, Any], tol: float) -> Status:
        """Search for the scale; return the status of the last fit, or why the search ended."""
        data, search, solution = self.data, self.search, None
        can_overflow = not math.isfinite(float(data.weight @ data.target**2))  # starts may have infinite objectives
        for number in range(MOST_SCALE_FITS + 1):
            problem, last = self.problem_at(search.sigma), number == MOST_SCALE_FITS or search.ended
            try:
                solution = self._polish(problem, start) if last else self._solve(problem, start, tol)
                start = (None, None) if can_overflow else (solution.x, solution.intercept)
                self.points.append(_Point(problem, solution, data, search, self.intercept))
            except (KeyboardInterrupt, DataGone) as error:
                if solution is None:
                    raise  # there is no point yet
                return self._ended_by(error, problem, solution)
            if last or solution.status in (Status.INTERRUPTED, Status.UNREACHABLE):
                break
            point = self.points[-1]
            search.ended = point.settles(self.tolerance) or not search.moves(point.derivative, point.scale)
            rounds: int = getattr(problem.design, "rounds", 0)
            if search.ended and problem.design.is_dear and rounds:
                break  # the last digits are not worth a round trip
        status: Status = solution.status  # type: ignore[union-attr]
        return status

    def _polish(self, problem: Problem, start: tuple[Any, Any]) -> Any:
        """Solve to the limits of float64, one round at a time, until one leaves every coefficient where it was.

        With hardly any penalty, coefficients are known far less well than the objective.  A tolerance below the
        rounding errors is never met: the solver would go on to its last round.
        """
        before = None
        for _ in range(10):
            found = self.solve_at(problem, *start, 1e-20, 1)
            self._count(found)
            start, here = (found.x, found.intercept), np.append(found.x, found.intercept)
            stays = before is not None and bool(np.all(np.abs(here - before) <= 1e-14 * np.abs(before)))
            if stays or found.status is not Status.ITERATION_LIMIT:
                break
            before = here
        return found

    def _solve(self, problem: Problem, start: tuple[Any, Any], tol: float) -> Any:
        """Solve at one scale, once more where the solver's own reference leaves a gap above the joint tolerance."""
        found = self.solve_at(problem, *start, tol, None)
        self._count(found)
        wanted = 0.5 * self.search.sigma * SCALE_SHARE * self.tolerance
        is_short = found.converged and SCALE_SHARE * found.gap > wanted
        if is_short and wanted > FINEST * found.zero_objective:  # below, rounding decides
            found = self.solve_at(problem, found.x, found.intercept, wanted / found.zero_objective, None)
            self._count(found)
        return found

    def _count(self, found: Any) -> None:
        self.spent += (found.n_iter, found.reads, found.seconds, found.compile_seconds)

    def _ended_by(self, error: BaseException, problem: Problem, solution: Any) -> Status:
        """Return why the search has to end, with a point; lost data are reported unless the solver has done so."""
        is_lost = isinstance(error, DataGone)
        if is_lost and solution.status is not Status.UNREACHABLE:
            tell_of_loss(error, frames_to_the_user())  # type: ignore[arg-type]
        if not self.points:
            kind: Any = _PointWithoutResiduals if is_lost else _Point
            self.points = [kind(problem, solution, self.data, self.search, self.intercept)]
        return Status.UNREACHABLE if is_lost else Status.INTERRUPTED

    def best(self) -> _Point:
        """Return the last point, or the one before: the last is precise for its scale, but may be farther off."""
        return min(self.points[:-3:-1], key=lambda point: point.gap)


class _Point:
    """P, its gap and its derivative in σ where a fit for one σ ended; the scale is the best one for its residuals."""

    def __init__(self, problem: Problem, solution: Any, data: _Sample, search: _Search, intercept: bool) -> None:
        self.x, self.intercept, self.sigma, self.data = solution.x, solution.intercept, search.sigma, data
        self.residuals = data.target - problem.image(solution.x) - solution.intercept
        self.scale = max(search.floor, scale_of(self.residuals, data.weight, data.epsilon))
        penalty = 2.0 / self.sigma * float(cost_of(problem.parts.penalty, np.arange(self.x.size), self.x))
        self.objective = primal(self.residuals, data.weight, self.scale, data.epsilon) + penalty
        origin = self.intercept if intercept else 0.0
        value, error = dual(problem, self.residuals, data.weight, self.sigma, data.epsilon, intercept, origin)
        size = float(np.abs(self.x) @ problem.parts.norm) + abs(self.intercept) * math.sqrt(data.total)
        error += data.rounding * abs(self.objective)
        error += rounding_of(self.x.size) * 2.0 * data.epsilon * math.sqrt(data.total) * size  # of the residuals
        self.gap = max(0.0, self.objective - value) + error if math.isfinite(value) else math.inf
        self.has_proof = math.isfinite(self.gap) or solution.converged
        self.is_fitted = solution.status.is_answer
        self.gap = min(self.gap, self._gap_of_the_fit(solution, size))
        self.derivative = derivative_in_scale(self.residuals, data.weight, self.sigma, data.epsilon)

    def _gap_of_the_fit(self, solution: Any, size: float) -> float:
        """Return the joint gap that follows from the gap of the fit for σ alone, whatever the penalty is.

        The dual point u* of that fit is within r = √(8·gap)/σ of u = 2·clip(r_k, ±εσ)/σ, because its gap is at least
        (σ/4)·Σ s_k (u*_k − u_k)².  t·u* with t·‖u*‖ ≤ 2·√Σs is allowed for all three together, and its value is at
        least t·L, L = (2/σ)·(F − gap) + (σ/4)·‖u*‖²: Φ_j*(t·p) ≤ t·Φ_j*(p), as Φ is not negative.
        """
        data, sigma = self.data, self.sigma
        if not (math.isfinite(solution.gap) and math.isfinite(solution.objective)):
            return math.inf
        u = 2.0 * np.clip(self.residuals / sigma, -data.epsilon, data.epsilon)
        length = math.sqrt(float(data.weight @ u**2))
        zeta = rounding_of(self.x.size) * size  # how far the residuals can be off
        away = math.sqrt(8.0 * solution.gap) / sigma + 2.0 / sigma * zeta + data.rounding * length
        fitted, longest = 2.0 / sigma * (solution.objective - solution.gap), 2.0 * math.sqrt(data.total)
        least = fitted + 0.25 * sigma * max(0.0, length - away) ** 2
        share = min(1.0, longest / (length + away) * (1.0 - 4.0 * data.rounding)) if length + away > 0.0 else 1.0
        error = 4.0 * data.rounding * (abs(self.objective) + abs(fitted) + 2.0 / sigma * abs(solution.objective))
        error += 2.0 * (2.0 * data.epsilon * math.sqrt(data.total) * zeta + zeta**2 / sigma)  # of P and of F
        return max(0.0, self.objective - max(0.0, share * least)) + error

    def settles(self, tolerance: float) -> bool:
        """Return True where the search for the scale can end."""
        return self.gap <= tolerance or self.is_stationary(tolerance)

    def is_stationary(self, tolerance: float) -> bool:
        """Return True by the derivative in σ, where no dual point is known."""
        return self.is_fitted and not self.has_proof and abs(self.derivative) * self.sigma <= tolerance


class _PointWithoutResiduals(_Point):
    """The end of the first fit, if the data are gone before its residuals are known: P follows from F at σ."""

    def __init__(self, problem: Problem, solution: Any, data: _Sample, search: _Search, intercept: bool) -> None:
        self.x, self.intercept, self.sigma, self.scale = solution.x, solution.intercept, search.sigma, search.sigma
        self.residuals, self.data = np.empty(0), data
        self.objective = float(self.sigma * data.total + 2.0 / self.sigma * solution.objective)
        self.gap, self.derivative, self.has_proof, self.is_fitted = math.inf, math.nan, False, False


class _Search:
    """The zero of an increasing function of σ: secant steps on log σ that stay in the bracket.

    A bracket of a relative width of 1e-13 cannot be improved: rounding errors of the derivative are of that size.
    Steps in log σ are at most 3 long: beyond, secants are not trusted, and small scales make hard problems.
    """

    def __init__(self, floor: float, sigma: float, ended: bool) -> None:
        self.low, self.high, self.floor, self.sigma = floor, math.inf, floor, sigma
        self.last: tuple[float, float] | None = None
        self.ended = ended

    def moves(self, derivative: float, alternate: float) -> bool:
        """Step by the derivative here and the best scale for the current residuals; False where σ cannot move."""
        if derivative > 0.0:
            self.high = self.sigma
        else:
            self.low = self.sigma
        if self.high <= self.low * (1.0 + 1e-13):
            return False
        before, self.last = self.last, (math.log(self.sigma), derivative)
        candidate = alternate if before is None else self._secant(before, alternate)
        self.sigma = self._inside(max(candidate, self.sigma * math.exp(-3.0)))
        return True

    def at_floor(self) -> bool:
        """Return True for a perfect fit: the smallest scale is the best."""
        return self.high <= self.floor * (1.0 + 1e-13)

    def _secant(self, before: tuple[float, float], alternate: float) -> float:
        assert self.last is not None
        (x0, y0), (x1, y1) = before, self.last
        if y0 == y1:
            return alternate
        step = y1 * (x1 - x0) / (y1 - y0)
        return math.exp(x1 - max(-3.0, min(3.0, step)))

    def _inside(self, candidate: float) -> float:
        if self.low < candidate < self.high:
            return candidate
        if candidate <= self.low and self.low == self.floor:
            return self.floor
        return math.sqrt(self.low) * math.sqrt(self.high) if self.high < math.inf else 4.0 * self.sigma


def _first_scale(data: _Sample, intercept: bool, known: float | None) -> tuple[float, float, bool]:
    """Return the smallest scale allowed, the first one, and True for a constant target, which has none to find."""
    centred = data.target - weighted_median(data.target, data.weight) if intercept else data.target
    size = float(data.weight @ np.abs(centred) / data.total) or 1.0
    first = (scale_of(centred, data.weight, data.epsilon) or size) if known is None else known
    return SMALLEST_SCALE * size, max(first, SMALLEST_SCALE * size), not centred.any()


def objective_at_zero(data: _Sample, intercept: bool, floor: float) -> float:
    """Return the minimum of P over c and σ ≥ floor at zero coefficients, up to a relative error of 1e-3.

    min_σ P is convex in c; its derivative −2·Σ s_k clip(r_k/σ, ±ε) bounds how far it can fall inside a bracket of c.
    Newton steps that leave the bracket are replaced by bisection.
    """
    y, weight, epsilon = data.target, data.weight, data.epsilon
    used = y[weight > 0.0]
    low, high = (float(used.min()), float(used.max())) if intercept else (0.0, 0.0)
    constant = weighted_median(y, weight) if intercept else 0.0
    best = math.inf
    for _ in range(MOST_SCALE_FITS):
        residuals = y - constant
        scale = max(floor, scale_of(residuals, weight, epsilon))
        best = min(best, primal(residuals, weight, scale, epsilon))
        clipped = np.clip(residuals, -epsilon * scale, epsilon * scale)
        pull = float(weight @ clipped)
        low, high = (constant, high) if pull > 0.0 else (low, constant)
        if 2.0 * abs(pull) / scale * (high - low) <= 1e-3 * best:
            break
        inner = float(weight[np.abs(residuals) <= epsilon * scale].sum())
        step = constant + pull / inner if inner > 0.0 else math.nan
        constant = step if low < step < high else 0.5 * low + 0.5 * high
    return best


def derivative_in_scale(residuals: Array, weight: Array, sigma: float, epsilon: float) -> float:
    """Return G'(σ) for these residuals."""
    clipped = np.minimum(np.abs(residuals) / sigma, epsilon)
    return float(weight.sum() - weight @ clipped**2)


def scale_of(residuals: Array, weight: Array, epsilon: float) -> float:
    """Return the σ that minimises P for fixed residuals: the zero of G', 0 if there is none above 0."""
    size = np.abs(residuals)
    order = np.argsort(size)
    size, weight = size[order], weight[order]
    inner = np.cumsum(weight * size**2)
    outer = weight.sum() - np.cumsum(weight)  # the weight of those beyond the k-th
    room = weight.sum() - epsilon**2 * outer
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(np.where(room > 0.0, inner / room, np.inf))
    following = np.append(size[1:], np.inf)
    fits = np.flatnonzero((size <= epsilon * sigma) & (epsilon * sigma < following))
    return float(sigma[fits[0]]) if fits.size else 0.0


def primal(residuals: Array, weight: Array, scale: float, epsilon: float) -> float:
    """Return P without its penalty."""
    size, threshold = np.abs(residuals), epsilon * scale
    losses = np.where(size <= threshold, 0.5 * size**2, threshold * (size - 0.5 * threshold))
    return float(scale * weight.sum() + 2.0 / scale * (weight @ losses))


def dual(
    problem: Problem, residuals: Array, weight: Array, sigma: float, epsilon: float, intercept: bool, origin: float
) -> tuple[float, float]:
    """Return the value of the dual point of these residuals (−inf where none is allowed), and its rounding error."""
    total, parts = float(weight.sum()), problem.parts
    rounding = rounding_of(weight.size)
    u = 2.0 * np.clip(residuals / sigma, -epsilon, epsilon)
    if intercept:
        u = u - weight @ u / total
    norm, largest = float(np.sqrt(weight @ u**2)), float(np.abs(u[weight > 0.0]).max(initial=0.0))
    missing = 0.0
    if norm > 0.0:
        u = u * (min(1.0, 2.0 * math.sqrt(total) / norm, 2.0 * epsilon / largest) * (1.0 - 4.0 * rounding))
        if intercept:
            missing = abs(float(weight @ u)) + rounding * float(weight @ np.abs(u))
    conjugates, others = np.empty((2, problem.n_features))
    products = problem.design.dots(np.arange(problem.n_features), weight * u)
    off = (rounding * math.sqrt(float(weight @ u**2)) + missing / math.sqrt(total)) * parts.norm
    penalty_conjugates(parts.penalty, 0.5 * sigma * (products - off), conjugates)
    penalty_conjugates(parts.penalty, 0.5 * sigma * (products + off), others)
    penalty = 2.0 / sigma * float(np.maximum(conjugates, others).sum())
    terms = weight * u * (parts.sample.target - origin)
    size = float(np.abs(terms).sum()) + (abs(penalty) if math.isfinite(penalty) else 0.0)
    shifted = missing * float(np.abs(parts.sample.target - origin) @ weight) / total
    return float(terms.sum()) - penalty, rounding * size + shifted


def rounding_of(count: int) -> float:
    """Return the relative error of a sum of so many products."""
    return (count + 16.0) * UNIT


def weighted_median(values: Array, weight: Array) -> float:
    """Return a value with at most half of the weight on either side."""
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) >= 0.5 * weight.sum()
    return float(values[order][np.argmax(reached)])
