"""The curvature L_b of a block's prox steps, whose inverse is their length: λ_max(A_bᵀHA_b), or nearly.

A prox step of the length 1/L lowers a convex model by (L − λ_max/2)·‖step‖² at least, so L need not bound λ_max: more
than half of it is enough.  The power method comes near λ_max from below at little cost, and half of a norm that is
easily had (the largest sum of the sizes in a row, or Frobenius') is never below half of it.
"""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix, as_block
from ascd.solver import tuning
from ascd.solver.sweeps import fill_curvatures, fill_largest
from ascd.solver.working_set import BlockLayout


class ProxCurvature:
    """L_b of blocks, kept where ``keeps``."""

    def __init__(self, matrix: Matrix, count: int, keeps: bool) -> None:
        self.matrix, self.keeps, self.known = matrix, keeps, np.full(count, np.nan)

    def of_gram(self, layout: BlockLayout, gram: Array) -> Array:
        """From products of all columns of the layout set."""
        new = self._new(layout)
        found = np.empty(new.size)
        fill_curvatures(gram, layout.starts, new, np.empty((2, gram.shape[0])), found)
        return self._keep(layout, new, found)

    def of_columns(self, layout: BlockLayout, columns: Array, weight: Array) -> Array:
        """From the columns of the layout set, with curvatures at most ``weight``."""
        d = weight.size

        def products(first: Array, size: int) -> Array:
            stack, step = np.empty((first.size, size, size)), max(1, tuning.ENTRIES_AT_ONCE // (d * size))
            for start in range(0, first.size, step):
                some = first[start : start + step]
                positions = (some[:, None] + np.arange(size)).ravel()
                block = as_block(self.matrix.take(columns[positions]), d).T.reshape(some.size, size, d)
                np.matmul(block * weight, block.transpose(0, 2, 1), out=stack[start : start + step])
            return stack

        new, sizes = self._new(layout), np.diff(layout.starts)
        found = np.empty(new.size)
        for size in sorted(set(sizes[new].tolist())):
            some = sizes[new] == size
            first = layout.starts[new[some]]
            if size == 1:
                found[some] = self.matrix.squares(weight, columns[first])
            else:
                found[some] = largest_values(products(first, size))
        return self._keep(layout, new, found)

    def _new(self, layout: BlockLayout) -> Array:
        """Blocks of the layout set whose curvature is not known."""
        if not self.keeps:
            return np.arange(layout.blocks.size)
        return np.flatnonzero(np.isnan(self.known[layout.blocks]))

    def _keep(self, layout: BlockLayout, new: Array, found: Array) -> Array:
        self.known[layout.blocks[new]] = found
        return positive(self.known[layout.blocks])


def largest_values(stack: Array) -> Array:
    """``step_curvature`` of symmetric matrices."""
    out = np.empty(stack.shape[0])
    fill_largest(stack, np.empty((2, stack.shape[1])), out)
    return out


def positive(curvature: Array) -> Array:
    """Curvatures of blocks, positive also where all columns are 0: there the penalty alone decides."""
    if (curvature > 0.0).all():
        return curvature
    largest = float(curvature.max(initial=0.0))
    return np.where(curvature > 0.0, curvature, 1e-9 * largest if largest > 0.0 else 1.0)
