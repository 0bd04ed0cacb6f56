"""The judge's own descent, compiled: proximal steps of one block after the other, and Newton steps.

Nothing here comes from the library.  The problem comes as arrays (see ``search.Scaled``): columns are stored in the
order of the blocks, ``A[j, k]`` is the entry of sample k, block i has the columns ``starts[i]`` to ``starts[i + 1]``,
and x[j, t], z[k, t] have an output a column.  Losses are given by their index in ``truth.LOSSES``; the classes of the
softmax are the first column of b.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

#: What Python calls, and what only these functions call: that needs no wrappers, which take a third of its compiling.
compiled: Any = numba.njit(cache=True, error_model="numpy")
inner: Any = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
#: Newton steps are taken on at most so many coefficients.
MOST_FREE = 150
SOFTMAX = 6


@inner
def loss_of(code, t, y, z):
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


@inner
def derivatives_of(code, t, y, z):
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


@inner
def row_loss(code, t, y, z):
    total = 0.0
    if code != SOFTMAX:
        for i in range(z.size):
            total += loss_of(code, t, y[i], z[i])
        return total
    own, top = z[int(y[0])], 0.0
    for i in range(z.size):
        top = max(top, z[i] - own)
    for i in range(z.size):
        if i != int(y[0]):
            total += math.exp(z[i] - own - top)
    return math.log1p(total) if top == 0.0 else top + math.log(total + math.exp(-top))


@inner
def row_derivatives(code, t, y, z, first, second):
    """Derivatives of a row; the softmax's second ones are its probabilities."""
    if code != SOFTMAX:
        for i in range(z.size):
            first[i], second[i] = derivatives_of(code, t, y[i], z[i])
        return
    own, top, total = int(y[0]), -math.inf, 0.0
    for i in range(z.size):
        top = max(top, z[i])
    for i in range(z.size):
        second[i] = math.exp(z[i] - top)
        total += second[i]
    others = 0.0
    for i in range(z.size):
        second[i] /= total
        first[i] = second[i]
        others += second[i] if i != own else 0.0
    first[own] = -others


@inner
def largest_curvature(code, second):
    """A bound on the largest eigenvalue of a row's Hessian."""
    most = 0.0
    for i in range(second.size):
        most = max(most, second[i])
    return most if code != SOFTMAX else min(most, 2.0 * most * (1.0 - most))


@compiled
def predict(A, x, z):
    """z = Ax."""
    for k in range(z.shape[0]):
        for o in range(z.shape[1]):
            z[k, o] = 0.0
    for j in range(x.shape[0]):
        for o in range(x.shape[1]):
            if x[j, o] != 0.0:
                for k in range(z.shape[0]):
                    z[k, o] += x[j, o] * A[j, k]


@inner
def copy(source, target, first, last):
    """Assigning one array to another would compile a message about their shapes, which takes seconds."""
    for i in range(first, last):
        for o in range(source.shape[1]):
            target[i, o] = source[i, o]


@inner
def norm_of(x, first, last):
    """‖x‖ on these rows, of numbers whose squares may leave the range of float64."""
    largest, square = 0.0, 0.0
    for i in range(first, last):
        for o in range(x.shape[1]):
            largest = max(largest, abs(x[i, o]))
    if largest == 0.0:
        return 0.0
    for i in range(first, last):
        for o in range(x.shape[1]):
            share = x[i, o] / largest
            square += share * share
    return largest * math.sqrt(square)


@inner
def costs_of(l1, l2, linear, group, x, first, last):
    """The penalty of one block."""
    total = group * norm_of(x, first, last) if group > 0.0 else 0.0
    for j in range(first, last):
        for o in range(x.shape[1]):
            total += l1[j] * abs(x[j, o]) + 0.5 * l2[j] * x[j, o] * x[j, o] + linear[j] * x[j, o]
    return total


@compiled
def losses_at(b, s, code, t, z):
    total = 0.0
    for k in range(s.size):
        if s[k] > 0.0:
            total += s[k] * row_loss(code, t, b[k], z[k])
    return total


@inner
def objective_at(b, s, code, t, l1, l2, linear, starts, group, x, z):
    """F without constants, for the predictions z."""
    total = losses_at(b, s, code, t, z)
    for i in range(group.size):
        total += costs_of(l1, l2, linear, group[i], x, starts[i], starts[i + 1])
    return total


