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
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from ascd._core.checks import Array
from ascd.estimators._base import ByFeature, LinearRegressor
from ascd.estimators._data import Training, deviations, fit_method
from ascd.estimators._parameters import FROM_ZERO, Interval, Parameter, Self, estimator
from ascd.estimators._solving import Followed, Settings, frames_to_the_user, one_by_one, solve_problem
from ascd.matrix.base import DataGone
from ascd.matrix.columns import UNIT
from ascd.problem.losses import Huber
from ascd.problem.penalties import penalty_conjugates
from ascd.problem.problem import Problem
from ascd.results import Solution, Status, hearing_of_losses, tell_of_loss

#: The smallest scale, relative to that of the target: a perfect fit has none.  P is computed with σ and 1/σ: its digits
#: last for squares of this number (√ of the rounding 1e-16).
SMALLEST_SCALE = 1e-8
#: Tolerance of a fit for one scale, as a share of the whole one's.
SCALE_SHARE = 0.1
#: Fits for one scale each, at most: halving a bracket to a relative width of 1e-13 alone would take 43.
MOST_SCALE_FITS = 60
#: Solves a problem from coefficients and an intercept, to a tolerance, in at most so many rounds.
SolveAt = Callable[[Problem, Any, Any, float, int], Any]


@estimator
class HuberRegressor(ByFeature, LinearRegressor):
    r"""Linear regression that is robust to outliers, with scikit-learn's objective.

    Minimise Σ s_k·(σ + σ·H((y_k − x_k·w − c)/σ)) + alpha·‖w‖² over w, c and the scale σ, with
    ``H(t) = t²`` for ``|t| ≤ epsilon`` and ``2·epsilon·|t| − epsilon²`` beyond.

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
    random_state: Any = None

    _unit = 1.0
    _keeps_float32: ClassVar[bool] = False
    _fitted: ClassVar[dict[str, str]] = {
        "scale_": "the fitted scale σ",
        "outliers_": "bool array, True for samples beyond epsilon·scale_",
        "certificate_": "Certificate of coefficients and scale together; its tolerance refers to zero coefficients "
        "with the median as intercept, and the best scale there",
    }
    _own: ClassVar[dict[str, Parameter]] = {
        "max_iter": FROM_ZERO,
        "epsilon": Parameter(
            [Interval(Real, 1.0, None, closed="left")], "float, at least 1",
            "Residuals beyond epsilon·σ count linearly.",
        ),
    }  # fmt: skip

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit coefficients, intercept and scale."""
        data = self._read(X, y, sample_weight)
        start: Any = (None, None, None)
        if self.warm_start and hasattr(self, "coef_"):
            coefs, constants = self._start(1, data.X.shape[1])
            start = (coefs[0], constants[0], getattr(self, "scale_", None))
        self._fit_strength(data, self._problem(data, None), self.alpha, start)
        return self

    def _fit_strength(self, data: Training, problem: Any, strength: float, start: Any = (None, None, None)) -> None:
        self._keep([self._fit_scale(data, problem, strength, self._settings(), start)])

    def _problem(self, data: Training, penalty: Any, loss: Any = None) -> Any:
        """Return the problem for the scale 1."""
        return super()._problem(data, penalty, Huber(float(self.epsilon)))  # True is 1, as in scikit-learn

    def _fit_scale(self, data: Training, base: Problem, alpha: float, settings: Settings, start: Any) -> ScaledFit:
        """Fit with the penalty alpha·‖w‖² from coefficients, intercept and scale; ``base`` is for the scale 1."""
        epsilon = float(self.epsilon)
        scale = deviations(data.X, data.weight) if self.standardize else None

        def problem_at(sigma: float) -> Problem:
            penalty = self._penalty(alpha * sigma, 0.0, data.X.shape[1], scale)
            return base.replace(loss=Huber(epsilon * sigma), penalty=penalty)

        def solve_at(problem: Problem, x0: Any, intercept0: Any, tol: float, rounds: int) -> Any:
            how = replace(settings, tol=tol, max_iter=min(rounds, settings.max_iter))
            return solve_problem(problem, how, intercept=self.fit_intercept, x0=x0, intercept0=intercept0)

        return fit_with_scale(problem_at, solve_at, epsilon, self.fit_intercept, settings.tol, start)

    def _follow(
        self, data: Training, problem: Any, strengths: Array, settings: Settings, x0: Array | None = None
    ) -> Followed:
        def fit(alpha: float, before: Any) -> ScaledFit:
            start = (x0, None, None) if before is None else (before.x, before.intercept, before.scale)
            return self._fit_scale(data, problem, alpha, settings, start)

        return one_by_one(fit, strengths, settings.tol)

    def _keep(self, solutions: list[Any], unit: float = 1.0, model: Any = None) -> None:
        fit = solutions[0]
        self.scale_, self.outliers_ = fit.scale, np.abs(fit.residuals) > self.epsilon * fit.scale
        super()._keep(solutions, unit)


