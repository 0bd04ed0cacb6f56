"""``minimize``: validate the arguments, assemble the parts, and run the compiled loop in pieces.

A piece takes about a tenth of a second.  Between pieces the driver checks the time and lets Ctrl-C through; whatever
happens, the current point is returned.  Recording and the test for convergence happen at iterations that depend on
the problem alone, so that a run depends on its seed alone.  An intercept is one more coordinate without penalty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._core.checks import as_finite_vector, as_flag, as_generator, as_number
from ascd._core.contracts import confidence_of, users_classes
from ascd._core.jit import debugging
from ascd._core.timing import Stopwatch
from ascd.engine.descent import DescentPoint, count_violations, descend, objective_at, steepest_score
from ascd.engine.guards import as_part, check_intervals
from ascd.engine.intervals import start_intervals
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.engine.rules.working_set import WorkingSetSweeps
from ascd.engine.steepness import as_steepness
from ascd.engine.steps import STEPS
from ascd.engine.tuning import CHECKS_AN_EPOCH, DEFAULT_EPOCHS, EPOCHS_A_LOOK, FEWEST_STEPS, PIECE_SECONDS
from ascd.problem.penalties import nearest_allowed
from ascd.problem.problem import Problem
from ascd.protocols import Oracle, Rule, Step
from ascd.results import (
    Limits,
    Schedule,
    Show,
    Snapshot,
    Solution,
    Status,
    Trace,
    as_limits,
    has_no_minimum,
    progress_bar,
)

DEFAULT_RULE, DEFAULT_ORACLE, DEFAULT_STEP = "working-set", "reference", "local"
Callback = Callable[[Snapshot], Any] | None


def minimize(
    problem: Any,
    rule: Any = None,
    oracle: Any = None,
    steepness: Any = "gs-s",
    step: Any = None,
    init: Any = "gradient",
    x0: Any = None,
    max_iter: int | None = None,
    tol: float = 1e-6,
    max_time: float | None = None,
    rng: Any = None,
    record: Any = "epoch",
    record_gap: bool = False,
    callback: Callback = None,
    progress: bool = False,
    debug: bool = False,
    intercept: bool = False,
) -> Solution:
    """Minimise F(x) = f(Ax) + Σ Ψ_j(x_j) by coordinate descent, with any combination of the paper's parts.

    Parameters
    ----------
    problem : Problem
        With single coordinates and one output; ``ascd.solve`` takes groups and several outputs.
    rule : str or a rule
        Which coordinate is next: "working-set" (the default), "cyclic", "uniform", "importance", "steepest", "ascd",
        "u-ascd", "l-ascd", "a-ascd" or "block"; ``solution.chosen`` has the names of all parts.
    oracle : {"exact", "sketch", "simulated", "norm", "random", "cached", "reference", "stochastic"} or an oracle
        How the intervals of the other gradient entries change with a step; by default "reference" for the rule
        "working-set", and "norm" for the others.
    steepness : {"gs", "gs-s", "gs-r", "gs-q", "gsl", "gsl-s", "gsl-r", "gsl-q"} or a steepness
        The score of a coordinate; "gs" and "gsl" are for smooth penalties.
    step : {"fixed", "coordinate", "local", "line-search"} or a step
        Step length: 1/L, 1/L_j, by the curvature at x and its growth (logistic loss; 1/L_j for others), or to the
        minimum along the coordinate.  By default "local" for the rule "working-set" and "coordinate" for the others.
    init : {"gradient", "none"} or (estimate, radius)
        What is known of the gradient at the start: all of it (with "stochastic" a sample of the rows), nothing, or
        intervals of one's own (with an intercept one more, the last), which are checked when the run would end by them.
    x0 : array of length n_features, optional
        The starting point; zero (or the nearest allowed point) by default.
    max_iter : number of coordinate steps, by default 1000 for each coordinate
    tol : float
        Stop when no coordinate's steepness can exceed ``tol``; 0 never stops early.  The status is then "converged"
        where the duality gap is at most ``tol`` times F at zero, and "stationary" where it is not.
    max_time : float, optional
        Seconds.
    rng : None, int, Generator
        The seed; the same seed gives the same run.
    record : int, "epoch", "geometric" or None
        Record every so many steps, every n steps, geometrically, or only at both ends.
    record_gap : also record the duality gap (a pass over the data for each record)
    callback : called with a ``Snapshot`` at each record; a true answer stops the run
    progress : show a progress bar (needs ``rich`` outside of notebooks)
    debug : run the parts as plain Python, hundreds of times slower: every index is checked, and tracebacks end in the
        line of a part of your own; ``ASCD_DEBUG=1`` in the environment does the same everywhere
    intercept : fit a constant c in f(Ax + c·1), as one more coordinate without penalty; ``solution.intercept`` has it

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np, ascd
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 200))
    >>> b = A[:, :3] @ [1.0, -2.0, 3.0]
    >>> solution = ascd.minimize(ascd.Problem(A, b, penalty=ascd.L1(5.0)), rng=0)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    >>> bool(solution.gap < 1e-3)
    True
    """
    if not isinstance(problem, Problem) or not problem.is_by_coordinate:
        raise TypeError(
            "problem must be an ascd.Problem with single coordinates and one output (ascd.solve takes groups and "
            f"several outputs); got {type(problem).__name__}"
        )
    n = problem.n_features + as_flag(intercept, "intercept")
    limits = as_limits(DEFAULT_EPOCHS * n if max_iter is None else max_iter, max_time, callback)
    tol, schedule, record_gap = as_number(tol, "tol", low=0.0), Schedule(record, n), as_flag(record_gap, "record_gap")
    seen = callback
    if intercept:
        x0 = None if x0 is None else np.append(as_finite_vector(x0, "x0", problem.n_features), 0.0)
        seen = None if callback is None else lambda snapshot: callback(snapshot._replace(x=snapshot.x[:-1]))
        problem = with_constant(problem)
    problem, watch = with_local_columns(problem), Stopwatch()
    if math.isinf(problem.parts.largest):
        name = type(problem.loss.loss).__name__
        raise ValueError(f"minimize needs a loss with bounded curvature, {name} has none: use ascd.solve")
    with debugging(as_flag(debug, "debug")), progress_bar(progress, limits.max_iter) as show:
        run = Run(problem, rule, oracle, steepness, step, init, x0, rng, tol, record_gap)
        found = replace(run.until(limits, schedule, seen, show), compile_seconds=watch.compile_seconds)
    return replace(found, x=found.x[:-1].copy(), intercept=float(found.x[-1])) if intercept else found


def _start(problem: Problem, steepness: Any, init: Any, x0: Any) -> tuple[DescentPoint, bool]:
    """Return the point before the first step, and whether its gradient is still to be read."""
    n, parts = problem.n_features, problem.parts
    x = nearest_allowed(parts.penalty, n) if x0 is None else as_finite_vector(x0, "x0", n).copy()
    objective, predictor, raw_gradient = problem.evaluate(x)
    intervals, unread = start_intervals(init, x, raw_gradient, parts, as_steepness(steepness, parts))
    if not np.isfinite(objective) and x0 is None:
        raise ValueError(
            f"the objective at the start is {objective}: A and b are too large for float64 (rescale them), or a loss "
            "or a penalty of your own is not finite there"
        )
    if not np.isfinite(objective):
        raise ValueError(f"x0 must have a finite objective (lie inside the box, if there is one); F(x0) = {objective}")
    return DescentPoint(parts, x, predictor, raw_gradient, intervals, np.zeros(1)), unread


def with_local_columns(problem: Problem) -> Problem:
    """Return the problem with its columns in local memory; data stored by rows are copied."""
    if problem.parts.matrix is not None:
        return problem
    design: Any = problem.design
    if design.is_dear or not hasattr(design, "in_memory"):
        raise TypeError(
            f"minimize reads single columns, which must be in local memory; {type(design).__name__} keeps them: use "
            "ascd.solve"
        )
    other, local = copy(problem), design.in_memory()
    other.design, other.parts = local, problem.parts._replace(matrix=local.matrix)
    return other


def with_constant(problem: Problem) -> Problem:
    """Return the problem on a copy of the data with an unpenalised column of ones."""
    parts, penalty, n = with_local_columns(problem).parts, problem.parts.penalty, problem.n_features
    if not hasattr(penalty, "with_free"):
        raise TypeError(
            "an intercept of the engine needs a penalty with a method with_free(self, n), which returns it for n "
            f"coordinates and one more without any; {type(penalty).__name__} has none: use ascd.solve or no intercept"
        )
    columns, ones = parts.matrix.to_scipy(problem.n_samples, n), np.ones((problem.n_samples, 1))
    if isinstance(columns, np.ndarray):
        wider: Any = np.hstack([columns, ones])
    else:
        from scipy.sparse import hstack

        wider = hstack([columns, ones], format="csc")
    weight = parts.sample.weight if np.ndim(parts.sample.weight) else None
    offset = parts.offset if parts.offset.size else None
    return Problem(wider, problem.loss.given, parts.loss, penalty.with_free(n), weight, offset)


class Run:
    """One descent: its parts, checked and prepared for the problem, from its first step to its solution."""

    def __init__(
        self, problem: Problem, rule: Any = None, oracle: Any = None, steepness: Any = "gs-s", step: Any = None,
        init: Any = "gradient", x0: Any = None, rng: Any = None, tol: float = 0.0, record_gap: bool = False,
    ) -> None:  # fmt: skip
        rule = DEFAULT_RULE if rule is None else rule
        is_default = isinstance(rule, WorkingSetSweeps) or (isinstance(rule, str) and rule == DEFAULT_RULE)
        if oracle is None:
            oracle = DEFAULT_ORACLE if is_default else "norm"
        if step is None:
            step = DEFAULT_STEP if is_default else "coordinate"
        chosen = {"rule": rule, "oracle": oracle, "steepness": steepness, "step": step}
        self.chosen = {role: part if isinstance(part, str) else type(part).__name__ for role, part in chosen.items()}
        self.problem, self.tol, self.record_gap, self.rng = problem, tol, record_gap, as_generator(rng)
        self.point, self.unread = _start(problem, steepness, init, x0)
        self.oracle = as_part(oracle, ORACLES, "oracle", Oracle, problem.parts, self.rng)
        self.step = as_part(step, STEPS, "step", Step, problem.parts)
        if hasattr(self.oracle, "tightening"):
            extra = self.oracle.tightening()
            self.point = self.point._replace(intervals=self.point.intervals._replace(extra=extra))
        intervals, parts, self.count = self.point.intervals, problem.parts, problem.n_features
        self.rule = as_part(rule, RULES, "rule", Rule, parts, self.oracle, intervals.steepness)
        self.bounds = (math.inf, 0.0, self.count)  # see ``summarise_bounds``
        self.trace, self.t, self.seconds = Trace(), 0, 0.0
        self.piece, self.next_check, self.next_exact = 100, 0, EPOCHS_A_LOOK * self.count
        self.confidence = confidence_of(self.oracle)
        # bounds may be wrong where a part is the user's: a loss whose curvature bound is too small, a steepness, …
        used = (self.oracle, self.rule, self.step, intervals.steepness, parts.loss, parts.penalty)
        self.is_proof = self.confidence == 1.0 and not users_classes(used)
        self.has_users_init = not self.unread and bool(np.isfinite(intervals.offset).any())

    def until(self, limits: Limits, schedule: Schedule, callback: Callback, show: Show | None) -> Solution:
        """Descend until a limit, the tolerance, the callback or Ctrl-C ends the run."""
        status = Status.INTERRUPTED
        try:
            self._descend(False, 0)  # no step yet: the time of compiling is not counted
            self.seconds = 0.0
            self._descend(self.unread, 0)
            status = self._loop(limits, schedule, callback, show)
        except KeyboardInterrupt:
            pass
        return self._solution(status)

    def _loop(self, limits: Limits, schedule: Schedule, callback: Callback, show: Show | None) -> Status:
        start = self._record()
        while True:
            if self._has_converged():
                return Status.CONVERGED
            if self.t >= limits.max_iter:
                return Status.ITERATION_LIMIT
            if self.seconds >= limits.max_time:
                return Status.TIME_LIMIT
            self._advance(int(min(schedule.next, self.next_check, limits.max_iter)))
            objective = self._objective()
            if has_no_minimum(objective, start):
                return Status.DIVERGED
            if show:
                show(self.t, objective)
            if self.t >= schedule.next:
                schedule.advance(self.t)
                self._record()
                if callback and callback(Snapshot(self.t, self.point.x, objective, self.trace)):
                    return Status.INTERRUPTED

    def _advance(self, limit: int) -> None:
        # counted beforehand: Ctrl-C inside the compiled loop is raised when all its steps have been taken
        first, self.t, before = self.t, min(self.t + self.piece, limit), self.seconds
        self._descend(False, first)
        if self.seconds - before > 2.0 * PIECE_SECONDS:
            self.piece = max(1, self.piece // 2)
        elif self.t - first == self.piece and self.seconds - before < 0.5 * PIECE_SECONDS:
            self.piece *= 2

    def _descend(self, unread: bool, first: int) -> None:
        """Run the compiled loop from step ``first`` to step t."""
        watch = Stopwatch()
        try:
            self.bounds = descend(self.point, self.rule, self.oracle, self.step, unread, first, self.t, self.rng)
        except (IndexError, ValueError) as error:
            for part in (self.rule, self.step):
                if hasattr(part, "complaint") and part.fault[0]:
                    raise type(error)(part.complaint()) from None
            raise
        check_intervals(self.oracle, self.point.intervals, self.t)
        self.seconds += watch.seconds

    def _has_converged(self) -> bool:
        """Return whether no score can exceed ``tol``, by the bounds where they prove it, else by exact entries.

        All columns are read once in EPOCHS_A_LOOK epochs, too: rounding alone may keep bounds above ``tol``.
        """
        if self.t < self.next_check:
            return False
        self.next_check = self.t + max(FEWEST_STEPS, self.count // CHECKS_AN_EPOCH)
        is_small = self.bounds[0] <= self.tol
        if self.tol <= 0.0 or not (is_small or self.t >= self.next_exact):
            return False
        if is_small and self.is_proof:
            self._check_init()
            return True
        self.next_exact = self.t + EPOCHS_A_LOOK * self.count
        watch = Stopwatch()
        self.point.reads[0] += self.count
        is_flat = self._steepest() <= self.tol
        if is_flat:
            # The raw gradient was updated in all steps, and keeps the rounding errors of a start far away.  Intervals
            # count these, so they hold for either.  Reads for the end of a run are not counted, as those of its gap.
            self._recompute()
            is_flat = self._steepest() <= self.tol
            self.point.reads[0] += 0 if is_flat else np.count_nonzero(self.point.x) + self.count
        self.seconds += watch.seconds
        return is_flat

    def _check_init(self) -> None:
        """Raise a ValueError where the user's initial intervals led to a false proof of convergence."""
        if self.has_users_init and self._steepest() > self.tol:
            count = int(count_violations(self.point))
            if count:
                raise ValueError(
                    f"init must hold the gradient at x0; after {self.t} steps {count} of {self.count} entries are "
                    "outside of the intervals that it led to: its estimate is wrong, or its radius too small"
                )

    def _recompute(self) -> None:
        """Compute predictor and raw gradient from x, where x is finite."""
        point = self.point
        if np.isfinite(point.x).all():
            _, point.predictor[:], point.raw_gradient[:] = self.problem.evaluate(point.x)

    def _steepest(self) -> float:
        """Return the largest score, from exact entries; infinite where the raw gradient is not finite."""
        point = self.point
        if not np.isfinite(point.raw_gradient).all():
            return math.inf
        return float(steepest_score(point.problem, point.intervals.steepness, point.x, point.raw_gradient))

    def _record(self) -> float:
        bound, zeros, active = self.bounds
        objective = self._objective()
        self.trace.add(
            iteration=self.t,
            objective=objective,
            gap=self.problem.gap(self.point.x) if self.record_gap else math.nan,
            active=active,
            zero_lower=zeros,
            bound=bound,
            violations=math.nan if self.confidence == 1.0 else int(count_violations(self.point)),
            reads=self.point.reads[0],
            seconds=self.seconds,
        )
        return objective

    def _objective(self) -> float:
        found = float(objective_at(self.point.problem, self.point.x, self.point.predictor))
        return math.inf if math.isnan(found) else found  # 0·x² of an x whose square is too large

    def _solution(self, status: Status) -> Solution:
        """Return the result; scores decide when a run ends, its status is "converged" where its gap proves it."""
        self._recompute()
        if len(self.trace) == 0 or self.trace.iteration[-1] < self.t:
            self._record()
        del self.rule, self.oracle  # frees their work arrays before the certificate needs its own
        x, nearest = self.point.x, nearest_allowed(self.problem.parts.penalty, self.count)
        is_finite, zero = bool(np.isfinite(x).all()), self.problem.objective(nearest)
        gap, zero = self.problem.gap(x) if is_finite else math.inf, zero if zero > 0.0 else self.problem.gap(nearest)
        if status is Status.CONVERGED and not gap <= self.tol * zero:
            status = Status.STATIONARY
        return Solution(
            x=x.copy(),
            objective=self._objective(),
            status=status,
            n_iter=self.t,
            gap=gap,
            zero_objective=zero,
            steepness=self._steepest() if is_finite else math.inf,
            reads=int(self.point.reads[0]),
            seconds=self.seconds,
            trace=self.trace,
            chosen=self.chosen,
            confidence=self.confidence,
        )
