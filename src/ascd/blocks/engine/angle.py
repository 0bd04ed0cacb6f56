"""The reference and measured oracles on blocks: balls from the angle between V and a reference.

With V = s·V_ref + E and E ⟂ V_ref in the inner product of Frobenius, ∇_b = s·G_b + A_bᵀE for G_b = A_bᵀV_ref, so that

    ‖∇_b − s·G_b‖ ≤ w_b·‖E‖,      w_b = ‖A_b‖;      with one output also w_b² = ‖A_b‖²_F − ‖G_b‖²/‖V_ref‖²,

because the columns' parts along V_ref meet E nowhere then.  The ball is turned into an interval for the score, which is
intersected with the clock's.  s and ‖E‖ are followed or measured as for single columns.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.blocks.engine.parts import BlockParts, block_lengths
from ascd.blocks.engine.products import widen_by
from ascd.blocks.groups import Groups
from ascd.blocks.lengths import length_of
from ascd.engine.intervals import CLOCK_ALONE, EPSILON
from ascd.engine.oracles.measured import REFERENCE_SQUARE, begin_path, measure_angle, path_since
from ascd.engine.oracles.reference import (
    ACROSS,
    ALONG,
    MOVES,
    READS,
    ROUNDING,
    SQUARE,
    STARTED,
    add_from_rows,
    begin_account,
    place_from,
    turned_by,
)
from ascd.problem.optimality import inverse_square, width_across


class BlockAngle(NamedTuple):
    """G, w, [s, ‖E‖, ε] and reach, and what it takes to score s·G."""

    product: Array
    width: Array
    place: Array
    reach: Array
    ends: Array
    coefficients: Array
    penalty: Any
    steepness: Any
    room: Array

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        half = self.place[ACROSS] * self.width[j] + self.place[ROUNDING] * self.reach[j]
        if not half < r:
            return g, r
        first, last = self.ends[j], self.ends[j + 1]
        for p in range(first, last):
            self.room[p - first] = self.place[ALONG] * self.product[p]
        x, rate = self.coefficients[first:last], self.steepness.rate[j]
        middle = self.steepness.scorer.block_score(self.penalty, j, x, self.room[: last - first])
        low, high = max(g - rate * r, middle - rate * half), min(g + rate * r, middle + rate * half)
        return 0.5 * (low + high), 0.5 * max(high - low, 0.0) / rate


class Anchor(NamedTuple):
    """‖A_b‖ and its norm of Frobenius, squared, without weights, and V_ref."""

    norm: Array
    square: Array
    slope: Array


def start_angle(parts: BlockParts, coefficients: Array, steepness: Any) -> tuple[BlockAngle, Anchor]:
    """A bound that knows nothing yet, and room for its reference."""
    matrix, count = parts.matrix, parts.norm.size
    groups = Groups(matrix.order, matrix.starts)
    lengths = block_lengths(matrix.columns, groups, np.ones(parts.sample.weight.size))
    longest = int(np.diff(parts.ends).max())
    angle = BlockAngle(
        np.zeros(parts.ends[-1]), np.ones(count), np.array([0.0, math.inf, 0.0]), parts.norm, parts.ends, coefficients,
        parts.penalty, steepness, np.empty(longest),
    )  # fmt: skip
    return angle, Anchor(lengths.spectral, lengths.whole**2, np.zeros(parts.sample.target.size))


class ReferencedBlocks(NamedTuple):
    """The bound, its reference, the running numbers of ``ascd.engine.oracles.reference``, and the patience."""

    angle: BlockAngle
    anchor: Anchor
    account: Array
    patience: float

    def tightening(self) -> BlockAngle:
        return self.angle

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        account, matrix = self.account, point.problem.matrix
        widen_by(point, i, change, point.problem.gain + point.problem.slack)
        account[MOVES] += matrix.starts[i + 1] - matrix.starts[i]
        wasted = point.reads[0] - account[READS] - account[MOVES]
        if account[STARTED] == 0.0 or wasted > self.patience * matrix.order.size:
            account[SQUARE] = make_anchor(point, self.angle, self.anchor)
            begin_account(account, point.reads[0])
        else:
            self.follow_trail(point)
        self.angle.place[ROUNDING] = point.intervals.clock[EPSILON] + turned_by(account)

    @helper
    def follow_trail(self, point: Any) -> None:
        """P and D after the step, from the rows that it changed."""
        trail, outputs, product, distance = point.trail, point.problem.matrix.outputs, 0.0, 0.0
        for r in range(trail.filled[0]):
            k = wide(trail.rows[r])
            for p in range(k * outputs, (k + 1) * outputs):
                new, old, ref = point.slope[p], trail.slope[p], self.anchor.slope[p]
                product += (new - old) * ref
                distance += (new - ref) ** 2 - (old - ref) ** 2
        add_from_rows(self.account, product, distance)
        place_from(self.account, self.angle.place)


class MeasuredBlocks(NamedTuple):
    """The same, measured before a look (``ascd.engine.oracles.measured``)."""

    angle: BlockAngle
    anchor: Anchor
    account: Array

    def tightening(self) -> BlockAngle:
        return self.angle

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        point.intervals.widen(length_of(change) * point.problem.norm[i] * (point.problem.gain + point.problem.slack))
        self.angle.place[ROUNDING] = path_since(point, self.account)

    @helper
    def measure(self, point: Any) -> None:
        measure_angle(point, self.anchor.slope, self.account, self.angle.place)

    @helper
    def refresh(self, point: Any) -> None:
        """Make the present point the reference; blocks whose gradients are not known are read."""
        self.account[REFERENCE_SQUARE] = make_anchor(point, self.angle, self.anchor)
        begin_path(point, self.account, self.angle.place)


@helper
def make_anchor(point: Any, bound: Any, anchor: Any) -> float:
    """The present V as V_ref; returns ‖V_ref‖².  At the start gradients that are known are not read again."""
    total, clock, ends = 0.0, point.intervals.clock, point.problem.ends
    is_start = clock[CLOCK_ALONE] == 0.0
    for k in range(anchor.slope.size):
        anchor.slope[k] = point.slope[k]
    for k in range(anchor.slope.size):
        total += anchor.slope[k] ** 2
    for b in range(point.x.size):
        if not is_start or point.intervals.radius_at(b) > 0.0:
            point.intervals.pin(b, point.partial(b), 0.0)
        for p in range(ends[b], ends[b + 1]):
            bound.product[p] = point.gradient[p]
        bound.width[b] = anchor.norm[b]
        if point.problem.matrix.outputs == 1:
            along = length_of(bound.product[ends[b] : ends[b + 1]])
            bound.width[b] = min(bound.width[b], width_across(anchor.square[b], along, inverse_square(total)))
    bound.place[ALONG], bound.place[ACROSS] = 1.0, 0.0
    return total
