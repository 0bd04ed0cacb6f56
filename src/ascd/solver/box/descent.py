"""The minimum of a quadratic function in a box, by sweeps; and by Newton steps where sweeps take long.

Nobody knows how many sweeps a problem takes: dozens for a support vector machine with a small C, tens of thousands with
a large one.  So what is spent on sweeps is compared with what the other way would cost.  Where columns are short (d is
small), that is an interior point method on the coordinates awake, which takes a known number of d × d systems: it
begins when sweeps have cost as much.  Where they are long, or no more than d coordinates are awake, it is models of the
few coordinates that drift, for a share of what sweeps have cost, and conjugate gradients on all coordinates inside
their box, given a share of the reads of the sweeps since the last time; after a step that failed those wait twice as
long, and after a round of sweeps that lowered the gap by much they wait for the next.

Where boxes are small, the first sweep brings nearly all coordinates to their other end, and mostly that is the minimum:
then a look at all comes next, which costs half a sweep.

What comes out is a point, not a proof: its gap is proved by the caller, from the products of the last look.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.local import Local
from ascd.problem.problem import Problem
from ascd.solver import tuning
from ascd.solver.box.barrier import Barrier
from ascd.solver.box.drift import largest_affordable, most_drifting, settle
from ascd.solver.box.faces import descend_faces, free_of, objective_rises
from ascd.solver.box.kinds import begins_at_nothing
from ascd.solver.box.sweeps import largest_violation, sweep_box, wake_all

Goal = Callable[[Array], float]


class Outcome(NamedTuple):
    """A point, its gap up to rounding and the one asked for, rounds, columns read, and whether it was interrupted.

    The slope there as it was kept, and the products of all columns with it.  The gap is infinite, and there are no
    products, unless a look was last.  The slope ``is_sum`` where it is Σ x_j·a_j, each added once, with no more
    rounding than if it were computed anew.
    """

    x: Array
    gap: float
    goal: float
    n_iter: int
    reads: int
    is_interrupted: bool
    slope: Array
    products: Array | None
    is_sum: bool


class BoxDescent:
    """``x``, where it starts, and the slope v = H(Ax − b) move; ``order`` lists what is awake."""

    def __init__(self, problem: Problem, x: Array) -> None:
        if not isinstance(problem.design, Local):
            raise TypeError(f"the columns must be in memory; got {type(problem.design).__name__}")
        self.design, self.parts = problem.design, problem.parts
        is_nothing = begins_at_nothing(problem, x)
        self.x, self.slope = x, np.zeros(problem.n_samples) if is_nothing else problem.evaluate(x)[2]
        self.may_be_sum, self.is_sum = is_nothing and np.ndim(self.parts.sample.weight) == 0, False
        self.products: Array | None = None
        n = x.size
        self.order, self.awake = np.arange(n), n
        self.turn, self.seed = np.empty(n // tuning.RUN + 1, dtype=np.int64), np.ones(1, dtype=np.int64)
        self.free = np.empty(n, dtype=np.int64)
        self.worst, self.gap, self.n_iter, self.reads = math.inf, math.inf, 0, 0
        self.since, self.wait = 0, tuning.FACE_WAIT * n
        self.before, self.swept, self.settled = self.x.copy(), 0.0, 0.0
        self.spent, self.last, self.barrier_price, self.has_barrier = 0.0, 0.0, math.inf, self._is_short()
        self.price = self.design.sweep_price(self.order) / n + tuning.BOX_VISIT
        self.counts = self.design.counts.astype(np.float64)

    def minimise(self, goal: Goal, most: int) -> Outcome:
        """Until the gap is at most ``goal`` of the slope, or after ``most`` rounds, or where nothing more is gained."""
        is_interrupted = True
        with suppress(KeyboardInterrupt):
            self._minimise(goal, most)
            is_interrupted = False
        reached = self.x, self.gap, goal(self.slope), self.n_iter, self.reads, is_interrupted
        return Outcome(*reached, self.slope, self.products, self.is_sum)

    def _minimise(self, goal: Goal, most: int) -> None:
        estimate, lowest, idle = math.inf, math.inf, 0
        while self.n_iter < most and idle < tuning.MOST_IDLE_ROUNDS:
            wanted = goal(self.slope)
            before, estimate = estimate, self._sweep(wanted, self._sweeps_a_round())
            self.n_iter += 1
            idle = 0 if estimate < lowest else idle + 1
            lowest = min(lowest, estimate)
            if estimate <= wanted or self.awake == 0:
                self._look()
            elif self.n_iter == 1 and self._is_decided():
                self._look(is_early=True)
            elif self.has_barrier and self._is_dear(before, estimate, wanted):
                self._barrier(wanted)
                self._look()
            else:
                self._help(estimate <= tuning.FAST_ROUND * before < math.inf)
                continue
            if self.gap <= goal(self.slope) or self.awake == 0:
                return
            estimate = lowest = math.inf

    def _help(self, is_fast: bool) -> None:
        """What goes along with sweeps, unless an interior point method may take their place."""
        if self.has_barrier and self.awake > self.slope.size:
            return
        self._settle()
        if self.since >= self.wait and not is_fast:
            self._faces()

    def _sweeps_a_round(self) -> int:
        """More of them where they take less time than the calls around them.

        Weights of 0 tell no goal: after the first sweep there are others.
        """
        if not self.n_iter:
            return 1
        return max(tuning.SWEEPS_A_ROUND, int(tuning.ROUND_LENGTH / (self.price * max(self.awake, 1))))

    def _sweep(self, wanted: float, most: int) -> float:
        parts = self.parts
        self.gap, self.products, self.is_sum = math.inf, None, False  # known after a look
        estimate, self.worst, self.awake, reads = sweep_box(
            parts.penalty, parts.matrix, parts.norm, parts.lipschitz, parts.sample.weight, self.slope, self.x,
            self.order, self.awake, self.turn, self.seed, self.worst, wanted, most,
        )  # fmt: skip
        self._count(reads)
        self.last = reads * self.price
        self.spent += self.last
        self.swept += self.last
        return float(estimate)

    def _count(self, reads: int) -> None:
        self.reads += int(reads)
        self.since += int(reads)

    def _is_decided(self) -> bool:
        """Has the first sweep moved nearly all from one end of their box to the other?"""
        width = np.asarray(self.parts.penalty.upper - self.parts.penalty.lower)
        moved = np.count_nonzero(np.abs(self.x - self.before) == width)
        return int(moved) >= tuning.DECIDED * self.x.size

    def _look(self, is_early: bool = False) -> None:
        """The gap itself; all that may move are awake again: by the violations there, if it is after one sweep."""
        penalty, norm = self.parts.penalty, self.parts.norm
        self.products = self.design.dots(np.arange(self.x.size), self.slope)
        if is_early:
            self.is_sum, self.worst = self.may_be_sum, largest_violation(penalty, norm, self.products, self.x)
        self.gap, self.awake = wake_all(penalty, norm, self.products, self.x, self.worst, self.order)
        self.worst = math.inf if self.awake else 0.0
        self._count(self.x.size)

    def _settle(self) -> None:
        """The minimum over those that drift most, for a share of what sweeps have cost.

        The first round is one sweep, which tells nothing of drift.
        """
        if self.n_iter == 1:
            self.before[:] = self.x
            return
        size = largest_affordable(self.design, tuning.DRIFT_SHARE * self.swept - self.settled)
        if size == 0:
            return
        free = self.free[: free_of(self.parts.penalty, self.x, self.order, self.awake, self.free)]
        drift = np.abs(self.x[free] - self.before[free]) * self.parts.norm[free]
        columns = most_drifting(free, drift, size)
        if columns.size:
            taken = settle(self.design, self.parts, self.slope, self.x, columns, self.worst)
            self.settled += taken.price
            self.spent += taken.price
            self._count(taken.reads)
            self.worst *= tuning.WIDER
        self.before[:] = self.x

    def _faces(self) -> None:
        """Conjugate gradients, for a share of the reads of the sweeps since the last time."""
        parts = self.parts
        count = free_of(parts.penalty, self.x, self.order, self.awake, self.free)
        is_kept = False
        if count:
            is_kept = self._descend(
                self.free[:count], max(tuning.FEWEST_FACE_READS, int(tuning.FACE_SHARE * self.since / count))
            )
        self.worst *= tuning.WIDER
        self.wait = self.wait if is_kept else 2 * self.wait
        self.wait = max(self.wait, tuning.FACE_SWEEPS * self.awake)
        self.since = 0

    def _descend(self, free: Array, budget: int) -> bool:
        """Newton steps on this face, undone unless the objective falls."""
        parts, start, before = self.parts, self.x[free], self.slope.copy()
        reads = descend_faces(
            parts.penalty, parts.matrix, parts.lipschitz, parts.sample.weight, self.slope, self.x, free.copy(),
            np.empty((3, free.size)), np.empty(before.size), budget,
        )  # fmt: skip
        self._count(reads)
        if objective_rises(parts.penalty, parts.sample.weight, before, self.slope, self.x, free, start):
            self.slope[:], self.x[free] = before, start
            return False
        return True

    def _is_short(self) -> bool:
        """Is there room for d × d systems, and are all boxes finite?"""
        d, penalty = self.design.shape[0], self.parts.penalty
        is_finite = np.all(np.isfinite(penalty.lower) & np.isfinite(penalty.upper))
        return bool(is_finite and not np.any(penalty.l2) and 8 * d * d <= max(tuning.GRAM_FLOOR, self.design.nbytes))

    def _is_dear(self, before: float, estimate: float, wanted: float) -> bool:
        """Would sweeps cost more than an interior point method, if they go on as in the last call?

        What they have cost already says so too: they become slower and slower.  While many coordinates fall asleep its
        price falls, and waiting pays.
        """
        price, was = self._barrier_price(), self.barrier_price
        self.barrier_price = price
        if self.spent > tuning.BARRIER_LATEST * price:
            return True
        if self.spent < tuning.BARRIER_WAIT * price or price < tuning.BARRIER_FALLS * was:
            return False
        fall = math.log(before / estimate) if 0.0 < estimate < before < math.inf else 0.0
        left = math.log(estimate / wanted) if wanted > 0.0 else math.inf
        to_come = self.last * left / fall if fall > 0.0 else math.inf
        return to_come > price

    def _barrier_price(self) -> float:
        """Nanoseconds that an interior point method takes on what is awake."""
        columns = self.order[: self.awake]
        counts = self.counts[columns]
        systems = tuning.BARRIER_PRODUCT * float(counts @ counts) + tuning.BARRIER_CUBE * float(self.slope.size) ** 3
        passes = tuning.BARRIER_PASSES * self.design.pass_price(columns) + tuning.BARRIER_VISIT * columns.size
        return tuning.BARRIER_STEPS * (systems + passes + tuning.BARRIER_CALLS)

    def _barrier(self, wanted: float) -> None:
        """An interior point method on what is awake; the others stay at their ends."""
        columns = np.sort(self.order[: self.awake])
        barrier = Barrier(self.design, self.parts.sample.weight, self.parts.penalty, columns)
        goal = tuning.BARRIER_SHARE * wanted
        self.x[columns], self.slope, _ = barrier.minimise(self.x[columns], self.slope, goal, tuning.MOST_BARRIER_STEPS)
        self._count(barrier.reads)
        self.spent = 0.0