@dataclass(frozen=True)
class ScaledFit(Solution):
    """A solution with its scale and its residuals, in the units of P."""

    scale: float = math.nan
    residuals: Array = field(default_factory=lambda: np.empty(0), repr=False)


@np.errstate(over="ignore")  # what overflows is infinite, and no certificate is given for it
def fit_with_scale(
    problem_at: Callable[[float], Problem], solve_at: SolveAt, epsilon: float, intercept: bool, tol: float,
    start: tuple[Any, Any, float | None] = (None, None, None),
) -> ScaledFit:  # fmt: skip
    """Minimise P, where ``problem_at(σ)`` states the problem for a scale and ``solve_at`` solves it.

    The tolerance is ``tol`` times P at zero coefficients, with the median as intercept and its best scale.  With hardly
    any penalty, coefficients are known far less well than P: the last fit goes on to the limits of float64.
    """
    problem = problem_at(1.0)
    y, weight = problem.loss.given, problem.weight
    centred, total = y - weighted_median(y, weight) if intercept else y, float(weight.sum())
    size, first = float(weight @ np.abs(centred) / total) or 1.0, scale_of(centred, weight, epsilon)
    floor = SMALLEST_SCALE * size
    # a constant target has no scale: 1 takes its place in the reference
    zero = primal(centred, weight, max(floor, first), epsilon) if centred.any() else total
    search, is_last, is_stationary = ScaleSearch(floor, max(start[2] or first or size, floor)), not centred.any(), False
    points: list[ScaledFit] = []
    status, spent, (x0, constant, _) = Status.ITERATION_LIMIT, np.zeros(4), start
    with hearing_of_losses() as lost:
        try:
            for _ in range(MOST_SCALE_FITS):
                sigma = search.sigma
                at_zero = primal(centred, weight, sigma, epsilon) - sigma * total  # 2/σ times F at zero coefficients
                share = SCALE_SHARE * tol * min(1.0, zero / at_zero if at_zero > 0.0 else 1.0)
                problem = problem_at(sigma)
                found = solve_at(problem, x0, constant, 1e-20 if is_last else share, 10 if is_last else sys.maxsize)
                spent += (found.n_iter, found.reads, found.seconds, found.compile_seconds)
                points.append(joint_fit(problem, found, sigma, floor, epsilon, intercept))
                status, slope = found.status, derivative_in_scale(points[-1].residuals, weight, sigma, epsilon)
                is_stationary = status is Status.STATIONARY and abs(slope) * sigma <= tol * zero
                if is_last or status in (Status.INTERRUPTED, Status.UNREACHABLE):
                    break
                is_last = points[-1].gap <= tol * zero or is_stationary or not search.moves(slope, points[-1].scale)
                if is_last and problem.design.is_dear and problem.design.rounds:
                    break  # the last digits are not worth a round trip
                x0, constant = (found.x, found.intercept) if math.isfinite(found.objective) else (None, None)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except DataGone as error:
            status = Status.UNREACHABLE
            lost.append(error)
        if not points:
            raise lost[0] if lost else KeyboardInterrupt
    if lost:
        tell_of_loss(lost[0], frames_to_the_user())
    best = min(points, key=lambda point: point.gap)
    if status is not Status.INTERRUPTED:  # an interrupted fit stays marked: the caller raises KeyboardInterrupt
        if best.gap <= tol * zero:
            status = Status.CONVERGED
        elif is_stationary or search.is_at_floor:
            status = Status.STATIONARY
        elif status.is_answer:
            status = Status.ITERATION_LIMIT
    n_iter, reads, seconds, compiling = spent.tolist()
    work: dict[str, Any] = {"n_iter": int(n_iter), "reads": int(reads), "seconds": seconds}
    return replace(best, status=status, zero_objective=zero, compile_seconds=compiling, **work)


class ScaleSearch:
    """The zero of the increasing G'(σ): secant steps on log σ, not longer than 3, inside a bracket.

    A bracket of a relative width of 1e-13 cannot be improved: rounding errors of the derivative are of that size.
    """

    def __init__(self, floor: float, sigma: float) -> None:
        self.low, self.high, self.floor, self.sigma = floor, math.inf, floor, sigma
        self.last: tuple[float, float] | None = None

    def moves(self, slope: float, alternate: float) -> bool:
        """Step by the derivative here and the best scale for the current residuals; False where σ cannot move."""
        if slope > 0.0:
            self.high = self.sigma
        else:
            self.low = self.sigma
        if self.high <= self.low * (1.0 + 1e-13):
            return False
        here, before = (math.log(self.sigma), slope), self.last
        if before is not None and before[1] != slope:
            step = slope * (here[0] - before[0]) / (slope - before[1])
            alternate = self.sigma * math.exp(max(-3.0, min(3.0, -step)))
        found, self.last = max(alternate, self.sigma * math.exp(-3.0)), here
        if found <= self.low == self.floor:
            found = self.floor
        elif not self.low < found < self.high:
            found = math.sqrt(self.low) * math.sqrt(self.high) if self.high < math.inf else 4.0 * self.sigma
        self.sigma = found
        return True

    @property
    def is_at_floor(self) -> bool:
        """True for a perfect fit: the smallest scale is the best."""
        return self.high <= self.floor * (1.0 + 1e-13)


