"""Dense data in C order, read in place.

Products with a vector are sums over rows, Σ_k v_k·a_k: all columns at once, a row after the other.  All rows are one
block, of which threads share the columns: a pass has one beginning and one end.  Copies, and a look for what is not
finite, take pieces of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.design import Survey
from ascd.matrix.prices import TILE, TILE_ROWS
from ascd.matrix.row_blocks import RowBlocks

EVERYTHING = np.empty(0, dtype=np.int64)


class DenseRows(RowBlocks):
    """A dense array in C order."""

    def __init__(self, values: Array) -> None:
        super().__init__(values.shape, values.nbytes)
        self.values, self.counts = values, np.full(values.shape[1], values.shape[0])

    def passed(self, columns: Array | None) -> int:
        """Rows lie together: a page or a cache line is read for every entry in it."""
        if columns is None:
            return int(self.nbytes)
        return int(min(self.nbytes, self.shape[0] * columns.size * 64))

    def blocks(self, columns: Array | None) -> Iterator[tuple[slice, DenseRowBlock]]:
        are_all = columns is not None and columns.size == self.shape[1] and bool((np.diff(columns) == 1).all())
        yield slice(0, self.shape[0]), DenseRowBlock(self.values, None if are_all else columns)

    def gather(self, columns: Array) -> LocalDense:
        values = np.empty((self.shape[0], columns.size), order="F")
        for rows in row_pieces(self.values) if columns.size else ():
            some = self.values[rows]
            price = prices.DENSE_ENTRY * columns.size * len(some)
            share(price, columns.size, copy_columns, some, columns, values[rows])
        return LocalDense(Dense(values), (self.shape[0], columns.size))


class DenseRowBlock:
    """Some rows of a dense array, with these columns (all)."""

    def __init__(self, values: Array, columns: Array | None) -> None:
        self.values, self.columns = values, EVERYTHING if columns is None else columns
        self.count = values.shape[1] if columns is None else columns.size
        self.price = 0.5 * prices.DENSE_ENTRY * values.shape[0] * self.count

    def survey(self, weight: Any, vectors: Array, out: Survey) -> None:
        is_weighted, products = np.ndim(weight) > 0, out.products
        if not len(vectors):
            vectors, products = np.zeros((1, len(self.values))), np.zeros((1, self.count))
        given = (self.values, weight, is_weighted, vectors, *out[:3], products)
        share(2.0 * self.price, self.count, survey_rows, *given)
        if not is_weighted:
            out.square[:] = weight * out.plain

    def dots(self, vector: Array, out: Array) -> None:
        share(self.price, self.count, add_row_dots, self.values, self.columns, vector, out)

    def add(self, factors: Array, image: Array) -> None:
        share(self.price, image.size, add_to_rows, self.values, self.columns, factors, image)

    def check_finite(self) -> None:
        for rows in row_pieces(self.values):
            finite_values(self.values[rows], "A")


def row_pieces(values: Array) -> Iterator[slice]:
    """Rows of ``prices.BLOCK_BYTES`` at a time."""
    d = len(values)
    step = max(1, prices.BLOCK_BYTES * d // max(values.nbytes, 1))
    return (slice(start, min(start + step, d)) for start in range(0, d, step))


@kernel
def survey_rows(
    values: Array, weight: Any, is_weighted: bool, vectors: Array, square: Array, plain: Array, total: Array,
    products: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Few rows of few columns at a time, so that a second look at them finds them in the cache."""
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        there = slice(row, min(row + TILE_ROWS, d))
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            add_row_sums(values[there], vectors[0, there], plain, total, products[0], first, last)
            for m in range(1, vectors.shape[0]):
                add_whole_rows(values[there], vectors[m, there], products[m], first, last)
            if is_weighted:
                add_weighted_squares(values, weight, there.start, there.stop, square, first, last)


@helper
def add_weighted_squares(values: Array, weight: Any, row: int, end: int, square: Array, first: int, last: int) -> None:
    for k in range(row, end):
        share_of = at(weight, k)
        for number in range(first, last):
            j = wide(number)
            entry = np.float64(values[k, j])
            square[j] += share_of * entry * entry


@helper
def add_row_sums(
    values: Array, vector: Array, plain: Array, total: Array, product: Array, first: int, last: int
) -> None:
    """Squares, sums and products of these columns, four rows at a time as in ``add_whole_rows``."""
    d = values.shape[0]
    for k in range(0, d - d % 4, 4):
        a, b, c, e = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        for number in range(first, last):
            j = wide(number)
            p, q = np.float64(values[k, j]), np.float64(values[k + 1, j])
            r, s = np.float64(values[k + 2, j]), np.float64(values[k + 3, j])
            plain[j] += (p * p + q * q) + (r * r + s * s)
            total[j] += (p + q) + (r + s)
            product[j] += (a * p + b * q) + (c * r + e * s)
    for k in range(d - d % 4, d):
        factor = vector[k]
        for number in range(first, last):
            j = wide(number)
            entry = np.float64(values[k, j])
            plain[j] += entry * entry
            total[j] += entry
            product[j] += factor * entry


@kernel
def add_row_dots(values: Array, columns: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    """out_i += Σ_k v_k·a_k,columns_i; without columns, all in their order.

    Few rows at a time: what is read next lies beside what was read.
    """
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        end = min(row + TILE_ROWS, d)
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            if columns.size == 0:
                add_whole_rows(values[row:end], vector[row:end], out, first, last)
            else:
                add_some_columns(values, columns, vector, out, row, end, first, last)


@helper
def add_some_columns(
    values: Array, columns: Array, vector: Array, out: Array, row: int, end: int, first: int, last: int
) -> None:
    for k in range(row, end):
        factor = vector[k]
        for number in range(first, last):
            i = wide(number)
            out[i] += factor * np.float64(values[k, wide(columns[i])])


@helper
def add_whole_rows(values: Array, vector: Array, out: Array, first: int, last: int) -> None:
    """Four rows at a time: the sums are read and written once for them."""
    d = values.shape[0]
    for k in range(0, d - d % 4, 4):
        a, b, c, e = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        for number in range(first, last):
            j = wide(number)
            ahead = a * np.float64(values[k, j]) + b * np.float64(values[k + 1, j])
            out[j] += ahead + (c * np.float64(values[k + 2, j]) + e * np.float64(values[k + 3, j]))
    for k in range(d - d % 4, d):
        factor = vector[k]
        for number in range(first, last):
            j = wide(number)
            out[j] += factor * np.float64(values[k, j])


@kernel
def add_to_rows(values: Array, columns: Array, factors: Array, image: Array, start: int, stop: int) -> None:
    """image_k += Σ_i factors_i·a_k,columns_i."""
    for number in range(start, stop):
        k, total = wide(number), 0.0
        for i in range(factors.size):
            total += factors[i] * np.float64(values[k, i if columns.size == 0 else wide(columns[i])])
        image[k] += total


@kernel
def copy_columns(values: Array, columns: Array, out: Array, start: int, stop: int) -> None:
    for k in range(values.shape[0]):
        for number in range(start, stop):
            i = wide(number)
            out[k, i] = np.float64(values[k, wide(columns[i])])
