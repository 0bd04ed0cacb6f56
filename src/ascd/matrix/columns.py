"""Reading columns: the operations that every compiled storage shares.

A storage is a NamedTuple that says where a column's entries are: positions ``start(j) .. stop(j)``, and for a position
its ``row`` and its ``entry``.  Everything below is written once on top of these four; the compiler turns it into the
loop one would write by hand for each storage.

Kernels with ``start .. stop`` are passes over many columns, of which that is one thread's share.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, strict_kernel, wide
from ascd._core.threads import by_parts
from ascd.matrix import costs


@helper
def dot(matrix: Any, j: int, vector: Array) -> float:
    """⟨a_j, vector⟩."""
    total = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        total += matrix.entry(p, j) * vector[matrix.row(p)]
    return total


@helper
def first_at(matrix: Any, j: int, k: int) -> int:
    """The position of the first entry of column j in row k or below: rows rise within a column."""
    low, high = wide(matrix.start(j)), wide(matrix.stop(j))
    size = high - low
    while size > wide(0):
        half = size >> wide(1)
        if matrix.row(low + half) < k:
            low += half + wide(1)
            size -= half + wide(1)
        else:
            size = half
    return low


@helper
def scatter(matrix: Any, j: int, weight: Any, out: Array) -> None:
    """out = diag(weight)·a_j on the rows of a_j."""
    for p in range(matrix.start(j), matrix.stop(j)):
        k = matrix.row(p)
        out[k] = at(weight, k) * matrix.entry(p, j)


@helper
def clear(matrix: Any, j: int, out: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        out[matrix.row(p)] = 0.0


@helper
def weighted_square(matrix: Any, j: int, weight: Any) -> float:
    """⟨a_j, diag(weight)·a_j⟩."""
    total = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        entry = matrix.entry(p, j)
        total += at(weight, matrix.row(p)) * entry * entry
    return total


@helper
def sums_with_one(matrix: Any, j: int, vector: Array) -> tuple[float, float, float]:
    """Σa², Σa and ⟨a, vector⟩ of a column, which is read once."""
    square, total, product = 0.0, 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        entry = matrix.entry(p, j)
        square += entry * entry
        total += entry
        product += entry * vector[matrix.row(p)]
    return square, total, product


@kernel
def fill_block(matrix: Any, places: Array, block: Array) -> None:
    for i in range(places.size):
        j = wide(places[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            block[matrix.row(p), i] = matrix.entry(p, j)


@kernel
def fill_column_stats(
    matrix: Any, columns: Array, scale: float, weights: Array, vectors: Array, square: Array, plain: Array,
    total: Array, products: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Column by column, so that a second reading finds it in the cache; mostly one is enough.

    All samples have the weight ``scale``, or each one of the ``weights``; there is at least one vector.
    """
    for number in range(start, stop):
        i = wide(number)
        j = wide(columns[i])
        plain[i], total[i], products[0, i] = sums_with_one(matrix, j, vectors[0])
        for m in range(1, vectors.shape[0]):
            products[m, i] = dot(matrix, j, vectors[m])
        square[i] = weighted_square(matrix, j, weights) if weights.size > 0 else scale * plain[i]


