"""Blocks: one scan of the bounds, then the best k coordinates one after the other.

A scan of the bounds costs O(n); spread over a block it costs O(n/k) a step.  Every step still uses its coordinate's
exact gradient entry, so each lowers the objective; only the choice is as old as the scan.  A coordinate whose upper
bound is below ``share`` times the largest waits for a later block.  With k = 1 this is u-ASCD.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_number
from ascd._core.jit import helper
from ascd.engine.rules.scan import fill_bounds, highest, pick_at_least, put_largest_first, sort_decreasing


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

    def is_random(self) -> bool:
        return False

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
