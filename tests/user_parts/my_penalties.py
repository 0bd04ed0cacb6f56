"""Penalties of one's own that are twins of the library's, under other names, and some that no library has."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import ascd


class Between(NamedTuple):
    """a ≤ x ≤ b: the library's Box."""

    a: Any
    b: Any

    def cost(self, x, j):
        return 0.0 if ascd.at(self.a, j) <= x <= ascd.at(self.b, j) else math.inf

    def prox(self, v, step, j):
        return max(ascd.at(self.a, j), min(ascd.at(self.b, j), v))

    def subgradient(self, x, j):
        return (-math.inf if x <= ascd.at(self.a, j) else 0.0), (math.inf if x >= ascd.at(self.b, j) else 0.0)

    def cost_conjugate(self, u, j):
        return max(u * ascd.at(self.a, j), u * ascd.at(self.b, j))

    def dual_scale(self, u, j):
        return 1.0

    def scaled(self, factor):
        return self


class Threshold(NamedTuple):
    """lower·|x|: the library's L1, its strength under a name that means something else elsewhere."""

    lower: Any

    def cost(self, x, j):
        return ascd.at(self.lower, j) * abs(x)

    def prox(self, v, step, j):
        reach = step * ascd.at(self.lower, j)
        return max(0.0, v - reach) + min(0.0, v + reach)

    def subgradient(self, x, j):
        strength = ascd.at(self.lower, j)
        return (strength if x > 0.0 else -strength), (-strength if x < 0.0 else strength)

    def cost_conjugate(self, u, j):
        return 0.0 if abs(u) <= ascd.at(self.lower, j) * (1.0 + 1e-12) else math.inf

    def dual_scale(self, u, j):
        return ascd.at(self.lower, j) / abs(u) if abs(u) > ascd.at(self.lower, j) else 1.0

    def scaled(self, factor):
        return Threshold(factor * self.lower)


class Tilted(NamedTuple):
    """slope·x for x ≥ 0: falls for ever where the slope is negative, though no field is called "linear"."""

    slope: float

    def cost(self, x, j):
        return self.slope * x if x >= 0.0 else math.inf

    def prox(self, v, step, j):
        return max(0.0, v - step * self.slope)

    def subgradient(self, x, j):
        return (-math.inf if x <= 0.0 else self.slope), self.slope

    def cost_conjugate(self, u, j):
        return 0.0 if u <= self.slope else math.inf

    def dual_scale(self, u, j):
        return 1.0 if u <= self.slope else self.slope / u if self.slope >= 0.0 else -1.0


class Barrier(NamedTuple):
    """−height·log x: no point is nearest to 0."""

    height: float

    def cost(self, x, j):
        return -self.height * math.log(x) if x > 0.0 else math.inf

    def prox(self, v, step, j):
        root = math.sqrt(v * v + 4.0 * step * self.height)
        return 0.5 * (v + root) if v >= 0.0 else 2.0 * step * self.height / (root - v)

    def subgradient(self, x, j):
        return -self.height / x, -self.height / x

    def cost_conjugate(self, u, j):
        return -self.height * (1.0 + math.log(-u / self.height)) if u < 0.0 else math.inf

    def dual_scale(self, u, j):
        return 1.0 if u < 0.0 else -1.0


class Nowhere(NamedTuple):
    """Not a penalty: its prox leads where its cost is infinite."""

    unit: float = 1.0

    def cost(self, x, j):
        return math.inf

    def prox(self, v, step, j):
        return v

    def subgradient(self, x, j):
        return 0.0, 0.0

    def cost_conjugate(self, u, j):
        return 0.0

    def dual_scale(self, u, j):
        return 1.0


class Concave(NamedTuple):
    """The minimax concave penalty (Zhang 2010): λ|x| − x²/(2γ) up to |x| = γλ, constant beyond; not convex."""

    top: Any
    width: float

    def cost(self, x, j):
        size = min(abs(x), self.width * ascd.at(self.top, j))
        return ascd.at(self.top, j) * size - 0.5 * size * size / self.width

    def prox(self, v, step, j):
        end = ascd.at(self.top, j)
        if step >= self.width:  # a hard threshold
            return v if v * v > self.width * step * end * end else 0.0
        if abs(v) > self.width * end:
            return v
        return math.copysign(max(0.0, abs(v) - step * end) / (1.0 - step / self.width), v)

    def subgradient(self, x, j):
        slope = math.copysign(max(0.0, ascd.at(self.top, j) - abs(x) / self.width), x)
        return (-ascd.at(self.top, j), ascd.at(self.top, j)) if x == 0.0 else (slope, slope)

    def cost_conjugate(self, u, j):  # it is bounded
        return 0.0 if u == 0.0 else math.inf

    def dual_scale(self, u, j):
        return 1.0 if u == 0.0 else 0.0