@compiled
def gradient_at(A, b, s, code, t, l2, linear, x, z, out):
    """The gradient of everything that is smooth."""
    first, second = np.empty(x.shape[1]), np.empty(x.shape[1])
    for j in range(x.shape[0]):
        for o in range(x.shape[1]):
            out[j, o] = l2[j] * x[j, o] + linear[j]
    for k in range(s.size):
        if s[k] > 0.0:
            row_derivatives(code, t, b[k], z[k], first, second)
            for j in range(x.shape[0]):
                for o in range(x.shape[1]):
                    out[j, o] += s[k] * first[o] * A[j, k]


@inner
def proximal_point(v, first, last, step, group, l1, l2, lower, upper):
    """v becomes the proximal point of a block; its bounds are 0 or infinite where ``group`` is positive."""
    for i in range(first, last):
        for o in range(v.shape[1]):
            size = max(abs(v[i, o]) - step * l1[i], 0.0) / (1.0 + step * l2[i])
            v[i, o] = max(lower[i], min(upper[i], math.copysign(size, v[i, o])))
    length = norm_of(v, first, last) * (1.0 + step * l2[first])
    if group > 0.0 and length > 0.0:
        share = max(1.0 - step * group / length, 0.0)
        for i in range(first, last):
            for o in range(v.shape[1]):
                v[i, o] *= share


@inner
def block_gradient(A, b, s, code, t, linear, z, first, last, derivatives, out):
    """Fill the gradient of the losses and linear terms with respect to a block; a bound on its curvature."""
    curvature = 0.0
    for j in range(first, last):
        for o in range(z.shape[1]):
            out[j, o] = linear[j]
    for k in range(s.size):
        if s[k] > 0.0:
            row_derivatives(code, t, b[k], z[k], derivatives[0], derivatives[1])
            square = 0.0
            for j in range(first, last):
                square += A[j, k] * A[j, k]
                for o in range(z.shape[1]):
                    out[j, o] += s[k] * A[j, k] * derivatives[0, o]
            curvature += s[k] * largest_curvature(code, derivatives[1]) * square
    return curvature


@inner
def block_step(A, b, s, code, t, l1, l2, linear, lower, upper, group, x, z, first, last, gradient, trial, predicted):
    """A proximal step of one block, shorter until the objective does not rise; how far it moved, relatively.

    For a single coefficient it is Newton's step.
    """
    most = 0.0
    derivatives = np.empty((2, z.shape[1]))
    curvature = block_gradient(A, b, s, code, t, linear, z, first, last, derivatives, gradient)
    if not curvature > 0.0:  # some way along the gradient
        curvature = norm_of(gradient, first, last) / (1.0 + norm_of(x, first, last)) or 1.0
    before = costs_of(l1, l2, linear, group, x, first, last)
    for _ in range(40):
        for j in range(first, last):
            for o in range(z.shape[1]):
                trial[j, o] = x[j, o] - gradient[j, o] / curvature
        proximal_point(trial, first, last, 1.0 / curvature, group, l1, l2, lower, upper)
        copy(z, predicted, 0, s.size)
        for j in range(first, last):
            for o in range(z.shape[1]):
                change = trial[j, o] - x[j, o]
                if not math.isfinite(change):
                    return 0.0
                if change != 0.0:
                    for k in range(s.size):
                        predicted[k, o] += change * A[j, k]
        rise = 0.0  # the curvature bounds that of squares everywhere: their objective cannot rise
        if code > 0:
            rise = costs_of(l1, l2, linear, group, trial, first, last) - before
            for k in range(s.size):
                if s[k] > 0.0:
                    rise += s[k] * (row_loss(code, t, b[k], predicted[k]) - row_loss(code, t, b[k], z[k]))
        if rise <= 0.0:
            for j in range(first, last):
                for o in range(z.shape[1]):
                    size = max(abs(x[j, o]), abs(trial[j, o]))
                    if size > 0.0:
                        most = max(most, abs(trial[j, o] - x[j, o]) / size)
            copy(trial, x, first, last)
            copy(predicted, z, 0, s.size)
            return most
        curvature *= 2.0
    return most


@compiled
def descend(A, b, s, code, t, l1, l2, linear, lower, upper, starts, group, x, z, sweeps):
    """Sweeps of descent by blocks, or by columns where a block has no norm; x changes, z = Ax at the end."""
    gradient, trial, predicted = np.empty(x.shape), np.empty(x.shape), np.empty(z.shape)
    for sweep in range(sweeps):
        if sweep % 10 == 0:
            predict(A, x, z)
        moved = 0.0
        for i in range(group.size):
            width = starts[i + 1] - starts[i] if group[i] > 0.0 else 1
            for first in range(starts[i], starts[i + 1], width):
                change = block_step(
                    A, b, s, code, t, l1, l2, linear, lower, upper, group[i], x, z, first, first + width,
                    gradient, trial, predicted,
                )  # fmt: skip
                moved = max(moved, change)
        if moved <= 1e-15:
            break
    predict(A, x, z)


