"""Least squares with an L2 penalty, ‖y − Xw − c‖² + alpha·‖w‖², and over non-negative coefficients.

With sample weights s, ‖r‖² is Σ s_k r_k².  The intercept c has no penalty.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ascd._core.checks import as_finite_vector
from ascd.estimators._base import COMMON, COUNT, NON_NEGATIVE
from ascd.estimators._least_squares import LeastSquares


class Ridge(LeastSquares):
    r"""Linear regression with an L2 penalty: ‖y − Xw‖² + alpha·‖w‖².

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
        Without effect: X is never changed.
    max_iter : int, default=None
        Most iterations of the solver, 1000 for None.
    tol : float, default=1e-6
        For bounds and ``positive``, and for data beyond linear algebra: the fit ends when the duality gap is at most
        ``tol`` times the objective at zero coefficients.
    solver : str or dict, default="ascd"
        As in ``ElasticNet``.
    positive, random_state, penalty_weights, bounds, n_jobs, standardize : as in ``ElasticNet``

    Notes
    -----
    Without bounds the coefficients are exact up to rounding: the normal equations are solved, for the smaller number of
    samples and features.  Without a penalty (alpha=0) they are the shortest ones.

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
        Its gap is computed at the coefficients.
    dual_gap_, n_iter_, solver_, sparse_coef_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ascd import Ridge
    >>> model = Ridge(alpha=1.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    >>> model.coef_.round(4)
    array([0.5, 1. ])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "alpha": [NON_NEGATIVE, "array-like"],
        "copy_X": ["boolean"],
        "max_iter": [COUNT, None],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        solver: Any = "ascd",
        positive: bool = False,
        random_state: Any = None,
        penalty_weights: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.standardize = standardize

    @property
    def solver_(self) -> Any:
        """The solver that was used."""
        return self.solver

    def _strength(self, alpha: float, total: float) -> tuple[float, float, float]:
        return alpha, 0.0, 2.0

    def _alphas(self, n_targets: int) -> list[float]:
        alphas = as_finite_vector(np.atleast_1d(self.alpha), "alpha")
        if alphas.size not in (1, n_targets):
            raise ValueError(
                "alpha must be one number, or one for each target. Number of targets and number of penalties do not "
                f"correspond: {alphas.size} != {n_targets}"
            )
        if alphas.min() < 0.0:
            raise ValueError(f"alpha must be at least 0; the smallest entry is {alphas.min():g}")
        return [float(alpha) for alpha in np.broadcast_to(alphas, n_targets)]


class NNLS(LeastSquares):
    r"""Non-negative least squares: ‖y − Xw‖² over w ≥ 0, in scikit-learn's terms LinearRegression(positive=True).

    Parameters
    ----------
    fit_intercept : bool, default=False
        Without an intercept, as SciPy's ``nnls``.
    max_iter : int, default=1000
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients.
    warm_start, random_state, n_jobs, solver : as in ``ElasticNet``
    bounds : pair (lower, upper), optional
        Upper bounds beside w ≥ 0.

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
    dual_gap_, n_iter_, sparse_coef_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ascd import NNLS
    >>> NNLS().fit([[1.0, 0.0], [0.0, 1.0]], [1.0, -2.0]).coef_
    array([1., 0.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint for name, constraint in COMMON.items() if name not in ("penalty_weights", "standardize")
    } | {"warm_start": ["boolean"]}
    positive, penalty_weights, alpha = True, None, 0.0
    _flat_single_target = False

    def __init__(
        self,
        *,
        fit_intercept: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        solver: Any = "ascd",
    ) -> None:
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.solver = solver

    def _strength(self, alpha: float, total: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 2.0
