"""Paths of the Lasso and the elastic net as functions, with scikit-learn's signatures, from strong to weak."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ascd._core.checks import Array, as_count, as_finite_vector, as_flag, as_number, as_vector
from ascd._core.devices import to_host
from ascd.estimators._base import as_features, as_sample_weight, as_threads
from ascd.estimators._deviations import deviations
from ascd.estimators._fitting import Settings
from ascd.estimators._following import follow, shortfall, tell_of_part, warn_of_shortfalls
from ascd.estimators._penalty import regulariser
from ascd.estimators._speaking import speaking_of_x
from ascd.estimators._tuning import ZERO_STRENGTH
from ascd.problem.problem import Problem
from ascd.results.lost import hearing_of_losses
from ascd.results.solution import Status
from ascd.solver import path

#: What ``lasso_path`` hands on by name.
OTHERS = {
    "check_input", "sample_weight", "tol", "max_iter", "penalty_weights", "bounds", "n_jobs", "solver", "random_state",
    "standardize",
}  # fmt: skip


def lasso_path(
    X: Any,
    y: Any,
    *,
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
    **params: Any,
) -> tuple[Any, ...]:
    """The Lasso for falling alphas: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁, without an intercept.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, positive
        As in ``enet_path``.
    **params
        The others of ``enet_path``: sample_weight, tol, max_iter, penalty_weights, bounds, n_jobs, solver,
        random_state and standardize.

    Returns
    -------
    alphas, coefs, dual_gaps, and n_iters where ``return_n_iter`` is set : as ``enet_path``

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
    shared = {"eps": eps, "n_alphas": n_alphas, "alphas": alphas, "positive": positive, "return_n_iter": return_n_iter}
    ignored = {"precompute": precompute, "Xy": Xy, "copy_X": copy_X, "verbose": verbose}
    unknown = sorted(set(params) - OTHERS)
    if unknown:
        raise TypeError(f"lasso_path() got an unexpected keyword argument {unknown[0]!r}")
    return enet_path(X, y, l1_ratio=1.0, coef_init=coef_init, **shared, **ignored, **params)


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
    n_jobs: int | None = None,
    solver: Any = "ascd",
    random_state: Any = None,
    standardize: bool = False,
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
        How many, from the smallest that gives zero coefficients down, or which; None, scikit-learn's older default,
        is 100.
    precompute, Xy, copy_X, verbose, check_input
        Taken as in scikit-learn and without effect.
    coef_init : array of shape (n_features,), optional
        Where the first fit starts.
    return_n_iter : bool, default=False
    positive : bool, default=False
    sample_weight : array of shape (n_samples,), optional
    tol : float, default=1e-6
        For each alpha the duality gap is at most ``tol`` times the objective at zero coefficients.
    max_iter : int, default=1000
    penalty_weights, bounds, n_jobs, solver, random_state, standardize : as in ``ElasticNet``

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
    positive, standardize = as_flag(positive, "positive"), as_flag(standardize, "standardize")
    X = as_features(X)
    y = column_or_1d(check_array(to_host(y), dtype=np.float64, ensure_2d=False))
    check_consistent_length(X, y)
    weight = as_sample_weight(sample_weight, X)
    total = float(X.shape[0] if weight is None else weight.sum())
    ratio = as_number(l1_ratio, "l1_ratio", low=0.0, high=1.0)
    how = {"weights": penalty_weights, "bounds": bounds, "positive": positive}
    penalty = regulariser(ratio, 1.0 - ratio, X.shape[1], scale=deviations(X, weight) if standardize else None, **how)
    with speaking_of_x():
        problem = Problem(X, y, "squared", penalty, weight, n_jobs=as_threads(n_jobs))
    given = alphas if n_alphas is None else n_alphas
    alphas = as_alphas(problem, 100 if given is None else given, eps, total, ratio, intercept=False)
    settings = Settings(tol, max_iter, as_threads(n_jobs), solver, random_state)
    x0 = None if coef_init is None else as_finite_vector(coef_init, "coef_init", X.shape[1])
    found = follow(problem, total * alphas, settings, intercept=False, x0=x0)
    tell_of_part(found, alphas.size)
    warn_of_shortfalls("lasso_path" if ratio == 1.0 else "enet_path", [shortfall(found, 1.0 / total)])
    result = (alphas[: found.gaps.size], found.coefs, found.gaps / total)
    return (*result, [max(1, int(count)) for count in found.n_iters]) if return_n_iter else result


def as_alphas(
    problem: Problem, alphas: Any, eps: float, total: float, l1_ratio: float, intercept: bool, n_jobs: int = 1
) -> Array:
    """The falling alphas that were given, or a geometric grid from the smallest one that gives zero coefficients."""
    first = partial(path, problem, n_alphas=1, intercept=intercept, n_jobs=n_jobs)
    return alpha_grid(alphas, eps, total, l1_ratio, first)


def alpha_grid(alphas: Any, eps: float, total: float, l1_ratio: float, first: Callable[[], Any]) -> Array:
    """``as_alphas``, where ``first`` is a path of one alpha."""
    if not isinstance(alphas, Integral):
        given = np.sort(as_vector(alphas, "alphas"))[::-1]
        if given.size == 0 or not np.isfinite(given).all() or given[-1] < 0.0:
            raise ValueError(f"alphas must be finite and at least 0; got {alphas!r}")
        return given
    if l1_ratio == 0.0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing "
            "your estimator with the appropriate `alphas=` argument."
        )
    count, eps = as_count(alphas, "alphas"), as_number(eps, "eps", low=0.0, strict=True)
    largest = _largest_alpha(first) / total
    if largest <= ZERO_STRENGTH:  # a constant target
        return np.full(count, ZERO_STRENGTH)
    return np.geomspace(largest, largest * eps, num=count)


def _largest_alpha(first: Callable[[], Any]) -> float:
    """The smallest alpha that gives zero coefficients, 0 if all do."""
    try:
        with hearing_of_losses() as lost:
            found = first()
    except ValueError as error:
        if "every alpha" not in str(error):
            raise
        return 0.0
    if lost:
        raise lost[0]
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return float(found.alphas[0])
