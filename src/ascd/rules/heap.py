"""A max-heap of all coordinates by key, in which one coordinate's key can change.

``order`` holds the coordinates, ``place`` the position of each in ``order``, both int32; ``key`` is float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ascd._checks import Array


class Heap(NamedTuple):
    """Keys and order of the coordinates."""

    key: Array
    order: Array
    place: Array

    @staticmethod
    def of(n: int) -> Heap:
        """All n coordinates, to be ordered by ``arrange`` once their keys are set."""
        index = np.arange(n, dtype=np.int32)
        return Heap(np.empty(n), index, index.copy())

    def arrange(self) -> None:
        """Order all coordinates by their keys, from the leaves up, O(n)."""
        for position in range(self.order.size // 2 - 1, -1, -1):
            self.sink(position)

    def settle(self, j: int) -> None:
        """Move coordinate j to where its changed key belongs."""
        position = int(self.place[j])
        while position > 0:
            parent = (position - 1) // 2
            above = self.order[parent]
            if self.key[above] >= self.key[j]:
                break
            self.order[position], self.place[above] = above, position
            position = parent
        self.order[position], self.place[j] = j, position
        self.sink(position)

    def sink(self, position: int) -> None:
        """Move the coordinate at this position down to where its key belongs."""
        j = self.order[position]
        value = self.key[j]
        while True:
            child = 2 * position + 1
            if child >= self.order.size:
                break
            if child + 1 < self.order.size and self.key[self.order[child + 1]] > self.key[self.order[child]]:
                child += 1
            below = self.order[child]
            if self.key[below] <= value:
                break
            self.order[position], self.place[below] = below, position
            position = child
        self.order[position], self.place[j] = j, position
