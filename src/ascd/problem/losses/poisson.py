"""The Poisson loss with the logarithm as link."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.problem.losses.formulas import entropy_term, log_share
from ascd.problem.tuning import DOMAIN_ROUNDING, FEW_UNITS, LEAST_ORDINARY, UNDERFLOW


class Poisson(NamedTuple):
    """exp(z) − y·z + y·log y − y for counts y ≥ 0: half the Poisson deviance of the mean exp(z).

    Examples
    --------
    >>> import ascd
    >>> float(ascd.Poisson().value(1.0, 0.0))
    0.0
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        return np.exp(z) - y * z + entropy_term(y) - y

    def derivative(self, y: float, z: float) -> float:
        return np.exp(z) - y

    def curvature(self, y: float, z: float) -> float:
        return np.exp(z)

    def conjugate(self, y: float, u: float) -> float:
        mean = u + y
        if mean < -DOMAIN_ROUNDING * (1.0 + y):
            return math.inf
        return entropy_term(mean) - mean - entropy_term(y) + y

    def divergence(self, y: float, z: float, u: float) -> float:
        """The divergence mean·log(mean/q) − mean + q of Poisson's means, u + y from q = exp(z)."""
        mean, q = u + y, np.exp(z)
        if mean < -DOMAIN_ROUNDING * y or q == math.inf:
            return math.inf
        away = max(mean, 0.0) - q
        lost = UNDERFLOW if q < LEAST_ORDINARY else 0.0
        return max(0.0, log_share(max(mean, 0.0), q, z, away) - away) + FEW_UNITS * abs(away) + lost

    def curvature_bound(self) -> float:
        return math.inf

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        if target.min() < 0.0:
            raise ValueError(f"b must not be negative for the poisson loss; the smallest entry is {target.min():g}")
