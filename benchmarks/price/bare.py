"""A bare numba loop: the least that an iteration of uniform coordinate descent can cost, for the Lasso."""

from __future__ import annotations

import time

import numba
import numpy as np


@numba.njit(error_model="numpy")
def bare_lasso(data, indices, indptr, residual, x, lipschitz, lam, rng, count):
    for _ in range(count):
        j = int(rng.random() * x.size)
        g = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            g += data[p] * residual[indices[p]]
        v, t = x[j] - g / lipschitz[j], lam / lipschitz[j]
        new = v - t if v > t else (v + t if v < -t else 0.0)
        if new != x[j]:
            change = new - x[j]
            x[j] = new
            for p in range(indptr[j], indptr[j + 1]):
                residual[indices[p]] += change * data[p]


def bare_stepper(A, b, lam):
    x, residual, rng = np.zeros(A.shape[1]), -b.copy(), np.random.default_rng(0)
    lipschitz = np.maximum(np.asarray(A.multiply(A).sum(axis=0)).ravel(), 1e-12)

    def advance(count):
        began = time.thread_time()
        bare_lasso(A.data, A.indices, A.indptr, residual, x, lipschitz, lam, rng, count)
        return (time.thread_time() - began) / count

    advance(1)
    return advance