@inner
def cholesky_step(H, g, step):
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


@inner
def free_coefficients(l1, lower, upper, starts, group, x, free):
    """Write column, output and block of the coefficients around which F is smooth; their count."""
    count = 0
    for i in range(group.size):
        is_kink = group[i] > 0.0 and norm_of(x, starts[i], starts[i + 1]) == 0.0
        for j in range(starts[i], starts[i + 1]):
            for o in range(x.shape[1]):
                if lower[j] < x[j, o] < upper[j] and not (is_kink or (l1[j] > 0.0 and x[j, o] == 0.0)):
                    free[count, 0], free[count, 1], free[count, 2] = j, o, i
                    count += 1
    return count


@inner
def newton_model(A, b, s, code, t, l1, l2, linear, starts, group, x, z, free, H, g):
    """Gradient and Hessian (its lower half) on the free coefficients."""
    first, second = np.empty(x.shape[1]), np.empty(x.shape[1])
    for p in range(g.size):
        j, o, i = free[p, 0], free[p, 1], free[p, 2]
        own, length = x[j, o], 0.0
        if group[i] > 0.0:
            length = norm_of(x, starts[i], starts[i + 1])
        kink = group[i] / length if length > 0.0 else 0.0
        g[p] = (kink + l2[j]) * own + linear[j] + (math.copysign(l1[j], own) if l1[j] > 0.0 else 0.0)
        H[p, p] += kink + l2[j]
        for q in range(p + 1):
            if kink > 0.0 and free[q, 2] == i:
                H[p, q] -= kink * (own / length) * (x[free[q, 0], free[q, 1]] / length)
    for k in range(s.size):
        if s[k] > 0.0:
            row_derivatives(code, t, b[k], z[k], first, second)
            for p in range(g.size):
                entry, o = s[k] * A[free[p, 0], k], free[p, 1]
                g[p] += entry * first[o]
                if entry != 0.0:
                    for q in range(p + 1):
                        weight = second[o] if free[q, 1] == o else 0.0
                        if code == SOFTMAX:
                            weight -= second[o] * second[free[q, 1]]
                        if weight != 0.0:
                            H[p, q] += weight * entry * A[free[q, 0], k]


@compiled
def newton(A, b, s, code, t, l1, l2, linear, lower, upper, starts, group, x, z, rounds):
    """Newton steps on the coefficients that are free to move, while the objective falls; x and z change."""
    trial, predicted, places = np.empty(x.shape), np.empty(z.shape), np.empty((x.size, 3), np.int64)
    for _ in range(rounds):
        count = free_coefficients(l1, lower, upper, starts, group, x, places)
        if not 0 < count <= MOST_FREE:
            return
        free, H, g, step = places[:count], np.zeros((count, count)), np.empty(count), np.empty(count)
        newton_model(A, b, s, code, t, l1, l2, linear, starts, group, x, z, free, H, g)
        if not cholesky_step(H, g, step):
            return
        before = objective_at(b, s, code, t, l1, l2, linear, starts, group, x, z)
        best, chosen = before, 0.0
        for share in (1.0, 4.0, 32.0, 0.5, 0.1, 1e-2, 1e-4):
            move(x, free, step, share, l1, lower, upper, trial)
            predict(A, trial, predicted)
            value = objective_at(b, s, code, t, l1, l2, linear, starts, group, trial, predicted)
            if value <= best:
                best, chosen = value, share
            elif chosen > 0.0:
                break
        if chosen == 0.0:
            return
        move(x, free, step, chosen, l1, lower, upper, trial)
        copy(trial, x, 0, x.shape[0])
        predict(A, x, z)
        if not best < before - 1e-14 * abs(before):
            return


@inner
def move(x, free, step, share, l1, lower, upper, out):
    """out = x + share·step, kept inside the box and from crossing a kink."""
    copy(x, out, 0, x.shape[0])
    for p in range(step.size):
        j, o = free[p, 0], free[p, 1]
        new = x[j, o] + share * step[p]
        if l1[j] > 0.0 and new * x[j, o] < 0.0:
            new = 0.0
        out[j, o] = max(lower[j], min(upper[j], new))
