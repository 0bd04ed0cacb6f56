"""Logistic regression with C (and l1_ratio) chosen by cross-validation."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions

from ascd._core.checks import Array, as_finite_vector
from ascd.estimators._base import COMMON, NON_NEGATIVE_COUNT
from ascd.estimators._classes import class_factors
from ascd.estimators._fitting import Settings
from ascd.estimators._folds import side_by_side
from ascd.estimators._given import fit_method
from ascd.estimators._logistic_folds import Labelled, LogisticFolds
from ascd.estimators._multinomial import multinomial_penalty, multinomial_problem
from ascd.estimators._penalty import as_ratio
from ascd.estimators._tuning import LAST_FIT
from ascd.estimators._unfinished import whole_folds
from ascd.estimators.logistic import LogisticRegression
from ascd.estimators.logistic_paths import as_Cs

if TYPE_CHECKING:
    from typing_extensions import Self


class LogisticRegressionCV(LogisticFolds, LogisticRegression):
    r"""Logistic regression with C and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    Cs : int or list of floats, default=10
        How many between 1e-4 and 1e4, or which.
    l1_ratios : list of floats, default=(0.0,)
    fit_intercept : bool, default=True
    cv : int, splitter or iterable, default=None
        5 stratified folds for None.
    penalty : {"l1", "l2", "elasticnet"}, optional
        The older way to choose: "l1" is l1_ratios=(1,), "l2" is l1_ratios=(0,).
    scoring : str or callable, default=None
        Accuracy for None.
    dual, intercept_scaling, verbose
        Taken as in scikit-learn and without effect.
    tol : float, default=1e-6
    max_iter : int, default=1000
    class_weight : dict or "balanced", optional
        As in ``LogisticRegression``; "balanced" looks at all samples, not at those of a fold.
    n_jobs : int, default=None
        Folds side by side, in threads.
    refit : bool, default=True
        Fit all samples with the best; otherwise the best coefficients of the folds are averaged.
    random_state, solver, penalty_weights, bounds, grouped : as in ``LogisticRegression``
    use_legacy_attributes : bool, default=False
        Only False, scikit-learn's coming default: the attributes are arrays.
    choose : {"best", "1se"}, default="best"
        Which C the last fit takes: that with the best mean score, or the smallest one within one standard error of it
        (glmnet's lambda.1se), which gives a simpler model.
    standardize : bool, default=False
        As in ``ElasticNet``; the deviations are those of the samples that a fold fits.
    progress : bool, default=False
        Show a progress bar (needs ``rich`` outside of notebooks).

    Attributes
    ----------
    C_, l1_ratio_ : those of the last fit; the l1_ratio is that with the best mean score
    C_best_ : the C with the best mean score; of equal scores that with the smallest C, then the first l1_ratio
    C_1se_ : the smallest C with a mean score within one standard error of it, for the same l1_ratio
    Cs_, l1_ratios_ : the grid
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs)
    coefs_paths_ : array of shape (n_folds, n_l1_ratios, n_cs, n_classes or 1, n_features, plus 1 with an intercept)
    n_iter_ : array of shape (n_folds, n_l1_ratios, n_cs)
    classes_, coef_, intercept_, certificate_ : as in ``LogisticRegression``; no certificate where ``refit`` is False
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ascd import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=5, cv=3).fit(X, y)
    >>> model.scores_.shape, model.C_1se_ <= model.C_
    ((3, 1, 5), True)
    """

    _is_classification = True
    _keeps_float32 = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "max_iter": [NON_NEGATIVE_COUNT],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None],
        "cv": ["cv_object"],
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"})],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "dual": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
        "refit": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "use_legacy_attributes": ["boolean"],
        "grouped": ["boolean"],
        "progress": ["boolean"],
        "choose": [StrOptions({"best", "1se"})],
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = None,
        solver: Any = "ascd",
        tol: float = 1e-6,
        max_iter: int = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = False,
        penalty_weights: Any = None,
        bounds: Any = None,
        grouped: bool = False,
        progress: bool = False,
        standardize: bool = False,
        choose: str = "best",
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.grouped = grouped
        self.progress = progress
        self.standardize = standardize
        self.choose = choose

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any) -> Self:
        """Choose C by cross-validation and fit all samples with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64; folds share it.
        y : labels of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional
            For fitting and, where scikit-learn's metadata routing is off or asks for it, for scoring.
        offset : array of shape (n_samples,), optional
            Known parts of the log-odds, added to X·coef + intercept, for fitting and scoring; for two classes only.
        **params
            For the splitter and the scorer, with scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        if self.use_legacy_attributes:
            raise ValueError("use_legacy_attributes must be False: the attributes are arrays.")
        if self.choose == "1se" and not self.refit:
            raise ValueError("choose must be 'best' where refit=False: there the folds' own best ones are averaged")
        X, y, raw = self._read(X, y, sample_weight)
        codes = self._encode(y, raw)
        known = self._as_offset(offset, X)
        self.Cs_, self.l1_ratios_ = as_Cs(self.Cs), self._ratios()
        folds = self._folds(X, y, raw, params)
        problem = self._stated(X, codes, self._penalties(X, raw)[0], raw, known)
        factors = class_factors(self.class_weight, self.classes_, codes, raw)
        settings = replace(self._settings(), tol=self.tol)
        data = Labelled(X, y, problem, codes, factors, settings, self._score_params(raw, params), known)
        tasks = [
            partial(self._fold_scores, data, penalty, fold)
            for fold in folds
            for penalty in self._penalties(X, fold.train)
        ]
        results = side_by_side(tasks, self._settings().n_jobs, self.progress, X)
        self._keep_folds(*whole_folds(*results, len(folds), len(self.l1_ratios_)), partial(self._refit, data, raw))
        return self

    def _refit(self, data: Labelled, weight: Array | None) -> Any:
        strength = 0.0 if math.isinf(self.C_) else 1.0 / self.C_
        how = strength, self.l1_ratio_, self._scale(data.X, weight)
        return self._fit_classes(data.X, data.codes, weight, how, data.offset)

    def _penalties(self, X: Any, weight: Array | None) -> list[Any]:
        """For C = 1, one for each l1_ratio, of the features as samples with these weights have them."""
        scale, n_features = self._scale(X, weight), X.shape[1]
        if len(self.classes_) > 2:
            return [multinomial_penalty(self, 1.0, ratio, n_features, scale) for ratio in self.l1_ratios_]
        return [self._regulariser(1.0, ratio, n_features, scale) for ratio in self.l1_ratios_]

    def _stated(self, X: Any, codes: Array, penalty: Any, weight: Array | None, offset: Array | None) -> Any:
        """The problem that all folds share."""
        if len(self.classes_) > 2:
            return multinomial_problem(self, X, codes, penalty, weight)
        return self._problem(X, np.where(codes == 1, 1.0, -1.0), "logistic", penalty, weight, offset)

    def _settings(self) -> Settings:
        """For the last fit, of the model that stays: more precise than the folds' by a Newton step or two."""
        return replace(super()._settings(), tol=LAST_FIT * self.tol)

    def _ratios(self) -> Array:
        given = [] if self.penalty == "elasticnet" else [as_ratio(self.penalty, None)]
        if self.penalty in ("deprecated", "elasticnet") and self.l1_ratios is not None:
            given = as_finite_vector(np.atleast_1d(self.l1_ratios), "l1_ratios").tolist()
        if not given or min(given) < 0.0 or max(given) > 1.0:
            raise ValueError(f"l1_ratios must be a list of numbers in [0, 1]; got {self.l1_ratios!r}")
        return np.array(given)

    def plot(self, axes: Any = None) -> Any:
        """Draw the scores of the folds and, below them, the path of the coefficients (their mean over the folds).

        Parameters
        ----------
        axes : pair of matplotlib axes, optional

        Returns
        -------
        the pair of axes
        """
        from ascd.estimators._plots import plot_cross_validation

        coefs = self.coefs_paths_[:, self._best_ratio].mean(axis=0)[..., : self.n_features_in_]
        lines = sparse.csc_matrix(coefs.reshape(len(self.Cs_), -1).T)
        scores, marks = self.scores_[:, self._best_ratio].T, {"best": self.C_best_, "one standard error": self.C_1se_}
        measure = str(getattr(self.scoring, "__name__", self.scoring or "accuracy"))
        return plot_cross_validation(self.Cs_, scores, lines, marks, "C", measure, axes)
