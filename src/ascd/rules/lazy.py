"""a-ASCD without scanning: the same active set {j : u_j ≥ max ℓ}, at a cost that does not grow with n.

With the "norm" oracle the estimates of coordinates that are not visited stay and only the clock widens their
intervals: between visits every lower bound falls and every upper bound rises.

max ℓ.  A heap holds each coordinate's lower bound as of its last evaluation, which can only have fallen since.  So
the top is re-evaluated until it stays on top: then it is the largest of all.

The pick.  Coordinates are drawn uniformly from a list of candidates until one has u_j ≥ max ℓ: that is uniform on
the active set whenever the list contains it.  The list is everything at first.  When draws have been wasted to
the worth of a scan, it is rebuilt with a look-ahead: it holds all j with u_j ≥ floor at a later time (clock ahead
by Δ), with floor = max ℓ/2.  While the clock has not passed that time and max ℓ ≥ floor, a coordinate outside has
u_j < floor ≤ max ℓ, so the list still contains the active set.  After that the list is everything again.  Each
rebuild is paid for by the wasted draws before it, so that rebuilding never dominates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._checks import Array
from ascd.rules.heap import build, restore

#: A scan of n coordinates costs about as much as n/8 scattered draws.
DRAWS_A_SCAN = 8


class LazyHeuristic(NamedTuple):
    """The heap, the list of candidates, and the few numbers that say how long the list is valid."""

    key: Array
    heap: Array
    place: Array
    candidates: Array
    whole: Array  # [size of the list, last pick (−1 before the first), wasted draws, is the list partial?]
    real: Array  # [clock up to which the list is valid, floor, look-ahead Δ, mean reach]

    @staticmethod
    def start(norm: Array) -> LazyHeuristic:
        n = norm.size
        heap, place, candidates = (np.empty(n, dtype=np.int64) for _ in range(3))
        real = np.array([0.0, 0.0, -1.0, max(norm.mean(), 1e-300)])
        return LazyHeuristic(np.empty(n), heap, place, candidates, np.array([n, -1, 0, 0]), real)

    def select(self, point: Any, t: int, rng: Any) -> int:
        largest = self.largest_lower(point.intervals)
        expired = point.intervals.clock[0] > self.real[0]
        if self.whole[3] == 1 and (expired or largest < self.real[1]):
            self.real[2] *= 2.0 if expired else 0.5
            self.whole[0], self.whole[3] = self.key.size, 0
        while True:
            rank = int(rng.random() * self.whole[0])
            j = int(self.candidates[rank]) if self.whole[3] == 1 else rank
            if point.intervals.bounds_at(j)[1] >= largest:
                self.whole[1] = j
                return j
            self.whole[2] += 1
            if self.whole[2] * DRAWS_A_SCAN > self.key.size:
                self.rebuild(point.intervals, largest)

    def largest_lower(self, intervals: Any) -> float:
        """max_j ℓ_j: re-evaluate the last visited coordinate, then the top of the heap until it stays on top."""
        j = self.whole[1]
        if j < 0:
            for k in range(self.key.size):
                self.key[k] = intervals.bounds_at(k)[0]
            build(self.heap, self.place, self.key)
            j = int(self.heap[0])
        while True:
            now = intervals.bounds_at(j)[0]
            settled = now == self.key[j] and self.place[j] == 0
            if settled:
                return now
            self.key[j] = now
            restore(self.heap, self.place, self.key, j)
            j = int(self.heap[0])

    def rebuild(self, intervals: Any, largest: float) -> None:
        """List the coordinates that can enter the active set while the clock advances by Δ."""
        if self.real[2] < 0.0:  # first time: Δ that widens a typical interval by a quarter of the threshold
            self.real[2] = 0.25 * largest / self.real[3]
        now = intervals.clock[0]
        self.real[0], self.real[1] = now + self.real[2], 0.5 * largest
        intervals.clock[0] = self.real[0]
        size = 0
        for j in range(self.key.size):
            if intervals.bounds_at(j)[1] >= self.real[1]:
                self.candidates[size] = j
                size += 1
        intervals.clock[0] = now
        self.whole[0], self.whole[2], self.whole[3] = size, 0, 1

    def active_count(self, point: Any) -> int:
        largest = 0.0
        for j in range(self.key.size):
            largest = max(largest, point.intervals.bounds_at(j)[0])
        count = 0
        for j in range(self.key.size):
            count += point.intervals.bounds_at(j)[1] >= largest
        return count
