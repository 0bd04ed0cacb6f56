"""A ball for the gradient of every block, from the blocks read so far.

A block read when the slope was V_r left its products G = A_bᵀV_r behind.  For the present slope V = s·V_r + E with
E ⟂ V_r the gradient is s·G + A_bᵀE, so it is within ‖A_b‖·‖E‖ of s·G.  With one output the part of A_b along V_r is
taken out of ‖A_b‖², which is ‖G‖²/‖V_r‖².  With an intercept the slopes sum to 0, but for rounding, and the means m_b
of the columns are taken out too: the gradient is within ‖A_b − 1m_bᵀ‖·‖E‖ + ‖m_b‖·‖1ᵀE‖.  Several V_r are remembered,
and each block refers to the last one it was read at.

For all blocks there are two numbers, |s|·‖G‖ and the radius: they tell of nearly all blocks that these rest.  The
vectors s·G are written down where they are asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd.blocks.lengths import distance_from_multiple, lengths_of_blocks, norm
from ascd.blocks.problem import BlockProblem
from ascd.blocks.products import products
from ascd.blocks.terms import fill_lengths
from ascd.blocks.tuning import BLOCK_SLOTS, FEW_BLOCKS
from ascd.matrix.arithmetic import UNIT


class GradientBounds:
    """Gradients within ``radius`` (one a block) of ``estimate`` (n, T); rounding errors are part of the radius.

    ``length`` bounds ‖estimate_b‖; the estimate itself is there for blocks that ``show`` was asked for.  ``product`` is
    what a block had when it was read.
    """

    def __init__(self, problem: BlockProblem, intercept: bool) -> None:
        self.problem, self.intercept = problem, intercept
        groups, (d, _) = problem.groups, problem.design.shape
        square = problem.survey.plain[groups.order]
        self.whole = np.sqrt(np.add.reduceat(square, groups.starts[:-1]))
        self.column_norm = problem.norm[groups.order]
        self.norm = lengths_of_blocks(self.column_norm[:, None], groups.starts)
        self.mean = np.zeros(groups.count)
        if intercept:
            mean = problem.survey.total[groups.order] / d
            square = np.maximum(square - d * mean**2, 0.0) + 1e-12 * square
            self.mean = np.sqrt(np.add.reduceat(mean**2, groups.starts[:-1]))
        self.square = np.add.reduceat(square, groups.starts[:-1])
        self.width = np.sqrt(self.square)
        self.ends = problem.ends
        self.longest = problem.longest
        self.slot = np.full(groups.count, -1)
        self.kept: list[Reference] = [Reference(np.zeros((d, problem.n_outputs)))] * BLOCK_SLOTS
        self.count = np.zeros(BLOCK_SLOTS, dtype=np.int64)
        self.product, self.estimate = np.zeros((2, problem.n_features, problem.n_outputs))
        self.size, self.share, self.length = np.zeros((3, groups.count))
        self.radius = np.full(groups.count, math.inf)
        self.noise = (d + 8.0) * UNIT
        self.reads = 0

    def locate(self, slope: Array) -> None:
        """Balls for a slope that has moved, without reading a column."""
        share, away, total, size = np.zeros((4, BLOCK_SLOTS + 1))  # the last for blocks that were never read
        here, sums = norm(slope), slope.sum(axis=0) if self.intercept else np.empty(0)
        for r in np.flatnonzero(self.count):
            kept = self.kept[r]
            along = float(np.vdot(kept.unit, slope))
            share[r] = along / kept.length if kept.length > 0.0 else 0.0
            away[r] = distance_from_multiple(slope, along, kept.unit) * (1.0 + 1e-9) + 4.0 * UNIT * here
            total[r] = norm(sums - along * kept.sums) + self.noise * here if self.intercept else 0.0
            size[r] = here + abs(along)
        slot = self.slot
        self.radius = away[slot] * self.width + 2.0 * self.noise * size[slot] * self.whole
        if self.intercept:
            self.radius += total[slot] * self.mean
        self.radius[slot < 0] = math.inf
        self.share = share[slot]
        self.length = np.abs(self.share) * self.size

    def show(self, blocks: Array) -> None:
        """Write down the estimates of these blocks."""
        scale_blocks(self.product.ravel(), self.share, self.ends, blocks, self.estimate.ravel())

    def read(self, blocks: Array, slope: Array) -> None:
        """Read these blocks at the present slope: what is left of their radius is rounding."""
        groups, is_all = self.problem.groups, blocks.size == self.slot.size
        here = self._place_for(blocks)
        if is_all:
            self.count[:] = 0
        elif self.count[here]:  # blocks that refer to the slope that goes are read too
            leaving = self.slot == here
            leaving[blocks] = True
            blocks = np.flatnonzero(leaving)
        some: Any = blocks if blocks.size < self.slot.size else slice(None)
        places = groups.columns(blocks) if some is blocks else some
        found, reference = products(self.problem.design, groups.order[places], slope), Reference(slope)
        if some is blocks:
            self.product[places] = found
        else:
            self.product = found
        self.radius[some] = self.noise * reference.length * self.whole[some]
        fill_lengths(self.product.ravel(), self.ends, blocks, self.size)
        self.size[some] *= 1.0 + (self.longest + 8.0) * UNIT
        self.length[some], self.share[some] = self.size[some], 1.0
        if not is_all:
            used = self.slot[blocks]
            self.count -= np.bincount(used[used >= 0], minlength=self.count.size)
        self.slot[some] = here
        self.count[here] += blocks.size
        self.kept[here] = reference
        self.reads += found.shape[0]
        self.width[some] = np.sqrt(self.square[some])  # what lay across an earlier slope tells nothing
        if slope.shape[1] == 1 and reference.length > 0.0:
            self._take_out(some, slope, reference.length)

    def _place_for(self, blocks: Array) -> int:
        """The slope that the fewest blocks refer to goes.  A few blocks have a place of their own, the last.

        Else each of many small reads would be one of all the blocks of the smallest place too.
        """
        smallest = int(self.count[:-1].argmin())
        return self.count.size - 1 if blocks.size <= FEW_BLOCKS * self.count[smallest] else smallest

    def _take_out(self, blocks: Any, slope: Array, length: float) -> None:
        """With one output the part of the columns along the slope is known: it is not in what lies across."""
        off = self.mean[blocks] * abs(float(slope.sum())) + self.radius[blocks]
        along = np.maximum(0.0, self.size[blocks] * (1.0 - (2.0 * self.longest + 16.0) * UNIT) - off) / length
        square = self.square[blocks]
        self.width[blocks] = np.sqrt(np.maximum(square - along**2, 0.0) + 1e-12 * square)

    def read_all(self, slope: Array) -> None:
        self.read(np.arange(self.slot.size), slope)


class Reference:
    """A slope that blocks were read at: its length, its direction, and the sums of that."""

    def __init__(self, slope: Array) -> None:
        self.length = norm(slope)
        self.unit = slope / self.length if self.length > 0.0 else np.zeros(slope.shape)
        self.sums = self.unit.sum(axis=0)


@kernel
def scale_blocks(vectors: Array, factor: Array, ends: Array, blocks: Array, out: Array) -> None:
    """out_b = factor_b·vectors_b for some blocks."""
    for i in range(blocks.size):
        b = wide(blocks[i])
        for p in range(ends[b], ends[b + 1]):
            out[p] = factor[b] * vectors[p]
