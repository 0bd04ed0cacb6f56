"""Huber's loss: quadratic near the target, linear far from it."""

from __future__ import annotations

import math
from typing import NamedTuple

from ascd._core.checks import Array, as_number
from ascd.problem.losses.formulas import apart, product_up
from ascd.problem.optimality import square_times
from ascd.problem.tuning import DOMAIN_ROUNDING


class Huber(NamedTuple):
    """``½r²`` for ``|r| ≤ threshold``, ``threshold·(|r| − threshold/2)`` beyond, with ``r = z − y``.

    Examples
    --------
    >>> import ascd
    >>> ascd.Huber(1.0).value(0.0, 3.0)
    2.5
    """

    threshold: float = 1.35

    def value(self, y: float, z: float) -> float:
        size = abs(z - y)
        if size <= self.threshold:
            return 0.5 * size * size
        return self.threshold * (size - 0.5 * self.threshold)

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        size = abs(z - y)
        if size <= self.threshold:
            return square_times(size, 0.5 * weight)
        return weight * self.threshold * (size - 0.5 * self.threshold)

    def derivative(self, y: float, z: float) -> float:
        return max(-self.threshold, min(self.threshold, z - y))

    def curvature(self, y: float, z: float) -> float:
        return 1.0 if abs(z - y) <= self.threshold else 0.0

    def conjugate(self, y: float, u: float) -> float:
        if abs(u) > self.threshold * (1.0 + DOMAIN_ROUNDING):
            return math.inf
        return u * y + 0.5 * u * u

    def divergence(self, y: float, z: float, u: float) -> float:
        r = z - y
        if abs(u) > self.threshold * (1.0 + DOMAIN_ROUNDING):
            return math.inf
        if abs(r) <= self.threshold:
            away = apart(r, u)
            return product_up(0.5 * away, away)
        end = self.threshold if r > 0.0 else -self.threshold
        return product_up(apart(end, u), abs(r - 0.5 * (end + u)))

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        as_number(self.threshold, "Huber threshold", low=0.0, strict=True)
