"""The solver: read all columns once, then only those whose interval leaves a decision open.

repeat
    an interval for every gradient entry            no column read
    read the columns that may violate optimality    exact from here on
    certificate: the duality gap from the intervals; confirmed by an exact pass before stopping
    working set: what is free to move, and the worst violations
    move there until little is left to gain         sweeps and Newton steps, see ``moves`` and ``model``
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd.data.matrices import stored_entries
from ascd.problem.penalties import is_held
from ascd.problem.problem import Problem
from ascd.results.limits import Limits, has_no_minimum
from ascd.results.solution import Status
from ascd.solver.model import BLOCKED_GAIN, OVERHEAD
from ascd.solver.moves import Moves
from ascd.solver.state import ROUNDING

#: The first working set is a tenth of all, within these numbers; later ones hold at least twice the coordinates that
#: have moved.  Where all are fewer than the larger number they are all in it.
SMALLEST_SET, LARGEST_SET = 20, 100
#: How many times as many coordinates as have moved a working set may hold; and where nearly all in the last one moved.
GROWTH, FAST_GROWTH, NEARLY_ALL = 2, 4, 0.9
MOST_SWEEPS = 1000
#: Fewer coordinates than this are never a crowd.
CROWD = 500
#: Where most coordinates move, a round is so many passes over all columns, and so many sweeps at least: then intervals
#: tell who may sleep.  After a round that left this share of the gap the next ones are longer, in the end long enough
#: for Newton steps.
PASSES, FEWEST_SWEEPS, SLOW, LONGER = 3.0, 3, 0.85, 1.5
#: Violations that a working set may keep, as a share of the largest one anywhere; where the loss is not quadratic;
#: where most move; and where the set may be the last, because no violation is outside, and so many Newton steps cost
#: less than another pass.
SHARE, NEWTON_SHARE, CROWDED_SHARE, LAST_SHARE, FEW_STEPS = 0.03, 0.1, 0.1, 1e-5, 20.0
#: Rounds without progress before the solver gives up: rounding errors leave nothing to gain.
MOST_IDLE = 10


class Solver(Moves):
    """One problem, minimised for one penalty after another; what was learned is kept between them."""

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float, n_jobs: int) -> None:
        super().__init__(problem, x, intercept, constant, n_jobs)
        self.n_iter = self.working = 0

    def minimise(
        self, penalty: Any, tolerance: float, limits: Limits, watch: Callable[[Solver], Any], confirm: bool = True
    ) -> Status:
        """Until the gap is at most ``tolerance``; ``watch`` is called in every round and may end the run.

        The intervals prove a gap; where ``confirm`` is true, exact entries of all columns do.
        """
        self.penalty, self.attempts, self.passes = penalty, 0, PASSES
        held = is_held(penalty)
        self.is_crowded = held and self.n > max(CROWD, min(self.d, self.largest_gram))
        self.needs_products = self.needs_products or held  # sweeps alone take long to part many bounds
        began, size = time.perf_counter(), min(max(self.n // 10, SMALLEST_SET), LARGEST_SET)
        start, idle = math.inf, 0
        best: tuple[float, ...] = (math.inf, math.inf, math.inf)
        if self.knowledge.reads == 0:
            self.knowledge.read(np.arange(self.n), self.slope)
        for rounds in range(limits.max_iter + 1):
            self.survey_open()
            if has_no_minimum(self.objective, start):
                return Status.DIVERGED
            start = min(start, self.objective)
            if self.gap <= tolerance:
                ended = self.confirm(tolerance, is_last=confirm)
                if ended is not None:
                    return ended
            if rounds == limits.max_iter:
                break
            if time.perf_counter() - began > limits.max_time:
                return Status.TIME_LIMIT
            idle = 0 if self._is_better_than(best) else idle + 1
            self.passes *= LONGER if self.gap > SLOW * best[1] else 1.0
            best = tuple(map(min, best, (self.objective, self.gap, self.steepest)))
            if idle > MOST_IDLE:
                return self._last_look(tolerance)
            if watch(self):
                return Status.INTERRUPTED
            columns, size = self._working_set(size)
            if columns.size == 0:  # nothing can move: what is left of the gap is rounding
                return self._last_look(tolerance)
            self.working = columns.size
            # a share of the steepest entry is nothing to a column whose entries are all small
            target = 0.0 if idle else self._target(tolerance, columns.size, size)
            self.improve(columns, target, self._most_sweeps(columns.size))
            self.n_iter += 1
        return Status.ITERATION_LIMIT

    def _last_look(self, tolerance: float) -> Status:
        """Nothing moves any more: is it proved, or at least stationary?"""
        self.settle(tolerance)
        if self.gap <= tolerance:
            return Status.CONVERGED
        return Status.STATIONARY if self.is_stationary(tolerance) else Status.STALLED

    def _is_better_than(self, best: tuple[float, ...]) -> bool:
        """Has the objective fallen by more than rounding, or the gap or the steepness clearly?"""
        lowest = best[0] - ROUNDING * abs(best[0]) if best[0] < math.inf else math.inf
        return self.objective < lowest or self.gap < 0.9 * best[1] or self.steepest < 0.9 * best[2]

    def _target(self, tolerance: float, held: int, allowed: int) -> float:
        """The violation that the working set may keep: what the tolerance needs, or a share of the largest."""
        # where ‖x‖₁ is not known yet: as large as the fall of F that the steepest coordinate could pay for
        spread = float(np.abs(self.x[self.unsettled]).sum()) or self.objective / max(self.steepest, 1e-300)
        goal = 0.3 * tolerance / max(spread, 1e-300)
        return max(min(goal, 0.3 * self.steepest), self._share(held, allowed) * self.steepest)

    def _share(self, held: int, allowed: int) -> float:
        if self.is_crowded:
            return CROWDED_SHARE
        if not self.is_quadratic:
            return NEWTON_SHARE
        if held == self.n:
            return 0.0
        is_cheap = FEW_STEPS * held**3 / (3.0 * BLOCKED_GAIN) + OVERHEAD <= stored_entries(self.parts.matrix).size
        return LAST_SHARE if is_cheap and held < allowed else SHARE

    def _most_sweeps(self, size: int) -> int:
        return max(FEWEST_SWEEPS, int(self.passes * self.n / max(size, 1))) if self.is_crowded else MOST_SWEEPS

    def _working_set(self, size: int) -> tuple[Array, int]:
        """What is free to move, and the worst violations; at least twice as many as have moved so far."""
        if self.n <= LARGEST_SET:
            return np.arange(self.n), self.n
        columns = self.unsettled[self.score[self.unsettled] > 0.0]
        if self.is_crowded:
            # Most coordinates move.  A working set would solve a part well and spoil the rest: sweeps over all that are
            # not at rest, in random order, serve better.
            return columns, self.n
        moved = int(np.count_nonzero((self.x[columns] != 0.0) | np.isinf(self.score[columns])))
        growth = FAST_GROWTH if moved > NEARLY_ALL * size else GROWTH
        size = min(self.n, max(size, growth * moved))
        if columns.size > size:
            columns = columns[np.argpartition(-self.score[columns], size - 1)[:size]]
            columns.sort()
        return columns, size
