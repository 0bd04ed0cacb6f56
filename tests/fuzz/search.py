"""The judge's own search for a better point: coordinate descent and Newton steps in float64, written here from scratch.

A search only proposes points; what they are worth is measured in long double by ``truth``.  Columns, target and weights
are first scaled by powers of two so that the search itself neither overflows nor underflows:
x_j = x'_j·β/α_j, b = β·b', s = σ·s' where β may differ from 1 for the losses of a difference (squared, huber).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np

from .truth import LOSSES, Truth

Array = np.ndarray
CODES = {name: code for code, name in enumerate(LOSSES)}


class Scaled(NamedTuple):
    """The problem in units in which its numbers are near 1; an intercept is one more column."""

    A: Array
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


def power_of_two(values: Array) -> Array:
    """The power of two just above each value, 1 for zero."""
    with np.errstate(divide="ignore"):
        exponent = np.where(values > 0, np.ceil(np.log2(np.asarray(values, dtype=np.longdouble))), 0)
    return np.exp2(exponent.astype(np.longdouble))


def scaled(truth: Truth) -> Scaled:
    """``truth`` in the search's units."""
    A = truth.A
    extra = int(truth.intercept)
    A = np.hstack([A, np.ones((len(A), 1))]) if extra else A
    alpha = power_of_two(np.abs(A).max(axis=0))
    beta = power_of_two(np.abs(truth.b).max()) if truth.loss in ("squared", "huber") else np.longdouble(1)
    sigma = power_of_two(np.abs(truth.s).max())
    unit = beta / alpha
    level = sigma * beta * beta

    def pad(values: Array, free: float) -> Array:
        return np.append(values, [free] * extra).astype(np.longdouble)

    with np.errstate(all="ignore"):
        arrays = (
            np.asfortranarray((A / alpha).astype(float)),
            (truth.b / beta).astype(float),
            (truth.s / sigma).astype(float),
            CODES[truth.loss],
            float(truth.threshold / beta),
            (pad(truth.l1, 0.0) * unit / level).astype(float),
            (pad(truth.l2, 0.0) * unit * unit / level).astype(float),
            (pad(truth.linear, 0.0) * unit / level).astype(float),
            (pad(truth.lower, -np.inf) / unit).astype(float),
            (pad(truth.upper, np.inf) / unit).astype(float),
            unit,
        )
    return Scaled(*arrays)


@numba.njit(cache=True, error_model="numpy")
def loss_of(code: int, t: float, y: float, z: float) -> float:
    if code == 0:
        return 0.5 * (z - y) * (z - y)
    if code == 1:
        m = y * z
        return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)
    if code == 2:
        size = abs(z - y)
        return 0.5 * size * size if size <= t else t * (size - 0.5 * t)
    if code == 3:
        missing = max(1.0 - y * z, 0.0)
        return missing * missing
    return math.exp(z) - y * z if z < 700.0 else math.inf


@numba.njit(cache=True, error_model="numpy")
def derivatives_of(code: int, t: float, y: float, z: float) -> tuple[float, float]:
    if code == 0:
        return z - y, 1.0
    if code == 1:
        m = y * z
        p = 1.0 / (1.0 + math.exp(min(m, 700.0)))
        return -y * p, p * (1.0 - p)
    if code == 2:
        r = z - y
        return max(-t, min(t, r)), 1.0 if abs(r) <= t else 0.0
    if code == 3:
        missing = max(1.0 - y * z, 0.0)
        return -2.0 * y * missing, 2.0 if missing > 0.0 else 0.0
    mean = math.exp(min(z, 700.0))
    return mean - y, mean


@numba.njit(cache=True, error_model="numpy")
def cost_of(l1: float, l2: float, linear: float, x: float) -> float:
    return l1 * abs(x) + 0.5 * l2 * x * x + linear * x


@numba.njit(cache=True, error_model="numpy")
def target_of(g: float, h: float, l1: float, l2: float, linear: float, low: float, high: float, x: float) -> float:
    """argmin over [low, high] of g·(y − x) + ½h·(y − x)² + l1·|y| + ½l2·y² + linear·y."""
    curvature = h + l2
    pull = h * x - g - linear
    if curvature <= 0.0:
        best = x
        if l1 == 0.0 and pull == 0.0:
            return x
        if abs(pull) <= l1:
            best = 0.0
        else:
            best = x + (1.0 + abs(x)) * (1.0 if pull > 0.0 else -1.0)
    elif pull > l1:
        best = (pull - l1) / curvature
    elif pull < -l1:
        best = (pull + l1) / curvature
    else:
        best = 0.0
    return max(low, min(high, best))


@numba.njit(cache=True, error_model="numpy")
def objective_of(A, b, s, code, t, l1, l2, linear, x, z):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(b.size):
        if s[k] > 0.0:
            total += s[k] * loss_of(code, t, b[k], z[k])
    for j in range(x.size):
        total += cost_of(l1[j], l2[j], linear[j], x[j])
    return total


