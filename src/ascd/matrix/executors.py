"""Where the parts of a matrix (``parted``) answer: what an executor does, and the one of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ascd.matrix.part_answers import answer


class Call(NamedTuple):
    """A question (see ``part_answers``) to a part; parts are numbered row by row, ``column`` says which columns."""

    part: int
    column: int
    question: str
    arguments: tuple[Any, ...]


class Executor(Protocol):
    """Where parts are."""

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """The answers, in the order of the calls; one round trip.

        Answers that add up (``part_answers.SUMS``, of parts with the same columns) may come as one: the others are
        None then.
        """

    def keep(self, parts: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """What stands beside these parts for many rounds; the answers may be arguments of calls to them."""

    def changed(self, function: Callable[..., Any], *arguments: Any) -> Executor:
        """Other parts in the same places: ``function(part, *arguments)`` of each."""


class InTurn:
    """Parts in this process, asked one after the other; each shares its work among threads."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        return [answer(self.parts[call.part], call.question, call.arguments) for call in calls]

    def keep(self, parts: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return list(values)

    def changed(self, function: Callable[..., Any], *arguments: Any) -> InTurn:
        return InTurn([function(part, *arguments) for part in self.parts])
