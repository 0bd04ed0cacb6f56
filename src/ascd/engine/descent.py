"""The loop: select → step → update → pin.  It knows nothing of the parts but their protocol.

i  = rule.select                      which coordinate
g  = ⟨a_i, v⟩                         its exact gradient entry
x_i, g̃_i, r_i = step.take             how far, and what is then known of the entry
Ax, v follow the change               O(entries of a_i)
the other intervals follow            oracle.update
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, optional_method
from ascd.engine.intervals import Intervals
from ascd.engine.tuning import FEWEST_STEPS, SUMS_A_STEP, VIOLATION_ROUNDING
from ascd.matrix.columns import dot, multiply, shift
from ascd.problem.losses.formulas import weighted_value
from ascd.problem.optimality import square_over, square_times
from ascd.problem.problem import Parts


class Point(NamedTuple):
    """Where the descent stands: what rules, oracles and steps see."""

    problem: Parts
    x: Array
    image: Array  # Ax; kept current for losses that are not quadratic
    slope: Array  # v = ∇f(Ax)
    intervals: Intervals
    reads: Array  # [column reads so far]
    entry_read: Array  # [∇_i f(x) as the present step has read it, before it]

    def partial(self, j: int) -> float:
        """∇_j f(x), read exactly."""
        self.reads[0] += 1.0
        return dot(self.problem.matrix, j, self.slope)


@optional_method
def begin(oracle: Any, point: Any, rng: Any) -> None:
    """What an oracle learns before the first step: the whole gradient, unless it has a way of its own."""
    for j in range(point.x.size):
        point.intervals.pin(j, point.partial(j), 0.0)


@kernel
def descend(
    point: Any, rule: Any, oracle: Any, step: Any, unread: bool, first: int, last: int, rng: Any
) -> tuple[float, float, int]:
    """Iterations ``first`` to ``last`` (excluded), after reading the gradient where it is ``unread``.

    Returns what the bounds say at the end.
    """
    problem, x, image, slope, intervals = point.problem, point.x, point.image, point.slope, point.intervals
    if unread:
        begin(oracle, point, rng)
    every = slope.size // SUMS_A_STEP + FEWEST_STEPS
    due = first + (-first) % every  # at steps that depend on the problem alone
    for t in range(first, last):
        if t == due:
            intervals.measured(square_of_sums(point))
            due += every
        i = rule.select(point, t, rng)
        point.reads[0] += 1.0
        old = x[i]
        point.entry_read[0] = dot(problem.matrix, i, slope)
        new, gradient, error = step.take(point, i, point.entry_read[0])
        if new != old:
            x[i] = new
            shift(problem.matrix, i, new - old, problem.sample, problem.loss, image, slope)
            intervals.stepped(i, new - old)
            oracle.update(point, i, new - old, rng)
        intervals.pin(i, gradient, error)
    return what_bounds_say(point, rule)


@helper
def square_of_sums(point: Any) -> float:
    """The square of what steps add to, in the norm of the columns: v where the loss is quadratic, M·Ax elsewhere."""
    sample, slope, image, total = point.problem.sample, point.slope, point.image, 0.0
    if point.problem.loss.is_quadratic():
        for k in range(slope.size):
            weight = at(sample.weight, k)
            total += square_over(slope[k], weight) if weight > 0.0 else 0.0
        return total
    for k in range(image.size):
        total += square_times(image[k], at(sample.weight, k))
    return total * point.intervals.largest_curvature * point.intervals.largest_curvature


@helper
def larger_score(largest: float, score: float) -> float:
    """The larger of both; a score that is no number proves nothing, and counts as infinite."""
    if score <= largest:
        return largest
    return score if score > largest else math.inf


@helper
def what_bounds_say(point: Any, rule: Any) -> tuple[float, float, int]:
    """The largest upper bound on steepness, the share of lower bounds that are 0, and the size of the active set."""
    steepest, zeros = 0.0, 0
    for j in range(point.x.size):
        lower, upper = point.intervals.bounds_at(j)
        steepest = larger_score(steepest, upper)
        zeros += lower == 0.0
    return steepest, zeros / point.x.size, rule.active_count(point)


@kernel
def count_violations(point: Any) -> int:
    """How many exact gradient entries lie outside their interval (beyond rounding)."""
    count = 0
    for j in range(point.x.size):
        g = dot(point.problem.matrix, j, point.slope)
        allowed = point.intervals.radius_at(j) + VIOLATION_ROUNDING * (abs(g) + point.problem.norm[j])
        count += abs(g - point.intervals.estimate[j]) > allowed
    return count


@kernel
def steepest_score(problem: Any, steepness: Any, x: Array, slope: Array) -> float:
    """The largest score, from exact gradient entries."""
    steepest = 0.0
    for j in range(x.size):
        score = steepness.score(problem.penalty, j, x[j], dot(problem.matrix, j, slope))
        steepest = larger_score(steepest, score)
    return steepest


@kernel
def objective_at(problem: Any, x: Array, image: Array) -> float:
    """F(x) of a run; the image is computed where the run does not keep it, on quadratic losses."""
    if problem.loss.is_quadratic():
        multiply(problem.matrix, x, image)
    total = 0.0
    for k in range(image.size):
        weight, target = at(problem.sample.weight, k), problem.sample.target[k]
        total += weighted_value(problem.loss, weight, target, image[k]) if weight > 0.0 else 0.0
    for j in range(x.size):
        total += problem.penalty.cost(x[j], j)
    return total
