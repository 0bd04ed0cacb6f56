"""The judge's own descent on blocks, compiled: proximal steps of one block after the other, and Newton steps.

Nothing here comes from the library.  Columns are stored in the order of the blocks: ``A[j, k]`` is the entry of sample
k, block i has the columns ``starts[i]`` to ``starts[i + 1]``, and x[j, t], z[k, t] have an output a column.  Losses are
told by their place in ``truth.LOSSES``, the softmax by ``SOFTMAX``: its classes are the first column of b.
"""

from __future__ import annotations

import math

import numpy as np

from .kernels import MOST_FREE, cholesky_step, compiled, derivatives_of, loss_of

SOFTMAX = 6


@compiled
def row_loss(code, t, y, z):  # type: ignore[no-untyped-def]
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


@compiled
def row_slope(code, t, y, z, slope, bend):  # type: ignore[no-untyped-def]
    """Derivatives of a row; the softmax's ``bend`` are its probabilities."""
    if code != SOFTMAX:
        for i in range(z.size):
            slope[i], bend[i] = derivatives_of(code, t, y[i], z[i])
        return
    own, top, total = int(y[0]), -math.inf, 0.0
    for i in range(z.size):
        top = max(top, z[i])
    for i in range(z.size):
        bend[i] = math.exp(z[i] - top)
        total += bend[i]
    others = 0.0
    for i in range(z.size):
        bend[i] /= total
        slope[i] = bend[i]
        others += bend[i] if i != own else 0.0
    slope[own] = -others


@compiled
def most_bend(code, bend):  # type: ignore[no-untyped-def]
    """The largest eigenvalue of a row's Hessian, at most."""
    most = 0.0
    for i in range(bend.size):
        most = max(most, bend[i])
    return most if code != SOFTMAX else min(most, 2.0 * most * (1.0 - most))


@compiled
def image_at(A, x, z):  # type: ignore[no-untyped-def]
    z[:] = 0.0
    for j in range(x.shape[0]):
        for t in range(x.shape[1]):
            if x[j, t] != 0.0:
                for k in range(z.shape[0]):
                    z[k, t] += x[j, t] * A[j, k]


@compiled
def block_cost(x, group, l1, ridge):  # type: ignore[no-untyped-def]
    largest, total, square = 0.0, 0.0, 0.0
    for value in x.flat:
        largest = max(largest, abs(value))
    if largest == 0.0:
        return 0.0
    for value in x.flat:
        total += abs(value)
        square += (value / largest) ** 2
    return l1 * total + group * largest * math.sqrt(square) + 0.5 * ridge * largest * largest * square


@compiled
def losses_at(b, s, code, t, z):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(s.size):
        if s[k] > 0.0:
            total += s[k] * row_loss(code, t, b[k], z[k])
    return total


@compiled
def value_at(b, s, code, t, starts, group, l1, ridge, x, z):  # type: ignore[no-untyped-def]
    total = losses_at(b, s, code, t, z)
    for i in range(group.size):
        total += block_cost(x[starts[i] : starts[i + 1]], group[i], l1[i], ridge[i])
    return total


@compiled
def shrink_to(v, step, group, l1, ridge, least):  # type: ignore[no-untyped-def]
    """v becomes the proximal point of a block."""
    rows, columns = v.shape
    largest, square = 0.0, 0.0
    for i in range(rows):
        for t in range(columns):
            size = max(abs(v[i, t]) - step * l1, 0.0)
            v[i, t] = max(math.copysign(size, v[i, t]), least)
            largest = max(largest, abs(v[i, t]))
    if largest == 0.0:
        return
    for i in range(rows):
        for t in range(columns):
            square += (v[i, t] / largest) ** 2
    length = largest * math.sqrt(square)
    factor = max(1.0 - step * group / length, 0.0) / (1.0 + step * ridge)
    for i in range(rows):
        for t in range(columns):
            v[i, t] *= factor


