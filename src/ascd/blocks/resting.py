"""What is known of a penalty before any gradient: which blocks rest at 0 whatever small gradient they meet.

``resting_radii`` of a penalty says how long a gradient may be, block by block, so that the block surely rests at 0:
with ‖−∇_b‖ ≤ ρ_b both Ψ_b(0) and Ψ_b*(−∇_b) are 0.  Then two numbers a block tell that it rests, and its vectors are
not looked at.  Of a penalty that does not say so every block is looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.blocks.terms import cost_of, total_cost, unpenalised
from ascd.matrix.arithmetic import UNIT


class Resting:
    """One penalty on the blocks that end at ``ends``."""

    def __init__(self, penalty: Any, ends: Array) -> None:
        self.penalty, self.ends = penalty, ends
        self.is_free = unpenalised(penalty, ends)
        self.has_free = bool(self.is_free.any())
        self.is_known = hasattr(penalty, "resting_radii")
        longest = float((ends[1:] - ends[:-1]).max())
        # lengths of blocks are sums with rounding errors
        self.radius = penalty.resting_radii() * (1.0 - (longest + 16.0) * UNIT) if self.is_known else None

    def candidates(self, moved: Array, length: Array, radius: Array) -> Array:
        """Blocks that may not rest: those that are not 0, and those whose gradient may be long."""
        if self.radius is None:
            return np.arange(moved.size)
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(moved | ~(length + radius <= self.radius))

    def cost(self, x: Array, moved: Array) -> float:
        """Σ_b Ψ_b(x_b), for coefficients of which these blocks are not 0."""
        if self.radius is None:
            return float(total_cost(self.penalty, x, self.ends))
        return float(cost_of(self.penalty, x, self.ends, np.flatnonzero(moved)))
