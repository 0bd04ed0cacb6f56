"""The curvature L_b of a block's prox steps, whose inverse is their length: λ_max(A_bᵀHA_b), or nearly.

A prox step of the length 1/L lowers a convex model by (L − λ_max/2)·‖step‖² at least, so L need not bound λ_max: more
than half of it is enough.  The power method comes near λ_max from below at little cost, and half of a norm that is
easily had (the largest sum of the sizes in a row, or Frobenius') is never below half of it.

Where curvatures H never change (least squares) each is computed once.
"""

from __future__ import annotations

import math

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.blocks import tuning
from ascd.blocks.pieces import Working
from ascd.blocks.tuning import ABOVE_HALF, ABOVE_POWER, CURVATURE_STEPS
from ascd.matrix.base import Design, as_block


class Largest:
    """L_b of blocks, kept where ``keeps``."""

    def __init__(self, design: Design, count: int, keeps: bool) -> None:
        self.design, self.keeps, self.known = design, keeps, np.full(count, np.nan)

    def of_gram(self, working: Working, gram: Array) -> Array:
        """From products of all columns of the working set."""
        new = self._new(working)
        found = np.empty(new.size)
        fill_curvatures(gram, working.starts, new, np.empty((2, gram.shape[0])), found)
        return self._keep(working, new, found)

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

        new, sizes = self._new(working), np.diff(working.starts)
        found = np.empty(new.size)
        for size in sorted(set(sizes[new].tolist())):
            some = sizes[new] == size
            first = working.starts[new[some]]
            if size == 1:
                found[some] = self.design.squares(weight, columns[first])
            else:
                found[some] = largest_values(products(first, size))
        return self._keep(working, new, found)

    def _new(self, working: Working) -> Array:
        """Blocks of the working set whose curvature is not known."""
        if not self.keeps:
            return np.arange(working.blocks.size)
        return np.flatnonzero(np.isnan(self.known[working.blocks]))

    def _keep(self, working: Working, new: Array, found: Array) -> Array:
        self.known[working.blocks[new]] = found
        return held(self.known[working.blocks])


@helper
def step_curvature(matrix: Array, one: Array, other: Array) -> float:
    """More than half of a symmetric matrix's largest eigenvalue, and near it; inf where entries have overflowed."""
    size, top, most, square, start = matrix.shape[0], 0.0, 0.0, 0.0, 0
    for i in range(size):
        if matrix[i, i] > top:
            top, start = matrix[i, i], i
    if size == 1 or not 0.0 < top < math.inf:
        return top
    for i in range(size):
        total, squares = 0.0, 0.0
        for j in range(size):
            entry = matrix[i, j] / top
            total += abs(entry)
            squares += entry * entry
        most = max(most, total)
        square += squares
    bound = min(most, math.sqrt(square))
    if not bound < math.inf:
        return math.inf
    for i in range(size):
        one[i] = matrix[start, i] / top
    found = 1.0
    for _ in range(CURVATURE_STEPS):
        length, along = 0.0, 0.0
        for i in range(size):
            product = 0.0
            for j in range(size):
                product += matrix[i, j] * one[j]
            other[i] = product / top
        for i in range(size):
            length += one[i] * one[i]
            along += one[i] * other[i]
        found = max(found, along / length)
        for i in range(size):
            one[i] = other[i] / found
    return top * min(max(ABOVE_POWER * found, ABOVE_HALF * bound), bound)


@kernel
def fill_curvatures(gram: Array, starts: Array, blocks: Array, rooms: Array, out: Array) -> None:
    """``step_curvature`` of some blocks, from products of all columns."""
    for i in range(blocks.size):
        first, last = wide(starts[blocks[i]]), wide(starts[blocks[i] + 1])
        out[i] = step_curvature(gram[first:last, first:last], rooms[0, : last - first], rooms[1, : last - first])


@kernel
def fill_largest(stack: Array, rooms: Array, out: Array) -> None:
    for i in range(out.size):
        out[i] = step_curvature(stack[i], rooms[0], rooms[1])


def largest_values(stack: Array) -> Array:
    """``step_curvature`` of symmetric matrices."""
    out = np.empty(stack.shape[0])
    fill_largest(stack, np.empty((2, stack.shape[1])), out)
    return out


def held(curvature: Array) -> Array:
    """Curvatures of blocks, positive also where all columns are 0: there the penalty alone decides."""
    if (curvature > 0.0).all():
        return curvature
    largest = float(curvature.max(initial=0.0))
    return np.where(curvature > 0.0, curvature, 1e-9 * largest if largest > 0.0 else 1.0)
