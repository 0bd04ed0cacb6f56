"""Search for a better point: the judge's own descent, SciPy's L-BFGS-B, and scikit-learn's estimators.

A search only proposes points; what they are worth is measured in long double by ``truth``.  Columns, target and weights
are first scaled by powers of two so that the search itself neither overflows nor underflows:
x_j = x'_j·β/α_j, b = β·b', s = σ·s' where β may differ from 1 for the losses of a difference (squared, huber).  The
columns of a block share their unit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from . import kernels
from .cases import Case
from .truth import LOSSES, Array, Long, Truth, make_truth

#: Multiplications that one descent may take.
WORK = 2e5
#: Coefficients times samples above which SciPy is not asked.
LARGEST = 2000
#: Numbers beyond it, or below its inverse, are of extreme scale.
FAR = 1e20


class Scaled(NamedTuple):
    """The problem in units in which its numbers are near 1; intercepts are one more column."""

    A: Array  # by columns, in the order of the blocks
    b: Array
    s: Array
    code: int
    threshold: float
    l1: Array
    l2: Array
    linear: Array
    lower: Array
    upper: Array
    starts: Array
    group: Array
    order: Array
    unit: Array  # one a column: x = x'·unit

    def inward(self, point: Array) -> Array:
        """A point in these units, of shape (columns, outputs)."""
        rows = np.asarray(point, dtype=float).reshape(self.order.size, -1)[self.order]
        return np.clip((rows.astype(Long) / self.unit[:, None]).astype(float), self.lower[:, None], self.upper[:, None])

    def outward(self, x: Array) -> Array:
        rows = np.empty(x.shape)
        rows[self.order] = (x * self.unit[:, None]).astype(float)
        return rows.ravel()


def power_of_two(values: Array) -> Array:
    """The power of two just above each value, 1 for zero; of any size, so in long double."""
    return np.ldexp(np.ones_like(values, dtype=Long), np.where(values > 0.0, np.frexp(values)[1], 0))


def scaled(truth: Truth) -> Scaled:
    """``truth`` in the search's units."""
    extra, blocks = int(truth.intercept), [list(columns) for columns in truth.blocks]
    A = np.hstack([truth.A, np.ones((len(truth.A), extra))])
    blocks += [[truth.A.shape[1]]] * extra
    order, sizes = np.array([j for block in blocks for j in block]), [len(block) for block in blocks]
    alpha = power_of_two(np.repeat([np.abs(A[:, block]).max() for block in blocks], sizes))
    beta = power_of_two(np.abs(truth.b).max()) if truth.loss in ("squared", "huber") else Long(1)
    sigma = power_of_two(np.asarray(truth.s, dtype=float).max())
    unit, level = beta / alpha, sigma * beta * beta
    firsts = np.cumsum([0, *sizes])

    def ordered(values: Array, free: float = 0.0) -> Array:
        return np.append(np.asarray(values, dtype=Long), [Long(free)] * extra)[order]

    with np.errstate(all="ignore"):
        parts = (
            np.ascontiguousarray((A[:, order] / alpha).astype(float).T),
            np.ascontiguousarray((truth.b / beta).astype(float).reshape(len(truth.b), -1)),
            (truth.s / sigma).astype(float),
            LOSSES.index(truth.loss),
            float(truth.threshold / beta),
            (ordered(truth.l1) * unit / level).astype(float),
            (ordered(truth.l2) * unit * unit / level).astype(float),
            (ordered(truth.linear) * unit / level).astype(float),
            (ordered(truth.lower, -np.inf) / unit).astype(float),
            (ordered(truth.upper, np.inf) / unit).astype(float),
            firsts,
            (np.append(truth.group, [Long(0)] * extra) * unit[firsts[:-1]] / level).astype(float),
        )
    return Scaled(*parts, order, unit)


def candidates(truth: Truth, starts: Iterable[Array]) -> Array:
    """Points that may be better than the starts, as columns."""
    if truth.loss == "hinge":
        return _hinge_candidates(truth)
    found: list[Array] = []
    with np.errstate(all="ignore"):
        p = scaled(truth)
        sweeps = int(min(max(WORK / (p.A.size * truth.outputs), 5), 200))
        for start in starts:
            x, z = p.inward(start), np.empty((len(p.s), truth.outputs))
            if not np.isfinite(x).all():
                continue
            for most, rounds in ((sweeps, 10), (min(sweeps, 20), 5)):
                kernels.descend(*p[:12], x, z, most)
                found.append(p.outward(x))
                kernels.newton(*p[:12], x, z, rounds)
            found.append(p.outward(x))
    points = np.array([point for point in found if np.isfinite(point).all()]).reshape(-1, truth.size)
    return np.clip(points, *truth.bounds()).T


def _hinge_candidates(truth: Truth) -> Array:
    """Primal weights from the descent on the dual."""
    with np.errstate(all="ignore"):
        signed, m = (truth.A * truth.b).T, len(truth.b)
    arrays = {"linear": -np.ones(m), "lower": np.zeros(m), "upper": truth.s.astype(float)}
    dual = make_truth(signed, np.zeros(truth.size), None, "squared", 1.0, arrays, False)
    return signed @ candidates(dual, [np.zeros(m)])


# ------------------------------------------------------------------------------------------- SciPy


