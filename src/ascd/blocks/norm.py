"""The library's own block penalty: elastic net and the norm of the block, for coefficients of either sign or of one.

With soft(u) the entries of u beyond ±l1 (those above l1, where only coefficients that are not negative are allowed),

    Ψ_b(x) = l1_b·‖x‖₁ + group_b·‖x‖ + ½·ridge_b·‖x‖²,      Ψ_b*(u) = max(0, ‖soft(u)‖ − group_b)²/(2·ridge_b),

which for ridge_b = 0 is the indicator of ‖soft(u)‖ ≤ group_b.  The norm of soft(u) is 1-Lipschitz, so over a ball
around u it grows by the radius at most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ascd._core.checks import Array
from ascd.blocks.lengths import away_at, beyond, keeps_digits, largest_entry, length_beyond, length_of
from ascd.blocks.tuning import SCALE_HALVINGS


class BlockNorm(NamedTuple):
    """l1·‖x‖₁ + group·‖x‖ + ½·ridge·‖x‖², one number a block each; with ``positive`` x ≥ 0."""

    group: Array
    l1: Array
    ridge: Array
    positive: bool

    def block_cost(self, x: Array, b: int) -> float:
        total = 0.0
        for i in range(x.size):
            if self.positive and x[i] < 0.0:
                return math.inf
            total += abs(x[i])
        length = length_of(x)
        return self.l1[b] * total + self.group[b] * length + 0.5 * self.ridge[b] * length * length

    def block_prox(self, v: Array, step: float, b: int) -> None:
        threshold = step * self.l1[b]
        length = length_beyond(v, 1.0, threshold, self.positive)
        kept = length - step * self.group[b]
        factor = kept / (length * (1.0 + step * self.ridge[b])) if kept > 0.0 else 0.0
        for i in range(v.size):
            v[i] = factor * beyond(v[i], threshold, self.positive)

    def block_distance(self, x: Array, g: Array, b: int) -> float:
        group, l1, ridge, length = self.group[b], self.l1[b], self.ridge[b], length_of(x)
        if length == 0.0:
            return max(0.0, length_beyond(g, -1.0, l1, self.positive) - group)
        total, most = 0.0, 0.0
        for i in range(x.size):
            away = away_at(x[i], g[i], length, group, l1, ridge, self.positive)
            total += away * away
            most = max(most, abs(away))
        if keeps_digits(total, most):
            return math.sqrt(total)
        distance = 0.0
        for i in range(x.size):
            distance = math.hypot(distance, away_at(x[i], g[i], length, group, l1, ridge, self.positive))
        return distance

    def block_slack(self, x: Array, g: Array, b: int) -> float:
        for i in range(x.size):
            if x[i] != 0.0:
                return self.block_distance(x, g, b)
        over = length_beyond(g, -1.0, self.l1[b], self.positive)
        # within ±l1 the largest entry tells how far the nearest face is
        return (over if over > 0.0 else largest_entry(g, -1.0, self.positive) - self.l1[b]) - self.group[b]

    def block_conjugate(self, u: Array, radius: float, b: int) -> float:
        over = length_beyond(u, 1.0, self.l1[b], self.positive) + radius - self.group[b]
        is_inside = self.group[b] == 0.0 and largest_entry(u, 1.0, self.positive) + radius <= self.l1[b]
        if over <= 0.0 or is_inside:
            return 0.0
        if self.ridge[b] == 0.0:
            return math.inf
        share = math.hypot(over / math.sqrt(self.ridge[b]), 0.0)  # a call: the compiler must not square ``over`` first
        return 0.5 * share * share

    def block_scale(self, u: Array, radius: float, b: int) -> float:
        if self.block_conjugate(u, radius, b) < math.inf:
            return 1.0
        if self.group[b] == 0.0:
            return self.l1[b] / (largest_entry(u, 1.0, self.positive) + radius)
        if self.l1[b] == 0.0:
            return self.group[b] / (length_beyond(u, 1.0, 0.0, self.positive) + radius)
        # soft(s·u) is no longer than s·u and no shorter than that without l1·√size; at l1/max|u| it is 0
        length, most = length_beyond(u, 1.0, 0.0, self.positive), largest_entry(u, 1.0, self.positive)
        low = self.group[b] / (length + radius)
        if not length > 0.0:
            return low
        high = min(1.0, (self.group[b] + self.l1[b] * math.sqrt(u.size)) / length * (1.0 + 1e-12))
        if self.l1[b] / most * radius <= self.group[b]:
            low = max(low, (1.0 - 1e-15) * self.l1[b] / most)
        low = min(low, high)
        for _ in range(SCALE_HALVINGS):
            middle = 0.5 * (low + high)
            if length_beyond(u, middle, self.l1[b], self.positive) + middle * radius <= self.group[b]:
                low = middle
            else:
                high = middle
        return low

    def block_piece(self, x: Array, b: int, slope: Array) -> tuple[float, float]:
        kink, length = self.group[b], length_of(x)
        is_held = kink > 0.0 and length == 0.0
        for i in range(x.size):
            at_kink = x[i] == 0.0 and (self.positive or self.l1[b] > 0.0)
            along = kink * (x[i] / length) if length > 0.0 else 0.0
            smooth = along + self.ridge[b] * x[i] + math.copysign(self.l1[b], x[i])
            slope[i] = math.nan if is_held or at_kink else smooth
        return kink, self.ridge[b]

    def resting_radii(self) -> Array:
        """soft(u) is no longer than ‖u‖ − l1: the ball of that radius is inside the cube."""
        return self.group + self.l1

    def is_smooth(self) -> bool:
        return not (self.group.any() or self.l1.any() or self.positive)

    def scaled(self, factor: float) -> BlockNorm:
        return BlockNorm(factor * self.group, factor * self.l1, factor * self.ridge, self.positive)
