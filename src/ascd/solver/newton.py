"""Newton steps of a quadratic model on its free coordinates (proximal Newton: Lee, Sun, Saunders 2014).

Around a point where it is smooth the penalty is replaced by its second-order expansion.

**Single coordinates.**  Ψ_j is quadratic on a piece, an interval between kinks.  The model is smooth in the coordinates
inside a piece, and Cholesky's method goes straight to their minimum.  A step that would leave a piece is cut
(``cut_steps``).

**Blocks.**  Away from its kinks Ψ_b has the Hessian κ_b(I − x̂_b x̂_bᵀ) + m_b·I.  Where outputs share the curvatures H
Newton's system for all of them is

    (K ⊗ I − Σ_b κ_b x̂_b x̂_bᵀ)Δ = −gradient,      K = G + diag(κ_b + m_b),

a Kronecker product less one rank a block.  So K, of the size of the columns, is factorised and not the whole:

    Δ = Y + K⁻¹Û(diag(1/κ) − Ûᵀ(K⁻¹⊗I)Û)⁻¹ÛᵀY,     Y = −K⁻¹·gradient,

where the small matrix has one row a block: its entries are Σ_{i∈b, j∈b'} (K⁻¹)_ij⟨x̂_i, x̂_j⟩.  With one output the
ranks are subtracted from K itself.  Where outputs are coupled by H_k = diag(h_k) − r_k r_kᵀ, the system is written with
one output: coefficient (j, t) is row jT + t.  Where only some outputs of a column are free there is no step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import library_helps
from ascd.problem.arithmetic import length_of
from ascd.solver import tuning

# ---- single coordinates


@kernel
def find_inside_pieces(penalty: Any, columns: Array, gradient: Array, x: Array, free: Array, work: Array) -> int:
    """Coordinates inside a piece of their penalty: Q's derivative, the penalty's curvature and the piece's ends."""
    count = 0
    for i in range(columns.size):
        j = columns[i]
        curvature, low, high = penalty.piece(x[i], j)
        derivative, upper = penalty.subgradient(x[i], j)
        if low < high and derivative == upper:
            free[count] = i
            work[0, count], work[1, count] = gradient[i] + derivative, curvature
            work[2, count], work[3, count] = low, high
            count += 1
    return count


@kernel
def gather_free(gram: Array, free: Array, curvature: Array, shift: float, out: Array) -> None:
    """The upper triangle of G on the free coordinates, with the penalty's curvature and a shift on the diagonal."""
    for b in range(free.size):
        column = free[b]
        for a in range(b + 1):
            out[a, b] = gram[free[a], column]
        diagonal = out[b, b] + curvature[b]
        out[b, b] = diagonal * (1.0 + shift) if diagonal > 0.0 else 1.0


def cut_steps(here: Array, direction: Array, low: Array, high: Array) -> list[Array]:
    """Return where a step ends; two points where it leaves a piece: all cut where the first does, and each for itself.

    The first lowers Q, the second brings many coordinates to their kinks at once.
    """
    with np.errstate(all="ignore"):
        room = np.where(direction > 0.0, high - here, here - low) / np.abs(direction)
    t = float(np.min(room, initial=1.0, where=direction != 0.0))
    return [np.clip(here + share * direction, low, high) for share in ((1.0,) if t == 1.0 else (t, 1.0))]


@kernel
def take_step(gram: Array, free: Array, direction: Array, work: Array, gradient: Array, x: Array) -> bool:
    """Go to the lower of the points of ``cut_steps``, if Q is lower there; return whether that was cut."""
    first, lowest, best = 1.0, 0.0, 0
    for a in range(free.size):
        if direction[a] != 0.0:
            first = min(first, (work[3 if direction[a] > 0.0 else 2, a] - x[free[a]]) / direction[a])
    for point in range(4, 5 if first == 1.0 else 6):
        share, value = first if point == 4 else 1.0, 0.0
        for k in range(x.size):
            work[point, k] = 0.0
        for a in range(free.size):
            i = wide(free[a])
            work[point + 2, a] = max(min(x[i] + share * direction[a], work[3, a]), work[2, a])
            moved = work[point + 2, a] - x[i]
            value += moved * (work[0, a] + 0.5 * work[1, a] * moved)
            if moved != 0.0:
                for k in range(x.size):
                    work[point, k] += moved * gram[k, i]
        for a in range(free.size):
            value += 0.5 * work[point, free[a]] * (work[point + 2, a] - x[free[a]])
        if value < lowest:
            lowest, best = value, point
    for a in range(free.size if best else 0):
        x[free[a]] = work[best + 2, a]
    for k in range(x.size if best else 0):
        gradient[k] += work[best, k]
    return best > 0 and first < 1.0


