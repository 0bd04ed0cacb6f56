"""Newton steps of a quadratic model on its free coordinates (proximal Newton: Lee, Sun, Saunders 2014).

Around a point where it is smooth the penalty is replaced by its second-order expansion.

**Single coordinates.**  Ψ_j is quadratic on a piece, an interval between kinks.  The model is smooth in the coordinates
inside a piece, and Cholesky's method goes straight to their minimum.  A step that would leave a piece is cut: each
coordinate at its own end, or all where the first one meets its end, whichever is lower (the second always is a
decrease).

**Blocks.**  Away from its kinks Ψ_b has the Hessian κ_b(I − x̂_b x̂_bᵀ) + m_b·I.  Where outputs share the curvatures H
Newton's system for all of them is

    (K ⊗ I − Σ_b κ_b x̂_b x̂_bᵀ)Δ = −gradient,      K = G + diag(κ_b + m_b),

a Kronecker product less one rank a block.  So K, of the size of the columns, is factorised and not the whole:

    Δ = Y + K⁻¹Û(diag(1/κ) − Ûᵀ(K⁻¹⊗I)Û)⁻¹ÛᵀY,     Y = −K⁻¹·gradient,

where the small matrix has one row a block: its entries are Σ_{i∈b, j∈b'} (K⁻¹)_ij⟨x̂_i, x̂_j⟩.  Where there are more
free columns than samples, K has an inverse from a matrix as large as the samples (Woodbury): with B = H^½AD^(−½) and
LLᵀ = I + BBᵀ,  K⁻¹ = D^(−½)(I − WᵀW)D^(−½),  W = L⁻¹B.  Where outputs are coupled, H_k = diag(h_k) − r_k r_kᵀ, the
system is one dense matrix with entries Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt').
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import library_helps
from ascd.problem.lengths import length_of
from ascd.problem.losses import Curvature
from ascd.solver import tuning
from ascd.solver.working_set import Layout

# ---- single coordinates


@kernel
def find_free(penalty: Any, columns: Array, known: Array, gradient: Array, x: Array, free: Array, work: Array) -> int:
    """The coordinates inside a piece of their penalty: Q's derivative, the penalty's curvature and the piece's ends."""
    count = 0
    for i in range(columns.size):
        j = columns[i]
        curvature, low, high = penalty.piece(x[i], j)
        derivative, upper = penalty.subgradient(x[i], j)
        if known[i] and low < high and derivative == upper:
            free[count] = i
            work[0, count], work[1, count] = gradient[i] + derivative, curvature
            work[2, count], work[3, count] = low, high
            count += 1
    return count


@kernel
def gather_free(gram: Array, free: Array, work: Array, shift: float, out: Array) -> None:
    """The upper triangle of G on the free coordinates, with the penalty's curvature and a shift on the diagonal."""
    for b in range(free.size):
        column = free[b]
        for a in range(b + 1):
            out[a, b] = gram[free[a], column]
        diagonal = out[b, b] + work[1, b]
        out[b, b] = diagonal * (1.0 + shift) if diagonal > 0.0 else 1.0


@kernel
def take_newton_step(
    gram: Array, columns: Array, free: Array, direction: Array, work: Array, gradient: Array, x: Array
) -> int:
    """Move along the direction inside the pieces: 0 if it was taken whole, 1 if cut off, 2 if nothing falls."""
    for a in range(free.size):
        work[6, a] = x[free[a]]
    cut = clip_step(work[6], direction, work[2], work[3], work[4], work[5])
    gain = change_of_model(gram, columns.size, free, work[4], work, work[6])
    best, moved = work[4], work[6]
    if cut:
        straight = change_of_model(gram, columns.size, free, work[5], work, work[7])
        if straight < gain:
            gain, best, moved = straight, work[5], work[7]
    if not gain < 0.0:
        return 2
    for i in range(columns.size):
        gradient[i] += moved[i]
    for a in range(free.size):
        i = free[a]
        x[i] = min(max(x[i] + best[a], work[2, a]), work[3, a])  # rounding must not leave the piece
    return 1 if cut else 0


@kernel
def cut_step(here: Array, direction: Array, low: Array, high: Array, whole: Array, straight: Array) -> bool:
    """``clip_step`` for callers that are not compiled."""
    return clip_step(here, direction, low, high, whole, straight)


