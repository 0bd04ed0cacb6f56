"""Paths as functions, with scikit-learn's signatures: lasso_path, enet_path and logistic_path, from strong to weak.

Here are also the grids of strengths that paths and cross-validations share, and the warning about fits of a path that
missed their tolerance.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ascd._core.checks import Array, as_count, as_finite_vector, as_flag, as_number, as_vector, unknown_name
from ascd._core.devices import to_host
from ascd.estimators._base import ADVICE, as_threads, class_factors, elastic_net, times, warn_of_convergence
from ascd.estimators._data import as_sample_weight, deviations, errors_about_x, read_features, rows_only
from ascd.estimators._parameters import documented
from ascd.estimators._solving import Followed, Settings, follow, largest_factor, state_problem
from ascd.results.solution import Status

#: What scikit-learn calls zero among strengths of penalties.
ZERO_STRENGTH = float(np.finfo(np.float64).resolution)
#: The penalties by name; the last one leaves the choice to ``l1_ratio``.
NAMED = ("l1", "l2", "elasticnet", "deprecated")


@documented
def lasso_path(
    X: Any, y: Any, *, eps: float = 1e-3, n_alphas: int | None = None, alphas: Any = 100, precompute: Any = "auto",
    Xy: Any = None, copy_X: bool = True, coef_init: Any = None, verbose: Any = False, return_n_iter: bool = False,
    positive: bool = False, **params: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Fit the Lasso for falling alphas: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁, without an intercept.

    Returns
    -------
    alphas, coefs, dual_gaps, and n_iters where ``return_n_iter`` is set : as ``enet_path``, which takes ``params``

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
    grid = {"eps": eps, "n_alphas": n_alphas, "alphas": alphas, "coef_init": coef_init}
    return enet_path(X, y, l1_ratio=1.0, return_n_iter=return_n_iter, positive=positive, **grid, **params)


@documented
def enet_path(
    X: Any, y: Any, *, l1_ratio: float = 0.5, eps: float = 1e-3, n_alphas: int | None = None, alphas: Any = 100,
    precompute: Any = "auto", Xy: Any = None, copy_X: bool = True, coef_init: Any = None, verbose: Any = False,
    return_n_iter: bool = False, positive: bool = False, check_input: bool = True, sample_weight: Any = None,
    tol: float = 1e-6, max_iter: int = 1000, penalty_weights: Any = None, bounds: Any = None,
    n_jobs: int | None = None, solver: Any = "auto", random_state: Any = None, standardize: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Fit the elastic net for falling alphas, without an intercept.

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
    X = read_features(X)
    y = column_or_1d(check_array(to_host(y), dtype=np.float64, ensure_2d=False))
    check_consistent_length(rows_only(X.shape[0]), y)
    weight = as_sample_weight(sample_weight, X.shape[0])
    total = float(X.shape[0] if weight is None else weight.sum())
    ratio = as_number(l1_ratio, "l1_ratio", low=0.0, high=1.0)
    how = {"weights": penalty_weights, "bounds": bounds, "positive": positive}
    penalty = elastic_net(ratio, 1.0 - ratio, X.shape[1], scale=deviations(X, weight) if standardize else None, **how)
    settings = Settings(tol, max_iter, as_threads(n_jobs), solver, random_state)
    with errors_about_x():
        problem = state_problem(X, y, "squared", penalty, weight, n_jobs=settings.n_jobs)
    given = alphas if n_alphas is None else n_alphas
    alphas = alpha_grid(problem, 100 if given is None else given, eps, total, ratio, intercept=False)
    x0 = None if coef_init is None else as_finite_vector(coef_init, "coef_init", X.shape[1])
    found = follow(problem, total * alphas, settings, intercept=False, x0=x0)
    warn_of_shortfalls("lasso_path" if ratio == 1.0 else "enet_path", [shortfall(found, 1.0 / total)])
    result = (alphas, found.coefs, found.gaps / total)
    return (*result, [max(1, int(count)) for count in found.n_iters]) if return_n_iter else result


@documented
def logistic_path(
    X: Any, y: Any, *, pos_class: Any = None, Cs: Any = 10, fit_intercept: bool = True, max_iter: int = 1000,
    tol: float = 1e-6, verbose: Any = 0, solver: Any = "auto", coef: Any = None, class_weight: Any = None,
    dual: bool = False, penalty: str | None = "deprecated", intercept_scaling: float = 1.0, random_state: Any = None,
    check_input: bool = True, max_squared_sum: float | None = None, sample_weight: Any = None,
    l1_ratio: float | None = 0.0, penalty_weights: Any = None, bounds: Any = None, n_jobs: int | None = None,
    standardize: bool = False, offset: Any = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Fit logistic regression for rising C: Σ s_k·log(1 + exp(−y_k·(x_k·w + c))) + r(w)/C.

    Here r(w) = l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²; ``class_weight="balanced"`` gives the two sides the same weight.

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
    X = read_features(X)
    weight = as_sample_weight(sample_weight, X.shape[0])
    scale = deviations(X, weight) if standardize else None
    target, weight = _two_sides(y, pos_class, class_weight, weight, X.shape[0])
    ratio = as_number(as_ratio(penalty, l1_ratio), "l1_ratio", low=0.0, high=1.0)
    regular = elastic_net(ratio, 1.0 - ratio, X.shape[1], weights=penalty_weights, bounds=bounds, scale=scale)
    settings = Settings(tol, max_iter, as_threads(n_jobs), solver, random_state)
    with errors_about_x():
        problem = state_problem(X, target, "logistic", regular, weight, offset)
    Cs = as_Cs(Cs)
    x0 = None if coef is None else _as_start(coef, X.shape[1], fit_intercept)
    found = follow(problem, strengths(Cs), settings, intercept=fit_intercept, x0=x0)
    warn_of_shortfalls("logistic_path", [shortfall(found)])
    coefs = np.c_[found.coefs.T, found.intercepts] if fit_intercept else found.coefs.T
    return coefs, Cs, np.maximum(1, found.n_iters)


def _two_sides(
    y: Any, pos_class: Any, class_weight: Any, weight: Array | None, n_samples: int
) -> tuple[Array, Array | None]:
    """Return labels ±1, 1 for the class that is set against the rest, and weights with the factors of the classes."""
    y = column_or_1d(to_host(y))
    check_consistent_length(rows_only(n_samples), y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if pos_class is None and len(classes) != 2:
        raise ValueError(f"pos_class must be given unless there are two classes; there are {len(classes)}")
    if pos_class is not None and pos_class not in classes:
        raise ValueError(f"pos_class must be one of the classes {classes.tolist()}; got {pos_class!r}")
    is_positive = (classes == (classes[1] if pos_class is None else pos_class))[codes]
    if class_weight is not None:
        sides: Any = (np.arange(2), is_positive.astype(int)) if isinstance(class_weight, str) else (classes, codes)
        weight = times(class_factors(class_weight, sides[0], sides[1], weight), weight)
    return np.where(is_positive, 1.0, -1.0), weight


def _as_start(coef: Any, n_features: int, fit_intercept: bool) -> Array:
    start = np.ravel(coef)
    return as_finite_vector(start[:-1] if fit_intercept and start.size > n_features else start, "coef", n_features)


def as_ratio(penalty: str | None, l1_ratio: float | None) -> float:
    """Return the share of the L1 penalty, from either way to state it."""
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    return {"l1": 1.0, "l2": 0.0}.get(penalty or "", 0.0 if l1_ratio is None else l1_ratio)


def alpha_grid(
    problem: Any, alphas: Any, eps: float, total: float, l1_ratio: float, intercept: bool, n_jobs: int = 1
) -> Array:
    """Return the given alphas, falling, or a geometric grid from the smallest one that gives zero coefficients."""
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
    largest = largest_factor(problem, intercept=intercept, n_jobs=n_jobs) / total
    if largest <= ZERO_STRENGTH:  # a constant target
        return np.full(count, ZERO_STRENGTH)
    return np.geomspace(largest, largest * eps, num=count)


def as_Cs(Cs: Any) -> Array:
    """Return rising values of C: those given, or a number of them between 1e-4 and 1e4."""
    if isinstance(Cs, Integral):
        return np.logspace(-4, 4, as_count(Cs, "Cs"))
    given = np.sort(as_vector(Cs, "Cs"))
    if given.size == 0 or not given[0] >= sys.float_info.min or math.isnan(given[-1]):  # nan is sorted last
        raise ValueError(f"Cs must be positive, with 1/C finite in float64; got {Cs!r}")
    return given


def strengths(Cs: Array) -> Array:
    """Return 1/C, which falls as C rises."""
    return np.array([0.0 if math.isinf(C) else 1.0 / C for C in Cs])


# ---- fits that missed their tolerance


class Shortfall(NamedTuple):
    """How far the fits of one path stayed from their tolerance, in the user's units."""

    fits: int
    missed: int
    gap: float
    tolerance: float
    status: Status


def shortfall(found: Followed, unit: float = 1.0) -> Shortfall:
    """Count the fits of a path that ended early, with their largest gap."""
    short = ~(found.gaps <= found.tolerance) & (not found.status.is_answer)  # first-order conditions are enough
    gap = unit * float(found.gaps[short].max(initial=0.0))
    return Shortfall(short.size, int(short.sum()), gap, unit * found.tolerance, found.status)


def warn_of_shortfalls(name: str, paths: Sequence[Shortfall], where: str = "") -> None:
    """Issue one ``ConvergenceWarning`` for all paths: fits that ended early, the worst gap, its tolerance, advice."""
    missed = sum(one.missed for one in paths)
    if not missed:
        return
    worst = max((one for one in paths if one.missed), key=lambda one: one.gap / max(one.tolerance, 1e-300))
    warn_of_convergence(
        f"{name}: {missed} of {sum(one.fits for one in paths)} fits{where} stopped early ({worst.status}): the worst "
        f"has a duality gap of {worst.gap:.3g} where the tolerance is {worst.tolerance:.3g} (tol times the objective "
        f"at zero coefficients), both in the units of the objective. {ADVICE[worst.status]}"
    )
