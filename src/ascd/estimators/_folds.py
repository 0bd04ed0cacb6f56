"""One cross-validation for every estimator: a path on each fold, side by side, and one fit with the chosen strength.

A fold is the same matrix with weight 0 on the samples that are left out for scoring, so nothing is copied.  Folds run
in threads (the kernels release the interpreter's lock) and share the matrix.

Where the data go out of reach, the strength is chosen by the folds that are done, and the model is the mean of their
fits: nothing is proved of it, and its status says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Integral
from reprlib import repr as short
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing

from ascd._core.checks import Array, as_finite_vector
from ascd._core.threads import use_threads
from ascd.estimators import _tuning as tuning
from ascd.estimators._certificate import ADVICE, frames_to_the_user, warn_of_convergence
from ascd.estimators._data import Training, rows_only
from ascd.estimators._parameters import Parameter, estimator
from ascd.estimators.paths import warn_of_shortfalls
from ascd.matrix.base import DataGone
from ascd.results.limits import hearing_of_losses, tell_of_loss
from ascd.results.progress import Round, looking_on, progress_bar
from ascd.results.solution import Status

Result = TypeVar("Result")


class Fold(NamedTuple):
    """Weights for fitting, and the indices of the samples to score with their weights."""

    train: Array
    test: Array
    test_weight: Array | None


class Folds(NamedTuple):
    """How many folds of a cross-validation are done, and the error that ended it before all were."""

    done: int
    wanted: int
    lost: DataGone | None


@estimator
class CrossValidated:
    """Parameters, splitting, metadata routing and the order of events of a cross-validation."""

    cv: Any = None
    verbose: Any = False
    progress: bool = False
    choose: str = "best"

    _own: ClassVar[dict[str, Parameter]] = {
        "n_jobs": Parameter([Integral, None], "int", "Folds side by side, in threads.")
    }
    _is_classification: ClassVar[bool] = False

    if TYPE_CHECKING:

        def _settings(self) -> Any: ...

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

    def _fit_folds(
        self, data: Training, folds: list[Fold], n_ratios: int, fit: Callable[[Fold, int], Any]
    ) -> tuple[list[Any], Folds]:
        """Return ``fit(fold, number of the ratio)`` of all folds that could be done, fold by fold."""
        tasks = [partial(fit, fold, number) for fold in folds for number in range(n_ratios)]
        samples = data.X.shape[0] if data.X.is_local else 0
        found, lost = side_by_side(tasks, self._settings().n_jobs, self.progress, samples)
        done = len(found) // n_ratios
        if lost is not None and done == 0:
            raise DataGone(f"{lost}. No fold of the cross-validation was done: there is nothing to return") from lost
        found = found[: done * n_ratios]
        warn_of_shortfalls(type(self).__name__, [one.short for one in found], f" of the {done} folds")
        return found, Folds(done, len(folds), lost)

    def _finish(self, folds: Folds, fit: Callable[[], Any], keep: Callable[[Any], None], keep_mean: Any) -> None:
        """Fit all samples and keep the solution, or the mean of the folds' where the data are lost."""
        solution, folds = last_fit(folds, fit)
        if solution is not None:
            keep(solution)
            return
        keep_mean()
        warn_of_convergence(
            f"{folds.lost}. {type(self).__name__} stopped early (unreachable): {folds.done} of {folds.wanted} folds "
            "were done, the fit to all samples was not. The penalty is chosen by these folds, the coefficients are the "
            f"mean of theirs, and nothing is proved of them. {ADVICE[Status.UNREACHABLE]}"
        )


def last_fit(folds: Folds, fit: Callable[[], Result]) -> tuple[Result | None, Folds]:
    """Return the fit to all samples; None where the data are lost before it has moved from its start."""
    if folds.lost is not None:
        return None, folds
    with hearing_of_losses() as heard:
        try:
            found: Any = fit()
        except DataGone as error:
            return None, folds._replace(lost=error)
    if heard and not found.x.any():
        return None, folds._replace(lost=heard[0])
    if heard:
        tell_of_loss(heard[0], frames_to_the_user())
    return found, folds


def mean_of(values: list[Any]) -> Any:
    """Return the mean of arrays or sparse matrices."""
    return sum(values[1:], start=values[0]) / len(values)


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


