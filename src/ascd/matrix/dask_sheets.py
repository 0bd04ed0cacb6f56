"""What travels to a worker of a cluster in a round, and what is done with it there.

A worker gets one sheet with the calls to all of its parts, and sends one list of answers; those that add up are added
up there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ascd._core.checks import Array
from ascd._core.threads import crew
from ascd.matrix.executors import Call
from ascd.matrix.packing import bytes_of, packed, unpacked
from ascd.matrix.part_answers import SUMS, answer, together


class Sheet:
    """The calls to some parts, as one thing that travels; ``shared`` says which arrays go separately."""

    def __init__(self, calls: Sequence[Call], shared: dict[int, int]) -> None:
        known: dict[int, Any] = {key: Elsewhere(number) for key, number in shared.items()}
        self.calls = [
            call._replace(
                arguments=tuple(known[id(one)] if id(one) in shared else packed(one, known) for one in call[3])
            )
            for call in calls
        ]

    @property
    def nbytes(self) -> int:
        """Of its arrays, each once."""
        arguments = {id(one): one for call in self.calls for one in call.arguments}
        return sum(map(bytes_of, arguments.values()))

    def filled(self, shared: Sequence[Array]) -> Iterator[Call]:
        found: dict[int, Any] = {}
        for call in self.calls:
            for one in call.arguments:
                if id(one) not in found:
                    found[id(one)] = shared[one.number] if isinstance(one, Elsewhere) else unpacked(one)
            yield call._replace(arguments=tuple(found[id(one)] for one in call.arguments))


class Elsewhere:
    """Stands for an array that many sheets have in common."""

    def __init__(self, number: int) -> None:
        self.number = number


class Held:
    """Arrays as one thing that travels."""

    def __init__(self, values: Any) -> None:
        self.values = packed(values, {})


def unpack(held: Held) -> Any:
    return unpacked(held.values)


def answer_sheet(parts: Sequence[Any], sheet: Sheet, shared: Sequence[Array]) -> list[Any]:
    """The answers of parts in one place; those that add up come as one, with None for the others."""
    calls = list(sheet.filled(shared))
    with crew(_threads()):
        answers = [answer(part, call.question, call.arguments) for part, call in zip(parts, calls, strict=True)]
    alike: dict[Any, list[int]] = {}
    for number, call in enumerate(calls):
        alike.setdefault((call.question, call.column) if call.question in SUMS else number, []).append(number)
    out: list[Any] = [None] * len(calls)
    for numbers in alike.values():
        out[numbers[0]] = together(calls[numbers[0]].question, [answers[number] for number in numbers])
    return out


def _threads() -> int:
    """Of the worker that this runs on: one task is all it has to do in a round."""
    distributed = sys.modules.get("distributed")
    try:
        return int(distributed.get_worker().state.nthreads) if distributed else 1
    except ValueError:  # no worker: the threads of a local scheduler have a part each
        return 1
