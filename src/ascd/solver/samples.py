"""The door to the samples: targets, weights, losses, and what follows from the image z = Ax + c.

These live where the rows live; the solver asks for sums over them and for vectors of their length, nothing else:

==================  ===========================================================================
``evaluate``        Σ s·loss; slopes and curvatures are filled in, after the best intercept
``gap``             the samples' part of a duality gap, for the dual point scale·slope
``secants``         curvatures that a step has shown
``keep, compare``   slopes remembered: their lengths, and how the present one lies to them
==================  ===========================================================================

The intercept c is free of penalty.  It is kept where it minimises f(Ax + c·1), that is, where the slopes sum to zero;
then it needs no column of ones, no centred copy of A, and it drops out of every gradient entry.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import at, helper, kernel
from ascd.problem.duality import sample_gap
from ascd.problem.tuning import SQUARE_ROUNDING
from ascd.solver import tuning
from ascd.solver.tuning import BALANCED, LONGER_STRIDE, MOST_NEWTON_STEPS, SMALL


class Samples:
    """Targets, weights and losses in local memory."""

    def __init__(self, parts: Any, intercept: bool) -> None:
        self.sample, self.loss, self.intercept = parts.sample, parts.loss, intercept
        self.size = parts.sample.target.size
        self.is_quadratic = bool(parts.loss.is_quadratic())
        bound, weight = float(parts.loss.curvature_bound()), float(np.mean(parts.sample.weight))
        self.has_bound = math.isfinite(bound)
        self.most_curvature = weight * bound * self.size if self.has_bound else math.inf
        self.typical_curvature = weight * (bound if self.has_bound else 1.0)
        self.kept = np.zeros((tuning.SLOTS, self.size))  # slopes remembered

    def evaluate(self, image: Array, slope: Array, curvature: Array) -> tuple[float, float]:
        """The sum of losses, and how far the intercept (if there is one) has moved the image for it."""
        arrays = (self.sample, self.loss, image, slope, curvature)
        loss, shift = balance(*arrays, self.most_curvature) if self.intercept else (look(*arrays), 0.0)
        return float(loss), float(shift)

    def gap(self, image: Array, slope: Array, scale: float) -> float:
        """Σ f_k(z_k) + f_k*(θ_k) − θ_k·z_k for θ = scale·slope."""
        return float(fenchel_gap(self.sample, self.loss, image, slope, scale))

    def secants(self, image: Array, there: Array, slope: Array, end: Array, out: Array) -> None:
        """Raise ``out`` to the curvatures that a step from the image to ``there`` has shown."""
        raise_to_secants(self.sample, self.loss, image, there, slope, end, out)

    def keep(self, slot: int, slope: Array) -> tuple[float, float]:
        """Remember a slope; its squared length and its sum."""
        return keep_slope(slope, self.kept[slot])

    def compare(self, slope: Array, length: Array, total: Array, used: Array, out: Array) -> None:
        """For every slope v_r remembered: the share s of it in the present one, ‖e‖ and |Σe| of the rest e."""
        compare_slopes(slope, self.kept, length, total, used, out)


@kernel
def look(sample: Any, loss: Any, image: Array, slope: Array, curvature: Array) -> float:
    """Σ_k s_k·loss(b_k, z_k); the slopes s·loss' and the curvatures s·loss'' are filled in."""
    return fill_slopes(sample, loss, image, 0.0, slope, curvature)


@kernel
def fenchel_gap(sample: Any, loss: Any, image: Array, slope: Array, scale: float) -> float:
    return sample_gap(sample, loss, image, slope, scale)


@kernel
def keep_slope(slope: Array, place: Array) -> tuple[float, float]:
    length, total = 0.0, 0.0
    for k in range(slope.size):
        place[k] = slope[k]
        length += slope[k] * slope[k]
        total += slope[k]
    return length, total


@kernel
def compare_slopes(slope: Array, kept: Array, length: Array, total: Array, used: Array, out: Array) -> None:
    for r in range(used.size):
        if used[r] > 0:
            along, rest, size, sum_here = 0.0, 0.0, 0.0, 0.0
            for k in range(slope.size):
                along += kept[r, k] * slope[k]
                size += slope[k] * slope[k]
                sum_here += slope[k]
            along /= max(length[r], 1e-300)
            for k in range(slope.size):
                away = slope[k] - along * kept[r, k]
                rest += away * away
            out[0, r], out[1, r] = along, np.sqrt(rest + SQUARE_ROUNDING * SQUARE_ROUNDING * size)
            out[2, r] = abs(sum_here - along * total[r])