def newton_direction(gram: Array, free: Array, curvature: Array, right: Array) -> Array | None:
    """Return (G + penalty)⁻¹·right on the free coordinates; None where the matrix is singular."""
    matrix = np.empty((free.size, free.size), order="F")
    for shift in tuning.SHIFTS:
        gather_free(gram, free, curvature, shift, matrix)
        with library_helps(free.size**3 / 3.0):
            factor, trouble = dpotrf(matrix, lower=0, overwrite_a=1, clean=0)
        if trouble == 0:
            direction, _ = dpotrs(factor, right, lower=0)
            if np.isfinite(direction).all():
                return direction
    return None


# ---- blocks


class PenaltyPieces(NamedTuple):
    """The penalty around x: which entries are free, its derivative and x/‖x_b‖; for rows κ_b, m_b and the block b."""

    is_free: Array
    derivative: Array
    unit: Array
    kappa: Array
    ridge: Array
    block: Array

    def of_rows(self, rows: Array) -> PenaltyPieces:
        return PenaltyPieces(*(part[rows] for part in self))

    def quadratic_bound(self, x: Array) -> PenaltyPieces:
        """Ψ_b(z) ≤ Ψ_b(x) + ½Σ_j c_j(z_j² − x_j²) with c_j = Ψ_b′(x)_j/x_j, the largest of a row, as pieces."""
        ratio = np.divide(self.derivative, x, out=np.repeat(self.ridge[:, None], x.shape[1], axis=1), where=x != 0.0)
        zero = np.zeros(self.kappa.shape)
        return self._replace(unit=np.zeros(x.shape), kappa=zero, ridge=ratio.max(axis=1, initial=0.0))

    @property
    def starts(self) -> Array:
        """The first row of every block."""
        return np.flatnonzero(np.diff(self.block, prepend=-1))


def pieces_of(penalty: Any, blocks: Array, starts: Array, x: Array) -> PenaltyPieces:
    """Return the pieces of the penalty that x of shape (m, T) lies on; block i has the rows starts[i]:starts[i + 1]."""
    derivative, unit = np.empty(x.shape), np.zeros(x.shape)
    kink, ridge, length = np.empty((3, blocks.size))
    fill_pieces(penalty, blocks, starts, x.ravel(), derivative.ravel(), kink, ridge, length, x.shape[1])
    block = np.repeat(np.arange(blocks.size), np.diff(starts))
    is_free = ~np.isnan(derivative)
    with np.errstate(all="ignore"):
        # a single coefficient has no direction to turn to: |x| is straight
        kink[np.add.reduceat(is_free.sum(axis=1), starts[:-1]) == 1] = 0.0
        away = length[block][:, None]
        np.divide(x, away, out=unit, where=(away > 0.0) & is_free)
        kappa = np.divide(kink, length, out=np.zeros(kink.size), where=length > 0.0)
    return PenaltyPieces(is_free, derivative, unit, kappa[block], ridge[block], block)


def try_lengths(
    penalty: Any, blocks: Array, starts: Array, x: Array, change: Array, model: Callable[[Array], float],
    promised: float,
) -> Array | None:  # fmt: skip
    """The length of a step that lowers Q most, of those tried, as a change of x; None if none lowers it.

    ``model`` is asked for the smooth part of Q after a move; ``promised`` is the fall of Q by the whole step if the
    penalty stayed on its pieces.  The penalty may have a kink where a coefficient changes its sign.  So such
    coefficients are also tried at 0, and lengths at which some of them arrive there: where columns depend on each
    other, steps are far too long.
    """
    before = blocks_cost(penalty, blocks, starts, x.ravel(), x.shape[1])
    best, gain = None, 0.0
    crossing = np.divide(-x, change, out=np.full(x.shape, np.inf), where=x * change < 0.0)
    ends = np.unique(crossing[crossing < 1.0])
    some = ends[[i for i in (0, 1, 3, 7, 15, 31, 63) if i < ends.size]].tolist()
    for lengths in ((1.0, *some), tuning.LENGTHS):
        for length in lengths:
            straight, stops = x + length * change, crossing <= length * (1.0 + 1e-12)
            for there in (straight, np.where(stops, 0.0, straight))[: 1 + int(stops.any())]:
                moved: Array = there - x
                after = blocks_cost(penalty, blocks, starts, there.ravel(), x.shape[1])
                value = model(moved) + after - before
                if value < gain:
                    best, gain = moved, value
            if gain <= -0.9 * promised < 0.0:
                return best
        if best is not None:
            return best
    return None


