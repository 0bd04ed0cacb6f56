"""Regressions with alpha (and l1_ratio) chosen by cross-validation: ``_folds`` with a grid of alphas."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from ascd._core.checks import Array
from ascd._core.threads import threads_here
from ascd.estimators._base import UNPROVED, LinearRegressor
from ascd.estimators._data import Training, fit_method
from ascd.estimators._folds import CrossValidated, Fold, FoldPath, as_ratios, simplest_within_one_error
from ascd.estimators._parameters import RATIOS, Parameter, estimator
from ascd.estimators._solving import Followed, followed, one_by_one
from ascd.estimators._tuning import DECADES
from ascd.estimators.block_models import GroupLasso, MultiTaskElasticNet, MultiTaskLasso, SparseGroupLasso
from ascd.estimators.huber import HuberRegressor
from ascd.estimators.least_squares import ElasticNet, Lasso
from ascd.estimators.paths import alpha_grid, lasso_path
from ascd.estimators.poisson import PoissonRegressor, half_deviance

if TYPE_CHECKING:
    from typing_extensions import Self

PRECOMPUTE = Parameter(
    [StrOptions({"auto"}), "array-like", "boolean"], "object", "Accepted as in scikit-learn, without effect."
)


@estimator
class PathCV(CrossValidated, LinearRegressor):
    """A path of alphas on every fold, one fit with the best."""

    eps: float = 1e-3
    alphas: Any = 100
    alpha: ClassVar[float] = 1.0
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    l1_ratio = 1.0
    #: The attribute that holds the errors of the folds.
    _error_path: ClassVar[str] = "mse_path_"

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose alpha by cross-validation and fit all samples with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64; folds share it.
        y : array of shape (n_samples,), or (n_samples, n_targets) for several targets
        sample_weight : array of shape (n_samples,) or a number, optional
            For fitting and for the errors of each fold; all folds count the same.
        **params
            For the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        self._choose_alpha(self._read(X, y, sample_weight), params)
        return self

    def _choose_alpha(self, data: Training, params: dict[str, Any]) -> None:
        self._shape, ratios, factor = data.y.shape[1:], as_ratios(self.l1_ratio), self._units(data.total)[0]
        n_jobs = self._settings().n_jobs

        def grid_of(problem: Any, ratio: float) -> Array:
            grid = (self.alphas, self.eps, factor, self._grid_ratio(ratio))
            return alpha_grid(problem, *grid, intercept=self.fit_intercept, n_jobs=n_jobs)

        self._cross_validate(data, data.y, params, ratios, grid_of)

    def _grid_ratio(self, ratio: float) -> float:
        """Return the share of the penalty that gives zero coefficients where it is strong."""
        return ratio

    def _fold_errors(self, data: Training, fold: Fold, coefs: Array, constants: Array) -> Array:
        predict = data.X.predictor(fold.test, np.flatnonzero(coefs.any(axis=(1, 2))))
        if data.y.ndim == 1:
            known = 0.0 if data.offset is None else data.offset[fold.test, None]
            return self._errors(data.y[fold.test, None], predict(coefs[:, 0]) + constants + known, fold.test_weight)
        # one alpha at a time: predictions of all would need much memory
        rows = (predict(coefs[..., k]) + constants[:, k] for k in range(constants.shape[1]))
        return np.array([self._errors(data.y[fold.test], z, fold.test_weight).mean() for z in rows])

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        """Return the errors of linear predictors, a column for each fit."""
        with np.errstate(over="ignore"):
            squares: Array = np.average((z - y) ** 2, axis=0, weights=weight)
        if not np.isfinite(squares).all():
            raise ValueError(
                "y must not hold such large values: squares of what predictions miss it by overflow float64, the "
                f"largest is {np.abs(z - y).max():g}"
            )
        return squares

    def _keep_choice(self, paths: list[FoldPath], grids: list[Array], errors: Array, ratio: int, row: int) -> float:
        ratios = as_ratios(self.l1_ratio)
        setattr(self, self._error_path, np.squeeze(errors))
        self.alphas_ = grids[0] if len(ratios) == 1 or not isinstance(self.alphas, Integral) else np.array(grids)
        self.alpha_best_ = float(grids[ratio][row])
        self.alpha_1se_ = float(grids[ratio][simplest_within_one_error(errors[ratio], row)])
        self.alpha_ = self.alpha_1se_ if self.choose == "1se" else self.alpha_best_
        fits = [one.coefs for one in paths[ratio :: len(ratios)]]
        if self._shape:  # norms over the targets
            dense = [one.toarray().reshape(-1, *self._shape, grids[ratio].size) for one in fits]
            fits = [sparse.csc_array(np.hypot.reduce(one, axis=1)) for one in dense]  # squares may overflow
        self.coef_path_ = sparse.csc_matrix(sum(fits[1:], start=fits[0]) / len(fits))
        self._curve = (grids[ratio], errors[ratio], self.coef_path_)
        if "l1_ratio" in self._get_param_names():
            self.l1_ratio_ = ratios[ratio]
        return self.alpha_

    def _keep_coefs(self, coefs: Array, constants: Array) -> None:
        self.coef_ = np.asfortranarray(coefs.T) if self._shape else coefs[:, 0]
        self.intercept_ = (constants if self._shape else float(constants[0])) if self.fit_intercept else 0.0
        self.n_iter_, self.dual_gap_ = UNPROVED.n_iter, UNPROVED.gap


@estimator
class ElasticNetCV(PathCV, ElasticNet):  # type: ignore[misc]
    r"""Elastic net with alpha and l1_ratio chosen by cross-validation.

    Attributes
    ----------
    alpha_, l1_ratio_ : those of the last fit; the l1_ratio is that with the smallest mean error
    alpha_best_ : the alpha with the smallest mean error
    alpha_1se_ : the largest alpha with an error within one standard error of it, for the same l1_ratio
    alphas_, mse_path_ : the grid and the errors of all folds, as in scikit-learn
    coef_path_ : sparse matrix of shape (n_features, n_alphas), the mean of the folds' coefficients for ``l1_ratio_``
    coef_, intercept_, dual_gap_, n_iter_, certificate_ : of the fit to all samples with ``alpha_``
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd.estimators import ElasticNetCV
    >>> X, y = make_regression(n_features=5, noise=1.0, random_state=0)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20, cv=3).fit(X, y)
    >>> model.l1_ratio_, model.mse_path_.shape, model.alpha_1se_ >= model.alpha_
    (1.0, (2, 20, 3), True)
    """

    l1_ratio: Any = 0.5
    precompute: Any = "auto"
    verbose: Any = 0

    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS, "precompute": PRECOMPUTE}

    def _checks(self, y: Any) -> dict[str, Any]:
        return {"y_numeric": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@estimator
class LassoCV(ElasticNetCV, Lasso):  # type: ignore[misc]
    r"""Lasso with alpha chosen by cross-validation.

    Attributes are those of ``ElasticNetCV`` without ``l1_ratio_``.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import LassoCV
    >>> X, y = make_regression(noise=4.0, random_state=0)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> model.mse_path_.shape, round(float(model.score(X, y)), 3)
    ((100, 5), 0.999)
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]
    verbose: Any = False
    path = staticmethod(lasso_path)


