"""Logistic regression with L1, L2, both or no penalty, and Poisson regression: counts with a logarithmic link.

Three and more classes are one problem of blocks, a feature with its coefficients of all classes each; ``grouped``
replaces ‖W‖₁ by Σ_j ‖w_j‖.  Half the mean deviance of counts y at linear predictors z is the mean of
exp(z) − y·z + y·log(y) − y, with 0·log(0) = 0.  It is least, of all constants, at z = log(mean y).
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import column_or_1d

from ascd._core.checks import Array
from ascd.estimators import _data, _solving
from ascd.estimators._base import TOO_STRONG, ByFeature, LinearClassifier, LinearRegressor, row_factors
from ascd.estimators._data import Training, fit_method, to_numpy
from ascd.estimators._parameters import FROM_ZERO, UNIT_INTERVAL, Parameter, Self, StrOptions, estimator
from ascd.problem.block_penalties import BlockNorm


@estimator
class LogisticRegression(ByFeature, LinearClassifier):
    r"""Logistic regression: Σ s_k·log(1 + exp(−y_k·(x_k·w + c))) + (l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²)/C.

    Three and more classes have a row of coefficients each, and share the multinomial loss
    Σ s_k·(log Σ_t exp(x_k·w_t + c_t) − x_k·w_y − c_y), as in scikit-learn.  ``OneVsRestClassifier`` fits each against
    the rest.  Bounds, and rules of ``ascd.minimize`` as solver, are for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from ascd import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(l1_ratio=1.0, C=0.1).fit(scale(X), y)
    >>> model.coef_.shape, int((model.coef_ != 0).sum())
    ((1, 30), 8)
    """

    penalty: str | None = field(default="deprecated", kw_only=False)
    C: float = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = False
    intercept_scaling: float = 1
    class_weight: Any = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False
    grouped: bool = False

    _unit = 1.0
    _own: ClassVar[dict[str, Parameter]] = {
        "max_iter": FROM_ZERO,
        "penalty": Parameter(
            [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None], '{"l1", "l2", "elasticnet"} or None',
            'The older way to choose: "l1" is l1_ratio=1, "l2" is l1_ratio=0, None is C=inf.  By default l1_ratio '
            "decides.",
        ),
        "l1_ratio": Parameter([UNIT_INTERVAL, None], "float in [0, 1]", "Share of the L1 penalty."),
        "grouped": Parameter(
            ["boolean"], "bool",
            "With three and more classes the L1 part is l1_ratio·Σ_j ‖w_j‖ over the features' coefficients of all "
            "classes: a feature is used by all classes or by none.",
        ),
    }  # fmt: skip

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model."""
        strength = 0.0 if self.penalty is None or math.isinf(self.C) else 1.0 / self.C
        self._fit_one(self._read(X, y, sample_weight, offset), strength, _solving.as_ratio(self.penalty, self.l1_ratio))
        return self

    def _problem(self, data: Training, penalty: Any, loss: Any = None) -> Any:
        if len(self.classes_) > 2:
            return super()._problem(data, penalty, "softmax")
        return super()._problem(data._replace(y=np.where(data.y == 1, 1.0, -1.0)), penalty, "logistic")

    def _penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        if len(self.classes_) == 2:
            return super()._penalty(strength, ratio, n_features, scale)
        if self.bounds is not None or self.solver != "auto":
            raise ValueError(
                f"a solver other than 'auto', or with bounds, is for two classes: wrap {type(self).__name__} in "
                "scikit-learn's OneVsRestClassifier, which fits each class against the rest"
            )
        if not math.isfinite(strength):
            raise ValueError(TOO_STRONG)
        factors = row_factors(self.penalty_weights, n_features) * strength
        length = np.ones(n_features) if scale is None else scale
        kinks, zero = ratio * factors * length, np.zeros(n_features)
        group, l1 = (kinks, zero) if self.grouped else (zero, kinks)
        return BlockNorm(group, l1, (1.0 - ratio) * factors * length**2, False)

    def _keep(self, solutions: list[Any], unit: float = 1.0, model: Any = None) -> None:
        one = solutions[0]
        super()._keep(solutions, unit, (np.atleast_2d(one.x.T).copy(), np.atleast_1d(one.intercept)))
        self.n_iter_ = np.array([self.n_iter_], dtype=np.int32)

    def decision_function(self, X: Any, *, offset: Any = None) -> Array:
        """Return the log-odds X·coef + intercept + offset of the second class; of more than two, one column a class.

        ``offset``, an array of shape (n_samples,), is added to the log-odds of two classes as in ``fit``.
        """
        return self._scores(X, offset)

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Return the most probable class of each row of X; ``offset`` as in ``decision_function``."""
        return self._labels(self._scores(X, offset))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Return probabilities of shape (n_samples, n_classes); ``offset`` as in ``decision_function``."""
        return self._applied(_data.probabilities_at, X, offset)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Return logarithms of ``predict_proba``."""
        return self._applied(_data.log_probabilities_at, X, offset)

    def _applied(self, function: Any, X: Any, offset: Any) -> Any:
        odds = self._scores(X, offset)
        return _data.applied(function, odds, odds.dtype, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the share of samples whose class is predicted; ``offset`` as in ``decision_function``."""
        return self._accuracy(self.predict(X, offset=offset), y, sample_weight)


@estimator
class PoissonRegressor(ByFeature, LinearRegressor):
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
    warm_start: bool = False
    verbose: int = 0

    _loss = "poisson"

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model to counts, which are not negative.

        The offset is the logarithm of the exposure where counts come from unlike spans of time or groups of people.
        """
        self._fit_one(self._read(X, y, sample_weight, offset), self.alpha, self.l1_ratio)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Training:
        data = super()._read(X, y, sample_weight, offset)
        if np.min(data.y) < 0.0:
            raise ValueError(
                "Some value(s) of y are out of the valid range of the loss, which takes counts of at least 0; the "
                f"smallest is {np.min(data.y):g}"
            )
        if self.fit_intercept and not np.any(data.y if data.weight is None else data.y * data.weight):
            raise ValueError("y must hold a positive count: with counts of 0 only, the intercept has no finite value.")
        return data

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """Return the expected counts exp(X·coef + intercept + offset)."""
        z = self._linear_predictor(X, offset)
        return _data.applied(np.exp, z, z.dtype)  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return D², the explained share of the Poisson deviance; 1 is best, −∞ where all counts are the same."""
        z = np.asarray(to_numpy(self._linear_predictor(X, offset)), dtype=np.float64)
        counts, weight = column_or_1d(to_numpy(y)), _data.as_sample_weight(sample_weight, z.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(d2_tweedie_score(counts, np.exp(np.clip(z, -700.0, 700.0)), sample_weight=weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def half_deviance(y: Array, z: Array, weight: Array | None) -> Any:
    """Return half the mean Poisson deviance of counts at linear predictors, whose first axis are the samples."""
    counts = y.reshape(y.shape + (1,) * (z.ndim - 1))
    return np.average(np.exp(z) - counts * z + xlogy(counts, counts) - counts, axis=0, weights=weight)
