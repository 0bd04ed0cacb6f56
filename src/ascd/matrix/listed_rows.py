"""Entries of sparse columns, listed row by row: for products of columns with each other, and of their outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.matrices import first_at
from ascd.matrix.prices import ROWS_A_PART


class Rows(NamedTuple):
    """Entries of some columns, row by row: those of row k stand from offsets[k] to offsets[k + 1].

    ``filled`` lists the rows that have any.
    """

    offsets: Array
    filled: Array
    name: Array
    number: Array


def means_of_whole(matrix: Any, columns: Array, d: int, means: Array) -> Array:
    """The means of columns that are stored in every row; 0 for the others, whose zeros are not listed."""
    return np.where(stored_in(matrix, columns) == d, means, 0.0)


def stored_in(matrix: Any, columns: Array) -> Array:
    """How many entries of each of these columns are stored."""
    return np.asarray(matrix.indptr[columns + 1] - matrix.indptr[columns])


def rows_of(matrix: Any, columns: Array, names: Array, d: int, less: Array) -> Rows:
    """The entries of these columns, each less a number of its column, row by row; ``names`` stand for the columns."""
    stored = int(stored_in(matrix, columns).sum())
    offsets, counts = np.zeros(d + 1, dtype=np.int64), np.empty((-(-d // ROWS_A_PART), 2), dtype=np.int64)
    price = 0.5 * (prices.LISTED * stored + prices.SUMMED * d)  # every row is looked at
    share(price, len(counts), count_rows, matrix, columns, offsets, counts)
    filled = np.empty(int(counts[:, 1].sum()), dtype=np.int64)
    rows = Rows(offsets, filled, np.empty(stored, dtype=np.uint32), np.empty(stored))
    share(price, len(counts), list_rows, matrix, columns, names, less, rows, np.cumsum(counts, axis=0) - counts)
    return rows


@kernel
def count_rows(matrix: Any, columns: Array, offsets: Array, counts: Array, start: int, stop: int) -> None:
    """Entries of each row, counted one place further; for each part of the rows, its entries and its filled rows."""
    first, last = start * ROWS_A_PART, min(stop * ROWS_A_PART, offsets.size - 1)
    for i in range(columns.size):
        j = wide(columns[i])
        for p in range(first_at(matrix, j, first), first_at(matrix, j, last)):
            offsets[wide(matrix.row(p)) + 1] += 1
    for part in range(start, stop):
        entries, filled = 0, 0
        for k in range(part * ROWS_A_PART, min((part + 1) * ROWS_A_PART, last)):
            count = offsets[wide(k) + 1]
            entries += count
            filled += 1 if count > 0 else 0
        counts[part, 0], counts[part, 1] = entries, filled


@kernel
def list_rows(
    matrix: Any, columns: Array, names: Array, less: Array, rows: Rows, before: Array, start: int, stop: int
) -> None:
    """The entries of some columns, row by row, in the order of the columns; those of some parts of the rows.

    ``before`` counts the entries and the filled rows of all parts before each.  Where a row begins stands one place
    further until its entries are listed; then it is the place where it ends.
    """
    offsets = rows.offsets
    first, last = start * ROWS_A_PART, min(stop * ROWS_A_PART, offsets.size - 1)
    begin, reached = before[start, 0], wide(before[start, 1])
    for number in range(first, last):
        k = wide(number)
        count = offsets[k + 1]
        offsets[k + 1] = begin
        begin = int(begin + count)
        if count > 0:
            rows.filled[reached] = k
            reached += 1
    for i in range(columns.size):
        j, name = wide(columns[i]), names[i]
        for p in range(first_at(matrix, j, first), first_at(matrix, j, last)):
            k = wide(matrix.row(p)) + 1
            rows.name[offsets[k]] = name
            rows.number[offsets[k]] = matrix.entry(p, j) - less[i]
            offsets[k] += 1