@estimator
class SparseGroupLassoCV(PathCV, SparseGroupLasso):
    r"""Sparse group Lasso with alpha and l1_ratio chosen by cross-validation.

    Attributes
    ----------
    alpha_, l1_ratio_ : those of the last fit; the l1_ratio is that with the smallest mean error
    alpha_best_, alpha_1se_ : as in ``ElasticNetCV``
    alphas_, mse_path_ : the grid and the errors of all folds
    coef_path_ : sparse matrix of shape (n_features, n_alphas), the mean of the folds' coefficients for ``l1_ratio_``
    coef_, intercept_, dual_gap_, n_iter_, certificate_ : of the fit to all samples with ``alpha_``
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import SparseGroupLassoCV
    >>> X, y = make_regression(n_features=20, n_informative=5, noise=4.0, random_state=0)
    >>> model = SparseGroupLassoCV(l1_ratio=[0.1, 0.9], groups=4, alphas=20, cv=3).fit(X, y)
    >>> model.mse_path_.shape, model.l1_ratio_, round(float(model.score(X, y)), 2)
    ((2, 20, 3), 0.9, 1.0)
    """

    l1_ratio: Any = 0.5

    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}

    def _grid_ratio(self, ratio: float) -> float:
        return 1.0  # norms of groups give zero coefficients whatever the ratio is


@estimator
class GroupLassoCV(SparseGroupLassoCV, GroupLasso):
    r"""Group Lasso with alpha chosen by cross-validation.

    Attributes are those of ``SparseGroupLassoCV`` without ``l1_ratio_``.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import GroupLassoCV
    >>> X, y = make_regression(n_features=20, n_informative=5, noise=4.0, random_state=0)
    >>> model = GroupLassoCV(groups=4, alphas=20, cv=3).fit(X, y)
    >>> model.mse_path_.shape, round(float(model.score(X, y)), 2)
    ((20, 3), 1.0)
    """

    l1_ratio: ClassVar[float] = 0.0  # type: ignore[misc]


