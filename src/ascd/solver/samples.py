"""The loss as the solver sees it: one number and one slope a sample, at the image z = Ax + c.

The intercept c is free of penalty.  It is kept where it minimises f(Ax + c·1), that is, where the slopes sum to zero;
then it needs no column of ones, no centred copy of A, and it drops out of every gradient entry.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._base.checks import Array
from ascd._base.jit import at, helper, kernel

#: The slopes sum to zero when their sum is this small beside their sizes, times √d, or a step beside the image.
BALANCED = 1e-15
#: Where the slopes hardly bend (a Huber loss far out), longer and longer steps look for the place where they do.
SMALL = 1e-9
LONGER = 4.0
#: Data of one class has no finite intercept: the search ends somewhere out there.
MOST_NEWTON_STEPS = 100


@kernel
def look(sample: Any, loss: Any, image: Array, slope: Array, curvature: Array) -> float:
    """Σ_k s_k·loss(b_k, z_k); the slopes s·loss' and the curvatures s·loss'' are filled in."""
    return fill_slopes(sample, loss, image, 0.0, slope, curvature)


@kernel
def stiffen(sample: Any, loss: Any, image: Array, there: Array, slope: Array, end: Array, stiffness: Array) -> None:
    """Raise ``stiffness`` to the curvatures that a step to ``there`` has shown (see ``moves``)."""
    for k in range(image.size):
        weight, target = at(sample.weight, k), sample.target[k]
        value, other = weight * loss.value(target, image[k]), weight * loss.value(target, there[k])
        lift = end[k] * (there[k] - image[k])
        divergence, change = value - other + lift, end[k] - slope[k]
        is_seen = divergence > SMALL * (abs(value) + abs(other) + abs(lift))
        is_seen = is_seen and weight > 0.0
        stiffness[k] = max(stiffness[k], 0.5 * change * change / divergence if is_seen else 0.0)


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
        stride *= LONGER
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
