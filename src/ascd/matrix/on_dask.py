"""Dask's arrays and DataFrames as matrices in chunks (``chunked``): chunks stay where Dask puts them.

A chunk is opened once, by a task of its own: a NumPy array, a SciPy matrix or the partition of a DataFrame becomes a
matrix, which stays with its worker.  It can be computed again from the collection's graph, should the worker be lost.
Everything after that are rounds of requests (``dask_cluster``), not new graphs.

dask is imported only by those who pass one of its collections.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np

from ascd._core.checks import Array, check_places, check_shape
from ascd.matrix import prices
from ascd.matrix.base import Matrix
from ascd.matrix.chunked import chunked
from ascd.matrix.dask_cluster import executor_for, is_future
from ascd.matrix.requests import Call

#: Kinds of numbers that a column may have.
REAL = "fiub"
#: What makes a matrix of other things of Dask's.
INSTEAD = {
    "Delayed": "dask.array.from_delayed(it, shape=(n_samples, n_features), dtype=float) is an array",
    "Future": "dask.array.from_delayed(dask.delayed(it), shape=(n_samples, n_features), dtype=float) is an array",
    "Series": "its to_frame() is a DataFrame of one column",
    "Index": "its to_frame() is a DataFrame of one column",
}


def is_collection(A: Any) -> bool:
    """Return True for a Dask collection or future: nothing else has both of these; a Delayed has every attribute."""
    return (hasattr(A, "__dask_graph__") and hasattr(A, "to_delayed")) or is_future(A)


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
        _check_columns(A)
    elif A.ndim != 2:
        advice = "; reshape(-1, 1) makes one feature of it" if A.ndim == 1 else ""
        raise ValueError(f"A must be two-dimensional (n_samples, n_features); got shape {A.shape}{advice}")
    elif A.dtype is not None and A.dtype.kind not in REAL:
        raise TypeError(f"A must hold real numbers (float, int or bool); got a dask array of dtype {A.dtype}")


def _check_columns(A: Any) -> None:
    wrong = [(name, dtype) for name, dtype in A.dtypes.items() if getattr(dtype, "kind", "O") not in REAL]
    if wrong:
        raise TypeError(
            f"A must hold real numbers (float, int or bool); {len(wrong)} columns of the DataFrame do not, the first "
            f"is {wrong[0][0]!r} of dtype {wrong[0][1]}"
        )


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
    size = (None, len(A.columns))
    chunks = [
        make(chunk, opener, _is_by_columns(columns), size, (number, 0)) for number, chunk in enumerate(A.to_delayed())
    ]
    return chunks, None, columns


def _is_by_columns(columns: Array) -> bool:
    """Row chunks that hold all columns give products of them: columns lie together for that."""
    return bool(columns.size == 2 and columns[-1] <= prices.AT_ONCE)


def open_block(chunk: Any, opener: Callable[[Any], Matrix], by_columns: bool, block_info: Any = None) -> Any:
    """On a worker: open a chunk of an array, whose shape and place come from Dask."""
    (height, width), place = block_info[None]["chunk-shape"], block_info[None]["chunk-location"]
    return open_chunk(chunk, opener, by_columns, (None if math.isnan(height) else height, width), tuple(place))


def open_chunk(
    chunk: Any, opener: Callable[[Any], Matrix], by_columns: bool, size: tuple[int | None, int], place: tuple[int, int]
) -> Any:
    """On a worker: open a chunk; ``size`` is what the collection says of it, ``place`` which one it is."""
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


class Empty:
    """A chunk without rows or columns: no part of the matrix."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
