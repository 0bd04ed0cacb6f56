"""Poisson regression: counts with a logarithmic link.

Half the mean deviance of counts y at linear predictors z is the mean of exp(z) − y·z + y·log(y) − y, with 0·log(0) = 0.
It is least, of all constants, at z = log(mean y).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ascd._core.checks import Array, as_vector
from ascd.estimators._base import LinearRegressor
from ascd.estimators._data import Training, applied, as_sample_weight, fit_method, to_numpy
from ascd.estimators._parameters import Parameter, estimator

if TYPE_CHECKING:
    from typing_extensions import Self


@estimator
class PoissonRegressor(LinearRegressor):
    r"""Regression for counts, with the mean exp(x·w + c): half the mean Poisson deviance + alpha/2·‖w‖².

    ``l1_ratio`` replaces the penalty by alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²); scikit-learn has L2 only.

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

    alpha: float = 1.0
    l1_ratio: float = 0.0
    solver: Any = "auto"
    warm_start: bool = False
    verbose: int = 0
    penalty_weights: Any = None
    bounds: Any = None
    standardize: bool = False

    _loss = "poisson"
    _own: ClassVar[dict[str, Parameter]] = {
        "solver": Parameter(
            [str, dict],
            "str",
            'Only "auto": rules of ``ascd.minimize`` need a bounded curvature, which the loss lacks.',
        )
    }

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model to counts, which are not negative.

        The offset is the logarithm of the exposure where counts come from unlike spans of time or groups of people.
        """
        self._fit_one(self._read(X, y, sample_weight, offset), self.alpha, self.l1_ratio)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Training:
        data = super()._read(X, y, sample_weight, offset)
        counts = as_counts(data.y)
        if self.fit_intercept and not np.any(counts if data.weight is None else counts * data.weight):
            raise ValueError("y must hold a positive count: with counts of 0 only, the intercept has no finite value.")
        return data._replace(y=counts)

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Return the expected counts exp(X·coef + intercept + offset)."""
        z = self._linear_predictor(X, offset)
        return applied(np.exp, z, z.dtype)  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return D², the explained share of the Poisson deviance; 1 is best, −∞ where all counts are the same."""
        z = np.asarray(to_numpy(self._linear_predictor(X, offset)), dtype=np.float64)
        counts = as_counts(column_or_1d(check_array(to_numpy(y), ensure_2d=False, dtype=np.float64)))
        check_consistent_length(z, counts)
        weight = as_sample_weight(to_numpy(sample_weight), z.size)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            mean = np.average(counts, weights=weight)
            least = np.average(xlogy(counts, counts) - xlogy(counts, mean) - (counts - mean), weights=weight)
            return float(1.0 - half_deviance(counts, z, weight) / least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def as_counts(y: Any) -> Array:
    """Return targets, which must not be negative."""
    counts = as_vector(y, "y")
    if np.min(counts) < 0.0:
        raise ValueError("Some value(s) of y are out of the valid range of the loss 'HalfPoissonLoss'.")
    return counts


def half_deviance(y: Array, z: Array, weight: Array | None) -> Any:
    """Return half the mean Poisson deviance of counts at linear predictors, whose first axis are the samples."""
    counts = y.reshape(y.shape + (1,) * (z.ndim - 1))
    return np.average(np.exp(z) - counts * z + xlogy(counts, counts) - counts, axis=0, weights=weight)
