"""Sparse columns in memory (CSC); their products with each other are in ``sparse_products``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.jit import kernel, wide
from ascd._core.scalars import fetch
from ascd._core.threads import share
from ascd.matrix.columns import first_at
from ascd.matrix.local import Local
from ascd.matrix.sparse_products import SparseMultiplier

#: A matrix whose sizes and offsets are all smaller has indices of 32 bits.
LARGEST_SHORT = 2**31 - 1
#: Integers as libraries know them, and as compiled code reads them.
UNSIGNED: dict[Any, Any] = {np.dtype(np.int32): np.dtype(np.uint32), np.dtype(np.int64): np.dtype(np.uint64)}
SIGNED = {seen: known for known, seen in UNSIGNED.items()}


class CSC(NamedTuple):
    """Compressed sparse columns.

    Rows and offsets are unsigned: a signed index may count from the end, and a test for that at every access takes a
    third of the time of a sparse product.
    """

    data: Array
    indices: Array
    indptr: Array

    def start(self, j: int) -> int:
        return self.indptr[j]

    def stop(self, j: int) -> int:
        return self.indptr[j + 1]

    def row(self, p: int) -> int:
        return self.indices[p]

    def entry(self, p: int, j: int) -> float:
        return np.float64(self.data[p])

    def ask_for_start(self, j: int) -> None:
        fetch(self.indptr, j)

    def ahead(self, j: int) -> None:
        fetch(self.indices, self.indptr[j])
        fetch(self.data, self.indptr[j])

    def stored(self) -> Array:
        """All entries that are stored."""
        return self.data

    def to_scipy(self, d: int, n: int) -> Any:
        """As a SciPy matrix of float64, on the same memory where it is that."""
        from scipy.sparse import csc_array

        signed = SIGNED[self.indices.dtype]
        data = self.data.astype(np.float64, copy=False)
        return csc_array((data, self.indices.view(signed), self.indptr.view(signed)), shape=(d, n))


def unsigned(columns: Any, width: Any) -> tuple[Array, Array, Array]:
    """Return data, indices and indptr of a SciPy matrix, on the same memory where its indices have that width."""
    places = (index.astype(width, copy=False).view(UNSIGNED[width]) for index in (columns.indices, columns.indptr))
    return columns.data, *places


def short_width(columns: Any) -> Any:
    """Return 32 bits wherever they are enough: one compiled form instead of one for each integer type."""
    return np.dtype(np.int32 if max(columns.nnz, *columns.shape) < LARGEST_SHORT else np.int64)


def as_rows(matrix: CSC, d: int) -> tuple[Array, Array, Array]:
    """Return the row-wise copy (data, indices, indptr) of a sparse matrix, unsigned like its columns."""
    rows = matrix.to_scipy(d, matrix.indptr.size - 1).tocsr()
    return unsigned(rows, SIGNED[matrix.indices.dtype])


class LocalSparse(Local):
    """Sparse columns in memory."""

    matrix: CSC
    is_sparse = True

    @classmethod
    def of(cls, columns: Any) -> LocalSparse:
        """Wrap a SciPy CSC matrix without duplicates, on the same memory where its rows are sorted."""
        columns.sort_indices()
        return cls(CSC(*map(unlocked, unsigned(columns, short_width(columns)))), columns.shape)

    @property
    def counts(self) -> Array:
        return np.diff(self.matrix.indptr).astype(np.int64)

    def entries(self, columns: Array | None = None) -> int:
        if columns is None or columns.size == self.shape[1]:  # all, in some order
            return int(self.matrix.data.size)
        return int((self.matrix.indptr[columns + 1] - self.matrix.indptr[columns]).sum())

    def running_entries(self, columns: Array | None) -> Array:
        offsets = self.matrix.indptr
        if columns is None or columns.size == self.shape[1]:
            return offsets[1:]
        return np.cumsum(offsets[columns + 1] - offsets[columns], dtype=np.float64)

    def beside(self, other: LocalSparse) -> LocalSparse:
        first, second = self.matrix, other.matrix
        offsets = np.concatenate([first.indptr, second.indptr[1:] + first.indptr[-1]]).astype(first.indptr.dtype)
        data, rows = np.concatenate([first.data, second.data]), np.concatenate([first.indices, second.indices])
        return LocalSparse(CSC(data, rows, offsets), (self.shape[0], offsets.size - 1))

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, vectors.shape[1]))
        price = vectors.shape[1] * self.pass_price(columns)
        share(price, columns.size, fill_several, self.matrix, columns, vectors, out)
        return out

    def add_several(self, columns: Array, factors: Array, out: Array) -> None:
        price = out.shape[1] * self.pass_price(columns)
        share(price, self.shape[0], add_to_several, self.matrix, columns, factors, out)

    def multiplier(self, keeps: bool) -> SparseMultiplier:
        return SparseMultiplier(self, keeps)


@kernel
def fill_several(matrix: Any, columns: Array, vectors: Array, out: Array, start: int, stop: int) -> None:
    """out_i = A_columns_iᵀ·vectors, four entries of a column at a time: they share what is stored."""
    for number in range(start, stop):
        i = wide(number)
        j = wide(columns[i])
        p, end = wide(matrix.start(j)), wide(matrix.stop(j))
        while p + wide(4) <= end:
            second, third, fourth = p + wide(1), p + wide(2), p + wide(3)
            k, other = wide(matrix.row(p)), wide(matrix.row(second))
            m, last = wide(matrix.row(third)), wide(matrix.row(fourth))
            one, two = matrix.entry(p, j), matrix.entry(second, j)
            three, four = matrix.entry(third, j), matrix.entry(fourth, j)
            for t in range(vectors.shape[1]):
                first = one * vectors[k, t] + two * vectors[other, t]
                out[i, t] += first + (three * vectors[m, t] + four * vectors[last, t])
            p += wide(4)
        while p < end:
            k, one = wide(matrix.row(p)), matrix.entry(p, j)
            for t in range(vectors.shape[1]):
                out[i, t] += one * vectors[k, t]
            p += wide(1)


@kernel
def add_to_several(matrix: Any, columns: Array, factors: Array, out: Array, start: int, stop: int) -> None:
    """out += A_columns·factors on the rows from ``start`` to ``stop``."""
    for i in range(columns.size):
        j = wide(columns[i])
        for p in range(first_at(matrix, j, start), first_at(matrix, j, stop)):
            k, entry = wide(matrix.row(p)), matrix.entry(p, j)
            for t in range(out.shape[1]):
                out[k, t] += entry * factors[i, t]
