"""Parts of one's own for problems of blocks: some that work, and some that must be refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import ascd


@ascd.helper
def norm_of(v):
    total = 0.0
    for i in range(v.size):
        total += v[i] * v[i]
    return math.sqrt(total)


class OwnNorm(NamedTuple):
    """The smallest contract: no slack, no piece."""

    strength: float

    def block_cost(self, x, b):
        return self.strength * norm_of(x)

    def block_prox(self, v, step, b):
        size = norm_of(v)
        share = max(0.0, 1.0 - step * self.strength / size) if size > 0.0 else 0.0
        for i in range(v.size):
            v[i] *= share

    def block_distance(self, x, g, b):
        size, total = norm_of(x), 0.0
        if size == 0.0:
            return max(0.0, norm_of(g) - self.strength)
        for i in range(x.size):
            total += (g[i] + self.strength * x[i] / size) ** 2
        return math.sqrt(total)

    def block_conjugate(self, u, radius, b):
        return 0.0 if norm_of(u) + radius <= self.strength else math.inf

    def block_scale(self, u, radius, b):
        return min(1.0, self.strength / max(norm_of(u) + radius, 1e-300))


class Backwards(NamedTuple):
    """A rule of one's own needs nothing for blocks."""

    unit: float = 1.0

    def select(self, point: Any, t: int, rng: Any) -> int:
        return point.x.size - 1 - t % point.x.size


class Cautious(NamedTuple):
    """An oracle of one's own: twice the clock of "norm"."""

    factor: float = 2.0

    def update_block(self, point: Any, i: int, change: Any, rng: Any) -> None:
        length = norm_of(change) * point.problem.norm[i] * (point.problem.gain + point.problem.slack)
        point.intervals.inflate(self.factor * length)


class Distance(NamedTuple):
    """A steepness of one's own: the plain distance."""

    unit: float = 1.0

    def block_score(self, penalty: Any, b: int, x: Any, g: Any) -> float:
        return penalty.block_distance(x, g, b)

    def block_rate(self, b: int) -> float:
        return 1.0


class HalfStep(NamedTuple):
    """A step of one's own: half as long as 1/L_b, and its gradient is said to be anywhere within a ball."""

    factor: float = 0.5

    def take_block(self, point: Any, i: int, x: Any, g: Any) -> float:
        lipschitz, moved = point.problem.lipschitz[i] / self.factor, 0.0
        for p in range(x.size):
            x[p] -= g[p] / lipschitz
        point.problem.penalty.block_prox(x, 1.0 / lipschitz, i)
        first = point.problem.ends[i]
        for p in range(x.size):
            moved += (x[p] - point.coefficients[first + p]) ** 2
        return point.problem.lipschitz[i] * math.sqrt(moved)


class WrongStep(NamedTuple):
    unit: float = 1.0

    def take_block(self, point: Any, i: int, x: Any, g: Any) -> float:
        return -1.0


class ColumnOracle(NamedTuple):
    """For single coordinates only."""

    unit: float = 1.0

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        pass


class ColumnStep(NamedTuple):
    unit: float = 1.0

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0


class NoSlope(NamedTuple):
    unit: float = 1.0

    def block_score(self, penalty: Any, b: int, x: Any, g: Any) -> float:
        return 0.0

    def block_rate(self, b: int) -> float:
        return 0.0
