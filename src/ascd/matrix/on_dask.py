"""Dask's arrays and DataFrames as matrices in chunks (``chunked``): chunks stay where Dask puts them.

A chunk is opened once, by a task of its own: a NumPy array, a SciPy matrix or the partition of a DataFrame becomes a
matrix, which stays with its worker and can be computed again from the collection's graph.  Everything after that are
rounds of requests, not new graphs.  A round on a cluster (``OnCluster``) is one task a worker: calls are grouped by the
worker that has their chunks, and answers that add up are added up there.  Vectors that many workers need go out once.
Without a cluster (``Scheduled``) the collection's own scheduler computes every round.

A lost worker's chunks are computed again, and the round goes on; other faults are errors that say what to do
(``translated``).  dask is imported only by those who pass one of its collections.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import uuid4

import numpy as np

from ascd._core.checks import Array, check_places, check_shape
from ascd._core.threads import use_threads
from ascd.matrix import costs
from ascd.matrix.base import DataGone, Matrix
from ascd.matrix.chunked import SUMS, Call, InTurn, answer, chunked, together

#: Kinds of numbers that a column may have.
REAL = "fiub"
#: What makes a matrix of other things of Dask's.
INSTEAD = {
    "Delayed": "dask.array.from_delayed(it, shape=(n_samples, n_features), dtype=float) is an array",
    "Future": "dask.array.from_delayed(dask.delayed(it), shape=(n_samples, n_features), dtype=float) is an array",
    "Series": "its to_frame() is a DataFrame of one column",
    "Index": "its to_frame() is a DataFrame of one column",
}


def is_frame(A: Any) -> bool:
    """Return True for a Dask DataFrame."""
    return hasattr(A, "to_dask_array")


def check_collection(A: Any) -> None:
    """Raise an error unless it is a matrix of numbers, as far as it says."""
    name = "Delayed" if type(A).__module__.startswith("dask.delayed") else type(A).__name__
    advice = f": {INSTEAD[name]}" if name in INSTEAD else ""
    if name in ("Series", "Index"):
        raise ValueError(f"A must be two-dimensional (n_samples, n_features); got dask's {name}{advice}")
    is_table = is_frame(A) and hasattr(A, "dtypes") and hasattr(A, "columns")
    if advice or not (is_table or hasattr(A, "chunks")):
        raise TypeError(f"A must be an array or a DataFrame; got dask's {name}{advice}")
    if is_table:
        wrong = [(name, dtype) for name, dtype in A.dtypes.items() if getattr(dtype, "kind", "O") not in REAL]
        if wrong:
            raise TypeError(
                f"A must hold real numbers (float, int or bool); {len(wrong)} columns of the DataFrame do not, the "
                f"first is {wrong[0][0]!r} of dtype {wrong[0][1]}"
            )
    elif A.ndim != 2:
        advice = "; reshape(-1, 1) makes one feature of it" if A.ndim == 1 else ""
        raise ValueError(f"A must be two-dimensional (n_samples, n_features); got shape {A.shape}{advice}")
    elif A.dtype is not None and A.dtype.kind not in REAL:
        raise TypeError(f"A must hold real numbers (float, int or bool); got a dask array of dtype {A.dtype}")


def known_widths(A: Any) -> tuple[int, ...]:
    """Return how many columns the chunks of an array have."""
    widths: tuple[int, ...] = A.chunks[1]
    if any(math.isnan(width) for width in widths):
        raise ValueError("A must have columns of known number; call its compute_chunk_sizes(), or name the columns")
    return widths


def check_chunk(
    chunk: Any, said: tuple[int | None, int], place: tuple[int, int] | None = None, name: str = "A"
) -> None:
    """On a worker: raise an error unless a chunk, the one at this place, is what the collection says.

    None is not known.
    """
    shape, which = tuple(chunk.shape), "" if place is None else f" (the one at {place}, counted from 0)"
    wanted = (shape[0] if said[0] is None and shape else said[0], said[1])
    if shape != wanted:
        raise ValueError(f"{name} has a chunk of shape {shape} where the collection says {wanted}{which}")
    if chunk.dtype.kind not in REAL:
        raise TypeError(f"{name} must hold real numbers (float, int or bool); a chunk{which} has dtype {chunk.dtype}")


def open_collection(A: Any, opener: Callable[[Any], Matrix]) -> Matrix:
    """Return a Dask array or DataFrame as a matrix; ``opener`` makes a matrix of a chunk."""
    check_collection(A)
    chunks, rows, columns = _frame_chunks(A, opener) if is_frame(A) else _array_chunks(A, opener)
    width = columns.size - 1
    executor, count = executor_for(A, chunks), len(chunks) // max(1, width)
    if rows is None:  # from the first chunk of each row
        shapes = executor.ask([Call(row * width, 0, "shape", ()) for row in range(count)])
        rows = np.cumsum([0, *(shape[0] for shape in shapes)])
    check_shape((int(rows[-1]), int(columns[-1])))
    kept = np.flatnonzero(np.diff(rows) > 0)
    if kept.size < count:  # chunks without rows are left out
        executor.only((kept[:, None] * width + np.arange(width)).ravel().tolist())
        rows = np.concatenate([rows[:1], rows[kept + 1]])
    return chunked(executor, rows, columns)


def _array_chunks(A: Any, opener: Callable[[Any], Matrix]) -> tuple[list[Any], Array | None, Array]:
    """Delayed chunks of an array, row by row, and where they end; chunks without columns are left out.

    They are made as an array of Dask's, which joins the tasks of a chunk with ours: the chunks' own keys are gone then.
    Tasks are joined in another way in each computation, and Dask warns where a key that it knows comes back with other
    tasks under it ("different run_spec").
    """
    import dask.array as da

    heights, widths = A.chunks[0], known_widths(A)
    kept = [number for number, width in enumerate(widths) if width > 0]
    columns = np.cumsum([0, *(widths[number] for number in kept)])
    rows = None if any(math.isnan(height) for height in heights) else np.cumsum([0, *heights])
    how = {"dtype": object, "meta": np.empty((0, 0), dtype=object), "token": f"ascd-{uuid4().hex}"}
    chunks = da.map_blocks(open_block, A, opener, _is_by_columns(columns), **how).to_delayed()
    return chunks[:, kept].ravel().tolist(), rows, columns


def _frame_chunks(A: Any, opener: Callable[[Any], Matrix]) -> tuple[list[Any], None, Array]:
    """The partitions of a DataFrame: how many rows they have is not known."""
    import dask

    make, columns = dask.delayed(open_chunk, pure=False), np.array([0, len(A.columns)])
    given = opener, _is_by_columns(columns), (None, len(A.columns))
    return [make(chunk, *given, (number, 0)) for number, chunk in enumerate(A.to_delayed())], None, columns


def _is_by_columns(columns: Array) -> bool:
    """Row chunks that hold all columns give products of them: columns lie together for that."""
    return bool(columns.size == 2 and columns[-1] <= costs.AT_ONCE)


def open_block(chunk: Any, opener: Callable[[Any], Matrix], by_columns: bool, block_info: Any = None) -> Any:
    """On a worker: open a chunk of an array, whose shape and place come from Dask."""
    (height, width), place = block_info[None]["chunk-shape"], block_info[None]["chunk-location"]
    return open_chunk(chunk, opener, by_columns, (None if math.isnan(height) else height, width), tuple(place))


def open_chunk(
    chunk: Any, opener: Callable[[Any], Matrix], by_columns: bool, size: tuple[int | None, int], place: tuple[int, int]
) -> Any:
    """On a worker: open a chunk (one without rows stays as it is); the collection says its size and place."""
    if hasattr(chunk, "to_scipy_sparse"):  # of the library "sparse"
        chunk = chunk.to_scipy_sparse()
    if hasattr(chunk, "iloc"):
        is_single = all(dtype == np.float32 for dtype in chunk.dtypes)
        chunk = chunk.to_numpy(dtype=np.float32 if is_single else np.float64, na_value=np.nan)
    if isinstance(chunk, np.ma.MaskedArray):  # what is masked is missing
        chunk = np.ma.filled(chunk.astype(np.float64), np.nan)
    chunk = chunk if hasattr(chunk, "shape") else np.asarray(chunk)
    check_chunk(chunk, size, place)
    if 0 in chunk.shape:
        return chunk
    if by_columns:
        check_places(chunk)
        chunk = chunk.tocsc() if hasattr(chunk, "tocsc") else np.asfortranarray(chunk)
    return opener(chunk)


PACKAGE = __name__.partition(".")[0]


def executor_for(collection: Any, chunks: Sequence[Any]) -> Scheduled | OnCluster:
    """Return the executor of delayed chunks, which a cluster begins to compute."""
    client = client_of(collection)
    if client is None:
        return Scheduled(collection, chunks)
    check_workers(client)
    with translated(client):
        return OnCluster(client, client.compute(list(chunks)))


def client_of(collection: Any) -> Any:
    """Return the client of the cluster that would compute the collection; None where another scheduler would."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return client if hasattr(client, "who_has") else None


