"""Selection without scanning, for the "norm" oracle: the same picks at the price of heap operations.

With "norm" the estimates of coordinates that are not visited stay, and the clock G alone widens their intervals.
Scores are Lipschitz in the gradient entry, so while j is not visited

    ℓ_j falls,      u_j − ρG falls,      with ρ the largest rate at which an upper bound can grow,

ρ = max_j rate_j and rate_j = ‖a_j‖ (or ‖a_j‖/√L_j, the same number for all j, for Lipschitz-scaled scores).  A heap
may therefore hold these numbers *as of their last evaluation*: they can only have fallen since.  Re-evaluating the
top until it stays on top gives the exact maximum.  For Lipschitz-scaled scores the order of the upper bounds is
static between visits and nothing is ever re-evaluated: a selection costs O(log n).

``LazyBounds`` keeps one heap for the lower or the upper bounds.  What a rule does with it is in ``lazy_rules.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._checks import Array
from ascd.rules.heap import Heap


class LazyBounds(NamedTuple):
    """A heap of bounds, stale but never too small.

    ``which`` is 0 for lower bounds and 1 for upper bounds; ``drift`` is 0 for lower bounds and ρ for upper bounds.
    """

    heap: Heap
    which: int
    drift: float

    @staticmethod
    def lower(n: int) -> LazyBounds:
        return LazyBounds(Heap.of(n), 0, 0.0)

    @staticmethod
    def upper(n: int, rates: Array) -> LazyBounds:
        return LazyBounds(Heap.of(n), 1, float(np.max(rates)))

    def level(self, intervals: Any, j: int) -> float:
        """The key that belongs to coordinate j now."""
        return intervals.bounds_at(j)[self.which] - self.drift * intervals.clock[0]

    def evaluate_all(self, intervals: Any) -> None:
        """Start: the keys of all coordinates, and their order."""
        for j in range(self.heap.key.size):
            self.heap.key[j] = self.level(intervals, j)
        self.heap.arrange()

    def renew(self, intervals: Any, j: int) -> None:
        """Coordinate j was visited: its bounds may have moved either way."""
        self.heap.key[j] = self.level(intervals, j)
        self.heap.settle(j)

    def true_top(self, intervals: Any) -> int:
        """The coordinate with the largest bound: re-evaluate the top until it stays on top."""
        while True:
            top = int(self.heap.order[0])
            level = self.level(intervals, top)
            if level >= self.heap.key[top]:
                return top
            self.heap.key[top] = level
            self.heap.settle(top)
