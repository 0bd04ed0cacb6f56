"""The largest lower bound where intervals come from a reference, without scanning.

A lower bound is at most max(σ(g) − r, σ(m) − h) (see ``two_clocks.py``).  The first part falls with the path of v, so
it counts only while it is positive; the second rises where ‖e‖ falls, by a clock of the plane in which ‖e‖ counts the
other way.  A heap holds the keys: bounds minus ρ times that clock.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.rules.heap import Heap
from ascd.engine.rules.two_clocks import Clocks


@helper
def lower_bound(intervals: Any, j: int) -> float:
    """What the lower bound of j is at most where it is positive: σ(g) − r falls, so it counts while it is positive."""
    steepness, penalty, x = intervals.steepness, intervals.penalty, intervals.x[j]
    middle, half = intervals.extra.interval_at(j)
    one = steepness.signed_upper(penalty, j, x, intervals.estimate[j], -intervals.width_at(j))
    other = steepness.signed_upper(penalty, j, x, middle, -half)
    return one if one > 0.0 and one > other else other


@helper
def lower_key(intervals: Any, clocks: Clocks, j: int) -> float:
    """The key of a lower bound; that of a zero column stays, and is never too small."""
    bound = lower_bound(intervals, j)
    if intervals.reach[j] == 0.0:
        return math.inf if bound > 0.0 else -math.inf
    return bound - clocks.lower_shift()


@helper
def arrange_lower(heap: Heap, intervals: Any, clocks: Clocks) -> None:
    """The keys of all lower bounds."""
    for j in range(heap.key.size):
        heap.put(j, j, lower_key(intervals, clocks, j))
    heap.arrange()


@helper
def signed_bounds(intervals: Any, j: int) -> tuple[float, float]:
    """The bounds of j with their signs: a lower bound counts where it is positive."""
    steepness, penalty, x = intervals.steepness, intervals.penalty, intervals.x[j]
    g, r = intervals.extra.tighten(j, intervals.estimate[j], intervals.width_at(j))
    return steepness.signed_upper(penalty, j, x, g, -r), steepness.signed_upper(penalty, j, x, g, r)


@helper
def raise_lower(heap: Heap, intervals: Any, clocks: Clocks, j: int) -> None:
    """Coordinate j was visited; a key that is too large may stay.

    There is no need for it where x_j has not changed and the lower bound is not positive: such a visit has changed
    σ(g) − r alone, which counts where it is positive.
    """
    key = lower_key(intervals, clocks, j)
    if key > heap.key[wide(heap.place[j])]:
        heap.settle(j, key)


@helper
def largest_lower(heap: Heap, intervals: Any, clocks: Clocks, room: Array, first: int) -> float:
    """The largest lower bound: all that may be larger than what was found are evaluated.

    Where a key is true and yet too large, because the interval in use is the wider one, it is set aside meanwhile: in
    ``room`` from its place ``first`` on.  Where there is no place left, which hardly ever happens, all are evaluated.
    """
    shift, rounding, largest, count = clocks.lower_shift(), clocks.rounding(intervals), 0.0, 0
    while heap.key[0] + shift > largest + rounding and first + count < room.size:
        j = wide(heap.order[0])
        key, found = lower_key(intervals, clocks, j), intervals.bounds_at(j)[0]
        largest = found if found > largest else largest
        if not key < heap.key[0]:
            if not key + shift > largest + rounding:
                break  # it is true, and stays on top
            room[first + count] = j
            count += 1
            key = -math.inf
        heap.replace_top(key)
    if heap.key[0] + shift > largest + rounding:
        for j in range(heap.key.size):
            largest = max(largest, intervals.bounds_at(j)[0])
    for number in range(first, first + count):
        heap.settle(wide(room[number]), lower_key(intervals, clocks, wide(room[number])))
    return largest
