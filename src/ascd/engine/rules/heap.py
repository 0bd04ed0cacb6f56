"""A max-heap of all coordinates by key, in which one coordinate's key can change.

``order`` holds the coordinates, ``place`` the position of each in ``order``, both int32.  ``key`` holds the keys *by
position*, and every node has eight children: a step down reads eight neighbouring keys, as many as a cache line holds,
where a binary heap with keys by coordinate would read two scattered ones at each of three times as many levels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.tuning import CHILDREN


class Heap(NamedTuple):
    """Keys and order of the coordinates."""

    key: Array
    order: Array
    place: Array

    @staticmethod
    def of(n: int) -> Heap:
        """All n coordinates: set the key of each position, then ``arrange``."""
        index = np.arange(n, dtype=np.int32)
        return Heap(np.empty(n), index, index.copy())

    @helper
    def arrange(self) -> None:
        """Order all positions by their keys, from the leaves up, O(n)."""
        for position in range((self.order.size - 2) // CHILDREN, -1, -1):
            sink(self, self.order.size, position, wide(self.order[position]), self.key[position])

    @helper
    def settle(self, j: int, value: float) -> None:
        """Give coordinate j a new key and move it to where that belongs."""
        sink(self, self.order.size, lifted(self, wide(self.place[j]), value), j, value)

    @helper
    def replace_top(self, value: float) -> None:
        """Give the top a new key and move it to where that belongs."""
        sink(self, self.order.size, 0, wide(self.order[0]), value)

    @helper
    def put(self, position: int, j: int, value: float) -> None:
        self.order[position], self.key[position], self.place[j] = j, value, position


@helper
def lifted(heap: Any, position: int, value: float) -> int:
    """Make room for a key on the way up from this position; where it belongs."""
    while position > 0:
        parent = (position - 1) // CHILDREN
        if heap.key[parent] >= value:
            break
        heap.put(position, wide(heap.order[parent]), heap.key[parent])
        position = parent
    return position


@helper
def sink(heap: Any, size: int, position: int, j: int, value: float) -> None:
    """Put a coordinate at this position of the first ``size`` and move it down to where its key belongs."""
    while CHILDREN * position + 1 < size:
        best, highest = largest_child(heap.key, position, size)
        if highest <= value:
            break
        heap.put(position, wide(heap.order[best]), highest)
        position = best
    heap.put(position, j, value)


@helper
def larger(one: int, its_key: float, other: int, other_key: float) -> tuple[int, float]:
    """The place with the larger key, and that key."""
    return other if other_key > its_key else one, other_key if other_key > its_key else its_key


@helper
def largest_of_four(key: Array, first: int) -> tuple[int, float]:
    """The place of the largest of four neighbouring keys, and that key."""
    left, highest = larger(first, key[first], first + 1, key[first + 1])
    right, high = larger(first + 2, key[first + 2], first + 3, key[first + 3])
    return larger(left, highest, right, high)


@helper
def largest_child(key: Array, position: int, size: int) -> tuple[int, float]:
    """The child with the largest key of a position that has one, and that key."""
    first = CHILDREN * position + 1
    if first + CHILDREN <= size:
        # without branches, which nobody can predict here: the larger of each pair, of both, of both halves
        left, highest = largest_of_four(key, first)
        right, high = largest_of_four(key, first + 4)
        return larger(left, highest, right, high)
    best, highest = first, key[first]
    for child in range(first + 1, size):
        best, highest = larger(best, highest, child, key[child])
    return best, highest