def computed(collection: Any) -> Array:
    """Return a Dask vector as a NumPy array."""
    if type(collection).__name__ == "Future":
        with translated(collection.client):
            return np.asarray(collection.result())
    client = client_of(collection)
    with nullcontext() if client is None else translated(client):
        return np.asarray(collection.compute())


class Scheduled(InTurn):
    """No cluster: the collection's own scheduler computes every round.

    Chunks are kept in memory where they have room; else every round computes them anew, from file to file, say.
    """

    is_remote = True

    def __init__(self, collection: Any, chunks: Sequence[Any]) -> None:
        import dask

        # a DataFrame's is not known
        size = float(collection.nbytes) if hasattr(collection, "chunks") else math.nan
        is_small = not size > costs.MEMORY_SHARE * _free_bytes()
        self.chunks = list(dask.persist(*chunks)) if is_small else list(chunks)

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        import dask

        make = dask.delayed(answer, pure=False, traverse=False)
        return list(dask.compute(*(make(self.chunks[call.chunk], call.request, call.arguments) for call in calls)))

    def changed(self, function: Callable[..., Any], *arguments: Any) -> Scheduled:
        import dask

        make = dask.delayed(function, pure=False, traverse=False)
        return Scheduled(None, [make(chunk, *arguments) for chunk in self.chunks])


