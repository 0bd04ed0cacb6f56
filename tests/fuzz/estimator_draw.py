"""Cases for the estimators: well-scaled and wild data, the parameters that change the problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Case

ESTIMATORS = (
    "Lasso", "ElasticNet", "Ridge", "NNLS", "LogisticRegression", "PoissonRegressor", "HuberRegressor", "LinearSVC",
    "LassoCV", "ElasticNetCV", "LogisticRegressionCV", "lasso_path", "enet_path", "logistic_path",
)  # fmt: skip
SHARES = (0.14, 0.14, 0.12, 0.09, 0.11, 0.08, 0.08, 0.12, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02)
LOSS = {"LogisticRegression": "logistic", "LogisticRegressionCV": "logistic", "logistic_path": "logistic",
        "PoissonRegressor": "poisson", "LinearSVC": "squared_hinge"}  # fmt: skip


def draw_estimator(rng: Any, few: bool, name: str | None) -> Case:
    """A case of one estimator."""
    from .draw import chance, draw_matrix, draw_shape, draw_storage, draw_target, draw_weights

    drawn = str(rng.choice(ESTIMATORS, p=SHARES))
    name = drawn if name is None else name
    d, n = draw_shape(rng, 0.0)
    is_cv = name.endswith("CV")
    d = max(d, 6) if is_cv else max(d, 2)
    n = min(n, 30) if is_cv else n
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.25))
    if storage == "list":
        storage = "F"
    y = draw_target(rng, A, LOSS.get(name, "squared"))
    if name in ("LinearSVC", "LogisticRegression", "logistic_path", "LogisticRegressionCV"):
        y[: d // 2], y[d // 2 :] = np.where(rng.random(d // 2) < 0.9, 1.0, y[: d // 2]), -1.0
        y[0] = 1.0
    weighted = not few and not is_cv and chance(rng, 0.25)
    weight = draw_weights(rng, d) if weighted else None
    if weight is not None and not weight.any():
        weight[0] = 1.0
    return Case(name, A, y, LOSS.get(name, "squared"), weight=weight, storage=storage, options=_options(rng, name, n))


def _options(rng: Any, name: str, n: int) -> dict[str, Any]:
    from .draw import chance

    options: dict[str, Any] = {}
    if chance(rng, 0.4):
        options["tol"] = float(rng.choice([0.0, 1e-15, 1e-10, 1e-8, 1e-3]))
    strength = float(10.0 ** rng.uniform(-8.0, 4.0))
    if name in ("Lasso", "ElasticNet", "Ridge", "PoissonRegressor", "HuberRegressor"):
        options["alpha"] = strength if chance(rng, 0.8) else float(rng.choice([0.0, 1.0, 1e9]))
    if name in ("LogisticRegression", "LinearSVC"):
        options["C"] = 1.0 / strength
    if name in ("ElasticNet", "LogisticRegression", "PoissonRegressor", "enet_path", "logistic_path"):
        options["l1_ratio"] = float(rng.choice([0.0, 0.5, 1.0, 0.01])) if name != "enet_path" else 0.5
    if name in ("Lasso", "ElasticNet", "Ridge") and chance(rng, 0.15):
        options["positive"] = True
    if name == "LinearSVC":
        options["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
        if options["loss"] == "squared_hinge" and chance(rng, 0.5):
            options["dual"] = bool(chance(rng, 0.5))
    if name == "HuberRegressor":
        options["epsilon"] = float(rng.choice([1.0, 1.1, 1.35, 3.0]))
    if not name.endswith("path") or name == "logistic_path":
        options["fit_intercept"] = chance(rng, 0.6)
    if name in ("lasso_path", "enet_path", "LassoCV", "ElasticNetCV"):
        options["alphas"] = int(rng.integers(1, 6))
    if name in ("logistic_path", "LogisticRegressionCV"):
        options["Cs"] = int(rng.integers(1, 4))
    if name.endswith("CV"):
        options["cv"] = 3
    if not name.endswith(("CV", "path", "NNLS", "LinearSVC")) and chance(rng, 0.1):
        options["penalty_weights"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    if chance(rng, 0.05):
        options["max_iter"] = int(rng.choice([1, 2]))
    return options
