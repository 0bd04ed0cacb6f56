"""Coordinates asleep, by key, for a rule that wakes many at a time: nobody needs to know who is first.

Keys that reach a threshold wake, and the threshold falls, as a rule by a little in every step.  So those wake early
that it is expected to reach while a share of those awake are drawn, and after that nobody for a while: but no further
than it has fallen since the last time, as its first steps are leaps that say little.  The ceiling is what no key of
those asleep reaches.

Level b holds the keys in [edge_b, edge_{b−1}) without order, in chunks of memory, each with the number of the one
behind it.  A coordinate falls asleep by one write at the end of its level: nobody has to make room.  To wake what
reaches ``above``,

    levels that lie above it are taken whole;   the one it lies in is gone through, and its rest divided.

With the distance h that the threshold is expected to fall until the next time, the new edges are ``above`` − 4h, − 16h
and so on: a coordinate is moved a few times before it wakes.  Where h changes much, levels become too long, and going
through them is in vain; when that has cost as much as to arrange all anew, all are arranged anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.rules.draw_list import LIST_SIZE, DrawList
from ascd.engine.tuning import CHUNK, EARLY_SHARE, LOOKS_A_WAKING, SLEEP_GROWTH, SLEEP_LEVELS

CEILING, THRESHOLD_THEN = range(2)
IN_VAIN, LAST_WAKING = range(2)


class Sleepers(NamedTuple):
    """Keys and coordinates in chunks; of each level its edge, first chunk, the place to write next, and its length."""

    key: Array
    order: Array
    behind: Array  # the chunk behind a chunk, −1 for none
    free: Array  # chunks that nobody uses
    unused: Array  # [how many of those there are]
    edge: Array  # not increasing; the last level is for −inf alone, which hardly ever has to be looked at
    chunk: Array
    place: Array
    number: Array
    account: Array  # [looks in vain since all were arranged, the step of the last waking]
    real: Array  # [the ceiling, the threshold at the last waking]

    @helper
    def forget(self, first: int, taken: int) -> None:
        """Nobody is asleep; of ``taken`` chunks for all that share them, this one's begin with ``first``."""
        for b in range(self.edge.size):
            self.edge[b], self.number[b], self.chunk[b] = math.inf, 0, first + b
            self.place[b], self.behind[first + b] = CHUNK * (first + b), -1
        self.edge[self.edge.size - 2], self.edge[self.edge.size - 1] = np.nextafter(-math.inf, 0.0), -math.inf
        self.account[IN_VAIN], self.real[CEILING], self.real[THRESHOLD_THEN] = 0, math.inf, math.inf
        self.unused[0] = self.free.size - taken
        for number in range(self.unused[0]):
            self.free[number] = taken + number

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
        self.unused[0] -= 1
        chunk = wide(self.free[self.unused[0]])
        self.behind[chunk] = before
        return chunk

    @helper
    def wake_early(self, threshold: float, t: int, awake: DrawList) -> None:
        """Wake those that the threshold, at its speed, will reach soon: while a share of the list is drawn."""
        steps, fall, distance = t - self.account[LAST_WAKING], self.real[THRESHOLD_THEN] - threshold, 0.0
        if steps > 0 and 0.0 < fall < math.inf:
            distance = min(fall / steps * EARLY_SHARE * awake.state[LIST_SIZE], fall)
        self.real[CEILING], self.real[THRESHOLD_THEN] = threshold - distance, threshold
        self.account[LAST_WAKING] = t
        self.wake_above(self.real[CEILING], distance, awake)

    @helper
    def wake_all(self, awake: DrawList) -> None:
        self.real[CEILING] = -math.inf
        self.wake_above(-math.inf, 0.0, awake)

    @helper
    def wake_above(self, above: float, distance: float, awake: DrawList) -> None:
        """All whose keys reach ``above`` join those awake."""
        b, before = 0, awake.state[LIST_SIZE]
        while above < self.edge[b]:
            self.go_through(b, -math.inf, awake)
            b += 1
        self.set_edges(b, above, distance)
        looks = self.number[b]
        self.go_through(b, above, awake)
        paid = LOOKS_A_WAKING * (awake.state[LIST_SIZE] - before)
        self.account[IN_VAIN] = max(self.account[IN_VAIN] + looks - paid, 0)
        if self.account[IN_VAIN] > self.count_asleep() + CHUNK:
            self.arrange_anew(above, distance, awake)

    @helper
    def go_through(self, b: int, above: float, awake: DrawList) -> None:
        """Wake those of level b that reach ``above``; the others are put where they belong by now."""
        if self.number[b] == 0:
            return
        chunk, end, count = self.chunk[b], self.place[b], awake.state[LIST_SIZE]
        self.chunk[b], self.number[b] = self.new_chunk(-1), 0
        self.place[b] = self.chunk[b] * CHUNK
        while chunk >= 0:
            for place in range(wide(chunk) * CHUNK, end):
                j, value = wide(self.order[place]), self.key[place]
                if value < above:
                    self.put_in(j, value)
                else:  # also what is no number: a draw finds out
                    awake.members[count] = j
                    count += 1
            self.free[self.unused[0]] = chunk
            self.unused[0] += 1
            chunk = self.behind[chunk]
            end = (chunk + 1) * CHUNK
        awake.state[LIST_SIZE] = count

    @helper
    def set_edges(self, b: int, above: float, distance: float) -> None:
        """The edges of the empty levels before level b."""
        for level in range(b):
            self.edge[level] = max(above - distance * SLEEP_GROWTH ** (level + 1), self.edge[b])

    @helper
    def arrange_anew(self, above: float, distance: float, awake: DrawList) -> None:
        """Divide all that are left, none of whom reaches ``above``."""
        last = self.edge.size - 2
        for level in range(last):
            self.edge[level] = math.inf
        for level in range(last):
            self.go_through(level, above, awake)
        self.set_edges(last, above, distance)
        self.go_through(last, above, awake)
        self.account[IN_VAIN] = 0

    @helper
    def count_asleep(self) -> int:
        count = 0
        for level in range(self.number.size):
            count += self.number[level]
        return count


