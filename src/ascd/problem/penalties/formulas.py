"""One-dimensional formulas that the penalties share."""

from __future__ import annotations

import math
from typing import Any

from ascd._core.jit import helper, optional_method, strict_helper
from ascd.problem.tuning import LAST_PLACES


@optional_method
def cost_size(penalty: Any, x: float, j: int) -> float:
    """The sum of the sizes of the terms of Ψ_j(x), which may cancel: what its rounding errors are a part of."""
    return abs(penalty.cost(x, j))


@helper
def untilted(cost: float, tilt: float) -> float:
    """even + |tilt| from cost = even + tilt, where the even part is not negative: what may cancel, added up."""
    return cost + 2.0 * max(0.0, -tilt)


@helper
def soft_threshold(v: float, threshold: float) -> float:
    """argmin_z ½(z − v)² + threshold·|z|."""
    if v > threshold:
        return v - threshold
    if v < -threshold:
        return v + threshold
    return 0.0


@helper
def absolute_subgradient(x: float, strength: float, derivative: float) -> tuple[float, float]:
    """∂(strength·|x|) + derivative."""
    low = strength if x > 0.0 else -strength
    high = -strength if x < 0.0 else strength
    return low + derivative, high + derivative


@strict_helper
def half_square_over(value: float, divisor: float) -> float:
    """½·value²/divisor, where the square alone may underflow."""
    return 0.5 * value * (value / divisor)


@strict_helper
def half_square_times(value: float, factor: float) -> float:
    """½·factor·value², where the square alone may underflow: the products are not to be reordered."""
    return 0.5 * factor * value * value


@helper
def even_conjugate(u: float, l1: float, l2: float) -> float:
    """The conjugate of l1·|x| + ½·l2·x² at u, which without l2 is the indicator of |u| ≤ l1: nothing is forgiven."""
    beyond = max(0.0, abs(u) - l1)
    if l2 > 0.0:
        return half_square_over(beyond, l2)
    return 0.0 if beyond == 0.0 else math.inf


@helper
def scale_between(u: float, low: float, high: float, size: float) -> float:
    """The largest s in [0, 1] for which s·u is certainly between low and high; 0 or −1 if there is none above 0.

    ``size`` is that of the numbers whose products and sums the ends are, 0 where these are exact: s·u must keep away
    from the ends by some units in their last place, all that is left where a kink and a tilt cancel each other.  A
    single point is exact; if it is not 0, no scale could meet it.
    """
    edge = LAST_PLACES * size
    if low + edge <= u <= high - edge or low == u == high:
        return 1.0
    if low == high:
        return 0.0 if low == 0.0 else -1.0
    end, sign = (high, 1.0) if u > high - edge else (-low, -1.0)
    room = end - 2.0 * edge - LAST_PLACES * end
    if room > 0.0:
        return room / (sign * u)
    return 0.0 if end >= 0.0 else -1.0


@helper
def piece_beside_zero(x: float, kink: float, curvature: float) -> tuple[float, float, float]:
    """The smooth piece around x of a penalty with a ``kink`` at 0: its curvature and its ends."""
    low = -math.inf if kink == 0.0 or x < 0.0 else 0.0
    high = math.inf if kink == 0.0 or x > 0.0 else 0.0
    return curvature, low, high
