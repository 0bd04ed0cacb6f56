"""The judge's own search for a better point.

A search only proposes points; what they are worth is measured in long double by ``truth``.  Columns, target and weights
are first scaled by powers of two so that the search itself neither overflows nor underflows:
x_j = x'_j·β/α_j, b = β·b', s = σ·s' where β may differ from 1 for the losses of a difference (squared, huber).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import kernels
from .truth import LOSSES, Truth

Array = np.ndarray
CODES = {name: code for code, name in enumerate(LOSSES)}
#: Multiplications that one descent may take.
WORK = 2e5


class Scaled(NamedTuple):
    """The problem in units in which its numbers are near 1; an intercept is one more column."""

    A: Array  # by columns: A[j] is the column of coordinate j
    b: Array
    s: Array
    code: int
    threshold: float
    l1: Array
    l2: Array
    linear: Array
    lower: Array
    upper: Array
    unit: Array  # x = x'·unit

    def inward(self, x: Array, c: float, intercept: bool) -> Array:
        """A point in these units."""
        whole = np.append(x, c) if intercept else np.asarray(x, dtype=float)
        return np.clip((whole.astype(np.longdouble) / self.unit).astype(float), self.lower, self.upper)


def power_of_two(values: Array) -> Array:
    """The power of two just above each value, 1 for zero; of any size, so in long double."""
    return np.ldexp(np.ones_like(values, dtype=np.longdouble), np.where(values > 0.0, np.frexp(values)[1], 0))


def scaled(truth: Truth) -> Scaled:
    """``truth`` in the search's units."""
    extra = int(truth.intercept)
    A = np.hstack([truth.A, np.ones((len(truth.A), 1))]) if extra else truth.A
    alpha = power_of_two(np.abs(A).max(axis=0))
    beta = power_of_two(np.abs(truth.b).max()) if truth.loss in ("squared", "huber") else np.longdouble(1)
    sigma = power_of_two(np.asarray(truth.s, dtype=float).max())
    unit, level = beta / alpha, sigma * beta * beta

    def pad(values: Array, free: float) -> Array:
        return np.append(np.asarray(values, dtype=np.longdouble), [np.longdouble(free)] * extra)

    with np.errstate(all="ignore"):
        parts = (
            (truth.b / beta).astype(float),
            (truth.s / sigma).astype(float),
            CODES[truth.loss],
            float(truth.threshold / beta),
            (pad(truth.l1, 0.0) * unit / level).astype(float),
            (pad(truth.l2, 0.0) * unit * unit / level).astype(float),
            (pad(truth.linear, 0.0) * unit / level).astype(float),
            (pad(truth.lower, -np.inf) / unit).astype(float),
            (pad(truth.upper, np.inf) / unit).astype(float),
        )
        return Scaled(np.ascontiguousarray((A / alpha).astype(float).T), *parts, unit)


def value_of(p: Scaled, x: Array) -> float:
    """The objective in the search's units, without constants."""
    return kernels.objective_at(p.b, p.s, p.code, p.threshold, p.l1, p.l2, p.linear, x, x @ p.A)


def gradient_of(p: Scaled, x: Array) -> Array:
    """The gradient of everything but l1·|x|."""
    out = np.empty(x.size)
    kernels.gradient_at(p.A, p.b, p.s, p.code, p.threshold, p.l2, p.linear, x, x @ p.A, out)
    return out


def improved(p: Scaled, x: Array, sweeps: int) -> list[Array]:
    """Points reached from x, which changes: by descent, by Newton steps from there, and by both once more."""
    found, z = [], np.empty(p.b.size)
    for most, rounds in ((sweeps, 10), (min(sweeps, 20), 5)):
        kernels.descend(*p[:10], x, z, most)
        found.append(x.copy())
        kernels.newton(*p[:10], x, z, rounds)
    return [*found, x]


def candidates(truth: Truth, starts: list[tuple[Array, float]]) -> tuple[Array, Array]:
    """Points that may be better than the starts: columns of an array, and their intercepts."""
    p = scaled(truth)
    sweeps = int(min(max(WORK / p.A.size, 5), 200))
    found = []
    with np.errstate(all="ignore"):
        for x, c in starts:
            whole = p.inward(x, c, truth.intercept)
            if np.isfinite(whole).all():
                found += improved(p, whole, sweeps)
        columns = (np.vstack(found) * p.unit).astype(float).T if found else np.empty((p.unit.size, 0))
        columns = columns[:, np.isfinite(columns).all(axis=0)]
    constants = columns[-1] if truth.intercept else np.zeros(columns.shape[1])
    points = columns[:-1] if truth.intercept else columns
    return np.clip(points, truth.lower[:, None], truth.upper[:, None]), constants
