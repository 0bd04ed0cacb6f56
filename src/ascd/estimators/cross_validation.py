"""Estimators whose strength (and l1_ratio) is chosen by cross-validation: ``_folds`` with a grid and an error.

Regressions have a grid of alphas; logistic regression has a grid of C, and takes any score of scikit-learn.
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
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import UNUSED, MethodMapping, process_routing

from ascd._core.checks import Array
from ascd.estimators._base import LinearClassifier, LinearRegressor
from ascd.estimators._data import Training, fit_method, is_outside, to_numpy
from ascd.estimators._folds import CrossValidated, Fold, FoldPath, as_ratios
from ascd.estimators._parameters import COUNT, RATIOS, Parameter, estimator
from ascd.estimators._solving import Followed, Settings, state_problem
from ascd.estimators.block_models import GroupLasso, MultiTaskElasticNet, MultiTaskLasso, SparseGroupLasso
from ascd.estimators.huber import HuberRegressor
from ascd.estimators.least_squares import ElasticNet, Lasso, Ridge, lasso_path
from ascd.estimators.logistic import LogisticRegression
from ascd.estimators.paths import alpha_grid, as_Cs, as_ratio, strengths
from ascd.estimators.poisson import PoissonRegressor, half_deviance
from ascd.estimators.svm import LinearSVC
from ascd.results import Status

if TYPE_CHECKING:
    from typing_extensions import Self

#: Alphas for penalties that have no largest useful one.
DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


@estimator
class PathCV(CrossValidated, LinearRegressor):
    """A path of alphas on every fold, one fit with the best."""

    eps: float = 1e-3
    alphas: Any = 100
    alpha: ClassVar[float] = 1.0

    l1_ratio = 1.0
    #: The attribute that holds the errors of the folds.
    _error_path: ClassVar[str] = "mse_path_"
    _fitted: ClassVar[dict[str, str]] = {
        "alpha_, l1_ratio_": "those of the last fit; the l1_ratio is that with the smallest mean error",
        "alpha_best_": "the alpha with the smallest mean error",
        "alpha_1se_": "the largest alpha with an error within one standard error of it, for the same l1_ratio",
        "alphas_": "the grid",
        "mse_path_": "the errors of all folds: array of shape (n_l1_ratios, n_alphas, n_folds)",
        "coef_path_": "sparse matrix of shape (n_features, n_alphas), the mean of the folds' coefficients for "
        "``l1_ratio_``, or of their norms over several targets",
    }

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose alpha by cross-validation, all folds counting the same, and fit all samples with it."""
        self._choose_alpha(self._read(X, y, sample_weight), params)
        return self

    def _choose_alpha(self, data: Training, params: dict[str, Any]) -> None:
        self._cross_validate(data, data.y, params, as_ratios(self.l1_ratio))

    def _grid(self, problem: Any, factor: float) -> Array:
        how: dict[str, Any] = {"intercept": self.fit_intercept, "n_jobs": self._settings().n_jobs}
        return alpha_grid(problem, self.alphas, self.eps, factor, **how)

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

    def _keep_paths(self, paths: list[FoldPath], grids: list[Array], errors: Array, ratio: int) -> tuple[Array, Any]:
        setattr(self, self._error_path, np.squeeze(errors))
        self.alphas_ = grids[0] if len(grids) == 1 or not isinstance(self.alphas, Integral) else np.array(grids)
        fits = [one.coefs for one in paths[ratio :: len(grids)]]
        n_outputs = len(paths[0].constants)
        if isinstance(self, MultiTaskElasticNet):  # norms over the targets
            dense = [one.toarray().reshape(-1, n_outputs, grids[ratio].size) for one in fits]
            fits = [sparse.csc_array(np.hypot.reduce(one, axis=1)) for one in dense]  # squares may overflow
        self.coef_path_ = sparse.csc_matrix(sum(fits[1:], start=fits[0]) / len(fits))
        return errors[ratio], self.coef_path_


