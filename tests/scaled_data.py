"""Features of different scales with a signal, as numbers, labels and counts."""

from __future__ import annotations

import numpy as np

N, P = 60, 8
SCALES = np.array([0.01, 0.3, 1.0, 5.0, 100.0, 2.0, 7.0, 0.5])


def data(seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) * SCALES + 3.0 * SCALES
    X *= rng.random((N, P)) < density
    signal = (X / SCALES)[:, :3] @ [1.0, -2.0, 0.5]
    return X, signal + 0.3 * rng.standard_normal(N), rng.integers(1, 4, N).astype(float)


def labels(y):
    return np.where(y > np.median(y), "yes", "no")


def counts(y):
    return np.round(np.exp(0.3 * (y - y.mean()))).astype(float)
