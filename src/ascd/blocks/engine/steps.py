"""Block steps: how far, and what is then known of the block's own gradient.

A step's ``take_block(point, i, x, g)`` gets the coefficients of block i and their exact gradient, both as vectors of
its own to write on: x becomes the new coefficients, g an estimate of the gradient there, and the radius of a ball
around it that holds the gradient is returned.  With G = A_bᵀSA_b the gradient moves by gain·GΔ, and for losses that
are not quadratic by that within slack·‖A_b‖²‖Δ‖.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd._core.contracts import prepared
from ascd._core.jit import helper, wide
from ascd.blocks.engine.parts import BlockParts
from ascd.blocks.engine.point import read_block, spread, wipe
from ascd.blocks.lengths import distance_between, length_of
from ascd.blocks.tuning import INSIDE_ROUNDING, LEFT_INSIDE, MOST_INSIDE
from ascd.engine.guards import users_name, users_part
from ascd.protocols import BlockStep


class FixedBlock(NamedTuple):
    """The same step length 1/L for every block, L = max_b L_b."""

    before: Array

    def take_block(self, point: Any, i: int, x: Array, g: Array) -> float:
        return model_minimum(point.problem, i, x, g, point.problem.largest, self.before)


class OwnBlock(NamedTuple):
    """Step length 1/L_b."""

    before: Array

    def take_block(self, point: Any, i: int, x: Array, g: Array) -> float:
        return model_minimum(point.problem, i, x, g, point.problem.lipschitz[i], self.before)


class QuadraticMinimum(NamedTuple):
    """The minimum over the block for a quadratic loss, by steps of length 1/L_b; nothing is read."""

    before: Array

    def take_block(self, point: Any, i: int, x: Array, g: Array) -> float:
        problem = point.problem
        goal = LEFT_INSIDE * problem.penalty.block_distance(x, g, i)
        for _ in range(MOST_INSIDE):
            model_minimum(problem, i, x, g, problem.lipschitz[i], self.before)
            if is_enough(problem.penalty, i, x, g, self.before, goal):
                break
        return 0.0


class BlockMinimum(NamedTuple):
    """The minimum over the block for any loss, by steps of length 1/L_b; each reads the block's columns twice."""

    before: Array
    change: Array
    there: Array  # a row of the image

    def take_block(self, point: Any, i: int, x: Array, g: Array) -> float:
        problem, first = point.problem, point.problem.ends[i]
        change, before = self.change[: x.size], self.before[: x.size]
        goal = LEFT_INSIDE * problem.penalty.block_distance(x, g, i)
        for _ in range(MOST_INSIDE):
            prox_step(problem.penalty, i, x, g, problem.lipschitz[i], before)
            for p in range(x.size):
                change[p] = x[p] - point.coefficients[first + p]
            self.look_there(point, i, change, g)
            if is_enough(problem.penalty, i, x, g, self.before, goal):
                break
        return 0.0

    @helper
    def look_there(self, point: Any, i: int, change: Array, g: Array) -> None:
        """g = the gradient of block i where its coefficients have changed by ``change``."""
        problem, trail, outputs = point.problem, point.trail, point.problem.matrix.outputs
        spread(problem.matrix, i, change, trail)
        for r in range(trail.filled[0]):
            k = wide(trail.rows[r])
            for t in range(outputs):
                self.there[t] = point.image[k * outputs + t] + trail.image[k * outputs + t]
            problem.loss.row_slope(k, self.there, trail.slope[k * outputs : (k + 1) * outputs])
        read_block(problem.matrix, i, trail.slope, g)
        wipe(trail, outputs)
        point.reads[0] += 2.0 * (problem.matrix.starts[i + 1] - problem.matrix.starts[i])


@helper
def prox_step(penalty: Any, i: int, x: Array, g: Array, lipschitz: float, before: Array) -> None:
    """x + argmin_Y ⟨g, Y⟩ + L/2·‖Y‖² + Ψ_i(x + Y); x goes to ``before``."""
    for p in range(x.size):
        before[p] = x[p]
        x[p] -= g[p] / lipschitz
    penalty.block_prox(x, 1.0 / lipschitz, i)


@helper
def model_minimum(problem: Any, i: int, x: Array, g: Array, lipschitz: float, before: Array) -> float:
    """One such step; g follows by the products of the block's columns.  Returns how wrong it can be."""
    prox_step(problem.penalty, i, x, g, lipschitz, before)
    size, outputs = problem.matrix.starts[i + 1] - problem.matrix.starts[i], problem.matrix.outputs
    for left in range(size):
        for right in range(size):
            product = problem.gain * problem.grams[problem.places[i] + left * size + right]
            for t in range(right * outputs, (right + 1) * outputs):
                g[t + (left - right) * outputs] += product * (x[t] - before[t])
    return problem.slack * problem.norm[i] * problem.norm[i] * distance_between(x, before)


@helper
def is_enough(penalty: Any, i: int, x: Array, g: Array, before: Array, goal: float) -> bool:
    """Is the block optimal up to ``goal``, or does rounding alone move it?"""
    return distance_between(x, before) <= INSIDE_ROUNDING * length_of(x) or penalty.block_distance(x, g, i) <= goal


class CheckedBlockStep(NamedTuple):
    """A step of the user's own: its gradient must be numbers, and its error not negative."""

    step: Any
    fault: Array  # [is there one, the gradient's entry, error, block]

    def take_block(self, point: Any, i: int, x: Array, g: Array) -> float:
        error = self.step.take_block(point, i, x, g)
        for p in range(g.size):
            if math.isfinite(x[p]) and not (math.isfinite(g[p]) and error >= 0.0):
                self.fault[0], self.fault[1], self.fault[2], self.fault[3] = 1.0, g[p], error, i
                raise ValueError("a step returned what is no step")
        return error

    def complaint(self) -> str:
        _, gradient, error, i = self.fault
        return (
            f"step {users_name(self)}: take_block left the entry {gradient:g} in g and returned the error {error:g} "
            f"for block {i:.0f}; entries must be finite and the error not negative"
        )


BLOCK_STEPS = ("fixed", "coordinate", "line-search")


def as_block_step(step: Any, parts: BlockParts) -> Any:
    """The compiled step for a name, or the user's own after a check of its method."""
    if not isinstance(step, str):
        own = prepared(step, BlockStep, "step", parts)
        return own if users_part(own) is None else CheckedBlockStep(own, np.zeros(4))
    if step not in BLOCK_STEPS:
        raise unknown_name(step, "step", BLOCK_STEPS)
    before = np.empty(int(np.diff(parts.ends).max()))
    if step == "fixed":
        return FixedBlock(before)
    if step == "coordinate":
        return OwnBlock(before)
    if parts.slack > 0.0:
        return BlockMinimum(before, before.copy(), np.empty(parts.matrix.outputs))
    is_single = bool((np.diff(parts.matrix.starts) == 1).all())
    return OwnBlock(before) if is_single else QuadraticMinimum(before)
