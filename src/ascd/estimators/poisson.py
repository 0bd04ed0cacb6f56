"""Poisson regression: counts with a logarithmic link.

Half the mean deviance of counts y at linear predictors z is the mean of exp(z) − y·z + y·log(y) − y, with 0·log(0) = 0.
It is least, of all constants, at z = log(mean y).
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval

from ascd._core.checks import Array, as_vector
from ascd.estimators._base import COMMON, NON_NEGATIVE, LinearRegressor, as_offset, as_sample_weight
from ascd.estimators._given import fit_method, namespace_of, to_numpy
from ascd.estimators._solving import solve_problem

if TYPE_CHECKING:
    from typing_extensions import Self


class PoissonRegressor(LinearRegressor):
    r"""Regression for counts, with the mean exp(x·w + c): half the mean Poisson deviance + alpha/2·‖w‖².

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is a generalised linear model without one.
    l1_ratio : float in [0, 1], default=0.0
        Share of an L1 penalty, alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²); scikit-learn has the L2 penalty only.
    fit_intercept : bool, default=True
    solver : str or dict, default="ascd"
        The Poisson loss has no bounded curvature: the engine's rules do not take it.
    max_iter : int, default=1000
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients; with an L2
        penalty also, as far as float64 allows, when the relative error of the coefficients is at most √tol.
    warm_start : bool, default=False
    verbose : int, default=0
        Without effect.
    penalty_weights, bounds, n_jobs, standardize : as in ``ElasticNet``

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
    n_iter_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ascd import PoissonRegressor
    >>> model = PoissonRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21])
    >>> model.predict([[1, 1], [3, 4]]).round(1)
    array([10.7, 21.9])

    Counts from one and from four hours, at the same rate; the logarithm of the hours is the offset:

    >>> import numpy as np
    >>> hours = np.array([1.0, 1.0, 4.0, 4.0])
    >>> model = PoissonRegressor(alpha=0.1).fit([[0], [1], [0], [1]], [2, 6, 8, 24], offset=np.log(hours))
    >>> model.predict([[0], [0]], offset=np.log([1.0, 4.0])).round(1)
    array([2.1, 8.3])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint for name, constraint in COMMON.items() if name != "random_state"
    } | {
        "alpha": [NON_NEGATIVE],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: Any = "ascd",
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        verbose: int = 0,
        penalty_weights: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.standardize = standardize

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : non-negative array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional
        offset : array of shape (n_samples,), optional
            Known parts of the linear predictor, added to X·coef + intercept: the logarithm of the exposure where
            counts come from unlike spans of time or groups of people.

        Returns
        -------
        self
        """
        X, y, weight = self._read(X, y, sample_weight, y_numeric=True)
        y = as_counts(y)
        if self.fit_intercept and not np.any(y if weight is None else y * weight):
            raise ValueError("y must hold a positive count: with counts of 0 only, the intercept has no finite value.")
        total = float(X.shape[0] if weight is None else weight.sum())
        penalty = self._regulariser(self.alpha * total, self.l1_ratio, X.shape[1], self._scale(X, weight))
        problem = self._problem(X, y, "poisson", penalty, weight, as_offset(offset, X))
        coefs, constants = self._starts((1, X.shape[1]))
        start = {"x0": coefs[0], "intercept0": constants[0]}
        solution = solve_problem(problem, self._settings(), intercept=self.fit_intercept, **start)
        self._keep_one(solution, 1.0 / total)
        return self

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The expected counts exp(X·coef + intercept + offset).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        offset : array of shape (n_samples,), optional
            Added to X·coef + intercept, as in ``fit``.

        Returns
        -------
        array of shape (n_samples,)
        """
        z = self._linear_predictor(X, offset)
        return namespace_of(z).exp(z)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """D², the share of the Poisson deviance that is explained; 1 is best, −∞ where all counts are the same.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        offset : array of shape (n_samples,), optional
            Added to X·coef + intercept, as in ``fit``.

        Returns
        -------
        float
        """
        z = np.asarray(to_numpy(self._linear_predictor(X, offset)), dtype=np.float64)
        counts = as_counts(column_or_1d(check_array(to_numpy(y), ensure_2d=False, dtype=np.float64)))
        check_consistent_length(z, counts)
        weight = as_sample_weight(to_numpy(sample_weight), z)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            mean = np.average(counts, weights=weight)
            least = np.average(xlogy(counts, counts) - xlogy(counts, mean) - (counts - mean), weights=weight)
            return float(1.0 - half_deviance(counts, z, weight) / least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def as_counts(y: Any) -> Array:
    """Targets that are not negative."""
    counts = as_vector(y, "y")
    if np.min(counts) < 0.0:
        raise ValueError("Some value(s) of y are out of the valid range of the loss 'HalfPoissonLoss'.")
    return counts


def half_deviance(y: Array, z: Array, weight: Array | None) -> float:
    """Half the mean Poisson deviance of counts at linear predictors.

    Examples
    --------
    >>> import numpy as np
    >>> half_deviance(np.array([0.0, 2.0]), np.array([0.0, np.log(2.0)]), None)
    0.5
    """
    return float(np.average(np.exp(z) - y * z + xlogy(y, y) - y, weights=weight))