@estimator
class OneTargetCV(PathCV):
    """Least squares for one target, where the estimator with one alpha takes several."""

    def _checks(self, y: Any) -> dict[str, Any]:
        return {"y_numeric": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@estimator
class ElasticNetCV(OneTargetCV, ElasticNet):  # type: ignore[misc]
    r"""Elastic net with alpha and l1_ratio chosen by cross-validation.

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

    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}


@estimator
class LassoCV(ElasticNetCV, Lasso):  # type: ignore[misc]
    r"""Lasso with alpha chosen by cross-validation.

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


@estimator
class GroupLassoCV(SparseGroupLassoCV, GroupLasso):
    r"""Group Lasso with alpha chosen by cross-validation.

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


@estimator
class MultiTaskLassoCV(MultiTaskElasticNetCV, MultiTaskLasso):
    r"""Multi-task Lasso with alpha chosen by cross-validation, as scikit-learn's.

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
    _fitted: ClassVar[dict[str, str]] = {"mse_path_": "", "deviance_path_": "half the mean deviances of all folds"}
    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any) -> Self:
        """Choose alpha by cross-validation and fit all samples with it."""
        self._choose_alpha(self._read(X, y, sample_weight, offset), params)
        return self

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        found: Array = half_deviance(y[:, 0], z, weight)
        return found


@estimator
class HuberRegressorCV(PathCV, HuberRegressor):
    r"""Huber regression with alpha chosen by cross-validation, by the mean absolute error.

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
    _fitted: ClassVar[dict[str, str]] = {"mse_path_": "", "mae_path_": "the mean absolute errors of all folds"}

    def _fit_last(self, data: Training, problem: Any, strength: float) -> None:
        self._keep(self._fit_scale(data, problem, strength, self._settings(), (None, None, None)))

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Array:
        found: Array = np.average(np.abs(z - y), axis=0, weights=weight)
        return found


@estimator
class RidgeCV(OneTargetCV, Ridge):  # type: ignore[misc]
    r"""Ridge regression with alpha chosen by cross-validation, for one target.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import RidgeCV
    >>> X, y = make_regression(n_features=5, noise=1.0, random_state=0)
    >>> RidgeCV(alphas=[0.1, 10.0], cv=3).fit(X, y).alpha_
    0.1
    """

    alphas: Any = (*DECADES, 1e3, 1e4, 1e5)
    l1_ratio = 0.0


@estimator
class ClassifierCV(CrossValidated, LinearClassifier):
    """A path of C on every fold, one fit with the best; folds are scored by any score of scikit-learn."""

    Cs: Any = 10
    scoring: Any = None
    C: ClassVar[float] = 1.0

    #: Weights of ``score`` are for the scorer: one that takes none is an error.
    __metadata_request__score = {"sample_weight": UNUSED}  # noqa: RUF012
    _is_classification: ClassVar[bool] = True
    _strength = "C"
    _keeps_float32: ClassVar[bool] = False
    #: The estimator that has one C.
    _plain: ClassVar[type[LinearClassifier]]
    _fitted: ClassVar[dict[str, str]] = {
        "C_, l1_ratio_": "those of the last fit; the l1_ratio is that with the best mean score",
        "C_best_": "the C with the best mean score; of equal scores that with the smallest C, then the first l1_ratio",
        "C_1se_": "the smallest C with a mean score within one standard error of it, for the same l1_ratio",
        "Cs_, l1_ratios_": "the grid",
        "scores_": "array of shape (n_folds, n_l1_ratios, n_cs)",
        "n_iter_": "array of shape (n_folds, n_l1_ratios, n_cs), of the folds",
        "coefs_paths_": "array of shape (n_folds, n_l1_ratios, n_cs, n_classes or 1, n_features, plus 1 with an "
        "intercept)",
    }
    _own: ClassVar[dict[str, Parameter]] = {
        "Cs": Parameter([COUNT, "array-like"], "int or list of floats", "How many between 1e-4 and 1e4, or which."),
        "scoring": Parameter(
            [StrOptions(set(get_scorer_names())), callable, None], "str or callable", "Accuracy for None."
        ),
        "choose": Parameter(
            [StrOptions({"best", "1se"})], '{"best", "1se"}',
            "The C of the last fit: the one with the best mean score, or the smallest within one standard error of it "
            "(glmnet's lambda.1se), which gives a simpler model.",
        ),
    }  # fmt: skip

    def _choose_C(self, data: Training, params: dict[str, Any], ratios: list[float]) -> None:
        """Choose C; folds are scored with ``sample_weight`` unless scikit-learn's metadata routing says otherwise."""
        self.Cs_, known = as_Cs(self.Cs), {} if data.weight is None else {"sample_weight": data.weight}
        if _routing_enabled():
            known = dict(process_routing(self, "fit", **known, **params).scorer.score)
        self._score_params = known
        try:
            self._cross_validate(data, self.classes_[data.y], params, ratios)
        finally:
            del self._score_params

    def _grid(self, problem: Any, factor: float) -> Array:
        return self.Cs_

    def _strengths(self, values: Array) -> Array:
        return strengths(values)

    def _keep_paths(self, paths: list[FoldPath], grids: list[Array], errors: Array, ratio: int) -> tuple[Array, Any]:
        scores = -errors
        self.scores_ = scores.transpose(2, 0, 1)
        fits = [one.coefs.toarray().reshape(self.n_features_in_, -1, self.Cs_.size).transpose(2, 1, 0) for one in paths]
        if self.fit_intercept:
            pairs = zip(fits, paths, strict=True)
            fits = [np.concatenate([fit, one.constants.T[:, :, None]], axis=2) for fit, one in pairs]
        self.coefs_paths_ = np.reshape(fits, (*self.scores_.shape, *fits[0].shape[1:]))
        self.n_iter_ = np.reshape([np.maximum(1, one.n_iters) for one in paths], self.scores_.shape).astype(np.int32)
        shown = self.coefs_paths_[:, ratio].mean(axis=0)[..., : self.n_features_in_]
        return scores[ratio], sparse.csc_matrix(shown.reshape(self.Cs_.size, -1).T)

    def _fit_last(self, data: Training, problem: Any, strength: float) -> None:
        """Fit all samples; ``n_iter_`` stays that of the folds."""
        counts = self.n_iter_
        super()._fit_last(data, problem, strength)
        self.n_iter_ = counts

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

    def _stand_in(self, coef: Array, constants: Array) -> LinearClassifier:
        """Return a model with these coefficients; its features may be linear predictors, and ``coef`` ones."""
        model = self._plain()
        model.coef_, model.intercept_, model.classes_ = coef, constants, self.classes_
        model.n_features_in_ = len(coef.T)
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

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """Return the score by ``scoring``; ``score_params`` go to the scorer, with scikit-learn's metadata routing."""
        return self._score(X, y, sample_weight, score_params)

    def _score(self, X: Any, y: Any, sample_weight: Any, score_params: dict[str, Any], offset: Any = None) -> float:
        _raise_for_params(score_params, self, "score")
        known = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            known = dict(process_routing(self, "score", **known, **score_params).scorer.score)
        model: Any = self
        if is_outside(X) or offset is not None:  # the predictors are the features then
            z = to_numpy(self._scores(X, offset))
            X = z.reshape(len(z), -1)
            y, known = to_numpy(y), {name: to_numpy(given) for name, given in known.items()}
            model = self._stand_in(np.eye(X.shape[1]), np.zeros(X.shape[1]))
        return float(self._get_scorer()(model, X, y, **known))

    @property
    def _measure(self) -> str:  # type: ignore[override]
        return str(getattr(self.scoring, "__name__", self.scoring or "accuracy"))


