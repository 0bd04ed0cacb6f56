"""Sweeps over the coordinates that are awake; a look at all bounds only when it has been paid for.

A scan of the bounds costs O(n + d), a step O(entries of a column).  So the rule sweeps over a list of coordinates that
may move, the steepest first (by halves of the largest upper bound), in random order among those that are alike.  One
that was looked at twice without moving falls asleep.  When the steps since the last scan have cost ``price`` times as
much as a scan, or when nothing moves any more, the bounds of all coordinates are looked at, and those that may move
(upper bound above 0) wake.  Hence scanning never costs more than a fixed share of the steps.

**Refreshing.**  Looks that moved nothing would have been spared by better bounds.  When those since the last reference,
and those that waking would cause, come to ``share`` of a pass over the data, the present point becomes the reference
(with an oracle that has one), which is such a pass; but not before sweeps have cost as much, unless nothing moves.
Until then those that are asleep sleep on.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array, as_number
from ascd._base.jit import helper
from ascd.data.prices import VISIT
from ascd.data.storages import entry_price
from ascd.engine.oracles.measured import Unmeasured
from ascd.engine.rules.scan import fill_bounds, highest
from ascd.engine.tuning import BOUNDS_LOOK, LOOKS_AWAKE, SAMPLE_LOOK, STEEP_BUCKETS, SWEEPS_A_REFRESH

NEXT, KEPT, AWAKE, MOVED, LOOKED_AT = range(5)
WORK, WASTE, SPENT, BEFORE = range(4)
HALVES = 1.0 / math.log(2.0)


class Awake(NamedTuple):
    """Sweep over what may move; look at all bounds when the steps since the last look have paid for it.

    Parameters
    ----------
    price : scan when the steps since the last scan have cost this many times as much as a scan
    share : refresh the reference when wasted looks reach this share of a pass over the data

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.Awake(), oracle="measured").x
    array([ 2.,  0., -1.])
    """

    price: float = 1.0
    share: float = 0.7

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> AwakeSweep:
        price = as_number(self.price, "Awake price", low=0.0, strict=True)
        share = as_number(self.share, "Awake share", low=0.0, strict=True)
        n, d, entry = parts.norm.size, parts.sample.target.size, entry_price(parts.matrix)
        refresh = entry * parts.matrix.stored().size + VISIT * n
        return AwakeSweep(
            oracle if hasattr(oracle, "measure") and hasattr(oracle, "refresh") else Unmeasured(),
            entry,
            price * (BOUNDS_LOOK * n + SAMPLE_LOOK * d),
            share * refresh,
            SWEEPS_A_REFRESH * refresh,
            np.empty(n),
            np.empty(n),
            np.empty(n, dtype=np.int32),
            np.empty(n, dtype=np.int32),
            np.zeros(STEEP_BUCKETS + 1, dtype=np.int64),
            np.zeros(n, dtype=np.int8),
            np.array([0, 0, 0, 0, -1], dtype=np.int64),
            np.zeros(4),
        )


class AwakeSweep(NamedTuple):
    """The list of those awake, how often each was looked at without moving, and the accounts."""

    scout: Any
    entry_price: float  # in nanoseconds, as the three that follow
    scan_after: float
    refresh_after: float
    sweep_until: float
    lower: Array
    upper: Array
    members: Array
    order: Array
    first: Array  # where the members of each bucket begin
    idle: Array
    queue: Array  # [next, kept for the next sweep, awake, moved in this sweep, looked at last]
    account: Array  # [spent since the scan, wasted and spent since the refresh; x before the last look]

    def select(self, point: Any, t: int, rng: Any) -> int:
        queue = self.queue
        if queue[LOOKED_AT] >= 0:
            self.judge(point)
        if queue[NEXT] == queue[AWAKE]:
            self.end_sweep(point, t, rng)
        j = int(self.members[queue[NEXT]])
        queue[NEXT] += 1
        queue[LOOKED_AT] = j
        if queue[NEXT] < queue[AWAKE]:
            point.problem.matrix.ahead(int(self.members[queue[NEXT]]))
        self.account[BEFORE] = point.x[j]
        return j

    @helper
    def judge(self, point: Any) -> None:
        """Did the last look move its coordinate?"""
        queue, account, matrix = self.queue, self.account, point.problem.matrix
        j = queue[LOOKED_AT]
        price = self.price_of_look(matrix, j)
        account[WORK] += price
        if point.x[j] != account[BEFORE]:
            account[WORK] += price
            queue[MOVED] += 1
            self.idle[j] = 0
        else:
            account[WASTE] += price
            self.idle[j] = min(self.idle[j] + 1, LOOKS_AWAKE)
        if self.idle[j] < LOOKS_AWAKE:
            self.members[queue[KEPT]] = j
            queue[KEPT] += 1

    @helper
    def price_of_look(self, matrix: Any, j: int) -> float:
        return self.entry_price * (matrix.stop(j) - matrix.start(j)) + VISIT

    @helper
    def end_sweep(self, point: Any, t: int, rng: Any) -> None:
        """Another sweep over those that are still awake; before it, where that has been paid for, a look at all."""
        queue, account = self.queue, self.account
        is_still = queue[KEPT] == 0 or queue[MOVED] == 0
        queue[AWAKE], queue[NEXT], queue[KEPT], queue[MOVED] = queue[KEPT], 0, 0, 0
        if is_still or account[WORK] >= self.scan_after:
            account[SPENT] += account[WORK]
            account[WORK] = 0.0
            if queue[LOOKED_AT] < 0 and point.intervals.radius_at(0) == 0.0:
                self.scout.refresh(point)  # at the start the gradient is known, and a reference costs no reads
            self.scout.measure(point)
            fill_bounds(point.intervals, self.lower, self.upper)
            wakes = self.price_of_waking(point) + account[WASTE] <= self.refresh_after
            if not wakes and (is_still or account[SPENT] >= self.sweep_until):
                self.scout.refresh(point)
                account[WASTE], account[SPENT], wakes = 0.0, 0.0, True
                fill_bounds(point.intervals, self.lower, self.upper)
            if wakes:
                self.wake(point)
                self.shuffle(rng)
                self.put_steep_first()
        if queue[AWAKE] == 0:  # at rest, all of them: in turn
            self.members[0] = t % point.x.size
            queue[AWAKE] = 1

    @helper
    def shuffle(self, rng: Any) -> None:
        """Any order of the list, each as likely as the others."""
        for i in range(self.queue[AWAKE] - 1, 0, -1):
            other = int(rng.random() * (i + 1))
            self.members[i], self.members[other] = self.members[other], self.members[i]

    @helper
    def put_steep_first(self) -> None:
        """By halves of the largest upper bound: those above a half, above a quarter, and so on."""
        largest, count, first = highest(self.upper), self.queue[AWAKE], self.first
        if not 0.0 < largest < math.inf:
            return
        for bucket in range(first.size):
            first[bucket] = 0
        for i in range(count):
            self.order[i] = self.members[i]
            first[self.halving_of(self.members[i], largest) + 1] += 1
        for bucket in range(1, first.size):
            first[bucket] += first[bucket - 1]
        for i in range(count):
            j = self.order[i]
            bucket = self.halving_of(j, largest)
            self.members[first[bucket]] = j
            first[bucket] += 1

    @helper
    def halving_of(self, j: int, largest: float) -> int:
        return int(min(math.log(largest / self.upper[j]) * HALVES, self.first.size - 2.0))

    @helper
    def price_of_waking(self, point: Any) -> float:
        """What looking at those that are asleep and may move will cost."""
        matrix, price = point.problem.matrix, 0.0
        for j in range(self.upper.size):
            if self.upper[j] > 0.0 and self.idle[j] >= LOOKS_AWAKE:
                price += self.price_of_look(matrix, j)
        return price

    @helper
    def wake(self, point: Any) -> None:
        """List those that may move."""
        count = 0
        for j in range(self.upper.size):
            may_move = self.upper[j] > 0.0
            if may_move:
                self.members[count] = j
                count += 1
            if may_move == (self.idle[j] >= LOOKS_AWAKE):
                self.idle[j] = 0 if may_move else LOOKS_AWAKE
        self.queue[AWAKE] = count

    def active_count(self, point: Any) -> int:
        return max(int(self.queue[AWAKE]), 1)
