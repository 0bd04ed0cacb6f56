"""Sweeps of coordinate descent in a box, with the duality gap as a by-product.

The gap is a sum with one term a coordinate, none of them negative.  With the gradient entry g = ⟨a_j, v⟩ and the
minimiser β̂ of (g + λ)β + ½μβ² over the box,

    term_j  =  (g + λ + μβ̂)·(β − β̂) + ½μ(β − β̂)².

A sweep reads every g on its way, so it adds up the terms as it meets them: an estimate, because v moves meanwhile and
because coordinates asleep are not read.  Where it is small enough, a pass over all columns tells the gap itself.

A coordinate falls asleep that is further inside its rest than violations of the sweep before let expect: an entry g
moves by ‖a_j‖ times what v moves, so violations are compared after division by ‖a_j‖.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.columns import dot
from ascd.problem.optimality import violation_of
from ascd.solver.column_model import close_gaps, move_slope, shuffle, shuffle_runs
from ascd.solver.tuning import RUN, SLEEPS


@helper
def gap_term(penalty: Any, x: float, g: float, j: int) -> float:
    """What coordinate j adds to the duality gap.

    Examples
    --------
    >>> import ascd
    >>> from ascd.solver.box.sweeps import gap_term
    >>> gap_term(ascd.Box(0.0, 1.0), 0.25, 2.0, 0), gap_term(ascd.Box(0.0, 1.0), 0.25, -2.0, 0)
    (0.5, 1.5)
    """
    tilt, curvature = g + at(penalty.linear, j), at(penalty.l2, j)
    best = at(penalty.lower, j) if tilt > 0.0 else at(penalty.upper, j)
    if curvature > 0.0:
        best = max(at(penalty.lower, j), min(at(penalty.upper, j), -tilt / curvature))
    ahead = x - best
    return (tilt + curvature * (best + 0.5 * ahead)) * ahead


@kernel
def sweep_box(
    penalty: Any, matrix: Any, norm: Array, lipschitz: Array, weight: Any, slope: Array, x: Array, order: Array,
    awake: int, turn: Array, seed: Array, worst: float, goal: float, most: int,
) -> tuple[float, float, int, int]:  # fmt: skip
    """At most so many sweeps, until the estimated gap is at most ``goal``.

    Returns the estimate, the largest violation over ‖a_j‖ of the last sweep, how many are awake, and reads;
    ``worst`` is that violation in the sweep before.  Columns come in runs of neighbours, whose memory lies together.
    """
    reads, sweeps, estimate = 0, 0, math.inf
    while sweeps < most and awake > 0:
        before, worst, estimate = worst, 0.0, 0.0
        runs = shuffle_runs(turn, awake, seed)
        for b in range(runs):
            first = RUN * wide(turn[b])
            last = min(first + RUN, awake)
            shuffle(order, first, last, seed)
            if b + 1 < runs:
                following = RUN * wide(turn[b + 1])
                for a in range(following, min(following + RUN, awake)):
                    matrix.ahead(wide(order[a]))
            for a in range(first, last):
                j = wide(order[a])
                g = dot(matrix, j, slope)
                low, high = penalty.subgradient(x[j], j)
                violation = violation_of(low, high, g)
                if violation < -SLEEPS * before * norm[j]:
                    order[a] = -1
                    continue
                estimate += gap_term(penalty, x[j], g, j)
                if violation > 0.0:
                    worst = max(worst, violation / norm[j]) if norm[j] > 0.0 else worst
                    bound = lipschitz[j]
                    new = penalty.prox(x[j] - g / bound, 1.0 / bound, j)
                    change = new - x[j]
                    if change != 0.0:
                        x[j] = new
                        move_slope(matrix, j, change, weight, slope)
        sweeps += 1
        reads += awake
        awake = close_gaps(order, awake)
        if estimate <= goal:
            break
    return estimate, worst, awake, reads


@kernel
def wake_all(penalty: Any, norm: Array, products: Array, x: Array, worst: float, order: Array) -> tuple[float, int]:
    """The gap itself, from the products of all columns; list those not deep at rest, and tell their number."""
    gap, count = 0.0, 0
    for j in range(x.size):
        gap += gap_term(penalty, x[j], products[j], j)
        low, high = penalty.subgradient(x[j], j)
        order[count] = j
        count += violation_of(low, high, products[j]) >= -worst * norm[j]
    return gap, count


@kernel
def largest_violation(penalty: Any, norm: Array, products: Array, x: Array) -> float:
    """Over ‖a_j‖, as sweeps tell it."""
    worst = 0.0
    for j in range(x.size):
        low, high = penalty.subgradient(x[j], j)
        violation = violation_of(low, high, products[j])
        worst = max(worst, violation / norm[j]) if norm[j] > 0.0 else worst
    return worst
