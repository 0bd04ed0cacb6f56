"""The models of ``ascd fit``: their estimators, the options they take, groups of features, and checks of the target."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import unknown_name
from ascd.cli.options import check_numeric
from ascd.io.tables import LabeledData, level_names

#: Names of models and their estimators; a model takes the options that are parameters of its estimator.
MODELS = {
    "lasso": "Lasso",
    "elastic-net": "ElasticNet",
    "ridge": "Ridge",
    "nnls": "NNLS",
    "huber": "HuberRegressor",
    "poisson": "PoissonRegressor",
    "logistic": "LogisticRegression",
    "group-lasso": "GroupLasso",
    "sparse-group-lasso": "SparseGroupLasso",
    "multi-task-lasso": "MultiTaskLasso",
    "multi-task-elastic-net": "MultiTaskElasticNet",
    "svm": "LinearSVC",
}
CLASSIFIERS = ("logistic", "svm")
#: Models that fit several targets at once.
SEVERAL_TARGETS = ("multi-task-lasso", "multi-task-elastic-net")


def make_estimator(model: str, cv: int | None, given: dict[str, Any]) -> Any:
    """Return an unfitted estimator with the options that were given; a ValueError names one that it does not take."""
    from ascd import estimators

    name = MODELS[model]
    taken = getattr(estimators, name)._get_param_names()
    chosen = {option: value for option, value in given.items() if value is not None}
    foreign = next((option for option in chosen if option not in (*taken, "choose")), None)
    if foreign is not None:
        listed = ", ".join(_flag(option) for option in given if option in taken) or "none"
        raise ValueError(f"model {model!r} takes no {_flag(foreign)}; it takes {listed}")
    if "groups" in taken and "groups" not in chosen:
        raise ValueError(
            f"model {model!r} needs --groups: a file (one label per line, or JSON), or how many neighbours make one"
        )
    if cv is None:
        if "choose" in chosen:
            raise ValueError("--choose needs --cv")
        return getattr(estimators, name)(**chosen)
    if not hasattr(estimators, f"{name}CV"):
        has = ", ".join(other for other, each in MODELS.items() if hasattr(estimators, f"{each}CV"))
        raise ValueError(f"model {model!r} has no cross-validation; {has} have")
    for option in ("alpha", "C"):
        if option in chosen:
            raise ValueError(f"--{option} and --cv exclude each other: cross-validation chooses it")
    if model == "logistic":
        chosen["l1_ratios"] = [chosen.pop("l1_ratio", 1.0)]
    return getattr(estimators, f"{name}CV")(cv=cv, **chosen)


def _flag(option: str) -> str:
    return f"--{option.removeprefix('fit_').replace('_', '-')}"


def plain_again(estimator: Any) -> Any:
    """Return an unfitted estimator with the options of a fitted one, and with what cross-validation has chosen."""
    from ascd import estimators

    plain = getattr(estimators, type(estimator).__name__.removesuffix("CV"))
    given = estimator.get_params()
    shared = {name: given[name] for name in plain._get_param_names() if name in given}
    for name in ("alpha", "C", "l1_ratio"):
        if hasattr(estimator, f"{name}_"):  # of several classes, that of the first
            shared[name] = float(np.ravel(getattr(estimator, f"{name}_"))[0])
    return plain(**shared)


def cv_error(estimator: Any) -> dict[str, Any] | None:
    """Return mean and standard error over the folds of the score at the chosen penalty; None without folds."""
    if hasattr(estimator, "_error_path"):
        name, grid, chosen = estimator._measure, estimator.alphas_, estimator.alpha_
        table = np.asarray(getattr(estimator, estimator._error_path))
    elif hasattr(estimator, "scores_"):
        name, grid, chosen = "accuracy", estimator.Cs_, float(np.ravel(estimator.C_)[0])
        table = np.asarray(estimator.scores_)[:, 0].T
    else:
        return None
    found = table[int(np.argmin(np.abs(np.asarray(grid) - chosen)))]
    error = float(np.std(found, ddof=1)) / math.sqrt(found.size)
    return {"name": name, "mean": float(found.mean()), "standard_error": error, "folds": int(found.size)}


def one_target(model: str, count: int) -> ValueError:
    """Return the error of several targets for a model of one."""
    return ValueError(f"model {model!r} has one target; there are {count}: multi-task-lasso fits several")


def checked_target(data: LabeledData, model: str) -> Any:
    """Return the target as a model takes it; a ValueError for one that it cannot take."""
    y = np.asarray(data.y)
    if y.ndim == 2 and model not in SEVERAL_TARGETS:
        raise one_target(model, y.shape[1])
    if model in CLASSIFIERS:
        values = np.unique(y if y.dtype.kind in "fiub" else y.astype(str))
        if values.size < 2:
            raise ValueError(
                f"{data.target_words} is {values[0]} in every row: a classifier needs two classes; name another with "
                "--target"
            )
        if y.dtype.kind == "f" and (values != np.round(values)).any():
            raise ValueError(
                f"{data.target_words} has {values.size} different numbers in {y.size} samples ({values[0]:g} to "
                f"{values[-1]:g}): is it a quantity? --model lasso fits one; classes are words or whole numbers"
            )
        return y
    check_numeric(data)
    if model == "poisson" and y.min() < 0:
        raise ValueError(
            f"{data.target_words} must be 0 or more for model 'poisson', which fits counts; got {y.min():g}"
        )
    return y.reshape(len(y), -1) if model in SEVERAL_TARGETS else y


def groups_of(text: str, data: LabeledData) -> Any:
    """Return groups of features as estimators take them.

    A number stands for so many neighbours each.  A file has a label a line, one for every feature, or JSON: a list or
    an object of lists of features, by number (from 0) or by name; that of a text column stands for all its 0/1 columns.
    """
    path = Path(text)
    if not path.exists():
        return int(text)
    content = path.read_text(encoding="utf-8-sig").strip()
    if not content.startswith(("[", "{")):
        return [label.strip() for label in content.split("\n")]
    try:
        written = json.loads(content)
    except json.JSONDecodeError as error:
        raise ValueError(f"--groups: {path.name} is not JSON: {error}") from error
    groups = list(written.values()) if isinstance(written, dict) else written
    if not groups or not all(isinstance(part, list) for part in groups):
        raise ValueError(f"--groups: {path.name} must hold lists of features, or a label a line")
    place = {name: [j] for j, name in enumerate(data.names or [])}
    for source, levels in data.recipe.levels.items():
        place.setdefault(source, [place[name][0] for name in level_names(source, levels)])
    unknown = next((one for part in groups for one in part if isinstance(one, str) and one not in place), None)
    if unknown is not None:
        raise ValueError(f"--groups: {unknown_name(unknown, 'feature', data.names or ())}")
    return [[j for one in part for j in (place[one] if isinstance(one, str) else [one])] for part in groups]
