"""Losses and penalties as NumPy formulas, written from their definitions: what the library is held against."""

from __future__ import annotations

import math

import numpy as np

import ascd

THRESHOLD = 1.35


def huber(y, z):
    size = np.abs(z - y)
    return np.where(size <= THRESHOLD, 0.5 * size**2, THRESHOLD * size - 0.5 * THRESHOLD**2)


#: name → value(y, z), slope(y, z), are targets labels?  (Those that the engine takes; Poisson has no curvature bound.)
LOSSES = {
    "squared": (lambda y, z: 0.5 * (z - y) ** 2, lambda y, z: z - y, False),
    "logistic": (lambda y, z: np.logaddexp(0.0, -y * z), lambda y, z: -y / (1.0 + np.exp(y * z)), True),
    "huber": (huber, lambda y, z: np.clip(z - y, -THRESHOLD, THRESHOLD), False),
    "squared_hinge": (
        lambda y, z: np.maximum(0.0, 1.0 - y * z) ** 2,
        lambda y, z: -2.0 * y * np.maximum(0.0, 1.0 - y * z),
        True,
    ),
}

W = np.array([1.0, 0.0, 2.5, 0.4])
C = np.array([0.3, -0.2, 0.0, -0.7])
LOW, HIGH = np.array([-1.0, 0.0, -math.inf, 0.25]), np.array([2.0, math.inf, 0.5, 0.25])


def inside(x, low, high):
    """0 inside the box, inf outside."""
    return np.where((x >= low) & (x <= high), 0.0, math.inf)


#: name → (the penalty for four coordinates, Ψ_j(x) as an array for an array x of four)
PENALTIES = {
    "zero": (ascd.Zero(), lambda x: 0.0 * x),
    "l1": (ascd.L1(0.8), lambda x: 0.8 * np.abs(x)),
    "l1 weights": (ascd.L1(0.8, W), lambda x: 0.8 * W * np.abs(x)),
    "l1 linear": (ascd.L1(0.9, 1.0, C), lambda x: 0.9 * np.abs(x) + C * x),
    "l2": (ascd.L2(0.5), lambda x: 0.25 * x**2),
    "l2 weights linear": (ascd.L2(0.5, W + 0.1, C), lambda x: 0.25 * (W + 0.1) * x**2 + C * x),
    "elastic net": (ascd.L1L2(0.6, 0.4), lambda x: 0.6 * np.abs(x) + 0.2 * x**2),
    "elastic net weights linear": (
        ascd.L1L2(0.6, 0.4, W + 0.1, C),
        lambda x: (W + 0.1) * (0.6 * np.abs(x) + 0.2 * x**2) + C * x,
    ),
    "non-negative": (ascd.Box(), lambda x: inside(x, 0.0, math.inf)),
    "non-negative lasso": (ascd.Box(linear=0.3), lambda x: inside(x, 0.0, math.inf) + 0.3 * x),
    "box": (ascd.Box(LOW, HIGH), lambda x: inside(x, LOW, HIGH)),
    "box l2 linear": (ascd.Box(-0.5, 1.5, 0.3, C), lambda x: inside(x, -0.5, 1.5) + 0.15 * x**2 + C * x),
}


def targets(loss, d, rng):
    """Labels for classification, real numbers otherwise."""
    z = rng.standard_normal(d)
    return np.sign(z) if LOSSES[loss][2] else 2.0 * z


def smooth(loss, A, b, weights, x):
    """f(Ax)."""
    return float(np.sum(weights * LOSSES[loss][0](b, A @ x)))


def gradient(loss, A, b, weights, x):
    """∇f = Aᵀ(s·loss'(b, Ax))."""
    return A.T @ (weights * LOSSES[loss][1](b, A @ x))


def feasible(penalty, rng, n=4):
    """A random point that the penalty allows."""
    return np.clip(rng.standard_normal(n), getattr(penalty, "lower", -math.inf), getattr(penalty, "upper", math.inf))
