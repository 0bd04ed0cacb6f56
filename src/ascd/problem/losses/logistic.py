"""The logistic loss."""

from __future__ import annotations

import math
from typing import NamedTuple

from ascd._core.checks import Array
from ascd._core.elementary import exp_of_negative, log_of_one_plus
from ascd.problem.losses.formulas import check_signs, entropy_term, log_share, sigmoid
from ascd.problem.tuning import DOMAIN_ROUNDING, FEW_UNITS, LEAST_ORDINARY, UNDERFLOW


class Logistic(NamedTuple):
    """log(1 + exp(−y z)) for labels y = ±1.

    Examples
    --------
    >>> import ascd
    >>> round(ascd.Logistic().value(1.0, 0.0), 4)
    0.6931
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        margin = y * z
        return log_of_one_plus(exp_of_negative(-abs(margin))) + max(-margin, 0.0)

    def derivative(self, y: float, z: float) -> float:
        return -y * sigmoid(-y * z)

    def curvature(self, y: float, z: float) -> float:
        small = exp_of_negative(-abs(y * z))
        inverse = 1.0 / (1.0 + small)
        return small * inverse * inverse

    def curvature_from(self, u: float) -> float:
        return abs(u) * max(1.0 - abs(u), 0.0)

    def conjugate(self, y: float, u: float) -> float:
        p = -u * y
        if p < -DOMAIN_ROUNDING or p > 1.0 + DOMAIN_ROUNDING:
            return math.inf
        return entropy_term(p) + entropy_term(1.0 - p)

    def divergence(self, y: float, z: float, u: float) -> float:
        """The Kullback–Leibler divergence of the probability p = −u·y from q = σ(−y·z)."""
        p = -u * y
        if p < 0.0 or p > 1.0 + DOMAIN_ROUNDING:
            return math.inf
        p = min(p, 1.0)
        q, rest = sigmoid(-y * z), sigmoid(y * z)
        away = p - q if p + q <= 1.0 else rest - (1.0 - p)
        share, other = log_share(p, q, -self.value(y, -z), away), log_share(1.0 - p, rest, -self.value(y, z), -away)
        lost = UNDERFLOW if min(q, rest) < LEAST_ORDINARY else 0.0
        return max(0.0, share + other) + FEW_UNITS * abs(away) + lost

    def curvature_bound(self) -> float:
        return 0.25

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        check_signs(target, "logistic")
