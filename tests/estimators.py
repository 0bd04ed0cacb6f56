"""What the tests of the estimators share: data, objectives as scikit-learn documents them, and a table of models."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn.linear_model as peers
import sklearn.svm
from scipy import sparse

from ascd import estimators as ours

TIGHT = 1e-10


class Data(NamedTuple):
    X: Any
    y: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    weight: np.ndarray


def make_data(n_samples=80, n_features=12, seed=0) -> Data:
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n_samples, n_features)) + 0.3)
    X[rng.random(X.shape) < 0.3] = 0.0
    signal = X[:, :4] @ [1.0, -2.0, 0.5, 1.5] + 0.7
    y = signal + 0.3 * rng.standard_normal(n_samples)
    labels = (signal + rng.standard_normal(n_samples) > 0.0).astype(int)
    counts = rng.poisson(np.exp(0.3 * signal)).astype(float)
    weight = rng.integers(0, 4, n_samples) * 0.5
    return Data(X, y, labels, counts, weight)


def coefficients(model):
    """As float64: sums of float32 numbers would be rounded."""
    return np.ravel(model.coef_).astype(float)


def predictions(model, X):
    return X @ coefficients(model) + float(np.ravel(model.intercept_)[0])


def squared(model, X, y, s, alpha, ratio):
    """1/(2Σs)·Σ s r² + alpha·(ratio·‖w‖₁ + (1 − ratio)/2·‖w‖²)."""
    w = coefficients(model)
    penalty = alpha * (ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w)
    return 0.5 * np.average((predictions(model, X) - y) ** 2, weights=s) + penalty


def ridge(model, X, y, s, alpha):
    w = coefficients(model)
    return s @ (predictions(model, X) - y) ** 2 + alpha * w @ w


def logistic(model, X, labels, s, C, ratio):
    w, signs = coefficients(model), np.where(labels > 0, 1.0, -1.0)
    penalty = 0.0 if np.isinf(C) else (ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w) / C
    return s @ np.logaddexp(0.0, -signs * predictions(model, X)) + penalty


def poisson(model, X, counts, s, alpha):
    z, w = predictions(model, X), coefficients(model)
    entropy = np.where(counts > 0, counts * np.log(np.maximum(counts, 1e-300)), 0.0)
    return np.average(np.exp(z) - counts * z + entropy - counts, weights=s) + 0.5 * alpha * w @ w


def huber(model, X, y, s, alpha, epsilon):
    w, sigma = coefficients(model), model.scale_
    t = np.abs(predictions(model, X) - y) / sigma
    return s @ (sigma + sigma * np.where(t <= epsilon, t**2, 2 * epsilon * t - epsilon**2)) + alpha * w @ w


def svm(model, X, labels, s, C, loss, scaling):
    signs = np.where(labels > 0, 1.0, -1.0)
    w = np.append(coefficients(model), np.ravel(model.intercept_)[0] / scaling)
    short = np.maximum(0.0, 1.0 - signs * predictions(model, X))
    return 0.5 * w @ w + C * s @ (short if loss == "hinge" else short**2)


class Model(NamedTuple):
    """Ours and theirs for the same parameters, which target they take, and the objective that both minimise."""

    ours: Any
    theirs: Any
    target: str
    objective: Any


def enet(name, theirs, alpha, ratio=1.0, **shared):
    known = {"alpha": alpha, **shared}
    if name == "ElasticNet":
        known["l1_ratio"] = ratio
    precise = theirs(**known, tol=1e-14, max_iter=1_000_000)
    return Model(getattr(ours, name)(**known, tol=TIGHT), precise, "y", lambda *a: squared(*a, alpha, ratio))


def logit(C, ratio=0.0, **shared):
    solver = {"solver": "newton-cholesky"} if ratio == 0.0 else {"solver": "saga"}
    theirs = peers.LogisticRegression(C=C, l1_ratio=ratio, tol=1e-13, max_iter=100_000, **solver, **shared)
    mine = ours.LogisticRegression(C=C, l1_ratio=ratio, tol=TIGHT, **shared)
    return Model(mine, theirs, "labels", lambda *a: logistic(*a, C, ratio))


def svc(C, loss, **shared):
    theirs = sklearn.svm.LinearSVC(
        C=C, loss=loss, tol=1e-12, max_iter=100_000, dual=loss == "hinge", random_state=0, **shared
    )
    scaling = shared.get("intercept_scaling", 1.0)
    mine = ours.LinearSVC(C=C, loss=loss, tol=TIGHT, **shared)
    return Model(mine, theirs, "labels", lambda *a: svm(*a, C, loss, scaling))


def glm(alpha, **shared):
    theirs = peers.PoissonRegressor(alpha=alpha, tol=1e-13, max_iter=10_000, solver="newton-cholesky", **shared)
    return Model(
        ours.PoissonRegressor(alpha=alpha, tol=TIGHT, **shared), theirs, "counts", lambda *a: poisson(*a, alpha)
    )


def robust(alpha, epsilon=1.35, **shared):
    theirs = peers.HuberRegressor(alpha=alpha, epsilon=epsilon, tol=1e-12, max_iter=100_000, **shared)
    mine = ours.HuberRegressor(alpha=alpha, epsilon=epsilon, tol=TIGHT, **shared)
    return Model(mine, theirs, "y", lambda *a: huber(*a, alpha, epsilon))


def least_squares(alpha, theirs, mine):
    return Model(mine, theirs, "y", lambda *a: ridge(*a, alpha))


MODELS = {
    "lasso": enet("Lasso", peers.Lasso, 0.1),
    "lasso weak": enet("Lasso", peers.Lasso, 1e-3),
    "lasso no intercept": enet("Lasso", peers.Lasso, 0.1, fit_intercept=False),
    "lasso positive": enet("Lasso", peers.Lasso, 0.05, positive=True),
    "lasso strong": enet("Lasso", peers.Lasso, 100.0),
    "elastic net": enet("ElasticNet", peers.ElasticNet, 0.1, 0.3),
    "elastic net l2": enet("ElasticNet", peers.ElasticNet, 0.1, 0.0),
    "elastic net positive": enet("ElasticNet", peers.ElasticNet, 0.1, 0.7, positive=True, fit_intercept=False),
    "ridge": least_squares(2.0, peers.Ridge(alpha=2.0), ours.Ridge(alpha=2.0, tol=TIGHT)),
    "ridge no intercept": least_squares(
        0.1, peers.Ridge(alpha=0.1, fit_intercept=False), ours.Ridge(alpha=0.1, fit_intercept=False, tol=TIGHT)
    ),
    "ridge positive": least_squares(
        1.0, peers.Ridge(alpha=1.0, positive=True, tol=1e-14), ours.Ridge(alpha=1.0, positive=True, tol=TIGHT)
    ),
    "nnls": least_squares(0.0, peers.LinearRegression(positive=True, fit_intercept=False), ours.NNLS(tol=TIGHT)),
    "nnls intercept": least_squares(
        0.0, peers.LinearRegression(positive=True), ours.NNLS(fit_intercept=True, tol=TIGHT)
    ),
    "logistic": logit(1.0),
    "logistic weak": logit(100.0, fit_intercept=False),
    "logistic unpenalised": logit(np.inf),
    "logistic l1": logit(0.5, 1.0),
    "logistic elastic net": logit(0.5, 0.5),
    "svm hinge": svc(0.5, "hinge"),
    "svm squared hinge": svc(1.0, "squared_hinge"),
    "svm no intercept": svc(0.1, "hinge", fit_intercept=False),
    "svm scaled intercept": svc(0.1, "squared_hinge", intercept_scaling=10.0),
    "poisson": glm(0.1),
    "poisson no intercept": glm(1.0, fit_intercept=False),
    "huber": robust(0.01),
    "huber no intercept": robust(1.0, 1.1, fit_intercept=False),
}


def form(X, how):
    """X as a storage of the user's: dense or sparse, float64 or float32."""
    if how == "sparse":
        return sparse.csr_array(X)
    return X.astype(np.float32) if how == "float32" else X