@helper
def clip_step(here: Array, direction: Array, low: Array, high: Array, whole: Array, straight: Array) -> bool:
    """Is the step cut off?  ``whole`` stops each coordinate at its own end, ``straight`` all at the first end met."""
    t, cut = 1.0, False
    for a in range(direction.size):
        there = here[a] + direction[a]
        whole[a] = min(max(there, low[a]), high[a]) - here[a]
        if there < low[a] or there > high[a]:
            cut = True
            t = min(t, whole[a] / direction[a])
    for a in range(direction.size):
        straight[a] = min(max(here[a] + t * direction[a], low[a]), high[a]) - here[a]
    return cut


@helper
def change_of_model(gram: Array, size: int, free: Array, change: Array, work: Array, moved: Array) -> float:
    """Q's change by a step inside the pieces; ``moved`` takes G·change."""
    for i in range(size):
        moved[i] = 0.0
    for a in range(free.size):
        if change[a] != 0.0:
            column = free[a]
            for i in range(size):
                moved[i] += change[a] * gram[i, column]
    total = 0.0
    for a in range(free.size):
        total += change[a] * (work[0, a] + 0.5 * (moved[free[a]] + work[1, a] * change[a]))
    return total


def newton_direction(gram: Array, free: Array, work: Array, right: Array) -> Array | None:
    """Return (G + penalty)⁻¹·right on the free coordinates; None where the matrix is singular."""
    from scipy.linalg.lapack import dpotrf, dpotrs  # here, so that importing ascd stays cheap

    matrix = np.empty((free.size, free.size), order="F")
    for shift in tuning.SHIFTS:
        gather_free(gram, free, work, shift, matrix)
        with library_helps(free.size**3 / 3.0):
            factor, trouble = dpotrf(matrix, lower=0, overwrite_a=1, clean=0)
        if trouble == 0:
            direction, _ = dpotrs(factor, right, lower=0)
            if np.isfinite(direction).all():
                return direction
    return None


# ---- blocks


class Free(NamedTuple):
    """Rows that are free in all outputs, with their penalty's derivative and what its Hessian is made of."""

    rows: Array
    starts: Array
    derivative: Array
    unit: Array
    kappa: Array
    ridge: Array


class Pieces(NamedTuple):
    """Entry by entry: is it free, the penalty's derivative, x/‖x_b‖; κ_b and m_b for every row."""

    is_free: Array
    derivative: Array
    unit: Array
    kappa: Array
    ridge: Array


def pieces_of(penalty: Any, working: Layout, x: Array) -> Pieces:
    """The penalty around x."""
    derivative, unit = np.empty(x.shape), np.zeros(x.shape)
    kink, ridge, length = np.empty((3, working.blocks.size))
    fill_pieces(penalty, working.blocks, working.starts, x.ravel(), derivative.ravel(), kink, ridge, length, x.shape[1])
    sizes = np.diff(working.starts)
    is_free = ~np.isnan(derivative)
    with np.errstate(all="ignore"):
        # a single coefficient has no direction to turn to: |x| is straight
        kink[np.add.reduceat(is_free.sum(axis=1), working.starts[:-1]) == 1] = 0.0
        away = np.repeat(length, sizes)[:, None]
        np.divide(x, away, out=unit, where=(away > 0.0) & is_free)
        kappa = np.divide(kink, length, out=np.zeros(kink.size), where=length > 0.0)
    return Pieces(is_free, derivative, unit, np.repeat(kappa, sizes), np.repeat(ridge, sizes))


def free_rows(penalty: Any, working: Layout, x: Array) -> Free | None:
    """The free rows; None where a row is free in some outputs and held in others."""
    found = pieces_of(penalty, working, x)
    is_free = found.is_free.all(axis=1)
    if (found.is_free.any(axis=1) != is_free).any():
        return None
    rows = np.flatnonzero(is_free)
    block = np.repeat(np.arange(working.blocks.size), np.diff(working.starts))[rows]
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    return Free(rows, starts, found.derivative[rows], found.unit[rows], found.kappa[rows], found.ridge[rows])


