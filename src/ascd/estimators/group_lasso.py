"""Linear regression with groups of features: GroupLasso, SparseGroupLasso.

=================  ==================================================================================
GroupLasso         1/(2n)·‖y − Xw − c‖² + alpha·Σ_g weight_g·‖w_g‖
SparseGroupLasso   1/(2n)·‖y − Xw − c‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·Σ_g weight_g·‖w_g‖)
=================  ==================================================================================

With sample weights s, ‖r‖² is Σ s_k r_k² and n is Σ s_k.  The intercept c has no penalty.

``standardize`` is refused here.  For other penalties the deviations d_j of the features become weights of the penalty,
and nothing is copied.  The norm ‖(d_j·w_j)_{j∈g}‖ of a group is no weight times ‖w_g‖ unless all d_j of the group are
equal, and its prox has no closed form; scaled features would be a copy of the data, which a pipeline makes in sight.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from ascd.blocks import SparseGroup
from ascd.estimators._base import COMMON, COUNT, NON_NEGATIVE
from ascd.estimators._blocks import BlockRegressor
from ascd.estimators._given import fit_method, to_numpy
from ascd.estimators._penalty import finite_strength

if TYPE_CHECKING:
    from typing_extensions import Self

#: Constraints of the parameters that estimators with groups share.
GROUPED: dict[str, list[Any]] = {
    **{name: COMMON[name] for name in ("fit_intercept", "tol", "n_jobs", "standardize")},
    "groups": [Integral, "array-like"],
    "weights": ["array-like", StrOptions({"sqrt"}), None],
    "positive": ["boolean"],
    "max_iter": [COUNT],
}


class SparseGroupLasso(BlockRegressor):
    r"""Few groups, and few features in them: an L1 penalty and norms of groups.

    It minimises 1/(2n)·‖y − Xw‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·Σ_g weight_g·‖w_g‖).

    Parameters
    ----------
    alpha : float, default=1.0
    l1_ratio : float in [0, 1], default=0.5
        1 is the Lasso, 0 the group Lasso.
    groups : int, sizes, labels or lists of features, default=1
        A number means that many neighbours each; integers that add up to the number of features are sizes of groups of
        neighbours; one label a feature, or one list of features a group.
    weights : array with one number a group, "sqrt" or None, default=None
        Factors of the norms; "sqrt" is the root of the group's size, None is 1 each.
    fit_intercept : bool, default=True
    positive : bool, default=False
        Only non-negative coefficients.
    max_iter : int, default=1000
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients.
    warm_start : bool, default=False
        Start from the last fit.
    n_jobs : int, default=None
        Threads for passes over the data.
    standardize : bool, default=False
        Must be False: see the head of this module.  Put ``StandardScaler(with_mean=False)`` before it in a pipeline.

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
    dual_gap_, n_iter_, sparse_coef_, n_features_in_, feature_names_in_ : as in scikit-learn's Lasso

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import SparseGroupLasso
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> model = SparseGroupLasso(alpha=0.2, groups=3).fit(X, X[:, 0] + X[:, 1])
    >>> np.flatnonzero(model.coef_).tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GROUPED,
        "alpha": [NON_NEGATIVE],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        groups: Any = 1,
        weights: Any = None,
        fit_intercept: bool = True,
        positive: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.standardize = standardize

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional
            Non-negative weights.

        Returns
        -------
        self
        """
        X, y, weight = self._read(X, y, sample_weight, y_numeric=True)
        total = float(X.shape[0] if weight is None else weight.sum())
        penalty = group_penalty(self, self.alpha * total, self._ratio())
        solution = self._solved(self._block_problem(X, np.asarray(y, dtype=np.float64), penalty, weight))
        self.dual_gap_ = solution.gap / total
        self._keep_one(solution, 1.0 / total)
        return self

    def _ratio(self) -> float:
        return self.l1_ratio

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix of shape (1, n_features)."""
        return sparse.csr_matrix(np.atleast_2d(to_numpy(self.coef_)))


class GroupLasso(SparseGroupLasso):
    r"""Groups of features come or stay away together: 1/(2n)·‖y − Xw‖² + alpha·Σ_g weight_g·‖w_g‖.

    Parameters and attributes are those of ``SparseGroupLasso`` without ``l1_ratio``.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import GroupLasso
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> model = GroupLasso(alpha=0.2, groups=[[0, 3], [1, 4], [2, 5]]).fit(X, X[:, 0])
    >>> np.flatnonzero(model.coef_).tolist()
    [0, 3]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: rule for name, rule in SparseGroupLasso._parameter_constraints.items() if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        groups: Any = 1,
        weights: Any = None,
        fit_intercept: bool = True,
        positive: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=0.0,
            groups=groups,
            weights=weights,
            fit_intercept=fit_intercept,
            positive=positive,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            n_jobs=n_jobs,
            standardize=standardize,
        )

    def _ratio(self) -> float:
        return 0.0


def group_penalty(estimator: Any, strength: float, ratio: float) -> SparseGroup:
    """strength·(ratio·‖w‖₁ + (1 − ratio)·Σ_g weight_g·‖w_g‖) with the estimator's groups."""
    if estimator.standardize:
        name = type(estimator).__name__
        raise ValueError(
            f"standardize must be False for {name}; got True: the deviations of features in a group are no weights of "
            f"its norm. make_pipeline(StandardScaler(with_mean=False), {name}(...)) scales a copy of the features"
        )
    strength = finite_strength(strength)
    return SparseGroup(
        ratio * strength,
        (1.0 - ratio) * strength,
        estimator.groups,
        weights=estimator.weights,
        positive=bool(estimator.positive),
    )
