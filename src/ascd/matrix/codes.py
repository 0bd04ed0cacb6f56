"""A category as codes: one 0/1 column a level, kept as one small integer a row.

The product of a level's column with a vector is the sum of the vector over the rows with that code, so one look at the
codes answers for all levels; (Ax)_k is the coefficient of row k's level.  A negative code (a missing value) belongs to
no level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.design import Part, Survey
from ascd.matrix.sparse import CSC, LocalSparse


class Codes:
    """A part of a matrix (see ``part_answers``): the levels of one category."""

    def __init__(self, codes: Array, levels: int) -> None:
        self.codes, self.shape, self.nbytes = codes, (codes.size, levels), codes.nbytes
        self.counts = self._sums(np.ones(codes.size)).astype(np.int64)

    def survey(self, weight: Any, vectors: Array) -> Survey:
        plain = self.counts.astype(np.float64)
        products = np.array([self._sums(vector) for vector in vectors]).reshape(len(vectors), self.shape[1])
        return Survey(self._weighted(weight), plain, plain.copy(), products)

    def squares(self, weight: Any, columns: Array) -> Array:
        return self._weighted(weight)[columns]

    def dots(self, columns: Array, vector: Array) -> Array:
        return self._sums(vector)[columns]

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        return self._local(columns).careful_dots(np.arange(columns.size), vector)

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        coefficients = np.zeros(self.shape[1])
        coefficients[columns] = factors
        share(prices.DENSE_ENTRY * image.size, image.size, add_levels, self.codes, coefficients, image)

    def take(self, columns: Array) -> Part:
        """These levels as sparse columns."""
        return Part(self._local(columns).matrix, np.arange(columns.size))

    def multiplier(self, keeps: bool) -> Any:
        return self._local(np.arange(self.shape[1])).multiplier(keeps)

    def check_finite(self) -> None:
        """Codes are."""

    def _weighted(self, weight: Any) -> Array:
        return self._sums(weight) if np.ndim(weight) else weight * self.counts.astype(np.float64)

    def _sums(self, vector: Array) -> Array:
        """Σ vector_k over the rows of each level; rows are added up in a fixed number of parts."""
        parts = int(min(prices.SPARSE_PARTS, max(1, self.codes.size // (8 * max(1, self.shape[1])))))
        sums = np.zeros((parts, self.shape[1]))
        share(prices.DENSE_ENTRY * self.codes.size, parts, sum_levels, self.codes, vector, sums)
        return np.asarray(sums[0] if parts == 1 else sums.sum(axis=0))

    def _local(self, columns: Array) -> LocalSparse:
        offsets = np.concatenate([[0], np.cumsum(self.counts[columns])])
        kind = np.uint32 if max(offsets[-1], *self.shape) < 2**31 - 1 else np.uint64
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        rows = np.empty(offsets[-1], dtype=kind)
        list_rows(self.codes, place, offsets[:-1].copy(), rows)
        return LocalSparse(CSC(np.ones(rows.size), rows, offsets.astype(kind)), (self.shape[0], columns.size))


@kernel
def sum_levels(codes: Array, vector: Array, sums: Array, start: int, stop: int) -> None:
    d = codes.size
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            if codes[k] >= 0:
                sums[part, wide(codes[k])] += vector[k]


@kernel
def add_levels(codes: Array, coefficients: Array, image: Array, start: int, stop: int) -> None:
    for number in range(start, stop):
        k = wide(number)
        if codes[k] >= 0:
            image[k] += coefficients[wide(codes[k])]


@kernel
def list_rows(codes: Array, place: Array, reached: Array, rows: Array) -> None:
    """The rows of each level that has a place; ``reached`` is where each list goes on."""
    for k in range(codes.size):
        if codes[k] >= 0:
            where = place[wide(codes[k])]
            if where >= 0:
                rows[reached[where]] = k
                reached[where] += 1
