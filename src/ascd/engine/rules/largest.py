"""Rules by the largest bound or score: u-ASCD, ℓ-ASCD, a-ASCD, steepest coordinate descent (SCD) and blocks.

    u-ASCD  argmax_i u_i        ℓ-ASCD  argmax_i ℓ_i        a-ASCD  {i : u_i ≥ max_k ℓ_k}

with a uniform pick in each.  The steepest coordinate is always in a-ASCD's set.  Where all ℓ are 0 that set is {u > 0}
(see ``scan``).  SCD takes the largest score: entries whose interval is not a point are read.  Ties go to the first.

**Selection without scanning**, for the oracle "norm" on large problems (``scan=True`` forces scans): the same picks at
the cost of heap operations.  Between visits of j its bound ℓ_j falls and so does u_j − ρG, with ρ the largest rate at
which an upper bound can grow with the accumulated step length G (``docs/selection.md``).  A heap may therefore store
these numbers *as of their last evaluation*; re-evaluating the top until it stays there gives the exact maximum.

Lower bounds that all fall at one rate at least (GS-s and GSL-s: ℓ = max(0, slack − r)) are stored as ℓ + ρ'G with the
smallest such rate ρ' of a nonzero column.  Bounds that have reached 0 no longer fall, but they only come to the top
when all are 0.  Zero columns never fall: where one may have ℓ > 0 (u > 0 at the start), ρ' is taken as 0.

**a-ASCD** draws from a list that contains its set {u ≥ max ℓ} until max ℓ − ρG falls to the list's limit, which should
last for ``horizon`` steps; a draw is accepted if u ≥ max ℓ, else repeated.  The horizon is halved where the rejected
draws since the last scan have cost as much as a scan, and quadrupled otherwise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_flag, as_number
from ascd._core.contracts import asked
from ascd._core.jit import helper, wide
from ascd.engine import tuning
from ascd.engine.intervals import INFLATION
from ascd.engine.rules.scan import (
    LEAST,
    count_at_least,
    fill_bounds,
    highest,
    least_threshold,
    pick_at_least,
    put_largest_first,
    shuffle,
    sort_decreasing,
)
from ascd.engine.tuning import CHILDREN, DRAW_COST, HORIZON_GROWTH, KEY_ROUNDING

#: Rows of ``LazyHeuristic.state``: the last pick (−1 before the first), its place in the list (−1: outside), the length
#: of the list, the step of the last scan, draws rejected since then, the place of the next draw (−1: not drawn yet).
LAST_PICK, ITS_PLACE, LIST_SIZE, SCANNED_AT, REJECTED = range(5)
#: Rows of ``LazyHeuristic.real``: the limit of the list, max ℓ − ρG at the last scan, the horizon in steps.
LIST_LIMIT, THRESHOLD_THEN, HORIZON = range(3)


class UpperASCD(NamedTuple):
    """u-ASCD: the largest upper bound.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.UpperASCD()).x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        return lazy_or_scan(self.scan, (1, 1), parts, oracle, steepness)


class LowerASCD(NamedTuple):
    """ℓ-ASCD: the largest lower bound.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.LowerASCD(), rng=0).x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        return lazy_or_scan(self.scan, (0, 0), parts, oracle, steepness)


class HeuristicASCD(NamedTuple):
    """a-ASCD: every coordinate that may still be steepest.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.HeuristicASCD(), rng=0).x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        return lazy_or_scan(self.scan, (1, 0), parts, oracle, steepness)


class LevelSet(NamedTuple):
    """{j : bound_j ≥ the largest bound of a kind}; the kinds are 0 for lower and 1 for upper bounds."""

    lower: Array
    upper: Array
    which: int
    against: int

    @helper
    def find_threshold(self, point: Any) -> float:
        fill_bounds(point.intervals, self.lower, self.upper)
        threshold = highest(self.upper if self.against == 1 else self.lower)
        return least_threshold(self.upper) if threshold == 0.0 and self.which == 1 else threshold

    def select(self, point: Any, t: int, rng: Any) -> int:
        threshold = self.find_threshold(point)
        return pick_at_least(self.upper if self.which == 1 else self.lower, threshold, rng)

    def active_count(self, point: Any) -> int:
        threshold = self.find_threshold(point)
        return count_at_least(self.upper if self.which == 1 else self.lower, threshold, 0, self.upper.size)