def side_by_side(
    tasks: Sequence[Callable[[], Result]], n_jobs: int, progress: bool, samples: int = 0
) -> tuple[list[Result], DataGone | None]:
    """Return the results of the tasks, in order, from ``n_jobs`` threads, and the error where the data get lost.

    Each task has one thread while there are enough of them; those that are left at the end share all threads.  With so
    many samples in memory that their vectors displace each other from the cache, tasks run in turn on all threads.
    """
    results: list[Result] = []
    ended = Event()
    in_turn = n_jobs <= 1 or (n_jobs < len(tasks) and n_jobs * samples > tuning.MOST_IN_CACHE)
    full = 0 if in_turn else len(tasks) - len(tasks) % n_jobs
    waves = [(wave, n_jobs // max(1, 1 if in_turn else len(wave))) for wave in (tasks[:full], tasks[full:])]
    pool = ThreadPoolExecutor(max(1, min(n_jobs, len(tasks))))
    try:
        with progress_bar(progress, len(tasks)) as show:
            for wave, threads in waves:
                each = partial(_with_threads, max(1, threads))
                for result in map(each, wave) if in_turn else pool.map(partial(_until, ended, each), wave):
                    results.append(result)
                    show(len(results), float("nan"))
    except DataGone as error:
        return results, error
    finally:  # an error or Ctrl-C does not wait for the tasks that are left
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
    return results, None


def _with_threads(threads: int, task: Callable[[], Result]) -> Result:
    with use_threads(threads):
        return task()


def _until(ended: Event, run: Callable[[Any], Result], task: Any) -> Result:
    """Run a task in a thread, where Ctrl-C is not delivered: it is raised in the solver's next round."""

    def look(now: Round) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    with looking_on(look):
        return run(task)


def mean_squares(residuals: Array, weight: Array | None) -> Array:
    """Return the mean square of residuals over the samples of a fold, which are their first axis.

    Examples
    --------
    >>> import numpy as np
    >>> mean_squares(np.array([[1.0, 0.0], [3.0, 2.0]]), None)
    array([5., 2.])
    """
    with np.errstate(over="ignore"):
        squares: Array = np.average(residuals**2, axis=0, weights=weight)
    if not np.isfinite(squares).all():
        raise ValueError(
            "y must not hold such large values: squares of what predictions miss it by overflow float64, the largest "
            f"is {np.abs(residuals).max():g}"
        )
    return squares


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


def as_ratios(l1_ratio: Any) -> list[float]:
    """Return one number or several in [0, 1] as a list."""
    ratios: list[float] = as_finite_vector(np.atleast_1d(l1_ratio), "l1_ratio").tolist()
    if not ratios or min(ratios) < 0.0 or max(ratios) > 1.0:
        raise ValueError(f"l1_ratio must be in [0, 1]; got {l1_ratio!r}")
    return ratios


def plot_cross_validation(
    strengths: Array, errors: Array, coefs: Any, marks: Mapping[str, float], name: str, measure: str, axes: Any = None
) -> Any:
    """Draw errors of all folds with mean and standard error above, coefficients below, on one logarithmic axis."""
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.figure(figsize=(7.0, 6.4), layout="constrained").subplots(2, 1, sharex=True)
    curve, lines = axes
    mean, folds = errors.mean(axis=1), errors.shape[1]
    spread = errors.std(axis=1, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros_like(mean)
    curve.plot(strengths, errors, color="C0", linewidth=0.7, alpha=0.35)
    curve.plot(strengths, mean, color="C0", label=f"mean of {folds} folds")
    curve.fill_between(strengths, mean - spread, mean + spread, color="C0", alpha=0.2, linewidth=0.0)
    largest = np.argsort(abs(coefs).max(axis=1).toarray().ravel())[::-1][: tuning.MOST_LINES]
    lines.plot(strengths, coefs.tocsr()[largest].toarray().T, linewidth=1.0)
    for number, (label, value) in enumerate(marks.items(), start=1):
        for ax in (curve, lines):
            ax.axvline(value, color=f"C{number}", linestyle="--", linewidth=1.2, label=label if ax is curve else None)
    curve.set(xscale="log", ylabel=measure)
    lines.set(xscale="log", xlabel=name, ylabel="coefficients, mean over the folds")
    curve.legend(loc="best", framealpha=0.8)
    return axes
