"""What losses share: functions that do not overflow, and differences that do not cancel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, optional_method
from ascd._core.scalars import exp_of_negative, log_of
from ascd.problem.tuning import FEW_UNITS, UNDERFLOW


@helper
def sigmoid(t: float) -> float:
    """1 / (1 + exp(−t)) without overflow."""
    small = exp_of_negative(-abs(t))
    return (1.0 if t >= 0.0 else small) * (1.0 / (1.0 + small))


@helper
def entropy_term(p: float) -> float:
    p = max(p, 0.0)
    return p * log_of(p)


@helper
def apart(first: float, second: float) -> float:
    """|first − second|, at most, where both are rounded; 0 where they are the same."""
    away = abs(first - second)
    return away + 2.0**-51 * (abs(first) + abs(second)) if away > 0.0 else 0.0


@helper
def product_up(first: float, second: float) -> float:
    """first·second of two that are not negative, at least, also where that is too small for float64.

    Examples
    --------
    >>> from ascd.problem.losses.formulas import product_up
    >>> product_up(1.5, 2.0), product_up(1e-200, 1e-200) > 0.0, product_up(0.0, 1.0)
    (3.0, True, 0.0)
    """
    return first * second + UNDERFLOW if first > 0.0 else 0.0


@helper
def log_share(p: float, q: float, log_q: float, away: float) -> float:
    """p·log(p/q), where p − q = ``away``."""
    if p <= 0.0:
        return 0.0
    return p * (math.log1p(away / q) if abs(away) <= 0.5 * q else math.log(p) - log_q)


@optional_method
def divergence(loss: Any, y: float, z: float, u: float) -> float:
    """How far u is from being the derivative at z: loss(y, z) + loss*(y, u) − u·z, rounding errors added."""
    value, conjugate, product = loss.value(y, z), loss.conjugate(y, u), u * z
    rounding = FEW_UNITS * (abs(value) + abs(conjugate) + abs(product)) + UNDERFLOW
    return max(0.0, value + conjugate - product) + rounding


@optional_method
def weighted_value(loss: Any, weight: float, y: float, z: float) -> float:
    """weight·loss(y, z), of losses that are squares also where these alone are too small or too large for float64."""
    return weight * loss.value(y, z)


@optional_method
def curvature_from(loss: Any, u: float) -> float:
    """ℓ″(z) from u = ℓ′(z), of losses with |ℓ‴| ≤ ℓ″: from z to z + t the curvature grows at most by exp(|t|).

    Other losses do not have this method.
    """
    return math.inf


def check_signs(target: Array, name: str, argument: str = "b") -> None:
    """Classification losses take labels −1 and +1 only."""
    wrong = target[np.abs(target) != 1.0]
    if wrong.size:
        raise ValueError(f"{argument} must hold labels -1 and +1 for the {name} loss; got {wrong[0]:g} among others")
