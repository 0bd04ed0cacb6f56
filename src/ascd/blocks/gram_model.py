"""The quadratic model on a working set, from products of its columns.

    Q(Δ) = ⟨Γ, Δ⟩ + ½⟨Δ, GΔ⟩ + Σ_b Ψ_b(X_b + Δ_b),          G = A_WᵀHA_W,  Γ = A_WᵀV,

where all outputs share the curvatures H (least squares, or one output).  Sweeps are in ``sweeps``.

Where every block is away from its kinks the penalty is smooth.  With k_b/‖X_b‖·(I − x̂_b x̂_bᵀ) + m_b·I its Hessian,
Newton's system for all outputs at once is

    (K ⊗ I − Σ_b κ_b x̂_b x̂_bᵀ)Δ = −gradient,      K = G + diag(κ_b + m_b),  κ_b = k_b/‖X_b‖,

a Kronecker product less one rank a block.  So K, of the size of the columns, is factorised and not the whole:

    Δ = Y + K⁻¹Û(diag(1/κ) − Ûᵀ(K⁻¹⊗I)Û)⁻¹ÛᵀY,     Y = −K⁻¹·gradient,

where the small matrix has one row a block: its entries are Σ_{i∈b, j∈b'} (K⁻¹)_ij⟨x̂_i, x̂_j⟩.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd.blocks import tuning
from ascd.blocks.newton import direct_newton_of_gram, shares_of_kinks, sums_of_blocks
from ascd.blocks.pieces import Working, free_rows, pieces_of, try_lengths
from ascd.blocks.sweeps import rooms_for_past, sweep_gram
from ascd.solver import tuning as shared


class GramModel:
    """Q on a working set; ``x`` (m, T) are its coefficients and move."""

    def __init__(
        self, penalty: Any, working: Working, gram: Array, lipschitz: Array, gradient: Array, x: Array
    ) -> None:
        self.penalty, self.working, self.gram, self.gradient, self.x = penalty, working, gram, gradient, x
        self.lipschitz = lipschitz
        self.rooms = np.empty((3, working.longest))
        self.past, self.system = rooms_for_past(x.size)

    def minimise(self, target: float) -> float:
        """Until no block violates its optimality condition by more than ``target``; what is left."""
        sweeps, violation, best = 0, np.inf, np.inf
        can_newton = hasattr(self.penalty, "block_piece")
        most, stale = max(tuning.MOST_BLOCK_SWEEPS, tuning.CHEAP_SWEEPS // (self.x.shape[0] * self.x.size)), 0
        while sweeps < most:
            between = min(self._between() if can_newton else tuning.MOST_BETWEEN_STEPS, most - sweeps)
            violation, done = sweep_gram(
                self.penalty, self.gram, self.gradient.ravel(), self.x.ravel(), self.working.starts,
                self.working.blocks, self.lipschitz, self.rooms, self.past, self.system, self.x.shape[1], target,
                between,
            )  # fmt: skip
            sweeps += done
            stale = 0 if violation < 0.9 * best else stale + 1
            best = min(best, violation)
            if violation <= target or stale > shared.MOST_STALE:
                break
            if can_newton:
                self._newton_step()
        return float(violation)

    def _between(self) -> int:
        """As many sweeps as cost what a Newton step costs."""
        moved = int(np.count_nonzero(self.x.any(axis=1)))
        outputs = self.x.shape[1]
        price = 2.0 * moved**3 / shared.BLOCKED_GAIN + 2.0 * moved**2 * outputs + tuning.BLOCK_OVERHEAD
        return int(min(max(price / max(moved * self.x.size, 1), shared.FEWEST_SWEEPS), tuning.MOST_BETWEEN_STEPS))

    def _direction(self) -> tuple[Array, Array] | None:
        """Newton's direction on what is free, and the right side; None where nothing is, or too much for one matrix."""
        found = free_rows(self.penalty, self.working, self.x)
        if found is None:
            pieces = pieces_of(self.penalty, self.working, self.x)
            if pieces.is_free.sum() > tuning.LARGEST_DENSE:
                return None
            right = np.where(pieces.is_free, -(self.gradient + pieces.slope), 0.0)
            direct = direct_newton_of_gram(self.gram, pieces, self.working.starts, right)
            return None if direct is None else (direct, right)
        rows, change, right = found.rows, np.zeros(self.x.shape), np.zeros(self.x.shape)
        if rows.size == 0:
            return None
        right[rows] = -(self.gradient[rows] + found.slope)
        own = self.gram[np.ix_(rows, rows)]
        step = kronecker_newton(own, found.kappa, found.ridge, found.unit, found.starts, right[rows])
        if step is None:
            return None
        change[rows] = step
        return change, right

    def _newton_step(self) -> None:
        found = self._direction()
        if found is None:
            return
        change, right = found
        rows = np.flatnonzero(change.any(axis=1))
        gram, gradient = self.gram[np.ix_(rows, rows)], self.gradient[rows]

        def model(moved: Array, length: float) -> float:
            here = moved[rows]
            return float(np.vdot(gradient, here) + 0.5 * np.vdot(here, gram @ here))

        promised = 0.5 * float(np.vdot(right, change))
        taken = try_lengths(self.penalty, self.working, self.x, change, model, promised)
        if taken is not None:
            self.gradient += self.gram[rows].T @ taken[rows]
            self.x += taken


