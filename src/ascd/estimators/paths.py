"""Regularisation paths as functions, with scikit-learn's signatures: one solve after the other, from strong to weak."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ascd._checks import Array
from ascd.estimators._base import as_sample_weight
from ascd.estimators._penalty import regulariser
from ascd.problem import Problem
from ascd.solver import path

#: What scikit-learn calls zero among strengths of penalties.
RESOLUTION = float(np.finfo(np.float64).resolution)


def lasso_path(X: Any, y: Any, *, eps: float = 1e-3, alphas: Any = 100, **params: Any) -> tuple[Any, ...]:
    """The Lasso for falling alphas: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁, without an intercept.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    eps : float, default=1e-3
        Smallest alpha of the grid, relative to the largest.
    alphas : int or array, default=100
        How many, from the smallest that gives zero coefficients down, or which.
    **params
        Those of ``enet_path``.

    Returns
    -------
    alphas : falling array of shape (n_alphas,)
    coefs : array of shape (n_features, n_alphas)
    dual_gaps : array of shape (n_alphas,)
    n_iters : list, where ``return_n_iter`` is set

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import lasso_path
    >>> X = np.array([[1.0, 2.0, 3.1], [2.3, 5.4, 4.3]]).T
    >>> alphas, coefs, _ = lasso_path(X, [1.0, 2.0, 3.1], alphas=[5.0, 1.0, 0.5])
    >>> coefs.round(3)
    array([[0.   , 0.   , 0.469],
           [0.216, 0.443, 0.237]])
    """
    return enet_path(X, y, l1_ratio=1.0, eps=eps, alphas=alphas, **params)


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int | None = None,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    penalty_weights: Any = None,
    bounds: Any = None,
    n_jobs: int = 1,
) -> tuple[Any, ...]:
    """The elastic net for falling alphas, without an intercept.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    l1_ratio : float in [0, 1], default=0.5
    eps : float, default=1e-3
        Smallest alpha of the grid, relative to the largest.
    n_alphas : int, optional
        Older name for a number as ``alphas``.
    alphas : int or array, default=100
        How many, from the smallest that gives zero coefficients down, or which.
    precompute, Xy, copy_X, coef_init, verbose, check_input
        Taken as in scikit-learn and without effect.
    return_n_iter : bool, default=False
    positive : bool, default=False
    sample_weight : array of shape (n_samples,), optional
    tol : float, default=1e-6
        For each alpha the duality gap is at most ``tol`` times the objective at zero coefficients.
    max_iter : int, default=1000
    penalty_weights, bounds, n_jobs : as in ``ElasticNet``

    Returns
    -------
    alphas : falling array of shape (n_alphas,)
    coefs : array of shape (n_features, n_alphas)
    dual_gaps : array of shape (n_alphas,)
    n_iters : list, where ``return_n_iter`` is set

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import enet_path
    >>> alphas, coefs, gaps = enet_path(np.eye(3), [3.0, 1.0, -2.0], alphas=2, eps=0.1)
    >>> alphas.round(2), int((coefs != 0).sum())
    (array([2. , 0.2]), 3)
    """
    X = check_array(X, accept_sparse="csc", dtype=np.float64, order="F")
    y = column_or_1d(check_array(y, dtype=np.float64, ensure_2d=False))
    check_consistent_length(X, y)
    weight = as_sample_weight(sample_weight, X)
    total = float(X.shape[0] if weight is None else weight.sum())
    penalty = regulariser(
        l1_ratio, 1.0 - l1_ratio, X.shape[1], weights=penalty_weights, bounds=bounds, positive=positive
    )
    problem = Problem(X, y, "squared", penalty, weight)
    alphas = as_alphas(problem, alphas if n_alphas is None else n_alphas, eps, total, l1_ratio, intercept=False)
    found = path(problem, alphas=total * alphas, tol=tol, max_iter=max_iter, n_jobs=n_jobs, early_stop=False)
    result = (alphas, found.coefs, found.gaps / total)
    return (*result, [max(1, int(count)) for count in found.n_iters]) if return_n_iter else result


def as_alphas(problem: Problem, alphas: Any, eps: float, total: float, l1_ratio: float, intercept: bool) -> Array:
    """The falling alphas that were given, or a geometric grid from the smallest one that gives zero coefficients."""
    if not isinstance(alphas, Integral):
        given = np.sort(column_or_1d(np.asarray(alphas, dtype=float)))[::-1]
        if given.size == 0 or not np.isfinite(given).all() or given[-1] < 0.0:
            raise ValueError(f"alphas must be finite and at least 0; got {alphas!r}")
        return given
    if l1_ratio == 0.0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing "
            "your estimator with the appropriate `alphas=` argument."
        )
    largest = _largest_alpha(problem, intercept) / total
    if largest <= RESOLUTION:  # a constant target
        return np.full(int(alphas), RESOLUTION)
    return np.geomspace(largest, largest * eps, num=int(alphas))


def _largest_alpha(problem: Problem, intercept: bool) -> float:
    """The smallest alpha that gives zero coefficients, 0 if all do."""
    try:
        return float(path(problem, n_alphas=1, intercept=intercept).alphas[0])
    except ValueError as error:
        if "every alpha" not in str(error):
            raise
        return 0.0


def logistic_path(
    X: Any,
    y: Any,
    *,
    pos_class: Any = None,
    Cs: Any = 10,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
    l1_ratio: float = 1.0,
    sample_weight: Any = None,
    penalty_weights: Any = None,
    bounds: Any = None,
    n_jobs: int = 1,
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
    l1_ratio : float in [0, 1], default=1.0
        r(w) = l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖².
    sample_weight : array of shape (n_samples,), optional
    penalty_weights, bounds, n_jobs : as in ``ElasticNet``

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
    >>> coefs, Cs, _ = logistic_path(X, [0, 1, 0, 1], Cs=[0.1, 1.0])
    >>> coefs.shape, bool(coefs[0, 0] == 0.0)
    ((2, 2), True)
    """
    X = check_array(X, accept_sparse="csc", dtype=np.float64, order="F")
    y = column_or_1d(y)
    check_consistent_length(X, y)
    check_classification_targets(y)
    target = np.where(y == _positive_class(y, pos_class), 1.0, -1.0)
    penalty = regulariser(l1_ratio, 1.0 - l1_ratio, X.shape[1], weights=penalty_weights, bounds=bounds)
    problem = Problem(X, target, "logistic", penalty, as_sample_weight(sample_weight, X))
    Cs = as_Cs(Cs)
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "n_jobs": n_jobs}
    found = path(problem, alphas=strengths(Cs), intercept=fit_intercept, early_stop=False, **limits)
    coefs = np.c_[found.coefs.T, found.intercepts] if fit_intercept else found.coefs.T
    return coefs, Cs, np.maximum(1, found.n_iters)


def _positive_class(y: Array, pos_class: Any) -> Any:
    classes = np.unique(y)
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
        return np.logspace(-4, 4, int(Cs))
    given = np.sort(column_or_1d(np.asarray(Cs, dtype=float)))
    if given.size == 0 or not given[0] > 0.0:
        raise ValueError(f"Cs must be positive; got {Cs!r}")
    return given


def strengths(Cs: Array) -> Array:
    """1/C, which falls as C rises."""
    return np.array([0.0 if math.isinf(C) else 1.0 / C for C in Cs])
