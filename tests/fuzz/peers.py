"""Candidates from other people's solvers: SciPy's L-BFGS-B on every problem, scikit-learn's own estimators.

They are slow beside the judge's own search, so they are asked in some of the cases only.  The kink of l1·|x| is split:
x = u − v with u, v ≥ 0 makes the problem smooth.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .cases import Array, Case
from .search import Scaled, gradient_of, scaled, value_of
from .truth import Truth

#: Entries of A above which SciPy is not asked.
LARGEST = 2000
#: Numbers beyond it, or below its inverse, are of extreme scale.
FAR = 1e20


def from_scipy(truth: Truth, x: Array, c: float) -> list[tuple[Array, float]]:
    """Where L-BFGS-B gets from x."""
    from scipy.optimize import minimize

    if truth.loss == "hinge" or truth.A.size > LARGEST:
        return []
    p = scaled(truth)
    with np.errstate(all="ignore"):
        start = p.inward(x, c, truth.intercept)
    if not np.isfinite(start).all() or not math.isfinite(value_of(p, start)):
        return []
    kinked = np.flatnonzero(p.l1 > 0.0)
    bounds = _split_bounds(p, kinked)
    begin = np.r_[start, np.zeros(kinked.size)]
    begin[kinked], begin[start.size :] = np.maximum(start[kinked], 0.0), np.maximum(-start[kinked], 0.0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = minimize(
            _split_objective(p, kinked), begin, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 300, "ftol": 0.0, "gtol": 0.0},
        )  # fmt: skip
        found = result.x[: start.size].copy()
        found[kinked] -= result.x[start.size :]
        back = (np.clip(found, p.lower, p.upper) * p.unit).astype(float)
    if not np.isfinite(back).all():
        return []
    return [(back[:-1], float(back[-1]))] if truth.intercept else [(back, 0.0)]


def _split_bounds(p: Scaled, kinked: Array) -> list[tuple[Any, Any]]:
    lower, upper = p.lower.copy(), p.upper.copy()
    below = np.maximum(0.0, -lower[kinked]), np.maximum(0.0, -upper[kinked])
    lower[kinked], upper[kinked] = np.maximum(lower[kinked], 0.0), np.maximum(upper[kinked], 0.0)
    return [*zip(lower, upper, strict=True), *zip(below[1], below[0], strict=True)]


def _split_objective(p: Scaled, kinked: Array) -> Any:
    n = p.l1.size

    def objective(w: Array) -> tuple[float, Array]:
        x = w[:n].copy()
        x[kinked] -= w[n:]
        smooth = p._replace(l1=np.zeros(n))
        gradient = gradient_of(smooth, x)
        value = value_of(smooth, x) + float(p.l1[kinked] @ (w[kinked] + w[n:]))
        whole = np.r_[gradient, p.l1[kinked] - gradient[kinked]]
        whole[kinked] += p.l1[kinked]
        return value, whole

    return objective


def from_sklearn(case: Case) -> list[tuple[Array, float]]:
    """scikit-learn's answer to an estimator's case, where it takes the same parameters."""
    import sklearn.linear_model
    import sklearn.svm

    names = {
        "Lasso": ("alpha", "positive"), "ElasticNet": ("alpha", "l1_ratio", "positive"), "Ridge": ("alpha", "positive"),
        "LogisticRegression": ("C", "l1_ratio"), "PoissonRegressor": ("alpha",), "LinearSVC": ("C", "loss"),
        "MultiTaskLasso": ("alpha",), "MultiTaskElasticNet": ("alpha", "l1_ratio"), "Multinomial": ("C", "l1_ratio"),
    }.get(case.family)  # fmt: skip
    if names is None or "penalty_weights" in case.options or case.options.get("grouped") or _may_hang(case):
        return []
    options = {name: case.options[name] for name in (*names, "fit_intercept") if name in case.options}
    if case.family in ("LogisticRegression", "Multinomial"):
        options.update(solver="saga" if options.get("l1_ratio") else "lbfgs", max_iter=1000)
    name = "LogisticRegression" if case.family == "Multinomial" else case.family
    kind = getattr(sklearn.svm if case.family == "LinearSVC" else sklearn.linear_model, name)
    weights = {} if case.weight is None else {"sample_weight": case.weight}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            # copies: scikit-learn weighs several targets in place
            model = kind(**options, tol=1e-10).fit(case.A.copy(), case.b.copy(), **weights)
        except (ValueError, TypeError, np.linalg.LinAlgError, FloatingPointError):
            return []
    if case.family.startswith("Multi"):
        return _of_blocks(case, np.asarray(model.coef_), np.ravel(model.intercept_))
    coef, constant = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    if not (np.isfinite(coef).all() and math.isfinite(constant)):
        return []
    if case.family == "LinearSVC" and case.options["fit_intercept"]:
        return [(np.append(coef, constant), 0.0)]
    return [(coef, constant)]


def _may_hang(case: Case) -> bool:
    """liblinear does not come back from some problems of extreme scale."""
    sizes = np.abs(
        np.concatenate(
            [
                case.A.ravel(),
                np.ravel(case.options.get("C", 1.0)),
                np.ravel(1.0 if case.weight is None else case.weight),
            ]
        )
    )
    sizes = sizes[sizes > 0.0]
    return case.family == "LinearSVC" and bool(np.any((sizes < 1.0 / FAR) | (sizes > FAR)))


def _of_blocks(case: Case, coef: Array, constants: Array) -> list[tuple[Array, float]]:
    """A point of ``block_truth``: coefficients row by row, and the constants behind them."""
    point = np.concatenate([coef.T.ravel(), constants]) if case.options["fit_intercept"] else coef.T.ravel()
    return [(point, 0.0)] if np.isfinite(point).all() else []
