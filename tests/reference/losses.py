"""Losses, one sample at a time."""

from __future__ import annotations

import numpy as np


class Squared:
    """1/2 (z - y)^2."""

    bound, quadratic = 1.0, True

    def value(self, y, z):
        return 0.5 * (z - y) ** 2

    def derivative(self, y, z):
        return z - y

    def curvature(self, y, z):
        return np.ones_like(z)

    def conjugate(self, y, u):
        """sup_z u z - loss(y, z) = u y + u^2 / 2."""
        return u * y + 0.5 * u**2


class Logistic:
    """log(1 + exp(-y z)), y = -1 or +1."""

    bound, quadratic = 0.25, False

    def value(self, y, z):
        return np.logaddexp(0.0, -y * z)

    def derivative(self, y, z):
        return -y * np.exp(-np.logaddexp(0.0, y * z))

    def curvature(self, y, z):
        return y**2 * np.exp(-np.logaddexp(0.0, y * z) - np.logaddexp(0.0, -y * z))

    def conjugate(self, y, u):
        """p log p + (1-p) log(1-p) for p = -u/y in [0, 1] (0 log 0 = 0), else inf."""
        p = -u / y
        if not 0.0 <= p <= 1.0:
            return np.inf
        return sum(q * np.log(q) for q in (p, 1.0 - p) if q > 0.0)


class Huber:
    """r^2 / 2 if |r| <= delta, else delta (|r| - delta/2), with r = z - y."""

    bound, quadratic = 1.0, False

    def __init__(self, delta=1.35):
        self.delta = delta

    def value(self, y, z):
        r = np.abs(z - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def derivative(self, y, z):
        return np.clip(z - y, -self.delta, self.delta)

    def curvature(self, y, z):
        return np.where(np.abs(z - y) <= self.delta, 1.0, 0.0)

    def conjugate(self, y, u):
        """u y + u^2 / 2 for |u| <= delta, else inf."""
        return u * y + 0.5 * u**2 if abs(u) <= self.delta else np.inf


class SquaredHinge:
    """max(0, 1 - y z)^2, y = -1 or +1 (no factor 1/2)."""

    bound, quadratic = 2.0, False

    def value(self, y, z):
        return np.maximum(0.0, 1.0 - y * z) ** 2

    def derivative(self, y, z):
        return -2.0 * y * np.maximum(0.0, 1.0 - y * z)

    def curvature(self, y, z):
        return np.where(y * z < 1.0, 2.0 * y**2, 0.0)

    def conjugate(self, y, u):
        """w + w^2 / 4 for w = u/y <= 0, else inf."""
        w = u / y
        return w + 0.25 * w**2 if w <= 0.0 else np.inf


def make_loss(name, huber_delta=1.35):
    if name == "huber":
        return Huber(huber_delta)
    return {"squared": Squared, "logistic": Logistic, "squared_hinge": SquaredHinge}[name]()
