"""Data that went out of reach during a run: the run ends with the best point so far, and somebody is told why.

That is the user, by a warning, unless a caller wants to hear of it and knows better what comes of it: a
cross-validation does, whose paths are means to an end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ascd.matrix.base import DataGone

_listener: ContextVar[Callable[[DataGone], None] | None] = ContextVar("who hears of lost data", default=None)


@contextmanager
def hearing_of_losses() -> Iterator[list[DataGone]]:
    """Yield a list that gets the errors of the runs inside, about which nobody else is told."""
    heard: list[DataGone] = []
    token = _listener.set(heard.append)
    try:
        yield heard
    finally:
        _listener.reset(token)


def tell_of_loss(error: DataGone, stacklevel: int = 2) -> None:
    """The best point so far is returned; why, the caller hears, or the user."""
    hear = _listener.get()
    if hear is not None:
        hear(error)
        return
    warnings.warn(f"{error}. The best point so far is returned", RuntimeWarning, stacklevel=stacklevel + 1)
