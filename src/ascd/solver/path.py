"""``path``: the same problem for a falling sequence of penalties, each started from the one before.

What the solver knows is carried along: intervals, and for quadratic losses the products of columns.  So most columns
are read a few times in the whole path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_count, as_finite_vector, as_flag, as_number
from ascd._core.clock import Stopwatch
from ascd._core.contracts import check_methods
from ascd._core.jit import helper, kernel
from ascd._core.threads import as_n_jobs, quiet
from ascd.matrix.arithmetic import support
from ascd.matrix.base import DataGone
from ascd.problem.penalties import as_penalty
from ascd.problem.problem import Problem
from ascd.problem.recession import check_bounded
from ascd.problem.tuning import LAST_PLACES
from ascd.protocols import Penalty
from ascd.results.limits import Limits
from ascd.results.path import Path
from ascd.results.progress import progress_bar
from ascd.results.solution import Snapshot, Status
from ascd.solver import tuning
from ascd.solver.foresight import Foresight
from ascd.solver.loop import Solver
from ascd.solver.solve import Watch, as_reference, as_start, check_run, give_up


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
    """Minimise f(Ax + c·1) + alpha·Σ Ψ_j(x_j) for a falling sequence of alphas.

    Parameters
    ----------
    problem : Problem
        Its penalty is what the alphas multiply: with ``L1(1.0)`` an alpha is the usual λ.
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
    """
    limits = check_run(problem, max_iter, max_time, callback)
    if not hasattr(problem.parts.penalty, "scaled"):
        raise TypeError(f"path needs a penalty with a method scaled(factor); {problem.parts.penalty!r} has none")
    tol = as_number(tol, "tol", low=0.0)
    factors = as_alphas(alphas)
    n_alphas, eps = as_count(n_alphas, "n_alphas"), as_number(eps, "eps", low=0.0, high=1.0, strict=True)
    stop_early = alphas is None if early_stop is None else as_flag(early_stop, "early_stop")
    intercept = as_flag(intercept, "intercept")
    x = as_start(problem, x0, intercept)
    clock = Stopwatch()
    entries, steps = problem.n_samples * problem.n_features, n_alphas if factors is None else factors.size
    with quiet(as_n_jobs(n_jobs), entries), progress_bar(progress, steps) as show:
        solver = Solver(problem, x, intercept, 0.0)
        if factors is None:
            factors = _grid(largest_alpha(solver, problem.parts.penalty, limits), n_alphas, eps)
        needed = "given" if alphas is None else "smaller"
        _check_largest(problem.parts.penalty, float(factors.max()), problem.n_features, needed)
        smallest = problem.parts.penalty.scaled(float(factors.min()))
        check_bounded(problem.design, problem.parts._replace(penalty=smallest), intercept)
        walk = _Walk(solver, problem.parts.penalty, as_reference(problem, solver.fit), tol, limits, clock)
        watch = Watch(solver, callback, lambda *_: None, clock)
        status = walk.along(factors, stop_early, watch, show)
    return walk.result(factors, status, clock.seconds)


class _Walk:
    """The points met so far."""

    def __init__(
        self, solver: Solver, penalty: Any, reference: float, tol: float, limits: Limits, clock: Stopwatch
    ) -> None:
        self.solver, self.penalty, self.reference, self.limits, self.clock = solver, penalty, reference, limits, clock
        self.tolerance = tol * reference
        self.points: list[tuple[Array, Array]] = []
        self.rows: list[tuple[float, ...]] = []
        self.foresight = None
        if Foresight.pays(solver) and limits.max_iter > 0:
            self.foresight = Foresight(solver, penalty, self.tolerance)

    def along(self, factors: Array, stop_early: bool, watch: Watch, show: Any) -> Status:
        worst = Status.CONVERGED
        try:
            for number, factor in enumerate(factors):
                before, is_last = self.solver.n_iter, number + 1 == factors.size
                foresight = self.foresight if number > 0 and self.clock.elapsed < self.limits.max_time else None
                if foresight:
                    foresight.begin(factors[number:])
                status = self._minimise(float(factor), watch, confirm=is_last)
                if foresight:
                    foresight.end()
                self._keep(before)
                if stop_early and not is_last and self._hardly_changes():
                    is_last, status = True, self._minimise(float(factor), watch, confirm=True)
                    self.points.pop(), self.rows.pop()
                    self._keep(before)
                show(number + 1, self.solver.standing.objective)
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

    def _minimise(self, factor: float, watch: Watch, confirm: bool) -> Status:
        left = self.limits.max_time - self.clock.elapsed
        limits = self.limits._replace(max_time=left)
        status = self.solver.minimise(self.penalty.scaled(factor), self.tolerance, limits, watch, confirm)
        if not status.is_answer:
            self.solver.assessment.settle(self.tolerance)
        return status

    def _keep(self, before: int) -> None:
        fit, now = self.solver.fit, self.solver.standing
        there = support(fit.x)
        self.points.append((there, fit.x[there]))
        explained = 1.0 - fit.loss_sum / fit.zero_objective if fit.zero_objective > 0.0 else 0.0
        self.rows.append((fit.constant, now.objective, now.gap, self.solver.n_iter - before, explained))

    def _hardly_changes(self) -> bool:
        explained = [row[4] for row in self.rows]
        if len(explained) < tuning.FEWEST_PENALTIES:
            return False
        return explained[-1] > tuning.ALMOST_ALL or explained[-1] - explained[-2] < tuning.HARDLY_MORE * explained[-1]

    def result(self, factors: Array, status: Status, seconds: float) -> Path:
        count = len(self.points)
        coefs = np.zeros((self.solver.fit.n, count), order="F")
        for column, (there, values) in enumerate(self.points):
            coefs[there, column] = values
        table = np.array(self.rows).reshape(count, 5).T
        return Path(
            alphas=factors[:count], coefs=coefs, intercepts=table[0], objectives=table[1], gaps=table[2],
            n_iters=table[3].astype(np.int64), deviance_ratio=table[4], reads=int(self.solver.reads), status=status,
            zero_objective=self.reference, seconds=seconds,
        )  # fmt: skip


def largest_alpha(solver: Solver, penalty: Any, limits: Limits) -> float:
    """The smallest alpha at which every penalised coordinate is zero (where the penalty has a kink there)."""
    solver.bounds.read_all(solver.fit.slope)
    if solver.fit.x.any():
        raise ValueError(
            "alphas must be given where the path does not start at zero: x0, or a penalty that excludes it"
        )
    factor = float(factor_at_zero(penalty, penalty.scaled(0.0), solver.bounds.estimate))
    if factor == 0.0 or math.isinf(factor):
        raise ValueError(
            "alphas must be given: the penalty has no kink at zero, so no alpha makes all coefficients zero"
            if math.isinf(factor) else "alphas must be given: every alpha makes all coefficients zero"
        )  # fmt: skip
    for _ in range(tuning.MOST_STARTS):  # fit unpenalised coordinates first: that changes the gradient of the others
        solver.minimise(
            penalty.scaled(factor), tuning.PRECISE_START * solver.fit.zero_objective, limits, lambda solver: False
        )
        needed = float(factor_at_zero(penalty, penalty.scaled(0.0), solver.bounds.estimate))
        if needed <= factor * (1.0 + tuning.SAME_FACTOR):
            return needed
        factor = needed
    return factor


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


def _grid(largest: float, n_alphas: int, eps: float) -> Array:
    grid: Array = largest * np.geomspace(1.0, eps, n_alphas) if n_alphas > 1 else np.array([largest])
    return grid
