"""Logistic regression with C (and l1_ratio) chosen by cross-validation, by any score of scikit-learn.

A fold may lack a class.  With an intercept, which has no penalty, the best probability of that class is 0: the other
classes are fitted alone, and the intercept of the missing one is put far below theirs.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.utils import check_array
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED, MethodMapping, process_routing

from ascd._core.checks import Array, as_finite_vector, check_places
from ascd._core.threads import threads_here
from ascd.estimators._base import class_factors
from ascd.estimators._certificate import UNPROVED
from ascd.estimators._data import Training, as_offset
from ascd.estimators._folds import CrossValidated, Fold, Folds, plot_cross_validation, simplest_within_one_error
from ascd.estimators._forms import errors_about_x, fit_method, is_outside, to_numpy
from ascd.estimators._parameters import NON_NEGATIVE_COUNT, Parameter, estimator, without_effect
from ascd.estimators._solving import Followed, Settings, changed, follow, state_problem
from ascd.estimators._tuning import LAST_FIT, MISSING_CLASS
from ascd.estimators.logistic import LogisticRegression
from ascd.estimators.paths import Shortfall, as_Cs, as_ratio, shortfall, strengths

if TYPE_CHECKING:
    from typing_extensions import Self


class Labelled(NamedTuple):
    """What all folds share: data, labels, the problem, factors of the samples' classes, metadata for scorers."""

    data: Training
    labels: Array
    problem: Any
    factors: Array
    score_params: dict[str, Any]