@compiled
def descend_blocks(A, b, s, code, t, starts, group, l1, ridge, least, x, z, sweeps):  # type: ignore[no-untyped-def]
    """Proximal steps while they lower F; x and z change."""
    d, T = z.shape
    slope, bend, moved, there = np.empty((d, T)), np.empty((d, T)), np.empty((d, T)), np.empty(x.shape)
    image_at(A, x, z)
    for _ in range(sweeps):
        most = 0.0
        for i in range(group.size):
            first, last = starts[i], starts[i + 1]
            before, curvature = losses_at(b, s, code, t, z), 0.0
            for k in range(d):
                if s[k] > 0.0:
                    row_slope(code, t, b[k], z[k], slope[k], bend[k])
                    norm = 0.0
                    for j in range(first, last):
                        norm += A[j, k] * A[j, k]
                    curvature += s[k] * most_bend(code, bend[k]) * norm
            before += block_cost(x[first:last], group[i], l1[i], ridge[i])
            if not curvature > 0.0:
                curvature = 1e-3
            for _ in range(8):
                for j in range(first, last):
                    for o in range(T):
                        g = 0.0
                        for k in range(d):
                            if s[k] > 0.0:
                                g += s[k] * A[j, k] * slope[k, o]
                        there[j, o] = x[j, o] - g / curvature
                shrink_to(there[first:last], 1.0 / curvature, group[i], l1[i], ridge[i], least[i])
                moved[:] = z
                for j in range(first, last):
                    for o in range(T):
                        change = there[j, o] - x[j, o]
                        if change != 0.0:
                            for k in range(d):
                                moved[k, o] += change * A[j, k]
                after = losses_at(b, s, code, t, moved) + block_cost(there[first:last], group[i], l1[i], ridge[i])
                if after < before:
                    for j in range(first, last):
                        for o in range(T):
                            size = max(abs(x[j, o]), abs(there[j, o]))
                            if size > 0.0:
                                most = max(most, abs(there[j, o] - x[j, o]) / size)
                            x[j, o] = there[j, o]
                    z[:] = moved
                    break
                curvature *= 4.0
        if most <= 1e-15:
            break
    image_at(A, x, z)


@compiled
def newton_blocks(A, b, s, code, t, starts, group, l1, ridge, least, x, z, rounds):  # type: ignore[no-untyped-def]
    """Newton steps on the coefficients around which F is smooth, while it falls; x and z change."""
    (n, T), d = x.shape, s.size
    slope, bend, trial, image = np.empty(T), np.empty(T), np.empty(x.shape), np.empty(z.shape)
    column, output, owner = np.empty(n * T, np.int64), np.empty(n * T, np.int64), np.empty(n * T, np.int64)
    length = np.empty(group.size)
    for _ in range(rounds):
        count = 0
        for i in range(group.size):
            length[i] = block_cost(x[starts[i] : starts[i + 1]], 1.0, 0.0, 0.0)
            for j in range(starts[i], starts[i + 1]):
                for o in range(T):
                    is_held = (group[i] > 0.0 and length[i] == 0.0) or (l1[i] > 0.0 and x[j, o] == 0.0)
                    if not (is_held or x[j, o] <= least[i]):
                        column[count], output[count], owner[count] = j, o, i
                        count += 1
        if not 0 < count <= MOST_FREE:
            return
        H, g, step = np.zeros((count, count)), np.zeros(count), np.empty(count)
        for p in range(count):
            i, own = owner[p], x[column[p], output[p]]
            kink = group[i] / length[i] if length[i] > 0.0 else 0.0
            g[p] = (kink + ridge[i]) * own + (math.copysign(l1[i], own) if l1[i] > 0.0 else 0.0)
            H[p, p] = kink + ridge[i]
            for q in range(p + 1):
                if owner[q] == i and kink > 0.0:
                    H[p, q] -= kink * (own / length[i]) * (x[column[q], output[q]] / length[i])
        for k in range(d):
            if s[k] > 0.0:
                row_slope(code, t, b[k], z[k], slope, bend)
                for p in range(count):
                    entry, o = s[k] * A[column[p], k], output[p]
                    g[p] += entry * slope[o]
                    if entry != 0.0:
                        for q in range(p + 1):
                            weight = bend[o] if output[q] == o else 0.0
                            if code == SOFTMAX:
                                weight -= bend[o] * bend[output[q]]
                            H[p, q] += weight * entry * A[column[q], k]
        if not cholesky_step(H, g, step):
            return
        before = value_at(b, s, code, t, starts, group, l1, ridge, x, z)
        best, chosen = before, 0.0
        for share in (1.0, 4.0, 32.0, 0.5, 0.1, 1e-2, 1e-4):
            moved_blocks(x, column, output, owner, step, share, l1, least, trial)
            image_at(A, trial, image)
            value = value_at(b, s, code, t, starts, group, l1, ridge, trial, image)
            if value <= best:
                best, chosen = value, share
            elif chosen > 0.0:
                break
        if chosen == 0.0:
            return
        moved_blocks(x, column, output, owner, step, chosen, l1, least, trial)
        x[:] = trial
        image_at(A, x, z)
        if not best < before - 1e-14 * abs(before):
            return


@compiled
def moved_blocks(x, column, output, owner, step, share, l1, least, out):  # type: ignore[no-untyped-def]
    """out = x + share·step; what would cross a kink stops there."""
    out[:] = x
    for p in range(step.size):
        j, o, i = column[p], output[p], owner[p]
        new = x[j, o] + share * step[p]
        if l1[i] > 0.0 and new * x[j, o] < 0.0:
            new = 0.0
        out[j, o] = max(new, least[i])
