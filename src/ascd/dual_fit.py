"""Dual points that have to fit some products exactly.

Where Ψ_j* is finite at one point alone (a coordinate without penalty, and the intercept with its column of ones), or
x_j stands at an end of its domain (an active coordinate that is held at 0 from one side), the dual point must satisfy
⟨a_j, θ⟩ = r_j.  No vector of float64 numbers does so exactly; but near one that nearly does there is one that does.
With J these columns, H the loss's curvatures and the excess ρ_j = ⟨a_j, θ⟩ − r_j,

    θ' = θ − H^½·B(BᵀB)⁻¹ρ,         B = H^½ (A_J, 1),

fits exactly: the slope moves as a change of the coordinates in J would move it.  In floating point this is a better
dual point (``moved``).  In exact arithmetic it exists, at a distance of at most, with σ the smallest singular value of B,

    |θ'_k − θ_k|  ≤  √H_k · min(‖ρ‖/σ, ‖B_k‖·‖ρ‖/σ²)            (``reach``),

so what holds for all dual points within that distance is proved.  Columns are first scaled to length 1.  Columns that
depend on the others fit by themselves.  Floating point shows that only where all numbers are integers or one column
equals another: else there is no proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._checks import Array
from ascd.matrices import add_columns

#: Fitting costs O(d k²) for k columns: beyond this many, and beyond this many operations, it is not tried.
FEW_COLUMNS, MOST_OPERATIONS = 200, 4e9
#: Singular values below this share of the largest belong to columns that depend on others, or nearly.
SMALLEST_SINGULAR = 1e-10
#: Distances are computed in floating point: they are taken this much longer.
SAFETY = 1.0 + 1e-6
#: Integers whose sums and products are exact.
LARGEST_INTEGER = 2.0**50


class DualFit:
    """The columns in J (the column of ones last, if there is an intercept), ready to fit dual points to them."""

    def __init__(self, block: Array, root: Array) -> None:
        scaled = block * root[:, None]
        self.root, self.size = root, np.linalg.norm(scaled, axis=0)
        self.size[self.size == 0.0] = 1.0
        self.directions, triangle = np.linalg.qr(scaled / self.size)
        self.left, self.singular, self.right = np.linalg.svd(triangle)

    @property
    def is_regular(self) -> bool:
        return bool(self.singular[-1] > SMALLEST_SINGULAR * self.singular[0] > 0.0)

    def moved(self, dual: Array, excess: Array) -> Array:
        """The dual point whose products are smaller by ``excess``."""
        coefficients = self.left @ (self.right @ (excess / self.size) / self.singular)
        return dual - self.root * (self.directions @ coefficients)

    def reach(self, excess: Array) -> Array:
        """How far a dual point that fits exactly can be, sample by sample, where products are off by ``excess``."""
        length, least = float(np.linalg.norm(excess / self.size)), float(self.singular[-1])
        rows = np.linalg.norm(self.directions @ (self.left * self.singular), axis=1)
        return SAFETY * self.root * length * np.minimum(1.0 / least, rows / least**2)


def fit_to(
    matrix: Any, columns: Array, intercept: bool, curvature: Array, counted: Array, required: Array
) -> tuple[DualFit | None, Array]:
    """A fit for these columns, and the positions that it uses; None where it is out of reach or cannot be proved.

    ``counted`` tells which samples have a positive weight; ``required`` are the products asked for.
    """
    count = columns.size + intercept
    if count > FEW_COLUMNS and curvature.size * count**2 > MOST_OPERATIONS:
        return None, np.arange(0)
    block = np.zeros((curvature.size, count), order="F")
    for i, j in enumerate(columns):
        add_columns(matrix, np.array([j]), np.ones(1), block[:, i])
    if intercept:
        block[:, -1] = 1.0
    root, used = np.sqrt(curvature), np.arange(count)
    if count <= curvature.size:
        fit = DualFit(block, root)
        if fit.is_regular:
            return fit, used
    used = _independent(block * root[:, None])
    others = np.setdiff1d(np.arange(count), used)
    if used.size == 0 or required.any() or not _depend(block[counted], used, others):
        return None, used
    fit = DualFit(block[:, used], root)
    return (fit if fit.is_regular else None), used


def _independent(block: Array) -> Array:
    """Positions of columns that span the others, as far as floating point can tell."""
    from scipy.linalg import qr

    size = np.linalg.norm(block, axis=0)
    size[size == 0.0] = 1.0
    triangle, order = qr(block / size, mode="r", pivoting=True)
    length = np.abs(np.diagonal(triangle))
    return np.sort(order[: int((length > SMALLEST_SINGULAR * length.max(initial=0.0)).sum())])


def _depend(block: Array, used: Array, others: Array) -> bool:
    """Is it certain that the other columns are combinations of those used?"""
    coefficients = np.linalg.lstsq(block[:, used], block[:, others], rcond=None)[0]
    for which, j in enumerate(others):
        column = block[:, j]
        if not column.any() or any(np.array_equal(column, block[:, i]) for i in used):
            continue
        if not _is_combination(block[:, used], column, coefficients[:, which]):
            return False
    return True


def _is_combination(block: Array, column: Array, coefficients: Array) -> bool:
    """Is the column a combination with small rational coefficients, shown by integers alone?"""
    for denominator in range(1, 13):
        factors = np.round(denominator * coefficients)
        if np.abs(factors - denominator * coefficients).max(initial=0.0) > 1e-6:
            continue
        bound = np.abs(block) @ np.abs(factors) + denominator * np.abs(column)
        are_whole = np.array_equal(block, np.round(block)) and np.array_equal(column, np.round(column))
        return bool(
            are_whole
            and bound.max(initial=0.0) < LARGEST_INTEGER
            and np.array_equal(block @ factors, denominator * column)
        )
    return False
