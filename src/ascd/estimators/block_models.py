"""Least squares whose penalty couples coefficients: groups of features, or several targets with the same features.

===================  =======================================================================================
GroupLasso           1/(2n)·‖y − Xw − c‖² + alpha·Σ_g weight_g·‖w_g‖
SparseGroupLasso     1/(2n)·‖y − Xw − c‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·Σ_g weight_g·‖w_g‖)
MultiTaskLasso       1/(2n)·‖Y − XW − 1cᵀ‖² + alpha·Σ_j ‖w_j‖,  w_j the coefficients of feature j
MultiTaskElasticNet  1/(2n)·‖Y − XW − 1cᵀ‖² + alpha·(l1_ratio·Σ_j ‖w_j‖ + (1 − l1_ratio)/2·‖W‖²)
===================  =======================================================================================

With sample weights s, ‖R‖² is Σ_k s_k‖r_k‖² and n is Σ s_k, as in scikit-learn.  The intercepts c have no penalty.

``standardize`` must be False for groups of features.  For other penalties the deviations d_j of the features become
weights of the penalty, and nothing is copied.  The norm ‖(d_j·w_j)_{j∈g}‖ of a group is no weight times ‖w_g‖ unless
all d_j of the group are equal, and its prox has no closed form.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd.estimators._base import TOO_STRONG, PenalisedRegressor
from ascd.estimators._data import Training
from ascd.estimators._parameters import UNIT_INTERVAL, Parameter, estimator
from ascd.problem.block_penalties import BlockNorm, SparseGroup


@estimator
class SparseGroupLasso(PenalisedRegressor):
    r"""Few groups, and few features in them: an L1 penalty and norms of groups.

    It minimises 1/(2n)·‖y − Xw‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·Σ_g weight_g·‖w_g‖).

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import SparseGroupLasso
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> model = SparseGroupLasso(alpha=0.2, groups=3).fit(X, X[:, 0] + X[:, 1])
    >>> np.flatnonzero(model.coef_).tolist()
    [0, 1]
    """

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    groups: Any = 1
    weights: Any = None
    positive: bool = False
    warm_start: bool = False
    standardize: bool = False

    _own: ClassVar[dict[str, Parameter]] = {
        "l1_ratio": Parameter([UNIT_INTERVAL], "float in [0, 1]", "1 is the Lasso, 0 the group Lasso."),
        "standardize": Parameter(
            ["boolean"], "bool",
            "Must be False: the deviations of features are no weights of a group's norm.  Put "
            "``StandardScaler(with_mean=False)`` before the estimator in a pipeline.",
        ),
    }  # fmt: skip

    def _scale(self, data: Training) -> Array | None:
        if not self.standardize:
            return None
        name = type(self).__name__
        raise ValueError(
            f"standardize must be False for {name}; got True: the deviations of features in a group are no weights of "
            f"its norm. make_pipeline(StandardScaler(with_mean=False), {name}(...)) scales a copy of the features"
        )

    def _penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        if not math.isfinite(strength):
            raise ValueError(TOO_STRONG)
        parts = (ratio * strength, (1.0 - ratio) * strength)
        return SparseGroup(*parts, self.groups, weights=self.weights, positive=bool(self.positive))


@estimator
class GroupLasso(SparseGroupLasso):
    r"""Groups of features are used together or not at all: 1/(2n)·‖y − Xw‖² + alpha·Σ_g weight_g·‖w_g‖.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import GroupLasso
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> model = GroupLasso(alpha=0.2, groups=[[0, 3], [1, 4], [2, 5]]).fit(X, 2.0 * X[:, 0])
    >>> np.flatnonzero(model.coef_).tolist()
    [0, 3]
    """

    l1_ratio: ClassVar[float] = 0.0  # type: ignore[misc]


@estimator
class MultiTaskElasticNet(PenalisedRegressor):
    r"""Several targets with a penalty alpha·(l1_ratio·Σ_j ‖w_j‖ + (1 − l1_ratio)/2·‖W‖²), as scikit-learn's.

    Examples
    --------
    >>> from ascd import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0, 0], [1, 1], [2, 2]])
    >>> model.coef_.round(3)
    array([[0.456, 0.456],
           [0.456, 0.456]])
    """

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    copy_X: bool = True
    warm_start: bool = False
    random_state: Any = None
    selection: str = "cyclic"
    penalty_weights: Any = None
    standardize: bool = False

    _fitted: ClassVar[dict[str, str]] = {
        "coef_, intercept_": "arrays of shape (n_targets, n_features) and (n_targets,)",
        "eps_": "the tolerance, as in scikit-learn",
    }
    _checks: ClassVar[dict[str, Any]] = {"y_numeric": True, "multi_output": True}
    _own: ClassVar[dict[str, Parameter]] = {
        "penalty_weights": Parameter(
            ["array-like", None], "array of shape (n_features,)",
            "Multiplies the norm of each feature's coefficients; 0 leaves them without it.",
        ),
    }  # fmt: skip

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Training:
        data = super()._read(X, y, sample_weight, offset)
        if data.y.ndim == 1:
            raise ValueError(
                "For mono-task outputs, use ElasticNet or Lasso; y must have the shape (n_samples, n_targets)"
            )
        return data

    def _penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        factors = row_factors(self.penalty_weights, n_features)
        length = np.ones(n_features) if scale is None else scale
        kinks, curvatures = ratio * strength * factors * length, (1.0 - ratio) * strength * length**2
        return BlockNorm(kinks, np.zeros(n_features), curvatures, False)

    def _keep(self, solutions: list[Any], unit: float = 1.0) -> None:
        super()._keep(solutions, unit)
        self.eps_ = self.certificate_.tolerance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags


@estimator
class MultiTaskLasso(MultiTaskElasticNet):
    r"""Several targets that use the same few features: 1/(2n)·‖Y − XW‖² + alpha·Σ_j ‖w_j‖, as scikit-learn's.

    Examples
    --------
    >>> from ascd import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[0.   , 0.608],
           [0.   , 0.946]]), array([-0.419, -0.874]))
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]


def row_factors(penalty_weights: Any, n_features: int) -> Array:
    """Return the penalty weights of the features, 1 each for None."""
    given = 1.0 if penalty_weights is None else penalty_weights
    return np.broadcast_to(as_parameter(given, "penalty_weights", n_features, low=0.0), n_features)
