"""Logistic regression with C (and l1_ratio) chosen by cross-validation, by any score of scikit-learn.

A fold may lack a class.  With an intercept, which has no penalty, the best probability of that class is 0: the other
classes are fitted alone, and the intercept of the missing one is put far below theirs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED, MethodMapping, process_routing

from ascd._core.checks import Array
from ascd.estimators._base import class_factors, times
from ascd.estimators._data import Training, fit_method, is_outside, to_numpy
from ascd.estimators._folds import CrossValidated, Fold, FoldPath, as_ratios, simplest_within_one_error
from ascd.estimators._parameters import NON_NEGATIVE_COUNT, Parameter, estimator, without_effect
from ascd.estimators._solving import Followed, Settings, state_problem
from ascd.estimators._tuning import LAST_FIT, MISSING_CLASS
from ascd.estimators.logistic import LogisticRegression
from ascd.estimators.paths import as_Cs, as_ratio, strengths
from ascd.results.solution import Status

if TYPE_CHECKING:
    from typing_extensions import Self


@estimator
class LogisticRegressionCV(CrossValidated, LogisticRegression):
    r"""Logistic regression with C and l1_ratio chosen by cross-validation.

    ``class_weight="balanced"`` looks at all samples, not at those of a fold.

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

    Cs: Any = 10
    l1_ratios: Any = (0.0,)
    penalty: str = "deprecated"
    scoring: Any = None
    verbose: int = 0
    refit: bool = True
    intercept_scaling: float = 1.0
    use_legacy_attributes: bool = False
    C: ClassVar[float] = 1.0  # type: ignore[misc]
    l1_ratio: ClassVar[float] = 0.0  # type: ignore[misc]
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    #: Weights of ``score`` are for the scorer: one that takes none is an error.
    __metadata_request__score = {"sample_weight": UNUSED}  # noqa: RUF012
    _is_classification: ClassVar[bool] = True
    _strength = "C"
    _keeps_float32: ClassVar[bool] = False
    _own: ClassVar[dict[str, Parameter]] = {
        "max_iter": Parameter([NON_NEGATIVE_COUNT], "int", "Most iterations of the solver."),
        "Cs": Parameter(
            [Interval(Integral, 1, None, closed="left"), "array-like"], "int or list of floats",
            "How many between 1e-4 and 1e4, or which.",
        ),
        "l1_ratios": Parameter(["array-like", None], "list of floats", "Shares of the L1 penalty; the best is chosen."),
        "penalty": Parameter(
            [StrOptions({"l1", "l2", "elasticnet", "deprecated"})], '{"l1", "l2", "elasticnet"}',
            'The older way to choose: "l1" is l1_ratios=(1,), "l2" is l1_ratios=(0,).',
        ),
        "scoring": Parameter(
            [StrOptions(set(get_scorer_names())), callable, None], "str or callable", "Accuracy for None."
        ),
        "refit": Parameter(
            ["boolean"], "bool", "Fit all samples with the best; otherwise the folds' best coefficients are averaged."
        ),
        "use_legacy_attributes": Parameter(
            ["boolean"], "bool", "Only False, scikit-learn's coming default: the attributes are arrays."
        ),
        "choose": Parameter(
            [StrOptions({"best", "1se"})], '{"best", "1se"}',
            "The C of the last fit: the one with the best mean score, or the smallest within one standard error of it "
            "(glmnet's lambda.1se), which gives a simpler model.",
        ),
        "verbose": without_effect("verbose"),
    }  # fmt: skip

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
        data = self._read(X, y, sample_weight, offset)
        self.Cs_, self.l1_ratios_ = as_Cs(self.Cs), np.array(self._ratios())
        known = {} if data.weight is None else {"sample_weight": data.weight}
        if _routing_enabled():
            known = dict(process_routing(self, "fit", **known, **params).scorer.score)
        self._score_params = known
        self._factors = None
        if self.class_weight is not None:
            self._factors = class_factors(self.class_weight, self.classes_, data.y, data.weight)
        try:
            labels, grid = self.classes_[data.y], strengths(self.Cs_)
            self._cross_validate(data, labels, params, self.l1_ratios_.tolist(), lambda problem, ratio: grid)
        finally:
            del self._score_params, self._factors
        return self

    def _units(self, total: float) -> tuple[float, float]:
        return 1.0, 1.0

    def _settings(self) -> Settings:
        """Return the settings of the last fit: more precise than the folds' by a Newton step or two."""
        return replace(super()._settings(), tol=LAST_FIT * self.tol)

    def _ratios(self) -> list[float]:
        if self.penalty in ("deprecated", "elasticnet") and self.l1_ratios is not None:
            return as_ratios(self.l1_ratios, "l1_ratios")
        return as_ratios([] if self.penalty == "elasticnet" else as_ratio(self.penalty, None), "l1_ratios")

    def _balanced(self, data: Training) -> Training:
        """Return the data with weights times the factors that the classes have in all samples."""
        return data if self._factors is None else data._replace(weight=times(self._factors, data.weight))

    def _follow(self, train: Training, problem: Any, grid: Array) -> Followed:
        """Fit a fold; a class that it lacks has coefficients of 0 and an intercept far below the others'."""
        weight: Any = train.weight
        present, count = np.unique(train.y[weight > 0.0]), len(self.classes_)
        if present.size == count or not self.fit_intercept:
            return super()._follow(train, problem, grid)
        coefs, constants = np.zeros((train.X.shape[1], count, grid.size)), np.zeros((count, grid.size))
        zero = np.zeros(grid.size)
        found = Followed(coefs, constants, zero, zero.astype(int), 0.0, Status.CONVERGED)
        if present.size > 1:
            codes = np.searchsorted(present, train.y).clip(max=present.size - 1)  # others have weight 0
            found = super()._follow(train, state_problem(train.X, codes, "softmax", problem.penalty, weight), grid)
            coefs[:, present], constants[present] = found.coefs, found.intercepts
        absent = np.setdiff1d(np.arange(count), present)
        constants[absent] = constants[present].min(axis=0) - MISSING_CLASS
        if count == 2:
            coefs, constants = coefs[:, 1], constants[1] - constants[0]
        return found._replace(coefs=coefs, intercepts=constants)

    # ---- the choice

    def _keep_choice(self, paths: list[FoldPath], grids: list[Array], errors: Array, ratio: int, row: int) -> float:
        scores = -errors
        self.scores_ = scores.transpose(2, 0, 1)
        simplest = simplest_within_one_error(errors[ratio], row)
        self.C_best_, self.C_1se_ = float(self.Cs_[row]), float(self.Cs_[simplest])
        chosen = simplest if self.choose == "1se" else row
        self.C_, self.l1_ratio_ = float(self.Cs_[chosen]), float(self.l1_ratios_[ratio])
        fits = [one.coefs.toarray().reshape(self.n_features_in_, -1, self.Cs_.size).transpose(2, 1, 0) for one in paths]
        if self.fit_intercept:
            pairs = zip(fits, paths, strict=True)
            fits = [np.concatenate([fit, one.constants.T[:, :, None]], axis=2) for fit, one in pairs]
        self.coefs_paths_ = np.reshape(fits, (*self.scores_.shape, *fits[0].shape[1:]))
        self.n_iter_ = np.reshape([np.maximum(1, one.n_iters) for one in paths], self.scores_.shape).astype(np.int32)
        shown = self.coefs_paths_[:, ratio].mean(axis=0)[..., : self.n_features_in_]
        self._curve = (self.Cs_, scores[ratio], sparse.csc_matrix(shown.reshape(self.Cs_.size, -1).T))
        return float(grids[ratio][chosen])

    def _fit_last(self, data: Training, problem: Any, strength: float, paths: Any, row: int, folds: Any) -> None:
        counts = self.n_iter_
        if self.refit or folds[2] is not None:
            super()._fit_last(data, problem, strength, paths, row, folds)
        if not self.refit:
            self._average_folds()
        self.n_iter_ = counts

    def _average_folds(self) -> None:
        """Keep coefficients, C and l1_ratio as the mean of each fold's best."""
        n_folds, n_ratios, n_cs = self.scores_.shape
        best = self.scores_.swapaxes(1, 2).reshape(n_folds, -1).argmax(axis=1)
        rows, ratios = np.unravel_index(best, (n_cs, n_ratios))
        mean = self.coefs_paths_[np.arange(n_folds), ratios, rows].mean(axis=0)
        self._keep_coefs(mean[:, : self.n_features_in_].T, mean[:, -1])
        self.C_, self.l1_ratio_ = float(self.Cs_[rows].mean()), float(np.mean(self.l1_ratios_[ratios]))

    def _keep_coefs(self, coefs: Array, constants: Array) -> None:
        self.coef_ = np.ascontiguousarray(coefs.T)
        self.intercept_ = constants if self.fit_intercept else np.zeros(len(self.coef_))

    # ---- scores

    def _fold_errors(self, data: Training, fold: Fold, coefs: Array, constants: Array) -> Array:
        """Return the score of each C, less than 0, for the samples that a fold leaves out."""
        X, labels, offset = data.X, self.classes_[data.y[fold.test]], data.offset
        chosen = {name: np.asarray(values)[fold.test] for name, values in self._score_params.items()}
        rows = X.rows(fold.test) if X.is_local and offset is None else None
        predict = X.predictor(fold.test, np.flatnonzero(coefs.any(axis=(1, 2)))) if rows is None else None
        scorer, scores = self._fold_scorer(), []
        for k in range(coefs.shape[2]):
            if predict is None:
                model, features = self._stand_in(coefs[:, :, k].T, constants[:, k]), rows
            else:
                features = predict(coefs[:, :, k]) + (0.0 if offset is None else offset[fold.test, None])
                model = self._stand_in(np.eye(features.shape[1]), constants[:, k])
            scores.append(as_score(scorer(model, features, labels, **chosen)))
        return -np.array(scores)

    def _stand_in(self, coef: Array, constants: Array) -> LogisticRegression:
        """Return a model with these coefficients; its features may be linear predictors, and ``coef`` ones."""
        model = LogisticRegression()
        model.coef_, model.intercept_, model.classes_, model.n_features_in_ = (
            coef,
            constants,
            self.classes_,
            len(coef.T),
        )
        return model

    def _get_scorer(self) -> Any:
        return get_scorer(self.scoring or "accuracy")

    def _fold_scorer(self) -> Callable[..., Any]:
        """Return the scorer; one that takes ``labels`` gets all classes, of which a fold may lack some."""
        scorer = self._get_scorer()
        function = getattr(scorer, "_score_func", None)
        names = inspect.signature(function).parameters if function is not None else {}
        if "labels" not in names or "labels" in scorer._kwargs:
            return scorer  # type: ignore[no-any-return]
        own = {"labels": self.classes_, **scorer._kwargs}
        if "pos_label" in names and len(self.classes_) == 2:
            own.setdefault("pos_label", self.classes_[1])
        how = {"greater_is_better": scorer._sign == 1, "response_method": scorer._response_method}
        return make_scorer(function, **how, **own)  # type: ignore[no-any-return]

    def get_metadata_routing(self) -> Any:
        """Return where metadata go, for scikit-learn's metadata routing."""
        mapping = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        return super().get_metadata_routing().add(scorer=self._get_scorer(), method_mapping=mapping)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **score_params: Any) -> float:
        """Return the score by ``scoring``; ``score_params`` go to the scorer, with scikit-learn's metadata routing."""
        _raise_for_params(score_params, self, "score")
        known = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            known = dict(process_routing(self, "score", **known, **score_params).scorer.score)
        model: Any = self
        if is_outside(X) or offset is not None:  # the predictors are the features then
            z = to_numpy(self.decision_function(X, offset=offset))
            X = z.reshape(len(z), -1)
            y, known = to_numpy(y), {name: to_numpy(given) for name, given in known.items()}
            model = self._stand_in(np.eye(X.shape[1]), np.zeros(X.shape[1]))
        return float(self._get_scorer()(model, X, y, **known))

    @property
    def _measure(self) -> str:  # type: ignore[override]
        return str(getattr(self.scoring, "__name__", self.scoring or "accuracy"))


def as_score(score: Any) -> float:
    """Return what a scorer gave, which must be a number."""
    number = score.item() if np.size(score) == 1 and hasattr(score, "item") else score
    if not isinstance(number, Real):
        raise ValueError(f"scoring must give a number for the samples of a fold; got {score!r}")
    return float(number)
