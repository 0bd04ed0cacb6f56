"""One cross-validation for every estimator: a path on each fold, side by side, and one fit with the chosen strength.

A fold is the same matrix with weight 0 on the samples that are left out for scoring, so nothing is copied.  Folds run
in threads (the kernels release the interpreter's lock) and share the matrix.  Penalties fall along a path, so the first
fit is the simplest one; what an estimator adds is its grid of strengths and the error of its predictions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Integral
from reprlib import repr as short
from threading import Event
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing

from ascd._core.checks import Array, as_finite_vector
from ascd._core.threads import threads_here, use_threads
from ascd.estimators._base import LinearModel
from ascd.estimators._data import Training, rows_only, sparse_columns
from ascd.estimators._parameters import Parameter, estimator
from ascd.estimators.paths import Shortfall, shortfall, warn_of_shortfalls
from ascd.results import Round, looking_on, progress_bar

Result = TypeVar("Result")


class Fold(NamedTuple):
    """Weights for fitting, and the indices of the samples to score with their weights."""

    train: Array
    test: Array
    test_weight: Array | None


class FoldPath(NamedTuple):
    """One fold and one l1_ratio: an error, coefficients, intercepts and iterations for each strength.

    ``coefs`` are a sparse matrix of shape (n_features·n_outputs, n_strengths); ``short`` counts fits that missed tol.
    """

    errors: Array
    coefs: Any
    constants: Array
    n_iters: Array
    short: Shortfall


@estimator
class CrossValidated(LinearModel):
    """A path of strengths on every fold, and one fit with the best."""

    cv: Any = None
    verbose: Any = False
    progress: bool = False
    choose: str = "best"

    _own: ClassVar[dict[str, Parameter]] = {
        "n_jobs": Parameter([Integral, None], "int", "Folds side by side, in threads.")
    }
    warm_start: ClassVar[bool] = False  # type: ignore[misc]
    _is_classification: ClassVar[bool] = False
    #: Name of the strength and of the errors in pictures.
    _strength, _measure = "alpha", "mean squared error"

    # ---- what an estimator adds

    def _grid(self, problem: Any, factor: float) -> Array:
        """Return the values to choose from, in the user's units, from strong to weak penalties."""
        raise NotImplementedError

    def _strengths(self, values: Array) -> Array:
        """Return the strengths of the penalty that these values mean."""
        return values

    def _fold_errors(self, data: Training, fold: Fold, coefs: Array, constants: Array) -> Array:
        """Return the error of each fit for the samples that a fold leaves out.

        ``coefs`` have the shape (n_features, n_outputs, n_strengths), ``constants`` (n_outputs, n_strengths).
        """
        raise NotImplementedError

    def _keep_paths(self, paths: list[FoldPath], grids: list[Array], errors: Array, ratio: int) -> tuple[Array, Any]:
        """Set the attributes of all fits; return scores and coefficients to show of the ratio that was chosen.

        ``errors`` have the shape (n_ratios, n_strengths, n_folds), the sparse coefficients (n_features, n_strengths).
        """
        raise NotImplementedError

    # ---- the order of events

    def _cross_validate(self, data: Training, labels: Array, params: dict[str, Any], ratios: Sequence[float]) -> None:
        """Choose the strength (and ratio), then fit all samples."""
        folds, factor = self._folds(data, labels, params), self._units(data.total)[0]
        problems = self._problems(data, ratios)
        grids = [self._grid(problem, factor) for problem in problems]

        def fit_fold(fold: Fold, number: int) -> FoldPath:
            problem = self._reweighed(data._replace(weight=fold.train), problems[number], ratios[number])
            return self._fold_path(data, problem, fold, self._strengths(grids[number]))

        tasks = [partial(fit_fold, fold, number) for fold in folds for number in range(len(ratios))]
        paths = side_by_side(tasks, self._settings().n_jobs, self.progress)
        warn_of_shortfalls(type(self).__name__, [one.short for one in paths], f" of the {len(folds)} folds")
        errors = np.array([one.errors for one in paths]).reshape(len(folds), len(ratios), -1).transpose(1, 2, 0)
        means = errors.mean(axis=2).T
        row, ratio = map(int, np.unravel_index(int(np.argmin(means)), means.shape))  # of equal ones the simplest
        if not math.isfinite(means[row, ratio]):
            raise ValueError(
                f"scoring must give finite numbers in every fold; the best mean score is {-means[row, ratio]:g}, and "
                "nothing can be chosen by it: use other folds or another score"
            )
        simplest = simplest_within_one_error(errors[ratio], row)
        chosen = simplest if self.choose == "1se" else row
        for name, place in (("", chosen), ("_best", row), ("_1se", simplest)):
            setattr(self, f"{self._strength}{name}_", float(grids[ratio][place]))
        if {"l1_ratio", "l1_ratios"} & set(self._get_param_names()):
            self.l1_ratio_ = float(ratios[ratio])
        self._curve = (grids[ratio], *self._keep_paths(paths, grids, errors, ratio))
        self._fit_last(data, problems[ratio], float(self._strengths(grids[ratio])[chosen]))

    def _fold_path(self, data: Training, problem: Any, fold: Fold, strengths: Array) -> FoldPath:
        train, count = data._replace(weight=fold.train), strengths.size
        settings = replace(self._settings(), tol=self.tol, n_jobs=threads_here())
        found = self._follow(train, problem, strengths, settings)
        coefs, constants = found.coefs.reshape(data.X.shape[1], -1, count), found.intercepts.reshape(-1, count)
        missed = shortfall(found, self._units(train.total)[1])
        flat = coefs.reshape(-1, count)
        kept = sparse_columns(flat) if coefs.shape[1] == 1 else sparse.csc_array(flat)
        return FoldPath(self._fold_errors(data, fold, coefs, constants), kept, constants, found.n_iters, missed)

    def _fit_last(self, data: Training, problem: Any, strength: float) -> None:
        """Fit all samples and keep the solution."""
        factor, unit = self._units(data.total)
        self._fit_problem(data, self._scaled(problem, strength * factor), unit)

    # ---- folds

    def get_metadata_routing(self) -> Any:
        """Return where metadata go, for scikit-learn's metadata routing."""
        splitter = check_cv(self.cv, classifier=self._is_classification)
        mapping = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(splitter=splitter, method_mapping=mapping)

    def _folds(self, data: Training, labels: Array, params: dict[str, Any]) -> list[Fold]:
        _raise_for_params(params, self, "fit")
        cv = check_cv(self.cv, labels, classifier=self._is_classification)
        routed: dict[str, Any] = {}
        if _routing_enabled():
            takes_weights = get_routing_for_object(cv).consumes("split", ["sample_weight"])
            known = {"sample_weight": data.weight} if data.weight is not None and takes_weights else {}
            routed = process_routing(self, "fit", **known, **params).splitter.split
        n = data.X.shape[0]
        folds = [as_fold(train, test, n, data.weight) for train, test in self._splits(cv, data, labels, routed)]
        if not folds:
            raise ValueError(f"cv must split the samples at least once; got {self.cv!r}")
        return folds

    def _splits(self, cv: Any, data: Training, labels: Array, routed: dict[str, Any]) -> list[tuple[Array, Array]]:
        """Return the indices of the samples to fit and of those to score, for every fold."""
        indices = np.arange(data.X.shape[0])
        try:
            splits = cv.split(seen_by(cv, data.X), labels, **routed)
            return [(np.atleast_1d(indices[train]), np.atleast_1d(indices[test])) for train, test in splits]
        except (TypeError, ValueError, IndexError) as error:
            if self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
                raise
            raise ValueError(
                f"cv must be a number of folds, a splitter, or pairs of places (to fit, to score) among {indices.size} "
                f"samples; got {short(self.cv)}: {error}"
            ) from error

    # ---- pictures

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
        curve.set(xscale="log", ylabel=self._measure)
        lines.set(xscale="log", xlabel=name, ylabel="coefficients, mean over the folds")
        curve.legend(loc="best", framealpha=0.8)
        return axes


