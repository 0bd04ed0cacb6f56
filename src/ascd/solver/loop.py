"""The solver: read all columns once, then only those whose interval leaves a decision open.

repeat
    an interval for every gradient entry            no column read
    read the columns that may violate optimality    exact from here on
    certificate: the duality gap from the intervals; confirmed by an exact pass before stopping
    working set: what is free to move, and the worst violations
    subproblem: move there until little is left     sweeps and Newton steps on a model
    follow: go to the model's minimum               exactly, or as far as F falls
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ascd._core.checks import Array
from ascd.problem.penalties import is_held
from ascd.problem.problem import Problem
from ascd.results.limits import Limits, has_no_minimum
from ascd.results.solution import Status
from ascd.solver import tuning
from ascd.solver.assessment import Assessment, Standing
from ascd.solver.choosing import chooser_of
from ascd.solver.fit import Fit
from ascd.solver.following import follower_of
from ascd.solver.gradient_bounds import GradientBounds
from ascd.solver.in_rows import InRows, row_parts_of
from ascd.solver.subproblem import Subproblem


class Solver:
    """One problem, minimised for one penalty after another; what was learned is kept between them."""

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float) -> None:
        rows = row_parts_of(problem)
        self.fit = Fit(problem, x, intercept, constant, may_wait=rows is not None)
        self.bounds = GradientBounds(problem.design, self.fit.samples, problem.first)
        self.assessment = Assessment(self.fit, problem.parts, self.bounds)
        self.subproblem = Subproblem(self.fit, self.bounds, follower_of(self.fit))
        self.in_rows = None if rows is None else InRows(self.fit, problem.parts, self.assessment, rows)
        self.n_iter = self.working = 0

    @property
    def standing(self) -> Standing:
        """How good the point is."""
        return self.assessment.standing

    @property
    def reads(self) -> int:
        """Columns read so far."""
        return self.bounds.reads + self.fit.reads

    def minimise(
        self, penalty: Any, tolerance: float, limits: Limits, watch: Callable[[Solver], Any], confirm: bool = True
    ) -> Status:
        """Until the gap is at most ``tolerance``; ``watch`` is called in every round and may end the run.

        The intervals prove a gap; where ``confirm`` is true, exact entries of all columns do, unless reading is dear.
        """
        began, start, progress = time.perf_counter(), math.inf, Progress()
        assessment, chooser = self._begin(penalty)
        confirm = confirm and not self.fit.design.is_dear
        if self.in_rows is not None:
            before, ended = self.n_iter, self.in_rows.minimise(tolerance, limits, lambda: self._is_ended(watch))
            if ended is not None:
                return ended
            limits = limits._replace(max_iter=limits.max_iter - (self.n_iter - before))
            if self.fit.is_behind:
                self.fit.recompute()
                self.bounds.read_all(self.fit.slope)
        for rounds in range(limits.max_iter + 1):
            assessment.look()
            if has_no_minimum(self.standing.objective, start):
                return Status.DIVERGED
            start = min(start, self.standing.objective)
            # a run that goes on for long while its objective is within the tolerance: that may be its own proof
            is_own_proof = rounds >= tuning.LONG_RUN and 0.0 < self.standing.objective <= tolerance
            if self.standing.gap <= tolerance or is_own_proof:
                ended = assessment.confirm(tolerance, is_last=confirm)
                if ended is not None:
                    return ended
            if rounds == limits.max_iter:
                break
            if time.perf_counter() - began > limits.max_time:
                return Status.TIME_LIMIT
            chooser.slow_down(progress.is_slow(self.standing))
            progress.note(self.standing)
            if progress.idle > tuning.MOST_IDLE:
                return self._last_look(tolerance)
            if watch(self):
                return Status.INTERRUPTED
            task = chooser.task(assessment, tolerance, is_idle=progress.idle > 0)
            if task.columns.size == 0:  # nothing can move: what is left of the gap is rounding
                return self._last_look(tolerance)
            self.working = task.columns.size
            self.subproblem.improve(task, self.standing.violation)
            self.n_iter += 1
        return Status.ITERATION_LIMIT

    def _is_ended(self, watch: Callable[[Solver], Any]) -> bool:
        """Before a round of the rows; does somebody end the run?"""
        if watch(self):
            return True
        self.n_iter += 1
        self.working = self.fit.n
        return False

    def _begin(self, penalty: Any) -> tuple[Assessment, Any]:
        self.fit.penalty, self.assessment.attempts = penalty, 0
        # sweeps alone take long to part many bounds
        self.subproblem.needs_products = self.subproblem.needs_products or is_held(penalty)
        if self.bounds.reads == 0 and not self.fit.is_behind:
            self.bounds.read_all(self.fit.slope)
        there = self.subproblem.there
        return self.assessment, chooser_of(self.fit, self.subproblem.largest_gram, are_products_cheap=there is not None)

    def _last_look(self, tolerance: float) -> Status:
        """Nothing moves any more: is it proved, or at least stationary?"""
        self.assessment.settle(tolerance)
        if self.standing.gap <= tolerance:
            return Status.CONVERGED
        return Status.STATIONARY if self.assessment.is_stationary(tolerance) else Status.STALLED


class Progress:
    """The best objective, gap and violation so far; ``idle`` counts rounds that improved none of them."""

    def __init__(self) -> None:
        self.objective = self.gap = self.violation = math.inf
        self.idle = 0

    def is_slow(self, now: Standing) -> bool:
        return now.gap > tuning.SLOW * self.gap

    def note(self, now: Standing) -> None:
        """Has the objective fallen by more than rounding, or the gap or the violation clearly?"""
        lowest = math.inf
        if self.objective < math.inf:
            lowest = self.objective - tuning.OBJECTIVE_ROUNDING * abs(self.objective)
        share = tuning.PROGRESS
        is_better = now.objective < lowest or now.gap < share * self.gap or now.violation < share * self.violation
        self.idle = 0 if is_better else self.idle + 1
        self.objective = min(self.objective, now.objective)
        self.gap, self.violation = min(self.gap, now.gap), min(self.violation, now.violation)
