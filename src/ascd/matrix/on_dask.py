"""Dask's arrays and DataFrames as matrices in chunks (``chunked``): chunks stay where Dask puts them.

A chunk is opened once, by a task of its own: a NumPy array or a SciPy matrix becomes a matrix, which stays with its
worker and can be computed again from the collection's graph.  Everything after that are rounds of requests, not new
graphs.  dask is imported only by those who pass one of its collections.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any
from uuid import uuid4

import numpy as np

from ascd._core.checks import Array, check_places, check_shape
from ascd._core.threads import use_threads
from ascd.matrix import costs
from ascd.matrix.base import DataGone, Matrix
from ascd.matrix.chunked import Call, InTurn, Total, added, answer, chunked

#: Kinds of numbers that a column may have.
REAL = "fiub"


def check_collection(A: Any) -> None:
    """Raise an error unless it is a matrix of numbers, as far as it says."""
    kind = type(A).__name__
    if kind not in ("Array", "DataFrame"):
        advice = "dask.array.from_delayed and to_frame() make one of other collections"
        raise TypeError(f"A must be an array or a DataFrame; got dask's {kind}: {advice}")
    if A.ndim != 2:
        advice = "; reshape(-1, 1) makes one feature of it" if A.ndim == 1 else ""
        raise ValueError(f"A must be two-dimensional (n_samples, n_features); got shape {A.shape}{advice}")
    dtypes = A.dtypes.items() if kind == "DataFrame" else [("of the array", A.dtype)]
    for name, dtype in dtypes:
        if getattr(dtype, "kind", "O") not in REAL:
            raise TypeError(f"A must hold real numbers (float, int or bool); column {name!r} has dtype {dtype}")


def as_array(A: Any) -> tuple[Any, tuple[int, ...]]:
    """Return a Dask array, of a DataFrame one of floats (missing values are nan), and how many columns chunks have."""
    if hasattr(A, "to_dask_array"):
        is_single = all(dtype == np.float32 for dtype in A.dtypes)
        A = A.astype(np.float32 if is_single else np.float64).to_dask_array()
    if any(math.isnan(width) for width in A.chunks[1]):
        raise ValueError("A must have columns of known number; call its compute_chunk_sizes(), or name the columns")
    return A, A.chunks[1]


def check_chunk(chunk: Any, said: Sequence[float], which: str = "", name: str = "A") -> None:
    """On a worker: raise an error unless a chunk has the shape that the collection says (nan: any number of rows)."""
    shape = tuple(chunk.shape)
    wanted = (shape[0] if shape and math.isnan(said[0]) else said[0], said[1])
    if shape != wanted:
        raise ValueError(f"{name} has a chunk of shape {shape} where the collection says {wanted}{which}")
    if chunk.dtype.kind not in REAL:
        raise TypeError(f"{name} must hold real numbers (float, int or bool); a chunk{which} has dtype {chunk.dtype}")


def open_collection(A: Any, opener: Callable[[Any], Matrix]) -> Matrix:
    """Return a Dask array or DataFrame as a matrix; ``opener`` makes a matrix of a chunk.

    Dask joins the tasks of a chunk with ours: the chunks' own keys are gone then.  It does so in another way in each
    computation, and would warn where a key that it knows comes back with other tasks under it ("different run_spec").
    """
    import dask.array as da

    check_collection(A)
    A, given = as_array(A)
    widths = np.array(given, dtype=np.int64)
    kept, columns = np.flatnonzero(widths), np.cumsum([0, *widths[widths > 0]])
    # row chunks that hold all columns give products of them: columns lie together for that
    by_columns = bool(kept.size == 1 and columns[-1] <= costs.AT_ONCE)
    how = {"dtype": object, "meta": np.empty((0, 0), dtype=object), "token": f"ascd-{uuid4().hex}"}
    chunks = da.map_blocks(open_chunk, A, opener, by_columns, **how).to_delayed()[:, kept]
    client, listed, heights = client_of(A), chunks.ravel().tolist(), np.array(A.chunks[0])
    executor = Scheduled(float(A.nbytes), listed) if client is None else OnCluster(client, listed)
    if np.isnan(heights).any():  # known to the chunks alone
        shapes = executor.ask([Call(row * kept.size, 0, np.shape) for row in range(len(heights))])
        heights = np.array([shape[0] for shape in shapes])
    check_shape((int(heights.sum()), int(columns[-1])))
    # chunks without rows are left out
    executor.chunks = [chunk for k, chunk in enumerate(executor.chunks) if heights[k // kept.size] > 0]
    return chunked(executor, np.cumsum([0, *heights[heights > 0].astype(np.int64)]), columns)


def open_chunk(chunk: Any, opener: Callable[[Any], Matrix], by_columns: bool, block_info: Any = None) -> Any:
    """On a worker: open a chunk, whose shape and place come from Dask; one without rows stays as it is."""
    if isinstance(chunk, np.ma.MaskedArray):  # what is masked is missing
        chunk = np.ma.filled(chunk.astype(np.float64), np.nan)
    chunk = chunk if hasattr(chunk, "shape") else np.asarray(chunk)
    place = tuple(block_info[None]["chunk-location"])
    check_chunk(chunk, block_info[None]["chunk-shape"], f" (the one at {place}, counted from 0)")
    if 0 in chunk.shape:
        return chunk
    if by_columns:
        check_places(chunk)
        chunk = chunk.tocsc() if hasattr(chunk, "tocsc") else np.asfortranarray(chunk)
    return opener(chunk)


def client_of(collection: Any) -> Any:
    """Return the client of the cluster that would compute the collection; None where another scheduler would."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return client if hasattr(client, "who_has") else None


