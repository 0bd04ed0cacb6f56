"""Dual points: their lengths, and points that have some products exactly.

Lengths are in the norm ‖θ‖² = Σ_k θ_k²/s_k, which is dual to that of the columns; samples without weight do not count.

Where Ψ_j* is finite at one point alone (a column without penalty, the intercept), or x_j is at an end of its domain,
the dual point must satisfy ⟨a_j, θ⟩ = r_j.  With J these columns, H the loss's curvatures, ρ_j = ⟨a_j, θ⟩ − r_j
and B = H^½ (A_J, 1), the point

    θ' = θ − H^½·B(BᵀB)⁻¹ρ,         |θ'_k − θ_k|  ≤  √H_k · min(‖ρ‖/σ, ‖B_k‖·‖ρ‖/σ²),

fits exactly, σ the smallest singular value of B.  In floating point θ' is a better dual point (``moved``); in exact
arithmetic it exists within that distance (``near``), and what holds for all dual points there is proved.  Columns are
first scaled to length 1.  Where they depend on each other there is no fit, and no proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix, as_block
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


class GradientDual:
    """The raw gradient (d, T) as dual point, where nothing is required of its products or none can differ from it."""

    def moved(self, dual: Array, excess: Array) -> Array:
        """Return the dual point whose products and sums are smaller by ``excess`` (k, T)."""
        return dual

    def near(self, dual: Array, misses: Array) -> tuple[Array, float]:
        """Return how far a dual point that fits exactly can be, entry by entry and in all.

        Products and sums are off by ``misses`` of shape (k, T).
        """
        return np.empty(0), 0.0


class FittedDual(GradientDual):
    """The columns in J, that of ones last, for the curvatures (d, T) of each output, or (d, 1) of all.

    ``used`` are the positions in J of those that are not zero.
    """

    def __init__(self, block: Array, used: Array, curvature: Array, weight: Any) -> None:
        self.used, self.weight, self.root = used, weight, np.sqrt(curvature.T)[:, :, None]
        unit, self.size = to_length_one(block[:, used] * self.root)
        self.left, self.singular, self.right = np.linalg.svd(unit, full_matrices=False)

    @property
    def is_regular(self) -> bool:
        is_full = self.used.size <= self.root.shape[1]
        return is_full and bool(np.all(self.singular[:, -1] > SMALLEST_SINGULAR * self.singular[:, 0]))

    def moved(self, dual: Array, excess: Array) -> Array:
        shares = self.right @ (excess[self.used].T / self.size)[:, :, None] / self.singular[:, :, None]
        return np.ascontiguousarray(dual - (self.root * (self.left @ shares))[:, :, 0].T)

    def near(self, dual: Array, misses: Array) -> tuple[Array, float]:
        length = SAFETY * np.linalg.norm(misses[self.used].T / self.size, axis=1)[:, None]
        least, rows = self.singular[:, -1:], np.linalg.norm(self.left * self.singular[:, None], axis=2)
        reach = self.root[:, :, 0] * length * np.minimum(1.0 / least, rows / least**2)
        in_all = self.root[:, :, 0] * (length / least)  # its length bounds that of the difference, too
        pairs = zip(reach, in_all, strict=True)
        spread = math.hypot(*(min(dual_length(bound, self.weight) for bound in pair) for pair in pairs))
        return reach.T, spread


def fit_to(
    matrix: Matrix, columns: Array, intercept: bool, curvature: Array, weight: Any, required: Array
) -> GradientDual | None:
    """Return what moves a dual point to the products (k, T) that columns require, and to sums of 0.

    None where the columns are too many or depend on each other.
    """
    count, d = columns.size + intercept, len(curvature)
    if count > 200 and d * count**2 > 4e9:  # operations: about a second
        return None
    block = as_block(matrix.take(columns), d) if columns.size else np.empty((d, 0))
    if intercept:
        block = np.c_[block, np.ones(d)]
    some = block[np.broadcast_to(np.asarray(weight) > 0.0, d)]
    is_there = np.asarray(some.any(axis=0))
    if intercept:  # sums of 0 make the products of constant columns 0
        is_there[:-1] &= (some[:, :-1] != some[:1, :-1]).any(axis=0)
    if required[~is_there[: columns.size]].any():
        return None
    if not is_there.any():
        return GradientDual()
    fit = FittedDual(block, np.flatnonzero(is_there), curvature, weight)
    return fit if fit.is_regular else None


def to_length_one(block: Array) -> tuple[Array, Array]:
    """Return columns (T, d, k) of length 1, and the lengths they had; below 1e-290 one becomes 0, of length 1."""
    peak = np.abs(block).max(axis=1, initial=0.0)
    is_there = peak > 1e-290
    peak = np.where(is_there, peak, 1.0)
    near = np.where(is_there[:, None], block / peak[:, None], 0.0)
    size = np.where(is_there, np.linalg.norm(near, axis=1), 1.0)
    return near / size[:, None], peak * size