def _free_bytes() -> float:
    """Free memory; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


class OnCluster(InTurn):
    """Chunks on the workers of a cluster, as futures; ``sent`` and ``received`` count bytes of arrays."""

    is_remote = True

    def __init__(self, client: Any, chunks: Sequence[Any]) -> None:
        super().__init__(chunks)
        self.client, self.is_loaded = client, False
        self.sent = self.received = 0
        self.homes: dict[int, str] = {}

    def changed(self, function: Callable[..., Any], *arguments: Any) -> OnCluster:
        with translated(self.client):
            chunks = [self.client.submit(function, chunk, *arguments, pure=False) for chunk in self.chunks]
        return OnCluster(self.client, chunks)

    def only(self, chunks: Sequence[int]) -> None:
        super().only(chunks)
        self.homes.clear()

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """One task a worker; Dask sends it to another, and computes the chunks again, where a worker is lost."""
        tasks: list[Any] = []
        with translated(self.client), _large_graphs():
            try:
                groups = self._groups(calls)
                shared = {key: self._stored(one) for key, one in _in_many(groups.values(), calls).items()}
                tasks += shared.values()
                asked = [self._task(home, [calls[k] for k in numbers], shared) for home, numbers in groups.items()]
                tasks += asked
                wait_until_done(self.client, asked)
                found = self.client.gather(asked)
            except BaseException:  # Ctrl-C too: nobody waits for them any more
                self.homes.clear()
                tasks += () if self.is_loaded else self.chunks
                if tasks and self.client.status == "running":
                    self.client.cancel(tasks, reason="the round was given up")
                raise
        self.received += bytes_of(found)
        answers: list[Any] = [None] * len(calls)
        for numbers, some in zip(groups.values(), found, strict=True):
            for number, one in zip(numbers, some, strict=True):
                answers[number] = one
        return answers

    def keep(self, chunks: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """As tasks, not by ``scatter``: what a lost worker had is made again from here."""
        with translated(self.client), _large_graphs():
            self._find_homes()
            return [self._stored(one, self.homes[chunk]) for chunk, one in zip(chunks, values, strict=True)]

    def _stored(self, value: Any, home: str = "") -> Any:
        """A task whose result is this value."""
        self.sent += bytes_of(value)
        return self.client.submit(_same, value, pure=False, **_at(home))

    def _task(self, home: str, calls: list[Call], shared: dict[int, Any]) -> Any:
        """A task that answers these calls; futures in its lists become what they stand for."""
        self.sent += bytes_of(
            list({id(a): a for call in calls for a in call.arguments if id(a) not in shared}.values())
        )
        listed = [
            [self.chunks[call.chunk], call.request, call.column, [shared.get(id(one), one) for one in call.arguments]]
            for call in calls
        ]
        return self.client.submit(answer_calls, listed, pure=False, **_at(home))

    def _groups(self, calls: Sequence[Call]) -> dict[str, list[int]]:
        """Numbers of calls by the worker that has their chunk."""
        self._find_homes()
        groups: dict[str, list[int]] = {}
        for number, call in enumerate(calls):
            groups.setdefault(self.homes[call.chunk], []).append(number)
        return groups

    def _find_homes(self) -> None:
        """Find where the chunks are, once they are computed; any worker will do for those that are nowhere."""
        if self.homes:
            return
        wait_until_done(self.client, self.chunks)
        self.is_loaded = True
        where = self.client.who_has(self.chunks)
        self.homes = {k: min(where.get(chunk.key, ()), default="") for k, chunk in enumerate(self.chunks)}


def _at(home: str) -> dict[str, Any]:
    """On this worker, if it is there."""
    return {"workers": [home], "allow_other_workers": True} if home else {}


def _large_graphs() -> Any:
    """No warning that tasks are large: vectors are what a round is about."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


