"""Sums over blocks: costs, distances from optimality, and the blocks' part of a duality gap.

``ends`` tells where blocks begin and end in the flat vectors of coefficients and gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.blocks.lengths import length_of
from ascd.matrix.arithmetic import UNIT
from ascd.problem.duality import positive_part


@helper
def sum_of_costs(penalty: Any, x: Array, ends: Array) -> float:
    """Σ_b Ψ_b(x_b)."""
    total = 0.0
    for b in range(ends.size - 1):
        total += penalty.block_cost(x[ends[b] : ends[b + 1]], b)
    return total


total_cost = kernel(sum_of_costs)


@kernel
def cost_of(penalty: Any, x: Array, ends: Array, blocks: Array) -> float:
    """Σ Ψ_b(x_b) over some blocks."""
    total = 0.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        total += penalty.block_cost(x[ends[b] : ends[b + 1]], b)
    return total


@kernel
def fill_distances(penalty: Any, x: Array, g: Array, ends: Array, blocks: Array, out: Array) -> float:
    """out_b = the distance of −g_b from ∂Ψ_b(x_b) for some blocks; the largest."""
    most = 0.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        out[b] = penalty.block_distance(x[ends[b] : ends[b + 1]], g[ends[b] : ends[b + 1]], b)
        most = max(most, out[b])
    return most


@helper
def scale_of_blocks(penalty: Any, g: Array, radius: Array, ends: Array, blocks: Array, room: Array) -> float:
    """The largest s in [0, 1] for which all Ψ_b*(−s·g_b) are finite, for g_b within the radius."""
    scale = 1.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        first, last = ends[b], ends[b + 1]
        for p in range(first, last):
            room[p - first] = -g[p]
        scale = min(scale, penalty.block_scale(room[: last - first], radius[b], b))
    return scale


largest_allowed_scale = kernel(scale_of_blocks)


@helper
def terms_of_blocks(
    penalty: Any, x: Array, g: Array, radius: Array, ends: Array, blocks: Array, scale: float, room: Array
) -> tuple[float, float]:
    """Σ_b Ψ_b(x_b) + Ψ_b*(−s·g_b) + s⟨x_b, g_b⟩, the largest for g_b within the radius; and the size of the terms."""
    gap, size = 0.0, 0.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        first, last = ends[b], ends[b + 1]
        product, parts = 0.0, 0.0
        for p in range(first, last):
            room[p - first] = -scale * g[p]
        for p in range(first, last):
            product += x[p] * g[p]
            parts += abs(x[p] * g[p])
        cost = penalty.block_cost(x[first:last], b)
        width = scale * radius[b]
        term = cost + penalty.block_conjugate(room[: last - first], width, b) + scale * product
        gap += positive_part(term + width * length_of(x[first:last]) * (1.0 + 1e-12))
        size += (last - first + 8.0) * (abs(cost) + scale * parts)
    return gap, UNIT * size


add_terms = kernel(terms_of_blocks)


@helper
def list_open(
    penalty: Any, x: Array, g: Array, radius: Array, ends: Array, blocks: Array, room: Array, out: Array
) -> int:
    """List those of these blocks that are not surely at rest at 0: the terms of the others are 0 at every scale."""
    count = 0
    for i in range(blocks.size):
        b = wide(blocks[i])
        first, last = ends[b], ends[b + 1]
        rests = radius[b] < math.inf
        p = first
        while rests and p < last:
            rests = x[p] == 0.0
            p += 1
        if rests:
            rests = penalty.block_cost(x[first:last], b) == 0.0
        if rests:
            for p in range(first, last):
                room[p - first] = -g[p]
            rests = penalty.block_conjugate(room[: last - first], radius[b], b) == 0.0
        out[count] = b
        count += 0 if rests else 1
    return count


fill_open = kernel(list_open)


def unpenalised(penalty: Any, ends: Array) -> Array:
    """Which blocks allow no dual product but 0?  Those with a bound at 0 and nothing else allow one sign."""
    found, vector = np.zeros(ends.size - 1, dtype=np.bool_), np.ones(int(np.diff(ends).max()))
    find_unscaled(penalty, ends, vector, found)
    if found.any():
        other = np.zeros(found.size, dtype=np.bool_)
        find_unscaled(penalty, ends, -vector, other)
        found &= other
    return found


@kernel
def find_unscaled(penalty: Any, ends: Array, vector: Array, out: Array) -> None:
    """Which blocks allow no multiple of the vector?"""
    for b in range(ends.size - 1):
        out[b] = penalty.block_scale(vector[: ends[b + 1] - ends[b]], 0.0, b) <= 0.0


@helper
def weight_of_rows(x: Array, weight: Array) -> tuple[float, int]:
    """Σ_j weight_j·‖x_j‖ over the rows of x, and how many of these are not 0."""
    total, count = 0.0, 0
    for j in range(weight.size):
        length = length_of(x[j])
        if length > 0.0:
            total += weight[j] * length
            count += 1
    return total, count


weigh_rows = kernel(weight_of_rows)


@kernel
def fill_lengths(g: Array, ends: Array, blocks: Array, out: Array) -> None:
    """out_b = ‖g_b‖ for some blocks."""
    for i in range(blocks.size):
        b = wide(blocks[i])
        out[b] = length_of(g[ends[b] : ends[b + 1]])
