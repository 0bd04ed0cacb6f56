"""Lasso and elastic net with alpha (and l1_ratio) chosen by cross-validation."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ascd._core.checks import as_finite_vector
from ascd.estimators._path_cv import PathCV
from ascd.estimators.paths import enet_path, lasso_path


class ElasticNetCV(PathCV):
    r"""Elastic net with alpha and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    l1_ratio : float or list of floats, default=0.5
    eps : float, default=1e-3
        Smallest alpha of the grid, relative to the largest.
    alphas : int or array, default=100
        How many alphas, or which.
    fit_intercept : bool, default=True
    precompute, copy_X, selection, verbose
        Taken as in scikit-learn and without effect.
    max_iter : int, default=1000
    tol : float, default=1e-6
        For each alpha the duality gap is at most ``tol`` times the objective at zero coefficients.
    cv : int, splitter or iterable, default=None
        5 folds for None.
    n_jobs : int, default=None
        Folds side by side, in threads.
    positive, random_state, penalty_weights, bounds, solver : as in ``ElasticNet``
    choose : {"best", "1se"}, default="best"
        Which alpha the last fit takes: that with the smallest mean error, or the largest one within one standard error
        of it (glmnet's lambda.1se), which gives a simpler model.
    standardize : bool, default=False
        As in ``ElasticNet``; the deviations are those of the samples that a fold fits.
    progress : bool, default=False
        Show a progress bar (needs ``rich`` outside of notebooks).

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

    path = staticmethod(enet_path)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PathCV._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        bounds: Any = None,
        solver: Any = "ascd",
        progress: bool = False,
        standardize: bool = False,
        choose: str = "best",
    ) -> None:
        super().__init__(
            eps=eps,
            alphas=alphas,
            fit_intercept=fit_intercept,
            precompute=precompute,
            max_iter=max_iter,
            tol=tol,
            cv=cv,
            copy_X=copy_X,
            verbose=verbose,
            n_jobs=n_jobs,
            positive=positive,
            random_state=random_state,
            selection=selection,
            penalty_weights=penalty_weights,
            bounds=bounds,
            solver=solver,
            progress=progress,
            standardize=standardize,
            choose=choose,
        )
        self.l1_ratio = l1_ratio

    def _ratios(self) -> list[float]:
        return as_ratios(self.l1_ratio)


class LassoCV(PathCV):
    r"""Lasso with alpha chosen by cross-validation.

    Parameters and attributes are those of ``ElasticNetCV`` without ``l1_ratio``.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import LassoCV
    >>> X, y = make_regression(noise=4.0, random_state=0)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> model.mse_path_.shape, round(float(model.score(X, y)), 3)
    ((100, 5), 0.999)
    """

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        bounds: Any = None,
        solver: Any = "ascd",
        progress: bool = False,
        standardize: bool = False,
        choose: str = "best",
    ) -> None:
        super().__init__(
            eps=eps,
            alphas=alphas,
            fit_intercept=fit_intercept,
            precompute=precompute,
            max_iter=max_iter,
            tol=tol,
            copy_X=copy_X,
            cv=cv,
            verbose=verbose,
            n_jobs=n_jobs,
            positive=positive,
            random_state=random_state,
            selection=selection,
            penalty_weights=penalty_weights,
            bounds=bounds,
            solver=solver,
            progress=progress,
            standardize=standardize,
            choose=choose,
        )


def as_ratios(l1_ratio: Any) -> list[float]:
    """One number or several in [0, 1], as a list."""
    ratios: list[float] = as_finite_vector(np.atleast_1d(l1_ratio), "l1_ratio").tolist()
    if not ratios or min(ratios) < 0.0 or max(ratios) > 1.0:
        raise ValueError(f"l1_ratio must be in [0, 1]; got {l1_ratio!r}")
    return ratios
