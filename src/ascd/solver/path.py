"""``path``: the same problem for a falling sequence of penalties, each started from the one before.

What the solver knows is carried along: bounds, and for quadratic losses the Gram matrix.  So most columns are read a
few times in the whole path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_count, as_finite_vector, as_flag, as_number
from ascd._core.contracts import check_methods
from ascd._core.jit import helper, kernel
from ascd._core.threads import as_n_jobs, quiet
from ascd._core.timing import Stopwatch
from ascd.matrix.base import DataGone
from ascd.problem.block_penalties import Entrywise
from ascd.problem.groups import nonzero_rows
from ascd.problem.penalties import as_penalty, check_bounded
from ascd.problem.problem import Problem
from ascd.problem.terms import score_blocks
from ascd.problem.tuning import LAST_PLACES
from ascd.protocols import Penalty
from ascd.results.limits import Limits
from ascd.results.path import Path
from ascd.results.progress import progress_bar
from ascd.results.solution import Snapshot, Status
from ascd.solver import tuning
from ascd.solver.loop import Solver
from ascd.solver.solve import Recorder, as_reference, as_start, check_run, give_up


def path(
    problem: Problem,
    alphas: Any = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    tol: float = 1e-6,
    x0: Any = None,
    intercept: bool = False,
    max_iter: int = tuning.DEFAULT_ROUNDS,
    max_time: float | None = None,
    n_jobs: int | None = None,
    early_stop: bool | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
) -> Path:
    """Minimise f(AX + 1cᵀ) + alpha·Σ_b Ψ_b(X_b) for a falling sequence of alphas.

    Parameters
    ----------
    problem : Problem
        Of any kind.  Its penalty is what the alphas multiply: with ``L1(1.0)`` an alpha is the usual λ.
    alphas : array, optional
        Positive factors; by default ``n_alphas`` of them from the largest useful one down to ``eps`` times it.
    tol : gap allowed at each alpha, relative to F at zero coefficients
    early_stop : stop when the deviance explained hardly grows; by default only where the alphas are chosen here

    The other parameters are those of ``solve``; ``max_iter`` is for each alpha, ``max_time`` for all.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 20))
    >>> result = ascd.path(ascd.Problem(A, A[:, 0], penalty=ascd.L1(1.0)), n_alphas=5, eps=0.1)
    >>> [int(count) for count in (result.coefs != 0).sum(axis=0)]
    [0, 1, 1, 1, 1]
    >>> several = ascd.path(ascd.Problem(A, A[:, :2], penalty=ascd.L21(1.0)), n_alphas=4, eps=0.1)
    >>> several.coefs.shape, [int(count) for count in several.coefs.any(axis=1).sum(axis=0)]
    ((20, 2, 4), [0, 2, 2, 2])
    """
    limits = check_run(problem, max_iter, max_time, callback)
    own = problem.penalty.penalty if isinstance(problem.penalty, Entrywise) else problem.penalty
    if not hasattr(own, "scaled"):
        raise TypeError(f"path needs a penalty with a method scaled(factor); {own!r} has none")
    tol = as_number(tol, "tol", low=0.0)
    factors = as_alphas(alphas)
    n_alphas, eps = as_count(n_alphas, "n_alphas"), as_number(eps, "eps", low=0.0, high=1.0, strict=True)
    stop_early = alphas is None if early_stop is None else as_flag(early_stop, "early_stop")
    intercept = as_flag(intercept, "intercept")
    x, threads = as_start(problem, x0, intercept), as_n_jobs(n_jobs)
    stopwatch, penalty = Stopwatch(), problem.penalty
    entries, steps = problem.n_samples * problem.n_features, n_alphas if factors is None else factors.size
    library = 1 if problem.is_by_coordinate else threads
    with quiet(threads, entries, library), progress_bar(progress, steps) as show:
        solver = Solver(problem, x, intercept, np.zeros(problem.n_outputs))
        reference = as_reference(problem, solver.state)
        if factors is None:
            factors = largest_alpha(solver, penalty, reference, limits) * np.geomspace(1.0, eps, n_alphas)
        if problem.is_by_coordinate:
            needed = "given" if alphas is None else "smaller"
            _check_largest(penalty, float(factors.max()), problem.n_features, needed)
            check_bounded(penalty.scaled(float(factors.min())), problem.norm)
        walk = _Walk(solver, penalty, reference, tol, limits, stopwatch)
        watch = Recorder(solver, callback, lambda *_: None, stopwatch)
        status = walk.along(factors, stop_early, watch, show)
    return walk.result(factors, status, stopwatch.seconds)


class _Walk:
    """The points met so far."""

    def __init__(
        self, solver: Solver, penalty: Any, reference: float, tol: float, limits: Limits, stopwatch: Stopwatch
    ) -> None:
        self.solver, self.penalty, self.reference = solver, penalty, reference
        self.limits, self.stopwatch = limits, stopwatch
        self.tolerance = tol * reference
        self.points: list[tuple[Array, Array]] = []
        self.constants: list[Any] = []
        self.rows: list[tuple[float, ...]] = []

    def along(self, factors: Array, stop_early: bool, watch: Recorder, show: Any) -> Status:
        worst = Status.CONVERGED
        try:
            for number, factor in enumerate(factors):
                before, is_last = self.solver.n_iter, number + 1 == factors.size
                status = self._minimise(float(factor), watch, confirm=is_last)
                self._keep(before)
                if stop_early and not is_last and self._hardly_changes():
                    is_last, status = True, self._minimise(float(factor), watch, confirm=True)
                    self.points.pop(), self.rows.pop(), self.constants.pop()
                    self._keep(before)
                show(number + 1, self.solver.report.objective)
                if status in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.DIVERGED):
                    return status
                worst = Status.of_all([worst, status])
                if is_last:
                    break
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except DataGone as error:
            return give_up(self.solver, self.tolerance, error)
        return worst

    def _minimise(self, factor: float, watch: Recorder, confirm: bool) -> Status:
        left = self.limits.max_time - self.stopwatch.seconds
        limits = self.limits._replace(max_time=left)
        status = self.solver.minimise(self.penalty.scaled(factor), self.tolerance, limits, watch, confirm)
        if not status.is_answer:
            self.solver.settle(self.tolerance)
        return status

    def _keep(self, before: int) -> None:
        solver, now, zero = self.solver, self.solver.report, self.solver.state.zero_value
        x, is_flat = solver.x, solver.problem.loss.is_flat
        there = nonzero_rows(x)
        self.points.append((there, x[there]))
        explained = 1.0 - solver.loss_value / zero if zero > 0.0 else 0.0
        self.constants.append(float(solver.constant[0]) if is_flat else solver.constant)
        self.rows.append((now.objective, now.gap, solver.n_iter - before, explained))

    def _hardly_changes(self) -> bool:
        """Return whether the deviance explained is nearly all, or hardly grows: glmnet's rule."""
        explained = [row[3] for row in self.rows]
        if len(explained) < 5:
            return False
        return explained[-1] > 0.999 or explained[-1] - explained[-2] < 1e-5 * explained[-1]

    def result(self, factors: Array, status: Status, seconds: float) -> Path:
        problem, count = self.solver.problem, len(self.points)
        coefs = np.zeros((problem.n_features, problem.n_outputs, count), order="F")
        for number, (there, values) in enumerate(self.points):
            coefs[problem.groups.order[there], :, number] = values
        is_flat, table = problem.loss.is_flat, np.array(self.rows).reshape(count, 4).T
        shape = (count,) if is_flat else (count, problem.n_outputs)
        return Path(
            alphas=factors[:count], coefs=coefs[:, 0] if is_flat else coefs,
            intercepts=np.array(self.constants).reshape(shape).T, objectives=table[0], gaps=table[1],
            n_iters=table[2].astype(np.int64), deviance_ratio=table[3], reads=int(self.solver.reads), status=status,
            zero_objective=self.reference, seconds=seconds,
        )  # fmt: skip


