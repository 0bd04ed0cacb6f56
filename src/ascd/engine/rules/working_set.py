"""Sweeps over a working set; all bounds are scanned only when the steps have paid for it.  The default rule.

The rule sweeps over a list of coordinates that may move, the steepest first (by halves of the largest upper bound), in
random order within a half.  A coordinate that was visited twice without moving leaves it.  When the steps since the
last scan have cost ``price`` times as much as a scan, or when nothing moves any more, the bounds of all coordinates are
computed, and those with an upper bound above 0 form the new working set.

**Short sweeps.**  A step from x_j by Δ lowers the objective by at least L_j/2·Δ²; divided by its cost this is its rate.
Coordinates whose rate is far below that of their sweep are set aside, and the others are swept again, as long as their
rate is above the rate of those set aside, and not for more than a few times what a sweep over these would cost.

**Refreshing** of the reference (with the oracle "reference") comes when visits that moved nothing, and those that the
coordinates about to enter would cost, amount to ``share`` of a pass over the data: see ``docs/selection.md``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd._core.jit import helper, optional_method
from ascd.engine.rules.scan import fill_bounds, put_steep_first, shuffle
from ascd.engine.tuning import BOUNDS_COST, IDLE_VISITS, SHORT_SWEEPS, SLOW_SHARE, STEEP_BUCKETS
from ascd.matrix.costs import VISIT
from ascd.matrix.dense import entry_cost

#: Rows of ``SweepState.queue``: the next place, coordinates kept for the next sweep, size of the working set, moves in
#: this sweep, the coordinate visited last, length of this sweep, whether it is a short one.
NEXT, KEPT, WORKING, MOVED, VISITED_LAST, IN_SWEEP, IS_SHORT = range(7)
#: Rows of ``SweepState.account``: cost since the scan, wasted and total cost since the refresh, x before the last
#: visit, gain and cost of this sweep, of those set aside, cost of the short sweeps since.
WORK, WASTE, SPENT, X_BEFORE, GAIN, COST, GAIN_ASIDE, COST_ASIDE, SHORT_COST = range(9)


class WorkingSetSweeps(NamedTuple):
    """Sweep over coordinates that may move; scan all bounds when the steps since the last scan have paid for it.

    Parameters
    ----------
    price : scan when the steps since the last scan have cost this many times as much as a scan
    share : refresh the reference when wasted visits reach this share of a pass over the data

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.WorkingSetSweeps()).x
    array([ 2.,  0., -1.])
    """

    price: float = 1.0
    share: float = 0.7

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> SweepState:
        price = as_number(self.price, "WorkingSetSweeps price", low=0.0, strict=True)
        share = as_number(self.share, "WorkingSetSweeps share", low=0.0, strict=True)
        n, d, entry = parts.norm.size, parts.sample.target.size, entry_cost(parts.matrix)
        refresh = entry * parts.matrix.stored().size + VISIT * n
        if hasattr(oracle, "leave_to_rule"):
            oracle.leave_to_rule()
        return SweepState(
            oracle=oracle,
            entry_cost=entry,
            scan_after=price * (BOUNDS_COST * n + d),
            refresh_after=share * refresh,
            sweep_until=refresh,
            lower=np.empty(n),
            upper=np.empty(n),
            members=np.empty(n, dtype=np.int32),
            order=np.empty(n, dtype=np.int32),
            first=np.zeros(STEEP_BUCKETS + 1, dtype=np.int64),
            idle=np.zeros(n, dtype=np.int8),
            rate=np.zeros(n),
            queue=np.array([0, 0, 0, 0, -1, 0, 0], dtype=np.int64),
            account=np.zeros(9),
        )


@optional_method
def measure(oracle: Any, point: Any) -> None:
    """Measure the angle to the reference, with oracles that have one."""


@optional_method
def refresh(oracle: Any, point: Any) -> None:
    """Make the present point the reference, with oracles that have one."""


class SweepState(NamedTuple):
    """The working set, how often each coordinate was visited without moving, and the accounts (in nanoseconds)."""

    oracle: Any
    entry_cost: float
    scan_after: float
    refresh_after: float
    sweep_until: float
    lower: Array
    upper: Array
    members: Array  # the working set
    order: Array  # the list of a short sweep; also work to sort the members
    first: Array  # where the members of each bucket begin
    idle: Array  # visits without a move
    rate: Array  # gain of the last visit, divided by its cost
    queue: Array
    account: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        queue = self.queue
        if queue[VISITED_LAST] >= 0:
            self.record_visit(point)
        if queue[NEXT] == queue[IN_SWEEP]:
            self.end_sweep(point, t, rng)
        listed = self.order if queue[IS_SHORT] else self.members
        j = int(listed[queue[NEXT]])
        queue[NEXT] += 1
        queue[VISITED_LAST] = j
        self.account[X_BEFORE] = point.x[j]
        return j

    @helper
    def record_visit(self, point: Any) -> None:
        """Add gain and cost of the last visit to the accounts, and keep its coordinate unless it was idle too often."""
        queue, account = self.queue, self.account
        j = queue[VISITED_LAST]
        cost, change = self.visit_cost(point.problem.matrix, j), point.x[j] - account[X_BEFORE]
        if change != 0.0:
            cost *= 2.0
            queue[MOVED] += 1
            self.idle[j] = 0
        else:
            account[WASTE] += cost
            self.idle[j] = min(self.idle[j] + 1, IDLE_VISITS)
        gain = 0.5 * point.problem.lipschitz[j] * change * change
        self.rate[j] = gain / cost
        account[GAIN] += gain
        account[COST] += cost
        account[WORK] += cost
        if self.idle[j] < IDLE_VISITS:
            listed = self.order if queue[IS_SHORT] else self.members
            listed[queue[KEPT]] = j
            queue[KEPT] += 1

    @helper
    def visit_cost(self, matrix: Any, j: int) -> float:
        return self.entry_cost * (matrix.stop(j) - matrix.start(j)) + VISIT

    @helper
    def end_sweep(self, point: Any, t: int, rng: Any) -> None:
        """Start another sweep over the working set, after a scan where that has been paid for."""
        queue, account = self.queue, self.account
        count, is_still, was_short = queue[KEPT], queue[KEPT] == 0 or queue[MOVED] == 0, queue[IS_SHORT] == 1
        queue[NEXT], queue[KEPT], queue[MOVED] = 0, 0, 0
        queue[IS_SHORT] = not is_still and self.is_shortened(point.problem.matrix, count)
        account[GAIN], account[COST] = 0.0, 0.0
        if queue[IS_SHORT]:
            return
        if was_short:  # of the whole working set, those stay that were not idle too often
            count = 0
            for i in range(queue[WORKING]):
                if self.idle[self.members[i]] < IDLE_VISITS:
                    self.members[count] = self.members[i]
                    count += 1
            is_still = count == 0
        queue[WORKING] = count
        if is_still or account[WORK] >= self.scan_after:
            self.scan_all(point, rng, is_still)
        if queue[WORKING] == 0:  # no coordinate can move: visit them in turn
            self.members[0] = t % point.x.size
            queue[WORKING] = 1
        queue[IN_SWEEP] = queue[WORKING]

    @helper
    def is_shortened(self, matrix: Any, count: int) -> bool:
        """Return whether the next sweep is a short one, over the coordinates with the largest rates, and list them.

        The others are set aside, with what a visit of them gained and cost.
        """
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
            queue[WORKING] = count
        kept = 0
        for i in range(count):
            j = self.order[i]
            if self.rate[j] >= SLOW_SHARE * rate:
                self.order[kept] = j
                kept += 1
            else:
                cost = 2.0 * self.visit_cost(matrix, j)
                account[GAIN_ASIDE] += self.rate[j] * cost
                account[COST_ASIDE] += cost
        queue[IN_SWEEP] = kept
        return kept > 0 and (queue[IS_SHORT] == 1 or kept < count)

    @helper
    def scan_all(self, point: Any, rng: Any, is_still: bool) -> None:
        """Compute all bounds and renew the working set, after a refresh of the reference where that will pay."""
        queue, account = self.queue, self.account
        account[SPENT] += account[WORK]
        account[WORK] = 0.0
        if queue[VISITED_LAST] < 0 and point.intervals.radius_at(0) == 0.0:
            refresh(self.oracle, point)  # at the start the gradient is known, and a reference costs no reads
        measure(self.oracle, point)
        fill_bounds(point.intervals, self.lower, self.upper)
        may_enter = self.cost_of_entering(point.problem.matrix) + account[WASTE] <= self.refresh_after
        if not may_enter and (is_still or account[SPENT] >= self.sweep_until):
            refresh(self.oracle, point)
            account[WASTE], account[SPENT], may_enter = 0.0, 0.0, True
            fill_bounds(point.intervals, self.lower, self.upper)
        if may_enter:
            count = 0
            for j in range(self.upper.size):
                may_move = self.upper[j] > 0.0
                if may_move:
                    self.members[count] = j
                    count += 1
                if may_move == (self.idle[j] >= IDLE_VISITS):
                    self.idle[j] = 0 if may_move else IDLE_VISITS
            queue[WORKING] = count
            shuffle(self.members, count, rng)
            put_steep_first(self.members, count, self.upper, self.order, self.first)

    @helper
    def cost_of_entering(self, matrix: Any) -> float:
        """Return the cost of one visit to every coordinate outside the working set that may move."""
        cost = 0.0
        for j in range(self.upper.size):
            if self.upper[j] > 0.0 and self.idle[j] >= IDLE_VISITS:
                cost += self.visit_cost(matrix, j)
        return cost

    def active_count(self, point: Any) -> int:
        return max(int(self.queue[WORKING]), 1)
