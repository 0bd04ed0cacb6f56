"""Estimators whose strength (and l1_ratio) is chosen by cross-validation: a path on each fold, and one fit of all.

A fold is the same matrix with weight 0 on the samples that are left out for scoring, so nothing is copied.  Folds run
in threads (the kernels release the interpreter's lock) and share the matrix.  Penalties fall along a path, so the first
fit is the simplest one.  Regressions have a grid of alphas and errors of predictions, classifiers a grid of C and any
score of scikit-learn, less than 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from reprlib import repr as short
from threading import Event
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing as routing

from ascd._core.checks import Array, as_finite_vector
from ascd._core.threads import threads_here, use_threads
from ascd.estimators import least_squares
from ascd.estimators._base import LinearClassifier, LinearModel, LinearRegressor
from ascd.estimators._data import Training, fit_method, is_outside, to_numpy
from ascd.estimators._parameters import RATIOS, Parameter, Self, StrOptions, estimator
from ascd.estimators._solving import Followed, Settings, alpha_grid, as_Cs, as_ratio, warn_of_shortfalls
from ascd.estimators.huber import HuberRegressor
from ascd.estimators.logistic import LogisticRegression, PoissonRegressor, half_deviance
from ascd.estimators.svm import LinearSVC
from ascd.results import Round, Status, looking_on, progress_bar

Result = TypeVar("Result")
#: Alphas for penalties that have no largest useful one.
DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


@estimator
class CrossValidated(LinearModel):
    """A path of strengths on every fold, and one fit with the best.

    ``_grid(data, problem)`` returns the values to choose from, in the user's units and from strong to weak penalties,
    and the strengths that they mean; ``_fold_errors(data, test, coefs, constants)`` the error of each fit for the
    samples left out, with ``coefs`` of shape (n_features, n_outputs, n_strengths).  ``_keep_paths(paths, grids, errors,
    ratio)`` sets the attributes of all fits and returns scores and coefficients to show of the ratio that was chosen;
    ``errors`` have the shape (n_ratios, n_strengths, n_folds), the ``coefs`` of paths are sparse, of shape
    (n_features·n_outputs, n_strengths).
    """

    cv: Any = None
    verbose: Any = False
    progress: bool = False
    choose: str = "best"

    _own: ClassVar[dict[str, Parameter]] = {
        "n_jobs": Parameter([Integral, None], "int", "Folds side by side, in threads.")
    }
    warm_start: ClassVar[bool] = False  # type: ignore[misc]
    refit = True
    #: Name of the strength and of the errors in pictures.
    _strength, _measure = "alpha", "mean squared error"

    _grid: ClassVar[Any]
    _fold_errors: ClassVar[Any]
    _keep_paths: ClassVar[Any]

    def _cross_validate(self, data: Training, params: dict[str, Any], ratios: Sequence[float]) -> None:
        """Choose the strength (and ratio), then fit all samples."""
        folds = self._folds(data, params)
        problems = self._problems(data, ratios)
        grids, strengths = zip(*(self._grid(data, problem) for problem in problems), strict=True)
        states = list(zip(problems, ratios, strengths, strict=True))
        tasks = [partial(self._fold_path, data, weight, test, *state) for weight, test in folds for state in states]
        paths = side_by_side(tasks, self._settings().n_jobs, self.progress)
        fits = [found for found, _ in paths]
        warn_of_shortfalls(type(self).__name__, fits, f" of the {len(folds)} folds")
        errors = np.array([own for _, own in paths]).reshape(len(folds), len(ratios), -1).transpose(1, 2, 0)
        means = errors.mean(axis=2).T
        row, ratio = map(int, np.unravel_index(int(np.argmin(means)), means.shape))  # of equal ones the simplest
        if not math.isfinite(means[row, ratio]):
            raise ValueError(
                f"scoring must give finite numbers in every fold; the best mean score is {-means[row, ratio]:g}, and "
                "nothing can be chosen by it: use other folds or another score"
            )
        with np.errstate(over="ignore"):  # errors whose squares are beyond float64: every penalty is as good
            spread = errors[ratio, row].std(ddof=1) / math.sqrt(len(folds)) if len(folds) > 1 else 0.0
        simplest = int(np.flatnonzero(means[:, ratio] <= means[row, ratio] + spread)[0])
        chosen = simplest if self.choose == "1se" else row
        for name, place in (("", chosen), ("_best", row), ("_1se", simplest)):
            setattr(self, f"{self._strength}{name}_", float(grids[ratio][place]))
        if {"l1_ratio", "l1_ratios"} & set(self.get_params()):
            self.l1_ratio_ = float(ratios[ratio])
        if self.refit:
            self._fit_strength(data, problems[ratio], float(strengths[ratio][chosen]))
        self._curve = (grids[ratio], *self._keep_paths(fits, grids, errors, ratio))

    def _fold_path(
        self, data: Training, weight: Array, test: Array, problem: Any, ratio: float, strengths: Array
    ) -> tuple[Followed, Array]:
        """Return the fits of one fold and one l1_ratio, in the user's units, and the error of each."""
        train = data._replace(weight=weight)
        settings = replace(self._settings(), n_jobs=threads_here())
        found = self._follow(train, self._reweighed(train, problem, ratio), strengths, settings)
        coefs = found.coefs.reshape(data.X.shape[1], -1, strengths.size)
        constants = found.intercepts.reshape(-1, strengths.size)
        kept = sparse.csr_array(coefs.reshape(-1, strengths.size).T).T  # SciPy searches rows faster than columns
        return found._replace(coefs=kept, intercepts=constants), self._fold_errors(data, test, coefs, constants)

    def get_metadata_routing(self) -> Any:
        """Return where metadata go, for scikit-learn's metadata routing."""
        splitter = check_cv(self.cv, classifier=is_classifier(self))
        mapping = routing.MethodMapping().add(caller="fit", callee="split")
        return routing.MetadataRouter(owner=self).add_self_request(self).add(splitter=splitter, method_mapping=mapping)

    def _folds(self, data: Training, params: dict[str, Any]) -> list[tuple[Array, Array]]:
        """Return weights for fitting and the indices of the samples to score, for each fold of the splitter."""
        params = {name: to_numpy(given) for name, given in params.items()}
        X, weight, n = data.X, data.weight, data.X.shape[0]
        labels = vars(self)["classes_"][data.y] if is_classifier(self) else data.y
        cv = check_cv(self.cv, labels, classifier=is_classifier(self))
        takes_weights = weight is not None and routing.get_routing_for_object(cv).consumes("split", ["sample_weight"])
        routed = self._routed("fit", params, {"sample_weight": weight} if takes_weights else {}, "splitter", "split")
        # scikit-learn's own splitters only count the rows, but would convert a sparse matrix
        counts_rows = type(cv).__module__.startswith("sklearn.model_selection.")
        seen, indices = np.broadcast_to(0.0, (n, 1)) if counts_rows or not X.is_local else X.matrix, np.arange(n)
        try:
            splits = [tuple(np.atleast_1d(indices[part]) for part in pair) for pair in cv.split(seen, labels, **routed)]
        except (TypeError, ValueError, IndexError) as error:
            if self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
                raise
            raise ValueError(
                f"cv must be a number of folds, a splitter, or pairs of places (to fit, to score) among {n} samples; "
                f"got {short(self.cv)}: {error}"
            ) from error
        folds = []
        for train, test in splits:
            if not (train.size and test.size):
                fold = f"one has {train.size} and {test.size}"
                raise ValueError(f"cv must leave samples to fit and samples to score in every fold; {fold}")
            fitted = np.bincount(train, minlength=n) * (1.0 if weight is None else weight)  # samples may be repeated
            folds.append((fitted, test))
            if not fitted.any() or (weight is not None and not weight[test].any()):
                raise ValueError("sample_weight is zero for all samples of a fold: use other folds or drop the samples")
        if not folds:
            raise ValueError(f"cv must split the samples at least once; got {self.cv!r}")
        return folds

    def _routed(self, caller: str, params: dict[str, Any], known: dict[str, Any], to: str, callee: str) -> Any:
        """Return what metadata routing sends to a method of the splitter or scorer; ``known`` where it is off."""
        if get_config()["enable_metadata_routing"]:
            return routing.process_routing(self, caller, **known, **params)[to][callee]
        if params:
            raise ValueError(
                f"{type(self).__name__}.{caller} takes {', '.join(params)} with scikit-learn's metadata routing only: "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        return known

    def plot(self, axes: Any = None) -> Any:
        """Draw the cross-validation curve and, below it, the path of the coefficients; return the pair of axes."""
        import matplotlib.pyplot as plt

        strengths, errors, coefs = vars(self)["_curve"]
        name = self._strength
        marks = {"best": getattr(self, f"{name}_best_"), "one standard error": getattr(self, f"{name}_1se_")}
        if axes is None:
            axes = plt.figure(figsize=(7.0, 6.4), layout="constrained").subplots(2, 1, sharex=True)
        curve, lines = axes
        mean, folds = errors.mean(axis=1), errors.shape[1]
        spread = errors.std(axis=1, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros_like(mean)
        curve.plot(strengths, errors, color="C0", linewidth=0.7, alpha=0.35)
        curve.plot(strengths, mean, color="C0", label=f"mean of {folds} folds")
        curve.fill_between(strengths, mean - spread, mean + spread, color="C0", alpha=0.2, linewidth=0.0)
        largest = np.argsort(abs(coefs).max(axis=1).toarray().ravel())[::-1][:50]
        lines.plot(strengths, coefs.tocsr()[largest].toarray().T, linewidth=1.0)
        for number, (label, value) in enumerate(marks.items(), start=1):
            how = {"color": f"C{number}", "linestyle": "--", "linewidth": 1.2}
            curve.axvline(value, label=label, **how)
            lines.axvline(value, **how)
        scoring = getattr(self, "scoring", self._measure) or "accuracy"
        curve.set(xscale="log", ylabel=getattr(scoring, "__name__", scoring))
        lines.set(xscale="log", xlabel=name, ylabel="coefficients, mean over the folds")
        curve.legend(loc="best", framealpha=0.8)
        return axes


def side_by_side(tasks: Sequence[Callable[[], Result]], n_jobs: int, progress: bool) -> list[Result]:
    """Return the results of the tasks, in order, from ``n_jobs`` threads.

    Each task has one thread while there are enough of them; those that are left at the end share all threads.
    """
    results: list[Result] = []
    ended, full = Event(), len(tasks) - len(tasks) % n_jobs

    def look(now: Round) -> None:  # Ctrl-C is not delivered to other threads: it is raised in the solver's next round
        if ended.is_set():
            raise KeyboardInterrupt

    def run(threads: int, task: Callable[[], Result]) -> Result:
        with looking_on(look), use_threads(threads):
            return task()

    pool = ThreadPoolExecutor(n_jobs)
    try:
        with progress_bar(progress, len(tasks)) as show:
            for wave, threads in ((tasks[:full], 1), (tasks[full:], n_jobs // max(1, len(tasks) - full))):
                each = partial(run, threads)
                for result in map(each, wave) if n_jobs == 1 else pool.map(each, wave):
                    results.append(result)
                    if show:
                        show(len(results), float("nan"))
    finally:  # an error or Ctrl-C does not wait for the tasks that are left
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
    return results


def as_ratios(l1_ratio: Any, name: str = "l1_ratio") -> list[float]:
    """Return one number or several in [0, 1] as a list."""
    ratios: list[float] = as_finite_vector(np.atleast_1d(l1_ratio), name).tolist()
    if not ratios or min(ratios) < 0.0 or max(ratios) > 1.0:
        raise ValueError(f"{name} must be in [0, 1]; got {l1_ratio!r}")
    return ratios


@estimator
class PathCV(CrossValidated, LinearRegressor):
    """A path of alphas on every fold, one fit with the best."""

    eps: float = 1e-3
    alphas: Any = 100
    alpha: ClassVar[float] = 1.0  # type: ignore[misc]

    l1_ratio = 1.0
    #: The attribute that holds the errors of the folds.
    _error_path: ClassVar[str] = "mse_path_"
    _own: ClassVar[dict[str, Parameter]] = {"l1_ratio": RATIOS}
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
        self._cross_validate(self._read(X, y, sample_weight), params, as_ratios(self.l1_ratio))
        return self

    def _grid(self, data: Training, problem: Any) -> tuple[Array, Array]:
        values = alpha_grid(self, data, problem, self.alphas, self.eps)
        return values, values

    def _fold_errors(self, data: Training, test: Array, coefs: Array, constants: Array) -> Array:
        y, weight = data.y[test], None if data.weight is None else data.weight[test]
        predict = data.X.predictor(test, np.flatnonzero(coefs.any(axis=(1, 2))))
        if y.ndim == 1:
            known = 0.0 if data.offset is None else data.offset[test, None]
            return np.asarray(self._errors(y[:, None], predict(coefs[:, 0]) + constants + known, weight))
        # one alpha at a time: predictions of all would need much memory
        rows = (predict(coefs[..., k]) + constants[:, k] for k in range(constants.shape[1]))
        return np.array([self._errors(y, z, weight).mean() for z in rows])

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Any:
        """Return the errors of linear predictors, a column for each fit."""
        with np.errstate(over="ignore"):
            return np.average((z - y) ** 2, axis=0, weights=weight)

    def _keep_paths(self, paths: list[Followed], grids: list[Array], errors: Array, ratio: int) -> tuple[Array, Any]:
        setattr(self, self._error_path, np.squeeze(errors))
        self.alphas_ = grids[0] if len(grids) == 1 or not isinstance(self.alphas, Integral) else np.array(grids)
        fits = [one.coefs for one in paths[ratio :: len(grids)]]
        if isinstance(self, least_squares.MultiTaskElasticNet):  # norms over the targets
            dense = [one.toarray().reshape(self.n_features_in_, -1, grids[ratio].size) for one in fits]
            fits = [sparse.csc_array(np.hypot.reduce(one, axis=1)) for one in dense]  # squares may overflow
        self.coef_path_ = sparse.csc_matrix(sum(fits[1:], start=fits[0]) / len(fits))
        return errors[ratio], self.coef_path_


@estimator
class ElasticNetCV(PathCV, least_squares.ElasticNet):  # type: ignore[misc]
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

    _checks: ClassVar[dict[str, Any]] = {"y_numeric": True}


@estimator
class LassoCV(ElasticNetCV, least_squares.Lasso):  # type: ignore[misc]
    r"""Lasso with alpha chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from ascd import LassoCV
    >>> X, y = make_regression(n_features=20, n_informative=5, noise=4.0, random_state=0)
    >>> model = LassoCV(alphas=20, cv=5).fit(X, y)
    >>> model.mse_path_.shape, round(float(model.score(X, y)), 3)
    ((20, 5), 0.998)
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]
    verbose: Any = False
    path = staticmethod(least_squares.lasso_path)


@estimator
class SparseGroupLassoCV(PathCV, least_squares.SparseGroupLasso):
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


@estimator
class GroupLassoCV(SparseGroupLassoCV, least_squares.GroupLasso):
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
class MultiTaskElasticNetCV(PathCV, least_squares.MultiTaskElasticNet):
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


@estimator
class MultiTaskLassoCV(MultiTaskElasticNetCV, least_squares.MultiTaskLasso):
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

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **params: Any) -> Self:
        """Choose alpha by cross-validation and fit all samples with it."""
        self._cross_validate(self._read(X, y, sample_weight, offset), params, as_ratios(self.l1_ratio))
        return self

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Any:
        return half_deviance(y[:, 0], z, weight)


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

    def _errors(self, y: Array, z: Array, weight: Array | None) -> Any:
        return np.average(np.abs(z - y), axis=0, weights=weight)


@estimator
class RidgeCV(PathCV, least_squares.Ridge):  # type: ignore[misc]
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
    _checks: ClassVar[dict[str, Any]] = {"y_numeric": True}


@estimator
class ClassifierCV(CrossValidated, LinearClassifier):
    """A path of C on every fold, one fit with the best; folds are scored by any score of scikit-learn."""

    Cs: Any = 10
    scoring: Any = None
    C: ClassVar[float] = 1.0

    #: Weights of ``score`` are for the scorer: one that takes none is an error.
    __metadata_request__score = {"sample_weight": routing.UNUSED}  # noqa: RUF012
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
        "scoring": Parameter(
            [StrOptions(set(get_scorer_names())), callable, None], "str or callable", "Accuracy for None."
        )
    }

    def _choose_C(self, data: Training, params: dict[str, Any], ratios: list[float]) -> None:
        """Choose C; folds are scored with ``sample_weight`` unless scikit-learn's metadata routing says otherwise."""
        self.Cs_, known = as_Cs(self.Cs), {} if data.weight is None else {"sample_weight": data.weight}
        data = data._replace(score_params=self._routed("fit", params, known, "scorer", "score"))
        self._cross_validate(data, params, ratios)

    def _grid(self, data: Training, problem: Any) -> tuple[Array, Array]:
        return self.Cs_, 1.0 / self.Cs_

    def _keep_paths(self, paths: list[Followed], grids: list[Array], errors: Array, ratio: int) -> tuple[Array, Any]:
        scores = -errors
        self.scores_ = scores.transpose(2, 0, 1)
        shape, n, count = self.scores_.shape, self.n_features_in_, self.Cs_.size
        fits = [one.coefs.toarray().reshape(n, -1, count).transpose(2, 1, 0) for one in paths]
        if self.fit_intercept:
            pairs = zip(fits, paths, strict=True)
            fits = [np.concatenate([fit, one.intercepts.T[:, :, None]], axis=2) for fit, one in pairs]
        self.coefs_paths_ = np.reshape(fits, (*shape, *fits[0].shape[1:]))
        self.n_iter_ = np.reshape([np.maximum(1, one.n_iters) for one in paths], shape).astype(np.int32)
        shown = self.coefs_paths_[:, ratio].mean(axis=0)[..., :n]
        return scores[ratio], sparse.csc_matrix(shown.reshape(count, -1).T)

    def _fold_errors(self, data: Training, test: Array, coefs: Array, constants: Array) -> Array:
        """Return the score of each C, less than 0, for the samples that a fold leaves out."""
        X, offset, classes = data.X, data.offset, self.classes_
        if len(classes) == 2 and classes[1] != 1 and not callable(self.scoring):
            classes = np.arange(2)  # for scores of scikit-learn the class 1 is the positive one
        labels = classes[data.y[test]]
        chosen = {name: np.asarray(values)[test] for name, values in (data.score_params or {}).items()}
        has_rows = X.is_local and offset is None
        if has_rows:
            rows = X.matrix.tocsr() if sparse.issparse(X.matrix) else X.matrix
            rows = rows[test]
        else:
            predict = X.predictor(test, np.flatnonzero(coefs.any(axis=(1, 2))))
        scorer, scores, lacks_class = self._get_scorer(), [], np.unique(labels).size < len(classes)
        for k in range(coefs.shape[2]):
            if has_rows:
                model, features = self._stand_in(coefs[:, :, k].T, constants[:, k], classes), rows
            else:
                features = predict(coefs[:, :, k]) + (0.0 if offset is None else offset[test, None])
                model = self._stand_in(np.eye(features.shape[1]), constants[:, k], classes)
            if lacks_class:  # scores that can take all classes get them
                try:
                    with config_context(enable_metadata_routing=True):
                        score = scorer(model, features, labels, labels=classes, **chosen)
                except TypeError:
                    lacks_class = False
            if not lacks_class:
                score = scorer(model, features, labels, **chosen)
            score = score.item() if np.size(score) == 1 and hasattr(score, "item") else score
            if not isinstance(score, Real):
                raise ValueError(f"scoring must give a number for the samples of a fold; got {score!r}")
            scores.append(-float(score))
        return np.array(scores)

    def _stand_in(self, coef: Array, constants: Array, classes: Array) -> LinearClassifier:
        """Return a model with these coefficients; its features may be linear predictors, and ``coef`` ones."""
        model = self._plain()
        model.coef_, model.intercept_, model.classes_ = coef, constants, classes
        model.n_features_in_ = len(coef.T)
        return model

    def _get_scorer(self) -> Any:
        return get_scorer(self.scoring or "accuracy")

    def get_metadata_routing(self) -> Any:
        """Return where metadata go, for scikit-learn's metadata routing."""
        mapping = routing.MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        return super().get_metadata_routing().add(scorer=self._get_scorer(), method_mapping=mapping)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """Return the score by ``scoring``; ``score_params`` go to the scorer, with scikit-learn's metadata routing."""
        return self._score(X, y, sample_weight, score_params)

    def _score(self, X: Any, y: Any, sample_weight: Any, score_params: dict[str, Any], offset: Any = None) -> float:
        known = {} if sample_weight is None else {"sample_weight": sample_weight}
        known = self._routed("score", score_params, known, "scorer", "score")
        model: Any = self
        known = {name: to_numpy(given) for name, given in known.items()}
        if is_outside(X) or offset is not None:  # the predictors are the features then
            z = to_numpy(self._scores(X, offset))
            X = z.reshape(len(z), -1)
            model = self._stand_in(np.eye(X.shape[1]), np.zeros(X.shape[1]), self.classes_)
        return float(self._get_scorer()(model, X, to_numpy(y), **known))


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
        ratios = self.l1_ratios
        if ratios is None or self.penalty not in ("deprecated", "elasticnet"):
            ratios = [] if self.penalty == "elasticnet" else as_ratio(self.penalty, None)
        self.l1_ratios_ = np.array(as_ratios(ratios, "l1_ratios"))
        self._choose_C(self._read(X, y, sample_weight, offset), params, self.l1_ratios_.tolist())
        return self

    def _follow(
        self, data: Training, problem: Any, strengths: Array, settings: Settings, x0: Array | None = None
    ) -> Followed:
        """Fit a fold; a class that it lacks has coefficients of 0 and an intercept far below the others'."""
        weight: Any = data.balanced_weight
        present, count = np.unique(data.y[weight > 0.0]), len(self.classes_)
        if present.size == count or not self.fit_intercept:
            return super()._follow(data, problem, strengths, settings, x0)
        coefs, constants = np.zeros((data.X.shape[1], count, strengths.size)), np.zeros((count, strengths.size))
        zero = np.zeros(strengths.size)
        found = Followed(coefs, constants, zero, zero.astype(int), 0.0, Status.CONVERGED)
        if present.size > 1:
            codes = np.searchsorted(present, data.y).clip(max=present.size - 1)  # others have weight 0
            others = LinearModel._problem(self, data._replace(y=codes, offset=None), problem.penalty, "softmax")
            found = super()._follow(data, others, strengths, settings)
            coefs[:, present], constants[present] = found.coefs, found.intercepts
        absent = np.setdiff1d(np.arange(count), present)
        constants[absent] = constants[present].min(axis=0) - 100.0  # log-odds: its probability is 1e-44
        if count == 2:
            coefs, constants = coefs[:, 1], constants[1] - constants[0]
        return found._replace(coefs=coefs, intercepts=constants)

    def _keep_paths(self, paths: list[Followed], grids: list[Array], errors: Array, ratio: int) -> tuple[Array, Any]:
        """Without ``refit`` keep coefficients, C and l1_ratio as the mean of each fold's best."""
        shown = super()._keep_paths(paths, grids, errors, ratio)
        if not self.refit:
            n_folds, n_ratios, n_cs = self.scores_.shape
            best = self.scores_.swapaxes(1, 2).reshape(n_folds, -1).argmax(axis=1)
            rows, ratios = np.unravel_index(best, (n_cs, n_ratios))
            mean = self.coefs_paths_[np.arange(n_folds), ratios, rows].mean(axis=0)
            self.coef_ = np.ascontiguousarray(mean[:, : self.n_features_in_])
            self.intercept_ = mean[:, -1] if self.fit_intercept else np.zeros(len(mean))
            self.C_, self.l1_ratio_ = float(self.Cs_[rows].mean()), float(np.mean(self.l1_ratios_[ratios]))
        return shown

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
