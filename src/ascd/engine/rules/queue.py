"""A queue of coordinates by key, largest first, made for keys that become small when they change.

A visited coordinate is at its minimum: its upper bound falls below almost all others, and a heap of all coordinates
would move it down through every level, to a place in memory that nobody has looked at for long.  So only the few with
the largest keys form a heap.  The others stand behind it in levels, each eight times as long as all before it, without
order inside: level b holds the keys in [edge_b, edge_{b−1}).  A key that has become small goes to the end of its level,
by one move for each level passed.  When the heap is empty, the first level that is not is divided: the edges come from
a sample of its keys, which decides how long the new levels are and nothing else.

What comes out next depends on keys alone; equal keys come out in a random order where they were put in in one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.rules.heap import largest_child, lifted, sink
from ascd.engine.tuning import CHILDREN, FRONT, LEVEL_GROWTH, LEVEL_SAMPLE, LOOK_BLOCK


class Queue(NamedTuple):
    """Keys and coordinates by position; level b ends at ``end_b`` and holds no key below ``edge_b``."""

    key: Array
    order: Array
    edge: Array  # decreasing, the last is −inf
    end: Array
    sample: Array  # room for the sample of a level
    places: Array  # room for the positions of a block that are to be moved

    @staticmethod
    def of(n: int) -> Queue:
        """All n coordinates: set the key of each position, then ``arrange``."""
        number = 1 + max(0, math.ceil(math.log(max(n, 1) / FRONT, LEVEL_GROWTH)))
        room = np.empty(n), np.arange(n, dtype=np.int32)
        work = np.empty(LEVEL_SAMPLE), np.empty(LOOK_BLOCK, dtype=np.int32)
        return Queue(*room, np.full(number, -np.inf), np.full(number, n), *work)

    @staticmethod
    def empty(n: int) -> Queue:
        """Room for n coordinates."""
        queue = Queue.of(n)
        queue.end[:] = 0
        return queue

    @helper
    def queued(self) -> int:
        return self.end[self.end.size - 1]

    @helper
    def arrange(self) -> None:
        """Order all positions by their keys."""
        for b in range(self.end.size - 1):
            self.end[b] = 0
        self.refill()

    @helper
    def after_top(self) -> int:
        """Who is likely to be on top after this one: the second of the heap, or the top itself where it is alone."""
        return wide(self.order[largest_child(self.key, 0, self.end[0])[0]]) if self.end[0] > 1 else wide(self.order[0])

    @helper
    def replace_top(self, value: float) -> None:
        """Give the top a new key and move it to where that belongs."""
        if not value < self.edge[0]:
            sink(self, self.end[0], 0, wide(self.order[0]), value)
            return
        j, hole, b = wide(self.order[0]), self.shorten_heap(), 0
        while value < self.edge[b]:
            b += 1
            hole = self.close_hole(hole, b) if value < self.edge[b] else hole
        self.put(hole, j, value)
        if self.end[0] == 0:
            self.refill()

    @helper
    def drop_top(self) -> None:
        hole = self.shorten_heap()
        for b in range(1, self.end.size):
            hole = self.close_hole(hole, b)
        if self.end[0] == 0:
            self.refill()

    @helper
    def put_in(self, j: int, value: float) -> None:
        """Put in a coordinate."""
        b = self.end.size - 1
        hole = self.end[b]
        self.end[b] += 1
        while b > 0 and value >= self.edge[b - 1]:
            b -= 1
            first = self.end[b]
            self.put(hole, wide(self.order[first]), self.key[first])
            self.end[b] += 1
            hole = first
        self.put(lifted(self, hole, value) if b == 0 else hole, j, value)
        if self.end[0] == 0:
            self.refill()
        elif self.end[0] >= LEVEL_GROWTH * FRONT and self.end[0] & (self.end[0] - 1) == 0:  # seldom tried in vain
            self.shorten_front()

    @helper
    def shorten_front(self) -> None:
        """The heap has become too long: its smaller keys stand behind it from now on."""
        size = self.end[0]
        above = self.largest_of_sample(size, FRONT)
        found = self.put_first(size, above)
        if 0 < found < size and self.end.size > 1:
            self.edge[0], self.end[0] = above, found
        self.order_front(self.end[0])

    @helper
    def shorten_heap(self) -> int:
        """Take out the top; returns the place behind the heap that has become free."""
        last = self.end[0] - 1
        self.end[0] = last
        if last > 0:
            sink(self, last, 0, wide(self.order[last]), self.key[last])
        return last

    @helper
    def close_hole(self, hole: int, b: int) -> int:
        """Level b begins with a hole: its last one moves there.  Returns the place that has become free."""
        last = self.end[b] - 1
        self.end[b] = last
        self.put(hole, wide(self.order[last]), self.key[last])
        return last

    @helper
    def put(self, position: int, j: int, value: float) -> None:
        self.order[position], self.key[position] = j, value

    @helper
    def refill(self) -> None:
        """Divide the first level that is not empty, and make a heap of what comes first."""
        b = 0
        while b < self.end.size - 1 and self.end[b] == 0:
            b += 1
        size = self.end[b]
        while b < self.end.size - 1 and self.end[b + 1] == size and size > FRONT * LEVEL_GROWTH**b:
            b += 1  # a level that has become long is divided as one of the empty levels behind it would be
        while b > 0:
            target, above = FRONT * LEVEL_GROWTH ** (b - 1), self.edge[b]
            if size > target:
                above = self.largest_of_sample(size, target)
                found = self.put_first(size, above)
                if found == size:  # a sample of equal keys: those beyond it come first
                    above = self.least_beyond(size, above)
                    found = self.put_first(size, above)
                above, size = (above, found) if found > 0 else (self.edge[b], size)  # all equal, or no numbers
            b -= 1
            self.edge[b], self.end[b] = above, size
        self.order_front(size)

    @helper
    def order_front(self, size: int) -> None:
        for position in range((size - 2) // CHILDREN, -1, -1):
            sink(self, size, position, wide(self.order[position]), self.key[position])

    @helper
    def largest_of_sample(self, size: int, target: int) -> float:
        """A key that about so many of the first ``size`` reach, but never the largest of the sample.

        Where those asked for are few beside ``size``, that one would stand for too few.
        """
        sample, number = self.sample, min(self.sample.size, size)
        for s in range(number):
            value, place = self.key[s * size // number], s
            while place > 0 and sample[place - 1] < value:
                sample[place] = sample[place - 1]
                place -= 1
            sample[place] = value
        return sample[min(max(target * number // size, 1), number - 1)]

    @helper
    def least_beyond(self, size: int, edge: float) -> float:
        """The smallest key of the first ``size`` that is beyond the edge; infinity where there is none."""
        least = math.inf
        for position in range(size):
            value = self.key[position]
            least = value if edge < value < least else least
        return least

    @helper
    def put_first(self, size: int, edge: float) -> int:
        """Move those of the first ``size`` that reach the edge to the front; how many there are."""
        found = 0
        for begin in range(0, size, LOOK_BLOCK):
            number = 0
            for position in range(begin, min(begin + LOOK_BLOCK, size)):
                self.places[number] = position  # written always: nobody can predict who reaches the edge
                number += self.key[position] >= edge
            for k in range(number):
                position = wide(self.places[k])
                j, value = wide(self.order[position]), self.key[position]
                self.put(position, wide(self.order[found]), self.key[found])
                self.put(found, j, value)
                found += 1
        return found
