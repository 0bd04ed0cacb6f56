"""Gram matrices of the working set: G = A_Wᵀ H A_W, with H the curvatures.

``GramMatrix`` computes a column of G when its coordinate first moves, as in covariance updates: those that wait in the
working set cost nothing.  With an intercept the best constant follows every step, so the columns of A enter less
their H-weighted means.  For a quadratic loss H never changes, and the products are kept for the whole run; for other
losses nearly all columns move, so that all are computed at once, and again with every H (``reweigh``).

Where the loss couples outputs, one Gram matrix has all coefficients of a few columns (``Matrix.coupled_gram``).  Its
constants are a last column of ones, and are eliminated: C has their products with the coefficients, M those among
themselves, and raw gradients sum to 0 where the model is made,  G − CᵀM⁻¹C,  δ = −M⁻¹CΔ.
"""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel
from ascd.matrix.base import Matrix
from ascd.problem.softmax import solve_singular


class GramMatrix:
    """The products of ``columns`` with each other: column i of ``store`` is valid where ``known`` says so.

    Where curvatures will change (``reweigh``), the multiplier keeps what does not depend on them.
    """

    def __init__(self, design: Matrix, intercept: bool, keeps: bool) -> None:
        self.intercept, n = intercept, design.shape[1]
        self.multiplier = design.multiplier(keeps)
        self.position = np.full(n, -1, dtype=np.int32)
        self.columns = np.empty(0, dtype=np.int64)
        self.store = np.empty((0, 0), order="F")
        self.known = np.empty(0, dtype=np.bool_)

    def clear(self) -> None:
        self.position[self.columns] = -1
        self.columns = self.columns[:0]
        self.known[:] = False
        self.multiplier.forget()

    def keep(self, columns: Array) -> None:
        """Forget all but these columns, and give back their memory."""
        position = self.position[columns]
        position = position[position >= 0]
        kept, known = self.columns[position], self.known[position]
        self.store = np.asfortranarray(self.store[np.ix_(position, position)])
        self.clear()
        self.columns, self.known = kept, known
        self.position[kept] = np.arange(kept.size)

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Let columns join; ``weight`` is H's diagonal, ``means`` the columns' weighted means (for the intercept)."""
        old, self.weight, self.means = self.columns.size, weight, means
        self.columns = np.concatenate([self.columns, joining])
        self.position[joining] = np.arange(old, self.columns.size)
        self._reserve(self.columns.size)
        known = np.flatnonzero(self.known)
        new = np.arange(old, self.columns.size)
        if known.size:
            self._multiply(new, known)
        if self.multiplier.is_cheap(new.size, self.columns.size):
            self.learn(new)

    def reweigh(self, weight: Array, means: Array) -> None:
        """The same columns with other curvatures: what was known is computed again."""
        self.weight, self.means = weight, means
        known = np.flatnonzero(self.known[: self.columns.size])
        self.known[:] = False
        if known.size:
            self.learn(known)

    def learn(self, positions: Array) -> None:
        """Compute the columns at these positions; each pair is multiplied once."""
        self._multiply(positions, positions)
        if self.intercept:
            self._hold_constants(positions)
        known = self.known[: self.columns.size]
        before = np.flatnonzero(known)
        if before.size:
            mirror(self.store, before, positions)
        known[positions] = True
        waiting = np.flatnonzero(~known)
        if waiting.size:
            self._multiply(waiting, positions)

    def _hold_constants(self, positions: Array) -> None:
        """A constant column does nothing that the intercept does not do: its own curvature keeps it where it is."""
        own = float(self.weight.sum()) * self.means[self.columns[positions]] ** 2
        diagonal = self.store[positions, positions]
        is_constant = diagonal <= self.multiplier.constant * own
        self.store[positions, positions] = np.where(is_constant, own, diagonal)

    def _reserve(self, size: int) -> None:
        capacity = self.store.shape[0]
        if size > capacity:
            store = np.empty((max(size, capacity + capacity // 4),) * 2, order="F")
            store[:capacity, :capacity] = self.store
            self.store = store
            self.known = np.concatenate([self.known, np.zeros(store.shape[0] - capacity, dtype=np.bool_)])

    def _multiply(self, left: Array, right: Array) -> None:
        """The products of the columns at two sets of positions, disjoint or the same."""
        means = self.means if self.intercept else None
        self.multiplier.fill(self.store, self.columns, left, right, self.weight, means)


@kernel
def mirror(store: Array, known: Array, joining: Array) -> None:
    """Rows of the known columns, as columns of those that join."""
    for i in joining:
        for other in known:
            store[other, i] = store[i, other]


def without_constants(whole: Array, outputs: int) -> tuple[Array, Array]:
    """G with the constants, whose rows are the last, at their best after every step; what takes a step to theirs."""
    size = whole.shape[0] - outputs
    crossed = whole[size:, :size]
    change = -solve_singular(whole[size:, size:], crossed)
    return whole[:size, :size] + crossed.T @ change, change
