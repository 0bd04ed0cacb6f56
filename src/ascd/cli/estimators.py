"""The models of ``ascd fit``: names of estimators, and which options they take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ascd._core.checks import unknown_name


class Kind(NamedTuple):
    """An estimator's name, its form with cross-validation ("" for none), and the options it takes."""

    plain: str
    cross_validated: str
    options: frozenset[str]


def _kind(plain: str, cross_validated: str, *options: str) -> Kind:
    return Kind(plain, cross_validated, frozenset(options))


MODELS = {
    "lasso": _kind("Lasso", "LassoCV", "alpha", "positive", "standardize"),
    "elastic-net": _kind("ElasticNet", "ElasticNetCV", "alpha", "l1_ratio", "positive", "standardize"),
    "ridge": _kind("Ridge", "", "alpha", "positive", "standardize"),
    "nnls": _kind("NNLS", ""),
    "huber": _kind("HuberRegressor", "", "alpha", "epsilon", "standardize"),
    "poisson": _kind("PoissonRegressor", "", "alpha", "l1_ratio", "standardize"),
    "logistic": _kind("LogisticRegression", "LogisticRegressionCV", "C", "l1_ratio", "standardize"),
    "group-lasso": _kind("GroupLasso", "GroupLassoCV", "alpha", "groups", "weights", "positive"),
    "sparse-group-lasso": _kind(
        "SparseGroupLasso", "SparseGroupLassoCV", "alpha", "l1_ratio", "groups", "weights", "positive"
    ),
    "multi-task-lasso": _kind("MultiTaskLasso", "MultiTaskLassoCV", "alpha", "standardize"),
    "multi-task-elastic-net": _kind("MultiTaskElasticNet", "MultiTaskElasticNetCV", "alpha", "l1_ratio", "standardize"),
    "svm": _kind("LinearSVC", "", "C", "loss"),
}
#: Options of every model, and of every cross-validation.
COMMON, OF_FOLDS = frozenset(("tol", "max_iter", "fit_intercept")), frozenset(("choose",))
CLASSIFIERS = ("logistic", "svm")
#: Models that fit several targets at once.
SEVERAL_TARGETS = ("multi-task-lasso", "multi-task-elastic-net")


def make_estimator(name: str, cv: int | None, given: dict[str, Any]) -> Any:
    """Return an unfitted estimator with the options that were given; a ValueError names one that it does not take."""
    from ascd import estimators

    if name not in MODELS:
        raise unknown_name(name, "model", MODELS)
    kind = MODELS[name]
    shared = {key: value for key, value in given.items() if value is not None}
    own = {key: value for key, value in shared.items() if key not in COMMON | OF_FOLDS}
    foreign = sorted(set(own) - kind.options)
    if foreign:
        listed = ", ".join(f"--{option.replace('_', '-')}" for option in sorted(kind.options)) or "none"
        raise ValueError(f"model {name!r} takes no --{foreign[0].replace('_', '-')}; it takes {listed}")
    if "groups" in kind.options and "groups" not in own:
        raise ValueError(
            f"model {name!r} needs --groups: a file (one label per line, or JSON), or how many neighbours make one"
        )
    if cv is None:
        return getattr(estimators, kind.plain)(**shared)
    if not kind.cross_validated:
        has = ", ".join(other for other, each in MODELS.items() if each.cross_validated)
        raise ValueError(f"model {name!r} has no cross-validation; {has} have")
    chosen = sorted({"alpha", "C"} & set(own))
    if chosen:
        raise ValueError(f"--{chosen[0]} and --cv exclude each other: cross-validation chooses it")
    if name == "logistic":
        ratio = shared.pop("l1_ratio", None)
        shared["l1_ratios"] = [1.0 if ratio is None else ratio]
    return getattr(estimators, kind.cross_validated)(cv=cv, **shared)


def plain_again(name: str, estimator: Any) -> Any:
    """Return an unfitted estimator with the options of a fitted one, and with what cross-validation has chosen."""
    import numpy as np

    from ascd import estimators

    kind = MODELS[name]
    made = getattr(estimators, kind.plain)()
    known = set(made.get_params()) & (kind.options | COMMON)
    shared = {key: value for key, value in estimator.get_params().items() if key in known}
    for key in ("alpha", "C", "l1_ratio"):
        if hasattr(estimator, f"{key}_") and key in kind.options:  # of several classes, that of the first
            shared[key] = float(np.ravel(getattr(estimator, f"{key}_"))[0])
    return made.set_params(**shared)


def cv_error(estimator: Any) -> dict[str, Any] | None:
    """Return mean and standard error over the folds of the score at the chosen penalty; None without folds."""
    import numpy as np

    if hasattr(estimator, "mse_path_"):
        name, grid, chosen = "mean squared error", estimator.alphas_, estimator.alpha_
        table = np.asarray(estimator.mse_path_)
    elif hasattr(estimator, "scores_"):
        name, grid, chosen = "accuracy", estimator.Cs_, float(np.ravel(estimator.C_)[0])
        table = np.asarray(estimator.scores_)[:, 0].T
    else:
        return None
    found = table[int(np.argmin(np.abs(np.asarray(grid) - chosen)))]
    error = float(np.std(found, ddof=1)) / math.sqrt(found.size)
    return {"name": name, "mean": float(found.mean()), "standard_error": error, "folds": int(found.size)}
