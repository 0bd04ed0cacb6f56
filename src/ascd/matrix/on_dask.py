"""Dask's collections as designs: chunks stay where Dask puts them, and answer there as parts of a matrix (``parted``).

A chunk is opened once, by a task of its own: a numpy array, a SciPy matrix or the partition of a DataFrame becomes a
design, which stays with its worker.  It can be computed again from the collection's graph, should the worker be lost.
Everything after that are rounds of questions (``dask_executors``), not new graphs.

dask is imported only by those who pass one of its collections.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from ascd._core.checks import Array, check_places, check_shape
from ascd.matrix import prices
from ascd.matrix.dask_executors import executor_for
from ascd.matrix.dask_kinds import check_chunk, check_collection, is_frame, known_widths
from ascd.matrix.design import Design
from ascd.matrix.distant import Distant
from ascd.matrix.executors import Call, Executor
from ascd.matrix.parted import Parted


class Empty:
    """A chunk without rows or columns: no part of the matrix."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape


def open_collection(A: Any, opener: Callable[[Any], Design]) -> Distant:
    """A Dask array or DataFrame behind the door; ``opener`` makes a design of a chunk."""
    check_collection(A)
    parts, rows, columns = _frame_parts(A, opener) if is_frame(A) else _array_parts(A, opener)
    n, width = int(columns[-1]), columns.size - 1
    executor, count = executor_for(A, parts), len(parts) // max(1, width)
    if rows is None:
        rows = _found_rows(executor, count, width)
    check_shape((int(rows[-1]), n))
    kept = np.flatnonzero(np.diff(rows) > 0)
    if kept.size < count:
        executor = Chosen(executor, (kept[:, None] * width + np.arange(width)).ravel())
        rows = np.concatenate([rows[:1], rows[kept + 1]])
    return Distant(Parted(executor, rows, columns))


def _array_parts(A: Any, opener: Callable[[Any], Design]) -> tuple[list[Any], Array | None, Array]:
    """Delayed parts of an array, row by row, and where they end; chunks without columns are left out.

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
    parts = da.map_blocks(open_block, A, opener, _is_by_columns(columns), **how).to_delayed()
    return parts[:, kept].ravel().tolist(), rows, columns


def _frame_parts(A: Any, opener: Callable[[Any], Design]) -> tuple[list[Any], None, Array]:
    """The partitions of a DataFrame: how many rows they have is not known."""
    import dask

    make, columns = dask.delayed(open_part, pure=False), np.array([0, len(A.columns)])
    size = (None, len(A.columns))
    parts = [
        make(chunk, opener, _is_by_columns(columns), size, (number, 0)) for number, chunk in enumerate(A.to_delayed())
    ]
    return parts, None, columns


def _is_by_columns(columns: Array) -> bool:
    """Row parts that hold all columns give products of them: columns lie together for that."""
    return bool(columns.size == 2 and columns[-1] <= prices.AT_ONCE)


class Chosen:
    """Some of an executor's parts, under new numbers: the others are empty."""

    def __init__(self, inner: Executor, parts: Array) -> None:
        self.inner, self.parts = inner, parts

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        return self.inner.ask([call._replace(part=int(self.parts[call.part])) for call in calls])

    def keep(self, parts: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return self.inner.keep(self.parts[list(parts)].tolist(), values)

    def changed(self, function: Callable[..., Any], *arguments: Any) -> Chosen:
        return Chosen(self.inner.changed(function, *arguments), self.parts)


def open_block(chunk: Any, opener: Callable[[Any], Design], by_columns: bool, block_info: Any = None) -> Any:
    """What a worker keeps of a chunk of an array, of which Dask tells shape and place."""
    (height, width), place = block_info[None]["chunk-shape"], block_info[None]["chunk-location"]
    return open_part(chunk, opener, by_columns, (None if math.isnan(height) else height, width), tuple(place))


def open_part(
    chunk: Any, opener: Callable[[Any], Design], by_columns: bool, size: tuple[int | None, int], place: tuple[int, int]
) -> Any:
    """What a worker keeps of a chunk; ``size`` is what the collection says of it, ``place`` which one it is."""
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
        return Empty(chunk.shape)
    if by_columns:
        check_places(chunk)
        chunk = chunk.tocsc() if hasattr(chunk, "tocsc") else np.asfortranarray(chunk)
    return opener(chunk)


def _found_rows(executor: Executor, count: int, width: int) -> Array:
    """Where row parts end, from the first part of each row."""
    shapes = executor.ask([Call(row * width, 0, "shape", ()) for row in range(count)])
    return np.cumsum([0, *(shape[0] for shape in shapes)])
