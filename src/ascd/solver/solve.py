"""``solve``: the production solver for one problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_finite_vector, as_flag, as_number
from ascd._core.clock import Stopwatch
from ascd._core.threads import as_n_jobs, quiet
from ascd.matrix.base import DataGone
from ascd.problem.penalties import nearest_allowed
from ascd.problem.problem import Problem
from ascd.problem.recession import check_bounded
from ascd.problem.tuning import SAMPLES_A_PART
from ascd.results.limits import Limits, as_limits
from ascd.results.lost import tell_of_loss
from ascd.results.progress import Round, progress_bar, tell_onlooker
from ascd.results.solution import Snapshot, Solution, Status, check_callback
from ascd.results.trace import Trace
from ascd.solver import tuning
from ascd.solver.box.ahead import is_for_descent, solver_after_descent
from ascd.solver.fit import Fit
from ascd.solver.loop import Solver
from ascd.solver.samples import cost_of


def solve(
    problem: Problem,
    tol: float = 1e-6,
    x0: Any = None,
    intercept: bool = False,
    intercept0: float | None = None,
    max_iter: int = tuning.DEFAULT_ROUNDS,
    max_time: float | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
) -> Solution:
    """Minimise F(x) = f(Ax + c·1) + Σ Ψ_j(x_j) to a certified duality gap.

    Parameters
    ----------
    problem : Problem
    tol : float
        Stop when the duality gap is at most ``tol`` times F at zero coefficients (with the intercept fitted): the
        status is then "converged".  Where no dual point is found that proves it (many or dependent coordinates without
        a penalty), first-order conditions are held to the same scale, and the status is "stationary".
    x0 : array of length n_features, optional
        Where to start; zero (or the nearest allowed point) by default.
    intercept : bool
        Fit an unpenalised constant c as well.
    intercept0 : float, optional
        Where c starts, with ``x0``.
    max_iter : number of rounds: working sets, or Newton steps for losses that are not quadratic
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
    """
    limits = check_run(problem, max_iter, max_time, callback)
    tol = as_number(tol, "tol", low=0.0)
    intercept = as_flag(intercept, "intercept")
    x = as_start(problem, x0, intercept)
    most = tuning.LARGEST_INTERCEPT
    constant = 0.0 if intercept0 is None else as_number(intercept0, "intercept0", low=-most, high=most)
    if constant and not intercept:
        raise ValueError(f"intercept0 must be 0 or None where intercept=False; got {intercept0!r}")
    if intercept:
        check_bounded(problem.design, problem.parts, intercept=True)
    threads = as_n_jobs(n_jobs)
    may_descend = callback is None and x0 is None and not progress and not intercept
    start = Start(x, intercept, constant, may_descend and is_for_descent(problem, tol, limits))
    entries, library = problem.n_samples * problem.n_features, threads if start.in_box else 1
    with quiet(threads, entries, library), progress_bar(progress, limits.max_iter) as show:
        return _run(problem, start, tol, limits, callback, show)


class Start(NamedTuple):
    """Where a run begins."""

    x: Array
    intercept: bool
    constant: float
    in_box: bool = False  # descend there first?


def _run(problem: Problem, start: Start, tol: float, limits: Limits, callback: Any, show: Any) -> Solution:
    clock = Stopwatch()
    solver = Solver(problem, start.x, start.intercept, start.constant)
    reference = as_reference(problem, solver.fit)
    is_interrupted = False
    if start.in_box:
        solver, outcome = solver_after_descent(problem, solver, tol * reference, limits)
        is_interrupted = outcome.is_interrupted
        limits = limits._replace(max_iter=0 if is_interrupted else limits.max_iter - outcome.n_iter)
    watch = Watch(solver, callback, show, clock, tol * reference)
    status = Status.INTERRUPTED
    try:
        with suppress(KeyboardInterrupt):
            status = solver.minimise(problem.parts.penalty, tol * reference, limits, watch)
        if is_interrupted and status is Status.ITERATION_LIMIT:
            status = Status.INTERRUPTED
        if not status.is_answer:
            solver.assessment.settle(tol * reference)
            if status is Status.ITERATION_LIMIT and solver.standing.gap <= tol * reference:
                status = Status.CONVERGED
    except DataGone as error:
        status = give_up(solver, tol * reference, error)
    watch.finish()
    return Solution(
        x=solver.fit.x,
        objective=solver.standing.objective,
        status=status,
        n_iter=solver.n_iter,
        gap=float(solver.standing.gap),
        steepness=float(solver.standing.violation),
        reads=int(solver.reads),
        seconds=clock.seconds,
        compile_seconds=clock.compile_seconds,
        trace=watch.trace,
        intercept=solver.fit.constant,
        zero_objective=reference,
    )


def give_up(solver: Solver, enough: float, error: DataGone) -> Status:
    """The data are gone: what is known of the point is all there will be."""
    solver.assessment.settle_from_intervals(enough)
    tell_of_loss(error, stacklevel=4)
    return Status.UNREACHABLE


class Watch:
    """Called in every round: records, shows progress, asks the callback."""

    def __init__(
        self, solver: Solver, callback: Callable[[Snapshot], Any] | None, show: Any, clock: Stopwatch,
        enough: float = 0.0,
    ) -> None:  # fmt: skip
        self.solver, self.callback, self.show, self.clock, self.enough = solver, callback, show, clock, enough
        self.trace = Trace()

    def __call__(self, solver: Solver) -> bool:
        self._record()
        objective = solver.standing.objective
        self.show(solver.n_iter, objective)
        asked = getattr(getattr(solver.fit, "design", None), "rounds", 0)
        tell_onlooker(Round(solver.n_iter, asked, objective, solver.standing.gap, self.enough))
        if self.callback is None:
            return False
        return bool(self.callback(Snapshot(solver.n_iter, solver.fit.x, objective, self.trace)))

    def finish(self) -> None:
        """Record the end, unless a round has just done so."""
        if len(self.trace) == 0 or self.trace.iteration[-1] < self.solver.n_iter:
            self._record()

    def _record(self) -> None:
        solver, now = self.solver, self.solver.standing
        self.trace.add(
            iteration=solver.n_iter, objective=now.objective, bound=now.violation,
            gap=now.gap if now.is_certain else math.inf,
            active=solver.working, reads=solver.reads, seconds=self.clock.seconds,
        )  # fmt: skip


def check_run(problem: Any, max_iter: Any, max_time: Any, callback: Any) -> Limits:
    """The limits of a run, after a look at what else was passed."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be an ascd.Problem; got {type(problem).__name__}")
    check_callback(callback)
    return as_limits(max_iter, max_time)