# ---- the largest alpha


def largest_alpha(solver: Solver, penalty: Any, reference: float, limits: Limits) -> float:
    """Return the smallest alpha at which every penalised block is zero; unpenalised ones are fitted first."""
    if solver.state.x.any() or solver.x.any():
        raise ValueError(
            "alphas must be given where the path does not start at zero: x0, or a penalty that excludes it"
        )
    at_zero = _coordinate_alpha if solver.problem.is_by_coordinate else _block_alpha
    factor = needed = at_zero(solver, penalty)
    if factor == 0.0 or math.isinf(factor):
        raise ValueError(
            "alphas must be given: the penalty has no kink at zero, so no alpha makes all coefficients zero"
            if math.isinf(factor) else "alphas must be given: every alpha makes all coefficients zero"
        )  # fmt: skip
    for _ in range(20):  # fit unpenalised coordinates first: that changes the gradient of the others
        solver.minimise(penalty.scaled(factor), 1e-12 * reference, limits, lambda solver: False)
        needed = at_zero(solver, penalty)
        if needed <= factor * (1.0 + 1e-9):
            break
        factor = needed
    return needed


def _exact_gradient(solver: Solver) -> Array:
    """Return the gradient of all coefficients, flat."""
    if not solver.bounds.is_exact(solver.state.raw_gradient):
        solver.bounds.read_all(solver.state.raw_gradient)
    return solver.bounds.estimate.ravel()


