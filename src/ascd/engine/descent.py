"""The loop: select → read → step → update.  It knows nothing of the parts but their contracts.

i  = rule.select                      which coordinate
g  = ⟨a_i, v⟩                         its exact gradient entry
x_i, g̃_i, r_i = step.take             how far, and the interval of its own entry after the step
Ax, v move by the change              O(entries of a_i)
oracle.update                         the intervals of the other entries
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, optional_method
from ascd.engine.intervals import Intervals
from ascd.engine.tuning import FEWEST_STEPS, OUTSIDE_ROUNDING, SUMS_A_STEP
from ascd.matrix.columns import dot
from ascd.problem.arithmetic import square_over, square_times
from ascd.problem.problem import Parts


class DescentPoint(NamedTuple):
    """The iterate and what rules, oracles and steps know of it.

    Shapes: ``x`` (n_features,), ``predictor`` and ``raw_gradient`` (n_samples,), ``reads`` (1,).
    """

    problem: Parts
    x: Array
    predictor: Array  # o + Ax; kept current for losses that are not quadratic
    raw_gradient: Array  # v = ∇f(Ax), the gradient of the loss with respect to the predictor
    intervals: Intervals
    reads: Array  # [column reads so far]

    def partial(self, j: int) -> float:
        """Return ∇_j f(x), read exactly; the read is counted."""
        self.reads[0] += 1.0
        return dot(self.problem.matrix, j, self.raw_gradient)


@optional_method
def begin(oracle: Any, point: Any, rng: Any) -> None:
    """Read the whole gradient before the first step, unless the oracle has a way of its own."""
    for j in range(point.x.size):
        point.intervals.set_entry(j, point.partial(j), 0.0)


@optional_method
def active_count(rule: Any, point: Any) -> int:
    """Return how many coordinates the rule chooses from: all, unless it says otherwise."""
    return point.x.size  # type: ignore[no-any-return]


@kernel
def descend(
    point: Any, rule: Any, oracle: Any, step: Any, unread: bool, first: int, last: int, rng: Any
) -> tuple[float, float, int]:
    """Take steps ``first`` to ``last`` (excluded), after reading the gradient where it is ``unread``.

    Returns a summary of the bounds at the end, see ``summarise_bounds``.
    """
    problem, x, intervals = point.problem, point.x, point.intervals
    if unread:
        begin(oracle, point, rng)
    every = point.raw_gradient.size // SUMS_A_STEP + FEWEST_STEPS
    due = first + (-first) % every  # at steps that depend on the problem alone
    for t in range(first, last):
        if t == due:
            intervals.limit_rounding(square_of_sums(point))
            due += every
        i = rule.select(point, t, rng)
        point.reads[0] += 1.0
        old = x[i]
        new, gradient, error = step.take(point, i, dot(problem.matrix, i, point.raw_gradient))
        if new != old:
            x[i] = new
            shift(problem.matrix, i, new - old, problem.sample, problem.loss, point.predictor, point.raw_gradient)
            intervals.count_step(i, new - old)
            oracle.update(point, i, new - old, rng)
        intervals.set_entry(i, gradient, error)
    return summarise_bounds(point, rule)


@helper
def square_of_sums(point: Any) -> float:
    """Return ‖·‖² of the vector that steps add to: v where the loss is quadratic, M·Ax otherwise (weighted norms)."""
    sample, raw_gradient, predictor, total = point.problem.sample, point.raw_gradient, point.predictor, 0.0
    if point.problem.loss.is_quadratic():
        for k in range(raw_gradient.size):
            weight = at(sample.weight, k)
            total += square_over(raw_gradient[k], weight) if weight > 0.0 else 0.0
        return total
    for k in range(predictor.size):
        total += square_times(predictor[k], at(sample.weight, k))
    return total * point.intervals.largest_curvature * point.intervals.largest_curvature


@helper
def larger_score(largest: float, score: float) -> float:
    """Return the larger of both; a score that is not a number counts as infinite."""
    if score <= largest:
        return largest
    return score if score > largest else math.inf


@helper
def summarise_bounds(point: Any, rule: Any) -> tuple[float, float, int]:
    """Return the largest upper bound on steepness, the share of lower bounds that are 0, the size of the active set."""
    steepest, zeros = 0.0, 0
    for j in range(point.x.size):
        lower, upper = point.intervals.bounds_at(j)
        steepest = larger_score(steepest, upper)
        zeros += lower == 0.0
    return steepest, zeros / point.x.size, active_count(rule, point)


@kernel
def count_violations(point: Any) -> int:
    """Count the exact gradient entries that lie outside their interval (beyond rounding)."""
    count = 0
    for j in range(point.x.size):
        g = dot(point.problem.matrix, j, point.raw_gradient)
        allowed = point.intervals.radius_at(j) + OUTSIDE_ROUNDING * (abs(g) + point.problem.norm[j])
        count += abs(g - point.intervals.estimate[j]) > allowed
    return count


@kernel
def steepest_score(problem: Any, steepness: Any, x: Array, raw_gradient: Array) -> float:
    """Return the largest score, from exact gradient entries."""
    steepest = 0.0
    for j in range(x.size):
        score = steepness.score(problem.penalty, j, x[j], dot(problem.matrix, j, raw_gradient))
        steepest = larger_score(steepest, score)
    return steepest


@helper
def shift(matrix: Any, j: int, change: float, sample: Any, loss: Any, Xw: Array, raw_gradient: Array) -> None:
    """Update s·loss'(b, Xw) after a change of x_j, on the rows of a_j.

    Xw too, except for quadratic losses, whose raw gradient alone is a linear function of x.
    """
    if loss.is_quadratic():  # known to the compiler: one of the two loops remains
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            curvature = at(sample.weight, k) * loss.curvature(sample.target[k], 0.0)
            raw_gradient[k] += curvature * change * matrix.entry(p, j)
    else:
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            Xw[k] += change * matrix.entry(p, j)
            raw_gradient[k] = at(sample.weight, k) * loss.derivative(sample.target[k], Xw[k])


@helper
def multiply(matrix: Any, x: Array, out: Array) -> None:
    """out = A·x, reading only the columns with x_j ≠ 0."""
    out[:] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += x[j] * matrix.entry(p, j)


@kernel
def objective_at(problem: Any, x: Array, predictor: Array) -> float:
    """Return F(x); the predictor is recomputed where the run does not keep it, on quadratic losses."""
    if problem.loss.is_quadratic():
        multiply(problem.matrix, x, predictor)
        for k in range(problem.offset.size):
            predictor[k] += problem.offset[k]
    total = 0.0
    for k in range(predictor.size):
        weight, target = at(problem.sample.weight, k), problem.sample.target[k]
        total += weight * problem.loss.value(target, predictor[k]) if weight > 0.0 else 0.0
    for j in range(x.size):
        total += problem.penalty.cost(x[j], j)
    return total
