"""The model of a loss whose outputs meet, as one matrix of products: for few coefficients.

With H_k = diag(h_k) − r_k r_kᵀ the coefficients (j, t) of a working set have the Hessian

    G[(j, t), (j', t')] = Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt').

So the model is one of a single output whose blocks have T times as many rows, and ``GramModel`` minimises it.
Constants are eliminated: C has their products with the coefficients, M those among themselves, and slopes sum to 0
where the model is made,

    G − CᵀM⁻¹C,      δ = −M⁻¹CΔ.
"""

from __future__ import annotations

import numpy as np

from ascd._base.checks import Array
from ascd.blocks.losses import Curvature
from ascd.blocks.pieces import Working
from ascd.blocks.softmax import solve_singular


def flat(working: Working) -> Working:
    """The same blocks with one output: coefficient (j, t) is row jT + t."""
    count = working.places.size * working.outputs
    return Working(working.blocks, working.starts * working.outputs, np.arange(count), 1)


def coupled_gram(block: Array, curvature: Curvature) -> Array:
    """G for the columns of a dense block."""
    (d, m), outputs = block.shape, curvature.own.shape[1]
    gram = np.zeros((m * outputs, m * outputs))
    if curvature.shared is not None:
        across = (block[:, :, None] * curvature.shared[:, None, :]).reshape(d, m * outputs)
        np.matmul(across.T, across, out=gram)
        np.negative(gram, out=gram)
    for t in range(outputs):
        gram[t::outputs, t::outputs] += block.T @ (curvature.own[:, t, None] * block)
    return gram


def without_constants(block: Array, curvature: Curvature) -> tuple[Array, Array]:
    """G with the constants at their best after every step, and the matrix that takes a step to their change."""
    whole = coupled_gram(np.c_[block, np.ones(block.shape[0])], curvature)
    size = block.shape[1] * curvature.own.shape[1]
    crossed = whole[size:, :size]
    change = -solve_singular(whole[size:, size:], crossed)
    return whole[:size, :size] + crossed.T @ change, change