@estimator
class MultiTaskElasticNetCV(PathCV, MultiTaskElasticNet):
    r"""Multi-task elastic net with alpha and l1_ratio chosen by cross-validation, as scikit-learn's.

    Attributes
    ----------
    alpha_, l1_ratio_ : those of the last fit; the l1_ratio is that with the smallest mean error
    alpha_best_, alpha_1se_ : as in ``ElasticNetCV``
    alphas_, mse_path_ : the grid and the errors of all folds
    coef_path_ : sparse matrix of shape (n_features, n_alphas), the norms over the targets of the
        coefficients for ``l1_ratio_``, the mean of the folds
    coef_, intercept_, dual_gap_, n_iter_, eps_, certificate_ : of the fit to all samples with ``alpha_``
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from ascd import MultiTaskElasticNetCV
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(n_features=8, n_targets=2, noise=1.0, random_state=0)
    >>> model = MultiTaskElasticNetCV(l1_ratio=[0.5, 1.0], alphas=10, cv=3).fit(X, Y)
    >>> model.l1_ratio_, model.mse_path_.shape, model.coef_.shape
    (1.0, (2, 10, 3), (2, 8))
    """

    l1_ratio: Any = 0.5
    verbose: Any = 0

    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}

    def _keep_coefs(self, coefs: Array, constants: Array) -> None:
        super()._keep_coefs(coefs, constants)
        self.eps_ = UNPROVED.tolerance


@estimator
class MultiTaskLassoCV(MultiTaskElasticNetCV, MultiTaskLasso):
    r"""Multi-task Lasso with alpha chosen by cross-validation, as scikit-learn's.

    Attributes are those of ``MultiTaskElasticNetCV`` without ``l1_ratio_``.

    Examples
    --------
    >>> from ascd import MultiTaskLassoCV
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(n_features=8, n_targets=2, noise=4.0, random_state=0)
    >>> MultiTaskLassoCV(alphas=10, cv=3).fit(X, Y).mse_path_.shape
    (10, 3)
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]
    verbose: Any = False


@estimator
class PoissonRegressorCV(PathCV, PoissonRegressor):
    r"""Poisson regression with alpha (and l1_ratio) chosen by cross-validation.

    A number of ``alphas`` needs an l1_ratio above 0, as in ``ElasticNetCV``.

    Attributes are those of ``ElasticNetCV``, with ``deviance_path_`` (half the mean deviance) for ``mse_path_``.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import PoissonRegressorCV
    >>> X = np.arange(12.0)[:, None] % 4
    >>> model = PoissonRegressorCV(alphas=[0.01, 10.0], cv=3).fit(X, [1, 2, 4, 8] * 3)
    >>> model.alpha_, model.deviance_path_.shape
    (0.01, (2, 3))
    """

    alphas: Any = DECADES
    l1_ratio: Any = 0.0

    _error_path, _measure = "deviance_path_", "half the mean deviance"
    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any) -> Self:
        """Choose alpha and fit all samples with it; ``offset`` as in ``PoissonRegressor``."""
        self._choose_alpha(self._read(X, y, sample_weight, offset), params)
        return self

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        found: Array = half_deviance(y[:, 0], z, weight)
        return found


@estimator
class HuberRegressorCV(PathCV, HuberRegressor):
    r"""Huber regression with alpha chosen by cross-validation, by the mean absolute error.

    Attributes are those of ``ElasticNetCV`` and ``HuberRegressor``, with ``mae_path_`` for ``mse_path_``; ``alphas``
    must be values.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import HuberRegressorCV
    >>> x = np.arange(12.0)
    >>> y = 2.0 * x + np.tile([0.3, -0.2, 0.1, -0.2], 3)
    >>> y[9] = 100.0
    >>> HuberRegressorCV(alphas=[0.01, 1e4], cv=3).fit(x[:, None], y).alpha_
    0.01
    """

    alphas: Any = DECADES

    l1_ratio = 0.0
    _error_path, _measure = "mae_path_", "mean absolute error"

    def _units(self, total: float) -> tuple[float, float]:
        return 1.0, 1.0

    def _follow(self, train: Training, problem: Any, grid: Array) -> Followed:
        settings = replace(self._settings(), n_jobs=threads_here())

        def fit(alpha: float, before: Any) -> Any:
            start = (None, None, None) if before is None else (before.x, before.intercept, before.scale)
            return self._fit_scale(train, problem, alpha, settings, start)

        return followed(lambda: one_by_one(fit, grid, settings.tol), len(grid))

    def _fit_chosen(self, data: Training, problem: Any, strength: float) -> Any:
        return self._fit_scale(data, problem, strength, self._settings(), (None, None, None))

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        found: Array = np.average(np.abs(z - y), axis=0, weights=weight)
        return found
