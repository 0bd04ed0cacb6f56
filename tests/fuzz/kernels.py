"""The judge's own descent, compiled: coordinate descent and Newton steps on the smooth piece around a point.

Nothing here comes from the library.  All functions take the problem as arrays (see ``search.Scaled``); losses are told
by their place in ``truth.LOSSES``.  A is stored by columns: ``A[j, k]`` is the entry of sample k and coordinate j.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

compiled: Any = numba.njit(cache=True, error_model="numpy")
#: Newton steps are taken on at most so many coordinates.
MOST_FREE = 150


@compiled
def loss_of(code, t, y, z):  # type: ignore[no-untyped-def]
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


@compiled
def derivatives_of(code, t, y, z):  # type: ignore[no-untyped-def]
    """First and second derivative."""
    if code == 0:
        return z - y, 1.0
    if code == 1:
        p = 1.0 / (1.0 + math.exp(min(y * z, 700.0)))
        return -y * p, p * (1.0 - p)
    if code == 2:
        return max(-t, min(t, z - y)), 1.0 if abs(z - y) <= t else 0.0
    if code == 3:
        missing = max(1.0 - y * z, 0.0)
        return -2.0 * y * missing, 2.0 if missing > 0.0 else 0.0
    mean = math.exp(min(z, 700.0))
    return mean - y, mean


@compiled
def cost_of(l1, l2, linear, x):  # type: ignore[no-untyped-def]
    return l1 * abs(x) + 0.5 * l2 * x * x + linear * x


@compiled
def image_of(A, x, z):  # type: ignore[no-untyped-def]
    """z = Ax."""
    z[:] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for k in range(z.size):
                z[k] += x[j] * A[j, k]


@compiled
def objective_at(b, s, code, t, l1, l2, linear, x, z):  # type: ignore[no-untyped-def]
    """F without constants, for the image z."""
    total = 0.0
    for k in range(b.size):
        if s[k] > 0.0:
            total += s[k] * loss_of(code, t, b[k], z[k])
    for j in range(x.size):
        total += cost_of(l1[j], l2[j], linear[j], x[j])
    return total


@compiled
def gradient_at(A, b, s, code, t, l2, linear, x, z, out):  # type: ignore[no-untyped-def]
    """The gradient of everything but l1·|x|."""
    for j in range(x.size):
        out[j] = l2[j] * x[j] + linear[j]
    for k in range(b.size):
        if s[k] > 0.0:
            slope = s[k] * derivatives_of(code, t, b[k], z[k])[0]
            for j in range(x.size):
                out[j] += slope * A[j, k]


@compiled
def target_of(g, h, l1, l2, linear, low, high, x):  # type: ignore[no-untyped-def]
    """argmin over [low, high] of g·(y − x) + ½h·(y − x)² + l1·|y| + ½l2·y² + linear·y."""
    curvature, pull = h + l2, h * x - g - linear
    if curvature <= 0.0:
        if l1 == 0.0 and pull == 0.0:
            return x
        # no curvature: to the kink, or some way along the slope
        best = 0.0 if abs(pull) <= l1 else x + (1.0 + abs(x)) * (1.0 if pull > 0.0 else -1.0)
    elif pull > l1:
        best = (pull - l1) / curvature
    elif pull < -l1:
        best = (pull + l1) / curvature
    else:
        best = 0.0
    return max(low, min(high, best))


@compiled
def accepted(A, b, s, code, t, l1, l2, linear, low, high, x, z, j, change):  # type: ignore[no-untyped-def]
    """x_j + change, the change halved until the objective does not rise; x_j where none is good."""
    for _ in range(40):
        new = max(low, min(high, x[j] + change))
        if new == x[j] or code == 0:
            return new
        difference = cost_of(l1, l2, linear, new) - cost_of(l1, l2, linear, x[j])
        for k in range(b.size):
            if s[k] > 0.0 and A[j, k] != 0.0:
                after = loss_of(code, t, b[k], z[k] + (new - x[j]) * A[j, k])
                difference += s[k] * (after - loss_of(code, t, b[k], z[k]))
        if difference <= 0.0:
            return new
        change *= 0.5
    return x[j]


@compiled
def descend(A, b, s, code, t, l1, l2, linear, lower, upper, x, z, sweeps):  # type: ignore[no-untyped-def]
    """Sweeps of coordinate descent with one-dimensional Newton steps; x changes, z = Ax at the end."""
    for sweep in range(sweeps):
        if sweep % 10 == 0:
            image_of(A, x, z)
        moved = 0.0
        for j in range(x.size):
            g, h = 0.0, 0.0
            for k in range(b.size):
                if s[k] > 0.0 and A[j, k] != 0.0:
                    first, second = derivatives_of(code, t, b[k], z[k])
                    g += s[k] * A[j, k] * first
                    h += s[k] * A[j, k] * A[j, k] * second
            change = target_of(g, h, l1[j], l2[j], linear[j], lower[j], upper[j], x[j]) - x[j]
            if change == 0.0 or not math.isfinite(change):
                continue
            new = accepted(A, b, s, code, t, l1[j], l2[j], linear[j], lower[j], upper[j], x, z, j, change)
            if new != x[j]:
                moved = max(moved, abs(new - x[j]) / max(abs(new), abs(x[j])))
                for k in range(b.size):
                    z[k] += (new - x[j]) * A[j, k]
                x[j] = new
        if moved <= 1e-15:
            break
    image_of(A, x, z)


@compiled
def cholesky_step(H, g, step):  # type: ignore[no-untyped-def]
    """step = −(H + μI)⁻¹g with the smallest of some μ for which H + μI is positive definite; False if none is."""
    n = g.size
    top = 0.0
    for i in range(n):
        top = max(top, H[i, i])
    if not (top > 0.0 and math.isfinite(top)):
        return False
    L = np.empty((n, n))
    for level in range(7):
        shift = 0.0 if level == 0 else top * 1e-16 * 100.0**level
        good = True
        for i in range(n):
            for j in range(i + 1):
                total = H[i, j] + (shift if i == j else 0.0)
                for k in range(j):
                    total -= L[i, k] * L[j, k]
                if i == j:
                    good = good and total > 1e-16 * top
                    L[i, i] = math.sqrt(total) if good else 1.0
                else:
                    L[i, j] = total / L[j, j]
            if not good:
                break
        if good:
            for i in range(n):
                total = -g[i]
                for k in range(i):
                    total -= L[i, k] * step[k]
                step[i] = total / L[i, i]
            for i in range(n - 1, -1, -1):
                total = step[i]
                for k in range(i + 1, n):
                    total -= L[k, i] * step[k]
                step[i] = total / L[i, i]
            return True
    return False


@compiled
def newton(A, b, s, code, t, l1, l2, linear, lower, upper, x, z, rounds):  # type: ignore[no-untyped-def]
    """Newton steps on the coordinates that are free to move, while the objective falls; x and z change."""
    n, d = A.shape
    trial, image, gradient, places = np.empty(n), np.empty(d), np.empty(n), np.empty(n, dtype=np.int64)
    for _ in range(rounds):
        count = 0
        for j in range(n):
            if lower[j] < x[j] < upper[j] and (l1[j] == 0.0 or x[j] != 0.0):
                places[count] = j
                count += 1
        if not 0 < count <= MOST_FREE:
            return
        free = places[:count]
        gradient_at(A, b, s, code, t, l2, linear, x, z, gradient)
        H, g, step = np.zeros((free.size, free.size)), np.empty(free.size), np.empty(free.size)
        for i in range(free.size):
            j = free[i]
            g[i] = gradient[j] + math.copysign(l1[j], x[j])
            H[i, i] = l2[j]
        for k in range(d):
            if s[k] > 0.0:
                weight = s[k] * derivatives_of(code, t, b[k], z[k])[1]
                if weight > 0.0:
                    for i in range(free.size):
                        entry = weight * A[free[i], k]
                        if entry != 0.0:
                            for m in range(i + 1):
                                H[i, m] += entry * A[free[m], k]
        if not cholesky_step(H, g, step):
            return
        before = objective_at(b, s, code, t, l1, l2, linear, x, z)
        best, chosen = before, 0.0
        for share in (1.0, 4.0, 32.0, 0.5, 0.1, 1e-2, 1e-4):
            moved_to(x, free, step, share, l1, lower, upper, trial)
            image_of(A, trial, image)
            value = objective_at(b, s, code, t, l1, l2, linear, trial, image)
            if value <= best:
                best, chosen = value, share
            elif chosen > 0.0:
                break
        if chosen == 0.0:
            return
        moved_to(x, free, step, chosen, l1, lower, upper, trial)
        x[:] = trial
        image_of(A, x, z)
        if not best < before - 1e-14 * abs(before):
            return


@compiled
def moved_to(x, free, step, share, l1, lower, upper, out):  # type: ignore[no-untyped-def]
    """out = x + share·step, kept inside the box and from crossing a kink."""
    out[:] = x
    for i in range(free.size):
        j = free[i]
        new = x[j] + share * step[i]
        if l1[j] > 0.0 and new * x[j] < 0.0:
            new = 0.0
        out[j] = max(lower[j], min(upper[j], new))