@kernel
def raise_to_secants(sample: Any, loss: Any, image: Array, there: Array, slope: Array, end: Array, out: Array) -> None:
    """The curvatures that a step to ``there`` has shown (see ``line_search``), where they are larger than ``out``."""
    for k in range(image.size):
        weight, target = at(sample.weight, k), sample.target[k]
        value, other = weight * loss.value(target, image[k]), weight * loss.value(target, there[k])
        lift = end[k] * (there[k] - image[k])
        divergence, change = value - other + lift, end[k] - slope[k]
        is_seen = divergence > SMALL * (abs(value) + abs(other) + abs(lift))
        is_seen = is_seen and weight > 0.0
        out[k] = max(out[k], 0.5 * change * change / divergence if is_seen else 0.0)


@kernel
def balance(sample: Any, loss: Any, image: Array, slope: Array, curvature: Array, most: float) -> tuple[float, float]:
    """Move all of z by the best constant; the sum of losses there, and the constant.  Slopes are filled in.

    Newton's method on Σ_k s_k·loss'(b_k, z_k + t) = 0, whose left side never falls as t grows; steps that leave the
    bracket or do not halve give way to bisection.  ``most`` is what the curvatures sum to at most (inf if unbounded):
    it tells, in the target's own units, where there is hardly any, and how long a first step is then.
    """
    t, low, high = 0.0, -math.inf, math.inf
    total, reach, stride, last = 0.0, 0.0, 0.0, math.inf
    balanced = BALANCED * math.sqrt(image.size)
    for k in range(image.size):
        reach = max(reach, abs(image[k]))
    start = math.inf
    for turn in range(MOST_NEWTON_STEPS):
        total = fill_slopes(sample, loss, image, t, slope, curvature)
        if turn == 0:
            start = total
        first, second, size = 0.0, 0.0, 0.0
        for k in range(slope.size):
            first += slope[k]
            second += curvature[k]
            size += abs(slope[k])
        if first > 0.0:
            high = t
        else:
            low = t
        if stride == 0.0:
            stride = size / most if most < math.inf else 1.0
        is_newton = second > SMALL * min(size, most)
        step = -first / second if is_newton else math.copysign(stride, -first)
        finite = size < math.inf  # a Poisson loss may overflow on the way
        is_short = is_newton and abs(step) <= BALANCED * max(reach, abs(t))
        if (finite and (abs(first) <= balanced * size or is_short)) or turn + 1 == MOST_NEWTON_STEPS:
            break
        if not (finite and low < t + step < high and 2.0 * abs(step) <= last):
            step = 0.5 * (low + high) - t
            if not abs(step) < math.inf:  # math.isfinite subtracts, which the compiler may reorder
                step = math.copysign(stride, -first)
        last = abs(step)
        t += step
        stride *= LONGER_STRIDE
    if not total <= start + SMALL * abs(start) and start < math.inf:  # lost on the way: where it began is better
        t = 0.0
        total = fill_slopes(sample, loss, image, t, slope, curvature)
    for k in range(image.size):
        image[k] += t
    return total, t


@helper
def fill_slopes(sample: Any, loss: Any, image: Array, t: float, slope: Array, curvature: Array) -> float:
    total = 0.0
    for k in range(image.size):
        weight, target, z = at(sample.weight, k), sample.target[k], image[k] + t
        is_counted = weight > 0.0  # exp may overflow in a sample without weight: 0·inf is nan
        total += weight * loss.value(target, z) if is_counted else 0.0
        slope[k] = weight * loss.derivative(target, z) if is_counted else 0.0
        curvature[k] = weight * loss.curvature(target, z) if is_counted else 0.0
    return total


@kernel
def cost_of(penalty: Any, columns: Array, values: Array) -> float:
    """Σ Ψ_j over some coordinates with these values."""
    total = 0.0
    for i in range(columns.size):
        total += penalty.cost(values[i], columns[i])
    return total
