"""Dual points: their lengths, and points that have some products exactly.

Lengths are in the norm ‖θ‖² = Σ_k θ_k²/s_k, which is dual to that of the columns; samples without weight do not count.

Where Ψ_j* is finite at one point alone (a column without penalty, the intercept), or x_j is at an end of its domain,
the dual point must satisfy ⟨a_j, θ⟩ = r_j.  With J these columns, H the loss's curvatures, ρ_j = ⟨a_j, θ⟩ − r_j
and B = H^½ (A_J, 1), the point

    θ' = θ − H^½·B(BᵀB)⁻¹ρ,         |θ'_k − θ_k|  ≤  √H_k · min(‖ρ‖/σ, ‖B_k‖·‖ρ‖/σ²),

fits exactly, σ the smallest singular value of B.  In floating point θ' is a better dual point (``moved``); in exact
arithmetic it exists within that distance (``reach``), and what holds for all dual points there is proved.  Columns are
first scaled to length 1.  Where they depend on each other there is no fit, and no proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix, as_block
from ascd.matrix.columns import careful_sum
from ascd.problem.arithmetic import norm
from ascd.problem.tuning import SAFETY, SMALLEST_SINGULAR


def unweighted(vector: Array, weight: Any) -> Array:
    """Return vector_k/s_k, 0 where a sample has no weight."""
    if np.ndim(weight) == 0:
        return vector
    return np.divide(vector, weight, out=np.zeros(vector.size), where=weight > 0.0)


def dual_length(vector: Array, weight: Any) -> float:
    """Return √Σ θ_k²/s_k."""
    return norm(unweighted(vector, np.sqrt(weight)))


# ---- dual points that have some products exactly


class FittedDual:
    """Moves a dual point (d, T) to required products with one fit an output; without fits it is the raw gradient."""

    def __init__(self, fits: Sequence[Any] = (), weight: Any = 1.0, has_columns: bool = False) -> None:
        self.fits, self.weight, self.has_columns = fits, weight, has_columns

    def start(self, gradient: Array) -> Array:
        """Return the raw gradient, with sums of 0 where there is an intercept alone to fit."""
        if self.has_columns or not self.fits:
            return gradient
        sums = np.array([[careful_sum(np.ascontiguousarray(column))[0] for column in gradient.T]])
        return self.moved(gradient, sums)

    def moved(self, dual: Array, excess: Array) -> Array:
        """Return the dual point whose products are smaller by ``excess`` (k, T)."""
        columns = [fit.moved(np.ascontiguousarray(dual[:, t]), excess[:, t]) for t, fit in enumerate(self.fits)]
        return np.stack(columns, axis=1) if columns else dual

    def near(self, dual: Array, misses: Array) -> tuple[Array, float]:
        """Return how far a dual point that fits exactly can be, entry by entry and in all.

        Products and sums are off by ``misses`` of shape (k, T).
        """
        reach, spread = np.empty(dual.shape if self.fits else 0), 0.0
        for t, fit in enumerate(self.fits):
            bounds = fit.reach(misses[:, t])
            reach[:, t] = bounds[0]
            spread = math.hypot(spread, min(dual_length(bound, self.weight) for bound in bounds))
        return reach, spread


class DualFit:
    """The columns in J, that of ones last; ``used`` are the positions in J of those that are not zero."""

    def __init__(self, block: Array, root: Array, used: Array) -> None:
        unit, size = to_length_one(block[:, used] * root[:, None])
        self.root, self.used, self.size = root, used, size
        self.left, self.singular, self.right = np.linalg.svd(unit, full_matrices=False)

    @property
    def is_regular(self) -> bool:
        count = self.used.size
        return count == 0 or bool(count <= self.root.size and self.singular[-1] > SMALLEST_SINGULAR * self.singular[0])

    def moved(self, dual: Array, excess: Array) -> Array:
        """Return the dual point whose products are smaller by ``excess``."""
        moved: Array = self.left @ (self.right @ (excess[self.used] / self.size) / self.singular)
        return dual - self.root * moved

    def reach(self, excess: Array) -> tuple[Array, ...]:
        """Return how far each θ'_k can be, and a vector whose length bounds that of the difference, too."""
        if self.used.size == 0:
            return (np.zeros(self.root.size),)
        length = SAFETY * float(np.linalg.norm(excess[self.used] / self.size))
        least = float(self.singular[-1])
        rows = np.linalg.norm(self.left * self.singular, axis=1)
        return self.root * length * np.minimum(1.0 / least, rows / least**2), self.root * (length / least)


def fit_to(
    design: Matrix, columns: Array, intercept: bool, curvature: Array, weight: Any, required: Array
) -> DualFit | None:
    """Return a fit for these columns; None where they are too many or depend on each other."""
    count = columns.size + intercept
    if count > 200 and curvature.size * count**2 > 4e9:  # operations: about a second
        return None
    block = as_block(design.take(columns), curvature.size) if columns.size else np.empty((curvature.size, 0))
    if intercept:
        block = np.c_[block, np.ones(curvature.size)]
    some = block[np.broadcast_to(np.asarray(weight) > 0.0, curvature.shape)]
    is_there = np.asarray(some.any(axis=0))
    if intercept:  # sums of 0 make the products of constant columns 0
        is_there[:-1] &= (some[:, :-1] != some[:1, :-1]).any(axis=0)
    if required[~is_there[: columns.size]].any():
        return None
    fit = DualFit(block, np.sqrt(curvature), np.flatnonzero(is_there))
    return fit if fit.is_regular else None


def to_length_one(block: Array) -> tuple[Array, Array]:
    """Return columns of length 1, and the lengths they had; below 1e-290 a column becomes 0, of length 1."""
    peak = np.abs(block).max(axis=0, initial=0.0)
    is_there = peak > 1e-290
    peak = np.where(is_there, peak, 1.0)
    near = np.where(is_there, block / peak, 0.0)
    size = np.linalg.norm(near, axis=0)
    size[~is_there] = 1.0
    return near / size, np.where(is_there, peak * size, 1.0)
