"""Cases for the estimators: well-scaled and wild data, the parameters that change the problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Case
from .chance import chance, choose, pick
from .data import draw_matrix, draw_shape, draw_storage, draw_target, draw_weights

ESTIMATORS = {
    "Lasso": 14, "ElasticNet": 14, "Ridge": 12, "NNLS": 9, "LogisticRegression": 11, "PoissonRegressor": 8,
    "HuberRegressor": 5, "LinearSVC": 13, "LassoCV": 1, "ElasticNetCV": 1, "LogisticRegressionCV": 1, "lasso_path": 4,
    "enet_path": 4, "logistic_path": 3,
}  # fmt: skip
CLASSIFIERS = ("LinearSVC", "LogisticRegression", "logistic_path", "LogisticRegressionCV")
LOSS = {
    "LogisticRegression": "logistic", "LogisticRegressionCV": "logistic", "logistic_path": "logistic",
    "PoissonRegressor": "poisson", "LinearSVC": "squared_hinge",
}  # fmt: skip


def draw_estimator(rng: Any, few: bool, name: str | None) -> Case:
    """A case of one estimator."""
    drawn = choose(rng, ESTIMATORS)
    name = drawn if name is None else name
    is_cv, loss = name.endswith("CV"), LOSS.get(name, "squared")
    d, n = draw_shape(rng, 8 if is_cv or name == "HuberRegressor" else 30)
    d = d + 6 if is_cv else d + 1
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.25))
    storage = "F" if storage == "list" else storage
    y = draw_target(rng, A, loss)
    weight = draw_weights(rng, d) if not few and not is_cv and chance(rng, 0.25) else None
    if name in CLASSIFIERS:  # both classes, in every fold
        y[: d // 2][rng.random(d // 2) < 0.9], y[d // 2 :] = 1.0, -1.0
        y[0] = 1.0
    if weight is not None and not weight.any():
        weight[0] = 1.0
    return Case(name, A, y, loss, weight=weight, storage=storage, options=_options(rng, name, n))


def _options(rng: Any, name: str, n: int) -> dict[str, Any]:
    options: dict[str, Any] = {} if name.endswith("_path") and name != "logistic_path" else {
        "fit_intercept": chance(rng, 0.6)
    }  # fmt: skip
    if chance(rng, 0.4):
        options["tol"] = pick(rng, (0.0, 1e-15, 1e-10, 1e-8, 1e-3))
    strength = float(10.0 ** rng.uniform(-8.0, 4.0))
    if name in ("Lasso", "ElasticNet", "Ridge", "PoissonRegressor", "HuberRegressor"):
        options["alpha"] = strength if chance(rng, 0.8) else pick(rng, (0.0, 1.0, 1e9))
    if name in ("LogisticRegression", "LinearSVC"):
        options["C"] = 1.0 / strength
    if name in ("ElasticNet", "LogisticRegression", "PoissonRegressor", "logistic_path"):
        options["l1_ratio"] = pick(rng, (0.0, 0.5, 1.0, 0.01))
    if name in ("Lasso", "ElasticNet", "Ridge") and chance(rng, 0.15):
        options["positive"] = True
    if name in ("lasso_path", "enet_path", "LassoCV", "ElasticNetCV"):
        options["alphas"] = int(rng.integers(1, 6))
    if name in ("logistic_path", "LogisticRegressionCV"):
        options["Cs"] = int(rng.integers(1, 4))
    if name in ("Lasso", "ElasticNet", "Ridge", "PoissonRegressor", "LogisticRegression") and chance(rng, 0.1):
        options["penalty_weights"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    most = 5 if name == "HuberRegressor" else 20  # which makes up to 60 fits, a scale each
    options["max_iter"] = pick(rng, (1, 2)) if chance(rng, 0.05) else most
    return {**options, **_special(rng, name)}


def _special(rng: Any, name: str) -> dict[str, Any]:
    """Options of one estimator alone."""
    if name == "LinearSVC":
        loss = pick(rng, ("hinge", "squared_hinge"))
        return {"loss": loss, **({"dual": chance(rng, 0.5)} if loss == "squared_hinge" and chance(rng, 0.5) else {})}
    if name == "HuberRegressor":
        return {"epsilon": pick(rng, (1.0, 1.1, 1.35, 3.0))}
    return {"cv": 3} if name.endswith("CV") else {}
