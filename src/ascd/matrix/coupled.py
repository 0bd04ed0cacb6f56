"""Gram matrices of a loss that couples outputs, H_k = diag(h_k) − r_k r_kᵀ, for all coefficients (j, t) of few columns:

    G[(j, t), (j', t')] = Σ_k a_kj a_kj'·(δ_tt' h_kt − r_kt r_kt').

Dense columns are multiplied as matrices, so many rows at a time as stay in the cache; of sparse ones each row adds H_k
to the pairs of its own entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.matrix.prices import COUPLED_AT_ONCE, LANES


def gram_of_block(block: Array, own_curvature: Array, shared: Array | None) -> Array:
    """G for the columns of a dense block."""
    (d, m), outputs = block.shape, own_curvature.shape[1]
    gram, step = np.zeros((m * outputs, m * outputs)), max(1, COUPLED_AT_ONCE // (m * outputs))
    for start in range(0, d, step):
        some, own = block[start : start + step], own_curvature[start : start + step]
        if shared is not None:
            across = some[:, :, None] * shared[start : start + step, None, :]
            across = across.reshape(some.shape[0], m * outputs)
            gram -= across.T @ across
        for t in range(outputs):
            gram[t::outputs, t::outputs] += some.T @ (own[:, t, None] * some)
    return gram


def gram_of_rows(rows: Any, m: int, own: Array, shared: Array | None, ones: bool) -> Array:
    """G for m sparse columns, whose names are 0 .. m − 1, and a last one of ones where these are wanted."""
    outputs = own.shape[1]
    shared = np.zeros(own.shape) if shared is None else shared
    count, pairs = outputs * (outputs + 1) // 2, (m + ones) * (m + ones + 1) // 2
    sums, room = np.zeros((pairs, -(-count // LANES) * LANES)), np.zeros(-(-count // LANES) * LANES)
    add_pairs(rows, own, shared, room, sums, m if ones else -1)
    gram = np.empty(((m + ones) * outputs, (m + ones) * outputs))
    spread_pairs(sums, outputs, gram)
    if ones:  # rows without entries, too
        gram[m * outputs :, m * outputs :] = np.diag(own.sum(axis=0)) - shared.T @ shared
    return gram


@helper
def add_multiple(out: Array, factor: float, values: Array) -> None:
    for q in range(values.size):
        out[q] += factor * values[q]


@kernel
def add_pairs(rows: Any, own: Array, shared: Array, room: Array, sums: Array, ones: int) -> None:
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