class FoldScores(NamedTuple):
    """One fold and one l1_ratio, for all Cs: scores, coefficients with intercepts last, iterations, missed fits."""

    scores: Array
    coefs: Array
    n_iters: Array
    short: Shortfall


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
        labels = self.classes_[data.y]
        self.Cs_, self.l1_ratios_ = as_Cs(self.Cs), self._ratios()
        folds = self._folds(data, labels, params)
        factors = class_factors(self.class_weight, self.classes_, data.y, data.weight)
        problem = self._state(data, self._penalty_of(data, data.weight, 0))
        known = Labelled(data, labels, problem, factors, self._score_params(data.weight, params))
        found, done = self._fit_folds(data, folds, len(self.l1_ratios_), partial(self._fold_scores, known))
        self._choose(found, done.done)
        self._fit_last(data, done)
        self.n_iter_ = np.array([one.n_iters for one in found]).reshape(self.scores_.shape)
        return self

    def _settings(self) -> Settings:
        """Return the settings of the last fit: more precise than the folds' by a Newton step or two."""
        return replace(super()._settings(), tol=LAST_FIT * self.tol)

    def _ratios(self) -> Array:
        given = [] if self.penalty == "elasticnet" else [as_ratio(self.penalty, None)]
        if self.penalty in ("deprecated", "elasticnet") and self.l1_ratios is not None:
            given = as_finite_vector(np.atleast_1d(self.l1_ratios), "l1_ratios").tolist()
        if not given or min(given) < 0.0 or max(given) > 1.0:
            raise ValueError(f"l1_ratios must be a list of numbers in [0, 1]; got {self.l1_ratios!r}")
        return np.array(given)

    def _penalty_of(self, data: Training, weight: Array | None, number: int) -> Any:
        """Return the penalty for C = 1, with the deviations that samples of these weights have."""
        return self._penalty(1.0, self.l1_ratios_[number], data.X.shape[1], self._scale(data.X, weight))

    # ---- folds

    def _fold_scores(self, known: Labelled, fold: Fold, number: int) -> FoldScores:
        found = self._fold_path(known, fold, self._penalty_of(known.data, fold.train, number)).complete()
        n_features, n_cs = known.data.X.shape[1], len(self.Cs_)
        coefs = np.moveaxis(found.coefs.reshape(n_features, -1, n_cs), (0, 1, 2), (2, 1, 0))
        if self.fit_intercept:
            constants = found.intercepts.reshape(-1, n_cs).T
            coefs = np.concatenate([coefs, constants[:, :, None]], axis=2)
        scores = self._scores(known, coefs, fold)
        return FoldScores(scores, coefs, np.maximum(1, found.n_iters).astype(np.int32), shortfall(found))

    def _fold_path(self, known: Labelled, fold: Fold, penalty: Any) -> Followed:
        """Fit the samples of a fold for every C."""
        weight, codes = fold.train * known.factors, known.data.y
        settings = replace(self._settings(), tol=self.tol, n_jobs=threads_here())
        steps = partial(follow, factors=strengths(self.Cs_), settings=settings, intercept=self.fit_intercept)
        present = np.unique(codes[fold.train > 0.0])
        if present.size == len(self.classes_) or not self.fit_intercept:
            return steps(changed(known.problem, sample_weight=weight, penalty=penalty))
        if present.size == 1:
            return self._without_fit(known, int(present[0]))
        position = np.searchsorted(present, codes).clip(max=present.size - 1)  # others have weight 0
        return self._with_missing(steps(state_problem(known.data.X, position, "softmax", penalty, weight)), present)

    def _without_fit(self, known: Labelled, present: int) -> Followed:
        """Return the path of a fold with one class: coefficients of 0, and intercepts that make it certain."""
        n_features, n_cs, count = known.data.X.shape[1], len(self.Cs_), len(self.classes_)
        shape = (n_features, n_cs) if count == 2 else (n_features, count, n_cs)
        constants = np.where(np.arange(count) == present, 0.0, -MISSING_CLASS)
        each = constants[1:] - constants[:1] if count == 2 else constants
        intercepts = np.repeat(each[:, None], n_cs, axis=1)
        return Followed.none(shape, intercepts[0] if count == 2 else intercepts)

    def _with_missing(self, found: Followed, present: Array) -> Followed:
        """Insert the classes that a fold lacks into its path."""
        n_features, _, n_cs = found.coefs.shape
        coefs, intercepts = np.zeros((n_features, len(self.classes_), n_cs)), np.empty((len(self.classes_), n_cs))
        coefs[:, present], intercepts[:] = found.coefs, found.intercepts.min(axis=0) - MISSING_CLASS
        intercepts[present] = found.intercepts
        return found._replace(coefs=coefs, intercepts=intercepts)

    # ---- the choice

    def _choose(self, found: list[FoldScores], n_folds: int) -> None:
        shape = (n_folds, len(self.l1_ratios_), len(self.Cs_))
        self.scores_ = np.array([one.scores for one in found]).reshape(shape)
        coefs = np.array([one.coefs for one in found])
        self.coefs_paths_ = coefs.reshape(*shape, *coefs.shape[2:])
        means = self.scores_.mean(axis=0).T
        row, ratio = np.unravel_index(int(np.argmax(means)), means.shape)  # of equal ones the smallest C, then ratio
        if not math.isfinite(means[row, ratio]):
            raise ValueError(
                f"scoring must give finite numbers in every fold; the best mean score is {means[row, ratio]:g}, and "
                "nothing can be chosen by it: use other folds or another score"
            )
        self._best_ratio = int(ratio)
        simplest = simplest_within_one_error(-self.scores_[:, ratio, :].T, int(row))
        self.C_best_, self.C_1se_ = float(self.Cs_[row]), float(self.Cs_[simplest])
        self.C_ = self.C_1se_ if self.choose == "1se" else self.C_best_
        self.l1_ratio_ = float(self.l1_ratios_[ratio])

    def _fit_last(self, data: Training, done: Folds) -> None:
        """Fit all samples with the chosen C, or average the folds."""
        if not self.refit:
            self._average_folds()
            if done.lost is None:
                return
        strength = 0.0 if math.isinf(self.C_) else 1.0 / self.C_

        def fit() -> Any:
            scale = self._scale(data.X, data.weight)
            penalty = self._penalty(strength, self.l1_ratio_, data.X.shape[1], scale)
            return self._solve(self._state(self._balanced(data), penalty))

        self._finish(done, fit, self._keep, self._keep_mean)

    def _average_folds(self) -> None:
        """Keep coefficients, C and l1_ratio as the mean of each fold's best."""
        n_folds, n_ratios, n_cs = self.scores_.shape
        best = self.scores_.swapaxes(1, 2).reshape(n_folds, -1).argmax(axis=1)
        rows, ratios = np.unravel_index(best, (n_cs, n_ratios))
        self._keep_coefs(self.coefs_paths_[np.arange(n_folds), ratios, rows].mean(axis=0))
        self.C_, self.l1_ratio_ = float(self.Cs_[rows].mean()), float(np.mean(self.l1_ratios_[ratios]))

    def _keep_mean(self) -> None:
        """Keep the mean of the folds' coefficients, of which nothing is proved."""
        if self.refit:
            row = int(np.flatnonzero(self.Cs_ == self.C_)[0])
            self._keep_coefs(self.coefs_paths_[:, self._best_ratio, row].mean(axis=0))
        self.certificate_ = UNPROVED

    def _keep_coefs(self, coefs: Array) -> None:
        """Keep coefficients with intercepts last."""
        self.coef_ = coefs[:, :-1] if self.fit_intercept else coefs
        self.intercept_ = coefs[:, -1] if self.fit_intercept else np.zeros(len(coefs))

    # ---- scores

    def _scores(self, known: Labelled, coefs: Array, fold: Fold) -> Array:
        """Return the score of each C for the samples that a fold leaves out."""
        X, labels = known.data.X, known.labels[fold.test]
        offset = None if known.data.offset is None else known.data.offset[fold.test]
        chosen = {name: np.asarray(values)[fold.test] for name, values in known.score_params.items()}
        rows = X.rows(fold.test) if X.is_local else None
        scorer, scores = self._fold_scorer(), []
        for one in coefs:
            coef = one[:, :-1] if self.fit_intercept else one
            constants = one[:, -1] if self.fit_intercept else np.zeros(len(one))
            if not X.is_local:  # the predictors are the features then
                rows, coef = X.times(coef.T)[fold.test], np.eye(len(coef))
            model, wider = self._stand_in(coef, constants, rows, offset)
            scores.append(as_score(scorer(model, wider, labels, **chosen)))
        return np.array(scores)

    def _stand_in(self, coef: Array, constants: Array, X: Any, offset: Array | None) -> tuple[Any, Any]:
        """Return a model with these coefficients, and X as a scorer may pass it on: with the offset as a feature."""
        model = LogisticRegression()
        if offset is not None:
            last = offset[:, None]
            X = sparse.hstack([X, last], format="csr") if sparse.issparse(X) else np.hstack([X, last])
            coef = np.hstack([coef, np.ones((len(coef), 1))])
        model.coef_, model.intercept_, model.classes_, model.n_features_in_ = coef, constants, self.classes_, X.shape[1]
        return model, X

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

    def _score_params(self, weight: Array | None, params: dict[str, Any]) -> dict[str, Any]:
        known = {} if weight is None else {"sample_weight": weight}
        if _routing_enabled():
            return dict(process_routing(self, "fit", **known, **params).scorer.score)
        return known

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
        if is_outside(X):  # the predictors are the features then
            z = to_numpy(self.decision_function(X))
            z = z.reshape(len(z), -1)
            y, known = to_numpy(y), {name: to_numpy(given) for name, given in known.items()}
            model, X = self._stand_in(np.eye(z.shape[1]), np.zeros(z.shape[1]), z, as_offset(offset, len(z)))
        elif offset is not None:
            with errors_about_x():
                check_places(X)
            X = check_array(X, accept_sparse="csr")
            model, X = self._stand_in(to_numpy(self.coef_), to_numpy(self.intercept_), X, as_offset(offset, X.shape[0]))
        return float(self._get_scorer()(model, X, y, **known))

    def plot(self, axes: Any = None) -> Any:
        """Draw the scores of the folds and, below them, the path of the coefficients; return the pair of axes."""
        coefs = self.coefs_paths_[:, self._best_ratio].mean(axis=0)[..., : self.n_features_in_]
        lines = sparse.csc_matrix(coefs.reshape(len(self.Cs_), -1).T)
        scores, marks = self.scores_[:, self._best_ratio].T, {"best": self.C_best_, "one standard error": self.C_1se_}
        measure = str(getattr(self.scoring, "__name__", self.scoring or "accuracy"))
        return plot_cross_validation(self.Cs_, scores, lines, marks, "C", measure, axes)


def as_score(score: Any) -> float:
    """Return what a scorer gave, which must be a number."""
    number = score.item() if np.size(score) == 1 and hasattr(score, "item") else score
    if not isinstance(number, Real):
        raise ValueError(f"scoring must give a number for the samples of a fold; got {score!r}")
    return float(number)
