"""What of Dask's can be a matrix, what its chunks must be, and errors that say what to do with the rest."""

from __future__ import annotations

import math
from typing import Any

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
    """Is this one of Dask's collections, or a future?  Nothing else has both of these; a Delayed says so of all."""
    return (hasattr(A, "__dask_graph__") and hasattr(A, "to_delayed")) or is_future(A)


def is_future(A: Any) -> bool:
    return type(A).__module__.partition(".")[0] == "distributed" and type(A).__name__ == "Future"


def is_frame(A: Any) -> bool:
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
    """How many columns the chunks of an array have."""
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
