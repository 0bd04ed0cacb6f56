"""The first pass over the data: weights of the samples, column norms, and the gradient at zero.

Every run begins with ‖a_j‖, with the means of the columns (for an intercept) and with the gradient at zero.  Where a
pass over the data is expensive, three passes are two too many.  The gradients with respect to the predictions at zero
coefficients depend on targets and weights alone, so they are known before the first column is read: one without an
intercept, and one with the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd._core.contracts import users_part
from ascd._core.jit import at, kernel, wide
from ascd.matrix.base import ColumnStats, Matrix, Part
from ascd.problem.losses import Squared
from ascd.problem.samples import evaluate_samples, most_curvature
from ascd.problem.tuning import SMALLEST_SQUARE


class FirstPass(NamedTuple):
    """Norms and sums of all columns, and the vectors (one a row) that its products belong to."""

    column_stats: ColumnStats
    vectors: Array

    def products_at(self, vector: Array) -> Array | None:
        """Return the products of all columns with this vector, if it is one of those, or zero."""
        for products, known in zip(self.column_stats.products, self.vectors, strict=True):
            if np.array_equal(known, vector):
                return products
        return None if vector.any() else np.zeros(self.column_stats.square.size)

    def without_products(self) -> FirstPass:
        """Return the same norms and sums, for other targets."""
        return FirstPass(self.column_stats._replace(products=self.column_stats.products[:0]), self.vectors[:0])


def read_first(design: Matrix, weight: Any, bound: float, vectors: Array) -> FirstPass:
    """Read all columns once, and check their norms for a loss with this curvature bound."""
    found = FirstPass(design.column_stats(weight, vectors), vectors)
    check_norms(design, found.column_stats, weight, bound)
    return found


def gradients_at_zero(sample: Any, loss: Any) -> Array:
    """Return the gradients with respect to predictions at zero, without an intercept and with the best, one a row.

    Only those that differ and are not zero.  None for a user's loss, which would be compiled for this alone, nor for
    squares of zero targets, as in duals.
    """
    size = sample.target.size
    found: list[Array] = []
    if users_part(loss) is None and not (isinstance(loss, Squared) and not sample.target.any()):
        with np.errstate(all="ignore"):  # exp may overflow on the way to an intercept
            for most in (None, most_curvature(sample, loss)):
                raw_gradient = np.empty(size)
                evaluate_samples(sample, loss, np.zeros(size), raw_gradient, np.empty(size), most)
                if raw_gradient.any() and not any(np.array_equal(raw_gradient, other) for other in found):
                    found.append(raw_gradient)
    return np.array(found).reshape(len(found), size)


def as_weights(sample_weight: Any, n_samples: int) -> Any:
    """Return the weights as an array, the number 1.0 for None."""
    if sample_weight is None:
        return 1.0
    if np.ndim(sample_weight) == 0:
        raise ValueError(f"sample_weight must be one-dimensional; got {sample_weight!r}")
    return as_parameter(sample_weight, "sample_weight", n_samples, low=0.0)


def check_norms(design: Any, column_stats: ColumnStats, weight: Any, bound: float) -> None:
    """Raise where entries are not finite, or norms overflow or underflow: the norms have seen every entry."""
    square = column_stats.square
    largest = float(np.maximum(square, column_stats.plain).max())
    if not math.isfinite(largest):
        check_finite(design, lambda: column_stats)
    if not math.isfinite(largest * (max(bound, 1.0) if bound < math.inf else 1.0)):
        raise ValueError("A has columns whose squared norm overflows float64: rescale A")
    if square.min() < SMALLEST_SQUARE:
        _check_small_columns(design, weight, np.flatnonzero(square < SMALLEST_SQUARE))


def check_finite(design: Any, column_stats: Callable[[], ColumnStats]) -> None:
    """Raise a ValueError that names what is not finite, and the first column whose sum is not."""
    try:
        design.check_finite()
    except ValueError as error:
        columns, names = np.flatnonzero(~np.isfinite(column_stats().total)), design.feature_names
        if columns.size == 0:
            raise
        first = f"{columns[0]}" if names is None else repr(names[columns[0]])
        raise ValueError(f"{error}; the first column with such is {first}") from None


def _check_small_columns(design: Matrix, weight: Any, columns: Array) -> None:
    """Raise where a column has entries but a squared norm below float64's range: nothing can be proved of it."""
    columns = columns[design.counts[columns] > 0]  # a column may just be empty
    part: Part = design.take(columns)
    found = int(first_with_entries(part.matrix, weight, part.places))
    if found >= 0:
        j = columns[found]
        raise ValueError(
            f"A has columns whose squared norm (weighted by the samples) underflows float64, the first is column {j}: "
            "rescale A, or set them to zero"
        )


@kernel
def first_with_entries(matrix: Any, weight: Any, columns: Array) -> int:
    """Return the position of the first column with a nonzero entry in a sample of positive weight; −1 if none has."""
    for i in range(columns.size):
        j = wide(columns[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            if matrix.entry(p, j) != 0.0 and at(weight, matrix.row(p)) > 0.0:
                return i
    return -1
