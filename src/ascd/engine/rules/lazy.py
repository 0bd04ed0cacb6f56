"""Selection without scanning, for the "norm" oracle: the same picks at the price of heap operations.

With "norm" the estimates of coordinates that are not visited stay, and the clock G alone widens their intervals.
Scores are Lipschitz in the gradient entry, so while j is not visited

    ℓ_j falls,      u_j − ρG falls,      with ρ the largest rate at which an upper bound can grow,

ρ = max_j rate_j and rate_j = ‖a_j‖ (or ‖a_j‖/√L_j, the same number for all j, for Lipschitz-scaled scores).  A heap
may therefore hold these numbers *as of their last evaluation*: they can only have fallen since.  Re-evaluating the
top until it stays on top gives the exact maximum.  For Lipschitz-scaled scores the order of the upper bounds is
static between visits and nothing is ever re-evaluated: a selection costs O(log n).

Upper bounds are kept with their sign: an inactive coordinate sleeps until the clock has used up its slack.

Lower bounds that all fall at one rate at least (GS-s and GSL-s: ℓ = max(0, slack − r)) are kept as ℓ + ρ'G with the
smallest such rate ρ' of a nonzero column, which spares re-evaluations too.  Bounds that have reached 0 no longer fall,
but they only come to the top when all are 0.  Zero columns never fall: where one may have ℓ > 0 (u > 0 at the
start), ρ' is taken as 0.

``LazyBounds`` keeps one heap for the lower or the upper bounds.  What a rule does with it is in ``lazy_rules.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.contracts import asked
from ascd._base.jit import helper, wide
from ascd.engine import tuning
from ascd.engine.rules.heap import Heap
from ascd.engine.tuning import KEY_ROUNDING


def lazy_applies(n: int, oracle: Any, steepness: Any) -> bool:
    """Does the argument above hold, and is the problem large enough to profit?"""
    return n >= tuning.SMALLEST_LAZY and asked(oracle, "keeps_estimates", False) and hasattr(steepness, "rates")


class Rates(NamedTuple):
    """How fast bounds move with the clock: upper bounds rise at most, lower bounds fall at least, that fast."""

    rise: float
    fall: float

    @staticmethod
    def of(parts: Any, steepness: Any) -> Rates:
        rates = steepness.rates(parts.norm)
        moving = parts.norm > 0.0
        even = asked(steepness, "falls_evenly", False) and bool(moving.any())
        return Rates(float(rates.max()), float(rates[moving].min()) if even else 0.0)


class LazyBounds(NamedTuple):
    """A heap of bounds, stale but never too small.

    ``which`` is 0 for lower bounds and 1 for upper bounds; keys are the bounds minus ``drift`` times the clock.
    """

    heap: Heap
    which: int
    drift: Array

    @staticmethod
    def lower(n: int, fall: float) -> LazyBounds:
        return LazyBounds(Heap.of(n, tracked=True), 0, np.array([-fall]))

    @staticmethod
    def upper(n: int, rise: float) -> LazyBounds:
        return LazyBounds(Heap.of(n, tracked=False), 1, np.array([rise]))

    @helper
    def bound(self, intervals: Any, j: int) -> float:
        """The bound itself; upper bounds with their sign."""
        return intervals.signed_upper_at(j) if self.which == 1 else intervals.bounds_at(j)[0]

    @helper
    def largest_bound(self, intervals: Any) -> float:
        """The largest bound, which then stands on top: re-evaluate the top until it stays there."""
        shift = self.drift[0] * intervals.clock[0]
        while True:
            top = wide(self.heap.order[0])
            bound = self.bound(intervals, top)
            # not <: a bound that is no number (inf − inf) stays on top, and the search ends
            if not bound - shift < self.heap.key[0] - KEY_ROUNDING * abs(shift):
                return bound
            self.heap.replace_top(bound - shift)

    @helper
    def evaluate_all(self, intervals: Any, rng: Any) -> None:
        """Start: the keys of all coordinates, and their order; where only the top counts, ties in random order."""
        heap = self.heap
        if heap.place.size == 0:
            for position in range(heap.order.size - 1, 0, -1):
                other, j = int(rng.random() * (position + 1)), heap.order[position]
                heap.order[position], heap.order[other] = heap.order[other], j
        for j in range(heap.key.size):
            if self.which == 0 and intervals.reach[j] == 0.0 and intervals.signed_upper_at(j) > 0.0:
                self.drift[0] = 0.0
        shift = self.drift[0] * intervals.clock[0]
        for position in range(heap.key.size):
            heap.key[position] = self.bound(intervals, wide(heap.order[position])) - shift
        heap.arrange()

    @helper
    def renew(self, intervals: Any, j: int) -> None:
        """Coordinate j was visited: its bounds may have moved either way."""
        self.heap.settle(j, self.bound(intervals, j) - self.drift[0] * intervals.clock[0])

    @helper
    def renew_top(self, intervals: Any) -> None:
        """The top was visited."""
        self.heap.replace_top(self.bound(intervals, wide(self.heap.order[0])) - self.drift[0] * intervals.clock[0])