def lazy_or_scan(scan: bool, kinds: tuple[int, int], parts: Any, oracle: Any, steepness: Any) -> Any:
    """Return the rule without scanning where there is one for the oracle, else the one that scans."""
    if as_flag(scan, "scan") or not lazy_applies(parts.norm.size, oracle, steepness):
        return LevelSet(np.empty(parts.norm.size), np.empty(parts.norm.size), *kinds)
    if kinds == (1, 0):
        rate, members = float(steepness.rates(parts.norm).max()), np.empty(parts.norm.size, dtype=np.int32)
        state, real = np.array([-1, -1, 0, 0, 0, -1]), np.array([math.inf, math.inf, 1.0])
        return LazyHeuristic(LazyBounds.of(0, parts, steepness), rate, members, state, real)
    return LazyTop(LazyBounds.of(kinds[0], parts, steepness), False, np.array([-1]))


class Steepest(NamedTuple):
    """The Gauss–Southwell rule, for the steepness in use.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> solution = ascd.minimize(problem, rule=ascd.Steepest(), max_iter=2)
    >>> solution.x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        if not as_flag(self.scan, "scan") and lazy_applies(parts.norm.size, oracle, steepness):
            return LazyTop(LazyBounds.of(1, parts, steepness), True, np.array([-1]))
        return self

    def select(self, point: Any, t: int, rng: Any) -> int:
        best, steepest = -1.0, 0
        for j in range(point.x.size):
            if point.intervals.radius_at(j) > 0.0:
                point.intervals.set_entry(j, point.partial(j), 0.0)
            score = point.intervals.score_at(j, point.intervals.estimate[j])
            if score > best:
                best, steepest = score, j
        return steepest

    def active_count(self, point: Any) -> int:
        return 1


class Block(NamedTuple):
    """The best k coordinates by their upper bounds, one after the other.

    Parameters
    ----------
    size : k, the most coordinates in a block
    share : only coordinates with an upper bound of at least this share of the largest, in (0, 1]

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.Block(size=2)).x
    array([ 2.,  0., -1.])
    """

    size: int = 1000
    share: float = 0.3

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> BlockScan:
        size = as_count(self.size, "Block size")
        share = as_number(self.share, "Block share", low=0.0, high=1.0, strict=True)
        n = parts.norm.size
        work = np.empty(n), np.empty(n), np.empty(n, dtype=np.int32), np.zeros(2, dtype=np.int64)
        return BlockScan(share, size, *work)


class BlockScan(NamedTuple):
    """Bounds, the block's members by decreasing upper bound, and [next, number] of them."""

    share: float
    size: int
    lower: Array
    upper: Array
    members: Array
    queue: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        if self.queue[0] == self.queue[1]:
            self.choose(point.intervals, rng)
        self.queue[0] += 1
        return int(self.members[self.queue[0] - 1])

    @helper
    def choose(self, intervals: Any, rng: Any) -> None:
        """List the next block."""
        fill_bounds(intervals, self.lower, self.upper)
        largest = highest(self.upper)
        self.queue[0], self.queue[1] = 0, 1
        if not largest > 0.0 or self.size == 1:  # ties, common at 0 and at infinity, are broken uniformly
            self.members[0] = pick_at_least(self.upper, largest, rng)
            return
        count = 0
        for j in range(self.upper.size):
            if self.upper[j] >= self.share * largest:
                self.members[count] = j
                count += 1
        if count > self.size:
            put_largest_first(self.members, self.upper, count, self.size)
            count = self.size
        sort_decreasing(self.members, count, self.upper)
        self.queue[1] = count

    def active_count(self, point: Any) -> int:
        return max(int(self.queue[1]), 1)


# ---- selection without scanning


def lazy_applies(n: int, oracle: Any, steepness: Any) -> bool:
    """Return whether the argument above holds and the problem is large enough to profit."""
    return n >= tuning.SMALLEST_LAZY and asked(oracle, "keeps_estimates", False) and hasattr(steepness, "rates")


