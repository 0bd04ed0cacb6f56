"""The squared hinge of support vector machines."""

from __future__ import annotations

import math
from typing import NamedTuple

from ascd._core.checks import Array
from ascd.problem.losses.formulas import apart, check_signs, product_up
from ascd.problem.optimality import square_times
from ascd.problem.tuning import DOMAIN_ROUNDING


class SquaredHinge(NamedTuple):
    """max(0, 1 − y z)² for labels y = ±1.

    Examples
    --------
    >>> import ascd
    >>> ascd.SquaredHinge().value(1.0, -1.0)
    4.0
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        missing = max(0.0, 1.0 - y * z)
        return missing * missing

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        return square_times(max(0.0, 1.0 - y * z), weight)

    def derivative(self, y: float, z: float) -> float:
        return -2.0 * y * max(0.0, 1.0 - y * z)

    def curvature(self, y: float, z: float) -> float:
        return 2.0 * y * y if y * z < 1.0 else 0.0

    def conjugate(self, y: float, u: float) -> float:
        a = -u * y
        if a < -DOMAIN_ROUNDING:
            return math.inf
        return 0.25 * a * a - a

    def divergence(self, y: float, z: float, u: float) -> float:
        a, missing = -u * y, 1.0 - y * z
        if a < 0.0:
            return math.inf
        if missing <= 0.0:
            return product_up(a, 0.25 * a - missing)
        away = apart(missing, 0.5 * a)
        return product_up(away, away)

    def curvature_bound(self) -> float:
        return 2.0

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        check_signs(target, "squared_hinge")
