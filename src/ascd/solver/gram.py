"""Gram matrices of the working set: G = A_Wᵀ H A_W, with H the curvatures.

With an intercept the best constant follows every step, so the columns of A enter less their H-weighted means.  For a
quadratic loss H never changes, and the products are kept for the whole run; for other losses they are computed again
with every H (``reweigh``).

Where the loss couples outputs, one Gram matrix has all coefficients of a few columns (``Matrix.coupled_gram``).  Its
constants are a last column of ones, and are eliminated: C has their products with the coefficients, M those among
themselves, and raw gradients sum to 0 where the model is made,  G − CᵀM⁻¹C,  δ = −M⁻¹CΔ.
"""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix
from ascd.problem.softmax import solve_singular


class GramMatrix:
    """The products of ``columns`` with each other, in the first rows and columns of ``store``.

    Where curvatures will change (``reweigh``), the multiplier keeps what does not depend on them.
    """

    def __init__(self, matrix: Matrix, intercept: bool, keeps: bool) -> None:
        self.intercept = intercept
        self.multiplier = matrix.multiplier(keeps)
        self.position = np.full(matrix.shape[1], -1, dtype=np.int32)
        self.columns = np.empty(0, dtype=np.int64)
        self.store = np.empty((0, 0), order="F")

    def clear(self) -> None:
        self.position[self.columns] = -1
        self.columns = self.columns[:0]
        self.multiplier.forget()

    def keep(self, columns: Array) -> None:
        """Forget all but these columns, and give back their memory."""
        position = self.position[columns]
        position = position[position >= 0]
        kept, self.store = self.columns[position], np.asfortranarray(self.store[np.ix_(position, position)])
        self.clear()
        self.columns = kept
        self.position[kept] = np.arange(kept.size)

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Let columns join; ``weight`` is H's diagonal, ``means`` the columns' weighted means (for the intercept)."""
        old, capacity = self.columns.size, self.store.shape[0]
        self.columns = np.concatenate([self.columns, joining])
        new = np.arange(old, self.columns.size)
        self.position[joining] = new
        if self.columns.size > capacity:
            store = np.empty((max(self.columns.size, capacity + capacity // 4),) * 2, order="F")
            store[:old, :old] = self.store[:old, :old]
            self.store = store
        self._multiply(new, new, weight, means)
        if old:
            self._multiply(new, np.arange(old), weight, means)
            self.store[:old, old : self.columns.size] = self.store[old : self.columns.size, :old].T

    def reweigh(self, weight: Array, means: Array) -> None:
        """The same columns with other curvatures."""
        every = np.arange(self.columns.size)
        self._multiply(every, every, weight, means)

    def _multiply(self, left: Array, right: Array, weight: Array, means: Array) -> None:
        """The products of the columns at two sets of positions, disjoint or the same."""
        used = means if self.intercept else None
        self.multiplier.fill(self.store, self.columns, left, right, weight, used)
        if self.intercept and left is right:
            # a constant column does nothing that the intercept does not do: its own curvature keeps it where it is
            own = float(weight.sum()) * means[self.columns[left]] ** 2
            diagonal = self.store[left, left]
            self.store[left, left] = np.where(diagonal <= self.multiplier.constant * own, own, diagonal)


def without_constants(whole: Array, outputs: int) -> tuple[Array, Array]:
    """G with the constants, whose rows are the last, at their best after every step; what takes a step to theirs."""
    size = whole.shape[0] - outputs
    crossed = whole[size:, :size]
    change = -solve_singular(whole[size:, size:], crossed)
    return whole[:size, :size] + crossed.T @ change, change
