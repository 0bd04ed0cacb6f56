"""Random choices, matrices, targets and weights: generic ones, and all that is known to be hard."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from .cases import SPARSE, STORAGES, Array

Value = TypeVar("Value")
PLAIN = tuple(storage for storage in STORAGES if storage not in SPARSE)
#: Upper ends of the sizes, by their shares; columns may be twice as many above 30.
SIZES = {"1": 0.05, "3": 0.3, "8": 0.53, "30": 0.11, "80": 0.009, "200": 0.001}
MATRICES = {"normal": 0.45, "sparse": 0.2, "binary": 0.1, "integer": 0.1, "powers": 0.05, "low-rank": 0.1}
TARGETS = {"model": 0.55, "noise": 0.2, "zero": 0.04, "constant": 0.06, "column": 0.05, "outlier": 0.1}
LABELS = {"model": 0.5, "random": 0.3, "separable": 0.15, "one class": 0.05}
CLASSES = {"model": 0.6, "random": 0.15, "rare": 0.1, "one": 0.05, "own": 0.1}
COUNTS = {"counts": 0.6, "zeros": 0.1, "real": 0.2, "large": 0.1}
WEIGHTS = {"uniform": 0.35, "zeros": 0.3, "spread": 0.2, "ones": 0.08, "one": 0.05, "none": 0.02}
GROUPS = {"single": 0.15, "all": 0.1, "neighbours": 0.25, "random": 0.5}


def chance(rng: Any, share: float) -> bool:
    """True in this share of all cases."""
    return bool(rng.random() < share)


def pick(rng: Any, values: Sequence[Value]) -> Value:
    """One of the values, all alike."""
    return values[int(rng.integers(len(values)))]


def choose(rng: Any, shares: Mapping[str, float]) -> str:
    """One of the names, by their shares, which need not sum to 1."""
    bounds = list(accumulate(shares.values()))
    return list(shares)[min(bisect(bounds, rng.random() * bounds[-1]), len(bounds) - 1)]


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
    if chance(rng, 0.15):
        A = A * 10.0 ** rng.uniform(-6.0, 6.0, A.shape[1])
    if chance(rng, 0.15):
        A = A + pick(rng, (1.0, 1e3, 1e8))
    if chance(rng, 0.12):
        A = A * 10.0 ** rng.uniform(-45.0, 45.0)
    return A


def _clean(rng: Any, A: Array, shape: tuple[int, ...]) -> Array:
    """Predictions of a random model of the columns, of size 1."""
    return (A / (np.abs(A).max() or 1.0)) @ rng.standard_normal(shape)


def draw_targets(rng: Any, A: Array, loss: str) -> tuple[Array, str]:
    """The target, and the loss without the word for several outputs."""
    name, _, several = loss.partition(" ")
    if name == "softmax":
        return draw_classes(rng, A), name
    if not several:
        return draw_target(rng, A, name), name
    T = int(pick(rng, (1, 2, 2, 3, 3, 5, 12)))
    b = np.stack([draw_target(rng, A, name) for _ in range(T)], axis=1)
    if name == "squared" and T > 1 and chance(rng, 0.15):
        b[:, 0] = pick(rng, (0.0, 1.0, b[:, 1]))
    return b, name


def draw_target(rng: Any, A: Array, loss: str) -> Array:
    """A target that the loss takes: from a sparse model, or something special."""
    d, n = A.shape
    clean = _clean(rng, A * (rng.random(n) < 0.5), (n,))
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
        b = b * 10.0 ** rng.uniform(-50.0, 50.0)
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


def draw_classes(rng: Any, A: Array, most: int = 20) -> Array:
    """Two and more classes; one with a single sample, one class alone, or every sample a class of its own."""
    (d, n), kind = A.shape, choose(rng, CLASSES)
    count = int(rng.integers(2, min(most, 7 if chance(rng, 0.9) else 20)))
    if kind == "one":
        return np.full(d, int(rng.integers(count)))
    if kind == "own":
        return np.arange(d) % min(2 * most, 40)
    scores = _clean(rng, A, (n, count)) + 0.5 * rng.standard_normal((d, count))
    labels = rng.integers(count, size=d) if kind == "random" else np.argmax(scores, axis=1)
    if kind == "rare":
        labels[int(rng.integers(d))] = count
    return labels.astype(np.int64)


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


def draw_groups(rng: Any, n: int) -> list[list[int]]:
    """A partition of the columns."""
    kind = choose(rng, GROUPS)
    if kind == "single":
        return [[j] for j in range(n)]
    if kind == "all":
        return [list(range(n))]
    order = np.arange(n) if kind == "neighbours" else rng.permutation(n)
    cuts = np.flatnonzero(rng.random(n - 1) < pick(rng, (0.2, 0.5))) + 1 if n > 1 else np.arange(0)
    return [part.tolist() for part in np.split(order, cuts)]


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