def _coordinate_alpha(solver: Solver, penalty: Any) -> float:
    return float(factor_at_zero(penalty, penalty.scaled(0.0), _exact_gradient(solver)))


def _block_alpha(solver: Solver, penalty: Any) -> float:
    """Return the smallest factor with which no penalised block leaves zero, by bisection; inf where none has a kink."""
    problem, gradient = solver.problem, _exact_gradient(solver)
    blocks, distance = np.arange(problem.groups.count), np.empty(problem.groups.count)
    zero, no_radius, norm = np.zeros(gradient.size), np.zeros(distance.size), np.ones(distance.size)

    def largest(factor: float) -> float:
        score_blocks(penalty.scaled(factor), zero, gradient, no_radius, problem.ends, norm, blocks, distance)
        return float(distance[blocks].max(initial=0.0))

    largest(2.0**1000)  # above every alpha that float64's gradients can need
    blocks = blocks[distance <= 0.0]  # the others have no kink at zero
    if blocks.size == 0:
        return math.inf
    if largest(0.0) == 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while largest(high) > 0.0:
        low, high = high, 2.0 * high
    for _ in range(900):  # to the last digit
        middle = 0.5 * (low + high) if low > 0.25 * high else (math.sqrt(low * high) if low > 0.0 else 0.5 * high)
        if not low < middle < high:
            break
        low, high = (low, middle) if largest(middle) == 0.0 else (middle, high)
    return high


@helper
def surely(pull: float, tilt: float) -> float:
    """pull − tilt; where there is a tilt, more by what rounding can do to a kink of that size beside it."""
    away = pull - tilt
    return away + 8.0 * LAST_PLACES * (abs(pull) + abs(tilt)) if away > 0.0 and tilt != 0.0 else away


@kernel
def factor_at_zero(penalty: Any, rest: Any, gradient: Array) -> float:
    """The smallest factor whose kinks at zero hold all coordinates that have one; inf where no kink grows with it.

    ``rest`` is the penalty times 0: what no factor changes (a linear term, a bound).  Kinks that work against a linear
    term are a little larger than they need be: rounding would decide whether they hold.
    """
    factor, kinks = 0.0, 0
    for j in range(gradient.size):
        low, high = penalty.subgradient(0.0, j)
        lowest, highest = rest.subgradient(0.0, j)
        pull = -gradient[j]
        if highest < high < math.inf:
            kinks += 1
            factor = max(factor, surely(pull, highest) / (high - highest))
        if lowest > low > -math.inf:
            kinks += 1
            factor = max(factor, surely(-pull, -lowest) / (lowest - low))
    return factor if kinks > 0 else math.inf


def as_alphas(alphas: Any) -> Array | None:
    if alphas is None:
        return None
    factors = as_finite_vector(alphas, "alphas")
    if factors.size == 0 or factors.min() < 0.0:
        raise ValueError(f"alphas must be finite and at least 0, one or more of them; got {alphas!r}")
    return np.sort(factors)[::-1].copy()


def _check_largest(penalty: Any, factor: float, n: int, needed: str) -> None:
    """Raise a ValueError where the penalty times the largest alpha is beyond float64."""
    try:
        with np.errstate(over="ignore"):
            scaled = penalty.scaled(factor)
            check_methods(scaled, Penalty, f"what {type(penalty).__name__}.scaled(factor) returns as penalty")
            as_penalty(scaled, n)
    except ValueError as error:
        raise ValueError(f"alphas must be {needed}: with {factor:.3g} the penalty overflows ({error})") from error
