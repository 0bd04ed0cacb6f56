"""Newton's system of a model whose outputs meet, as one dense matrix: for few free coefficients.

With free entries (j, t) and H_k = diag(h_k) − r_k r_kᵀ the Hessian of the smooth part has the entries

    Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt'),

that is, one product A_jᵀ diag(·) A_j' for each pair of outputs; the intercepts are one more column of ones.

Where outputs share the curvatures H and there are more free columns than samples, the matrix K = AᵀHA + D of
``gram_model`` has an inverse from one as large as the samples (Woodbury): with B = H^½AD^(−½) and LLᵀ = I + BBᵀ,

    K⁻¹ = D^(−½)(I − WᵀW)D^(−½),      W = L⁻¹B.
"""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd.blocks import tuning
from ascd.blocks.pieces import Free, Pieces
from ascd.problem.losses.outputs import Curvature


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
    places = np.concatenate([[0], np.cumsum([one.size for one in listed])])
    matrix = np.zeros((places[-1], places[-1]))
    for t in range(outputs):
        for other in range(t + 1):
            weight = curvature.own[:, t] if other == t else np.zeros(wide.shape[0])
            if curvature.shared is not None:
                weight = weight - curvature.shared[:, t] * curvature.shared[:, other]
            part = wide[:, listed[t]].T @ (weight[:, None] * wide[:, listed[other]])
            matrix[places[t] : places[t + 1], places[other] : places[other + 1]] = part
    _add_penalty(matrix, found, starts, listed, places, m)
    sides = [right[one[one < m], t] for t, one in enumerate(listed)]
    if right_constant is not None:
        sides = [np.append(side, right_constant[t]) for t, side in enumerate(sides)]
    solved = _solved(matrix, np.concatenate(sides))
    if solved is None:
        return None
    step = np.zeros((outputs, rows))
    step[is_free] = solved
    return step[:, :m].T.copy(), step[:, m] if right_constant is not None else np.zeros(outputs)


def direct_newton_of_gram(gram: Array, found: Pieces, starts: Array, right: Array) -> Array | None:
    """The same from products of columns, which all outputs share: where outputs have other free coefficients each."""
    is_free = found.is_free.T
    listed = [np.flatnonzero(one) for one in is_free]
    places = np.concatenate([[0], np.cumsum([one.size for one in listed])])
    matrix = np.zeros((places[-1], places[-1]))
    for t, one in enumerate(listed):
        matrix[places[t] : places[t + 1], places[t] : places[t + 1]] = gram[np.ix_(one, one)]
    _add_penalty(matrix, found, starts, listed, places, gram.shape[0])
    solved = _solved(matrix, np.concatenate([right[one, t] for t, one in enumerate(listed)]))
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


def _solved(matrix: Array, right: Array) -> Array | None:
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


def _add_penalty(matrix: Array, found: Pieces, starts: Array, listed: list[Array], places: Array, m: int) -> None:
    """κ_b(I − x̂_b x̂_bᵀ) + m_b·I, in the lower half."""
    block_of = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    for t, one in enumerate(listed):
        mine = one[one < m]
        here = places[t] + np.arange(mine.size)
        matrix[here, here] += found.kappa[mine] + found.ridge[mine]
        for other in range(t + 1):
            theirs = listed[other][listed[other] < m]
            bent = (block_of[mine][:, None] == block_of[theirs][None, :]) & (found.kappa[mine] > 0.0)[:, None]
            if bent.any():
                product = np.outer(found.unit[mine, t] * found.kappa[mine], found.unit[theirs, other])
                there = places[other] + np.arange(theirs.size)
                matrix[np.ix_(here, there)] -= np.where(bent, product, 0.0)
