"""Matrices, targets and weights: generic ones, and all that is known to be hard."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import SPARSE, STORAGES, Array
from .chance import chance, choose, pick

PLAIN = tuple(storage for storage in STORAGES if storage not in SPARSE)
#: Upper ends of the sizes, by their shares; columns may be twice as many above 30.
SIZES = {"1": 0.05, "3": 0.3, "8": 0.53, "30": 0.11, "80": 0.009, "200": 0.001}
MATRICES = {"normal": 0.45, "sparse": 0.2, "binary": 0.1, "integer": 0.1, "powers": 0.05, "low-rank": 0.1}
TARGETS = {"model": 0.55, "noise": 0.2, "zero": 0.04, "constant": 0.06, "column": 0.05, "outlier": 0.1}
LABELS = {"model": 0.5, "random": 0.3, "separable": 0.15, "one class": 0.05}
COUNTS = {"counts": 0.6, "zeros": 0.1, "real": 0.2, "large": 0.1}
WEIGHTS = {"uniform": 0.35, "zeros": 0.3, "spread": 0.2, "ones": 0.08, "one": 0.05, "none": 0.02}


def draw_shape(rng: Any, largest: int = 200) -> tuple[int, int]:
    """Mostly small."""
    most = min(int(choose(rng, SIZES)), largest)
    return int(rng.integers(1, most + 1)), int(rng.integers(1, most * (2 if most > 30 else 1) + 1))


def draw_matrix(rng: Any, d: int, n: int) -> Array:
    """Columns of a kind; some of them equal, constant or zero; scales."""
    kind = choose(rng, MATRICES)
    A = rng.standard_normal((d, n))
    if kind == "sparse":
        A *= rng.random((d, n)) < pick(rng, (0.1, 0.3, 0.6))
    elif kind == "binary":
        A = (A > 0.3).astype(float)
    elif kind == "integer":
        A = np.round(2.0 * A)
    elif kind == "powers":
        A = np.linspace(-1.0, 1.0, d)[:, None] ** np.arange(n)[None, :]
    elif kind == "low-rank":
        A = rng.standard_normal((d, 1)) * rng.standard_normal(n) + 10.0 ** rng.uniform(-12.0, 0.0) * A
    for j in np.flatnonzero(rng.random(n) < 0.08):
        A[:, j] = pick(rng, (0.0, 1.0, A[:, int(rng.integers(n))], -2.5))
    return _scaled(rng, A)


def _scaled(rng: Any, A: Array) -> Array:
    if chance(rng, 0.15):
        A = A * 10.0 ** rng.uniform(-6.0, 6.0, A.shape[1])
    if chance(rng, 0.15):
        A = A + pick(rng, (1.0, 1e3, 1e8))
    if chance(rng, 0.12):
        A = A * 10.0 ** rng.uniform(-150.0, 150.0)
    if chance(rng, 0.02):
        A = A * (5e-324 * pick(rng, (1.0, 1e3, 1e15)))
    if chance(rng, 0.01):
        A = np.where(rng.random(A.shape) < 0.3, 2e-310, A)
    return A


def draw_target(rng: Any, A: Array, loss: str) -> Array:
    """A target that the loss takes: from a sparse model, or something special."""
    d, n = A.shape
    clean = (A / (np.abs(A).max() or 1.0)) @ (rng.standard_normal(n) * (rng.random(n) < 0.5))
    if loss in ("logistic", "squared_hinge"):
        return _labels(rng, clean)
    if loss == "poisson":
        return _counts(rng, clean)
    kind = choose(rng, TARGETS)
    b = clean + rng.standard_normal(d) * pick(rng, (0.0, 0.1, 1.0))
    if kind == "noise":
        b = rng.standard_normal(d)
    elif kind == "zero":
        b = np.zeros(d)
    elif kind == "constant":
        b = np.full(d, pick(rng, (1.0, -3.0, 1e8, 0.1)))
    elif kind == "column":
        b = A[:, int(rng.integers(n))].copy()
    elif kind == "outlier":
        b[int(rng.integers(d))] += 10.0 ** rng.uniform(1.0, 10.0)
    if chance(rng, 0.3):
        b = b * 10.0 ** rng.uniform(-6.0, 8.0)
    if chance(rng, 0.06) and np.abs(b).max() < 1e10:
        b = b * 10.0 ** rng.uniform(-150.0, 150.0)
    return b


def _labels(rng: Any, clean: Array) -> Array:
    kind = choose(rng, LABELS)
    if kind == "one class":
        return np.full(clean.size, pick(rng, (-1.0, 1.0)))
    noise = {"model": 0.5, "random": 1e3, "separable": 0.0}[kind] * rng.standard_normal(clean.size)
    return np.where(clean + noise >= 0.0, 1.0, -1.0)


def _counts(rng: Any, clean: Array) -> Array:
    kind = choose(rng, COUNTS)
    mean = np.exp(np.clip(clean, -3.0, 3.0))
    if kind == "zeros":
        return np.zeros(clean.size)
    if kind == "real":
        return mean * rng.random(clean.size)
    return rng.poisson(mean).astype(float) * (1.0 if kind == "counts" else 10.0 ** rng.uniform(0.0, 12.0))


def draw_weights(rng: Any, d: int) -> Array:
    """Weights of samples or of penalties."""
    kind = choose(rng, WEIGHTS)
    weight = rng.random(d) + 1e-3
    if kind == "zeros":
        weight[rng.random(d) < 0.4] = 0.0
    elif kind == "spread":
        weight = 10.0 ** rng.uniform(-12.0, 12.0, d)
    elif kind == "ones":
        weight = np.ones(d)
    elif kind in ("one", "none"):
        weight = np.zeros(d)
        weight[int(rng.integers(d))] = 2.0 * (kind == "one")
    return weight


def draw_storage(rng: Any, A: Array, is_sparse: bool) -> tuple[Array, str]:
    """A storage, and A with the numbers that it can hold."""
    storage = pick(rng, SPARSE if is_sparse else PLAIN)
    if storage == "float32":
        with np.errstate(all="ignore"):
            rounded = A.astype(np.float32).astype(float)
        return (rounded, storage) if np.isfinite(rounded).all() else (A, "F")
    if storage == "int":
        return (np.round(A * 3.0), storage) if np.abs(A).max() < 1e15 else (A, "F")
    return A, storage