@kernel
def fill_pieces(
    penalty: Any, blocks: Array, starts: Array, x: Array, derivative: Array, kink: Array, ridge: Array, length: Array,
    outputs: int,
) -> None:  # fmt: skip
    for i in range(blocks.size):
        low, high = wide(starts[i]) * outputs, wide(starts[i + 1]) * outputs
        kink[i], ridge[i] = penalty.block_piece(x[low:high], wide(blocks[i]), derivative[low:high])
        length[i] = length_of(x[low:high])


@kernel
def blocks_cost(penalty: Any, blocks: Array, starts: Array, x: Array, outputs: int) -> float:
    """Σ Ψ_b over the blocks of a working set."""
    total = 0.0
    for i in range(blocks.size):
        total += penalty.block_cost(x[wide(starts[i]) * outputs : wide(starts[i + 1]) * outputs], wide(blocks[i]))
    return total


# ---- Newton's systems for blocks, on rows that are free; ``right`` is minus the gradient there, of shape (k, T)


def block_newton(gram: Array, found: PenaltyPieces, right: Array) -> Array | None:
    """Return Newton's step for outputs that share the Gram matrix of the columns; None if there is none.

    The diagonal is shifted where the matrix is singular.
    """
    diagonal, is_flat = np.diagonal(gram) + (found.kappa + found.ridge), right.shape[1] == 1
    for shift in (0.0, *tuning.SHIFTS):
        matrix = gram.copy()
        np.fill_diagonal(matrix, diagonal + shift * (diagonal + diagonal.mean()))
        if is_flat:
            for first, last in itertools.pairwise([*found.starts, diagonal.size]):
                unit = found.unit[first:last, 0]
                if found.kappa[first] > 0.0:
                    matrix[first:last, first:last] -= found.kappa[first] * np.outer(unit, unit)
        with library_helps(diagonal.size**3 / 3.0):
            factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # symmetric, and by columns as LAPACK has it
        if failed:
            continue
        step = dpotrs(factor, right, lower=1)[0]
        if not is_flat and found.kappa.any():
            lower = dpotri(factor, lower=1)[0]
            step = _with_kinks(step, np.tril(lower) + np.tril(lower, -1).T, found)
        if step is not None and np.isfinite(step).all():
            return step
    return None


def wide_newton(block: Array, weight: Array, found: PenaltyPieces, right: Array) -> Array | None:
    """Return Newton's step for one output where the columns, of shape (d, m), outnumber the samples; None if none.

    By the formula of Woodbury only a matrix of d × d is factorised: with W = diag(√weight)·block and
    D = diag(κ + m) − Σ_b κ_b x̂_b x̂_bᵀ the step is D⁻¹(right − Wᵀ(I + WD⁻¹Wᵀ)⁻¹WD⁻¹·right).
    """
    scaled = np.sqrt(weight)[:, None] * block
    # the penalty of a block has no curvature along x̂: a little of the losses' makes D invertible
    ridge = found.ridge + tuning.SHIFTS[1] * np.einsum("kj,kj->", scaled, scaled) / max(right.size, 1)
    along = found.unit[:, 0] * (1.0 / ridge - 1.0 / (found.kappa + ridge))
    sizes = np.diff(np.append(found.starts, right.size))

    def divided(vectors: Array) -> Array:
        sums = np.add.reduceat(found.unit * vectors, found.starts, axis=0)
        return vectors / (found.kappa + ridge)[:, None] + along[:, None] * np.repeat(sums, sizes, axis=0)

    across, plain = divided(scaled.T), divided(right)
    factor, failed = dpotrf(np.eye(block.shape[0]) + scaled @ across, lower=1)
    if failed:
        return None
    step = plain - across @ dpotrs(factor, scaled @ plain, lower=1)[0]
    return step if np.isfinite(step).all() else None


def _with_kinks(first: Array, inverse: Array, found: PenaltyPieces) -> Array | None:
    """Return the step with one rank a block taken out of the Hessian, ``inverse`` = K⁻¹ and ``first`` = K⁻¹·right.

    None where what is left is not positive definite; blocks without a kink have κ = 0.
    """
    starts = found.starts
    kink = found.kappa[starts]
    bent = np.flatnonzero(kink > 0.0)
    small = inverse * (found.unit @ found.unit.T)
    if starts.size < small.shape[0]:
        small = np.add.reduceat(np.add.reduceat(small, starts, axis=0), starts, axis=1)
    factor, failed = dpotrf(np.diag(1.0 / kink[bent]) - small[np.ix_(bent, bent)], lower=1)
    if failed:
        return None
    share = np.zeros(starts.size)
    share[bent] = dpotrs(factor, np.add.reduceat((found.unit * first).sum(axis=1), starts)[bent], lower=1)[0]
    sizes = np.diff(np.append(starts, first.shape[0]))
    return first + inverse @ (np.repeat(share, sizes)[:, None] * found.unit)
