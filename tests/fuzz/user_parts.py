"""Penalties as a user writes them, with field names that mean something else in the library's own.

What the library needs to know it must ask by methods; these run interpreted, since nothing of a user's is kept
compiled on disk.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .cases import Array


class Between(NamedTuple):
    """The constraint a ≤ x ≤ b."""

    a: float
    b: float

    def cost(self, x: float, j: int) -> float:
        return 0.0 if self.a <= x <= self.b else math.inf

    def prox(self, v: float, step: float, j: int) -> float:
        return max(self.a, min(self.b, v))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return (-math.inf if x <= self.a else 0.0), (math.inf if x >= self.b else 0.0)

    def cost_conjugate(self, u: float, j: int) -> float:
        return max(self.a * u, self.b * u)

    def dual_scale(self, u: float, j: int) -> float:
        return 1.0

    def arrays(self, n: int) -> dict[str, Array]:
        """For the judge."""
        return {"lower": np.full(n, self.a), "upper": np.full(n, self.b)}


class Absolute(NamedTuple):
    """lower·|x|: the strength has the name of a bound."""

    lower: float

    def cost(self, x: float, j: int) -> float:
        return self.lower * abs(x)

    def prox(self, v: float, step: float, j: int) -> float:
        return math.copysign(max(abs(v) - step * self.lower, 0.0), v)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return (self.lower if x > 0.0 else -self.lower), (-self.lower if x < 0.0 else self.lower)

    def cost_conjugate(self, u: float, j: int) -> float:
        return 0.0 if abs(u) <= self.lower else math.inf

    def dual_scale(self, u: float, j: int) -> float:
        return 1.0 if abs(u) <= self.lower else self.lower / abs(u)

    def arrays(self, n: int) -> dict[str, Array]:
        """For the judge."""
        return {"l1": np.full(n, self.lower, dtype=np.longdouble)}


class Squares(NamedTuple):
    """½·linear·x²: the strength has the name of the linear term."""

    linear: float

    def cost(self, x: float, j: int) -> float:
        return 0.5 * self.linear * x * x

    def prox(self, v: float, step: float, j: int) -> float:
        return v / (1.0 + step * self.linear)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return self.linear * x, self.linear * x

    def cost_conjugate(self, u: float, j: int) -> float:
        return 0.5 * u * u / self.linear

    def dual_scale(self, u: float, j: int) -> float:
        return 1.0

    def arrays(self, n: int) -> dict[str, Array]:
        """For the judge."""
        return {"l2": np.full(n, self.linear, dtype=np.longdouble)}


USERS: dict[str, Any] = {"Between": Between, "Absolute": Absolute, "Squares": Squares}


def user_arrays(name: str, parameters: dict[str, Any], n: int) -> dict[str, Array]:
    """The five numbers a coordinate."""
    zero = np.zeros(n, dtype=np.longdouble)
    free = {"l1": zero, "l2": zero, "linear": zero, "lower": np.full(n, -np.inf), "upper": np.full(n, np.inf)}
    return {**free, **USERS[name](**parameters).arrays(n)}
