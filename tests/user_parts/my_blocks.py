"""A block penalty of one's own."""

from __future__ import annotations

import math
from typing import NamedTuple

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