REGRESSORS = {
    "Lasso": ours.Lasso,
    "ElasticNet": ours.ElasticNet,
    "Ridge": ours.Ridge,
    "NNLS": ours.NNLS,
    "HuberRegressor": ours.HuberRegressor,
    "PoissonRegressor": ours.PoissonRegressor,
}
CLASSIFIERS = {"LogisticRegression": ours.LogisticRegression, "LinearSVC": ours.LinearSVC}
CROSS_VALIDATED = {
    "LassoCV": partial(ours.LassoCV, alphas=4, cv=3),
    "ElasticNetCV": partial(ours.ElasticNetCV, alphas=4, cv=3),
    "LogisticRegressionCV": partial(ours.LogisticRegressionCV, Cs=[0.1, 1.0], cv=3),
    "LinearSVCCV": partial(ours.LinearSVCCV, Cs=[0.1, 1.0], cv=3),
}
#: Every estimator by its name; those that choose a parameter do so from few.
EVERY = {**REGRESSORS, **CLASSIFIERS, **CROSS_VALIDATED}


def takes_labels(name):
    return "Logistic" in name or "SVC" in name


def target_of(name, data):
    """A target that the estimator takes."""
    return data.labels if takes_labels(name) else data.counts if name == "PoissonRegressor" else data.y
