"""``ascd.minimize`` on a ``BlockProblem``: the parts put together, and their run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_generator, as_radii, finite_values
from ascd.blocks.engine.descent import (
    block_objective,
    count_block_violations,
    descend_blocks,
    fill_slopes,
    steepest_block,
)  # fmt: skip
from ascd.blocks.engine.oracles import Start, as_block_oracle
from ascd.blocks.engine.parts import BlockParts, block_parts, column_parts
from ascd.blocks.engine.point import BlockPoint, Trail
from ascd.blocks.engine.scores import Scored, as_block_steepness
from ascd.blocks.engine.steps import as_block_step
from ascd.blocks.lengths import lengths_of_blocks
from ascd.blocks.problem import BlockProblem
from ascd.blocks.products import add
from ascd.blocks.solve import BlockSolution, as_reference
from ascd.blocks.solver import Solver
from ascd.engine.columns import local_columns
from ascd.engine.intervals import Intervals, NothingElse, check_init, size_of, start_clock
from ascd.engine.minimize import chosen_parts, names_of, put_together
from ascd.engine.oracles import oracle_part
from ascd.engine.rules import rule_part
from ascd.engine.run import Assembly, Run
from ascd.results.solution import Solution


class BlockRun(Run):
    """One descent on blocks."""

    problem: BlockProblem
    point: BlockPoint

    def _take(self, unread: bool, first: int) -> tuple[float, float, int]:
        found = descend_blocks(self.point, self.rule, self.oracle, self.step, unread, first, self.t, self.rng)
        return (float(found[0]), float(found[1]), int(found[2]))

    def _largest_score(self) -> float:
        return float(steepest_block(self.point))

    def _compute_afresh(self) -> None:
        problem, point = self.problem, self.point
        if np.isfinite(point.coefficients).all():
            x = point.coefficients.reshape(problem.n_features, problem.n_outputs)
            point.image[:] = _image_of(problem, x).ravel()
            fill_slopes(point.problem, point.image, point.slope)

    def _violations(self) -> int:
        return int(count_block_violations(self.point))

    def _value(self) -> float:
        return float(block_objective(self.point.problem, self.point.coefficients, self.point.image))

    def _x(self) -> Array:
        shape = (self.problem.n_features, self.problem.n_outputs)
        return self.problem.as_given(self.point.coefficients.reshape(shape))

    def _gap(self) -> float:
        solver = self._solver(self.point.coefficients.copy())
        solver.look(0.0)
        return float(solver.standing.gap)

    def _reference(self) -> float:
        return as_reference(self._solver(np.zeros(self.point.coefficients.size)))

    def _solver(self, x: Array) -> Solver:
        problem = self.problem
        return Solver(problem, x.reshape(problem.n_features, problem.n_outputs), False, np.zeros(problem.n_outputs))

    def _made(self, **fields: Any) -> Solution:
        outputs = self.problem.n_outputs
        return BlockSolution(**fields, intercept=0.0 if self.problem.loss.is_flat else np.zeros(outputs))


def assemble_blocks(
    problem: BlockProblem,
    rule: Any = None,
    oracle: Any = None,
    steepness: Any = "gs-s",
    step: Any = None,
    init: Any = "gradient",
    x0: Any = None,
    rng: Any = None,
) -> Assembly:
    """The parts of a run on blocks, checked, prepared and put together; arguments as those of ``minimize``."""
    if math.isinf(problem.loss.bound):
        name = type(problem.loss.loss).__name__
        raise ValueError(f"minimize needs a loss with bounded curvature, {name} has none: use ascd.solve_blocks")
    rule, oracle, step = chosen_parts(rule, oracle, "coordinate" if step is None else step)
    generator = as_generator(rng)
    parts = block_parts(problem, local_columns(problem.design, "ascd.solve_blocks").matrix)
    point, unread = _start(problem, parts, as_block_steepness(steepness, parts), init, x0)
    begin = Start(parts, column_parts(problem, parts), point.coefficients, point.intervals.steepness, generator)
    ready = as_block_oracle(oracle_part(oracle, rule_part(rule)), begin), as_block_step(step, parts)
    names = names_of(rule=rule, oracle=oracle, steepness=steepness, step=step)
    return put_together(parts, point, unread, rule, ready, generator, names)


def _image_of(problem: BlockProblem, x: Array) -> Array:
    """AX, of coefficients in the order of the blocks."""
    image, moved = np.zeros((problem.n_samples, problem.n_outputs)), np.flatnonzero(x.any(axis=1))
    add(problem.design, problem.groups.order[moved], x[moved], image)
    return image


def _start(problem: BlockProblem, parts: BlockParts, steepness: Scored, init: Any, x0: Any) -> tuple[BlockPoint, bool]:
    """The point before the first step, and whether its gradient is still to be read."""
    d, outputs = problem.n_samples, problem.n_outputs
    x = np.zeros((problem.n_features, outputs)) if x0 is None else problem.as_point(x0, "x0")
    image, slope = _image_of(problem, x), np.empty(d * outputs)
    fill_slopes(parts, image.ravel(), slope)
    objective = block_objective(parts, x.ravel(), image.ravel())
    if not np.isfinite(objective):
        raise ValueError(
            f"x0 must have a finite objective; F(x0) = {objective}" if x0 is not None
            else f"F at zero coefficients is {objective}: the penalty must allow them, A and b must not be too large"
        )  # fmt: skip
    gradient, radius, unread = _known(problem, init)
    longest, count = int(np.diff(parts.ends).max()), parts.norm.size
    # products of a block add up the rounding of its columns
    size = math.sqrt(longest) * size_of(slope, np.repeat(problem.weight, outputs))
    travelled = lengths_of_blocks(x, problem.groups.starts)
    clock = start_clock(size, travelled, parts)
    intervals = Intervals(
        np.zeros(count), radius, parts.norm, clock, travelled, parts.penalty, steepness, parts.gain + parts.slack,
        NothingElse(),
    )  # fmt: skip
    flat, places = x.ravel(), [slice(*parts.ends[b : b + 2]) for b in range(count)]
    for b, place in enumerate(places if not unread else []):
        intervals.estimate[b] = steepness.scorer.block_score(parts.penalty, b, flat[place], gradient[place])
    trail = Trail(
        np.empty(d, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(d, dtype=np.bool_), np.zeros(d * outputs),
        np.empty(d * outputs),
    )  # fmt: skip
    room = np.empty((3, longest))
    return BlockPoint(
        parts, travelled, image.ravel(), slope, intervals, np.zeros(1), flat, gradient, trail, room
    ), unread  # fmt: skip


def _known(problem: BlockProblem, init: Any) -> tuple[Array, Array, bool]:
    """The estimated gradients, flat, the radius of every block, and whether the gradient is still to be read."""
    count, shape = problem.groups.count, (problem.n_features, problem.n_outputs)
    check_init(init)
    if isinstance(init, str):
        return np.zeros(shape).ravel(), np.full(count, np.inf), init == "gradient"
    radius = as_radii(init[1], "init radius", count)
    estimate = problem.as_point(init[0], "init estimate").ravel()
    finite_values(estimate, "init estimate")
    return estimate, radius, False


def run_blocks(problem: BlockProblem, how: dict[str, Any], record_gap: bool) -> BlockRun:
    return BlockRun(problem, assemble_blocks(problem, **how), record_gap)
