"""Newton's system of a model whose outputs meet, as one dense matrix: for few free coefficients.

With free entries (j, t) and H_k = diag(h_k) − r_k r_kᵀ the Hessian of the smooth part has the entries

    Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt'),

that is, one product A_jᵀ diag(·) A_j' for each pair of outputs; the intercepts are one more column of ones.
"""

from __future__ import annotations

import numpy as np

from ascd._base.checks import Array
from ascd.blocks import tuning
from ascd.blocks.losses import Curvature
from ascd.blocks.pieces import Pieces


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
