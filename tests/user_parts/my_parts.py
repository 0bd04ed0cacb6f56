"""A loss, a penalty, a rule, a step and two oracles of one's own: plain NamedTuples, nothing registered."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import ascd


@ascd.helper
def length(r):
    return math.sqrt(1.0 + r * r)


class SmoothAbsolute(NamedTuple):
    """width²·(√(1 + (r/width)²) − 1) with r = z − y: an absolute value that is round at 0."""

    width: float = 1.0

    def value(self, y, z):
        return self.width**2 * (length((z - y) / self.width) - 1.0)

    def derivative(self, y, z):
        return (z - y) / length((z - y) / self.width)

    def curvature(self, y, z):
        return length((z - y) / self.width) ** -3

    def conjugate(self, y, u):
        share = u / self.width
        if abs(share) > 1.0 + 1e-12:
            return math.inf
        return u * y + self.width**2 * (1.0 - math.sqrt(max(0.0, 1.0 - share * share)))

    def is_quadratic(self):
        return False

    def curvature_bound(self):
        return 1.0


class Asymmetric(NamedTuple):
    """up·x for x > 0 and down·|x| for x < 0, each a number or one for each coordinate."""

    up: Any
    down: Any

    def cost(self, x, j):
        return ascd.at(self.up, j) * x if x > 0.0 else -ascd.at(self.down, j) * x

    def prox(self, v, step, j):
        return max(0.0, v - step * ascd.at(self.up, j)) + min(0.0, v + step * ascd.at(self.down, j))

    def subgradient(self, x, j):
        up, down = ascd.at(self.up, j), ascd.at(self.down, j)
        return (up if x > 0.0 else -down), (-down if x < 0.0 else up)

    def cost_conjugate(self, u, j):
        rounding = 1.0 + 1e-12
        return 0.0 if -ascd.at(self.down, j) * rounding <= u <= ascd.at(self.up, j) * rounding else math.inf

    def dual_scale(self, u, j):
        if u > ascd.at(self.up, j):
            return ascd.at(self.up, j) / u
        return min(1.0, -ascd.at(self.down, j) / u) if u < 0.0 else 1.0


class LeastVisited(NamedTuple):
    """One of two random coordinates, the one that was chosen less often; ``visits`` is its work array."""

    visits: Any = None

    def prepare(self, parts, oracle, steepness):
        return LeastVisited(np.zeros(parts.norm.size))

    def select(self, point, t, rng):
        first, second = int(rng.random() * point.x.size), int(rng.random() * point.x.size)
        chosen = first if self.visits[first] <= self.visits[second] else second
        self.visits[chosen] += 1.0
        return chosen

    def active_count(self, point):
        return 2


class Backwards(NamedTuple):
    """n − 1, …, 1, 0 and again; it does not say from how many it chooses."""

    unit: float = 1.0

    def select(self, point, t, rng):
        return point.x.size - 1 - t % point.x.size


class Partway(NamedTuple):
    """A ``share`` of the way to the minimiser of the model."""

    share: float

    def take(self, point, i, g):
        problem, lipschitz = point.problem, point.problem.lipschitz[i]
        goal = problem.penalty.prox(point.x[i] - g / lipschitz, 1.0 / lipschitz, i)
        change = self.share * (goal - point.x[i])
        if abs(change) < 1e-14 * abs(goal):
            change = goal - point.x[i]
        moved = change * problem.norm[i] ** 2
        return point.x[i] + change, g + problem.gain * moved, problem.slack * abs(moved)


class Generous(NamedTuple):
    """The norm bound times ``factor`` ≥ 1."""

    factor: float

    def update(self, point, i, change, rng):
        problem = point.problem
        point.intervals.inflate(self.factor * abs(change) * problem.norm[i] * (problem.gain + problem.slack))


class Frozen(NamedTuple):
    """Pretends that a step changes no other gradient entry, and admits that this is not safe."""

    unit: float = 1.0

    def is_safe(self):
        return False

    def update(self, point, i, change, rng):
        pass
