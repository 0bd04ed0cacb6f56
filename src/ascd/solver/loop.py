"""``solve`` minimises one problem of any kind to a certified duality gap, ``Solver`` is the loop.

All columns are read at the start and for every certificate; between them only those whose ball leaves a decision open.

Small problems are tried in one compiled call first (``small``).  Then repeat
    bounds    a ball for every gradient entry; no column is read, unless they are few
    check     read the columns that may violate optimality; estimate the gap
              where it is small enough: certificate from an exact pass, stop
    working   set: what is free to move, and the worst violations
    step      minimise a quadratic model there by sweeps and Newton steps, and go to its minimum
              (where F is smooth: L-BFGS on all coefficients; where rows are remote: Newton steps there)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_finite_vector, as_flag, as_number
from ascd._core.contracts import users_classes
from ascd._core.threads import as_n_jobs, thread_limits
from ascd._core.timing import Stopwatch
from ascd.matrix.base import DataGone
from ascd.problem.arithmetic import products
from ascd.problem.certificate import certify
from ascd.problem.problem import Problem
from ascd.results import (
    Limits,
    Round,
    Snapshot,
    Solution,
    Status,
    Trace,
    as_limits,
    has_no_minimum,
    onlooker,
    progress_bar,
    tell_of_loss,
)
from ascd.solver import tuning
from ascd.solver.bounds import GradientBounds
from ascd.solver.check import OptimalityCheck, Report
from ascd.solver.rows import RowNewton
from ascd.solver.small import is_small, minimise_small
from ascd.solver.smooth import Smooth
from ascd.solver.state import State
from ascd.solver.subproblem import Subproblem
from ascd.solver.svm import BoxDescent, is_for_descent
from ascd.solver.working_set import Chooser


class Solver:
    """One problem, minimised for one penalty after another; what was learned is kept between them.

    Parameters
    ----------
    problem : Problem
    x : array of shape (n_features, n_outputs) in the order of the blocks, where to start
    intercept : whether constants are fitted
    constant : array of shape (n_outputs,), where they start
    """

    def __init__(self, problem: Any, x: Array, intercept: bool, constant: Array) -> None:
        rows = problem.design.row_parts  # chunks that can evaluate the loss where they are
        if rows is not None and (not problem.is_by_coordinate or users_classes(problem.parts.loss)):
            rows = None
        self.problem, self.is_small = problem, is_small(problem)
        self.state = State(problem, x, intercept, constant)
        self.rows = None if rows is None else RowNewton(self.state, self.check, rows)
        self.n_iter = self.working = 0
        self.is_watched = False  # does a callback see every round?
        self.proved: Report | None = None  # of a small problem

    @cached_property
    def bounds(self) -> GradientBounds:
        return GradientBounds(self.problem, self.state.intercept)

    @cached_property
    def check(self) -> OptimalityCheck:
        return OptimalityCheck(self.state, self.bounds)

    @cached_property
    def subproblem(self) -> Subproblem:
        return Subproblem(self.state, self.bounds)

    @cached_property
    def smooth(self) -> Smooth:
        return Smooth(self.state)

    @property
    def report(self) -> Report:
        """How good the point is."""
        return self.check.report if self.proved is None else self.proved

    @property
    def reads(self) -> int:
        """Columns read so far."""
        read = self.bounds.reads if "bounds" in vars(self) else 0
        return read + self.state.reads + (0 if self.rows is None else self.rows.reads)

    def minimise(
        self, penalty: Any, tolerance: float, limits: Limits, watch: Callable[[Solver], Any], reads_all: bool = True
    ) -> Status:
        """Run until the gap is at most ``tolerance``; ``watch`` is called in every round and may end the run.

        Where ``reads_all`` is true, all columns are read once more to prove the gap, unless a pass is expensive; else
        the balls prove it.
        """
        stopwatch, start, before = Stopwatch(), math.inf, self.n_iter
        if self._solve_small(penalty, tolerance, limits, watch):
            return Status.CONVERGED
        chooser, progress = self._begin(), Improvement()
        if self.rows is not None:
            ended = self.rows.minimise(tolerance, limits, lambda: self._is_ended(watch))
            if ended is not None:
                return ended
            if self.state.is_postponed:
                self.bounds.read_all(self.state.raw_gradient)
        limits = limits._replace(max_iter=limits.max_iter - (self.n_iter - before))
        reads_all = reads_all and not self.state.matrix.is_dear
        for rounds in range(limits.max_iter + 1):
            self.check.evaluate()
            if has_no_minimum(self.report.objective, start):
                return Status.DIVERGED
            start = min(start, self.report.objective)
            # after many rounds with F(x) ≤ tolerance: the dual point 0 proves a gap of F(x), if F is nowhere negative
            is_own_proof = rounds >= 20 and 0.0 < self.report.objective <= tolerance
            if self.report.gap <= tolerance or is_own_proof:
                ended = self.check.confirm(tolerance, reads_all)
                if ended is not None:
                    return ended
            if rounds == limits.max_iter:
                break
            if stopwatch.seconds > limits.max_time:
                return Status.TIME_LIMIT
            progress.note(self.report)
            is_stuck = progress.idle > tuning.MOST_IDLE
            if (is_stuck or rounds == 1) and self._begins_anew():
                progress = Improvement()
                continue
            if is_stuck:
                return self._last_check(tolerance)
            if watch(self):
                return Status.INTERRUPTED
            until = time.perf_counter() + limits.max_time - stopwatch.seconds
            if not self._improve(chooser, tolerance, progress.idle > 0, until):
                return self._last_check(tolerance)
            self.n_iter += 1
        return Status.ITERATION_LIMIT

    def _solve_small(self, penalty: Any, tolerance: float, limits: Limits, watch: Callable[[Solver], Any]) -> bool:
        """Minimise a small problem in one call, unless every round is watched; return whether that is proved."""
        self.proved = None
        self.state.use(penalty)
        if not self.is_small or self.is_watched or limits.max_iter == 0 or limits.max_time <= 0.0:
            return False
        start = self.state.seen.value + self.state.terms.cost(self.state.x)
        self.proved = Report(start, math.inf, math.inf, False, math.inf)
        watch(self)
        self.proved = None
        found, gradient = minimise_small(self.state, tolerance, limits.max_iter)
        self.n_iter += found.rounds
        self.working = int(np.count_nonzero(self.state.x.any(axis=1)))
        # a penalty whose own violation is no number proves nothing
        if found.gap <= tolerance and self.state.is_fresh and not math.isnan(found.violation):
            state, exact = self.state, np.zeros(self.state.terms.count)
            given = gradient, exact, lambda dual: products(state.matrix, state.order, dual)
            gap, _ = certify(self.problem, state.terms, state.point, *given, tolerance)
            if gap <= tolerance:
                self.proved = Report(found.value + found.cost, gap, found.violation, True, math.inf)
        return self.proved is not None

    def _improve(self, chooser: Chooser, tolerance: float, is_idle: bool, until: float) -> bool:
        """Take a step; return False where nothing can move: what is left of the gap is rounding."""
        if self.smooth.applies():
            self.working = self.state.n
            self.smooth.improve(tolerance, until)
            self.bounds.update(self.state.raw_gradient)
            return True
        working = chooser.choose(tolerance, is_idle)
        if working.blocks.size == 0:
            return False
        self.working = working.rows.size
        self.subproblem.improve(working, self.report.violation)
        return True

    def settle(self, enough: float) -> None:
        """Compute the report anew with its certificate, unless row chunks have given one already."""
        if not (self.state.is_postponed and self.report.is_complete):
            self.check.settle(enough)

    def _begin(self) -> Chooser:
        self.check.failures = 0
        if self.rows is None and self.state.is_postponed:
            self.state.recompute()
        if self.bounds.reads == 0 and self.state.is_fresh:
            self.bounds.read_all(self.state.raw_gradient)
        is_fast, takes_all = self.subproblem.remote is not None, self.smooth.takes_all()
        return Chooser(self.state, self.check, is_fast, takes_all)

    def _is_ended(self, watch: Callable[[Solver], Any]) -> bool:
        """Return whether the watch ends the run before a round trip."""
        if watch(self):
            return True
        self.n_iter += 1
        self.working = self.state.n
        return False

    def _begins_anew(self) -> bool:
        """Start again from zero where F is lower: far away losses may have gradients and no curvature."""
        state, zero = self.state, np.zeros(self.state.x.shape)
        if state.terms.is_by_coordinate or not self.report.objective > state.zero_value + state.terms.cost(zero):
            return False
        state.move_to(zero, state.zero_constant)
        self.bounds.update(state.raw_gradient)
        return True

    def _last_check(self, tolerance: float) -> Status:
        """Return whether the point is proved, or at least stationary, where nothing moves any more."""
        self.check.settle(tolerance)
        if self.report.gap <= tolerance:
            return Status.CONVERGED
        return Status.STATIONARY if self.check.is_stationary(tolerance) else Status.STALLED


class Improvement:
    """The best objective, gap and violation so far; ``idle`` counts rounds that improved none of them."""

    def __init__(self) -> None:
        self.objective = self.gap = self.violation = math.inf
        self.idle = 0

    def note(self, now: Report) -> None:
        """Note whether the objective has decreased by more than rounding, or the gap or the violation clearly."""
        lowest, share = self.objective - tuning.OBJECTIVE_ROUNDING * abs(now.objective), 0.9
        is_better = now.objective < lowest or now.gap < share * self.gap or now.violation < share * self.violation
        self.idle = 0 if is_better else self.idle + 1
        self.objective = min(self.objective, now.objective)
        self.gap, self.violation = min(self.gap, now.gap), min(self.violation, now.violation)


# ---- ``solve``


def solve(
    problem: Problem,
    tol: float = 1e-6,
    x0: Any = None,
    intercept: bool = False,
    intercept0: Any = None,
    max_iter: int = tuning.DEFAULT_ROUNDS,
    max_time: float | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
) -> Solution:
    """Minimise F(X, c) = f(AX + 1cᵀ) + Σ_b Ψ_b(X_b) to a certified duality gap.

    Parameters
    ----------
    problem : Problem
        Of any kind: by coordinate, with groups of columns, with several targets or classes.
    tol : float
        Stop when the duality gap is at most ``tol`` times F at zero coefficients (with the intercept fitted): the
        status is then "converged".  Where no dual point is found that proves it (many or dependent coordinates without
        a penalty, or one that is not convex), first-order conditions are held to the same scale, and the status is
        "stationary".
    x0 : array of length n_features or of shape (n_features, n_outputs), optional
        Where to start; zero (or the nearest allowed point) by default.
    intercept : bool
        Fit an unpenalised constant c for each output as well.
    intercept0 : float or array of length n_outputs, optional
        Where c starts, with ``x0``.
    max_iter : number of rounds: working sets, or round trips to rows that are not in memory
    max_time : float, optional
        Seconds.
    n_jobs : threads that share the work; −1 for all processors, −2 for all but one
    callback : called with a ``Snapshot`` in every round; a true answer stops the run
    progress : show a progress bar (needs ``rich`` outside of notebooks)

    Returns
    -------
    Solution
        With ``intercept``, and ``zero_objective``, the F that the tolerance refers to.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 200))
    >>> b = A[:, :3] @ [1.0, -2.0, 3.0] + 10.0
    >>> solution = ascd.solve(ascd.Problem(A, b, penalty=ascd.L1(5.0)), tol=1e-10, intercept=True)
    >>> solution.converged, np.flatnonzero(solution.x).tolist()
    (True, [0, 1, 2])
    >>> B = A[:, :2] @ rng.standard_normal((2, 3)) + [1.0, 2.0, 3.0]
    >>> several = ascd.solve(ascd.Problem(A, B, penalty=ascd.L21(5.0)), tol=1e-10, intercept=True)
    >>> several.converged, several.x.shape, several.intercept.shape, np.flatnonzero(several.x.any(axis=1)).tolist()
    (True, (200, 3), (3,), [0, 1])
    """
    limits = check_run(problem, max_iter, max_time, callback)
    tol, threads = as_number(tol, "tol", low=0.0), as_n_jobs(n_jobs)
    intercept = as_flag(intercept, "intercept")
    x = as_start(problem, x0, intercept)
    constant = np.zeros(problem.n_outputs) if intercept0 is None else as_constant(problem, intercept0, intercept)
    is_cold = x0 is None and intercept0 is None and callback is None
    in_box = is_cold and not progress and not intercept and is_for_descent(problem, tol, limits)
    library = threads if in_box or not problem.is_by_coordinate else 1
    entries = problem.n_samples * problem.n_features
    with thread_limits(threads, entries, library), progress_bar(progress, limits.max_iter) as show:
        stopwatch = Stopwatch()
        solver = Solver(problem, x, intercept, constant)
        found = _run(solver, stopwatch, in_box, tol, limits, callback, show)
    is_proved = found.status is Status.CONVERGED
    if is_proved and found.steepness > 0.0 and problem.is_by_coordinate and users_classes(problem.penalty):
        check_conjugate(problem, found)
    return found


def check_conjugate(problem: Problem, found: Solution) -> None:
    """Raise a ValueError where a step by a penalty's own prox gains more than its conjugate says is left."""
    x, terms = found.x.copy(), problem.terms()
    gradient = products(problem.design, np.arange(x.size), problem.evaluate(x, found.intercept)[2][:, None])
    terms.screen(x[:, None], gradient, np.zeros(x.size))
    j = int(np.argmax(np.where(np.isfinite(terms.score), terms.score, 0.0)))
    left, step = found.gap + 1e-9 * abs(found.objective), 1.0 / max(problem.norm[j] ** 2, 1e-300)
    if 0.5 * terms.score[j] ** 2 <= left:
        return
    x[j] = problem.penalty.prox(x[j] - step * gradient[j, 0], step, j)
    gain, name = found.objective - problem.objective(x, found.intercept), type(problem.penalty).__name__
    if gain > left:
        raise ValueError(
            f"penalty {name} contradicts itself: by its conjugate F is at most {found.gap:.3g} above its minimum, but "
            f"a step by its prox at coordinate {j} lowers F by {gain:.3g}: correct cost_conjugate, dual_scale or prox"
        )