def from_scipy(truth: Truth, point: Array) -> list[Array]:
    """Where L-BFGS-B gets from a point.

    The kink of l1·|x| is split, x = u − v with u, v ≥ 0; norms of blocks are made round, less and less, and what is
    next to zero is tried at zero as well.
    """
    if truth.loss == "hinge" or truth.A.size * truth.outputs > LARGEST:
        return []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = scaled(truth)
        x, smoothing = p.inward(point), 0.0
        if not np.isfinite(x).all() or not math.isfinite(_rounded(p, x.shape, 0.0)(_split(p, x))[0]):
            return []
        has_norms = bool(p.group.any())
        for share in (1e-3, 1e-6, 1e-9) if has_norms else (0.0,):
            smoothing = share * max(float(np.abs(x).max()), 1e-6)
            found = minimize(
                _rounded(p, x.shape, smoothing), _split(p, x), jac=True, method="L-BFGS-B", bounds=_bounds(p, x.shape),
                options={"maxiter": 100 if has_norms else 300, "ftol": 0.0, "gtol": 0.0},
            ).x  # fmt: skip
            x = _joined(p, x.shape, found)
        points = [x, np.where(np.abs(x) <= 100.0 * smoothing, 0.0, x)] if has_norms else [x]
        back = [np.clip(p.outward(each), *truth.bounds()) for each in points]
    return [each for each in back if np.isfinite(each).all()]


def _kinked(p: Scaled, outputs: int) -> Array:
    return np.flatnonzero(np.repeat(p.l1, outputs) > 0.0)


def _split(p: Scaled, x: Array) -> Array:
    kinked, w = _kinked(p, x.shape[1]), x.ravel().copy()
    below = np.maximum(-w[kinked], 0.0)
    w[kinked] = np.maximum(w[kinked], 0.0)
    return np.append(w, below)


def _joined(p: Scaled, shape: tuple[int, ...], w: Array) -> Array:
    x = w[: shape[0] * shape[1]].copy()
    x[_kinked(p, shape[1])] -= w[x.size :]
    return x.reshape(shape)


def _bounds(p: Scaled, shape: tuple[int, ...]) -> list[tuple[Any, Any]]:
    lower, upper = (np.repeat(ends, shape[1]) for ends in (p.lower, p.upper))
    kinked = _kinked(p, shape[1])
    below = np.maximum(0.0, -upper[kinked]), np.maximum(0.0, -lower[kinked])
    lower[kinked], upper[kinked] = np.maximum(lower[kinked], 0.0), np.maximum(upper[kinked], 0.0)
    return [*zip(lower, upper, strict=True), *zip(*below, strict=True)]


def _rounded(p: Scaled, shape: tuple[int, ...], smoothing: float) -> Any:
    """F and its gradient with √(‖u‖² + ε²) in the place of norms."""
    kinked, z = _kinked(p, shape[1]), np.empty((len(p.s), shape[1]))
    l1 = np.repeat(p.l1, shape[1])[kinked]

    def objective(w: Array) -> tuple[float, Array]:
        x, gradient = _joined(p, shape, w), np.empty(shape)
        kernels.predict(p.A, x, z)
        kernels.gradient_at(p.A, p.b, p.s, p.code, p.threshold, p.l2, p.linear, x, z, gradient)
        value = kernels.losses_at(p.b, p.s, p.code, p.threshold, z) + float(l1 @ (w[kinked] + w[x.size :]))
        value += float(((0.5 * p.l2[:, None] * x + p.linear[:, None]) * x).sum())
        for i in np.flatnonzero(p.group):
            rows = slice(p.starts[i], p.starts[i + 1])
            length = math.hypot(float(np.linalg.norm(x[rows])), smoothing)
            value += p.group[i] * length
            gradient[rows] += p.group[i] * x[rows] / (length or 1.0)
        flat = gradient.ravel()
        whole = np.append(flat, l1 - flat[kinked])
        whole[kinked] += l1
        return float(value), whole

    return objective


# ------------------------------------------------------------------------------------------- scikit-learn


def from_sklearn(case: Case) -> list[Array]:
    """scikit-learn's answer to an estimator's case, where it takes the same parameters."""
    import sklearn.linear_model
    import sklearn.svm

    family = case.family.replace("Multinomial", "LogisticRegression")
    names = {
        "Lasso": ("alpha", "positive"), "ElasticNet": ("alpha", "l1_ratio", "positive"), "Ridge": ("alpha", "positive"),
        "LogisticRegression": ("C", "l1_ratio"), "PoissonRegressor": ("alpha",), "LinearSVC": ("C", "loss"),
        "MultiTaskLasso": ("alpha",), "MultiTaskElasticNet": ("alpha", "l1_ratio"),
    }.get(family)  # fmt: skip
    if names is None or "penalty_weights" in case.options or case.options.get("grouped") or _may_hang(case):
        return []
    options = {name: case.options[name] for name in (*names, "fit_intercept") if name in case.options}
    if family == "LogisticRegression":
        options.update(solver="saga" if options.get("l1_ratio") else "lbfgs", max_iter=1000)
    kind = getattr(sklearn.svm if family == "LinearSVC" else sklearn.linear_model, family)
    weights = {} if case.weight is None else {"sample_weight": case.weight}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            # copies: scikit-learn weighs several targets in place
            model = kind(**options, tol=1e-10).fit(case.A.copy(), case.b.copy(), **weights)
        except (ValueError, TypeError, np.linalg.LinAlgError, FloatingPointError):
            return []
    intercepts = np.ravel(model.intercept_) if case.options.get("fit_intercept", True) else []
    point = np.append(np.atleast_2d(model.coef_).T.ravel(), intercepts)
    return [point] if np.isfinite(point).all() else []


def _may_hang(case: Case) -> bool:
    """liblinear does not come back from some problems of extreme scale."""
    weight = 1.0 if case.weight is None else case.weight
    sizes = np.abs(np.concatenate([np.ravel(part) for part in (case.A, case.options.get("C", 1.0), weight)]))
    sizes = sizes[sizes > 0.0]
    return case.family == "LinearSVC" and bool(np.any((sizes < 1.0 / FAR) | (sizes > FAR)))
