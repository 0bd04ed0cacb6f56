"""The same minima from other people's code: SciPy for every problem, scikit-learn and celer where they have it."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import numpy as np
import pytest
from formulas import gradient, smooth
from scipy import optimize

from ascd._core.jit import debugging


def scipy_minimum(loss, A, b, l1=0.0, l2=0.0, lower=-np.inf, upper=np.inf):
    """min f(Ax) + l1·|x|₁ + l2/2·‖x‖² over the box, by L-BFGS-B on x = p − q with p, q ≥ 0.

    The box is used with l1 = 0 only, where x = p.
    """
    n = A.shape[1]
    split = np.c_[np.eye(n), -np.eye(n)] if l1 else np.eye(n)
    bounds = [(0.0, None)] * (2 * n) if l1 else [(lower, upper)] * n

    def value(p):
        x = split @ p
        return smooth(loss, A, b, 1.0, x) + l1 * p.sum() * bool(l1) + 0.5 * l2 * x @ x

    def slope(p):
        x = split @ p
        return split.T @ (gradient(loss, A, b, 1.0, x) + l2 * x) + l1

    start = np.clip(np.zeros(split.shape[1]), [low for low, _ in bounds], None)
    options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 100_000, "maxfun": 1_000_000, "maxcor": 50}
    return optimize.minimize(value, start, jac=slope, method="L-BFGS-B", bounds=bounds, options=options).fun


def lasso(A, b, lam):
    from sklearn.linear_model import Lasso

    return Lasso(alpha=lam / len(b), fit_intercept=False, tol=1e-14, max_iter=100_000).fit(A, b).coef_


def elastic_net(A, b, l1, l2):
    from sklearn.linear_model import ElasticNet

    alpha = (l1 + l2) / len(b)
    return ElasticNet(alpha, l1_ratio=l1 / (l1 + l2), fit_intercept=False, tol=1e-14, max_iter=100_000).fit(A, b).coef_


def ridge(A, b, lam):
    from sklearn.linear_model import Ridge

    return Ridge(lam, fit_intercept=False, solver="cholesky").fit(A, b).coef_


def bounded(A, b, low, high):
    return np.clip(optimize.lsq_linear(A, b, (low, high), method="bvls", tol=1e-15).x, low, high)


def svm_dual(X, y, C, loss):
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=C, loss=loss, dual=True, fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0)
    return model.fit(X, y).coef_[0]


@contextmanager
def plain_skglm():
    """skglm as plain Python: to compile its classes and loops takes five to fifteen seconds for each model.

    numba compiles nothing meanwhile, so that our kernels run as plain Python, too.  Modules of skglm that were imported
    before would compile, and those that are imported here never: they are not mixed.
    """
    numba = pytest.importorskip("numba")
    before, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, True
    others = _without_skglm()
    try:
        with debugging(True):
            yield pytest.importorskip("skglm", reason="skglm is not installed (extra 'bench')")
    finally:
        numba.config.DISABLE_JIT = before
        _without_skglm()
        sys.modules.update(others)


def _without_skglm():
    """Forget that skglm was imported; its modules."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "skglm"}
