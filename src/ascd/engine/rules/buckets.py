"""Coordinates in buckets that grow fourfold, from the largest keys to the smallest.

A permutation holds the largest key, then the next 3, 12, 48, …, unordered inside a bucket, so that the first b buckets
hold 4^b.  The coordinates whose key reaches a threshold lie in a prefix of it, and the prefix up to the end of the
threshold's bucket is at most about four times as long: a uniform draw from the prefix that is rejected where the key is
too small is uniform above the threshold and needs two tries or so.  Changing a key costs one swap for each bucket
passed, at most log₄ n.

Keys that change fill some buckets and empty others; ``distribute`` starts afresh, in O(n).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.tuning import BUCKET_GROWTH


class Buckets(NamedTuple):
    """``order`` is the permutation, ``place`` its inverse; bucket b holds keys in [edge_b, edge_{b−1}].

    Both ends are included: equal keys may stand on either side of an edge, or no bucket could split them.
    """

    key: Array
    order: Array
    place: Array
    edge: Array  # decreasing, the last is −inf
    end: Array  # bucket b is order[end_{b−1}:end_b]

    @staticmethod
    def of(n: int) -> Buckets:
        index = np.arange(n, dtype=np.int32)
        number = max(1, math.ceil(math.log(n, BUCKET_GROWTH))) + 1
        return Buckets(np.empty(n), index, index.copy(), np.empty(number), np.empty(number, dtype=np.int64))

    @helper
    def distribute(self) -> None:
        """Quarter from the back: the upper quarter of all, the upper quarter of that, and so on; O(n) in all."""
        size = self.key.size
        for b in range(self.edge.size - 1, -1, -1):
            self.end[b] = size
            self.edge[b] = -math.inf
            if b < self.edge.size - 1:
                smallest = math.inf
                for position in range(size):
                    smallest = min(smallest, self.key[self.order[position]])
                self.edge[b] = smallest
            upper = (size + BUCKET_GROWTH - 1) // BUCKET_GROWTH
            if upper < size:
                put_largest_first(self.order, self.key, size, upper)
            size = upper
        for position in range(self.order.size):
            self.place[self.order[position]] = position

    @helper
    def bucket_of(self, value: float) -> int:
        """A bucket for a key of this value; the buckets after it hold smaller keys only."""
        b = 0
        while value <= self.edge[b] and b < self.edge.size - 1:
            b += 1
        return b

    @helper
    def rekey(self, j: int, value: float) -> None:
        """Change a key and move its coordinate, by swaps with the ends of the buckets in between."""
        self.key[j] = value
        vacant, b, new = wide(self.place[j]), 0, self.bucket_of(value)
        while vacant >= self.end[b]:
            b += 1
        while b != new:
            if b > new:  # to the end of the bucket before, which grows by one
                b -= 1
                position = self.end[b]
                self.end[b] += 1
            else:  # to the start of the bucket after, which reaches one further to the front
                self.end[b] -= 1
                position = self.end[b]
                b += 1
            other = self.order[position]
            self.order[vacant], self.place[other] = other, vacant
            self.order[position], self.place[j] = j, position
            vacant = position


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