@kernel
def fill_squares(matrix: Any, columns: Array, weight: Any, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = weighted_square(matrix, wide(columns[i]), weight)


@kernel
def fill_dots(matrix: Any, columns: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = dot(matrix, wide(columns[i]), vector)


@kernel
def add_columns(matrix: Any, columns: Array, factors: Array, out: Array, start: int, stop: int) -> None:
    """out += Σ factors_i·a_i on the rows from ``start`` to ``stop``: each thread has rows of its own."""
    is_whole = start == 0 and stop == out.size
    for i in range(columns.size):
        j, factor = wide(columns[i]), factors[i]
        if factor == 0.0:
            continue
        if is_whole:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += factor * matrix.entry(p, j)
        else:
            for p in range(first_at(matrix, j, start), first_at(matrix, j, stop)):
                out[matrix.row(p)] += factor * matrix.entry(p, j)


@kernel
def fill_several(matrix: Any, columns: Array, vectors: Array, out: Array, start: int, stop: int) -> None:
    """out_i = A_columns_iᵀ·vectors."""
    for number in range(start, stop):
        i = wide(number)
        j = wide(columns[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            k, entry = wide(matrix.row(p)), matrix.entry(p, j)
            for t in range(vectors.shape[1]):
                out[i, t] += entry * vectors[k, t]


@kernel
def add_to_several(matrix: Any, columns: Array, factors: Array, out: Array, start: int, stop: int) -> None:
    """out += A_columns·factors on the rows from ``start`` to ``stop``."""
    for i in range(columns.size):
        j = wide(columns[i])
        for p in range(first_at(matrix, j, start), first_at(matrix, j, stop)):
            k, entry = wide(matrix.row(p)), matrix.entry(p, j)
            for t in range(out.shape[1]):
                out[k, t] += entry * factors[i, t]


#: Half the distance from 1 to the next number.
UNIT = 2.0**-53
#: Products below TINY may have errors that are no float64 numbers; they are smaller than this.
TINY, SMALLEST_ERROR = 1e-290, 1e-322
#: Splits a number into two halves of 26 bits.
SPLITTER = 134217729.0
#: Numbers that are added in a row; the sums of such parts are added exactly.
SUMMED_A_PART = 1 << 14


@strict_kernel
def careful_products(
    matrix: Any, columns: Array, vector: Array, product: Array, error: Array, start: int, stop: int
) -> None:
    """⟨a_j, vector⟩ for the columns at positions ``start`` to ``stop``, and a bound on its error."""
    for i in range(start, stop):
        j = wide(columns[i])
        total, rest, size, lost = 0.0, 0.0, 0.0, 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            a, b = matrix.entry(p, j), vector[matrix.row(p)]
            term = a * b
            high, wide_b = SPLITTER * a, SPLITTER * b
            a_high, b_high = high - (high - a), wide_b - (wide_b - b)
            a_low, b_low = a - a_high, b - b_high
            missing = a_low * b_low - (((term - a_high * b_high) - a_low * b_high) - a_high * b_low)
            grown = total + term
            back = grown - total
            left = (total - (grown - back)) + (term - back)
            total = grown
            rest += missing + left
            size += abs(missing) + abs(left)
            lost += SMALLEST_ERROR if abs(term) < TINY and a != 0.0 and b != 0.0 else 0.0
        product[i] = total + rest
        count = 2.0 * (matrix.stop(j) - matrix.start(j)) + 4.0
        error[i] = (UNIT * abs(product[i]) if rest != 0.0 else 0.0) + 1.01 * count * UNIT * size + lost


def careful_sum(vector: Array) -> tuple[float, float]:
    """Return Σ vector_k and a bound on its error; parts that threads share are added exactly."""
    totals, rests, sizes = by_parts(costs.SUMMED, vector.size, SUMMED_A_PART, careful_part, vector).T.tolist()
    try:
        result, size = math.fsum(totals + rests), math.fsum(sizes)
    except (OverflowError, ValueError):  # numbers beyond float64, of both signs
        return math.nan, math.nan
    is_rounded = len(totals) > 1 or any(rests)
    return result, (UNIT * abs(result) if is_rounded else 0.0) + 1.01 * (vector.size + 2.0) * UNIT * size


@strict_kernel
def careful_part(vector: Array, start: int, stop: int) -> tuple[float, float, float]:
    """Return the rounded sum of a part, the sum of its errors and that of their sizes."""
    total, rest, size = 0.0, 0.0, 0.0
    for number in range(start, stop):
        k = wide(number)
        grown = total + vector[k]
        back = grown - total
        left = (total - (grown - back)) + (vector[k] - back)
        total = grown
        rest += left
        size += abs(left)
    return total, rest, size


def farthest(vector: Array) -> float:
    """Return the largest |v_k|; nan if there is one among them."""
    return max(float(vector.max()), -float(vector.min()))
