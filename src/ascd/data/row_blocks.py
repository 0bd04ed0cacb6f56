"""Row-major data where they are: a dense array in C order or compressed sparse rows, read in place by blocks of rows.

Products with a vector are sums over rows, Σ_k v_k·a_k: all columns at once, a row after the other.  Threads share the
columns of a dense block.  Sparse rows scatter their entries over all columns, so each thread adds up rows of its own,
in a fixed number of parts: sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._base.checks import Array, finite_values
from ascd._base.jit import at, helper, kernel, wide
from ascd._base.threads import share
from ascd.data import prices
from ascd.data.dense import Dense, LocalDense
from ascd.data.design import Survey
from ascd.data.local import Local
from ascd.data.sparse import CSC, LocalSparse

#: Bytes of rows that pass at a time.
BLOCK_BYTES = 32 << 20
#: Columns whose sums stay in the cache while the rows of a block pass.
TILE = 1024
#: Parts that the rows of a sparse block are added up in.
SPARSE_PARTS = 8


class DenseRows:
    """A dense array in C order."""

    def __init__(self, values: Array) -> None:
        self.values, self.shape, self.nbytes = values, values.shape, values.nbytes

    def entries(self, columns: Array | None) -> int:
        return self.shape[0] * (self.shape[1] if columns is None else columns.size)

    def passed(self, columns: Array | None) -> int:
        """Rows lie together: a page or a cache line is read for every entry in it."""
        if columns is None:
            return int(self.nbytes)
        return int(min(self.nbytes, self.shape[0] * columns.size * 64))

    def blocks(self, columns: Array | None) -> Iterator[tuple[slice, DenseRowBlock]]:
        d = self.shape[0]
        step = max(1, BLOCK_BYTES * d // max(self.nbytes, 1))
        for start in range(0, d, step):
            rows = slice(start, min(start + step, d))
            yield rows, DenseRowBlock(self.values[rows], columns)

    def fetch(self, columns: Array) -> LocalDense:
        values = np.empty((self.shape[0], columns.size), order="F")
        for rows, block in self.blocks(columns) if columns.size else ():
            price = prices.DENSE_ENTRY * columns.size * block.values.shape[0]
            share(price, columns.size, copy_columns, block.values, columns, values[rows])
        return LocalDense(Dense(values), (self.shape[0], columns.size))

    def join(self, near: Local, other: Local) -> LocalDense:
        values = np.concatenate([near.matrix.values.T, other.matrix.values.T]).T
        return LocalDense(Dense(values), values.shape)


class DenseRowBlock:
    """Some rows of a dense array, with these columns (all)."""

    def __init__(self, values: Array, columns: Array | None) -> None:
        self.values = values
        is_all = columns is None or (columns.size == values.shape[1] and bool((np.diff(columns) == 1).all()))
        self.columns = np.empty(0, dtype=np.int64) if is_all or columns is None else columns
        self.count = values.shape[1] if columns is None else columns.size
        self.price = 0.5 * prices.DENSE_ENTRY * values.shape[0] * self.count

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def survey(self, weight: Any, vectors: Array, out: Survey) -> None:
        is_weighted = np.ndim(weight) > 0
        share(2.0 * self.price, self.count, survey_rows, self.values, weight, is_weighted, vectors, *out)
        if not is_weighted:
            out.square[:] = weight * out.plain

    def dots(self, vector: Array, out: Array) -> None:
        share(self.price, self.count, add_row_dots, self.values, self.columns, vector, out)

    def add(self, factors: Array, image: Array) -> None:
        share(self.price, image.size, add_to_rows, self.values, self.columns, factors, image)

    def check_finite(self) -> None:
        finite_values(self.values, "A")


class SparseRows:
    """Compressed sparse rows: data, indices and offsets (unsigned) as they lie."""

    def __init__(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self.nbytes = data.nbytes + indices.nbytes + indptr.nbytes
        self.counts = np.zeros(shape[1], dtype=np.int64)
        count_columns(indices, self.counts)

    def entries(self, columns: Array | None) -> int:
        return int(self.data.size if columns is None else self.counts[columns].sum())

    def passed(self, columns: Array | None) -> int:
        return self.nbytes

    def blocks(self, columns: Array | None) -> Iterator[tuple[slice, SparseRowBlock]]:
        yield slice(0, self.shape[0]), SparseRowBlock(self, columns)

    def fetch(self, columns: Array) -> LocalSparse:
        counts = self.counts[columns]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        kind = self.indices.dtype
        data, rows = np.empty(offsets[-1]), np.empty(offsets[-1], dtype=kind)
        where = np.full(self.shape[1], -1, dtype=np.int64)
        where[columns] = np.arange(columns.size)
        if columns.size:
            pick_columns(self.data, self.indices, self.indptr, where, offsets[:-1].copy(), data, rows)
        return LocalSparse(CSC(data, rows, offsets.astype(kind)), (self.shape[0], columns.size))

    def join(self, near: Local, other: Local) -> LocalSparse:
        first, second = near.matrix, other.matrix
        offsets = np.concatenate([first.indptr, second.indptr[1:] + first.indptr[-1]]).astype(first.indptr.dtype)
        data, rows = np.concatenate([first.data, second.data]), np.concatenate([first.indices, second.indices])
        return LocalSparse(CSC(data, rows, offsets), (self.shape[0], offsets.size - 1))


class SparseRowBlock:
    """All rows of a sparse matrix, with these columns (all)."""

    def __init__(self, source: SparseRows, columns: Array | None) -> None:
        self.source, self.columns = source, columns
        self.nbytes = source.nbytes
        self.price = prices.SPARSE_ENTRY * source.data.size
        n, stored = source.shape[1], source.data.size
        self.parts = int(min(SPARSE_PARTS, max(1, stored // (8 * n))))

    @property
    def _stored(self) -> tuple[Array, Array, Array]:
        return self.source.data, self.source.indices, self.source.indptr

    def survey(self, weight: Any, vectors: Array, out: Survey) -> None:
        sums = np.zeros((self.parts, 3 + len(vectors), self.source.shape[1]))
        share(self.price, self.parts, survey_sparse_rows, *self._stored, weight, vectors, sums)
        square, plain, total, *products = sums.sum(axis=0)
        out.square[:] += square
        out.plain[:] += plain
        out.total[:] += total
        for mine, theirs in zip(out.products, products, strict=True):
            mine += theirs

    def dots(self, vector: Array, out: Array) -> None:
        sums = np.zeros((self.parts, self.source.shape[1]))
        share(self.price, self.parts, add_sparse_rows, *self._stored, vector, sums)
        found = sums.sum(axis=0)
        out += found if self.columns is None else found[self.columns]

    def add(self, factors: Array, image: Array) -> None:
        x = np.zeros(self.source.shape[1])
        x[slice(None) if self.columns is None else self.columns] = factors
        share(self.price, image.size, multiply_sparse_rows, *self._stored, x, image)

    def check_finite(self) -> None:
        finite_values(self.source.data, "A")


@kernel
def survey_rows(
    values: Array, weight: Any, is_weighted: bool, vectors: Array, square: Array, plain: Array, total: Array,
    products: Array, start: int, stop: int,
) -> None:  # fmt: skip
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for k in range(values.shape[0]):
            for j in range(first, last):
                entry = float(values[k, j])
                plain[j] += entry * entry
                total[j] += entry
            if is_weighted:
                share_of = at(weight, k)
                for j in range(first, last):
                    entry = float(values[k, j])
                    square[j] += share_of * entry * entry
            for m in range(vectors.shape[0]):
                factor = vectors[m, k]
                for j in range(first, last):
                    products[m, j] += factor * float(values[k, j])


@kernel
def add_row_dots(values: Array, columns: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    """out_i += Σ_k v_k·a_k,columns_i; without columns, all in their order."""
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        if columns.size == 0:
            add_whole_rows(values, vector, out, first, last)
        else:
            for k in range(values.shape[0]):
                factor = vector[k]
                for i in range(first, last):
                    out[i] += factor * float(values[k, wide(columns[i])])


@helper
def add_whole_rows(values: Array, vector: Array, out: Array, first: int, last: int) -> None:
    """Four rows at a time: the sums are read and written once for them."""
    d = values.shape[0]
    for k in range(0, d - d % 4, 4):
        a, b, c, e = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        for j in range(first, last):
            ahead = a * float(values[k, j]) + b * float(values[k + 1, j])
            out[j] += ahead + (c * float(values[k + 2, j]) + e * float(values[k + 3, j]))
    for k in range(d - d % 4, d):
        factor = vector[k]
        for j in range(first, last):
            out[j] += factor * float(values[k, j])


@kernel
def add_to_rows(values: Array, columns: Array, factors: Array, image: Array, start: int, stop: int) -> None:
    """image_k += Σ_i factors_i·a_k,columns_i."""
    for k in range(start, stop):
        total = 0.0
        for i in range(factors.size):
            total += factors[i] * float(values[k, i if columns.size == 0 else wide(columns[i])])
        image[k] += total


@kernel
def copy_columns(values: Array, columns: Array, out: Array, start: int, stop: int) -> None:
    for k in range(values.shape[0]):
        for i in range(start, stop):
            out[k, i] = float(values[k, wide(columns[i])])


@kernel
def count_columns(indices: Array, counts: Array) -> None:
    for p in range(indices.size):
        counts[wide(indices[p])] += 1


@kernel
def pick_columns(
    data: Array, indices: Array, indptr: Array, where: Array, reached: Array, picked: Array, rows: Array
) -> None:
    """The entries of columns that have a place, column by column; ``reached`` is where each goes on."""
    for k in range(indptr.size - 1):
        for p in range(indptr[k], indptr[k + 1]):
            place = where[wide(indices[p])]
            if place >= 0:
                picked[reached[place]] = float(data[p])
                rows[reached[place]] = k
                reached[place] += 1


@kernel
def survey_sparse_rows(
    data: Array, indices: Array, indptr: Array, weight: Any, vectors: Array, sums: Array, start: int, stop: int
) -> None:
    d = indptr.size - 1
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            share_of = at(weight, k)
            for p in range(indptr[k], indptr[k + 1]):
                j, entry = wide(indices[p]), float(data[p])
                sums[part, 0, j] += share_of * entry * entry
                sums[part, 1, j] += entry * entry
                sums[part, 2, j] += entry
                for m in range(vectors.shape[0]):
                    sums[part, 3 + m, j] += vectors[m, k] * entry


@kernel
def add_sparse_rows(
    data: Array, indices: Array, indptr: Array, vector: Array, sums: Array, start: int, stop: int
) -> None:
    d = indptr.size - 1
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            factor = vector[k]
            for p in range(indptr[k], indptr[k + 1]):
                sums[part, wide(indices[p])] += factor * float(data[p])


@kernel
def multiply_sparse_rows(
    data: Array, indices: Array, indptr: Array, x: Array, image: Array, start: int, stop: int
) -> None:
    for k in range(start, stop):
        total = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            total += float(data[p]) * x[wide(indices[p])]
        image[k] += total
