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

``LazyBounds`` keeps a heap of the lower bounds or a queue of the upper ones (``queue.py``: a visited coordinate's falls
far, which costs a heap its whole depth).  What a rule does with it is in ``lazy_rules.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import asked
from ascd._core.jit import helper, wide
from ascd.engine import tuning
from ascd.engine.intervals import CLOCK_AND_EPSILON
from ascd.engine.rules.heap import Heap
from ascd.engine.rules.order import shuffle
from ascd.engine.rules.queue import Queue
from ascd.engine.tuning import KEY_ROUNDING


def lazy_applies(n: int, oracle: Any, steepness: Any) -> bool:
    """Does the argument above hold, and is the problem large enough to profit?"""
    return n >= tuning.SMALLEST_LAZY and asked(oracle, "keeps_estimates", False) and hasattr(steepness, "rates")


class Rates(NamedTuple):
    """How fast bounds move with the clock: upper bounds rise at most, lower bounds fall at least, that fast."""

    rise: float
    fall: float
    are_even: bool  # do all bounds of nonzero columns move at the same rate, up to rounding?

    @staticmethod
    def of(parts: Any, steepness: Any) -> Rates:
        rates = steepness.rates(parts.norm)
        moving = parts.norm > 0.0
        falls_evenly = asked(steepness, "falls_evenly", False) and bool(moving.any())
        rise, fall = float(rates.max()), float(rates[moving].min()) if falls_evenly else 0.0
        return Rates(rise, fall, falls_evenly and rise - fall <= KEY_ROUNDING * rise)


class LazyBounds(NamedTuple):
    """Bounds in order, stale but never too small.

    ``which`` is 0 for lower bounds and 1 for upper bounds; keys are the bounds minus ``drift`` times the clock.
    """

    holder: Any  # a Heap of lower bounds, a Queue of upper ones; of a-ASCD's, those asleep
    which: int
    drift: Array
    is_static: bool  # do the keys of nonzero columns stay true between visits?

    @staticmethod
    def lower(n: int, rates: Rates) -> LazyBounds:
        return LazyBounds(Heap.of(n), 0, np.array([-rates.fall]), False)  # they stop falling at 0

    @staticmethod
    def upper(n: int, rates: Rates) -> LazyBounds:
        return LazyBounds(Queue.of(n), 1, np.array([rates.rise]), rates.are_even)

    @helper
    def bound(self, intervals: Any, j: int) -> float:
        """The bound itself; upper bounds with their sign."""
        return intervals.signed_upper_at(j) if self.which == 1 else intervals.bounds_at(j)[0]

    @helper
    def largest_bound(self, intervals: Any) -> float:
        """The largest bound, which then stands on top: re-evaluate the top until it stays there."""
        shift = self.drift[0] * intervals.clock[CLOCK_AND_EPSILON]
        while True:
            if self.which == 0 and self.holder.key[0] + shift <= 0.0:
                return 0.0  # those that have fallen to 0 stay there
            top = wide(self.holder.order[0])
            if self.is_static and intervals.reach[top] > 0.0:
                return self.holder.key[0] + shift
            bound = self.bound(intervals, top)
            key = self.key_of(intervals, top, bound)
            # What is compared is what replaces it: keys fall in every round, also where a compiler rounds the same
            # expression in two ways.  Not <: a bound that is no number (inf − inf) stays on top, and the search ends.
            if not key < self.holder.key[0] - KEY_ROUNDING * abs(shift):
                return bound
            self.holder.replace_top(key)

    @helper
    def key_of(self, intervals: Any, j: int, bound: float) -> float:
        """The key of a bound; a zero column that cannot be steep never will be until it is visited."""
        if self.which == 1 and intervals.reach[j] == 0.0 and bound <= 0.0:
            return -math.inf
        return bound - self.drift[0] * intervals.clock[CLOCK_AND_EPSILON]

    @helper
    def evaluate_all(self, intervals: Any, rng: Any) -> None:
        """Start: the keys of all coordinates, and their order; those of equal upper bounds in random order."""
        holder = self.holder
        if self.which == 1:
            shuffle(holder.order, holder.order.size, rng)
        for j in range(holder.key.size):
            if self.which == 0 and intervals.reach[j] == 0.0 and intervals.signed_upper_at(j) > 0.0:
                self.drift[0] = 0.0
        for position in range(holder.key.size):
            j = wide(holder.order[position])
            holder.key[position] = self.key_of(intervals, j, self.bound(intervals, j))
        holder.arrange()

    @helper
    def renew(self, intervals: Any, j: int) -> None:
        """Coordinate j was visited: its bounds may have moved either way."""
        self.holder.settle(j, self.key_of(intervals, j, self.bound(intervals, j)))

    @helper
    def renew_top(self, intervals: Any) -> None:
        """The top was visited."""
        top = wide(self.holder.order[0])
        self.holder.replace_top(self.key_of(intervals, top, self.bound(intervals, top)))
