"""Regressions with alpha (and l1_ratio) chosen by cross-validation.

``PathCV`` works for every regressor that states a problem: a path of alphas on each fold, the errors of its predictions
for the samples left out, and one fit to all samples with the chosen alpha.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from ascd._core.checks import Array
from ascd._core.threads import threads_here
from ascd.estimators._base import LinearRegressor
from ascd.estimators._certificate import UNPROVED
from ascd.estimators._data import Training, sparse_columns
from ascd.estimators._folds import (
    CrossValidated,
    Fold,
    as_ratios,
    mean_of,
    mean_squares,
    plot_cross_validation,
    simplest_within_one_error,
)
from ascd.estimators._forms import fit_method
from ascd.estimators._parameters import RATIOS, Parameter, estimator
from ascd.estimators._solving import Followed, changed, follow, followed, scaled_penalty, solve_problem
from ascd.estimators._tuning import DECADES
from ascd.estimators.block_models import GroupLasso, MultiTaskElasticNet, MultiTaskLasso, SparseGroupLasso
from ascd.estimators.huber import HuberRegressor
from ascd.estimators.least_squares import ElasticNet, Lasso
from ascd.estimators.paths import Shortfall, alpha_grid, lasso_path, shortfall
from ascd.estimators.poisson import PoissonRegressor, half_deviance
from ascd.results.solution import Status

if TYPE_CHECKING:
    from typing_extensions import Self

PRECOMPUTE = Parameter(
    [StrOptions({"auto"}), "array-like", "boolean"], "object", "Accepted as in scikit-learn, without effect."
)


class FoldPath(NamedTuple):
    """One fold's path: an error and coefficients for each alpha, and how many fits missed ``tol``.

    ``fits`` and ``constants`` are those of the model; ``coefs`` their norms over the targets where there are several.
    """

    errors: Array
    coefs: Any
    short: Shortfall
    fits: Any
    constants: Array


@estimator
class PathCV(CrossValidated, LinearRegressor):
    """A path of alphas on every fold, one fit with the best."""

    eps: float = 1e-3
    alphas: Any = 100

    l1_ratio = 1.0
    #: The attribute that holds the errors of the folds, and its name in pictures.
    _error_path: ClassVar[str] = "mse_path_"
    _measure: ClassVar[str] = "mean squared error"

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
        self._cross_validate(self._read(X, y, sample_weight), params)
        return self

    def _cross_validate(self, data: Training, params: dict[str, Any]) -> None:
        folds, ratios, n_features = self._folds(data, data.y, params), as_ratios(self.l1_ratio), data.X.shape[1]
        scale, (factor, unit) = self._scale(data.X, data.weight), self._units(data.total)
        penalties = [self._penalty(1.0, ratio, n_features, scale) for ratio in ratios]
        first = self._state(data, penalties[0])
        problems = [first, *(changed(first, penalty=penalty) for penalty in penalties[1:])]
        how = {"intercept": self.fit_intercept, "n_jobs": self._settings().n_jobs}
        grids = [
            alpha_grid(problem, self.alphas, self.eps, factor, self._grid_ratio(ratio), **how)
            for problem, ratio in zip(problems, ratios, strict=True)
        ]

        def fit_fold(fold: Fold, number: int) -> FoldPath:
            return self._fold_path(data, problems[number], fold, grids[number], ratios[number])

        found, done = self._fit_folds(data, folds, len(ratios), fit_fold)
        best = self._choose(found, ratios, grids)
        refit = partial(self._fit_chosen, data, problems[best], self.alpha_)
        keep_mean = partial(self._keep_mean, found[best :: len(ratios)], data.y.shape)
        self._finish(done, refit, lambda solution: self._keep(solution, unit), keep_mean)

    def _grid_ratio(self, ratio: float) -> float:
        """Return the share of the penalty that gives zero coefficients where it is strong."""
        return ratio

    def _fold_path(self, data: Training, problem: Any, fold: Fold, alphas: Array, ratio: float) -> FoldPath:
        n_features, parts = data.X.shape[1], {"sample_weight": fold.train}
        if self.standardize:  # each fold uses the deviations of the samples that it fits
            parts["penalty"] = self._penalty(1.0, ratio, n_features, self._scale(data.X, fold.train))
        train = data._replace(weight=fold.train)
        found = self._follow(train, changed(problem, **parts), alphas).complete()
        coefs = found.coefs.reshape(n_features, -1, alphas.size)
        constants = found.intercepts.reshape(-1, alphas.size)
        predict = data.X.predictor(fold.test, np.flatnonzero(coefs.any(axis=(1, 2))))
        known = 0.0 if data.offset is None else data.offset[fold.test, None]
        if data.y.ndim == 1:
            z = predict(coefs[:, 0]) + constants + known
            errors = self._errors(data.y[fold.test, None], z, fold.test_weight)
            shown = fits = sparse_columns(coefs[:, 0])
        else:  # one alpha at a time: predictions of all would need much memory
            rows = (predict(coefs[..., k]) + constants[:, k] for k in range(alphas.size))
            errors = np.array([self._errors(data.y[fold.test], z, fold.test_weight).mean() for z in rows])
            shown = sparse.csc_array(np.hypot.reduce(coefs, axis=1))  # squares may overflow
            fits = sparse.csc_array(coefs.reshape(-1, alphas.size))
        return FoldPath(errors, shown, shortfall(found, self._units(train.total)[1]), fits, constants)

    def _follow(self, train: Training, problem: Any, alphas: Array) -> Followed:
        """Fit the samples of a fold for each alpha."""
        settings = replace(self._settings(), n_jobs=threads_here())
        return follow(problem, self._units(train.total)[0] * alphas, settings, intercept=self.fit_intercept)

    def _fit_chosen(self, data: Training, problem: Any, alpha: float) -> Any:
        """Fit all samples."""
        penalty = scaled_penalty(problem, alpha * self._units(data.total)[0])
        return solve_problem(changed(problem, penalty=penalty), self._settings(), intercept=self.fit_intercept)

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        """Return the errors of linear predictors, a column for each fit."""
        return mean_squares(z - y, weight)

    def _choose(self, found: list[FoldPath], ratios: list[float], grids: list[Array]) -> int:
        errors = np.array([one.errors for one in found]).reshape(-1, len(ratios), grids[0].size).transpose(1, 2, 0)
        means = errors.mean(axis=2)
        best = int(np.argmin(means.min(axis=1)))
        row = int(np.argmin(means[best]))
        setattr(self, self._error_path, np.squeeze(errors))
        self.alphas_ = grids[0] if len(ratios) == 1 or not isinstance(self.alphas, Integral) else np.array(grids)
        self.alpha_best_ = float(grids[best][row])
        self.alpha_1se_ = float(grids[best][simplest_within_one_error(errors[best], row)])
        self.alpha_ = self.alpha_1se_ if self.choose == "1se" else self.alpha_best_
        self.coef_path_ = sparse.csc_matrix(mean_of([one.coefs for one in found[best :: len(ratios)]]))
        self._chosen = (grids[best], errors[best])
        if "l1_ratio" in self._get_param_names():
            self.l1_ratio_ = ratios[best]
        return best

    def _keep_mean(self, folds: list[FoldPath], shape: tuple[int, ...]) -> None:
        """Keep the mean of the folds' models for ``alpha_``; ``shape`` is that of the target."""
        row = int(np.flatnonzero(self._chosen[0] == self.alpha_)[0])
        coefs = mean_of([one.fits for one in folds])[:, [row]].toarray().reshape(-1, *shape[1:])
        constants = mean_of([one.constants for one in folds])[:, row]
        self.coef_, self.intercept_ = np.asfortranarray(coefs.T), constants if len(shape) > 1 else float(constants[0])
        self.intercept_ = self.intercept_ if self.fit_intercept else 0.0
        self.n_iter_, self.dual_gap_, self.certificate_ = UNPROVED.n_iter, UNPROVED.gap, UNPROVED

    def plot(self, axes: Any = None) -> Any:
        """Draw the cross-validation curve and, below it, the path of the coefficients; return the pair of axes."""
        alphas, errors = self._chosen
        marks = {"best": self.alpha_best_, "one standard error": self.alpha_1se_}
        return plot_cross_validation(alphas, errors, self.coef_path_, marks, "alpha", self._measure, axes)


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
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

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
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

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
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}

    def _keep_mean(self, folds: list[FoldPath], shape: tuple[int, ...]) -> None:
        super()._keep_mean(folds, shape)
        self.eps_ = self.certificate_.tolerance


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
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    _error_path, _measure = "deviance_path_", "half the mean deviance"
    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any) -> Self:
        """Choose alpha and fit all samples with it; ``offset`` as in ``PoissonRegressor``."""
        self._cross_validate(self._read(X, y, sample_weight, offset), params)
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
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    l1_ratio = 0.0
    _error_path, _measure = "mae_path_", "mean absolute error"

    def _units(self, total: float) -> tuple[float, float]:
        return 1.0, 1.0

    def _follow(self, train: Training, problem: Any, alphas: Array) -> Followed:
        settings, count = replace(self._settings(), n_jobs=threads_here()), len(alphas)

        def fits() -> Followed:
            solutions: list[Any] = []
            start: Any = (None, None, None)
            for alpha in alphas:
                solutions.append(self._fit_scale(train, problem, float(alpha), settings, start))
                if solutions[-1].status in (Status.INTERRUPTED, Status.UNREACHABLE):
                    break
                start = (solutions[-1].x, solutions[-1].intercept, solutions[-1].scale)
            return Followed.of(solutions, settings.tol)

        return followed(fits, count)

    def _fit_chosen(self, data: Training, problem: Any, alpha: float) -> Any:
        return self._fit_scale(data, problem, alpha, self._settings(), (None, None, None))

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        found: Array = np.average(np.abs(z - y), axis=0, weights=weight)
        return found