def _run(
    solver: Solver, stopwatch: Stopwatch, in_box: bool, tol: float, limits: Limits, callback: Any, show: Any
) -> Solution:
    problem, status = solver.problem, Status.INTERRUPTED
    reference = as_reference(problem, solver.state)
    enough = tol * reference
    watch = Recorder(solver, callback, show, stopwatch, enough)
    try:
        with suppress(KeyboardInterrupt):
            if in_box:
                descent = BoxDescent(problem, solver.state.x[:, 0].copy())
                descent.minimise(lambda _: tuning.UNDER_GOAL * enough, limits.max_iter // 2)
                solver.state.move_to(descent.x[:, None], solver.state.constant)
                solver.state.reads += descent.reads
                solver.n_iter = descent.n_iter
                if descent.is_interrupted:
                    raise KeyboardInterrupt
                limits = limits._replace(max_iter=limits.max_iter - solver.n_iter)
            status = solver.minimise(problem.penalty, enough, limits, watch)
        if not status.is_answer:
            solver.settle(enough)
            if status is Status.ITERATION_LIMIT and solver.report.gap <= enough:
                status = Status.CONVERGED
    except DataGone as error:
        status = give_up(solver, enough, error)
    watch.record()
    report, constant = solver.report, solver.state.constant
    return Solution(
        x=problem.as_given(solver.state.x), objective=float(report.objective), status=status, n_iter=solver.n_iter,
        gap=float(report.gap), steepness=float(report.violation), reads=int(solver.reads), seconds=stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds, trace=watch.trace,
        intercept=float(constant[0]) if problem.loss.is_flat else constant, zero_objective=reference,
    )  # fmt: skip


def give_up(solver: Solver, enough: float, error: DataGone) -> Status:
    """Certify what is known of the point, where the data are out of reach."""
    solver.check.settle_without_data(enough)
    tell_of_loss(error, stacklevel=4)
    return Status.UNREACHABLE


class Recorder:
    """Called in every round: records, shows progress, calls the callback."""

    def __init__(
        self, solver: Solver, callback: Callable[[Snapshot], Any] | None, show: Any, stopwatch: Stopwatch,
        enough: float = 0.0,
    ) -> None:  # fmt: skip
        self.solver, self.callback, self.show, self.stopwatch, self.enough = solver, callback, show, stopwatch, enough
        self.trace, self.recorded = Trace(), -1
        solver.is_watched = callback is not None

    def __call__(self, solver: Solver) -> bool:
        self.record()
        objective, problem = solver.report.objective, solver.problem
        if self.show:
            self.show(solver.n_iter, objective)
        if tell := onlooker.get():
            tell(Round(solver.n_iter, problem.design.rounds, objective, solver.report.gap, self.enough))
        if self.callback is None:
            return False
        x = solver.state.x[:, 0] if problem.is_by_coordinate else problem.as_given(solver.state.x)
        return bool(self.callback(Snapshot(solver.n_iter, x, objective, self.trace)))

    def record(self) -> None:
        """Record where the run is, in the place of what a round has recorded of the same iterate."""
        solver, now = self.solver, self.solver.report
        enter = self.trace.replace_last if self.recorded == solver.n_iter else self.trace.add
        enter(
            iteration=solver.n_iter, objective=now.objective, bound=now.violation,
            gap=now.gap if now.is_complete else math.inf,
            active=solver.working, reads=solver.reads, seconds=self.stopwatch.seconds,
        )  # fmt: skip
        self.recorded = solver.n_iter


def check_run(problem: Any, max_iter: Any, max_time: Any, callback: Any) -> Limits:
    """Return the limits of a run, after a check of what else was passed."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be an ascd.Problem; got {type(problem).__name__}")
    return as_limits(max_iter, max_time, callback)


def as_reference(problem: Problem, state: State) -> float:
    """Return what the tolerance is a share of: F at zero coefficients, with the best intercept where one is fitted.

    Where zero is not allowed, it is F at the nearest point that is.  Where an intercept alone fits the target, F there
    is rounding: then it is F at zero without the intercept.  Where F at zero is not positive (the dual of a support
    vector machine, targets of 0), it is the gap there: for the dual of a support vector machine the primal objective at
    zero weights; 1 if none is known.
    """
    nearest = problem.nearest
    is_away = bool(nearest.any())
    if is_away or state.x.any():
        state = State(problem, nearest.copy(), state.intercept, np.zeros(problem.n_outputs))
    value = state.seen.value + (state.terms.cost(state.x) if is_away else 0.0)
    if state.intercept and not problem.loss.is_coupled:
        known = problem.loss.target - problem.offset
        known = known[problem.sample_weight > 0.0] if np.ndim(problem.sample_weight) else known
        value = 0.0 if np.all(known == known[:1]) else value
    if state.intercept and value <= 0.0:
        value = problem.objective(problem.as_given(nearest))
    if value > 0.0:
        return value
    gap = problem.gap(problem.as_given(nearest))
    return gap if math.isfinite(gap) else 1.0


def as_start(problem: Problem, x0: Any, intercept: bool) -> Array:
    """Return a copy of x0, or the allowed point nearest to zero; of shape (n, T) in the order of the blocks.

    Where an intercept is fitted, the losses at x0 without it say nothing: exp may overflow there.
    """
    if x0 is None:
        return problem.nearest.copy()
    x = problem.as_point(x0, "x0")
    value = problem.objective(x[:, 0]) if problem.is_by_coordinate and not intercept else problem.cost(x)
    if not math.isfinite(value):
        raise ValueError("x0 must have a finite objective (lie inside the box, if there is one)")
    return x


def as_constant(problem: Problem, intercept0: Any, intercept: bool) -> Array:
    """Return where the intercepts start, of shape (n_outputs,)."""
    count, most = problem.n_outputs, 1e300  # sums with predictions are still finite
    if problem.is_by_coordinate:
        given = np.array([as_number(intercept0, "intercept0", low=-most, high=most)])
    else:
        given = as_finite_vector(np.ravel(intercept0), "intercept0")
    if given.size not in (1, count):
        raise ValueError(f"intercept0 must be one number, or one for each of {count}; got {given.size}")
    if given.any() and not intercept:
        raise ValueError(f"intercept0 must be 0 or None where intercept=False; got {intercept0!r}")
    return np.zeros(count) + given
