"""A cross-validation whose data went out of reach: what the folds that are done tell.

The penalty is chosen by their scores, and the model is the mean of their fits for it: no sample can be read any more
for a fit to all.  Nothing is proved of it, and its status says so.  Without one fold there is an error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sklearn.exceptions import ConvergenceWarning

from ascd.estimators._fitting import ADVICE, Certificate, frames_to_the_user
from ascd.matrix.base import DataGone
from ascd.results.lost import hearing_of_losses, tell_of_loss
from ascd.results.solution import Status

Result = TypeVar("Result")
#: Of a model for which no fit to all samples was done.
UNPROVED = Certificate(math.inf, math.nan, math.nan, Status.UNREACHABLE, columns_read=0, n_iter=0, seconds=0.0)


class Folds(NamedTuple):
    """How many folds of a cross-validation are done, and what has ended it before all of it was."""

    done: int
    wanted: int
    lost: DataGone | None


def whole_folds(found: list[Result], lost: DataGone | None, wanted: int, ratios: int) -> tuple[list[Result], Folds]:
    """The results of those folds that are done for all ratios, one after the other; an error where there are none."""
    done = len(found) // ratios
    if lost is not None and done == 0:
        raise DataGone(f"{lost}. No fold of the cross-validation was done: there is nothing to return") from lost
    return found[: done * ratios], Folds(done, wanted, lost)


def mean_of(values: list[Any]) -> Any:
    """Of arrays or sparse matrices."""
    return sum(values[1:], start=values[0]) / len(values)


def last_fit(folds: Folds, fit: Callable[[], Result]) -> tuple[Result | None, Folds]:
    """The fit to all samples; None where the data are lost before it has moved from its start."""
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


def warn_of_mean(name: str, folds: Folds) -> None:
    """A ``ConvergenceWarning`` about a model that is the mean of the folds' fits."""
    warnings.warn(
        f"{folds.lost}. {name} stopped early (unreachable): {folds.done} of {folds.wanted} folds were done, the fit to "
        "all samples was not. The penalty is chosen by these folds, the coefficients are the mean of theirs, and "
        f"nothing is proved of them. {ADVICE[Status.UNREACHABLE]}",
        ConvergenceWarning,
        stacklevel=frames_to_the_user(),
    )
