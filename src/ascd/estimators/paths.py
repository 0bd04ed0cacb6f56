"""One path for every estimator: falling strengths of the penalty, each fit started from the one before.

Here are the grids of strengths that paths and cross-validations share, and the warning about fits that missed their
tolerance.  ``enet_path`` and ``lasso_path``, with scikit-learn's signatures, stand with their estimators.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_finite_vector, as_number, as_vector
from ascd.estimators._base import ADVICE, warn_of_convergence
from ascd.estimators._data import errors_about_x
from ascd.estimators._parameters import check_parameters, documented
from ascd.estimators._solving import Followed, curvatures_of, largest_factor

#: What scikit-learn calls zero among strengths of penalties.
ZERO_STRENGTH = float(np.finfo(np.float64).resolution)


class ModelPath(NamedTuple):
    """Fits from strong to weak penalties: one along the last axis of ``coefs``, ``intercepts``, ``gaps``, ``n_iters``.

    ``strengths`` are alphas, or the C of classifiers; ``coefs`` have the shape (n_features, n_strengths), with an axis
    of outputs in between where there are several.
    """

    strengths: Array
    coefs: Array
    intercepts: Array
    gaps: Array
    n_iters: Array


@documented
def model_path(
    model: Any, X: Any, y: Any, *, alphas: Any = 100, Cs: Any = 10, eps: float = 1e-3, sample_weight: Any = None,
    offset: Any = None, coef_init: Any = None,
) -> ModelPath:  # fmt: skip
    """Fit an estimator for falling alphas, or a classifier for rising C, each time from the fit before.

    Returns
    -------
    path : ModelPath
        With ``strengths``, ``coefs``, ``intercepts``, ``gaps`` and ``n_iters``.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import PoissonRegressor, model_path
    >>> path = model_path(PoissonRegressor(l1_ratio=1.0), np.eye(3), [1, 2, 9], alphas=[1.0, 0.1])
    >>> (path.coefs != 0.0).sum(axis=0).tolist()
    [1, 2]
    """
    if not hasattr(model, "_follow"):
        raise TypeError(f"model must be an estimator of ascd; got {model!r}: ascd.path follows any Problem")
    check_parameters(model)
    ratio = as_ratio(getattr(model, "penalty", None), getattr(model, "l1_ratio", 0.0))
    with errors_about_x(X):
        data = model._read(X, y, sample_weight, offset)
        problem, settings = model._problems(data, [ratio])[0], model._settings()
        values = as_Cs(Cs) if hasattr(model, "C") else alpha_grid(model, data, problem, alphas, eps)
        x0 = None if coef_init is None else as_finite_vector(coef_init, "coef_init", data.X.shape[1])
        found = model._follow(data, problem, 1.0 / values if hasattr(model, "C") else values, settings, x0)
    warn_of_shortfalls(type(model).__name__, [found])
    return ModelPath(values, found.coefs, found.intercepts, found.gaps, np.maximum(1, found.n_iters))


def as_ratio(penalty: str | None, l1_ratio: float | None) -> float:
    """Return the share of the L1 penalty, from either way to state it."""
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    return {"l1": 1.0, "l2": 0.0}.get(penalty or "", 0.0 if l1_ratio is None else l1_ratio)


def alpha_grid(model: Any, data: Any, problem: Any, alphas: Any, eps: float) -> Array:
    """Return the given alphas, falling, or a geometric grid from the smallest one that gives zero coefficients."""
    if not isinstance(alphas, Integral):
        given = np.sort(as_vector(alphas, "alphas"))[::-1]
        if given.size == 0 or not np.isfinite(given).all() or given[-1] < 0.0:
            raise ValueError(f"alphas must be finite and at least 0; got {alphas!r}")
        return given
    if curvatures_of(problem.penalty) is not None:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing "
            "your estimator with the appropriate `alphas=` argument."
        )
    count, eps = as_count(alphas, "alphas"), as_number(eps, "eps", low=0.0, strict=True)
    largest = largest_factor(problem, intercept=model.fit_intercept, n_jobs=model._settings().n_jobs)
    largest = largest / model._units(data)[0]
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


def warn_of_shortfalls(name: str, paths: Sequence[Followed], where: str = "") -> None:
    """Issue one ``ConvergenceWarning`` for all fits of some paths that ended early: how many, the worst gap, advice.

    First-order conditions are enough.
    """
    short = [(one.gaps[~(one.gaps <= one.tolerance)], one) for one in paths if not one.status.is_answer]
    missed = sum(gaps.size for gaps, _ in short)
    if not missed:
        return
    worst = [(float(gaps.max()), one) for gaps, one in short if gaps.size]
    gap, one = max(worst, key=lambda pair: pair[0] / max(pair[1].tolerance, 1e-300))
    warn_of_convergence(
        f"{name}: {missed} of {sum(one.gaps.size for one in paths)} fits{where} stopped early ({one.status}): the "
        f"worst has a duality gap of {gap:.3g} where the tolerance is {one.tolerance:.3g} (tol times the objective at "
        f"zero coefficients), both in the units of the objective. {ADVICE[one.status]}"
    )
