"""Costs of blocks, and which blocks surely stay at 0 whatever small gradient they have.

``resting_radii`` of a penalty says how long a gradient may be, block by block, so that the block is optimal at 0: with
‖−∇_b‖ ≤ ρ_b both Ψ_b(0) and Ψ_b*(−∇_b) are 0.  Then two numbers a block, the length of an estimate and the radius of
its error, screen it out.  A penalty without this method has every block examined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.matrix.careful import UNIT


class Resting:
    """One penalty on the blocks that end at ``ends`` in the flat vector of coefficients."""

    def __init__(self, penalty: Any, ends: Array) -> None:
        self.penalty, self.ends = penalty, ends
        self.is_free = unpenalised(penalty, ends)
        self.has_free = bool(self.is_free.any())
        radius = penalty.resting_radii() if hasattr(penalty, "resting_radii") else None
        self.is_known = radius is not None
        longest = float((ends[1:] - ends[:-1]).max())
        # lengths of blocks are sums with rounding errors
        self.radius = None if radius is None else radius * (1.0 - (longest + 16.0) * UNIT)

    def candidates(self, moved: Array, length: Array, radius: Array) -> Array:
        """Return the blocks that are not surely optimal at 0: nonzero ones, and those whose gradient may be long."""
        if self.radius is None:
            return np.arange(moved.size)
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(moved | ~(length + radius <= self.radius))

    def cost(self, x: Array, moved: Array) -> float:
        """Return Σ_b Ψ_b(x_b), for coefficients of which only the blocks in ``moved`` are not 0."""
        if self.radius is None:
            return float(total_cost(self.penalty, x, self.ends))
        return float(cost_of(self.penalty, x, self.ends, np.flatnonzero(moved)))


@helper
def sum_of_costs(penalty: Any, x: Array, ends: Array) -> float:
    """Return Σ_b Ψ_b(x_b)."""
    total = 0.0
    for b in range(ends.size - 1):
        total += penalty.block_cost(x[ends[b] : ends[b + 1]], b)
    return total


total_cost = kernel(sum_of_costs)


@kernel
def cost_of(penalty: Any, x: Array, ends: Array, blocks: Array) -> float:
    """Return Σ Ψ_b(x_b) over some blocks."""
    total = 0.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        total += penalty.block_cost(x[ends[b] : ends[b + 1]], b)
    return total


def unpenalised(penalty: Any, ends: Array) -> Array:
    """Return a mask of blocks that allow no dual product but 0; those with only a bound at 0 allow one sign."""
    found, vector = np.zeros(ends.size - 1, dtype=np.bool_), np.ones(int(np.diff(ends).max()))
    find_unscaled(penalty, ends, vector, found)
    if found.any():
        other = np.zeros(found.size, dtype=np.bool_)
        find_unscaled(penalty, ends, -vector, other)
        found &= other
    return found


@kernel
def find_unscaled(penalty: Any, ends: Array, vector: Array, out: Array) -> None:
    """Mark the blocks that allow no multiple of the vector."""
    for b in range(ends.size - 1):
        out[b] = penalty.block_scale(vector[: ends[b + 1] - ends[b]], 0.0, b) <= 0.0
