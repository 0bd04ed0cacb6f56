"""Gram matrices of the working set: G = A_Wᵀ H A_W, with H the curvatures.

``Gram`` computes a column of G when its coordinate first moves, as in covariance updates: coordinates that only wait in
the working set cost nothing.  With an intercept the best constant follows every step, so the columns of A enter less
their H-weighted means.  For a quadratic loss H never changes, and the products are kept for the whole run; for other
losses nearly all columns move, so that all are computed at once, and again with every H (``reweigh``).

``coupled_gram`` is that of a loss that couples outputs, H_k = diag(h_k) − r_k r_kᵀ, for the coefficients (j, t) of few
columns:

    G[(j, t), (j', t')] = Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt').

So the model is one of a single output whose blocks have T times as many rows.  Dense columns are multiplied as
matrices, so many rows at a time as stay in the cache; of sparse ones each row adds H_k to the pairs of its own entries.
Constants are a last column of ones, and are eliminated: C has their products with the coefficients, M those among
themselves, and raw gradients sum to 0 where the model is made,  G − CᵀM⁻¹C,  δ = −M⁻¹CΔ.
"""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.matrix.base import Design, Part, as_block
from ascd.matrix.sparse import CSC, Rows, rows_of
from ascd.problem.losses import Curvature
from ascd.problem.losses.softmax import solve_singular
from ascd.solver.tuning import COUPLED_AT_ONCE, LANES, SPARSE_COUPLED


class Gram:
    """The products of ``columns`` with each other: column i of ``store`` is valid where ``known`` says so.

    Where curvatures will change (``reweigh``), the multiplier keeps what does not depend on them.
    """

    def __init__(self, design: Design, intercept: bool, keeps: bool) -> None:
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


def coupled_gram(part: Part, curvature: Curvature, ones: bool) -> Array:
    """G for these columns, and a last one of ones where that is wanted."""
    matrix, places, d = part.matrix, part.places, curvature.own.shape[0]
    if isinstance(matrix, CSC):
        stored = int((matrix.indptr[places + 1] - matrix.indptr[places]).sum())
        if stored <= SPARSE_COUPLED * d * places.size:
            rows = rows_of(matrix, places, np.arange(places.size), d, np.zeros(places.size))
            return gram_of_rows(rows, places.size, curvature, ones)
    block = as_block(part, d)
    return gram_of_block(np.c_[block, np.ones(d)] if ones else block, curvature)


def gram_of_block(block: Array, curvature: Curvature) -> Array:
    """G for the columns of a dense block."""
    (d, m), outputs = block.shape, curvature.own.shape[1]
    gram, step = np.zeros((m * outputs, m * outputs)), max(1, COUPLED_AT_ONCE // (m * outputs))
    for start in range(0, d, step):
        some, own = block[start : start + step], curvature.own[start : start + step]
        if curvature.shared is not None:
            across = some[:, :, None] * curvature.shared[start : start + step, None, :]
            across = across.reshape(some.shape[0], m * outputs)
            gram -= across.T @ across
        for t in range(outputs):
            gram[t::outputs, t::outputs] += some.T @ (own[:, t, None] * some)
    return gram


def gram_of_rows(rows: Rows, m: int, curvature: Curvature, ones: bool) -> Array:
    """G for m sparse columns, whose names are 0 .. m − 1, and a last one of ones where these are wanted."""
    outputs = curvature.own.shape[1]
    shared = np.zeros(curvature.own.shape) if curvature.shared is None else curvature.shared
    count, pairs = outputs * (outputs + 1) // 2, (m + ones) * (m + ones + 1) // 2
    sums, room = np.zeros((pairs, -(-count // LANES) * LANES)), np.zeros(-(-count // LANES) * LANES)
    add_pairs(rows, curvature.own, shared, room, sums, m if ones else -1)
    gram = np.empty(((m + ones) * outputs, (m + ones) * outputs))
    spread_pairs(sums, outputs, gram)
    if ones:  # rows without entries, too
        gram[m * outputs :, m * outputs :] = np.diag(curvature.own.sum(axis=0)) - shared.T @ shared
    return gram


def without_constants(whole: Array, outputs: int) -> tuple[Array, Array]:
    """G with the constants, whose rows are the last, at their best after every step; what takes a step to theirs."""
    size = whole.shape[0] - outputs
    crossed = whole[size:, :size]
    change = -solve_singular(whole[size:, size:], crossed)
    return whole[:size, :size] + crossed.T @ change, change


@helper
def add_multiple(out: Array, factor: float, values: Array) -> None:
    for q in range(values.size):
        out[q] += factor * values[q]


@kernel
def add_pairs(rows: Rows, own: Array, shared: Array, room: Array, sums: Array, ones: int) -> None:
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