def computed(collection: Any) -> Array:
    """Return a Dask vector as a NumPy array."""
    is_future = type(collection).__name__ == "Future"
    client = collection.client if is_future else client_of(collection)
    with nullcontext() if client is None else translated(client):
        return np.asarray(collection.result() if is_future else collection.compute())


class Scheduled(InTurn):
    """No cluster: the collection's own scheduler computes every round.

    Chunks are kept in memory if their ``size`` is at most a share of what is free, or the system does not say what is;
    else every round computes them anew, from file to file, say.
    """

    is_remote = True

    def __init__(self, size: float, chunks: Sequence[Any]) -> None:
        import dask

        try:
            free = float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            free = math.inf
        super().__init__(chunks if size > costs.MEMORY_SHARE * free else dask.persist(*chunks))

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        import dask

        return list(dask.compute(*super().ask(calls)))

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        import dask

        return dask.delayed(function, pure=False, traverse=False)(*arguments)


class OnCluster(InTurn):
    """Chunks on the workers of a cluster, as futures; ``sent`` and ``received`` count bytes of arrays."""

    is_remote = True

    def __init__(self, client: Any, chunks: Sequence[Any]) -> None:
        if client.asynchronous:
            advice = "fits wait for their rounds; use Client(...) without it"
            raise TypeError(f"the client must not be asynchronous: {advice}")
        with translated(client):
            _wait_for_a_worker(client, RuntimeError)  # they may still be starting
            super().__init__(client.compute(list(chunks)))
        self.client, self.sent, self.received = client, 0, 0
        self.homes: dict[str, str] = {}

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """One task a worker; Dask sends it to another, and computes the chunks again, where a worker is lost.

        Large arrays that more than a few workers need go out once.
        """
        tasks: list[Any] = []
        groups: dict[str, list[Call]] = {}
        with translated(self.client):
            try:
                for call, home in zip(calls, self._homes_of([self.chunks[call.chunk] for call in calls]), strict=True):
                    groups.setdefault(home, []).append(call)
                given = [{id(one): one for call in some for one in call.arguments} for some in groups.values()]
                needed, every = Counter(chain(*given)), {key: one for some in given for key, one in some.items()}
                shared = {
                    key: self._stored(one)
                    for key, one in every.items()
                    if needed[key] > costs.SENT_TO_EACH and bytes_of(one) > costs.SMALL_MESSAGE
                }
                tasks += shared.values()
                for (home, some), arrays in zip(groups.items(), given, strict=True):
                    self.sent += sum(bytes_of(one) for key, one in arrays.items() if key not in shared)
                    listed = [  # futures in it become what they stand for
                        [self.chunks[chunk], column, request, [shared.get(id(one), one) for one in arguments]]
                        for chunk, column, request, arguments, _ in some
                    ]
                    tasks.append(self.run(answer_calls, listed, calls[0].total, home=home))
                wait_until_done(self.client, tasks)
                found = self.client.gather(tasks[len(shared) :])
            except BaseException:  # Ctrl-C too: nobody waits for them any more
                tasks += () if self.homes else self.chunks
                self.homes = {}
                if tasks and self.client.status == "running":
                    self.client.cancel(tasks, reason="the round was given up")
                raise
        self.received += bytes_of(found)
        asked = (call.chunk for call in chain(*groups.values()))
        answers = dict(zip(asked, chain(*found), strict=True))
        return [answers[call.chunk] for call in calls]

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """As tasks, not by ``scatter``: what a lost worker had is made again from here."""
        homes = self._homes_of(self.chunks[: len(values)])
        return [self._stored(one, home) for one, home in zip(values, homes, strict=True)]

    def run(self, function: Callable[..., Any], *arguments: Any, home: str = "") -> Any:
        """Return the future of a task, on this worker, if it is there."""
        import dask

        where = {"workers": [home], "allow_other_workers": True} if home else {}
        # no warning that tasks are large: vectors are what a round is about
        with translated(self.client), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self.client.submit(function, *arguments, pure=False, **where)

    def _stored(self, value: Any, home: str = "") -> Any:
        """A task whose result is this value."""
        self.sent += bytes_of(value)
        return self.run(lambda one: one, value, home=home)

    def _homes_of(self, chunks: Sequence[Any]) -> list[str]:
        """The workers that have these chunks, once all are computed; any worker will do for those that are nowhere."""
        if not all(chunk.key in self.homes for chunk in chunks):
            with translated(self.client):
                wait_until_done(self.client, self.chunks)
                where = self.client.who_has(self.chunks)
            self.homes = {chunk.key: min(where.get(chunk.key, ()), default="") for chunk in self.chunks}
        return [self.homes[chunk.key] for chunk in chunks]


