"""Those asleep by two clocks (``two_clocks.py``), in a queue for each, largest key first: for u-ASCD."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.rules.lazy_rules import ask_for_column, ask_for_numbers
from ascd.engine.rules.queue import Queue
from ascd.engine.rules.two_clocks import Clocks, never_or, upper_bounds


class TwoQueues(NamedTuple):
    """Those asleep, in a queue for each clock; a queue's keys are bounds minus ρ times its clock."""

    clocks: Clocks
    by_path: Queue
    edge: Array  # and so on: those of the other queue, on the same memory
    end: Array
    sample: Array

    @staticmethod
    def of(parts: Any, oracle: Any, steepness: Any) -> TwoQueues:
        """Nobody is asleep.  Each coordinate sleeps in one queue at most, so both share their memory from its ends."""
        first = Queue.empty(parts.norm.size)
        second = first.edge.copy(), first.end.copy(), first.sample.copy()
        return TwoQueues(Clocks.of(parts, oracle, steepness), first, *second)

    @helper
    def by_plane(self) -> Queue:
        return Queue(self.by_path.key[::-1], self.by_path.order[::-1], self.edge, self.end, self.sample)

    @helper
    def path_on_top(self, intervals: Any) -> float:
        """What no upper bound of those who sleep by the path exceeds."""
        return self.by_path.key[0] + self.clocks.path_shift(intervals) if self.by_path.queued() > 0 else -math.inf

    @helper
    def plane_on_top(self) -> float:
        """The same for the plane."""
        return self.by_plane().key[0] + self.clocks.plane_shift() if self.by_plane().queued() > 0 else -math.inf

    @helper
    def highest(self, intervals: Any) -> float:
        """A number that no upper bound of those asleep exceeds."""
        path, plane = self.path_on_top(intervals), self.plane_on_top()
        return plane if plane > path else path

    @helper
    def is_by_plane(self, intervals: Any) -> bool:
        """Does the one with the highest key sleep by the plane?"""
        return self.by_path.queued() == 0 or self.plane_on_top() > self.path_on_top(intervals)

    @helper
    def foresee_next(self, point: Any) -> None:
        """Ask for the memory of the one on top, who is likely to be taken next."""
        if self.by_path.queued() + self.by_plane().queued() > 0:
            j = self.top_of(self.is_by_plane(point.intervals))
            ask_for_numbers(point, j)
            ask_for_column(point, j)

    @helper
    def take_highest(self, intervals: Any) -> int:
        """Wake the one with the highest key; somebody must be asleep."""
        return self.wake_top(self.is_by_plane(intervals))

    @helper
    def wake_top(self, of_plane: bool) -> int:
        """Wake the one with the highest key of a queue."""
        j = self.top_of(of_plane)
        if of_plane:
            self.by_plane().drop_top()
        else:
            self.by_path.drop_top()
        return j

    @helper
    def top_of(self, of_plane: bool) -> int:
        """Who has the highest key of a queue that is not empty."""
        return wide(self.by_plane().order[0]) if of_plane else wide(self.by_path.order[0])

    @helper
    def let_sleep(self, intervals: Any, j: int, level: float) -> None:
        """Let j sleep by the clock that is expected to keep it below the level for longer."""
        path, plane = upper_bounds(intervals, j)
        self.file_under(intervals, j, path, plane, self.clocks.prefers_plane(intervals, level - path, level - plane))

    @helper
    def file_under(self, intervals: Any, j: int, path: float, plane: float, by_plane: bool) -> None:
        """Put j with these upper bounds into one of the queues."""
        if by_plane:
            self.by_plane().put_in(j, never_or(intervals, j, plane, self.clocks.plane_shift()))
        else:
            self.by_path.put_in(j, never_or(intervals, j, path, self.clocks.path_shift(intervals)))

    @helper
    def lower_highest(self, intervals: Any, level: float) -> bool:
        """Renew the highest key where a clock keeps it below the level and the key falls, or where another clock does.

        Was it renewed?  If not, it is as low as it can be.  Each question is asked once: a compiler may round what is
        asked twice in two ways, and another one than j would be woken, or j put back where it was.
        """
        is_by_plane = self.is_by_plane(intervals)
        j = self.top_of(is_by_plane)
        path, plane = upper_bounds(intervals, j)
        if not (path < level or plane < level):
            return False
        should_be = self.clocks.prefers_plane(intervals, level - path, level - plane)
        if should_be != is_by_plane:
            self.wake_top(is_by_plane)
            self.file_under(intervals, j, path, plane, should_be)
            return True
        if is_by_plane:
            return lower_top(self.by_plane(), never_or(intervals, j, plane, self.clocks.plane_shift()))
        return lower_top(self.by_path, never_or(intervals, j, path, self.clocks.path_shift(intervals)))


@helper
def lower_top(queue: Queue, key: float) -> bool:
    """Give the top a smaller key; has it fallen?  Where it has not, that is a difference of rounding."""
    has_fallen = key < queue.key[0]
    if has_fallen:
        queue.replace_top(key)
    return has_fallen
