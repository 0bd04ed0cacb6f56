"""``path``: the same problem for a falling sequence of penalties, each started from the one before.

What the solver knows is carried along: bounds, and for quadratic losses the Gram matrix.  So most columns are read a
few times in the whole path.

**Batched warm starts**, where a pass over the data is expensive: when a penalty is done, the minima of the next few are
approximated over those coordinates that may move until then, whose columns are cached.  One pass over the data then
gives the gradient entries of all columns at all these points.  Coordinate j is likely to stay at rest (the strong rule,
Tibshirani et al. 2012: gradient entries mostly change no faster than the kinks of the penalty) where

    g_j ± max(|low_j − low'_j|, |high_j − high'_j|)

lies inside −∂Ψ'_j, with the ends of the subdifferentials now and for the last of those penalties (').
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_count, as_finite_vector, as_flag, as_number
from ascd._core.contracts import check_methods
from ascd._core.threads import as_n_jobs, thread_limits
from ascd._core.timing import Stopwatch
from ascd.matrix.base import DataGone
from ascd.problem.block_penalties import Entrywise
from ascd.problem.penalties import as_penalty, check_bounded
from ascd.problem.problem import Problem
from ascd.problem.terms import subgradients
from ascd.protocols import Penalty
from ascd.results import Limits, Path, Snapshot, Status, progress_bar
from ascd.solver import tuning
from ascd.solver.loop import Recorder, Solver, as_reference, as_start, check_run, give_up
from ascd.solver.working_set import WorkingSet


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
    factors = None if alphas is None else np.sort(as_finite_vector(alphas, "alphas"))[::-1].copy()
    if factors is not None and (factors.size == 0 or factors[-1] < 0.0):
        raise ValueError(f"alphas must be finite and at least 0, one or more of them; got {alphas!r}")
    n_alphas, eps = as_count(n_alphas, "n_alphas"), as_number(eps, "eps", low=0.0, high=1.0, strict=True)
    stop_early = alphas is None if early_stop is None else as_flag(early_stop, "early_stop")
    intercept = as_flag(intercept, "intercept")
    x, threads = as_start(problem, x0, intercept), as_n_jobs(n_jobs)
    stopwatch, penalty = Stopwatch(), problem.penalty
    entries, steps = problem.n_samples * problem.n_features, n_alphas if factors is None else factors.size
    library = 1 if problem.is_by_coordinate else threads
    with thread_limits(threads, entries, library), progress_bar(progress, steps) as show:
        solver = Solver(problem, x, intercept, np.zeros(problem.n_outputs))
        reference = as_reference(problem, solver.state)
        if factors is None:
            factors = largest_alpha(solver, penalty, reference, limits) * np.geomspace(1.0, eps, n_alphas)
        if problem.is_by_coordinate:
            _check_largest(penalty, float(factors.max()), problem.n_features)
            check_bounded(penalty.scaled(float(factors.min())), problem.norm)
        watch = Recorder(solver, callback, None, stopwatch)
        walk = _Walk(solver, penalty, tol * reference, limits, watch)
        status = walk.along(factors, stop_early, show)
    return walk.result(factors, status, reference)


class _Walk:
    """The fits of a path so far: of each the rows of x that are not zero, and what else ``Path`` has of it."""

    def __init__(self, solver: Solver, penalty: Any, tolerance: float, limits: Limits, watch: Recorder) -> None:
        self.solver, self.penalty, self.tolerance, self.limits, self.watch = solver, penalty, tolerance, limits, watch
        self.state, self.explained = solver.state, 0.0  # the share of the deviance
        self.stopwatch, self.warm_starts = watch.stopwatch, WarmStarts(solver, penalty, tolerance)
        self.fits: list[tuple[Any, ...]] = []

    def along(self, factors: Array, stop_early: bool, show: Any) -> Status:
        worst = Status.CONVERGED
        try:
            for number, factor in enumerate(factors.tolist()):
                before, is_last = self.solver.n_iter, number + 1 == factors.size
                has_time = self.limits.max_iter > 0 and self.stopwatch.seconds < self.limits.max_time
                with self.warm_starts.used(factors[number:] if number > 0 and has_time else factors[:0]):
                    status = self._minimise(factor, reads_all=is_last)
                if stop_early and not is_last and len(self.fits) > 3:  # glmnet's rule
                    hardly_grows = self.explained - self.fits[-1][-1] < 1e-5 * self.explained
                    if hardly_grows or self.explained > 0.999:
                        is_last, status = True, self._minimise(factor, reads_all=True)
                now, there = self.solver.report, self.state.support
                numbers = now.objective, now.gap, self.solver.n_iter - before, self.explained
                self.fits.append((there, self.state.x[there], self.state.constant, *numbers))
                if show:
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

    def _minimise(self, factor: float, reads_all: bool) -> Status:
        limits = self.limits._replace(max_time=self.limits.max_time - self.stopwatch.seconds)
        status = self.solver.minimise(self.penalty.scaled(factor), self.tolerance, limits, self.watch, reads_all)
        if not status.is_answer:
            self.solver.settle(self.tolerance)
        loss, at_zero = self.solver.report.objective - self.state.terms.cost(self.state.x), self.state.zero_value
        self.explained = 1.0 - loss / at_zero if at_zero > 0.0 else 0.0
        return status

    def result(self, factors: Array, status: Status, reference: float) -> Path:
        problem, count, is_flat = self.solver.problem, len(self.fits), self.solver.problem.loss.is_flat
        coefs = np.zeros((problem.n_features, problem.n_outputs, count), order="F")
        for number, (there, values, *_) in enumerate(self.fits):
            coefs[problem.groups.order[there], :, number] = values
        constants = np.array([fit[2] for fit in self.fits]).reshape(count, problem.n_outputs).T
        table = np.array([fit[3:] for fit in self.fits]).reshape(count, 4).T
        return Path(
            alphas=factors[:count], coefs=coefs[:, 0] if is_flat else coefs,
            intercepts=constants[0] if is_flat else constants, objectives=table[0], gaps=table[1],
            n_iters=table[2].astype(np.int64), deviance_ratio=table[3], reads=int(self.solver.reads), status=status,
            zero_objective=reference, seconds=self.stopwatch.seconds,
        )  # fmt: skip


# ---- the largest alpha


def largest_alpha(solver: Solver, penalty: Any, reference: float, limits: Limits) -> float:
    """Return the smallest alpha at which every penalised block is zero; unpenalised ones are fitted first."""
    if solver.state.x.any():
        raise ValueError(
            "alphas must be given where the path does not start at zero: x0, or a penalty that excludes it"
        )
    bounds, factor = solver.bounds, 0.0
    for _ in range(20):
        if not bounds.is_exact(solver.state.raw_gradient):
            bounds.read_all(solver.state.raw_gradient)
        needed, holds_all = factor_at_zero(solver.problem, penalty, bounds.estimate)
        if math.isinf(needed):
            raise ValueError(
                "alphas must be given: the penalty has no kink at zero, so no alpha makes all coefficients zero"
            )
        if needed == factor == 0.0:
            raise ValueError("alphas must be given: every alpha makes all coefficients zero")
        if holds_all or needed <= factor * (1.0 + 1e-9):
            break
        factor = needed  # unpenalised coordinates are fitted there, which changes the gradient of the others
        solver.minimise(penalty.scaled(factor), 1e-12 * reference, limits, lambda solver: False)
    return needed if holds_all else needed * (1.0 + 1e-9)  # the fit of the others leaves rounding errors


def factor_at_zero(problem: Problem, penalty: Any, gradient: Array) -> tuple[float, bool]:
    """Return the smallest factor whose kinks at zero hold all blocks that have one, and whether no others move.

    The factor is inf where no kink grows with it.  It is found by bisection, with the violations that the solver meets;
    blocks that a factor holds are held by every larger one.
    """
    zero, exact = np.zeros(gradient.shape), np.zeros(problem.groups.count)

    def scores(factor: float) -> Array:
        terms = problem.terms(penalty.scaled(factor))
        terms.screen(zero, gradient, exact)
        return terms.score

    without = scores(0.0)
    if without.max() <= 0.0:
        return 0.0, False
    # above every alpha that gradients in float64 can need; a strength of 1e37 times this is still finite
    blocks = np.flatnonzero((without > 0.0) & (scores(2.0**900) <= 0.0))
    if blocks.size == 0:
        return math.inf, False
    holds_all, low, high = blocks.size == np.count_nonzero(without > 0.0), 0, int(np.float64(2.0**900).view(np.int64))
    while high - low > 1:  # to the last digit: float64s lie in the order of their bits
        middle = (low + high) // 2
        terms = problem.terms(penalty.scaled(float(np.int64(middle).view(np.float64))))
        terms.fill_scores(zero, gradient, exact, blocks)
        left = blocks[terms.score[blocks] > 0.0]
        low, high, blocks = (middle, high, left) if left.size else (low, middle, blocks)
    return float(np.int64(high).view(np.float64)), holds_all


def _check_largest(penalty: Any, factor: float, n: int) -> None:
    """Raise a ValueError where the penalty times the largest alpha is beyond float64."""
    try:
        with np.errstate(over="ignore"):
            scaled = penalty.scaled(factor)
            check_methods(scaled, Penalty, f"what {type(penalty).__name__}.scaled(factor) returns as penalty")
            as_penalty(scaled, n)
    except ValueError as error:
        raise ValueError(f"alphas must be smaller: with {factor:.3g} the penalty overflows ({error})") from error


# ---- warm starts


class WarmStarts:
    """Batched warm starts for the penalties that come next on a path: ``penalty`` times falling factors.

    A warm start is a start with exact gradient entries, and nothing more: the solver proves it, or goes on from there.
    Where it has to read on, the warm starts that follow are dropped, and the next batch is smaller.
    """

    def __init__(self, solver: Solver, penalty: Any, tolerance: float) -> None:
        self.solver, self.state, self.penalty, self.tolerance = solver, solver.state, penalty, tolerance
        self.waiting: deque[tuple[Any, Array]] = deque()
        # where a pass is expensive, and one serves several points at once
        pays = solver.rows is None and solver.problem.is_by_coordinate and solver.state.matrix.answers_several
        self.at_once = tuning.MOST_WARM_STARTS if pays else 0
        self.usual = 0.0  # the share of the columns that a penalty reads without a warm start, lately

    @contextmanager
    def used(self, factors: Array) -> Iterator[None]:
        """Begin at the warm start for the first of the factors that are left, if there is one; see how good it was."""
        if self.at_once == 0 or factors.size == 0:
            yield
            return
        bounds, is_warm = self.solver.bounds, bool(self.waiting) or self._prepare(factors)
        if is_warm:
            saved, products = self.waiting.popleft()
            self.state.set(*saved)
            bounds.set_exact(bounds.everything, products[:, None], 0, self.state.raw_gradient)
            self.solver.n_iter += 1
        before = bounds.reads
        yield
        share = (bounds.reads - before) / self.state.n
        self.usual = self.usual if is_warm else 0.5 * (self.usual + share)
        if is_warm and share > tuning.GOOD_START:
            self.waiting.clear()
            self.at_once = max(self.at_once // 2, 1)
        elif not self.waiting:
            self.at_once = min(2 * self.at_once, tuning.MOST_WARM_STARTS)

    def _prepare(self, factors: Array) -> bool:
        """Compute warm starts for the next factors; return whether there are any."""
        state, bounds, support = self.state, self.solver.bounds, self.state.support
        room, size = int(0.9 * state.matrix.most_near), 8 * (4 * state.d + 2 * state.n)
        count = min(factors.size, self.at_once, int(tuning.WARM_MEMORY * state.matrix.nbytes / size))
        if count * self.usual < tuning.WORTH_A_PASS or not 0 < support.size <= 0.7 * room:
            return False
        penalties, start = [self.penalty.scaled(factor) for factor in factors[:count].tolist()], state.saved()
        columns = self._may_move(penalties[-1], room)
        self.solver.subproblem.gram.keep(columns)
        try:
            points = [self._minimum(penalty, columns) for penalty in penalties]
        except BaseException:
            state.set(*start)
            raise
        gradients = np.concatenate([seen.raw_gradient for _, _, seen, _ in points], axis=1)
        if not np.isfinite(gradients).all():
            state.set(*start)
            bounds.read_all(state.raw_gradient)  # what was read at such a point is no number either
            return False
        products = state.matrix.dots(bounds.everything, gradients)
        bounds.reads += state.n
        self.waiting.extend(zip(points, np.ascontiguousarray(products.T), strict=True))
        return True

    def _may_move(self, last: Any, room: int) -> Array:
        """Return the nonzero coordinates, and the likeliest to be so at the last penalty, by the strong rule."""
        state, bounds = self.state, self.solver.bounds
        now, then, x, g = np.empty((2, state.n)), np.empty((2, state.n)), state.x.ravel(), bounds.estimate.ravel()
        subgradients(state.penalty, x, *now)
        subgradients(last, x, *then)
        change = np.nan_to_num(np.abs(now - then).max(axis=0), nan=0.0)  # inf − inf: a bound, which does not change
        outside = np.maximum(then[0] + g, -g - then[1]) + bounds.radius + change
        score = outside / np.maximum(state.problem.norm, np.finfo(np.float64).tiny)
        score[state.support] = math.inf
        return np.sort(np.argsort(-score, kind="stable")[: min(room, int(np.count_nonzero(score > 0.0)))])

    def _minimum(self, penalty: Any, columns: Array) -> Any:
        """Return the minimum over these coordinates, from the present point; its predictor is computed from x."""
        state, bounds = self.state, self.solver.bounds
        state.use(penalty)
        bounds.read_once(columns, state.raw_gradient)
        left = state.terms.violation_on(columns, state.x[columns], bounds.estimate[columns])
        working = WorkingSet(state.problem, columns)
        spread = float(np.abs(state.x).sum())
        working.target = 0.1 * self.tolerance / spread if spread > 0.0 else tuning.LAST_SHARE * left
        if left > working.target:
            self.solver.subproblem.improve(working, left)
        if not state.is_fresh:
            state.recompute()
        return state.saved()
