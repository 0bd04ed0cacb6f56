"""Why a run has to end: limits that the user sets, an objective that falls without end, data that are lost."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ascd._core.checks import as_count, as_number
from ascd.matrix.base import DataGone

#: An objective that has fallen this far, relative to where it started, has no minimum.
BOTTOMLESS = -1e15


class Limits(NamedTuple):
    """Iterations (coordinate steps or rounds) and seconds."""

    max_iter: int
    max_time: float


def as_limits(max_iter: Any, max_time: Any) -> Limits:
    """The limits that a user passed; no ``max_time`` is endless.

    Examples
    --------
    >>> from ascd.results.limits import as_limits
    >>> as_limits(10, None)
    Limits(max_iter=10, max_time=inf)
    """
    seconds = math.inf if max_time is None else as_number(max_time, "max_time", low=0.0)
    return Limits(as_count(max_iter, "max_iter", low=0), seconds)


def has_no_minimum(objective: float, start: float) -> bool:
    """Has the objective left the finite numbers, or fallen without end?"""
    return not math.isfinite(objective) or objective < BOTTOMLESS * (1.0 + abs(start))


_listener: ContextVar[Callable[[DataGone], None] | None] = ContextVar("who hears of lost data", default=None)


@contextmanager
def hearing_of_losses() -> Iterator[list[DataGone]]:
    """Yield a list that gets the errors of the runs inside instead of warnings, for callers that handle them."""
    heard: list[DataGone] = []
    token = _listener.set(heard.append)
    try:
        yield heard
    finally:
        _listener.reset(token)


def tell_of_loss(error: DataGone, stacklevel: int = 2) -> None:
    """Report that the best point so far is returned because data were lost: to the caller above, or as a warning."""
    hear = _listener.get()
    if hear is not None:
        hear(error)
        return
    warnings.warn(f"{error}. The best point so far is returned", RuntimeWarning, stacklevel=stacklevel + 1)
