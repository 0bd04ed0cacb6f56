"""Sparse columns in memory (CSC), and their products with each other.

The entries of the columns are listed by rows once (``rows_of``); then every row adds the products of its entries,
weighted by its curvature.  Each thread multiplies columns of its own, and reads all rows.

With means m, n of two columns, and any numbers s, t,

    Σ h·(a − m)·(b − n) = Σ h·(a − s)·(b − t) − Σh·(m − s)·(n − t).

A column that is stored in every row is listed less its mean, s = m, or that of the curvatures it was first listed for:
one that lies far from zero loses no digits then.  For the others s = 0, and what rounding leaves of a product is 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.jit import helper, kernel, wide
from ascd._core.scalars import fetch
from ascd._core.threads import parts_of, share
from ascd.matrix import costs
from ascd.matrix.base import Multiplier
from ascd.matrix.columns import first_at
from ascd.matrix.costs import LANES, LEFT_BY_MEANS, ROWS_A_PART
from ascd.matrix.dense import Local

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

    def coupled_gram(self, columns: Array, own: Array, shared: Array | None, ones: bool) -> Array:
        d, count = self.shape[0], columns.size
        if self.entries(columns) > costs.SPARSE_COUPLED * d * count:
            return super().coupled_gram(columns, own, shared, ones)
        rows = rows_of(self.matrix, columns, np.arange(count), d, np.zeros(count))
        return gram_of_rows(rows, count, own, shared, ones)

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
        cost = vectors.shape[1] * self.pass_cost(columns)
        share(cost, columns.size, fill_several, self.matrix, columns, vectors, out)
        return out

    def add_several(self, columns: Array, factors: Array, out: Array) -> None:
        cost = out.shape[1] * self.pass_cost(columns)
        share(cost, self.shape[0], add_to_several, self.matrix, columns, factors, out)

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


# ---- products of columns with each other


class RowLists(NamedTuple):
    """Entries of some columns, row by row: those of row k stand from offsets[k] to offsets[k + 1].

    ``filled`` lists the rows that have any.
    """

    offsets: Array
    filled: Array
    name: Array
    number: Array


class Listed(NamedTuple):
    """Columns listed by rows, each less its number s (see the top)."""

    rows: RowLists
    less: Array


class SparseMultiplier(Multiplier):
    """Products by rows; one that ``keeps`` lists the entries once for all curvatures H."""

    def __init__(self, design: Any, keeps: bool) -> None:
        self.design, self.keeps = design, keeps
        self.listed: dict[tuple[bool, bytes], Listed] = {}

    def is_cheap(self, count: int, size: int) -> bool:
        """True where one list of rows serves all columns, now and with other curvatures."""
        return self.keeps

    def forget(self) -> None:
        self.listed.clear()

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        right_rows, right_less = self._list(columns, right, means)
        left_rows, left_less = (right_rows, right_less) if left is right else self._list(columns, left, means)
        filled = min(left_rows.filled, right_rows.filled, key=len)
        cost = costs.SPARSE_PRODUCT * left_rows.name.size / max(1, filled.size) * right_rows.name.size
        # columns that a thread multiplies while it reads all rows once
        parts = min(parts_of(cost), int(cost / (costs.LISTED * max(1, filled.size))))
        passing = min(128, -(-right.size // max(1, parts)))  # their products stay in the cache
        given = (left, left_rows, right, right_rows, filled, left is right, weight, store, passing)
        share(cost, -(-right.size // passing), add_products, *given, room=lambda: right_rows.offsets[filled])
        cost = costs.SPARSE_PRODUCT * left.size * right.size
        if means is not None:
            left_mean, right_mean = means[columns[left]] - left_less, means[columns[right]] - right_less
            total = float(weight.sum())
            share(cost, right.size, centre_products, left, right, left_mean, right_mean, total, store)
        if left is right:
            share(cost, left.size, mirror_upper, left, store)

    def _list(self, columns: Array, positions: Array, means: Array | None) -> Listed:
        """The entries of the columns at these positions, row by row."""
        key = means is None, positions.tobytes() if self.keeps else b""
        if key in self.listed:
            return self.listed[key]
        chosen, d = columns[positions], self.design.shape[0]
        matrix, places = self.design.take(chosen)
        less = np.zeros(chosen.size) if means is None else means_of_whole(matrix, places, d, means[chosen])
        listed = Listed(rows_of(matrix, places, positions, d, less), less)
        if self.keeps:
            self.listed[key] = listed
        return listed


@kernel
def mirror_upper(positions: Array, store: Array, start: int, stop: int) -> None:
    """The columns from ``start`` to ``stop`` below the diagonal, from what stands above it."""
    for a in range(start, stop):
        i = positions[a]
        for other in positions:
            if other > i:
                store[other, i] = store[i, other]


@kernel
def centre_products(
    left: Array, right: Array, left_mean: Array, right_mean: Array, total: float, store: Array, start: int, stop: int
) -> None:
    """Columns less their means; those given are of the columns as they are listed (see the top)."""
    for b in range(start, stop):
        i = right[b]
        for a in range(left.size):
            taken = total * (left_mean[a] * right_mean[b])
            rest = store[left[a], i] - taken
            store[left[a], i] = rest if abs(rest) > LEFT_BY_MEANS * abs(taken) else 0.0


@kernel
def add_products(
    left: Array, left_rows: RowLists, right: Array, right_rows: RowLists, filled: Array, upper: bool, weight: Array,
    out: Array, passing: int, reached: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """out[left, right] = A_leftᵀ H A_right, row by row: each adds the products of its entries.

    ``passing`` columns at a time, the parts from ``start`` to ``stop``.  Rows come one after the other, so that their
    entries stream through the cache; ``filled`` lists them.  Names rise in every row, and ``reached`` (where the rows
    begin, at first) says how far each row is.  Where ``upper``, both are the same rows, and only entries up to the
    right one are multiplied.
    """
    if start > 0:
        skip_names(right_rows, filled, right[start * passing], reached)
    for part in range(start, stop):
        last_place = min((part + 1) * passing, right.size) - 1
        for i in right[part * passing : last_place + 1]:
            for other in left:
                out[other, i] = 0.0
        end = right[last_place]
        for f in range(reached.size):
            k = wide(filled[f])
            first, last = wide(left_rows.offsets[k]), wide(left_rows.offsets[k + 1])
            q, ends = wide(reached[f]), wide(right_rows.offsets[k + 1])
            while q < ends and right_rows.name[q] <= end:
                i, factor = right_rows.name[q], weight[k] * right_rows.number[q]
                q += 1
                for p in range(first, q if upper else last):
                    out[left_rows.name[p], i] += factor * left_rows.number[p]
            reached[f] = q


@helper
def skip_names(rows: RowLists, filled: Array, name: int, reached: Array) -> None:
    """In every row go on to the first entry with this name or a later one."""
    for f in range(reached.size):
        low, high = reached[f], rows.offsets[filled[f] + 1]
        while low < high:
            middle = (low + high) // 2
            if rows.name[middle] < name:
                low = middle + 1
            else:
                high = middle
        reached[f] = low


def means_of_whole(matrix: Any, columns: Array, d: int, means: Array) -> Array:
    """Return the means of columns that are stored in every row; 0 for the others, whose zeros are not listed."""
    return np.where(stored_in(matrix, columns) == d, means, 0.0)


def stored_in(matrix: Any, columns: Array) -> Array:
    """Return how many entries of each of these columns are stored."""
    return np.asarray(matrix.indptr[columns + 1] - matrix.indptr[columns])


def rows_of(matrix: Any, columns: Array, names: Array, d: int, less: Array) -> RowLists:
    """Return the entries of these columns row by row, each less a number of its column; ``names`` stand for columns."""
    stored = int(stored_in(matrix, columns).sum())
    offsets, counts = np.zeros(d + 1, dtype=np.int64), np.empty((-(-d // ROWS_A_PART), 2), dtype=np.int64)
    cost = 0.5 * (costs.LISTED * stored + costs.SUMMED * d)  # every row is visited
    share(cost, len(counts), count_rows, matrix, columns, offsets, counts)
    filled = np.empty(int(counts[:, 1].sum()), dtype=np.int64)
    rows = RowLists(offsets, filled, np.empty(stored, dtype=np.uint32), np.empty(stored))
    share(cost, len(counts), list_rows, matrix, columns, names, less, rows, np.cumsum(counts, axis=0) - counts)
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
    matrix: Any, columns: Array, names: Array, less: Array, rows: RowLists, before: Array, start: int, stop: int
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


def gram_of_rows(rows: Any, m: int, own: Array, shared: Array | None, ones: bool) -> Array:
    """G for m sparse columns, whose names are 0 .. m − 1, and a last one of ones where these are wanted."""
    outputs = own.shape[1]
    shared = np.zeros(own.shape) if shared is None else shared
    count, pairs = outputs * (outputs + 1) // 2, (m + ones) * (m + ones + 1) // 2
    sums, room = np.zeros((pairs, -(-count // LANES) * LANES)), np.zeros(-(-count // LANES) * LANES)
    add_pairs(rows, own, shared, room, sums, m if ones else -1)
    gram = np.empty(((m + ones) * outputs, (m + ones) * outputs))
    spread_pairs(sums, outputs, gram)
    if ones:  # rows without entries, too
        gram[m * outputs :, m * outputs :] = np.diag(own.sum(axis=0)) - shared.T @ shared
    return gram


@helper
def add_multiple(out: Array, factor: float, values: Array) -> None:
    for q in range(values.size):
        out[q] += factor * values[q]


@kernel
def add_pairs(rows: Any, own: Array, shared: Array, room: Array, sums: Array, ones: int) -> None:
    """Σ_k a_ki a_kj·H_k for i ≥ j, in row i(i + 1)/2 + j: the lower half of H_k, row by row.

    ``ones`` is the number of the column of ones, negative without it.
    """
    for f in range(rows.filled.size):
        k, at = wide(rows.filled[f]), 0
        for t in range(own.shape[1]):
            for other in range(t + 1):
                room[at + other] = -shared[k, t] * shared[k, other]
            at += t + 1
            room[at - 1] += own[k, t]
        first, last = wide(rows.offsets[k]), wide(rows.offsets[k + 1])
        for p in range(first, last):
            i, entry = wide(rows.name[p]), rows.number[p]
            for q in range(first, p + 1):
                add_multiple(sums[i * (i + 1) // 2 + wide(rows.name[q])], entry * rows.number[q], room)
            if ones >= 0:
                add_multiple(sums[ones * (ones + 1) // 2 + i], entry, room)


@kernel
def spread_pairs(sums: Array, outputs: int, gram: Array) -> None:
    """From the lower halves of pairs i ≥ j to the whole matrix."""
    columns = gram.shape[0] // outputs
    for i in range(columns):
        for j in range(i + 1):
            pair, at = sums[i * (i + 1) // 2 + j], 0
            for t in range(outputs):
                for other in range(t + 1):
                    value = pair[at + other]
                    gram[i * outputs + t, j * outputs + other] = gram[i * outputs + other, j * outputs + t] = value
                    gram[j * outputs + other, i * outputs + t] = gram[j * outputs + t, i * outputs + other] = value
                at += t + 1
