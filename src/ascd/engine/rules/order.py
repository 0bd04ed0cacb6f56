"""The order of a sweep: at random, the steepest first by halves of the largest bound, or the largest few first."""

from __future__ import annotations

import math
from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.engine.rules.scan import highest


@helper
def shuffle(members: Array, count: int, rng: Any) -> None:
    """Any order of the list, each as likely as the others."""
    for i in range(count - 1, 0, -1):
        other = int(rng.random() * (i + 1))
        members[i], members[other] = members[other], members[i]


@helper
def put_steep_first(members: Array, count: int, upper: Array, work: Array, first: Array) -> None:
    """By halves of the largest upper bound: those above a half, above a quarter, and so on."""
    largest = highest(upper)
    if not 0.0 < largest < math.inf:
        return
    for bucket in range(first.size):
        first[bucket] = 0
    for i in range(count):
        work[i] = members[i]
        first[halving_of(upper[members[i]], largest, first.size) + 1] += 1
    for bucket in range(1, first.size):
        first[bucket] += first[bucket - 1]
    for i in range(count):
        j = work[i]
        bucket = halving_of(upper[j], largest, first.size)
        members[first[bucket]] = j
        first[bucket] += 1


@helper
def halving_of(value: float, largest: float, buckets: int) -> int:
    """How often the largest is halved before it falls below the value."""
    return int(min(math.log2(largest / value), buckets - 2.0))


@helper
def put_largest_first(order: Array, key: Array, size: int, count: int) -> None:
    """Rearrange order[:size] so that its ``count`` largest keys come first (Hoare's selection)."""
    low, high = 0, size - 1
    while low < high:
        pivot = key[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while key[order[i]] > pivot:
                i += 1
            while key[order[j]] < pivot:
                j -= 1
            if i <= j:
                swapped = order[i]
                order[i] = order[j]
                order[j] = swapped
                i += 1
                j -= 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            return
