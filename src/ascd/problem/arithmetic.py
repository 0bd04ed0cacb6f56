"""Formulas that selection, screening and certificates share, and products of columns with all outputs.

**Violation.**  x_j is optimal iff −g ∈ ∂Ψ_j(x_j) = [low, high] for its gradient entry g.  The signed distance to that
interval is max(g + low, −g − high): negative inside.

**Angle.**  From g = ⟨a, v_r⟩ follows, for every v = s·v_r + e with e ⟂ v_r, ⟨a, v⟩ ∈ s·g ± ‖e‖·w, where
w² = ‖a‖² − g²/‖v_r‖² is the squared norm of a's part across v_r.  Where ‖v_r‖² is out of the range of float64 (far out
that of a logistic loss is), nothing is known along v_r: s = 0, w = ‖a‖.  Where ‖v‖² is, ‖e‖ has no limit.

**Lengths.**  Numbers of 10⁻¹⁷⁰ have squares that are 0: a gradient of that size would look like zero, and prove
anything.  Where squares have lost digits the largest entry times √n, or relative to the largest entry, is used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, strict_helper
from ascd.matrix.base import Matrix
from ascd.problem.tuning import LEAST_SUM_OF_SQUARES, MOST_SUM_OF_SQUARES


@helper
def violation_of(low: float, high: float, g: float) -> float:
    """Return how far −g is outside [low, high]; negative inside."""
    right, left = g + low, -g - high
    return right if right > left else left  # this form is vectorised


@helper
def has_digits(square: float) -> bool:
    """Return whether a sum of squares is in the range where none of its digits is lost."""
    return LEAST_SUM_OF_SQUARES < square < MOST_SUM_OF_SQUARES


@helper
def share_along(product: float, square: float) -> float:
    """Return s = ⟨v, v_r⟩/‖v_r‖² from both."""
    return product / square if has_digits(square) else 0.0


@helper
def length_across(rest: float, rounding: float, size: float) -> float:
    """Return ‖e‖ from its square with rounding added, where ``size``, the squares it came from, is in range."""
    length = math.sqrt(rest + rounding) if has_digits(size) else math.inf
    return length if length < math.inf else 1.7e308  # also for nan; times the norm of an empty column this is 0


@strict_helper
def square_times(value: float, factor: float) -> float:
    """Return factor·value² in this order of operations: the square alone may overflow."""
    return factor * value * value


@strict_helper
def square_over(value: float, divisor: float) -> float:
    """Return value²/divisor in this order of operations: the square alone may leave the range of float64."""
    return value * (value / divisor)


@helper
def length_of(vector: Array) -> float:
    """Return ‖vector‖, or more where squares lose digits; 0 for zeros alone."""
    square, most = 0.0, 0.0
    for i in range(vector.size):
        square += vector[i] * vector[i]
        most = max(most, abs(vector[i]))
    return length_from(square, most, vector.size)


@helper
def length_from(square: float, most: float, size: int) -> float:
    """Return the length of a vector from its square, or more, from its largest entry, where squares lose digits."""
    return math.sqrt(size) * most if square < LEAST_SUM_OF_SQUARES else math.sqrt(square)


def norm(values: Any) -> float:
    """Return the Frobenius norm of an array of any shape; the same bits with any number of threads."""
    most = float(np.abs(values).max(initial=0.0))
    return most * math.sqrt(np.sum(np.square(values / most))) if 0.0 < most < math.inf else most


def lengths_of_blocks(values: Array, ends: Array) -> Array:
    """Return the lengths of blocks of an array; block b is ``ends[b]`` to ``ends[b + 1]`` of its flat form."""
    return np.hypot.reduceat(np.abs(values).ravel(), ends[:-1])


# ---- products with all outputs


def products(matrix: Matrix, columns: Array, V: Array) -> Array:
    """Return A_columnsᵀV, of shape (len(columns), n_outputs), for V of shape (n_samples, n_outputs)."""
    if V.shape[1] == 1:
        return matrix.dots(columns, V.ravel())[:, None]
    return matrix.dots(columns, V)


def add(matrix: Matrix, columns: Array, change: Array, Z: Array) -> None:
    """Add A_columns·change to Z in place; change has shape (len(columns), n_outputs)."""
    if Z.shape[1] == 1:
        matrix.add(columns, change.ravel(), Z.reshape(-1))
    else:
        matrix.add(columns, change, Z)


def nonzero_rows(x: Array) -> Array:
    """Return the rows of x, of shape (n, n_outputs), that are not zero; ten times as fast as ``any`` for one output."""
    return np.flatnonzero(x[:, 0] != 0.0 if x.shape[1] == 1 else x.any(axis=1))
