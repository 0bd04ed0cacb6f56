"""The loop on blocks: select → step → update → pin, as ``ascd.engine.descent`` has it for single coordinates."""

from __future__ import annotations

from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import kernel
from ascd.blocks.engine.point import move, read_block, score_of, wipe
from ascd.blocks.lengths import length_of
from ascd.engine.descent import larger_score, what_bounds_say
from ascd.engine.tuning import VIOLATION_ROUNDING


@kernel
def descend_blocks(
    point: Any, rule: Any, oracle: Any, step: Any, unread: bool, first: int, last: int, rng: Any
) -> tuple[float, float, int]:
    """Iterations ``first`` to ``last`` (excluded), after reading the whole gradient where it is ``unread``.

    Returns the largest upper bound on steepness, the share of lower bounds that are 0, and the size of the active set.
    """
    problem, intervals = point.problem, point.intervals
    if unread:
        for b in range(point.x.size):
            intervals.pin(b, point.partial(b), 0.0)
    for t in range(first, last):
        i = rule.select(point, t, rng)
        low, high = problem.ends[i], problem.ends[i + 1]
        x, g, change = point.room[0, : high - low], point.room[1, : high - low], point.room[2, : high - low]
        for p in range(high - low):
            x[p] = point.coefficients[low + p]
        read_block(problem.matrix, i, point.slope, g)
        point.reads[0] += problem.matrix.starts[i + 1] - problem.matrix.starts[i]
        error = step.take_block(point, i, x, g)
        if move(point, i, x, change):
            intervals.stepped(i, length_of(change))
            oracle.update_block(point, i, change, rng)
            wipe(point.trail, problem.matrix.outputs)
        for p in range(high - low):
            point.gradient[low + p] = g[p]
        intervals.pin(i, score_of(point, i), error)
    return what_bounds_say(point, rule)


@kernel
def count_block_violations(point: Any) -> int:
    """How many exact gradients lie outside their ball (beyond rounding)."""
    problem, count = point.problem, 0
    for b in range(point.x.size):
        low, high = problem.ends[b], problem.ends[b + 1]
        g = point.room[0, : high - low]
        read_block(problem.matrix, b, point.slope, g)
        allowed = point.intervals.radius_at(b) + VIOLATION_ROUNDING * (length_of(g) + problem.norm[b])
        for p in range(high - low):
            g[p] -= point.gradient[low + p]
        count += length_of(g) > allowed
    return count


@kernel
def steepest_block(point: Any) -> float:
    """The largest score, from exact gradients."""
    problem, steepest = point.problem, 0.0
    for b in range(point.x.size):
        low, high = problem.ends[b], problem.ends[b + 1]
        g = point.room[0, : high - low]
        read_block(problem.matrix, b, point.slope, g)
        scorer = point.intervals.steepness.scorer
        score = scorer.block_score(problem.penalty, b, point.coefficients[low:high], g)
        steepest = larger_score(steepest, score)
    return steepest


@kernel
def block_objective(problem: Any, coefficients: Array, image: Array) -> float:
    """F at these coefficients and their image."""
    outputs, total = problem.matrix.outputs, 0.0
    for k in range(image.size // outputs):
        total += problem.loss.row_value(k, image[k * outputs : (k + 1) * outputs])
    for b in range(problem.ends.size - 1):
        total += problem.penalty.block_cost(coefficients[problem.ends[b] : problem.ends[b + 1]], b)
    return total


@kernel
def fill_slopes(problem: Any, image: Array, slope: Array) -> None:
    """V = ∇f at an image."""
    outputs = problem.matrix.outputs
    for k in range(image.size // outputs):
        low, high = k * outputs, (k + 1) * outputs
        problem.loss.row_slope(k, image[low:high], slope[low:high])