class Rooms(NamedTuple):
    """Several sleepers on the same memory, as each coordinate sleeps in one of them at most.

    They share the first five of what ``Sleepers`` have, and have a row each of the others.
    """

    key: Array
    order: Array
    behind: Array
    free: Array
    unused: Array
    edge: Array
    chunk: Array
    place: Array
    number: Array
    account: Array
    real: Array

    @staticmethod
    def of(n: int, several: int) -> Rooms:
        """So many for n coordinates; nobody is asleep."""
        # besides full ones: every level writes to one, and of a level that is gone through, the first and one in work
        chunks = n // CHUNK + several * SLEEP_LEVELS + 2
        places = np.empty(chunks * CHUNK), np.empty(chunks * CHUNK, dtype=np.int32)
        shared = *places, np.zeros(chunks, dtype=np.int64), np.zeros(chunks, dtype=np.int64), np.array([0])
        chunk, place, number = np.zeros((3, several, SLEEP_LEVELS), dtype=np.int64)
        own = np.empty((several, SLEEP_LEVELS)), chunk, place, number
        rooms = Rooms(*shared, *own, np.zeros((several, 2), dtype=np.int64), np.empty((several, 2)))
        rooms.forget_all()
        return rooms

    @helper
    def room_of(self, which: int) -> Sleepers:
        """One of them."""
        levels = self.edge[which], self.chunk[which], self.place[which], self.number[which]
        return Sleepers(
            self.key, self.order, self.behind, self.free, self.unused, *levels, self.account[which], self.real[which]
        )

    @helper
    def forget_all(self) -> None:
        """Nobody is asleep."""
        several, levels = self.edge.shape
        for which in range(several):
            self.room_of(which).forget(which * levels, several * levels)