def try_lengths(
    penalty: Any, working: Layout, x: Array, change: Array, model: Callable[[Array, float], float], promised: float
) -> Array | None:
    """The length of a step that lowers Q most, of those tried, as a change of x; None if none lowers it.

    ``model`` is asked for the smooth part of Q after a move, which differs from length·change in few coefficients;
    ``promised`` is the fall of Q by the whole step if the penalty stayed on its pieces.

    The penalty may have a kink where a coefficient changes its sign.  So such coefficients are also tried at 0, and
    lengths at which some of them arrive there: where columns depend on each other, steps are far too long.
    """
    before = blocks_cost(penalty, working.blocks, working.starts, x.ravel(), x.shape[1])
    best, gain = None, 0.0
    for lengths, crossing in _step_lengths(working, x, change):
        if lengths is tuning.LENGTHS and best is not None:
            break
        lowest = np.inf
        for length in lengths:
            straight = x + length * change
            stops = crossing <= length * (1.0 + 1e-12)
            value = np.inf
            for there in (straight, np.where(stops, 0.0, straight))[: 1 + int(stops.any())]:
                moved: Array = there - x
                after = blocks_cost(penalty, working.blocks, working.starts, there.ravel(), x.shape[1])
                here = model(moved, length) + after - before
                value = min(value, here)
                if here < gain:
                    best, gain = moved, here
                if gain <= -tuning.KEPT_PROMISE * promised < 0.0:
                    return best
            if value > lowest and lengths is not tuning.LENGTHS:  # Q is convex: longer steps are worse
                break
            lowest = value
    return best


def _step_lengths(working: Layout, x: Array, change: Array) -> Iterator[tuple[Sequence[float], Array]]:
    """Lengths to try, each with those at which coefficients arrive at 0: one by one, or blocks where nearest."""
    single = np.divide(-x, change, out=np.full(x.shape, np.inf), where=x * change < 0.0)
    yield (1.0,), single
    along = np.add.reduceat((x * change).sum(axis=1), working.starts[:-1])
    square = np.add.reduceat((change**2).sum(axis=1), working.starts[:-1])
    nearest = np.divide(-along, square, out=np.full(along.size, np.inf), where=(along < 0.0) & (square > 0.0))
    whole = np.broadcast_to(np.repeat(nearest, np.diff(working.starts))[:, None], x.shape)
    for crossing in (single, whole):
        ends = np.unique(crossing[crossing < 1.0])
        yield [float(ends[i]) for i in tuning.CROSSINGS if i < ends.size], crossing
    yield tuning.LENGTHS, single


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
            step = _cholesky_solved(matrix, right)
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


def _cholesky_solved(matrix: Array, right: Array) -> Array | None:
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


def direct_newton(
    block: Array, curvature: Curvature, found: Pieces, starts: Array, right: Array, right_constant: Array | None
) -> tuple[Array, Array] | None:
    """The step of the coefficients and of the intercepts; None where the matrix is not positive definite.

    ``block`` holds the columns of the working set; ``right_constant`` is None without an intercept.
    """
    m, outputs = right.shape
    wide = block if right_constant is None else np.c_[block, np.ones(block.shape[0])]
    rows = wide.shape[1]
    is_free = np.zeros((outputs, rows), dtype=np.bool_)
    is_free[:, :m], is_free[:, m:] = found.is_free.T, True
    listed = [np.flatnonzero(one) for one in is_free]
    positions = np.concatenate([[0], np.cumsum([one.size for one in listed])])
    matrix = np.zeros((positions[-1], positions[-1]))
    for t in range(outputs):
        for other in range(t + 1):
            weight = curvature.own[:, t] if other == t else np.zeros(wide.shape[0])
            if curvature.shared is not None:
                weight = weight - curvature.shared[:, t] * curvature.shared[:, other]
            part = wide[:, listed[t]].T @ (weight[:, None] * wide[:, listed[other]])
            matrix[positions[t] : positions[t + 1], positions[other] : positions[other + 1]] = part
    _add_penalty(matrix, found, starts, listed, positions, m)
    sides = [right[one[one < m], t] for t, one in enumerate(listed)]
    if right_constant is not None:
        sides = [np.append(side, right_constant[t]) for t, side in enumerate(sides)]
    solved = _regularised_solved(matrix, np.concatenate(sides))
    if solved is None:
        return None
    step = np.zeros((outputs, rows))
    step[is_free] = solved
    return step[:, :m].T.copy(), step[:, m] if right_constant is not None else np.zeros(outputs)


def direct_newton_of_gram(gram: Array, found: Pieces, starts: Array, right: Array) -> Array | None:
    """The same from products of columns, which all outputs share: where outputs have other free coefficients each."""
    is_free = found.is_free.T
    listed = [np.flatnonzero(one) for one in is_free]
    positions = np.concatenate([[0], np.cumsum([one.size for one in listed])])
    matrix = np.zeros((positions[-1], positions[-1]))
    for t, one in enumerate(listed):
        matrix[positions[t] : positions[t + 1], positions[t] : positions[t + 1]] = gram[np.ix_(one, one)]
    _add_penalty(matrix, found, starts, listed, positions, gram.shape[0])
    solved = _regularised_solved(matrix, np.concatenate([right[one, t] for t, one in enumerate(listed)]))
    if solved is None:
        return None
    step = np.zeros(is_free.shape)
    step[is_free] = solved
    return step.T.copy()


