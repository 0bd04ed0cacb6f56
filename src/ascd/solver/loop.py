"""The solver: read all columns once, then only those whose ball leaves a decision open.

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
from functools import cached_property
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import users_classes
from ascd._core.timing import Stopwatch
from ascd.problem.certificate import Products, certify
from ascd.problem.groups import products
from ascd.results import Limits, Status, has_no_minimum
from ascd.solver import tuning
from ascd.solver.bounds import GradientBounds
from ascd.solver.check import OptimalityCheck, Report
from ascd.solver.rows import RowNewton
from ascd.solver.small import is_small, minimise_small
from ascd.solver.smooth import Smooth
from ascd.solver.state import State
from ascd.solver.subproblem import Subproblem
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
        if self._is_proved_at_once(penalty, tolerance, limits, watch):
            return Status.CONVERGED
        chooser, progress = self._begin(penalty), Improvement()
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
            # a run that goes on for long while its objective is within the tolerance: that may be its own proof
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

    def _is_proved_at_once(
        self, penalty: Any, tolerance: float, limits: Limits, watch: Callable[[Solver], Any]
    ) -> bool:
        """Minimise a small problem in one call, unless every round is watched; return whether that is proved."""
        self.proved = None
        self.state.use(penalty)
        if not self.is_small or self.is_watched or limits.max_iter == 0 or limits.max_time <= 0.0:
            return False
        start = self.state.seen.value + self.state.cost()
        self.proved = Report(start, math.inf, math.inf, False, math.inf)
        watch(self)
        self.proved = None
        found, gradient = minimise_small(self.state, tolerance, limits.max_iter)
        self.n_iter += found.rounds
        self.working = int(np.count_nonzero(self.state.x.any(axis=1)))
        # a penalty whose own violation is no number proves nothing
        if found.gap <= tolerance and self.state.is_fresh and not math.isnan(found.violation):
            state, exact = self.state, np.zeros(self.state.terms.count)
            given = Products(gradient, exact, lambda dual: products(state.matrix, state.order, dual))
            gap = certify(self.problem, state.terms, state.point, given, tolerance).gap
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

    def _begin(self, penalty: Any) -> Chooser:
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
