"""A ball for the gradient of every block, from the columns read so far.

A block read when the raw gradient was V_r, a *reference*, left its products G = A_bᵀV_r behind.  For the present raw
gradient V = s·V_r + E with E ⟂ V_r the gradient of the block is s·G + A_bᵀE, and by Cauchy and Schwarz

    ‖A_bᵀV − s·G‖  ≤  ‖E‖·‖A_b‖,

whatever the loss.  With an intercept the raw gradients sum to zero, but for rounding, and the means m_b of the columns
are taken out too: the gradient is within ‖A_b − 1m_bᵀ‖·‖E‖ + ‖m_b‖·‖1ᵀE‖.  Several references are kept and each block
refers to the last one it was read at, so that a block is read again only where its ball leaves a decision open.
Rounding errors are not counted here: the certificate does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd.problem.arithmetic import length_across, products, share_along
from ascd.problem.tuning import SQUARE_ROUNDING
from ascd.solver import tuning


class GradientBounds:
    """Gradients within ``radius`` (one a block) of ``estimate`` (n, T), in the order of the blocks.

    ``update`` makes balls for a raw gradient that has moved, ``read`` exact entries.
    """

    def __init__(self, problem: Any, intercept: bool) -> None:
        self.problem, self.matrix, self.intercept = problem, problem.design, intercept
        (d, n), groups, outputs = problem.design.shape, problem.groups, problem.n_outputs
        self.count, slots = groups.count, tuning.SLOTS
        square, total = problem.column_stats.plain[groups.order], problem.column_stats.total[groups.order]
        mean = total / d if intercept else np.zeros(n)
        if intercept:
            square = np.maximum(square - total**2 / d, 0.0) + SQUARE_ROUNDING * square
        sizes = [square, mean**2]
        if self.count < n:
            sizes = [np.add.reduceat(values, groups.starts[:-1]) for values in sizes]
        self.length, self.mean = map(np.sqrt, sizes)
        self.references = np.zeros((slots, d * outputs))
        self.square, self.total = np.zeros(slots), np.zeros((slots, outputs))  # ‖V_r‖² and the sums of V_r
        self.used = np.zeros(slots, dtype=np.int64)  # blocks that refer to V_r
        self.split = np.zeros((3, slots))  # s, ‖E‖, ‖1ᵀE‖
        self.slot = np.full(self.count, -1, dtype=np.int8)  # -1 for blocks that were never read
        self.product, self.estimate = np.zeros((2, n, outputs))
        self.radius = np.full(self.count, np.inf)
        self.everything = np.arange(self.count)
        self.reads_always = n <= tuning.LARGEST_SET and not (self.matrix.at_once or self.matrix.is_dear)
        self.reads = 0
        self.exact_for: Array | None = None  # the raw gradient at which all blocks were read last, if that is known

    def is_exact(self, gradient: Array) -> bool:
        """Return whether all entries were read at this raw gradient, the array itself.

        A run may be interrupted between a step and ``update``: then the estimates are those of another point.
        """
        return self.exact_for is gradient

    def update(self, gradient: Array) -> None:
        """Make balls for a raw gradient that has moved, without reading a column; or read all, where they are few."""
        if self.reads_always:
            self.read_all(gradient)
            return
        self.exact_for = None
        compare(gradient.ravel(), self.references, self.square, self.used, self.split)
        total = gradient.sum(axis=0)
        for r in np.flatnonzero(self.used) if self.intercept else ():
            self.split[2, r] = float(np.linalg.norm(total - self.split[0, r] * self.total[r]))
        starts = self.problem.groups.starts
        fill_balls(self.slot, self.split, self.length, self.mean, starts, self.product, self.estimate, self.radius)

    def read(self, blocks: Array, gradient: Array, ask: Callable[[Array], Array] | None = None) -> None:
        """Read these blocks at the present raw gradient: their balls become points.

        It becomes a reference, and blocks whose reference it replaces are read too, by ``ask`` where that is given.
        """
        is_all = blocks.size == self.count
        blocks = self.everything if is_all else blocks  # in their order
        here = 0 if is_all else int(self.used.argmin())  # the reference with the fewest blocks is replaced
        if not is_all and self.used[here]:
            leaving = self.slot == here
            leaving[blocks] = True
            blocks = np.flatnonzero(leaving)
        found = None
        if self.reads == 0 and is_all and gradient.shape[1] == 1:
            found = self.problem.products_at(gradient.ravel())
            found = None if found is None else found[self.problem.groups.order, None]
        if found is None:
            order = self.problem.groups.order
            found = ask(blocks) if ask else products(self.matrix, order[self.rows(blocks)], gradient)
        self.set_exact(blocks, found, here, gradient)
        self.reads += found.shape[0]

    def read_all(self, gradient: Array) -> Array:
        """Read all blocks; return their products, an array that later balls overwrite."""
        self.read(self.everything, gradient)
        return self.estimate

    def read_once(self, blocks: Array, gradient: Array) -> None:
        """Read these blocks for the present raw gradient alone; they keep their references."""
        rows = self.rows(blocks)
        found = products(self.matrix, self.problem.groups.order[rows], gradient)
        self.exact_for = self.exact_for if self.is_exact(gradient) else None
        self.estimate[rows] = found
        self.radius[blocks] = 0.0
        self.reads += rows.size

    def rows(self, blocks: Array) -> Array:
        """Return the rows of x that belong to these blocks."""
        return blocks if self.count == self.product.shape[0] else self.problem.groups.columns(blocks)

    def set_exact(self, blocks: Array, found: Array, here: int, gradient: Array) -> None:
        """Let these blocks refer to this raw gradient, in slot ``here``, with the products ``found`` (m, T)."""
        flat, is_exact = gradient.ravel(), self.is_exact(gradient) or blocks is self.everything
        self.exact_for = None
        self.references[here], self.total[here] = flat, gradient.sum(axis=0)
        self.square[here] = float(np.einsum("i,i->", flat, flat))  # the same bits with any number of threads
        if blocks is self.everything:
            self.slot[:], self.radius[:], self.used[:], self.used[here] = here, 0.0, 0, self.count
            self.product[:] = self.estimate[:] = found
        else:
            keep_exact(
                blocks, self.rows(blocks), np.ascontiguousarray(found), here, self.slot, self.used, self.product,
                self.estimate, self.radius,
            )  # fmt: skip
        self.exact_for = gradient if is_exact else None


@kernel
def compare(gradient: Array, references: Array, square: Array, used: Array, split: Array) -> None:
    """Fill in s and ‖E‖ of the raw gradient for every reference that blocks refer to."""
    size = 0.0
    for k in range(gradient.size):
        size += gradient[k] * gradient[k]
    for r in range(used.size):
        if used[r] > 0:
            product, rest = 0.0, 0.0
            for k in range(gradient.size):
                product += references[r, k] * gradient[k]
            along = share_along(product, square[r])
            for k in range(gradient.size):
                away = gradient[k] - along * references[r, k]
                rest += away * away
            split[0, r], split[1, r] = along, length_across(rest, SQUARE_ROUNDING * SQUARE_ROUNDING * size, size)


@kernel
def keep_exact(
    blocks: Array, rows: Array, found: Array, here: int, slot: Array, used: Array, product: Array, estimate: Array,
    radius: Array,
) -> None:  # fmt: skip
    """Let these blocks refer to the raw gradient in this slot, with the products ``found`` of their rows."""
    for i in range(blocks.size):
        b = wide(blocks[i])
        if slot[b] >= 0:
            used[wide(slot[b])] -= 1
        slot[b], radius[b] = here, 0.0
    used[wide(here)] += blocks.size
    for i in range(rows.size):
        for t in range(found.shape[1]):
            product[wide(rows[i]), t] = found[i, t]
            estimate[wide(rows[i]), t] = found[i, t]


@kernel
def fill_balls(
    slot: Array, split: Array, length: Array, mean: Array, starts: Array, product: Array, estimate: Array, radius: Array
) -> None:
    """Fill in the balls of all blocks, from the references that they refer to; slot -1 stands for none.

    Loops without branches: several blocks go through them at a time.
    """
    for number in range(slot.size):
        b = wide(number)
        r = wide(max(slot[b], 0))
        width = split[1, r] * length[b] + split[2, r] * mean[b]
        radius[b] = width if slot[b] >= 0 else np.inf
    if product.size == slot.size:
        for number in range(slot.size):
            j = wide(number)
            estimate[j, 0] = split[0, wide(max(slot[j], 0))] * product[j, 0]
    else:
        for b in range(slot.size):
            for j in range(wide(starts[b]), wide(starts[b + 1])):
                for t in range(product.shape[1]):
                    estimate[j, t] = split[0, wide(max(slot[b], 0))] * product[j, t]
