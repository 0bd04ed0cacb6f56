"""Penalties, one coordinate at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Penalty:
    """Psi_j(x) = l1_j |x| + l2_j x^2 / 2 + linear_j x + indicator of [lower_j, upper_j]."""

    l1: np.ndarray
    l2: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    linear: np.ndarray

    def value(self, x, j):
        if not self.lower[j] <= x <= self.upper[j]:
            return np.inf
        return self.l1[j] * abs(x) + 0.5 * self.l2[j] * x**2 + self.linear[j] * x

    def prox(self, v, step, j):
        """argmin_z (z - v)^2 / 2 + step Psi_j(z)."""
        v = v - step * self.linear[j]
        soft = np.sign(v) * max(abs(v) - step * self.l1[j], 0.0)
        return min(max(soft / (1.0 + step * self.l2[j]), self.lower[j]), self.upper[j])

    def subgradient(self, x, j):
        """The interval of subgradients of Psi_j at a feasible x; open-ended at the box ends."""
        smooth = self.l2[j] * x + self.linear[j]
        lo = smooth + (self.l1[j] if x > 0 else -self.l1[j])
        hi = smooth + (-self.l1[j] if x < 0 else self.l1[j])
        return (-np.inf if x == self.lower[j] else lo), (np.inf if x == self.upper[j] else hi)

    def dual_domain(self, j):
        """The interval on which Psi_j^* is finite."""
        lo = -np.inf if self.l2[j] > 0 or self.lower[j] > -np.inf else self.linear[j] - self.l1[j]
        hi = np.inf if self.l2[j] > 0 or self.upper[j] < np.inf else self.linear[j] + self.l1[j]
        return lo, hi

    def conjugate(self, u, j):
        """sup_x u x - Psi_j(x)."""
        lo, hi = self.dual_domain(j)
        if not lo <= u <= hi:
            return np.inf
        w, l1, l2 = u - self.linear[j], self.l1[j], self.l2[j]
        if l2 > 0:  # the unconstrained maximiser, moved into the box
            ends = [np.sign(w) * max(abs(w) - l1, 0.0) / l2]
        else:  # piecewise linear and bounded: the supremum is at a kink or a finite end
            ends = [0.0] + [e for e in (self.lower[j], self.upper[j]) if np.isfinite(e)]
        points = [min(max(e, self.lower[j]), self.upper[j]) for e in ends]
        return max(w * z - l1 * abs(z) - 0.5 * l2 * z**2 for z in points)


def penalty_of(n, l1=0.0, l2=0.0, lower=-np.inf, upper=np.inf, linear=None):
    fields = (l1, l2, lower, upper, 0.0 if linear is None else linear)
    return Penalty(*(np.array(np.broadcast_to(v, n), dtype=float) for v in fields))


def Zero(n, linear=None):
    return penalty_of(n, linear=linear)


def L1(strength, linear=None):
    return penalty_of(len(strength), l1=strength, linear=linear)


def L2(strength, linear=None):
    return penalty_of(len(strength), l2=strength, linear=linear)


def ElasticNet(l1, l2, linear=None):
    return penalty_of(len(l1), l1=l1, l2=l2, linear=linear)


def Box(lower, upper, l2=0.0, linear=None):
    return penalty_of(len(lower), l2=l2, lower=lower, upper=upper, linear=linear)
