"""The models of ``ascd fit``: their estimators, the options they take, groups of features, and checks of the target."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import unknown_name
from ascd.cli.options import check_numeric
from ascd.io.tables import LabeledData, level_names


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
    "huber": _kind("HuberRegressor", "HuberRegressorCV", "alpha", "epsilon", "standardize"),
    "poisson": _kind("PoissonRegressor", "PoissonRegressorCV", "alpha", "l1_ratio", "standardize"),
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
    if cv is None and "choose" in shared:
        raise ValueError("--choose needs --cv")
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


def read_groups(text: str) -> Any:
    """Return groups of features as they were written; names are not looked up yet.

    A number stands for so many neighbours each.  A file has a label a line, one for every feature, or JSON: a list or
    an object of lists of features, by number (from 0) or by name.

    Examples
    --------
    >>> read_groups("5")
    5
    """
    path = Path(text)
    if text.isdigit() and not path.exists():
        return int(text)
    if not path.is_file():
        raise FileNotFoundError(f"--groups: no such file: {text} (a number of neighbours each would do, too)")
    content = path.read_text(encoding="utf-8-sig").strip()
    if not content.startswith(("[", "{")):
        return content.split("\n")
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        raise ValueError(f"--groups: {path.name} is not JSON: {error}") from error
    found = list(found.values()) if isinstance(found, dict) else found
    if not found or not all(isinstance(part, list) for part in found):
        raise ValueError(f"--groups: {path.name} must hold lists of features, or a label a line")
    return found


def groups_of(written: Any, data: LabeledData) -> Any:
    """Return the groups as estimators take them: names become numbers; that of a text column, all its 0/1 columns."""
    if not (isinstance(written, list) and isinstance(written[0], list)):
        return [label.strip() for label in written] if isinstance(written, list) else written
    place = {name: [j] for j, name in enumerate(data.names or [])}
    for source, levels in data.recipe.levels.items():
        place.setdefault(source, [place[name][0] for name in level_names(source, levels)])
    for number, part in enumerate(written):
        unknown = next((one for one in part if isinstance(one, str) and one not in place), None)
        if unknown is not None:
            raise ValueError(f"--groups: group {number}: {unknown_name(unknown, 'feature', data.names or ())}")
    return [[j for one in part for j in (place[one] if isinstance(one, str) else [one])] for part in written]