# ---- on a worker


def answer_calls(calls: Sequence[Sequence[Any]], total: Total | None) -> list[Any]:
    """Return the answers to calls (chunk, column, request, arguments); those that add up as one, then None."""
    from distributed import get_worker

    with use_threads(int(get_worker().state.nthreads)):  # one task is all that the worker has to do in a round
        answers = [answer(chunk, request, arguments) for chunk, _, request, arguments in calls]
    if total is None:
        return answers
    same: dict[int, list[Any]] = {}
    for (_, column, _, _), found in zip(calls, answers, strict=True):
        same.setdefault(column, []).append(found)
    return [added(total, same.pop(column)) if column in same else None for _, column, _, _ in calls]


def bytes_of(one: Any) -> int:
    """Return the bytes of the arrays in something that travels."""
    if isinstance(one, np.ndarray):
        return int(one.nbytes)
    if isinstance(one, list | tuple):
        return sum(map(bytes_of, one))
    return sum(map(bytes_of, (one.data, one.indices, one.indptr))) if hasattr(one, "indptr") else 0


# ---- what can go wrong


def wait_until_done(client: Any, futures: Sequence[Any]) -> None:
    """Wait however long they take, unless nobody is left to compute them."""
    from distributed import wait

    while True:
        try:
            wait(futures, timeout=costs.WORKERS_AWAITED)
            return
        except (TimeoutError, asyncio.TimeoutError):
            _wait_for_a_worker(client, DataGone)


def _wait_for_a_worker(client: Any, kind: type[Exception]) -> None:
    try:
        client.wait_for_workers(1, timeout=costs.WORKERS_AWAITED)
    except TimeoutError as error:
        raise kind(
            f"the cluster has had no worker for {costs.WORKERS_AWAITED:g} seconds: start some (dask worker ADDRESS), "
            "or look at what its workers say when they start"
        ) from error


@contextmanager
def translated(client: Any) -> Iterator[None]:
    """Turn what Dask raises into errors that say what to do."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise MemoryError(
            f"workers were killed again and again while they worked on one task ({error.task}), most likely for want "
            "of memory: make chunks smaller (X.rechunk), or use more workers, or workers with more memory"
        ) from error
    except Exception as error:  # a chunk's file may be missing, say: that passes as it is
        words = ("connection-lost", "scheduler-restart", "trying to connect")
        is_cut = isinstance(error, CommClosedError) or any(word in str(error) for word in words)
        if is_cut or client.status != "running":
            raise DataGone(
                "the cluster's scheduler has gone away, and the chunks with it: make a new Client and fit again"
            ) from error
        if not isinstance(error, CancelledError):
            raise
        raise DataGone(
            "chunks of X are lost and cannot be computed again: they were put on a worker that is gone, by "
            "client.scatter or by a future without a graph; scatter with broadcast=True, or make X from files"
        ) from error