def kronecker_newton(gram: Array, kappa: Array, ridge: Array, unit: Array, starts: Array, right: Array) -> Array | None:
    """Solve Newton's system; ``kappa``, ``ridge`` one number a row, ``unit`` x̂ by rows, ``starts`` of the blocks."""
    diagonal, bent = np.diagonal(gram) + kappa + ridge, np.flatnonzero(kappa[starts] > 0.0)
    for shift in tuning.BLOCK_SHIFTS:
        matrix = gram.copy()
        np.fill_diagonal(matrix, np.diagonal(gram) + (kappa + ridge + shift * diagonal))
        if bent.size and right.shape[1] > 1:
            step = _with_kinks(matrix, right, kappa[starts], unit, starts, bent)
        else:
            subtract_ranks(matrix, kappa, unit, starts)
            step = _solved(matrix, right)
        if step is not None and np.isfinite(step).all():
            return step
    return None


def _with_kinks(matrix: Array, right: Array, kink: Array, unit: Array, starts: Array, bent: Array) -> Array | None:
    """The step with the parts along x̂ taken out of the Hessian, one rank a block with a kink."""
    inverse = _inverse(matrix)
    if inverse is None:
        return None
    first: Array = inverse @ right
    weighed = sums_of_blocks(inverse * (unit @ unit.T), starts)
    along = shares_of_kinks(weighed, first, kink, unit, starts, bent)
    step: Array | None = None if along is None else first + inverse @ along
    return step


def _solved(matrix: Array, right: Array) -> Array | None:
    """matrix⁻¹·right for a positive definite matrix, None where it is not; the matrix is overwritten."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # symmetric, and by columns as LAPACK has it
    if failed:
        return None
    solved: Array = dpotrs(factor, right, lower=1)[0]
    return solved


def _inverse(matrix: Array) -> Array | None:
    """The inverse of a positive definite matrix, None where it is not; the matrix is overwritten."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)
    if failed:
        return None
    found, failed = dpotri(factor, lower=1)
    if failed:
        return None
    inverse: Array = np.tril(found) + np.tril(found, -1).T
    return inverse


@kernel
def subtract_ranks(matrix: Array, kappa: Array, unit: Array, starts: Array) -> None:
    """matrix −= Σ_b κ_b x̂_b x̂_bᵀ, for one output."""
    for b in range(starts.size):
        first, last = wide(starts[b]), wide(starts[b + 1]) if b + 1 < starts.size else kappa.size
        if kappa[first] > 0.0:
            for i in range(first, last):
                for j in range(first, last):
                    matrix[i, j] -= kappa[first] * unit[i, 0] * unit[j, 0]
