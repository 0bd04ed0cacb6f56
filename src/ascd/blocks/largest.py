"""The largest eigenvalue of a block's products: L_b = λ_max(A_bᵀHA_b), whose inverse is the length of a prox step.

Where curvatures H never change (least squares) each is computed once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ascd._base.checks import Array
from ascd.blocks import tuning
from ascd.blocks.pieces import Working
from ascd.data.design import Design
from ascd.data.local import as_block


class Largest:
    """L_b of blocks, kept where ``keeps``."""

    def __init__(self, design: Design, count: int, keeps: bool) -> None:
        self.design, self.keeps, self.known = design, keeps, np.full(count, np.nan)

    def of_gram(self, working: Working, gram: Array) -> Array:
        """From products of all columns of the working set."""

        def products(first: Array, size: int) -> Array:
            rows = first[:, None] + np.arange(size)
            found: Array = gram[rows[:, :, None], rows[:, None, :]]
            return found

        return self._of(working, lambda first: np.diagonal(gram)[first], products)

    def of_columns(self, working: Working, columns: Array, weight: Array) -> Array:
        """From the columns of the working set, with curvatures at most ``weight``."""
        d = weight.size

        def products(first: Array, size: int) -> Array:
            stack, step = np.empty((first.size, size, size)), max(1, tuning.ENTRIES_AT_ONCE // (d * size))
            for start in range(0, first.size, step):
                some = first[start : start + step]
                places = (some[:, None] + np.arange(size)).ravel()
                block = as_block(self.design.take(columns[places]), d).T.reshape(some.size, size, d)
                np.matmul(block * weight, block.transpose(0, 2, 1), out=stack[start : start + step])
            return stack

        return self._of(working, lambda first: self.design.squares(weight, columns[first]), products)

    def _of(
        self, working: Working, squares: Callable[[Array], Array], products: Callable[[Array, int], Array]
    ) -> Array:
        if not self.keeps:
            self.known[working.blocks] = np.nan
        new = np.flatnonzero(np.isnan(self.known[working.blocks]))
        sizes = np.diff(working.starts)
        for size in sorted(set(sizes[new].tolist())):
            some = new[sizes[new] == size]
            first = working.starts[some]
            largest = squares(first) if size == 1 else largest_values(products(first, size))
            self.known[working.blocks[some]] = tuning.ABOVE_LARGEST * largest
        return held(self.known[working.blocks])


def largest_values(stack: Array) -> Array:
    """The largest eigenvalues of symmetric matrices, infinite where entries have overflowed."""
    is_finite = np.isfinite(stack).all(axis=(1, 2))
    largest = np.full(stack.shape[0], np.inf)
    largest[is_finite] = np.linalg.eigvalsh(stack[is_finite])[:, -1]
    return largest


def held(curvature: Array) -> Array:
    """Curvatures of blocks, positive also where all columns are 0: there the penalty alone decides."""
    if (curvature > 0.0).all():
        return curvature
    largest = float(curvature.max(initial=0.0))
    return np.where(curvature > 0.0, curvature, 1e-9 * largest if largest > 0.0 else 1.0)
