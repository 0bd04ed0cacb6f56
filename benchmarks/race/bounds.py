"""A lower bound on the SVM's minimum: the value of any dual point is one.

    max_α Σα_k − ½‖Σ_k α_k y_k x_k‖²   over 0 ≤ α_k ≤ C

``dual_point`` is a dual coordinate descent of the benchmark's own: samples in random order; those at a bound whose
gradient points outward by more than the largest violation of the pass before are set aside, and all come back before
the end (Hsieh et al., 2008).  With a large C it gets nowhere; ``interior_point`` is ours.
"""

from __future__ import annotations

import time

import numba
import numpy as np
import scipy.sparse as sp

import ascd
from ascd.solver.svm import BoxDescent
from ascd.svm import signed_box


def dual_point(X, y, C, seconds=30.0, tol=1e-10):
    """α after passes for at most so many seconds, or until no gradient violates optimality by more than tol."""
    rows = sp.csr_matrix(X)
    square = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    alpha, w, rng = np.zeros(len(y)), np.zeros(X.shape[1]), np.random.default_rng(0)
    everyone = np.arange(len(y))
    active, slack, began = everyone.copy(), np.inf, time.perf_counter()
    while time.perf_counter() - began < seconds:
        rng.shuffle(active)
        kept, violation = _pass(rows.data, rows.indices, rows.indptr, y, C, square, alpha, w, active, slack)
        slack = violation if violation > 0.0 else np.inf
        if violation <= tol:
            if active.size == everyone.size:
                break
            active, slack = everyone.copy(), np.inf
        else:
            active = kept
    return alpha


def interior_point(X, y, C, tol=1e-9):
    """α by ``ascd.solver.svm``; a value worse than the true one only makes everybody's gaps look larger."""
    problem = ascd.Problem(X.T, np.zeros(X.shape[1]), penalty=signed_box(y, C, "hinge"))
    return y * BoxDescent(problem, np.zeros(len(y))).minimise(lambda slope: tol * C * len(y), 1000).x


@numba.njit
def _pass(data, indices, indptr, y, C, square, alpha, w, active, slack):
    """One pass over the active samples: those that stay active, and the largest violation met."""
    kept, count, largest = np.empty_like(active), 0, 0.0
    for k in active:
        slope = -1.0
        for p in range(indptr[k], indptr[k + 1]):
            slope += y[k] * data[p] * w[indices[p]]
        if (alpha[k] == 0.0 and slope > slack) or (alpha[k] == C and slope < -slack):
            continue
        kept[count] = k
        count += 1
        inward = (alpha[k] > 0.0 or slope < 0.0) and (alpha[k] < C or slope > 0.0)
        if inward and slope != 0.0:
            largest = max(largest, abs(slope))
            new = min(C, max(0.0, alpha[k] - slope / square[k])) if square[k] > 0.0 else C
            for p in range(indptr[k], indptr[k + 1]):
                w[indices[p]] += (new - alpha[k]) * y[k] * data[p]
            alpha[k] = new
    return kept[:count], largest
