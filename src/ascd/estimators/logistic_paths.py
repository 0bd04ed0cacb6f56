"""The path of logistic regression as a function, with scikit-learn's old signature: one fit a C, which rises."""

from __future__ import annotations

import math
import sys
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ascd._core.checks import Array, as_count, as_finite_vector, as_flag, as_number, as_vector, unknown_name
from ascd._core.devices import to_host
from ascd.estimators._base import as_features, as_sample_weight, as_threads
from ascd.estimators._classes import side_factors, times
from ascd.estimators._deviations import deviations
from ascd.estimators._fitting import Settings
from ascd.estimators._following import follow, shortfall, tell_of_part, warn_of_shortfalls
from ascd.estimators._penalty import as_ratio, regulariser
from ascd.estimators._speaking import speaking_of_x
from ascd.problem.problem import Problem

#: The penalties by name; the last one leaves the choice to ``l1_ratio``.
NAMED = ("l1", "l2", "elasticnet", "deprecated")


def logistic_path(
    X: Any,
    y: Any,
    *,
    pos_class: Any = None,
    Cs: Any = 10,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
    verbose: Any = 0,
    solver: Any = "ascd",
    coef: Any = None,
    class_weight: Any = None,
    dual: bool = False,
    penalty: str | None = "deprecated",
    intercept_scaling: float = 1.0,
    random_state: Any = None,
    check_input: bool = True,
    max_squared_sum: float | None = None,
    sample_weight: Any = None,
    l1_ratio: float | None = 0.0,
    penalty_weights: Any = None,
    bounds: Any = None,
    n_jobs: int | None = None,
    standardize: bool = False,
    offset: Any = None,
) -> tuple[Array, Array, Array]:
    """Logistic regression for rising C: Σ s_k·log(1 + exp(−y_k·(x_k·w + c))) + r(w)/C.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : labels of shape (n_samples,)
    pos_class : label, optional
        The class fitted against the rest; by default the second of two.
    Cs : int or array, default=10
        How many between 1e-4 and 1e4, or which.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    tol : float, default=1e-6
        For each C the duality gap is at most ``tol`` times the objective at zero coefficients.
    verbose, dual, intercept_scaling, check_input, max_squared_sum
        Taken as in scikit-learn and without effect.
    solver, random_state, penalty_weights, bounds, n_jobs, standardize : as in ``ElasticNet``
    offset : array of shape (n_samples,), optional
        Known parts of the log-odds, added to X·coef + intercept.
    coef : array of shape (n_features,) or (n_features + 1,), optional
        Where the first fit starts; an intercept at its end is of no matter.
    class_weight : dict or "balanced", optional
        As in ``LogisticRegression``; "balanced" makes the two sides weigh the same.
    penalty : {"l1", "l2", "elasticnet"}, optional
        The older way to choose: "l1" is l1_ratio=1, "l2" is l1_ratio=0.
    sample_weight : array of shape (n_samples,), optional
    l1_ratio : float in [0, 1], default=0.0
        r(w) = l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖².

    Returns
    -------
    coefs : array of shape (n_cs, n_features), with the intercept as one more column where it is fitted
    Cs : rising array of shape (n_cs,)
    n_iter : array of shape (n_cs,)

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import logistic_path
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> coefs, Cs, _ = logistic_path(X, [0, 1, 0, 1], Cs=[0.1, 1.0], l1_ratio=1.0)
    >>> coefs.shape, bool(coefs[0, 0] == 0.0)
    ((2, 2), True)
    """
    if penalty not in NAMED:
        raise unknown_name(penalty, "penalty", NAMED[:-1])
    fit_intercept, standardize = as_flag(fit_intercept, "fit_intercept"), as_flag(standardize, "standardize")
    X = as_features(X)
    y = column_or_1d(to_host(y))
    check_consistent_length(X, y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    positive = classes == _positive_class(classes, pos_class)
    target = np.where(positive[codes], 1.0, -1.0)
    weight = as_sample_weight(sample_weight, X)
    scale = deviations(X, weight) if standardize else None
    if class_weight is not None:
        weight = times(side_factors(class_weight, classes, int(np.argmax(positive)), codes, weight), weight)
    ratio = as_number(as_ratio(penalty, l1_ratio), "l1_ratio", low=0.0, high=1.0)
    regular = regulariser(ratio, 1.0 - ratio, X.shape[1], weights=penalty_weights, bounds=bounds, scale=scale)
    with speaking_of_x():
        problem = Problem(X, target, "logistic", regular, weight, offset)
    Cs = as_Cs(Cs)
    settings = Settings(tol, max_iter, as_threads(n_jobs), solver, random_state)
    x0 = None if coef is None else _as_start(coef, X.shape[1], fit_intercept)
    found = follow(problem, strengths(Cs), settings, intercept=fit_intercept, x0=x0)
    tell_of_part(found, Cs.size)
    warn_of_shortfalls("logistic_path", [shortfall(found)])
    coefs = np.c_[found.coefs.T, found.intercepts] if fit_intercept else found.coefs.T
    return coefs, Cs[: found.gaps.size], np.maximum(1, found.n_iters)


def _as_start(coef: Any, n_features: int, fit_intercept: bool) -> Array:
    start = np.ravel(coef)
    return as_finite_vector(start[:-1] if fit_intercept and start.size > n_features else start, "coef", n_features)


def _positive_class(classes: Array, pos_class: Any) -> Any:
    if pos_class is None:
        if len(classes) != 2:
            raise ValueError(f"pos_class must be given unless there are two classes; there are {len(classes)}")
        return classes[1]
    if pos_class not in classes:
        raise ValueError(f"pos_class must be one of the classes {classes.tolist()}; got {pos_class!r}")
    return pos_class


def as_Cs(Cs: Any) -> Array:
    """Rising values of C: those given, or a number of them between 1e-4 and 1e4."""
    if isinstance(Cs, Integral):
        return np.logspace(-4, 4, as_count(Cs, "Cs"))
    given = np.sort(as_vector(Cs, "Cs"))
    if given.size == 0 or not given[0] >= sys.float_info.min or math.isnan(given[-1]):  # nan is sorted last
        raise ValueError(f"Cs must be positive, with 1/C finite in float64; got {Cs!r}")
    return given


def strengths(Cs: Array) -> Array:
    """1/C, which falls as C rises."""
    return np.array([0.0 if math.isinf(C) else 1.0 / C for C in Cs])
