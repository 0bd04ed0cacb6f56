"""The objective of a block problem, in long double, with a bound on the rounding error of its own evaluation.

    F(X, c) = Σ_k s_k·loss(y_k, (AX + 1cᵀ)_k) + Σ_b (l1_b·‖X_b‖₁ + group_b·‖X_b‖ + ½·ridge_b·‖X_b‖²)

over X ≥ 0 where it is ``positive``.  A point is one flat vector: X row by row, and behind it the constants c where
there are some.  So points have bounds, candidates and multiples as those of ``truth.Truth``, whose interface this is.
With the image known to e_k in every output, the softmax loss log(1 + Σ_{t≠y} exp(z_t − z_y)) is off by
(1 − p_y)·(exp(2e_k) − 1) or 2e_k at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .truth import LARGEST_EXPONENT, UNIT, Array, Long, argument_size, loss_terms


@dataclass(frozen=True)
class BlockTruth:
    """A block problem in the judge's own terms; ``b`` has a column an output, or is the classes of a softmax."""

    A: Array
    b: Array
    s: Array
    loss: str
    threshold: float
    blocks: tuple[tuple[int, ...], ...]
    group: Array
    l1: Array
    ridge: Array
    positive: bool
    has_constants: bool
    outputs: int

    #: constants are part of the point
    intercept = False

    @property
    def coefficients(self) -> int:
        return self.A.shape[1] * self.outputs

    @property
    def n(self) -> int:
        return self.coefficients + self.outputs * self.has_constants

    @property
    def lower(self) -> Array:
        lower = np.full(self.n, -np.inf)
        lower[: self.coefficients] = 0.0 if self.positive else -np.inf
        return lower

    @property
    def upper(self) -> Array:
        return np.full(self.n, np.inf)

    def is_allowed(self, x: Array) -> bool:
        return bool(np.isfinite(x).all() and np.all(x >= self.lower))

    def nearest(self) -> Array:
        return np.zeros(self.n)

    def values(self, X: Array, c: Any = None, unit: Any = UNIT) -> tuple[Array, Array, Array]:
        """F, its error bound and the sum of its absolute terms, for the columns of X, in arithmetic with this unit."""
        flat = np.asarray(X, dtype=float).reshape(self.n, -1)
        (d, n), T, m = self.A.shape, self.outputs, flat.shape[1]
        x = flat[: n * T].astype(Long).reshape(n, T, m)
        constant = flat[n * T :].astype(Long) if self.has_constants else np.zeros((T, m), dtype=Long)
        A = self.A.astype(Long)
        with np.errstate(all="ignore"):
            z = (A @ x.reshape(n, T * m)).reshape(d, T, m) + constant
            size = (np.abs(A) @ np.abs(x).reshape(n, T * m)).reshape(d, T, m) + np.abs(constant)
            live = np.asarray(self.s > 0.0)
            error, s = (n + 3) * unit * size[live], self.s.astype(Long)[live]
            if self.loss == "softmax":
                value, uncertain = softmax_terms(self.b[live], z[live], error, unit)
                value, uncertain = s[:, None] * value, s[:, None] * uncertain
            else:
                value, uncertain = self._separate(live, z[live], error, unit)
                value, uncertain = (s[:, None, None] * part for part in (value, uncertain))
            penalty = self._penalty(x)
            terms = [value.reshape(-1, m), penalty]
            total = sum(term.sum(axis=0) for term in terms)
            absolute = sum(np.abs(term).sum(axis=0) for term in terms)
            bound = uncertain.reshape(-1, m).sum(axis=0) + (d * T + 3 * n * T + 8) * unit * absolute
        outside = np.array([not self.is_allowed(flat[:, i]) for i in range(m)])
        total = np.where(outside | np.isnan(total), Long(np.inf), total)
        return total, np.where(np.isfinite(total), bound, Long(0)), absolute

    def _separate(self, live: Array, z: Array, error: Array, unit: Any) -> tuple[Array, Array]:
        """A loss of every output by itself."""
        y = self.b.astype(Long)[live, :, None]
        value, slope, size = loss_terms(self.loss, y, z, Long(self.threshold))
        if self.loss == "poisson":
            slope = slope * np.maximum(1, np.expm1(np.minimum(error, LARGEST_EXPONENT)) / np.maximum(error, UNIT))
        return value, (slope + error) * (error + unit * argument_size(self.loss, y)) + 8 * unit * size

    def _penalty(self, x: Array) -> Array:
        rows = []
        for b, columns in enumerate(self.blocks):
            part = x[list(columns)].reshape(-1, x.shape[2])
            square = (part * part).sum(axis=0)
            rows += [self.l1[b] * np.abs(part).sum(axis=0), self.group[b] * np.sqrt(square), self.ridge[b] / 2 * square]
        return np.array(rows, dtype=Long).reshape(-1, x.shape[2])

    def value(self, x: Array) -> tuple[Any, Any, Any]:
        total, bound, absolute = self.values(np.asarray(x)[:, None])
        return total[0], bound[0], absolute[0]


def softmax_terms(labels: Array, z: Array, error: Array, unit: Any) -> tuple[Array, Array]:
    """log Σ_t exp(z_t) − z_y for every row and point, and how far it can be off."""
    if not len(labels):
        return np.zeros((0, z.shape[2]), dtype=Long), np.zeros((0, z.shape[2]), dtype=Long)
    rows = np.arange(len(labels))
    beyond = z - z[rows, labels][:, None, :]
    beyond[rows, labels] = -np.inf
    top = beyond.max(axis=1)
    shift = np.maximum(top, 0)
    others = np.exp(beyond - shift[:, None, :]).sum(axis=1)
    whole = np.exp(-shift) + others
    value = np.where(shift > 0, shift + np.log(whole), np.log1p(others))
    off = 2 * error.max(axis=1) + (np.abs(top) + 4 + 2 * z.shape[1]) * unit
    growth = others / whole * np.expm1(np.minimum(off, LARGEST_EXPONENT))
    return value, np.minimum(growth, off) + 8 * unit * value


def block_arrays(name: str, parameters: dict[str, Any], sizes: list[int], factor: float = 1.0) -> dict[str, Array]:
    """The three numbers a block of a penalty; products are those of float64 numbers, as parameters are."""
    count, given = len(sizes), parameters.get("weights")
    weights = np.sqrt(sizes) if isinstance(given, str) else np.ones(count) if given is None else np.asarray(given)
    strength = {"GroupL2": "strength", "L21": "strength", "SparseGroup": "l2"}.get(name)
    with np.errstate(all="ignore"):
        group = factor * (parameters[strength] * weights) if strength else np.zeros(count)
        l1 = factor * np.full(count, parameters.get("l1", 0.0))
        ridge = factor * np.full(count, parameters.get("ridge", 0.0))
    return {"group": group.astype(Long), "l1": l1.astype(Long), "ridge": ridge.astype(Long)}
