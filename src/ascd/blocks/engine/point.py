"""Where the descent on blocks stands, and how it moves.

Rules of ``ascd.engine`` speak of coordinates: of their number ``x.size``, of how far ``x[j]`` has moved, and of bounds
on scores.  Here a coordinate is a block b, and

- ``x[b]`` is the way that the block has travelled, Σ‖ΔX_b‖: it changes when the block moves, by ‖ΔX_b‖;
- ``intervals.estimate[b]`` is the score at the estimated gradient (``scores``), and the radius is that of a ball around
  this gradient, so that bounds on scores are score ± rate·radius.

The coefficients themselves, the estimated gradients, the image and the slope are flat: rows of T numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.blocks.engine.parts import BlockParts
from ascd.blocks.lengths import length_of
from ascd.engine.intervals import Intervals
from ascd.matrix.columns import dot


class Trail(NamedTuple):
    """The rows that a step changes: how many there are, A_iΔ on them (0 elsewhere), and the slope before."""

    rows: Array
    filled: Array
    is_marked: Array
    image: Array
    slope: Array


class BlockPoint(NamedTuple):
    """What rules, oracles and steps see; the first six as for single coordinates."""

    problem: BlockParts
    x: Array
    image: Array
    slope: Array
    intervals: Intervals
    reads: Array
    coefficients: Array
    gradient: Array
    trail: Trail
    room: Array  # three rows, as long as the longest block

    def partial(self, j: int) -> float:
        """Read the gradient of block j; its score."""
        problem = self.problem
        read_block(problem.matrix, j, self.slope, self.gradient[problem.ends[j] : problem.ends[j + 1]])
        self.reads[0] += problem.matrix.starts[j + 1] - problem.matrix.starts[j]
        return score_of(self, j)


@helper
def score_of(point: Any, b: int) -> float:
    """The score of block b at its estimated gradient, with its sign."""
    first, last, intervals = point.problem.ends[b], point.problem.ends[b + 1], point.intervals
    scorer = intervals.steepness.scorer
    return scorer.block_score(intervals.penalty, b, point.coefficients[first:last], point.gradient[first:last])


@helper
def rescore(point: Any, b: int) -> None:
    """An oracle has moved the estimate of block b."""
    point.intervals.estimate[b] = score_of(point, b)


@helper
def read_block(matrix: Any, b: int, slope: Array, out: Array) -> None:
    """out = A_bᵀV."""
    columns, outputs, first = matrix.columns, matrix.outputs, matrix.starts[b]
    for q in range(first, matrix.starts[b + 1]):
        j, place = wide(matrix.order[q]), (q - first) * outputs
        if outputs == 1:
            out[place] = dot(columns, j, slope)
            continue
        for t in range(outputs):
            out[place + t] = 0.0
        for p in range(columns.start(j), columns.stop(j)):
            row, entry = wide(columns.row(p)) * outputs, columns.entry(p, j)
            for t in range(outputs):
                out[place + t] += entry * slope[row + t]


@helper
def spread(matrix: Any, b: int, change: Array, trail: Any) -> None:
    """List the rows of block b, and A_bΔ on them."""
    columns, outputs, first = matrix.columns, matrix.outputs, matrix.starts[b]
    count = 0
    for q in range(first, matrix.starts[b + 1]):
        j, place = wide(matrix.order[q]), (q - first) * outputs
        for p in range(columns.start(j), columns.stop(j)):
            k, entry = wide(columns.row(p)), columns.entry(p, j)
            if not trail.is_marked[k]:
                trail.is_marked[k] = True
                trail.rows[count] = k
                count += 1
            for t in range(outputs):
                trail.image[k * outputs + t] += entry * change[place + t]
    trail.filled[0] = count


@helper
def wipe(trail: Any, outputs: int) -> None:
    """Forget the rows."""
    for i in range(trail.filled[0]):
        k = wide(trail.rows[i])
        trail.is_marked[k] = False
        for t in range(outputs):
            trail.image[k * outputs + t] = 0.0
    trail.filled[0] = 0


@helper
def follow(point: Any) -> None:
    """Image and slope after the step that the trail tells of."""
    trail, outputs = point.trail, point.problem.matrix.outputs
    for i in range(trail.filled[0]):
        k = wide(trail.rows[i])
        first = k * outputs
        for p in range(first, first + outputs):
            trail.slope[p] = point.slope[p]
            point.image[p] += trail.image[p]
        point.problem.loss.row_slope(k, point.image[first : first + outputs], point.slope[first : first + outputs])


@helper
def move(point: Any, i: int, new: Array, change: Array) -> bool:
    """Go to the block's new coefficients; ``change`` is filled in.  False where nothing changes."""
    first = point.problem.ends[i]
    for p in range(new.size):
        change[p] = new[p] - point.coefficients[first + p]
    length = length_of(change)
    if length == 0.0:
        return False
    for p in range(new.size):
        point.coefficients[first + p] = new[p]
    spread(point.problem.matrix, i, change, point.trail)
    follow(point)
    # a step too small to be seen beside the way travelled counts all the same
    point.x[i] = max(point.x[i] + length, np.nextafter(point.x[i], math.inf))
    return True
