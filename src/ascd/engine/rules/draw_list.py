"""A list of coordinates from which a rule draws uniformly, with the random numbers of the next two draws known.

A processor foresees by itself what "uniform" picks next; a pick that depends on the outcome of the last step it does
not.  But who it will be is known in almost all cases two steps before, as the list hardly changes: that memory is asked
for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.rules.lazy_rules import ask_for_column, ask_for_numbers

LAST_PICK, ITS_PLACE, LIST_SIZE = range(3)


class DrawList(NamedTuple):
    """The list, and the last pick."""

    members: Array
    state: Array  # [the last pick (−1 before the first), its place in the list (−1: outside), the length of the list]
    tickets: Array  # the random numbers of the next two draws

    @staticmethod
    def of(n: int, spare: int = 0) -> DrawList:
        """Nobody is in it; there is room for n, and some to spare behind them."""
        return DrawList(np.empty(n + spare, dtype=np.int32), np.array([-1, -1, 0]), np.zeros(2))

    @helper
    def take_tickets(self, rng: Any) -> None:
        self.tickets[0], self.tickets[1] = rng.random(), rng.random()

    @helper
    def place_of(self, ticket: int) -> int:
        """The place in the list that a ticket stands for."""
        return int(self.tickets[ticket] * self.state[LIST_SIZE])

    @helper
    def draw_one(self, rng: Any) -> int:
        """Any of the list, which must not be empty."""
        self.state[ITS_PLACE] = self.place_of(0)
        self.tickets[0], self.tickets[1] = self.tickets[1], rng.random()
        self.state[LAST_PICK] = wide(self.members[self.state[ITS_PLACE]])
        return self.state[LAST_PICK]

    @helper
    def draw_outside(self, n: int, rng: Any) -> int:
        """Any of all n coordinates, in the list or not."""
        self.state[LAST_PICK], self.state[ITS_PLACE] = int(rng.random() * n), -1
        return self.state[LAST_PICK]

    @helper
    def foresee(self, point: Any) -> None:
        """Ask for the memory of the next two."""
        ask_for_column(point, wide(self.members[self.place_of(0)]))
        ask_for_numbers(point, wide(self.members[self.place_of(1)]))

    @helper
    def remove_at(self, place: int) -> None:
        """Who is at this place leaves the list; the last one takes the place."""
        self.state[LIST_SIZE] -= 1
        self.members[place] = self.members[self.state[LIST_SIZE]]
