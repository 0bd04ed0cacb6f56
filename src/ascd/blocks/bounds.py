"""A ball for the gradient of every block, from the blocks read so far.

A block read when the slope was V_r left its products G = A_bᵀV_r behind.  For the present slope V = s·V_r + E with
E ⟂ V_r the gradient is s·G + A_bᵀE, so it is within ‖A_b‖·‖E‖ of s·G.  With one output the part of A_b along V_r is
taken out of ‖A_b‖², which is ‖G‖²/‖V_r‖².  With an intercept the slopes sum to 0, but for rounding, and the means m_b
of the columns are taken out too: the gradient is within ‖A_b − 1m_bᵀ‖·‖E‖ + ‖m_b‖·‖1ᵀE‖.  Several V_r are remembered,
and each block refers to the last one it was read at.
"""

from __future__ import annotations

import math

import numpy as np

from ascd._base.checks import Array
from ascd.blocks.lengths import norm
from ascd.blocks.problem import BlockProblem
from ascd.blocks.products import products
from ascd.blocks.terms import fill_lengths
from ascd.blocks.tuning import BLOCK_SLOTS
from ascd.data.careful import UNIT


class GradientBounds:
    """``estimate`` (n, T) within ``radius`` (one a block); rounding errors are part of the radius."""

    def __init__(self, problem: BlockProblem, intercept: bool) -> None:
        self.problem, self.intercept = problem, intercept
        groups, (d, _) = problem.groups, problem.design.shape
        square = problem.survey.plain[groups.order]
        self.whole = np.sqrt(np.add.reduceat(square, groups.starts[:-1]))
        self.mean = np.zeros(groups.count)
        if intercept:
            mean = problem.survey.total[groups.order] / d
            square = np.maximum(square - d * mean**2, 0.0) + 1e-12 * square
            self.mean = np.sqrt(np.add.reduceat(mean**2, groups.starts[:-1]))
        self.square = np.add.reduceat(square, groups.starts[:-1])
        self.width = np.sqrt(self.square)
        self.slot = np.full(groups.count, -1)
        self.kept: list[Array] = [np.empty(0)] * BLOCK_SLOTS
        self.count = np.zeros(BLOCK_SLOTS, dtype=np.int64)
        self.product = np.zeros((problem.n_features, problem.n_outputs))
        self.estimate, self.radius = self.product.copy(), np.full(groups.count, math.inf)
        self.noise = (d + 8.0) * UNIT
        self.reads = 0

    def locate(self, slope: Array) -> None:
        """Balls for a slope that has moved, without reading a column."""
        share, away, total, size = np.zeros((4, BLOCK_SLOTS + 1))  # the last for blocks that were never read
        here = norm(slope)
        for r in np.flatnonzero(self.count):
            kept = self.kept[r]
            length = norm(kept)
            share[r] = float(np.vdot(kept / length, slope / length)) if length > 0.0 else 0.0
            rest = slope - share[r] * kept
            away[r] = norm(rest) * (1.0 + 1e-9) + 4.0 * UNIT * here
            total[r] = norm(rest.sum(axis=0)) + self.noise * here if self.intercept else 0.0
            size[r] = here + abs(share[r]) * length
        slot = self.slot
        self.radius = away[slot] * self.width + total[slot] * self.mean + 2.0 * self.noise * size[slot] * self.whole
        self.radius[slot < 0] = math.inf
        self.estimate = np.repeat(share[slot], self.problem.groups.sizes)[:, None] * self.product

    def read(self, blocks: Array, slope: Array) -> None:
        """Read these blocks at the present slope: what is left of their radius is rounding."""
        groups = self.problem.groups
        here = int(self.count.argmin())
        if blocks.size == groups.count:
            self.count[:] = 0
        elif self.count[here]:  # the reference that the fewest blocks refer to goes: they are read too
            leaving = self.slot == here
            leaving[blocks] = True
            blocks = np.flatnonzero(leaving)
        places = np.arange(groups.order.size) if blocks.size == groups.count else groups.columns(blocks)
        found = products(self.problem.design, groups.order[places], slope)
        length = norm(slope)
        self.product[places] = self.estimate[places] = found
        self.radius[blocks] = self.noise * length * self.whole[blocks]
        if blocks.size < groups.count:
            used = self.slot[blocks]
            np.subtract.at(self.count, used[used >= 0], 1)
        self.slot[blocks] = here
        self.count[here] += blocks.size
        self.kept[here] = slope.copy()
        self.reads += places.size
        if slope.shape[1] == 1 and length > 0.0:
            self._take_out(blocks, slope, length)

    def _take_out(self, blocks: Array, slope: Array, length: float) -> None:
        """With one output the part of the columns along the slope is known: it is not in what lies across."""
        lengths = np.empty(self.slot.size)
        fill_lengths(self.product.ravel(), self.problem.groups.starts, lengths)
        off = self.mean[blocks] * abs(float(slope.sum())) + self.radius[blocks]
        along = np.maximum(0.0, lengths[blocks] - off) / length
        square = self.square[blocks]
        self.width[blocks] = np.sqrt(np.maximum(square - along**2, 0.0) + 1e-12 * square)

    def read_all(self, slope: Array) -> None:
        self.read(np.arange(self.slot.size), slope)
