"""Compressed sparse rows, read in place.

Products with a vector are sums over rows.  A row scatters its entries over all columns, so threads add up rows of their
own, in a fixed number of parts: sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values
from ascd._core.jit import at, kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.design import Survey
from ascd.matrix.row_blocks import RowBlocks
from ascd.matrix.sparse import CSC, LocalSparse


class SparseRows(RowBlocks):
    """Compressed sparse rows: data, indices and offsets (unsigned) as they lie."""

    def __init__(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        super().__init__(shape, data.nbytes + indices.nbytes + indptr.nbytes)
        self.data, self.indices, self.indptr = data, indices, indptr
        self.counts = np.zeros(shape[1], dtype=np.int64)
        count_columns(indices, self.counts)

    def passed(self, columns: Array | None) -> int:
        return self.nbytes

    def blocks(self, columns: Array | None) -> Iterator[tuple[slice, SparseRowBlock]]:
        yield slice(0, self.shape[0]), SparseRowBlock(self, columns)

    def gather(self, columns: Array) -> LocalSparse:
        counts = self.counts[columns]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        kind = self.indices.dtype
        data, rows = np.empty(offsets[-1]), np.empty(offsets[-1], dtype=kind)
        where = np.full(self.shape[1], -1, dtype=np.int64)
        where[columns] = np.arange(columns.size)
        if columns.size:
            pick_columns(self.data, self.indices, self.indptr, where, offsets[:-1].copy(), data, rows)
        return LocalSparse(CSC(data, rows, offsets.astype(kind)), (self.shape[0], columns.size))


class SparseRowBlock:
    """All rows of a sparse matrix, with these columns (all)."""

    def __init__(self, source: SparseRows, columns: Array | None) -> None:
        self.source, self.columns = source, columns
        self.price = prices.SPARSE_ENTRY * source.data.size
        n, stored = source.shape[1], source.data.size
        self.parts = int(min(prices.SPARSE_PARTS, max(1, stored // (8 * n))))

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
                picked[reached[place]] = np.float64(data[p])
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
                j, entry = wide(indices[p]), np.float64(data[p])
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
                sums[part, wide(indices[p])] += factor * np.float64(data[p])


@kernel
def multiply_sparse_rows(
    data: Array, indices: Array, indptr: Array, x: Array, image: Array, start: int, stop: int
) -> None:
    for k in range(start, stop):
        total = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            total += np.float64(data[p]) * x[wide(indices[p])]
        image[k] += total
