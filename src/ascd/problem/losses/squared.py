"""Least squares."""

from __future__ import annotations

from typing import NamedTuple

from ascd._core.checks import Array
from ascd.problem.losses.formulas import apart, product_up
from ascd.problem.optimality import square_times


class Squared(NamedTuple):
    """½(z − y)².

    Examples
    --------
    >>> import ascd
    >>> ascd.Squared().value(1.0, 3.0)
    2.0
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        return 0.5 * (z - y) * (z - y)

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        return square_times(z - y, 0.5 * weight)

    def derivative(self, y: float, z: float) -> float:
        return z - y

    def curvature(self, y: float, z: float) -> float:
        return 1.0

    def conjugate(self, y: float, u: float) -> float:
        return u * y + 0.5 * u * u

    def divergence(self, y: float, z: float, u: float) -> float:
        away = apart(z - y, u)
        return product_up(0.5 * away, away)

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return True

    def check_target(self, target: Array) -> None:
        """Every real target is fine."""
