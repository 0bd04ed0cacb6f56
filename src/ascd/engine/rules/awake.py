"""Sweeps over the coordinates that are awake; a look at all bounds only when it has been paid for.

A scan of the bounds costs O(n + d), a step O(entries of a column).  So the rule sweeps over a list of coordinates that
may move, the steepest first (by halves of the largest upper bound), in random order among those that are alike.  One
that was looked at twice without moving falls asleep.  When the steps since the last scan have cost ``price`` times as
much as a scan, or when nothing moves any more, the bounds of all coordinates are looked at, and those that may move
(upper bound above 0) wake.  Hence scanning never costs more than a fixed share of the steps.

**Short sweeps.**  A step from x_j by Δ lowers the objective by at least L_j/2·Δ²; divided by its cost this is its rate.
Those whose rate is far below that of their sweep are left aside, and the others are swept again, as long as their rate
is above the rate of those left aside, and not for more than a few times what a sweep over these would cost.

**Refreshing.**  Looks that moved nothing would have been spared by better bounds.  When those since the last reference,
and those that waking would cause, come to ``share`` of a pass over the data, the present point becomes the reference
(with an oracle that has one), which is such a pass; but not before sweeps have cost as much, unless nothing moves.
Until then those that are asleep sleep on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd._core.jit import helper
from ascd.engine.oracles.measured import Unmeasured
from ascd.engine.rules.order import put_steep_first, shuffle
from ascd.engine.rules.scan import fill_bounds
from ascd.engine.tuning import (
    BOUNDS_LOOK,
    LOOKS_AWAKE,
    SAMPLE_LOOK,
    SHORT_SWEEPS,
    SLOW_SHARE,
    STEEP_BUCKETS,
    SWEEPS_A_REFRESH,
)
from ascd.matrix.dense import entry_price
from ascd.matrix.prices import VISIT

NEXT, KEPT, AWAKE, MOVED, LOOKED_AT, IN_SWEEP, IS_SHORT = range(7)
WORK, WASTE, SPENT, BEFORE, GAIN, COST, GAIN_ASIDE, COST_ASIDE, SHORT_COST = range(9)


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
            np.zeros(n),
            np.array([0, 0, 0, 0, -1, 0, 0], dtype=np.int64),
            np.zeros(9),
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
    order: Array  # a short list; and work to sort the members
    first: Array  # where the members of each bucket begin
    idle: Array
    rate: Array  # what the last look at each brought, by its cost
    # next, kept for the next sweep, awake, moved in this sweep, looked at last, listed for this sweep, is it short
    queue: Array
    # spent since the scan, wasted and spent since the refresh; x before the last look; gain and cost of this sweep, of
    # those left aside; cost of the short sweeps since
    account: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        queue = self.queue
        if queue[LOOKED_AT] >= 0:
            self.judge(point)
        if queue[NEXT] == queue[IN_SWEEP]:
            self.end_sweep(point, t, rng)
        listed = self.order if queue[IS_SHORT] else self.members
        j = int(listed[queue[NEXT]])
        queue[NEXT] += 1
        queue[LOOKED_AT] = j
        if queue[NEXT] < queue[IN_SWEEP]:
            point.problem.matrix.ahead(int(listed[queue[NEXT]]))
        self.account[BEFORE] = point.x[j]
        return j

    @helper
    def judge(self, point: Any) -> None:
        """Did the last look move its coordinate, and how far?"""
        queue, account, matrix = self.queue, self.account, point.problem.matrix
        j = queue[LOOKED_AT]
        cost, change = self.price_of_look(matrix, j), point.x[j] - account[BEFORE]
        if change != 0.0:
            cost *= 2.0
            queue[MOVED] += 1
            self.idle[j] = 0
        else:
            account[WASTE] += cost
            self.idle[j] = min(self.idle[j] + 1, LOOKS_AWAKE)
        gain = 0.5 * point.problem.lipschitz[j] * change * change
        self.rate[j] = gain / cost
        account[GAIN] += gain
        account[COST] += cost
        account[WORK] += cost
        if self.idle[j] < LOOKS_AWAKE:
            listed = self.order if queue[IS_SHORT] else self.members
            listed[queue[KEPT]] = j
            queue[KEPT] += 1

    @helper
    def price_of_look(self, matrix: Any, j: int) -> float:
        return self.entry_price * (matrix.stop(j) - matrix.start(j)) + VISIT

    @helper
    def end_sweep(self, point: Any, t: int, rng: Any) -> None:
        """Another sweep over those that are still awake; before it, where that has been paid for, a look at all."""
        queue, account = self.queue, self.account
        count, is_still, was_short = queue[KEPT], queue[KEPT] == 0 or queue[MOVED] == 0, queue[IS_SHORT] == 1
        queue[NEXT], queue[KEPT], queue[MOVED] = 0, 0, 0
        queue[IS_SHORT] = not is_still and self.is_shortened(point.problem.matrix, count)
        account[GAIN], account[COST] = 0.0, 0.0
        if queue[IS_SHORT]:
            return
        queue[AWAKE] = self.stay_awake(queue[AWAKE] if was_short else count)
        is_still = queue[AWAKE] == 0 if was_short else is_still
        if is_still or account[WORK] >= self.scan_after:
            self.look(point, rng, is_still)
        if queue[AWAKE] == 0:  # at rest, all of them: in turn
            self.members[0] = t % point.x.size
            queue[AWAKE] = 1
        queue[IN_SWEEP] = queue[AWAKE]

    @helper
    def is_shortened(self, matrix: Any, count: int) -> bool:
        """Is the next sweep one over the quickest alone?  Then they are listed."""
        queue, account = self.queue, self.account
        rate = account[GAIN] / account[COST]
        if queue[IS_SHORT]:
            account[SHORT_COST] += account[COST]
            is_slower = rate * account[COST_ASIDE] < account[GAIN_ASIDE]
            if is_slower or account[SHORT_COST] > SHORT_SWEEPS * account[COST_ASIDE]:
                return False
        else:
            account[GAIN_ASIDE], account[COST_ASIDE], account[SHORT_COST] = 0.0, 0.0, 0.0
            for i in range(count):
                self.order[i] = self.members[i]
            queue[AWAKE] = count
        queue[IN_SWEEP] = self.narrow(matrix, count, SLOW_SHARE * rate)
        return queue[IN_SWEEP] > 0 and (queue[IS_SHORT] == 1 or queue[IN_SWEEP] < count)

    @helper
    def narrow(self, matrix: Any, count: int, least: float) -> int:
        """Leave aside what is slower than ``least``; how many stay in the short list."""
        kept = 0
        for i in range(count):
            j = self.order[i]
            if self.rate[j] >= least:
                self.order[kept] = j
                kept += 1
            else:
                cost = 2.0 * self.price_of_look(matrix, j)
                self.account[GAIN_ASIDE] += self.rate[j] * cost
                self.account[COST_ASIDE] += cost
        return kept

    @helper
    def stay_awake(self, count: int) -> int:
        """Drop from the list whoever has fallen asleep."""
        kept = 0
        for i in range(count):
            if self.idle[self.members[i]] < LOOKS_AWAKE:
                self.members[kept] = self.members[i]
                kept += 1
        return kept

    @helper
    def look(self, point: Any, rng: Any, is_still: bool) -> None:
        """Look at the bounds of all; who may move wakes, after a refresh of the reference where it will pay."""
        queue, account = self.queue, self.account
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
            shuffle(self.members, queue[AWAKE], rng)
            put_steep_first(self.members, queue[AWAKE], self.upper, self.order, self.first)

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
