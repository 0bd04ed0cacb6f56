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

import numpy as np

from ascd._base.checks import Array
from ascd.data import prices
from ascd.data.dask_executors import executor_for
from ascd.data.design import Design
from ascd.data.distant import Distant
from ascd.data.executors import Call, Executor
from ascd.data.parted import Parted

#: Kinds of numbers that a column may have.
REAL = "fiub"


class Empty:
    """A chunk without rows or columns: no part of the matrix."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape


def is_collection(A: Any) -> bool:
    """Is this one of Dask's collections?  Nothing else has both of these."""
    return hasattr(A, "__dask_graph__") and hasattr(A, "to_delayed")


def is_frame(A: Any) -> bool:
    return hasattr(A, "to_dask_array")


def open_collection(A: Any, opener: Callable[[Any], Design]) -> Distant:
    """A Dask array or DataFrame behind the door; ``opener`` makes a design of a chunk."""
    import dask

    chunks, rows, columns = frame_chunks(A) if is_frame(A) else array_chunks(A)
    n = int(columns[-1])
    # row parts that hold all columns give products of them: columns lie together for that
    by_columns = columns.size == 2 and n <= prices.AT_ONCE
    make = dask.delayed(open_part, pure=False)
    heights = [None] * len(chunks) if rows is None else np.diff(rows).tolist()
    sizes = [[(height, width) for width in np.diff(columns).tolist()] for height in heights]
    grid = [
        [make(chunk, opener, size, by_columns) for chunk, size in zip(line, known, strict=True)]
        for line, known in zip(chunks, sizes, strict=True)
    ]
    executor = executor_for(A, [part for line in grid for part in line])
    if rows is None:
        rows = _found_rows(executor, len(grid), columns.size - 1)
    kept = np.flatnonzero(np.diff(rows) > 0)
    if not kept.size or n == 0:
        raise ValueError(f"A must have at least one sample and one feature; got shape {(int(rows[-1]), n)}")
    if kept.size < len(grid):
        width = columns.size - 1
        executor = Chosen(executor, (kept[:, None] * width + np.arange(width)).ravel())
        rows = np.concatenate([rows[:1], rows[kept + 1]])
    return Distant(Parted(executor, rows, columns))


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


def array_chunks(A: Any) -> tuple[list[list[Any]], Array | None, Array]:
    """The chunks of an array, row by row, and where they end; chunks without columns are left out."""
    if not hasattr(A, "chunks"):
        raise TypeError(f"A must be an array or a DataFrame; got dask's {type(A).__name__}")
    if A.ndim != 2:
        raise ValueError(f"A must be two-dimensional (n_samples, n_features); got shape {A.shape}")
    if A.dtype is not None and A.dtype.kind not in REAL:
        raise TypeError(f"A must hold real numbers (float, int or bool); got a dask array of dtype {A.dtype}")
    heights, widths = A.chunks
    if any(math.isnan(width) for width in widths):
        raise ValueError("A must have columns of known number; call its compute_chunk_sizes(), or name the columns")
    kept = [number for number, width in enumerate(widths) if width > 0]
    chunks = [[line[number] for number in kept] for line in A.to_delayed().tolist()]
    columns = np.cumsum([0, *(widths[number] for number in kept)])
    rows = None if any(math.isnan(height) for height in heights) else np.cumsum([0, *heights])
    return chunks, rows, columns


def frame_chunks(A: Any) -> tuple[list[list[Any]], None, Array]:
    """The partitions of a DataFrame: how many rows they have is not known."""
    if not hasattr(A, "dtypes") or not hasattr(A, "columns"):
        raise TypeError(f"A must be an array or a DataFrame; got dask's {type(A).__name__}")
    wrong = [(name, dtype) for name, dtype in A.dtypes.items() if getattr(dtype, "kind", "O") not in REAL]
    if wrong:
        raise TypeError(
            f"A must hold real numbers (float, int or bool); {len(wrong)} columns of the DataFrame do not, the first "
            f"is {wrong[0][0]!r} of dtype {wrong[0][1]}"
        )
    return [[chunk] for chunk in A.to_delayed()], None, np.array([0, len(A.columns)])


def open_part(chunk: Any, opener: Callable[[Any], Design], size: tuple[int | None, int], by_columns: bool) -> Any:
    """What a worker keeps of a chunk; ``size`` is what the collection says of it."""
    if hasattr(chunk, "to_scipy_sparse"):  # of the library "sparse"
        chunk = chunk.to_scipy_sparse()
    if hasattr(chunk, "iloc"):
        is_single = all(dtype == np.float32 for dtype in chunk.dtypes)
        chunk = chunk.to_numpy(dtype=np.float32 if is_single else np.float64, na_value=np.nan)
    if isinstance(chunk, np.ma.MaskedArray):  # what is masked is missing
        chunk = np.ma.filled(chunk.astype(np.float64), np.nan)
    chunk = chunk if hasattr(chunk, "shape") else np.asarray(chunk)
    said = (chunk.shape[0] if size[0] is None and chunk.shape else size[0], size[1])
    if tuple(chunk.shape) != said:
        raise ValueError(f"A has a chunk of shape {tuple(chunk.shape)} where the collection says {said}")
    if 0 in chunk.shape:
        return Empty(chunk.shape)
    if by_columns:
        chunk = chunk.tocsc() if hasattr(chunk, "tocsc") else np.asfortranarray(chunk)
    return opener(chunk)


def _found_rows(executor: Executor, count: int, width: int) -> Array:
    """Where row parts end, from the first part of each row."""
    shapes = executor.ask([Call(row * width, 0, "shape", ()) for row in range(count)])
    return np.cumsum([0, *(shape[0] for shape in shapes)])