class LazyBounds(NamedTuple):
    """A max-heap of all coordinates by bounds, outdated but never too small: keys are bounds less ``rate`` times G.

    ``order`` has the coordinates by position, ``place`` the position of each, ``key`` the keys by position.
    """

    key: Array
    order: Array
    place: Array
    which: int  # 0 for lower bounds, 1 for upper bounds
    rate: Array

    @staticmethod
    def of(which: int, parts: Any, steepness: Any) -> LazyBounds:
        rates, moving = steepness.rates(parts.norm), parts.norm > 0.0
        falls_evenly = asked(steepness, "falls_evenly", False) and bool(moving.any())
        rate = rates.max() if which == 1 else -rates[moving].min() if falls_evenly else 0.0
        index = np.arange(parts.norm.size, dtype=np.int32)
        return LazyBounds(np.empty(index.size), index, index.copy(), which, np.array([rate]))

    @helper
    def bound_and_key(self, intervals: Any, j: int) -> tuple[float, float]:
        """Return the bound, an upper one with its sign, and its key.

        The key is −∞ for a zero column with score 0, whose score is 0 until it is visited.
        """
        bound = intervals.signed_upper_at(j) if self.which == 1 else intervals.bounds_at(j)[0]
        if self.which == 1 and intervals.norm[j] == 0.0 and bound <= 0.0:
            return bound, -math.inf
        return bound, bound - self.rate[0] * intervals.lengths[INFLATION]

    @helper
    def largest_bound(self, intervals: Any) -> float:
        """Return the largest bound, whose coordinate is then on top: re-evaluate the top until it stays there."""
        shift = self.rate[0] * intervals.lengths[INFLATION]
        while True:
            if self.which == 0 and self.key[0] + shift <= 0.0:
                return 0.0  # lower bounds that have fallen to 0 stay there
            top = wide(self.order[0])
            bound, key = self.bound_and_key(intervals, top)
            # Keys fall in every round, also where a compiler rounds one expression in two ways.  Not <: a bound that
            # is not a number (inf − inf) stays on top, and the search ends.
            if not key < self.key[0] - KEY_ROUNDING * abs(shift):
                return bound
            self.sink(0, top, key)

    @helper
    def evaluate_all(self, intervals: Any, rng: Any) -> None:
        """Compute all keys and order them from the leaves up, O(n); equal upper bounds are in random order."""
        if self.which == 1:
            shuffle(self.order, self.order.size, rng)
        for j in range(self.key.size):
            if self.which == 0 and intervals.norm[j] == 0.0 and intervals.signed_upper_at(j) > 0.0:
                self.rate[0] = 0.0
        for position in range(self.key.size):
            self.key[position] = self.bound_and_key(intervals, wide(self.order[position]))[1]
        for position in range((self.order.size - 2) // CHILDREN, -1, -1):
            self.sink(position, wide(self.order[position]), self.key[position])
        for position in range(self.order.size):
            self.place[self.order[position]] = position

    @helper
    def renew(self, intervals: Any, j: int) -> None:
        """Give a visited coordinate, whose bounds may have moved either way, its key, and move it to its position."""
        key, position = self.bound_and_key(intervals, j)[1], wide(self.place[j])
        while position > 0:
            parent = (position - 1) // CHILDREN
            if self.key[parent] >= key:
                break
            self.put(position, wide(self.order[parent]), self.key[parent])
            position = parent
        self.sink(position, j, key)

    @helper
    def sink(self, position: int, j: int, value: float) -> None:
        """Put coordinate j at this position, and move it down to where its key belongs."""
        size = self.order.size
        while CHILDREN * position + 1 < size:
            first = CHILDREN * position + 1
            best, highest = first, self.key[first]
            for child in range(first + 1, min(first + CHILDREN, size)):
                is_higher = self.key[child] > highest
                best, highest = child if is_higher else best, self.key[child] if is_higher else highest
            if highest <= value:
                break
            self.put(position, wide(self.order[best]), highest)
            position = best
        self.put(position, j, value)

    @helper
    def put(self, position: int, j: int, value: float) -> None:
        self.order[position], self.key[position], self.place[j] = j, value, position


class LazyTop(NamedTuple):
    """u-ASCD, ℓ-ASCD and SCD without scanning: the top of a heap of bounds; SCD reads it until it is known exactly."""

    ordered: LazyBounds
    reads: bool
    last: Array  # [the last pick, −1 before the first]

    def select(self, point: Any, t: int, rng: Any) -> int:
        bounds, intervals = self.ordered, point.intervals
        if self.last[0] < 0:
            bounds.evaluate_all(intervals, rng)
        else:
            bounds.renew(intervals, wide(self.last[0]))
        largest, top = bounds.largest_bound(intervals), wide(bounds.order[0])
        while self.reads and intervals.radius_at(top) > 0.0:
            intervals.set_entry(top, point.partial(top), 0.0)
            bounds.renew(intervals, top)
            largest, top = bounds.largest_bound(intervals), wide(bounds.order[0])
        self.last[0] = int(rng.random() * point.x.size) if bounds.which == 0 and not largest > 0.0 else top
        return wide(self.last[0])

    def active_count(self, point: Any) -> int:
        return 1 if self.reads else count_reaching(point.intervals, self.ordered.which, self.ordered.which)


class LazyHeuristic(NamedTuple):
    """a-ASCD without scanning at every step: draws from a list of candidates."""

    floor: LazyBounds
    rate: float  # ρ
    members: Array  # the list
    state: Array
    real: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, state, n = point.intervals, self.state, point.x.size
        if state[LAST_PICK] < 0:
            self.floor.evaluate_all(intervals, rng)
        else:
            self.update_visited(intervals)
        largest = max(self.floor.largest_bound(intervals), LEAST)
        if self.threshold_of(intervals, largest) < self.real[LIST_LIMIT]:
            self.list_candidates(intervals, largest, t)
        while state[LIST_SIZE] > 0:
            place = int(rng.random() * state[LIST_SIZE])
            j = wide(self.members[place])
            bound = intervals.signed_upper_at(j)
            if bound >= largest:
                state[LAST_PICK], state[ITS_PLACE] = j, place
                return j
            state[REJECTED] += 1
            self.drop_small(intervals, j, place, bound)
            if state[REJECTED] * DRAW_COST > n:
                self.list_candidates(intervals, largest, t)
        state[LAST_PICK], state[ITS_PLACE] = int(rng.random() * n), -1
        return state[LAST_PICK]

    @helper
    def threshold_of(self, intervals: Any, largest: float) -> float:
        """Return max ℓ − ρG, below which no key belongs to the set, rounding included."""
        shift = self.rate * intervals.lengths[INFLATION]
        return largest - shift - KEY_ROUNDING * (shift + largest)

    @helper
    def update_visited(self, intervals: Any) -> None:
        """Renew the bounds of the last pick, and drop it from the list where its key has become small.

        A lower bound of 0 need not be stored: max ℓ counts from 0 on.  A pick from outside the list (no coordinate
        could move) that can move now makes the list invalid.
        """
        last, place = wide(self.state[LAST_PICK]), self.state[ITS_PLACE]
        if intervals.bounds_at(last)[0] > 0.0:
            self.floor.renew(intervals, last)
        bound = intervals.signed_upper_at(last)
        if place >= 0:
            self.drop_small(intervals, last, place, bound)
        elif bound > 0.0:
            self.real[LIST_LIMIT] = math.inf

    @helper
    def drop_small(self, intervals: Any, j: int, place: int, bound: float) -> None:
        """Remove coordinate j from its place in the list if its key is below the limit."""
        if bound - self.rate * intervals.lengths[INFLATION] < self.real[LIST_LIMIT]:
            self.state[LIST_SIZE] -= 1
            self.members[place] = self.members[self.state[LIST_SIZE]]

    @helper
    def list_candidates(self, intervals: Any, largest: float, t: int) -> None:
        """List all coordinates that may enter the set within the horizon; after rejected draws, those in the set."""
        state, real, n = self.state, self.real, intervals.x.size
        threshold, steps = self.threshold_of(intervals, largest), t - state[SCANNED_AT]
        is_rejected = state[REJECTED] * DRAW_COST > n
        real[HORIZON] = max(0.5 * real[HORIZON], 1.0) if is_rejected else min(HORIZON_GROWTH * real[HORIZON], n)
        fall, distance = real[THRESHOLD_THEN] - threshold, 0.0
        if steps > 0 and 0.0 < fall < math.inf:
            distance = fall / steps * real[HORIZON]
        real[THRESHOLD_THEN], real[LIST_LIMIT] = threshold, threshold - distance
        state[SCANNED_AT], state[REJECTED] = t, 0
        shift, count = self.rate * intervals.lengths[INFLATION], 0
        for j in range(n):
            bound = intervals.signed_upper_at(j)
            self.members[count] = j
            # with a distance of 0 the set itself: keys within rounding of the threshold would be rejected for ever
            count += bound >= largest if distance == 0.0 else not bound - shift < real[LIST_LIMIT]
        state[LIST_SIZE] = count

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size


@helper
def count_reaching(intervals: Any, which: int, against: int) -> int:
    """Count the bounds of one kind (0 lower, 1 upper) that reach the largest of a kind."""
    largest = 0.0 if which == against else LEAST
    for j in range(intervals.x.size):
        largest = max(largest, intervals.bounds_at(j)[against])
    count = 0
    for j in range(intervals.x.size):
        count += intervals.bounds_at(j)[which] >= largest
    return count