@numba.njit(cache=True, error_model="numpy")
def descend(A, b, s, code, t, l1, l2, linear, lower, upper, x, z, sweeps):  # type: ignore[no-untyped-def]
    """Sweeps of coordinate descent with one-dimensional Newton steps, halved until the objective falls; x, z change."""
    d, n = A.shape
    for sweep in range(sweeps):
        moved = 0.0
        for j in range(n):
            g, h = 0.0, 0.0
            for k in range(d):
                if s[k] > 0.0 and A[k, j] != 0.0:
                    first, second = derivatives_of(code, t, b[k], z[k])
                    g += s[k] * A[k, j] * first
                    h += s[k] * A[k, j] * A[k, j] * second
            new = target_of(g, h, l1[j], l2[j], linear[j], lower[j], upper[j], x[j])
            change = new - x[j]
            if change == 0.0 or not math.isfinite(change):
                continue
            for halving in range(40):
                new = x[j] + change
                if halving > 0:
                    new = max(lower[j], min(upper[j], new))
                if new == x[j]:
                    break
                difference = cost_of(l1[j], l2[j], linear[j], new) - cost_of(l1[j], l2[j], linear[j], x[j])
                if code == 0:
                    break
                for k in range(d):
                    if s[k] > 0.0 and A[k, j] != 0.0:
                        after = loss_of(code, t, b[k], z[k] + (new - x[j]) * A[k, j])
                        difference += s[k] * (after - loss_of(code, t, b[k], z[k]))
                if difference <= 0.0:
                    break
                change *= 0.5
            if new != x[j] and halving < 39:
                moved = max(moved, abs(new - x[j]) / (1e-300 + max(abs(new), abs(x[j]))))
                for k in range(d):
                    z[k] += (new - x[j]) * A[k, j]
                x[j] = new
        if moved <= 1e-15:
            break
        if sweep % 10 == 9:
            for k in range(d):
                z[k] = 0.0
            for j in range(n):
                if x[j] != 0.0:
                    for k in range(d):
                        z[k] += x[j] * A[k, j]
    return moved


def newton(p: Scaled, x: Array, rounds: int = 25) -> Array:
    """Newton steps on the smooth piece around x, while the objective falls."""
    for _ in range(rounds):
        free = np.flatnonzero((p.lower < x) & (x < p.upper) & ((p.l1 == 0.0) | (x != 0.0)))
        if not 0 < free.size <= 120:
            return x
        first, second = _derivatives(p, p.A @ x)
        block = p.A[:, free]
        slope = p.l2[free] * x[free] + p.linear[free] + p.l1[free] * np.sign(x[free])
        gradient = block.T @ (p.s * first) + slope
        hessian = (block.T * (p.s * second)) @ block
        hessian.flat[:: free.size + 1] += p.l2[free]
        if not (np.isfinite(hessian).all() and np.isfinite(gradient).all()):
            return x
        try:
            step = np.linalg.lstsq(hessian, -gradient, rcond=1e-15)[0]
        except np.linalg.LinAlgError:
            return x
        before = value_of(p, x)
        x, after = _along(p, x, free, step, before)
        if not after < before - 1e-14 * abs(before):
            return x
    return x


def _along(p: Scaled, x: Array, free: Array, step: Array, before: float) -> tuple[Array, float]:
    """The best of some points along a step, and its value: longer ones where the whole step is good."""
    best, value = x, before
    for share in (1.0, 4.0, 32.0, 0.5, 0.1, 1e-2, 1e-4):
        trial = x.copy()
        trial[free] += share * step
        trial[(p.l1 > 0.0) & (trial * x < 0.0)] = 0.0
        trial = np.clip(trial, p.lower, p.upper)
        found = value_of(p, trial)
        if found <= value:
            best, value = trial, found
        elif best is not x:
            break
    return best, value


def value_of(p: Scaled, x: Array) -> float:
    return objective_of(p.A, p.b, p.s, p.code, p.threshold, p.l1, p.l2, p.linear, x, p.A @ x)


def gradient_at(p: Scaled, x: Array) -> Array:
    """The gradient of everything but l1·|x|."""
    return p.A.T @ (p.s * _derivatives(p, p.A @ x)[0]) + p.l2 * x + p.linear


def _derivatives(p: Scaled, z: Array) -> tuple[Array, Array]:
    first, second = np.empty(z.size), np.empty(z.size)
    _fill(p.code, p.threshold, p.b, z, first, second)
    return first, second


@numba.njit(cache=True, error_model="numpy")
def _fill(code, t, b, z, first, second):  # type: ignore[no-untyped-def]
    for k in range(z.size):
        first[k], second[k] = derivatives_of(code, t, b[k], z[k])


def descend_from(p: Scaled, x: Array, sweeps: int) -> Array:
    x = np.clip(x, p.lower, p.upper)
    descend(*p[:10], x, p.A @ x, sweeps)
    return x


def improved(p: Scaled, x: Array, sweeps: int) -> Iterator[Array]:
    """Points reached from x."""
    x = descend_from(p, x, sweeps)
    yield x
    polished = newton(p, x)
    if polished is not x:
        yield polished
        yield newton(p, descend_from(p, polished, min(sweeps, 20)), 5)


def candidates(truth: Truth, starts: list[tuple[Array, float]]) -> tuple[Array, Array]:
    """Points that may be better than the starts: columns of an array, and their intercepts."""
    p = scaled(truth)
    d, n = p.A.shape
    sweeps = int(np.clip(2e6 / (d * n), 5, 200))
    found: list[Array] = []
    with np.errstate(all="ignore"):
        for x, c in starts:
            whole = (np.append(x, c) if truth.intercept else np.asarray(x)).astype(np.longdouble) / p.unit
            whole = whole.astype(float)
            if np.isfinite(whole).all():
                found += list(improved(p, whole, sweeps))
        columns = np.array([(x * p.unit).astype(float) for x in found]).reshape(len(found), n).T
        if truth.intercept:
            columns, constants = columns[:-1], columns[-1]
        else:
            constants = np.zeros(columns.shape[1])
        columns = np.clip(columns, truth.lower[:, None], truth.upper[:, None])
    return columns, constants
