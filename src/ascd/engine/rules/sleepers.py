"""Coordinates asleep, by key, for a rule that wakes many at a time: nobody needs to know who is first.

The keys above a threshold wake, and the threshold falls, as a rule by a little in every step.  Level b holds the keys
in [edge_b, edge_{b−1}) without order, in chunks of memory, each with the number of the one behind it.  A coordinate
falls asleep by one write at the end of its level, which no other write waits for, and nobody has to make room.  To wake
what reaches ``above``,

    levels that lie above it are taken whole;   the one it lies in is gone through, and its rest divided.

With the distance h that the threshold is expected to fall until the next time, the new edges are ``above`` − 4h, − 16h
and so on: a coordinate is moved a few times before it wakes.  Where h changes much, levels become too long, and going
through them is in vain; when that has cost as much as to arrange all anew, all are arranged anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.tuning import CHUNK, LEVEL_GROWTH, LOOKS_A_WAKING, SLEEP_LEVELS

FREE, IN_VAIN = range(2)


class Sleepers(NamedTuple):
    """Keys and coordinates in chunks; of each level its edge, first chunk, the place to write next, and its length."""

    key: Array
    order: Array
    behind: Array  # the chunk behind a chunk, −1 for none
    edge: Array  # not increasing; the last level is for −inf alone, which hardly ever has to be looked at
    chunk: Array
    place: Array
    number: Array
    free: Array  # chunks that nobody uses
    account: Array  # [how many of those, looks in vain since all were arranged]

    @staticmethod
    def of(n: int) -> Sleepers:
        """Room for n coordinates; nobody is asleep."""
        # besides full ones: every level writes to one, and of a level that is gone through, the first and one in work
        chunks = n // CHUNK + SLEEP_LEVELS + 2
        edge = np.full(SLEEP_LEVELS, np.inf)
        edge[-2:] = -np.finfo(np.float64).max, -np.inf
        first = np.arange(SLEEP_LEVELS)
        return Sleepers(
            np.empty(chunks * CHUNK),
            np.empty(chunks * CHUNK, dtype=np.int32),
            np.full(chunks, -1),
            edge,
            first,
            first * CHUNK,
            np.zeros(SLEEP_LEVELS, dtype=np.int64),
            np.arange(chunks)[::-1].copy(),
            np.array([chunks - SLEEP_LEVELS, 0]),
        )

    @helper
    def put_in(self, j: int, value: float) -> None:
        """Put a coordinate to sleep."""
        b, half = 0, self.edge.size // 2
        while half > 0:  # without branches: nobody can predict where this ends
            b += half * (value < self.edge[b + half - 1])
            half >>= 1
        place = self.place[b]
        self.key[place], self.order[place] = value, j
        self.number[b] += 1
        self.place[b] = self.after(place, b)

    @helper
    def after(self, place: int, b: int) -> int:
        """The place behind this one in level b, in another chunk where this one is full."""
        if (place + 1) % CHUNK > 0:
            return place + 1
        self.chunk[b] = self.new_chunk(self.chunk[b])
        return self.chunk[b] * CHUNK

    @helper
    def new_chunk(self, before: int) -> int:
        self.account[FREE] -= 1
        chunk = wide(self.free[self.account[FREE]])
        self.behind[chunk] = before
        return chunk

    @helper
    def wake_above(self, above: float, distance: float, members: Array, count: int) -> int:
        """Add all whose keys reach ``above`` to the first ``count`` members; how many members there are then."""
        b, before = 0, count
        while above < self.edge[b]:
            count = self.go_through(b, -math.inf, members, count)
            b += 1
        self.set_edges(b, above, distance)
        looks = self.number[b]
        count = self.go_through(b, above, members, count)
        self.account[IN_VAIN] = max(self.account[IN_VAIN] + looks - LOOKS_A_WAKING * (count - before), 0)
        if self.account[IN_VAIN] > self.count_asleep() + CHUNK:
            self.arrange_anew(above, distance, members)
        return count

    @helper
    def go_through(self, b: int, above: float, members: Array, count: int) -> int:
        """Wake those of level b that reach ``above``; the others are put where they belong by now."""
        if self.number[b] == 0:
            return count
        chunk, end = self.chunk[b], self.place[b]
        self.chunk[b], self.number[b] = self.new_chunk(-1), 0
        self.place[b] = self.chunk[b] * CHUNK
        while chunk >= 0:
            for place in range(wide(chunk) * CHUNK, end):
                j, value = wide(self.order[place]), self.key[place]
                if value < above:
                    self.put_in(j, value)
                else:  # also what is no number: a draw finds out
                    members[count] = j
                    count += 1
            self.free[self.account[FREE]] = chunk
            self.account[FREE] += 1
            chunk = self.behind[chunk]
            end = (chunk + 1) * CHUNK
        return count

    @helper
    def set_edges(self, b: int, above: float, distance: float) -> None:
        """The edges of the empty levels before level b."""
        for level in range(b):
            distance *= LEVEL_GROWTH
            self.edge[level] = max(above - distance, self.edge[b])

    @helper
    def arrange_anew(self, above: float, distance: float, members: Array) -> None:
        """Divide all that are left, none of whom reaches ``above``."""
        last = self.edge.size - 2
        for level in range(last):
            self.edge[level] = math.inf
        for level in range(last):
            self.go_through(level, above, members, 0)
        self.set_edges(last, above, distance)
        self.go_through(last, above, members, 0)
        self.account[IN_VAIN] = 0

    @helper
    def count_asleep(self) -> int:
        count = 0
        for level in range(self.number.size):
            count += self.number[level]
        return count
