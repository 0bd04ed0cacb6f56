"""Huber regression: robust to outliers in the target."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ascd.estimators._base import COMMON, NON_NEGATIVE, NON_NEGATIVE_COUNT, LinearRegressor
from ascd.estimators._fitting import check_finite
from ascd.estimators._given import fit_method
from ascd.estimators._scale import fit_with_scale
from ascd.estimators._solving import polished, solve_problem
from ascd.problem.losses import Huber
from ascd.problem.problem import Problem

if TYPE_CHECKING:
    from typing_extensions import Self


class HuberRegressor(LinearRegressor):
    r"""Linear regression that is robust to outliers, with scikit-learn's objective.

    Minimise Σ s_k·(σ + σ·H((y_k − x_k·w − c)/σ)) + alpha·‖w‖² over w, c and the scale σ, with
    ``H(t) = t²`` for ``|t| ≤ epsilon`` and ``2·epsilon·|t| − epsilon²`` beyond.

    Parameters
    ----------
    epsilon : float ≥ 1, default=1.35
        Residuals beyond epsilon·σ count linearly.
    max_iter : int, default=1000
        Most iterations of the solver for each scale that is tried.
    alpha : float, default=0.0001
        Strength of the L2 penalty.
    warm_start : bool, default=False
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        The fit ends when the duality gap of coefficients and scale together is at most ``tol`` times the objective at
        zero coefficients.
    penalty_weights, bounds, n_jobs, solver, random_state, standardize : as in ``ElasticNet``

    Attributes
    ----------
    coef_, intercept_, scale_ : the fitted model
    outliers_ : bool array, True for samples beyond ``epsilon·scale_``; missing where a cluster was lost before
    certificate_ : Certificate
    n_iter_, n_features_in_, feature_names_in_

    Notes
    -----
    A target that is fitted perfectly has no scale: ``scale_`` is then 1e-8 of the target's own.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import HuberRegressor
    >>> x = np.arange(10.0)
    >>> y = 2.0 * x + np.tile([0.3, -0.2, 0.1, -0.1, -0.3], 2)
    >>> y[9] = 100.0
    >>> model = HuberRegressor().fit(x[:, None], y)
    >>> float(model.coef_[0].round(1)), bool(model.outliers_[9])
    (2.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "max_iter": [NON_NEGATIVE_COUNT],
        "epsilon": [Interval(Real, 1.0, None, closed="left")],
        "alpha": [NON_NEGATIVE],
        "warm_start": ["boolean"],
    }

    scale_: float
    _keeps_float32 = False

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 1000,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        penalty_weights: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        solver: Any = "ascd",
        random_state: Any = None,
        standardize: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.solver = solver
        self.random_state = random_state
        self.standardize = standardize

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit coefficients, intercept and scale.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional

        Returns
        -------
        self
        """
        X, y, weight = self._read(X, y, sample_weight, y_numeric=True)
        settings, epsilon = self._settings(), float(self.epsilon)  # True is 1, as in scikit-learn
        base, scale = self._problem(X, y, Huber(epsilon), None, weight), self._scale(X, weight)

        def problem_at(sigma: float) -> Problem:
            penalty = self._regulariser(self.alpha * sigma, 0.0, X.shape[1], scale)
            return base.replace(loss=Huber(epsilon * sigma), penalty=penalty)

        def solve_at(problem: Problem, x0: Any, intercept0: Any, tol: float, rounds: int | None) -> Any:
            how = replace(settings, tol=tol, max_iter=min(rounds or settings.max_iter, settings.max_iter))
            solver = solve_problem if rounds is None else polished
            return solver(problem, how, intercept=self.fit_intercept, x0=x0, intercept0=intercept0)

        coefs, constants = self._starts((1, X.shape[1]))
        start = (coefs[0], constants[0], None if coefs[0] is None else getattr(self, "scale_", None))
        fit = fit_with_scale(problem_at, solve_at, epsilon, self.fit_intercept, self.tol, start)
        check_finite("HuberRegressor", fit.scale)
        self.scale_, self.outliers_ = fit.scale, np.abs(fit.residuals) > epsilon * fit.scale
        if not fit.residuals.size:  # the data are gone
            del self.outliers_
        self._keep_one(fit, 1.0)
        return self