def seen_by(cv: Any, X: Any) -> Any:
    """Return X as a splitter gets it: scikit-learn's own only count the rows, but would convert a sparse matrix."""
    counts_rows = type(cv).__module__.startswith("sklearn.model_selection.")
    return rows_only(X.shape[0]) if counts_rows or not X.is_local else X.matrix


def as_fold(train: Array, test: Array, n: int, weight: Array | None) -> Fold:
    """Return a fold from indices of the samples to fit, possibly repeated, and to score."""
    if not (train.size and test.size):
        raise ValueError(
            f"cv must leave samples to fit and samples to score in every fold; one has {train.size} and {test.size}"
        )
    counts = np.bincount(train, minlength=n).astype(float)  # a splitter may draw a sample more than once
    fold = Fold(counts if weight is None else counts * weight, test, None if weight is None else weight[test])
    if not fold.train.any() or (fold.test_weight is not None and not fold.test_weight.any()):
        raise ValueError("sample_weight is zero for all samples of a fold: use other folds or remove these samples")
    return fold


def side_by_side(tasks: Sequence[Callable[[], Result]], n_jobs: int, progress: bool) -> list[Result]:
    """Return the results of the tasks, in order, from ``n_jobs`` threads.

    Each task has one thread while there are enough of them; those that are left at the end share all threads.
    """
    results: list[Result] = []
    ended = Event()
    full = len(tasks) - len(tasks) % n_jobs
    pool = ThreadPoolExecutor(n_jobs)
    try:
        with progress_bar(progress, len(tasks)) as show:
            for wave, threads in ((tasks[:full], 1), (tasks[full:], n_jobs // max(1, len(tasks) - full))):
                each = partial(_until, ended, threads)
                for result in map(each, wave) if n_jobs == 1 else pool.map(each, wave):
                    results.append(result)
                    show(len(results), float("nan"))
    finally:  # an error or Ctrl-C does not wait for the tasks that are left
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
    return results


def _until(ended: Event, threads: int, task: Callable[[], Result]) -> Result:
    """Run a task; in other threads, where Ctrl-C is not delivered, it is raised in the solver's next round."""

    def look(now: Round) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    with looking_on(look), use_threads(threads):
        return task()


def simplest_within_one_error(errors: Array, best: int) -> int:
    """Return the first of the rows (simplest first) whose mean error is within one standard error of the best row's.

    Examples
    --------
    >>> import numpy as np
    >>> simplest_within_one_error(np.array([[3.0, 5.0], [2.0, 2.4], [1.0, 3.0]]), best=2)
    1
    """
    means = errors.mean(axis=1)
    folds = errors.shape[1]
    with np.errstate(over="ignore"):  # errors whose squares are beyond float64: every penalty is as good
        spread = errors[best].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    return int(np.flatnonzero(means <= means[best] + spread)[0])


def as_ratios(l1_ratio: Any, name: str = "l1_ratio") -> list[float]:
    """Return one number or several in [0, 1] as a list."""
    ratios: list[float] = as_finite_vector(np.atleast_1d(l1_ratio), name).tolist()
    if not ratios or min(ratios) < 0.0 or max(ratios) > 1.0:
        raise ValueError(f"{name} must be in [0, 1]; got {l1_ratio!r}")
    return ratios
