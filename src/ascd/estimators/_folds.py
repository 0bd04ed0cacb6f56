"""Cross-validation without copies: a fold is the same matrix with weight 0 on the samples it holds out.

Folds run side by side in threads (the kernels release the interpreter's lock) and share the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Integral
from reprlib import repr as short
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object, process_routing

from ascd._core.checks import Array
from ascd._core.threads import crew
from ascd.estimators import _tuning as tuning
from ascd.estimators._elsewhere import is_elsewhere, row_count_only
from ascd.matrix.base import DataGone
from ascd.results.progress import Round, looking_on, progress_bar

Result = TypeVar("Result")


class Fold(NamedTuple):
    """Weights for fitting, and the samples to score with their weights."""

    train: Array
    test: Array
    test_weight: Array | None


class SplitterRouting:
    """Parameters of ``fit`` that belong to the splitter of ``cv``, such as groups, with scikit-learn's routing."""

    _is_classification = False
    cv: Any

    def get_metadata_routing(self) -> Any:
        """Where metadata go, for scikit-learn's metadata routing.

        Returns
        -------
        MetadataRouter
        """
        splitter = check_cv(self.cv, classifier=self._is_classification)
        mapping = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(splitter=splitter, method_mapping=mapping)

    def _folds(self, X: Any, y: Array, weight: Array | None, params: dict[str, Any]) -> list[Fold]:
        _raise_for_params(params, self, "fit")
        cv = check_cv(self.cv, y, classifier=self._is_classification)
        routed: dict[str, Any] = {}
        if _routing_enabled():
            takes_weights = get_routing_for_object(cv).consumes("split", ["sample_weight"])
            known = {"sample_weight": weight} if weight is not None and takes_weights else {}
            routed = process_routing(self, "fit", **known, **params).splitter.split
        n = X.shape[0]
        folds = [_as_fold(train, test, n, weight) for train, test in self._splits(cv, X, y, routed)]
        if not folds:
            raise ValueError(f"cv must split the samples at least once; got {self.cv!r}")
        return folds

    def _splits(self, cv: Any, X: Any, y: Array, routed: dict[str, Any]) -> list[tuple[Array, Array]]:
        """The places of the samples to fit and of those to score, of every fold."""
        places = np.arange(X.shape[0])
        try:
            splits = cv.split(_seen_by(cv, X), y, **routed)
            return [(np.atleast_1d(places[train]), np.atleast_1d(places[test])) for train, test in splits]
        except (TypeError, ValueError, IndexError) as error:
            if self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"):
                raise
            raise ValueError(
                f"cv must be a number of folds, a splitter, or pairs of places (to fit, to score) among {places.size} "
                f"samples; got {short(self.cv)}: {error}"
            ) from error


def _seen_by(cv: Any, X: Any) -> Any:
    """What a splitter gets for X: scikit-learn's own only count the rows, but would copy sparse columns to rows."""
    asks_for_rows = type(cv).__module__.startswith("sklearn.model_selection.")
    return row_count_only(X.shape[0]) if asks_for_rows or is_elsewhere(X) else X


def _as_fold(train: Array, test: Array, n: int, weight: Array | None) -> Fold:
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
    tasks: Sequence[Callable[[], Result]], n_jobs: int, progress: bool, X: Any = None
) -> tuple[list[Result], DataGone | None]:
    """The results of the tasks, in order, from ``n_jobs`` threads; where the data get lost, those before, and why.

    A thread a task while there are enough of them; those that are left at the end share all threads.  Where X
    is here and has so many samples that vectors of them take the cache from each other, all share one after the other.
    """
    results: list[Result] = []
    ended = Event()
    samples = 0 if X is None or is_elsewhere(X) else X.shape[0]
    in_turns = n_jobs <= 1 or (n_jobs < len(tasks) and n_jobs * samples > tuning.MOST_IN_CACHE)
    full = 0 if in_turns else len(tasks) - len(tasks) % n_jobs
    waves = [(wave, n_jobs // max(1, 1 if in_turns else len(wave))) for wave in (tasks[:full], tasks[full:])]
    pool = ThreadPoolExecutor(max(1, min(n_jobs, len(tasks))))
    try:
        with progress_bar(progress, len(tasks)) as show:
            for wave, threads in waves:
                each = partial(_with_threads, max(1, threads))
                for result in map(each, wave) if in_turns else pool.map(partial(_until, ended, each), wave):
                    results.append(result)
                    show(len(results), float("nan"))
    except DataGone as error:
        return results, error
    finally:  # an error or Ctrl-C does not wait for the tasks that are left
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)
    return results, None


def _with_threads(threads: int, task: Callable[[], Result]) -> Result:
    with crew(threads):
        return task()


def _until(ended: Event, run: Callable[[Any], Result], task: Any) -> Result:
    """Run a task in a thread, which does not hear Ctrl-C: it is told in the next round."""

    def look(now: Round) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    with looking_on(look):
        return run(task)


def mean_squares(residuals: Array, weight: Array | None) -> Array:
    """The mean square of residuals over the samples of a fold, which are their first axis.

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
    """The first of the rows (simplest first) whose mean error is within one standard error of the best row's.

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