def _in_many(groups: Iterable[list[int]], calls: Sequence[Call]) -> dict[int, Array]:
    """Large arrays that more than a few workers need, by their id."""
    counts: Counter[int] = Counter()
    known: dict[int, Array] = {}
    for numbers in groups:
        arguments = (one for number in numbers for one in calls[number].arguments if isinstance(one, np.ndarray))
        own = {id(one): one for one in arguments if one.nbytes > costs.SMALL_MESSAGE}
        counts.update(own.keys())
        known.update(own)
    return {key: one for key, one in known.items() if counts[key] > costs.SENT_TO_EACH}


# ---- on a worker


def _same(value: Any) -> Any:
    return value


def answer_calls(calls: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the answers to calls (chunk, request, column, arguments); those that add up as one, then None."""
    from distributed import get_worker

    with use_threads(int(get_worker().state.nthreads)):  # one task is all that the worker has to do in a round
        answers = [answer(chunk, request, arguments) for chunk, request, _, arguments in calls]
    same: dict[Any, list[int]] = {}
    for number, (_, request, column, _) in enumerate(calls):
        same.setdefault((request, column) if request in SUMS else number, []).append(number)
    out: list[Any] = [None] * len(calls)
    for numbers in same.values():
        out[numbers[0]] = together(calls[numbers[0]][1], [answers[number] for number in numbers])
    return out


def bytes_of(one: Any) -> int:
    """Return the bytes of the arrays in something that travels."""
    if isinstance(one, np.ndarray):
        return int(one.nbytes)
    if isinstance(one, list | tuple):
        return sum(map(bytes_of, one))
    return sum(map(bytes_of, (one.data, one.indices, one.indptr))) if hasattr(one, "indptr") else 0


# ---- what can go wrong


def check_workers(client: Any) -> None:
    """Raise an error unless scheduler and workers have this version."""
    if client.asynchronous:
        raise TypeError("the client must not be asynchronous: fits wait for their rounds; use Client(...) without it")
    with translated(client):
        found = client.get_versions(packages=[PACKAGE])
        if not found["workers"]:  # they may still be starting
            _wait_for_a_worker(client, RuntimeError)
            found = client.get_versions(packages=[PACKAGE])
    places = {"the scheduler": found["scheduler"], **found["workers"]}
    here, *others = ((info or found["client"])["packages"].get(PACKAGE) for info in (found["client"], *places.values()))
    wrong = [(name, version) for name, version in zip(places, others, strict=True) if version != here]
    if wrong:
        name, version = wrong[0]
        has = f"no {PACKAGE}" if version in (None, "MISSING") else f"{PACKAGE} {version}"
        raise RuntimeError(
            f"{PACKAGE} {here} is here, but {len(wrong)} of {len(places)} places on the cluster differ: {name} has "
            f"{has}; install {PACKAGE}=={here} there, where scheduler and workers run"
        )


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
            "of memory. Make chunks smaller (X.rechunk), so that a worker can hold its chunks twice; give workers more "
            "memory or use more of them; keep data in float32 or sparse"
        ) from error
    except CancelledError as error:
        if "connection-lost" in str(error) or "scheduler-restart" in str(error) or client.status != "running":
            raise DataGone(_SCHEDULER_GONE) from error
        raise DataGone(
            "chunks of X are lost and cannot be computed again: they were on a worker that is gone, and were put there "
            "by client.scatter or by a future that has no graph. Make X from files or from functions "
            "(dask.array.from_delayed, read_parquet), or scatter with broadcast=True"
        ) from error
    except Exception as error:  # a chunk's file may be missing, say: that passes as it is
        if isinstance(error, CommClosedError) or client.status != "running" or "trying to connect" in str(error):
            raise DataGone(_SCHEDULER_GONE) from error
        raise


_SCHEDULER_GONE = (
    "the cluster's scheduler has gone away, and the chunks with it. Start it again (or another one), make a new Client "
    "and fit again"
)