@estimator
class LogisticRegressionCV(ClassifierCV, LogisticRegression):
    r"""Logistic regression with C and l1_ratio chosen by cross-validation.

    ``class_weight="balanced"`` looks at all samples, not at those of a fold.  A fold may lack a class.  With an
    intercept, which has no penalty, the best probability of that class is 0: the other classes are fitted alone, and
    the intercept of the missing one is put far below theirs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ascd import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=5, cv=3).fit(X, y)
    >>> model.scores_.shape, model.C_1se_ <= model.C_
    ((3, 1, 5), True)
    """

    l1_ratios: Any = (0.0,)
    penalty: str = "deprecated"
    verbose: int = 0
    refit: bool = True
    intercept_scaling: float = 1.0
    use_legacy_attributes: bool = False
    l1_ratio: ClassVar[float] = 0.0  # type: ignore[misc]

    _plain = LogisticRegression
    _own: ClassVar[dict[str, Parameter]] = {
        "l1_ratios": Parameter(["array-like", None], "list of floats", "Shares of the L1 penalty; the best is chosen."),
        "penalty": Parameter(
            [StrOptions({"l1", "l2", "elasticnet", "deprecated"})], '{"l1", "l2", "elasticnet"}',
            'The older way to choose: "l1" is l1_ratios=(1,), "l2" is l1_ratios=(0,).',
        ),
        "refit": Parameter(
            ["boolean"], "bool", "Fit all samples with the best; otherwise the folds' best coefficients are averaged."
        ),
        "use_legacy_attributes": Parameter(
            ["boolean"], "bool", "Only False, scikit-learn's coming default: the attributes are arrays."
        ),
    }  # fmt: skip

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any) -> Self:
        """Choose C by cross-validation and fit all samples with it.

        Folds are scored with ``sample_weight`` unless scikit-learn's metadata routing says otherwise.
        """
        if self.use_legacy_attributes:
            raise ValueError("use_legacy_attributes must be False: the attributes are arrays.")
        if self.choose == "1se" and not self.refit:
            raise ValueError("choose must be 'best' where refit=False: there the folds' own best ones are averaged")
        data = self._read(X, y, sample_weight, offset)
        self.l1_ratios_ = np.array(self._ratios())
        self._factors = super()._class_factors(data)
        try:
            self._choose_C(data, params, self.l1_ratios_.tolist())
        finally:
            del self._factors
        return self

    def _settings(self) -> Settings:
        """Return the settings of the last fit: more precise than the folds' by a Newton step or two."""
        return replace(super()._settings(), tol=1e-3 * self.tol)

    def _ratios(self) -> list[float]:
        if self.penalty in ("deprecated", "elasticnet") and self.l1_ratios is not None:
            return as_ratios(self.l1_ratios, "l1_ratios")
        return as_ratios([] if self.penalty == "elasticnet" else as_ratio(self.penalty, None), "l1_ratios")

    def _class_factors(self, data: Training) -> Array | None:
        """Return the factors that the classes have in all samples."""
        return self._factors

    def _follow(
        self, data: Training, problem: Any, strengths: Array, settings: Settings, x0: Array | None = None
    ) -> Followed:
        """Fit a fold; a class that it lacks has coefficients of 0 and an intercept far below the others'."""
        weight: Any = self._balanced(data).weight
        present, count = np.unique(data.y[weight > 0.0]), len(self.classes_)
        if present.size == count or not self.fit_intercept:
            return super()._follow(data, problem, strengths, settings, x0)
        coefs, constants = np.zeros((data.X.shape[1], count, strengths.size)), np.zeros((count, strengths.size))
        zero = np.zeros(strengths.size)
        found = Followed(coefs, constants, zero, zero.astype(int), 0.0, Status.CONVERGED)
        if present.size > 1:
            codes = np.searchsorted(present, data.y).clip(max=present.size - 1)  # others have weight 0
            others = state_problem(data.X, codes, "softmax", problem.penalty, weight)
            found = super()._follow(data, others, strengths, settings)
            coefs[:, present], constants[present] = found.coefs, found.intercepts
        absent = np.setdiff1d(np.arange(count), present)
        constants[absent] = constants[present].min(axis=0) - 100.0  # log-odds: its probability is 1e-44
        if count == 2:
            coefs, constants = coefs[:, 1], constants[1] - constants[0]
        return found._replace(coefs=coefs, intercepts=constants)

    def _fit_last(self, data: Training, problem: Any, strength: float) -> None:
        if self.refit:
            super()._fit_last(data, problem, strength)
        else:
            self._average_folds()

    def _average_folds(self) -> None:
        """Keep coefficients, C and l1_ratio as the mean of each fold's best."""
        n_folds, n_ratios, n_cs = self.scores_.shape
        best = self.scores_.swapaxes(1, 2).reshape(n_folds, -1).argmax(axis=1)
        rows, ratios = np.unravel_index(best, (n_cs, n_ratios))
        mean = self.coefs_paths_[np.arange(n_folds), ratios, rows].mean(axis=0)
        self.coef_ = np.ascontiguousarray(mean[:, : self.n_features_in_])
        self.intercept_ = mean[:, -1] if self.fit_intercept else np.zeros(len(mean))
        self.C_, self.l1_ratio_ = float(self.Cs_[rows].mean()), float(np.mean(self.l1_ratios_[ratios]))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **score_params: Any) -> float:
        """Return the score by ``scoring``; ``score_params`` go to the scorer, with scikit-learn's metadata routing."""
        return self._score(X, y, sample_weight, score_params, offset)


@estimator
class LinearSVCCV(ClassifierCV, LinearSVC):
    r"""Linear support vector classification with C chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ascd import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVCCV(Cs=[1e-3, 1.0], cv=3).fit(X, y)
    >>> model.C_, model.scores_.shape
    (1.0, (3, 1, 2))
    """

    _plain = LinearSVC

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose C by cross-validation and fit all samples with it."""
        self._choose_C(self._read(X, y, sample_weight), params, [1.0])
        return self


def as_score(score: Any) -> float:
    """Return what a scorer gave, which must be a number."""
    number = score.item() if np.size(score) == 1 and hasattr(score, "item") else score
    if not isinstance(number, Real):
        raise ValueError(f"scoring must give a number for the samples of a fold; got {score!r}")
    return float(number)
