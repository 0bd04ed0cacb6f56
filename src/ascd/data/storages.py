"""From what the user passed to a design: the one list of storages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import Array, as_design, as_matrix, check_sparse, unlocked
from ascd.data import prices
from ascd.data.dense import Dense, LocalDense
from ascd.data.design import Design
from ascd.data.distant import Distant
from ascd.data.row_major import DenseRows
from ascd.data.row_sparse import SparseRows
from ascd.data.sparse import CSC, LocalSparse, short_width, unsigned

#: Numbers that are read where they are; others are converted.
READ_IN_PLACE = tuple(np.dtype(kind) for kind in (np.float64, np.float32, np.int8, np.uint8))


def open_design(A: Any) -> Design:
    """The data behind their door; read as they come, or converted once; never modified.

    A design of one's own is taken as it is.  Small data are converted to column-major float64, for which everything is
    compiled already; data of more than ``prices.SMALL_DATA`` entries are read in place where they can be.
    """
    if hasattr(A, "careful_dots"):  # no array has that
        _check_design(A)
        return A
    if hasattr(A, "tocsc"):
        check_sparse(A)
        return _open_sparse(A) if A.nnz > prices.SMALL_DATA else as_local(A)
    array = as_matrix(A)
    return _open_dense(array) if array.size > prices.SMALL_DATA else as_local(array)


def is_read_in_place(A: Any) -> bool:
    """Is this an array or a sparse matrix that ``open_design`` does not convert?"""
    if hasattr(A, "tocsc"):
        is_known = A.format in ("csc", "csr") and A.nnz > prices.SMALL_DATA
    else:
        is_known = isinstance(A, np.ndarray) and A.ndim == 2 and A.size > prices.SMALL_DATA
        is_known = is_known and (A.flags.c_contiguous or A.flags.f_contiguous)
    return bool(is_known and (A.dtype in READ_IN_PLACE or A.dtype == np.bool_))


def as_local(A: Any) -> LocalDense | LocalSparse:
    """Columns of float64 in local memory; copied where they are not that already."""
    given = as_design(A)
    if isinstance(given, np.ndarray):
        return LocalDense(Dense(unlocked(given)), given.shape)
    return LocalSparse(CSC(*map(unlocked, unsigned(given, short_width(given)))), given.shape)


def _open_dense(array: Array) -> Design:
    readable = _readable(array.view(np.ndarray))
    if readable is not None and array.flags.f_contiguous:
        return LocalDense(Dense(readable), array.shape)
    if readable is not None and array.flags.c_contiguous:
        return Distant(DenseRows(readable))
    return as_local(array)


def _open_sparse(A: Any) -> Design:
    readable = _readable(A.data) if A.format in ("csc", "csr") and A.has_canonical_format else None
    if readable is None:
        return as_local(A)
    _, indices, indptr = map(unlocked, unsigned(A, short_width(A)))
    if A.format == "csc":
        return LocalSparse(CSC(readable, indices, indptr), A.shape)
    return Distant(SparseRows(readable, indices, indptr, A.shape))


def _readable(values: Array) -> Array | None:
    """The same memory as compiled code reads it: booleans are bytes.  None for types that are converted."""
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    return unlocked(values) if values.dtype in READ_IN_PLACE else None


def entry_price(matrix: Any) -> float:
    """Nanoseconds to read one entry of a column: a sweep reads it twice."""
    return 0.5 * (prices.DENSE_ENTRY if isinstance(matrix, Dense) else prices.SPARSE_ENTRY)


def _check_design(design: Any) -> None:
    missing = [name for name in vars(Design) if not name.startswith("_") and not hasattr(design, name)]
    if missing:
        raise TypeError(f"A: {type(design).__name__} does not answer {', '.join(missing)}; see ascd.data.design.Design")
