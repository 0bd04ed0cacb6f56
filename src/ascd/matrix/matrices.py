"""How a column is read, whatever its storage.

A matrix is a NamedTuple that says where a column's stored entries are: positions ``start(j) .. stop(j)``, and
for a position its ``row`` and its ``entry``.  The operations below are written once on top of these four, for
every storage; the compiler turns them into the loop one would write by hand for each.  ``ahead(j)`` asks for the memory
of a column that will be read soon, ``ask_for_start(j)`` (optional) for what ``ahead`` will read.

====================  ====================================================================================
``dot``               ⟨a_j, v⟩
``shift``             the slope s·loss'(b, Ax) follows a change of x_j, on the rows of a_j; the image Ax too,
                      except for quadratic losses, where the slope alone is a linear function of x
``along``             first and second derivative of f along a_j, at image + change·a_j
``scatter, clear``    out = diag(s) a_j, and out = 0, on the rows of a_j
``weighted_square``   ⟨a_j, diag(s) a_j⟩
``sums_with_…``       Σa², Σa and products with one vector or two, all from one look at the column
``first_at``          where the entries of a_j from some row on begin
====================  ====================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, optional_method, wide


@optional_method
def ask_for_start(matrix: Any, j: int) -> None:
    """Ask for where a column begins, in a storage that looks it up."""


@helper
def dot(matrix: Any, j: int, vector: Array) -> float:
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
def shift(matrix: Any, j: int, change: float, sample: Any, loss: Any, image: Array, slope: Array) -> None:
    if loss.is_quadratic():  # known to the compiler: one of the two loops remains
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            curvature = at(sample.weight, k) * loss.curvature(sample.target[k], 0.0)
            slope[k] += curvature * change * matrix.entry(p, j)
    else:
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            image[k] += change * matrix.entry(p, j)
            slope[k] = at(sample.weight, k) * loss.derivative(sample.target[k], image[k])


@helper
def along(matrix: Any, j: int, change: float, sample: Any, loss: Any, image: Array) -> tuple[float, float]:
    first, second = 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        k, entry = matrix.row(p), matrix.entry(p, j)
        z = image[k] + change * entry
        weighted = at(sample.weight, k) * entry
        first += weighted * loss.derivative(sample.target[k], z)
        second += weighted * entry * loss.curvature(sample.target[k], z)
    return first, second


@helper
def scatter(matrix: Any, j: int, weight: Any, out: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        k = matrix.row(p)
        out[k] = at(weight, k) * matrix.entry(p, j)


@helper
def clear(matrix: Any, j: int, out: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        out[matrix.row(p)] = 0.0


@helper
def weighted_square(matrix: Any, j: int, weight: Any) -> float:
    total = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        entry = matrix.entry(p, j)
        total += at(weight, matrix.row(p)) * entry * entry
    return total


@helper
def squares_and_sum(matrix: Any, j: int) -> tuple[float, float]:
    """Σa² and Σa of a column."""
    square, total = 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        entry = matrix.entry(p, j)
        square += entry * entry
        total += entry
    return square, total


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


@helper
def sums_with_two(matrix: Any, j: int, vectors: Array) -> tuple[float, float, float, float]:
    """The same with two vectors, the rows of an array."""
    square, total, first, second = 0.0, 0.0, 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        k, entry = matrix.row(p), matrix.entry(p, j)
        square += entry * entry
        total += entry
        first += entry * vectors[0, k]
        second += entry * vectors[1, k]
    return square, total, first, second


@helper
def multiply(matrix: Any, x: Array, out: Array) -> None:
    """out = A·x, reading only the columns with x_j ≠ 0."""
    out[:] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += x[j] * matrix.entry(p, j)


def gram_matrix(matrix: Any, weight: Any, n: int, d: int) -> Array:
    """AᵀSA as a dense column-major array."""
    columns = matrix.to_scipy(d, n)
    weighted = columns if np.ndim(weight) == 0 else columns * np.asarray(weight)[:, None]
    products = columns.T @ weighted
    return np.asfortranarray(products.toarray() if hasattr(products, "toarray") else products)
