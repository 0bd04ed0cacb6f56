"""The largest lower bound where intervals come from a reference, without scanning.

A lower bound is at most max(σ(g) − r, σ(m) − h) (see ``two_clocks.py``).  The second rises where ‖e‖ falls: by a clock
of the plane in which ‖e‖ counts the other way, again one for each class of columns.  The first falls with the path of
v, so that it counts only while it is positive; and no clock goes back by more than the path times the smallest l‖a_j‖
of its class, so that it falls at least as fast.  (In exact numbers none would where samples have no weights: κ² + ω² is
at most l²‖a_j‖².  But ‖e‖ holds what its own rounding may be, which grows with every step, however short.)  For each
class a heap holds the keys: bounds minus what its clock has moved them by.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.rules.heap import Heap
from ascd.engine.rules.two_clocks import CLASSES, Clocks
from ascd.engine.tuning import PLANE_KINDS


class LowerBounds(NamedTuple):
    """A heap for each class, with every coordinate in one of them; both of a kind share the memory of its columns."""

    key: Array
    order: Array
    position: Array  # of a coordinate in its heap
    home: Array  # the class in whose heap a coordinate is
    held: Array  # how many each heap holds

    @staticmethod
    def of(n: int) -> LowerBounds:
        """Nobody is in it."""
        places = np.empty(n), np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int8)
        return LowerBounds(*places, np.zeros(CLASSES, dtype=np.int64))

    @helper
    def heap_of(self, clocks: Clocks, k: int) -> Heap:
        begin, end, way = clocks.segment(k)
        key, order = self.key[begin:end][::way], self.order[begin:end][::way]
        return Heap(key[: self.held[k]], order[: self.held[k]], self.position)

    @helper
    def arrange_all(self, intervals: Any, clocks: Clocks) -> None:
        """The keys of all lower bounds."""
        self.held[:] = 0
        for j in range(self.position.size):
            k, key = lower_key(intervals, clocks, j)
            slot = clocks.slot_of(k, self.held[k])
            self.key[slot], self.order[slot], self.position[j], self.home[j] = key, j, self.held[k], k
            self.held[k] += 1
        for k in range(CLASSES):
            self.heap_of(clocks, k).arrange()

    @helper
    def raise_one(self, intervals: Any, clocks: Clocks, j: int) -> None:
        """Coordinate j was visited; a key that is too large may stay.

        There is no need for it where x_j has not changed and the lower bound is not positive: such a visit has changed
        σ(g) − r alone, which counts where it is positive.
        """
        k, key = lower_key(intervals, clocks, j)
        if k != self.home[j] or key > self.key[clocks.slot_of(k, wide(self.position[j]))]:
            self.give_key(clocks, k, j, key)

    @helper
    def give_key(self, clocks: Clocks, k: int, j: int, key: float) -> None:
        """Put j into the heap of a class, and where its key belongs there."""
        if k != self.home[j]:
            self.take_out(clocks, j)
            self.home[j], self.position[j] = k, self.held[k]
            self.held[k] += 1
        self.heap_of(clocks, k).settle(j, key)

    @helper
    def take_out(self, clocks: Clocks, j: int) -> None:
        """The last of the heap takes the place of j."""
        k, position = wide(self.home[j]), wide(self.position[j])
        self.held[k] -= 1
        if position < self.held[k]:
            last = clocks.slot_of(k, self.held[k])
            self.position[self.order[last]] = position
            self.heap_of(clocks, k).settle(wide(self.order[last]), self.key[last])

    @helper
    def highest_top(self, clocks: Clocks) -> tuple[int, float]:
        """The heap with the highest top, and a number that no lower bound exceeds."""
        which, highest = 0, -math.inf
        for k in range(CLASSES):
            bound = self.key[clocks.slot_of(k, 0)] + clocks.lower_shift[k] if self.held[k] > 0 else -math.inf
            which, highest = (k, bound) if bound > highest else (which, highest)
        return which, highest

    @helper
    def find_largest(self, intervals: Any, clocks: Clocks, room: Array, start: int) -> float:
        """The largest lower bound: all that may be larger than what was found are evaluated.

        Where a key is true and yet too large, by rounding, it is set aside meanwhile: in ``room`` from its place
        ``start`` on.  Where there is no place left, which hardly ever happens, all are evaluated.
        """
        rounding, found, end = clocks.rounding_of_plane(), 0.0, start
        k, highest = self.highest_top(clocks)
        while highest > found + rounding and end < room.size:
            top = clocks.slot_of(k, 0)
            j = wide(self.order[top])
            own, key = lower_key(intervals, clocks, j)
            bound = intervals.bounds_at(j)[0]
            found = bound if bound > found else found
            if own == k and not key < self.key[top]:
                if not highest > found + rounding:
                    break  # it is true, and stays on top
                room[end] = j
                end += 1
                key = -math.inf
            self.give_key(clocks, own, j, key)
            k, highest = self.highest_top(clocks)
        if highest > found + rounding:
            for j in range(self.position.size):
                found = max(found, intervals.bounds_at(j)[0])
        for number in range(start, end):
            self.raise_one(intervals, clocks, wide(room[number]))
        return found


@helper
def lower_key(intervals: Any, clocks: Clocks, j: int) -> tuple[int, float]:
    """The class of j at present, and the key of its lower bound; that of a zero column is never too small."""
    steepness, penalty, x = intervals.steepness, intervals.penalty, intervals.x[j]
    middle, half = intervals.extra.interval_at(j)
    one = steepness.signed_upper(penalty, j, x, intervals.estimate[j], -intervals.width_at(j))
    other = steepness.signed_upper(penalty, j, x, middle, -half)
    bound = one if one > 0.0 and one > other else other
    if intervals.reach[j] == 0.0:
        return PLANE_KINDS, math.inf if bound > 0.0 else -math.inf
    k = clocks.class_now(intervals, j)
    return k, bound - clocks.lower_shift[k]


@helper
def signed_bounds(intervals: Any, j: int) -> tuple[float, float]:
    """The bounds of j with their signs: a lower bound counts where it is positive."""
    steepness, penalty, x = intervals.steepness, intervals.penalty, intervals.x[j]
    g, r = intervals.extra.tighten(j, intervals.estimate[j], intervals.width_at(j))
    return steepness.signed_upper(penalty, j, x, g, -r), steepness.signed_upper(penalty, j, x, g, r)
