"""Where the chunks of Dask's collections answer: on the workers of a cluster, or by the collection's own scheduler.

A round on a cluster is one task a worker: parts are futures that stay where they are, their calls are grouped by the
worker that holds them, and answers that add up are added up there.  So a worker sends one answer, however many parts it
has.  A task may run elsewhere where its worker is gone; parts are computed again from their graph then, by Dask.

What many workers need alike (the vector of a pass over columns) goes out once: as a task of its own, from which the
others take it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.dask_faults import check_workers, told, wait_until_done
from ascd.matrix.dask_kinds import is_future
from ascd.matrix.dask_sheets import Held, Sheet, answer_sheet, unpack
from ascd.matrix.executors import Call, Executor
from ascd.matrix.packing import bytes_of


def executor_for(collection: Any, parts: Sequence[Any]) -> Executor:
    """Parts are delayed; the scheduler is the one that would compute the collection."""
    client = client_of(collection)
    return Scheduled(collection, parts) if client is None else OnCluster.of(client, parts)


def client_of(collection: Any) -> Any:
    """The client of the cluster that would compute the collection; None where another scheduler would."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return client if hasattr(client, "who_has") else None


def computed(collection: Any) -> Array:
    """A vector of Dask's, here."""
    if is_future(collection):
        with told(collection.client):
            return np.asarray(collection.result())
    client = client_of(collection)
    with nullcontext() if client is None else told(client):
        return np.asarray(collection.compute())


class Scheduled:
    """No cluster: the collection's own scheduler computes every round.

    Parts are kept in memory where they have room; else every round computes them anew, from file to file, say.
    """

    def __init__(self, collection: Any, parts: Sequence[Any]) -> None:
        import dask

        # a DataFrame's is not known
        size = float(collection.nbytes) if hasattr(collection, "chunks") else math.nan
        is_small = not size > prices.MEMORY_SHARE * _free_bytes()
        self.parts = list(dask.persist(*parts)) if is_small else list(parts)

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        import dask

        make = dask.delayed(answer_sheet, pure=False, traverse=False)
        tasks = [make([self.parts[call.part]], Sheet([call], {}), []) for call in calls]
        return [found[0] for found in dask.compute(*tasks)]

    def keep(self, parts: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return list(values)

    def changed(self, function: Callable[..., Any], *arguments: Any) -> Scheduled:
        import dask

        make = dask.delayed(function, pure=False, traverse=False)
        return Scheduled(None, [make(part, *arguments) for part in self.parts])


def _free_bytes() -> float:
    """Of memory; where the system does not say, nothing is too much."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


class OnCluster:
    """Parts on the workers of a cluster; ``sent`` and ``received`` count bytes of arrays."""

    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        """The parts are futures."""
        self.client, self.parts = client, parts
        self.sent = self.received = 0
        self.homes: dict[int, str] = {}
        self.is_loaded = False

    @classmethod
    def of(cls, client: Any, parts: Sequence[Any]) -> OnCluster:
        """Parts that are delayed begin to be computed."""
        check_workers(client)
        with told(client):
            return cls(client, client.compute(list(parts)))

    def changed(self, function: Callable[..., Any], *arguments: Any) -> OnCluster:
        with told(self.client):
            parts = [self.client.submit(function, part, *arguments, pure=False) for part in self.parts]
        return OnCluster(self.client, parts)

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """One task a worker; Dask sends it elsewhere, and computes the parts again, where a worker is lost."""
        tasks: list[Any] = []
        with told(self.client), _quiet():
            try:
                groups = self._groups(calls)
                shared = _in_many(groups.values(), calls)
                held = [self._held(one) for one in shared.values()]
                tasks += held
                places = {key: number for number, key in enumerate(shared)}
                for home, numbers in groups.items():
                    tasks.append(self._task(home, [calls[number] for number in numbers], places, held))
                wait_until_done(self.client, tasks[len(held) :])
                found = self.client.gather(tasks[len(held) :])
            except BaseException:  # Ctrl-C too: nobody waits for them any more
                self.homes.clear()
                self._cancel(tasks if self.is_loaded else [*tasks, *self.parts])
                raise
        self.received += bytes_of(found)
        answers: list[Any] = [None] * len(calls)
        for numbers, some in zip(groups.values(), found, strict=True):
            for number, one in zip(numbers, some, strict=True):
                answers[number] = one
        return answers

    def keep(self, parts: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """As tasks, not by ``scatter``: what a lost worker held is made again from here."""
        with told(self.client), _quiet():
            self._find_missing(parts)
            return [self._held(one, self.homes[part]) for part, one in zip(parts, values, strict=True)]

    def _held(self, one: Any, home: str = "") -> Any:
        """A task that holds this."""
        held = Held(one)
        self.sent += bytes_of(held.values)
        return self.client.submit(unpack, held, pure=False, **_at(home))

    def _task(self, home: str, calls: list[Call], places: dict[int, int], held: list[Any]) -> Any:
        from distributed import Future

        beside = [one for call in calls for one in call.arguments if isinstance(one, Future)]
        places = {**places, **{id(one): len(held) + number for number, one in enumerate(beside)}}
        sheet, held = Sheet(calls, places), [*held, *beside]
        self.sent += sheet.nbytes
        parts = [self.parts[call.part] for call in calls]
        return self.client.submit(answer_sheet, parts, sheet, held, pure=False, **_at(home))

    def _groups(self, calls: Sequence[Call]) -> dict[str, list[int]]:
        """Numbers of calls by the worker that holds their part."""
        self._find_missing([call.part for call in calls])
        groups: dict[str, list[int]] = {}
        for number, call in enumerate(calls):
            groups.setdefault(self.homes[call.part], []).append(number)
        return groups

    def _find_missing(self, parts: Sequence[int]) -> None:
        """Where the parts are, once they are there; any worker, for those that are nowhere."""
        if all(part in self.homes for part in parts):
            return
        wait_until_done(self.client, self.parts)
        self.is_loaded = True
        where = self.client.who_has(self.parts)
        for number, part in enumerate(self.parts):
            self.homes[number] = next(iter(sorted(where.get(part.key, ()))), "")

    def _cancel(self, tasks: list[Any]) -> None:
        if tasks and self.client.status == "running":
            self.client.cancel(tasks, reason="the round was given up")


def _at(home: str) -> dict[str, Any]:
    """On this worker, if it is there."""
    return {"workers": [home], "allow_other_workers": True} if home else {}


def _quiet() -> Any:
    """Vectors are what a round is about: that they are large is no mistake of the user's."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


def _arrays(calls: Sequence[Call]) -> dict[int, Array]:
    """The arrays in the calls' arguments, each once."""
    return {id(one): one for call in calls for one in call.arguments if isinstance(one, np.ndarray)}


def _in_many(groups: Any, calls: Sequence[Call]) -> dict[int, Array]:
    """Large arrays that more than a few workers need."""
    counts: dict[int, int] = {}
    known: dict[int, Array] = {}
    for numbers in groups:
        for key, one in _arrays([calls[number] for number in numbers]).items():
            counts[key], known[key] = counts.get(key, 0) + 1, one
    return {
        key: one
        for key, one in known.items()
        if counts[key] > prices.SENT_TO_EACH and one.nbytes > prices.SMALL_MESSAGE
    }