def joint_fit(problem: Problem, found: Any, sigma: float, floor: float, epsilon: float, intercept: bool) -> ScaledFit:
    """Return P and a bound on its gap where a fit for one σ ended; the scale is the best one for its residuals."""
    y, weight = problem.loss.given, problem.weight
    residuals = y - problem.linear_predictor(found.x) - found.intercept
    total, rounding = weight.sum(), rounding_of(weight.size)
    scale = max(floor, scale_of(residuals, weight, epsilon))
    objective = primal(residuals, weight, scale, epsilon) + 2.0 / sigma * problem.cost(found.x)
    size = float(np.abs(found.x) @ problem.parts.norm) + abs(found.intercept) * math.sqrt(total)
    zeta = rounding_of(found.x.size) * size  # how far the residuals can be off
    value, error = dual(problem, residuals, weight, sigma, epsilon, intercept, found.intercept if intercept else 0.0)
    error += rounding * abs(objective) + 2.0 * epsilon * math.sqrt(total) * zeta
    gap = max(0.0, objective - value) + error if math.isfinite(value) else math.inf
    gap = min(gap, gap_of_the_fit(found, residuals, weight, sigma, epsilon, zeta, objective))
    return ScaledFit(
        found.x, objective, found.status, 0, gap, intercept=found.intercept, scale=scale, residuals=residuals
    )


def gap_of_the_fit(
    found: Any, residuals: Array, weight: Array, sigma: float, epsilon: float, zeta: float, objective: float
) -> float:
    """Return the joint gap that follows from the gap of the fit for σ alone, whatever the penalty is.

    The dual point u* of that fit is within r = √(8·gap)/σ of u = 2·clip(r_k, ±εσ)/σ, because its gap is at least
    (σ/4)·Σ s_k (u*_k − u_k)².  t·u* with t·‖u*‖ ≤ 2·√Σs is allowed for all three together, and its value is at least
    t·L, L = (2/σ)·(F − gap) + (σ/4)·‖u*‖²: Φ_j*(t·p) ≤ t·Φ_j*(p), as Φ is not negative.
    """
    if not (math.isfinite(found.gap) and math.isfinite(found.objective)):
        return math.inf
    root, rounding = math.sqrt(float(weight.sum())), rounding_of(weight.size)
    length = math.sqrt(float(weight @ (2.0 * np.clip(residuals / sigma, -epsilon, epsilon)) ** 2))
    away = math.sqrt(8.0 * found.gap) / sigma + 2.0 / sigma * zeta + rounding * length
    fitted = 2.0 / sigma * (found.objective - found.gap)
    least = fitted + 0.25 * sigma * max(0.0, length - away) ** 2
    share = min(1.0, 2.0 * root / (length + away) * (1.0 - 4.0 * rounding)) if length + away > 0.0 else 1.0
    error = 4.0 * rounding * (abs(objective) + abs(fitted) + 2.0 / sigma * abs(found.objective))
    error += 2.0 * (2.0 * epsilon * root * zeta + zeta**2 / sigma)  # of P and of F
    return max(0.0, objective - max(0.0, share * least)) + error


def derivative_in_scale(residuals: Array, weight: Array, sigma: float, epsilon: float) -> float:
    """Return G'(σ) for these residuals."""
    clipped = np.minimum(np.abs(residuals) / sigma, epsilon)
    return float(weight.sum() - weight @ clipped**2)


def scale_of(residuals: Array, weight: Array, epsilon: float) -> float:
    """Return the σ that minimises P for fixed residuals: the zero of G', 0 if there is none above 0."""
    is_moved = (residuals != 0.0) & (weight > 0.0)
    size, total = np.abs(residuals[is_moved]), float(weight.sum())
    if total >= epsilon**2 * float(weight[is_moved].sum()):  # G' is not negative near 0
        return 0.0
    top = float(size.max())  # squares of what is left are in range
    size, residuals = size / top, residuals / top
    low, high = 0.5 * size.min() / epsilon, 2.0 * math.sqrt(float(weight[is_moved] @ size**2) / total)
    how = {"xtol": 1e-300, "rtol": 8.0 * UNIT, "maxiter": 2000}  # the finest that there is
    return top * float(brentq(lambda sigma: derivative_in_scale(residuals, weight, sigma, epsilon), low, high, **how))


def primal(residuals: Array, weight: Array, scale: float, epsilon: float) -> float:
    """Return P without its penalty."""
    size = np.abs(residuals) / scale
    losses = np.where(size <= epsilon, 0.5 * size**2, epsilon * (size - 0.5 * epsilon))
    return float(scale * (weight.sum() + 2.0 * (weight @ losses)))


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
