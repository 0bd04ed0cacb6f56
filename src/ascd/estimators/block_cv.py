"""Block models with alpha (and l1_ratio) chosen by cross-validation: what they share, and the multi-task ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from ascd._core.checks import Array
from ascd._core.threads import threads_here
from ascd.blocks import path_blocks
from ascd.estimators._blocks import BlockRegressor, follow_blocks
from ascd.estimators._folds import Fold, mean_squares
from ascd.estimators._following import shortfall, whole
from ascd.estimators._layouts import held_out
from ascd.estimators._path_cv import FoldPath, PathCV
from ascd.estimators.cross_validation import as_ratios
from ascd.estimators.multi_task import SEVERAL, SeveralTargets
from ascd.estimators.paths import alpha_grid

#: Constraints of the parameters that choosing alpha adds.
CHOOSING = {name: PathCV._parameter_constraints[name] for name in ("eps", "alphas", "cv", "verbose", "progress")}


class BlockPathCV(BlockRegressor, PathCV):
    """A path of alphas on every fold, one fit with the best, for block problems."""

    choose = "best"

    def _grid(self, problem: Any, total: float, ratio: float) -> Array:
        first = partial(path_blocks, problem, n_alphas=1, intercept=self.fit_intercept)
        return alpha_grid(self.alphas, self.eps, total, ratio, first)

    def _fold_path(self, X: Any, y: Array, problem: Any, fold: Fold, alphas: Array, ratio: float) -> FoldPath:
        train, total = self._trained_on(X, problem, fold, ratio), float(fold.train.sum())
        settings = replace(self._settings(), n_jobs=threads_here())
        found = whole(follow_blocks(train, total * alphas, settings, intercept=self.fit_intercept))
        targets = y.reshape(y.shape[0], -1)[fold.test]
        coefs = found.coefs.reshape(X.shape[1], targets.shape[1], -1)
        constants = found.intercepts.reshape(targets.shape[1], -1)
        used = np.flatnonzero(coefs.any(axis=(1, 2)))
        predict = held_out(X, fold.test, used)
        errors = np.empty(alphas.size)
        for number in range(alphas.size):
            residuals = predict(coefs[:, :, number]) + constants[:, number] - targets
            errors[number] = mean_squares(residuals, fold.test_weight).mean()
        kept = coefs[:, 0] if y.ndim == 1 else np.hypot.reduce(coefs, axis=1)  # squares may overflow
        fits = sparse.csc_array(coefs.reshape(-1, alphas.size))
        return FoldPath(errors, sparse.csc_array(kept), shortfall(found, 1.0 / total), fits, constants)

    def _trained_on(self, X: Any, problem: Any, fold: Fold, ratio: float) -> Any:
        """The problem of a fold's samples."""
        return self._built(X, partial(problem.replace, sample_weight=fold.train))

    def _refit(self, problem: Any, total: float) -> Any:
        return self._solved(problem.replace(penalty=problem.penalty.scaled(self.alpha_ * total)))


class MultiTaskElasticNetCV(SeveralTargets, BlockPathCV):
    r"""Multi-task elastic net with alpha and l1_ratio chosen by cross-validation, as scikit-learn's.

    Parameters
    ----------
    l1_ratio : float or list of floats, default=0.5
    eps : float, default=1e-3
        Smallest alpha of the grid, relative to the largest.
    alphas : int or array, default=100
        How many alphas, or which.
    fit_intercept, max_iter, tol, penalty_weights, standardize : as in ``MultiTaskElasticNet``
        Each fold uses the deviations of the samples that it fits.
    cv : int, splitter or iterable, default=None
        5 folds for None.
    copy_X, verbose, random_state, selection
        Taken as in scikit-learn and without effect.
    n_jobs : int, default=None
        Folds side by side, in threads.
    progress : bool, default=False
        Show a progress bar (needs ``rich``).

    Attributes
    ----------
    alpha_, l1_ratio_, alpha_best_, alpha_1se_, alphas_, mse_path_ : as in ``ElasticNetCV``
    coef_path_ : sparse matrix of shape (n_features, n_alphas), norms of the features' coefficients, mean of the folds
    coef_, sparse_coef_, intercept_, dual_gap_, eps_, n_iter_, certificate_ : of the fit to all samples with ``alpha_``
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SEVERAL,
        **CHOOSING,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        progress: bool = False,
        standardize: bool = False,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection
        self.penalty_weights = penalty_weights
        self.progress = progress
        self.standardize = standardize

    def _read_target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        return self._read_targets(X, y, sample_weight)

    def _problems(self, X: Any, y: Array, weight: Array | None, ratios: list[float]) -> list[Any]:
        scale = self._scale(X, weight)
        penalties = [self._row_penalty(1.0, ratio, X.shape[1], scale) for ratio in ratios]
        first = self._block_problem(X, y, penalties[0], weight)
        return [first, *(first.replace(penalty=penalty) for penalty in penalties[1:])]

    def _trained_on(self, X: Any, problem: Any, fold: Fold, ratio: float) -> Any:
        train = super()._trained_on(X, problem, fold, ratio)
        if not self.standardize:
            return train
        return train.replace(penalty=self._row_penalty(1.0, ratio, X.shape[1], self._scale(X, fold.train)))

    def _ratios(self) -> list[float]:
        return as_ratios(self.l1_ratio)

    def _keep_fit(self, solution: Any, unit: float) -> None:
        self._keep_rows(solution, unit)

    def _keep_mean(self, folds: list[FoldPath], shape: tuple[int, ...]) -> None:
        super()._keep_mean(folds, shape)
        self.eps_ = self.certificate_.tolerance


class MultiTaskLassoCV(MultiTaskElasticNetCV):
    r"""Multi-task Lasso with alpha chosen by cross-validation, as scikit-learn's.

    Parameters and attributes are those of ``MultiTaskElasticNetCV`` without ``l1_ratio``.

    Examples
    --------
    >>> from ascd import MultiTaskLassoCV
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(n_features=8, n_targets=2, noise=4.0, random_state=0)
    >>> MultiTaskLassoCV(alphas=10, cv=3).fit(X, Y).mse_path_.shape
    (10, 3)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**SEVERAL, **CHOOSING}

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        progress: bool = False,
        standardize: bool = False,
    ) -> None:
        super().__init__(
            l1_ratio=1.0, eps=eps, alphas=alphas, fit_intercept=fit_intercept, max_iter=max_iter, tol=tol, cv=cv,
            copy_X=copy_X, verbose=verbose, n_jobs=n_jobs, random_state=random_state, selection=selection,
            penalty_weights=penalty_weights, progress=progress, standardize=standardize,
        )  # fmt: skip
