"""A list of coordinates from which a rule draws uniformly, with the places of the next two draws known.

A processor foresees by itself what "uniform" picks next; a pick that depends on the outcome of the last step it does
not.  So places are drawn two steps before, and the memory of who is there is asked for.

A place that was drawn from the first s of a list is as likely to be any of the first s' ≤ s where it is one of them.
So it stays what it was when others leave the list: only where it was one of the last, another is drawn.  (A share of
the list, as a random number in [0, 1) is, would be another place for half of all draws as soon as one has left.)  When
others come in, all are drawn anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.rules.lazy_rules import ask_for_column, ask_for_numbers

LAST_PICK, ITS_PLACE, LIST_SIZE, DRAWN_FROM = range(4)


class DrawList(NamedTuple):
    """The list, and the last pick."""

    members: Array
    # [the last pick (−1 before the first), its place in the list (−1: outside), the length of the list, how many of its
    # first places the next draws are uniform on]
    state: Array
    places: Array  # of the next two draws

    @staticmethod
    def of(n: int, spare: int = 0) -> DrawList:
        """Nobody is in it; there is room for n, and some to spare behind them."""
        room = np.empty(n + spare, dtype=np.int32)
        return DrawList(room, np.array([-1, -1, 0, 0]), np.zeros(2, dtype=np.int64))

    @helper
    def any_place(self, rng: Any) -> int:
        return int(rng.random() * self.state[LIST_SIZE])

    @helper
    def draw_one(self, rng: Any) -> int:
        """Any of the list, which must not be empty."""
        state, places, size = self.state, self.places, self.state[LIST_SIZE]
        if size > state[DRAWN_FROM]:
            places[0], places[1] = self.any_place(rng), self.any_place(rng)
        state[DRAWN_FROM] = size
        state[ITS_PLACE] = places[0] if places[0] < size else self.any_place(rng)
        places[0], places[1] = places[1], self.any_place(rng)
        state[LAST_PICK] = wide(self.members[state[ITS_PLACE]])
        return state[LAST_PICK]

    @helper
    def draw_outside(self, n: int, rng: Any) -> int:
        """Any of all n coordinates, in the list or not."""
        self.state[LAST_PICK], self.state[ITS_PLACE] = int(rng.random() * n), -1
        return self.state[LAST_PICK]

    @helper
    def foresee(self, point: Any) -> None:
        """Ask for the memory of the next two; there have been members at their places."""
        ask_for_column(point, wide(self.members[self.places[0]]))
        ask_for_numbers(point, wide(self.members[self.places[1]]))

    @helper
    def remove_at(self, place: int) -> None:
        """Who is at this place leaves the list; the last one takes the place."""
        self.state[LIST_SIZE] -= 1
        self.members[place] = self.members[self.state[LIST_SIZE]]
