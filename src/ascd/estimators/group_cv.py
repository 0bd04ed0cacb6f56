"""Models with groups of features and alpha (and l1_ratio) chosen by cross-validation."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from ascd._core.checks import Array
from ascd.estimators.block_cv import CHOOSING, BlockPathCV
from ascd.estimators.cross_validation import as_ratios
from ascd.estimators.group_lasso import GROUPED, group_penalty


class SparseGroupLassoCV(BlockPathCV):
    r"""Sparse group Lasso with alpha and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    l1_ratio : float or list of floats, default=0.5
        1 is the Lasso, 0 the group Lasso; of several the best is chosen.
    eps : float, default=1e-3
        Smallest alpha of the grid, relative to the largest.
    alphas : int or array, default=100
        How many alphas, or which.
    groups, weights, fit_intercept, positive, max_iter, tol : as in ``SparseGroupLasso``
    cv : int, splitter or iterable, default=None
        5 folds for None.
    verbose
        Taken as in scikit-learn and without effect.
    n_jobs : int, default=None
        Folds side by side, in threads.
    progress : bool, default=False
        Show a progress bar (needs ``rich``).
    standardize : bool, default=False
        Must be False, as in ``SparseGroupLasso``.

    Attributes
    ----------
    alpha_, l1_ratio_, alpha_best_, alpha_1se_, alphas_, mse_path_, coef_path_ : as in ``ElasticNetCV``
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GROUPED,
        **CHOOSING,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        groups: Any = 1,
        weights: Any = None,
        fit_intercept: bool = True,
        positive: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        progress: bool = False,
        standardize: bool = False,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.groups = groups
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.progress = progress
        self.standardize = standardize

    def _problems(self, X: Any, y: Array, weight: Array | None, ratios: list[float]) -> list[Any]:
        problems = [self._block_problem(X, y, group_penalty(self, 1.0, ratios[0]), weight)]
        for ratio in ratios[1:]:
            penalty = group_penalty(self, 1.0, ratio).compiled(problems[0].groups)
            problems.append(problems[0].replace(penalty=penalty))
        return problems

    def _ratios(self) -> list[float]:
        return as_ratios(self.l1_ratio)

    def _grid(self, problem: Any, total: float, ratio: float) -> Array:
        return super()._grid(problem, total, 1.0)  # norms of groups hold coefficients at 0 whatever the ratio is


class GroupLassoCV(SparseGroupLassoCV):
    r"""Group Lasso with alpha chosen by cross-validation.

    Parameters and attributes are those of ``SparseGroupLassoCV`` without ``l1_ratio``.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import GroupLassoCV
    >>> X, y = make_regression(n_features=20, n_informative=5, noise=4.0, random_state=0)
    >>> model = GroupLassoCV(groups=4, alphas=20, cv=3).fit(X, y)
    >>> model.mse_path_.shape, round(float(model.score(X, y)), 2)
    ((20, 3), 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**GROUPED, **CHOOSING}

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        groups: Any = 1,
        weights: Any = None,
        fit_intercept: bool = True,
        positive: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        progress: bool = False,
        standardize: bool = False,
    ) -> None:
        super().__init__(
            l1_ratio=0.0, eps=eps, alphas=alphas, groups=groups, weights=weights, fit_intercept=fit_intercept,
            positive=positive, max_iter=max_iter, tol=tol, cv=cv, verbose=verbose, n_jobs=n_jobs, progress=progress,
            standardize=standardize,
        )  # fmt: skip

    def _ratios(self) -> list[float]:
        return [0.0]