def as_reference(problem: Problem, fit: Fit) -> float:
    """What the tolerance is a share of: F at zero coefficients, with the best intercept where one is fitted.

    Where zero is not allowed, it is F at the nearest point that is.  Where an intercept alone fits the target up to
    rounding, F there says nothing: then it is F at zero without the intercept.  Where F at zero is not positive (the
    dual of a support vector machine), it is the gap there: the primal objective at zero weights; 1 if none is known.
    """
    penalty, n = problem.parts.penalty, problem.n_features
    nearest = nearest_allowed(penalty, n)
    is_away = bool(nearest.any())
    if is_away or fit.x.any():
        fit = Fit(problem, nearest, fit.intercept, 0.0)
    value = float(fit.loss_sum)
    if is_away:
        value += float(cost_of(penalty, np.arange(n), nearest))
    if fit.intercept and is_rounding(problem, fit):
        value = problem.objective(nearest)
    if value <= 0.0 and fit.intercept:  # a perfect fit, up to rounding
        value = problem.objective(nearest)
    if value > 0.0:
        return value
    gap = problem.gap(nearest)
    return gap if math.isfinite(gap) else 1.0


def is_rounding(problem: Problem, fit: Fit) -> bool:
    """Are the slopes no larger than the rounding errors of a constant prediction that equals the target?"""
    weight = problem.parts.sample.weight
    for start in range(0, problem.n_samples, SAMPLES_A_PART):  # mostly the first of them tell
        here = slice(start, start + SAMPLES_A_PART)
        target, prediction = problem.stated.sizes(fit.constant, here)
        size = np.maximum((weight[here] if np.ndim(weight) else weight) * target, fit.curvature[here] * prediction)
        if not np.all(np.abs(fit.slope[here]) <= tuning.FEW_ULPS * size):
            return False
    return True


def as_start(problem: Problem, x0: Any, intercept: bool) -> Array:
    """A copy of x0, or the point nearest to zero that the penalty allows.

    Where an intercept is fitted, the losses at x0 without it say nothing: exp may overflow there.
    """
    n, penalty = problem.n_features, problem.parts.penalty
    if x0 is None:
        return nearest_allowed(penalty, n)
    x = as_finite_vector(x0, "x0", n).copy()
    cost = cost_of(penalty, np.arange(n), x)
    if not math.isfinite(cost if intercept else problem.objective(x)):
        raise ValueError("x0 must have a finite objective (lie inside the box, if there is one)")
    return x
