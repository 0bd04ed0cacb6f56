"""When a run has to end: limits that the user sets, and an objective that falls without end."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ascd._core.checks import as_count, as_number

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