def wide_newton(block: Array, weight: Array, found: Free, right: Array) -> Array | None:
    """Newton's step for columns that outnumber the samples, H = diag(weight); None where it is not to be had."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    scaled = np.sqrt(weight)[:, None] * block
    floor = tuning.WIDE_SHIFT * np.einsum("kj,kj->j", scaled, scaled)
    root = np.sqrt(np.maximum(found.kappa + found.ridge, np.where(floor > 0.0, floor, 1.0)))
    scaled /= root
    inner = scaled @ scaled.T
    inner[np.diag_indices_from(inner)] += 1.0
    try:
        across = solve_triangular(cholesky(inner, lower=True), scaled, lower=True)
    except (LinAlgError, ValueError):
        return None

    def solve(sides: Array) -> Array:
        plain = sides / root[:, None]
        solved: Array = (plain - across.T @ (across @ plain)) / root[:, None]
        return solved

    first, unit = solve(right), found.unit / root[:, None]
    bent = np.flatnonzero(found.kappa[found.starts] > 0.0)
    if bent.size == 0:
        return first
    small = _inner_products(across, unit, found.starts)
    along = shares_of_kinks(small, first, found.kappa[found.starts], found.unit, found.starts, bent)
    return None if along is None else first + solve(along)


def _inner_products(across: Array, unit: Array, starts: Array) -> Array:
    """Σ_t over rows i of one block and j of another of (I − WᵀW)_ij u_it u_jt."""
    if unit.shape[1] > 1:
        inverse = -(across.T @ across)
        inverse[np.diag_indices_from(inverse)] += 1.0
        return sums_of_blocks(inverse * (unit @ unit.T), starts)
    sums = np.add.reduceat(across * unit[:, 0], starts, axis=1)
    return np.diag(np.add.reduceat(unit[:, 0] ** 2, starts)) - sums.T @ sums


def sums_of_blocks(matrix: Array, starts: Array) -> Array:
    """The sum of each block of rows and columns."""
    if starts.size == matrix.shape[0]:
        return matrix
    sums: Array = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    return sums


def shares_of_kinks(small: Array, first: Array, kink: Array, unit: Array, starts: Array, bent: Array) -> Array | None:
    """What the parts along x̂, one rank a block with a kink, add to the right side; None where that has no sense.

    ``small`` is Ûᵀ(K⁻¹⊗I)Û, one row a block, and ``first`` the step without these parts.
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    factor, failed = dpotrf(np.diag(1.0 / kink[bent]) - small[np.ix_(bent, bent)], lower=1)
    if failed:
        return None
    share = np.zeros(starts.size)
    share[bent] = dpotrs(factor, np.add.reduceat((unit * first).sum(axis=1), starts)[bent], lower=1)[0]
    sizes = np.diff(np.append(starts, unit.shape[0]))
    along: Array = np.repeat(share, sizes)[:, None] * unit
    return along


def _regularised_solved(matrix: Array, right: Array) -> Array | None:
    """By Cholesky's method; a matrix that is not regular (the same constant for all classes) is made so."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = np.diagonal(matrix).copy()
    size = float(np.mean(diagonal)) if diagonal.size else 1.0
    for shift in tuning.BLOCK_SHIFTS[1:]:
        np.fill_diagonal(matrix, diagonal + shift * (diagonal + size))
        try:
            solved: Array = cho_solve(cho_factor(matrix, lower=True), right)
        except (LinAlgError, ValueError):
            continue
        if np.isfinite(solved).all():
            return solved
    return None


def _add_penalty(matrix: Array, found: Pieces, starts: Array, listed: list[Array], positions: Array, m: int) -> None:
    """κ_b(I − x̂_b x̂_bᵀ) + m_b·I, in the lower half."""
    block_of = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    for t, one in enumerate(listed):
        mine = one[one < m]
        here = positions[t] + np.arange(mine.size)
        matrix[here, here] += found.kappa[mine] + found.ridge[mine]
        for other in range(t + 1):
            theirs = listed[other][listed[other] < m]
            bent = (block_of[mine][:, None] == block_of[theirs][None, :]) & (found.kappa[mine] > 0.0)[:, None]
            if bent.any():
                product = np.outer(found.unit[mine, t] * found.kappa[mine], found.unit[theirs, other])
                there = positions[other] + np.arange(theirs.size)
                matrix[np.ix_(here, there)] -= np.where(bent, product, 0.0)
