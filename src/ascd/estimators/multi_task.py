"""Linear regression for several targets that use the same features: MultiTaskLasso, MultiTaskElasticNet.

===================  =====================================================================================
MultiTaskLasso       1/(2n)·‖Y − XW − 1cᵀ‖² + alpha·Σ_j ‖w_j‖,  w_j the coefficients of feature j
MultiTaskElasticNet  1/(2n)·‖Y − XW − 1cᵀ‖² + alpha·(l1_ratio·Σ_j ‖w_j‖ + (1 − l1_ratio)/2·‖W‖²)
===================  =====================================================================================

With sample weights s, ‖R‖² is Σ_k s_k‖r_k‖² and n is Σ s_k, as in scikit-learn.  The intercepts c have no penalty.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from ascd._core.checks import Array, as_parameter
from ascd.blocks.norm import BlockNorm
from ascd.estimators._base import COMMON, COUNT, NON_NEGATIVE
from ascd.estimators._blocks import BlockRegressor
from ascd.estimators._given import fit_method, to_numpy

if TYPE_CHECKING:
    from typing_extensions import Self

#: Constraints of the parameters that estimators for several targets share.
SEVERAL: dict[str, list[Any]] = {
    **{name: COMMON[name] for name in ("fit_intercept", "tol", "n_jobs", "random_state", "standardize")},
    "max_iter": [COUNT],
    "copy_X": ["boolean"],
    "selection": [StrOptions({"cyclic", "random"})],
    "penalty_weights": ["array-like", None],
}


class SeveralTargets(BlockRegressor):
    """Targets of shape (n_samples, n_targets), and nothing else."""

    def _read_targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        X, y, weight = self._read(X, y, sample_weight, multi_output=True, y_numeric=True)
        if y.ndim == 1:
            raise ValueError(
                "For mono-task outputs, use ElasticNet or Lasso; y must have the shape (n_samples, n_targets)"
            )
        return X, np.asarray(y, dtype=np.float64), weight

    def _row_penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> BlockNorm:
        """strength·(ratio·Σ_j weight_j·‖w_j‖ + (1 − ratio)/2·‖W‖²).

        Each w_j is multiplied by its ``scale`` first, where there is one.
        """
        given = 1.0 if self.penalty_weights is None else self.penalty_weights
        weights = np.broadcast_to(as_parameter(given, "penalty_weights", n_features, low=0.0), n_features)
        length = np.ones(n_features) if scale is None else scale
        kinks, curvatures = ratio * strength * weights * length, (1.0 - ratio) * strength * length**2
        return BlockNorm(kinks, np.zeros(n_features), curvatures, False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix of shape (n_targets, n_features)."""
        return sparse.csr_matrix(to_numpy(self.coef_))


class MultiTaskElasticNet(SeveralTargets):
    r"""Several targets with a penalty alpha·(l1_ratio·Σ_j ‖w_j‖ + (1 − l1_ratio)/2·‖W‖²), as scikit-learn's.

    Parameters
    ----------
    alpha : float, default=1.0
    l1_ratio : float in [0, 1], default=0.5
        1 is the multi-task Lasso, 0 a ridge penalty.
    fit_intercept : bool, default=True
    copy_X, selection, random_state
        Taken as in scikit-learn and without effect.
    max_iter : int, default=1000
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients.
    warm_start : bool, default=False
        Start from the last fit.
    penalty_weights : array of shape (n_features,), optional
        Multiplies the norm of each feature's coefficients; 0 leaves them without it.
    n_jobs : int, default=None
        Threads for passes over the data.
    standardize : bool, default=False
        Penalise the coefficients of standardised features, as in ``ElasticNet``; nothing is copied.

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_features)
    intercept_ : array of shape (n_targets,)
    certificate_ : Certificate
    dual_gap_, eps_, n_iter_, sparse_coef_, n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from ascd import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0, 0], [1, 1], [2, 2]])
    >>> model.coef_.round(3)
    array([[0.456, 0.456],
           [0.456, 0.456]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SEVERAL,
        "alpha": [NON_NEGATIVE],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.penalty_weights = penalty_weights
        self.n_jobs = n_jobs
        self.standardize = standardize

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64.
        y : array of shape (n_samples, n_targets)
        sample_weight : array of shape (n_samples,) or a number, optional
            Non-negative weights.

        Returns
        -------
        self
        """
        X, y, weight = self._read_targets(X, y, sample_weight)
        total = float(X.shape[0] if weight is None else weight.sum())
        penalty = self._row_penalty(self.alpha * total, self._ratio(), X.shape[1], self._scale(X, weight))
        self._keep_rows(self._solved(self._block_problem(X, y, penalty, weight)), 1.0 / total)
        return self

    def _ratio(self) -> float:
        return self.l1_ratio


class MultiTaskLasso(MultiTaskElasticNet):
    r"""Several targets that use the same few features: 1/(2n)·‖Y − XW‖² + alpha·Σ_j ‖w_j‖, as scikit-learn's.

    Parameters and attributes are those of ``MultiTaskElasticNet`` without ``l1_ratio``.

    Examples
    --------
    >>> from ascd import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[0.   , 0.608],
           [0.   , 0.946]]), array([-0.419, -0.874]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: rule for name, rule in MultiTaskElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            random_state=random_state,
            selection=selection,
            penalty_weights=penalty_weights,
            n_jobs=n_jobs,
            standardize=standardize,
        )

    def _ratio(self) -> float:
        return 1.0
