"""The model of a loss whose outputs meet, as one matrix of products: for few coefficients.

With H_k = diag(h_k) − r_k r_kᵀ the coefficients (j, t) of a working set have the Hessian

    G[(j, t), (j', t')] = Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt').

So the model is one of a single output whose blocks have T times as many rows, and ``GramModel`` minimises it.  Dense
columns are multiplied as matrices, so many rows at a time as stay in the cache; of sparse ones each row adds H_k to
the pairs of its own entries.

Constants are a last column of ones, and are eliminated: C has their products with the coefficients, M those among
themselves, and slopes sum to 0 where the model is made,

    G − CᵀM⁻¹C,      δ = −M⁻¹CΔ.
"""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.blocks.losses import Curvature
from ascd.blocks.pieces import Working
from ascd.blocks.softmax import solve_singular
from ascd.blocks.tuning import COUPLED_AT_ONCE, LANES, SPARSE_COUPLED
from ascd.matrix.base import Part, as_block
from ascd.matrix.sparse import CSC, Rows, rows_of


def flat(working: Working) -> Working:
    """The same blocks with one output: coefficient (j, t) is row jT + t."""
    count = working.places.size * working.outputs
    return Working(working.blocks, working.starts * working.outputs, np.arange(count), 1)


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
