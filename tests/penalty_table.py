"""The table of penalties: each in the library's words, and as the sum of terms that the reference computes with.

A row is a function of the number of coordinates, the largest gradient entry at zero, and the unit of its other
strengths (1 on data whose gradients are of that size).
"""

from __future__ import annotations

import math

import numpy as np
from reference.penalties import penalty_of

import ascd

INF = math.inf


def weights_with_a_zero(n):
    return np.linspace(0.0, 2.0, n) if n > 1 else np.ones(1)


def some_weights(n):
    """One of three coordinates is free of penalty."""
    return np.where(np.arange(n) % 3 == 1, 0.0, 1.0 + np.arange(n) / n)


def alternating(n, size):
    return size * (-1.0) ** np.arange(n)


def l1(n, strength, weights=1.0, linear=0.0):
    return ascd.L1(strength, weights, linear), penalty_of(n, l1=strength * weights, linear=linear)


def l2(n, strength, weights=1.0, linear=0.0):
    return ascd.L2(strength, weights, linear), penalty_of(n, l2=strength * weights, linear=linear)


def elastic_net(n, first, second, weights=1.0, linear=0.0):
    return (
        ascd.L1L2(first, second, weights, linear),
        penalty_of(n, l1=first * weights, l2=second * weights, linear=linear),
    )


def bounded(n, first, second, lower, upper, weights=1.0):
    return (
        ascd.BoundedL1L2(first, second, lower, upper, weights),
        penalty_of(n, l1=first * weights, l2=second * weights, lower=lower, upper=upper),
    )


def box(n, lower, upper, second=0.0, linear=0.0):
    return ascd.Box(lower, upper, second, linear), penalty_of(n, l2=second, lower=lower, upper=upper, linear=linear)


def mixed_box(n):
    """Ends at both sides, at one, at none."""
    return np.where(np.arange(n) % 2, -INF, -0.3), np.where(np.arange(n) % 3, 0.4, INF)


#: name → (n, top, unit) → the library's penalty, and the reference's
PENALTIES = {
    "none": lambda n, top, unit: (ascd.Zero(), penalty_of(n)),
    "none, linear": lambda n, top, unit: (
        ascd.Zero(alternating(n, 0.4 * unit)),
        penalty_of(n, linear=alternating(n, 0.4 * unit)),
    ),
    "l1": lambda n, top, unit: l1(n, 0.3 * top),
    "l1 weighted": lambda n, top, unit: l1(n, 0.4 * unit, weights_with_a_zero(n)),
    "l1, some free": lambda n, top, unit: l1(n, 0.4 * unit, some_weights(n)),
    "l1 linear": lambda n, top, unit: l1(n, 0.5 * unit, linear=alternating(n, 0.2 * unit)),
    "l1 of strength 0": lambda n, top, unit: l1(n, 0.0),
    "l1 above the maximum": lambda n, top, unit: l1(n, 1.5 * top),
    "l2": lambda n, top, unit: l2(n, 0.5),
    "l2 weighted, linear": lambda n, top, unit: l2(n, 0.7, 1.0 + weights_with_a_zero(n), alternating(n, 0.3)),
    "elastic net": lambda n, top, unit: elastic_net(n, 0.2 * unit, 0.3),
    "elastic net, some free": lambda n, top, unit: elastic_net(n, 0.4 * unit, 0.4, some_weights(n)),
    "elastic net weighted, linear": lambda n, top, unit: elastic_net(
        n, 0.2 * unit, 0.3, 0.5 + weights_with_a_zero(n), alternating(n, 0.1 * unit)
    ),
    "bounded elastic net": lambda n, top, unit: bounded(n, 0.2 * unit, 0.2, -0.1, 0.2, some_weights(n)),
    "box": lambda n, top, unit: box(n, -0.2, 0.5),
    "box away from 0": lambda n, top, unit: box(n, 0.25, 1.5),
    "box away from 0, l2": lambda n, top, unit: box(n, 0.1, 0.6, 0.2),
    "half-infinite box": lambda n, top, unit: box(n, 0.0, INF),
    "non-negative lasso": lambda n, top, unit: box(n, 0.0, INF, linear=0.4 * unit),
    "mixed box, l2, linear": lambda n, top, unit: box(n, *mixed_box(n), 0.2, -0.5),
}
#: Those that keep F bounded below whatever the data: a linear term alone does not.
BOUNDED_BELOW = [name for name in PENALTIES if name != "none, linear"]
