"""Parts with mistakes that users make; tests look for the lines marked with a name."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .my_blocks import norm_of


class Wild(NamedTuple):
    """Takes turns, and picks a coordinate that may not exist from step ``since`` on."""

    pick: float
    since: int = 0

    def select(self, point, t, rng):
        return self.pick if t >= self.since else t % point.x.size


class Counted(NamedTuple):
    """The same coordinate from the first step on, and it counts."""

    pick: int

    def select(self, point, t, rng):
        return self.pick

    def active_count(self, point):
        return 1


class Typo(NamedTuple):
    unit: float = 1.0

    def select(self, point, t, rng):
        upper = point.intervalls.bounds_at(0)[1]  # Typo
        return int(upper)


class Told(NamedTuple):
    """A rule, a step or a steepness that returns whatever it was told to."""

    answer: Any

    def select(self, point, t, rng):
        return self.answer

    def take(self, point, i, g):
        return self.answer

    def score(self, penalty, j, x, g):
        return math.nan

    def bounds(self, penalty, j, x, g, r):
        return self.answer


class Slopeless(NamedTuple):
    """The squared loss, with a derivative that is no number."""

    slope: float = math.nan

    def value(self, y, z):
        return 0.5 * (z - y) ** 2

    def derivative(self, y, z):
        return self.slope

    def curvature(self, y, z):
        return 1.0

    def conjugate(self, y, u):
        return 0.5 * u * u + u * y

    def is_quadratic(self):
        return False

    def curvature_bound(self):
        return 1.0


class Signed(NamedTuple):
    """An L1 penalty whose subgradient is made of the sign of x: 0/0 at zero, where compiled code goes on with nan."""

    strength: float

    def cost(self, x, j):
        return self.strength * abs(x)

    def prox(self, v, step, j):
        return math.copysign(max(abs(v) - step * self.strength, 0.0), v)

    def subgradient(self, x, j):
        slope = self.strength * (x / abs(x) if x != 0.0 else math.nan)
        return slope, slope

    def cost_conjugate(self, u, j):
        return 0.0 if abs(u) <= self.strength else math.inf

    def dual_scale(self, u, j):
        return min(1.0, self.strength / max(abs(u), 1e-300))


class BlockNans(NamedTuple):
    """The norm of a block, but for the answers that are no numbers."""

    in_prox: float = 1.0
    in_distance: float = 1.0
    in_conjugate: float = 1.0

    def block_cost(self, x, b):
        return norm_of(x)

    def block_prox(self, v, step, b):
        size = norm_of(v)
        share = max(0.0, 1.0 - step / size) if size > 0.0 else 0.0
        for i in range(v.size):
            v[i] *= share * self.in_prox

    def block_distance(self, x, g, b):
        size, total = norm_of(x), 0.0
        if size == 0.0:
            return max(0.0, norm_of(g) - 1.0) * self.in_distance
        for i in range(x.size):
            total += (g[i] + x[i] / size) ** 2
        return math.sqrt(total) * self.in_distance

    def block_conjugate(self, u, radius, b):
        return 0.0 if (norm_of(u) + radius) * self.in_conjugate <= 1.0 else math.inf * self.in_conjugate

    def block_scale(self, u, radius, b):
        return min(1.0, 1.0 / max(norm_of(u) + radius, 1e-300))


class Shrinking(NamedTuple):
    """An oracle that narrows intervals below nothing."""

    amount: float

    def update(self, point, i, change, rng):
        point.intervals.offset[0] -= self.amount
        point.intervals.inflate(abs(change) * point.problem.norm[i])


class Undefined(NamedTuple):
    """A penalty with a mistake in its prox."""

    strength: float

    def cost(self, x, j):
        return self.strength * abs(x)

    def prox(self, v, step, j):
        return self.strenght * step  # Undefined

    def subgradient(self, x, j):
        return -self.strength, self.strength

    def cost_conjugate(self, u, j):
        return 0.0 if abs(u) <= self.strength else math.inf

    def dual_scale(self, u, j):
        return 1.0
