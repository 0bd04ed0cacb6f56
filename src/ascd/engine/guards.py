"""Parts of the user's own are watched: what they return must make sense, or the run ends with an error that names them.

Compiled code does not check an index: a coordinate that does not exist would be read and written all the same.  So a
rule from elsewhere is wrapped in one that looks at its answer, a step likewise; both cost a comparison or two.  They
write what was wrong into ``fault`` and raise; the driver of the run asks ``complaint`` for the words, which compiled
code could not make.  What an oracle wrote into the intervals is looked at between pieces of the loop.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.cache import is_ours
from ascd._core.checks import Array
from ascd.engine.intervals import CLOCK_ALONE
from ascd.engine.tuning import RADIUS_ROUNDING


class CheckedRule(NamedTuple):
    """A rule whose picks must be coordinates."""

    rule: Any
    fault: Array  # [is there one (2 for None), the pick, step, number of coordinates]

    def select(self, point: Any, t: int, rng: Any) -> int:
        i = self.rule.select(point, t, rng)
        if i is None:
            self.fault[0], self.fault[1], self.fault[2], self.fault[3] = 2.0, -1.0, t, point.x.size
            raise IndexError("a rule picked nothing")
        if not (0 <= i < point.x.size and int(i) == i):
            self.fault[0], self.fault[1], self.fault[2], self.fault[3] = 1.0, i, t, point.x.size
            raise IndexError("a rule picked a coordinate that does not exist")
        return int(i)

    def active_count(self, point: Any) -> int:
        return self.rule.active_count(point)

    def complaint(self) -> str:
        kind, pick, t, n = self.fault
        shown = "None" if kind == 2.0 else f"{pick:g}"
        return (
            f"rule {users_name(self)}: select returned {shown} in step {t:.0f}; it must return one of 0 .. {n - 1:.0f}"
        )


class CheckedStep(NamedTuple):
    """A step that must say what is known of its entry: a number, and an error that is not negative.

    Where the new x itself is no number the run ends with the status "diverged"; there is nothing to add to that.
    """

    step: Any
    fault: Array  # [is there one, new x, entry, error, coordinate]

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        new, gradient, error = self.step.take(point, i, g)
        if math.isfinite(new) and not (math.isfinite(gradient) and error >= 0.0):
            self.fault[0], self.fault[1], self.fault[2], self.fault[3], self.fault[4] = 1.0, new, gradient, error, i
            raise ValueError("a step returned what is no step")
        return new, gradient, error

    def complaint(self) -> str:
        _, new, gradient, error, i = self.fault
        return (
            f"step {users_name(self)}: take returned ({new:g}, {gradient:g}, {error:g}) for coordinate {i:.0f}; it "
            "must return the new x, its gradient entry there, finite, and that entry's error, not negative"
        )


def guarded_rule(rule: Any) -> Any:
    """The rule, watched unless it is ours."""
    return CheckedRule(rule, np.zeros(4)) if users_part(rule) is not None else rule


def guarded_step(step: Any) -> Any:
    """The step, watched unless it is ours."""
    return CheckedStep(step, np.zeros(5)) if users_part(step) is not None else step


def raise_complaint(error: Exception, *parts: Any) -> None:
    """Raise the error again with the words of the part that found a fault; return where none did."""
    for part in parts:
        if hasattr(part, "complaint") and part.fault[0]:
            raise type(error)(part.complaint()) from None


def check_intervals(oracle: Any, intervals: Any, t: int) -> None:
    """Raise a ValueError where an oracle has left a radius below 0 or something that is no number."""
    with np.errstate(invalid="ignore"):
        grown = intervals.clock[CLOCK_ALONE] * intervals.reach
        radius, slack = intervals.offset + grown, RADIUS_ROUNDING * (np.abs(intervals.offset) + np.abs(grown))
        wrong = np.isnan(radius) | (radius < -slack) | np.isnan(intervals.estimate)
    if wrong.any():
        j, name = int(np.flatnonzero(wrong)[0]), type(users_oracle(oracle)).__name__
        raise ValueError(
            f"oracle {name}: after step {t} coordinate {j} has the estimate {intervals.estimate[j]:g}, "
            f"the radius {radius[j]:g}; estimates must be numbers and radii must not be negative (infinite is allowed)"
        )


def users_part(part: Any) -> Any:
    """The part, or the first one inside it, that is not from this package; None where all are."""
    if not (isinstance(part, tuple) and hasattr(part, "_fields")):
        return None
    if not is_ours(type(part)):
        return part
    return next((found for found in map(users_part, part) if found is not None), None)


def users_oracle(part: Any) -> Any:
    """The oracle of the user's inside a part, if there is one; block oracles hold penalty and steepness as well."""
    if not (isinstance(part, tuple) and hasattr(part, "_fields")):
        return None
    if not is_ours(type(part)) and (hasattr(part, "update") or hasattr(part, "update_block")):
        return part
    return next((found for found in map(users_oracle, part) if found is not None), None)


def users_name(part: Any) -> str:
    """The name of the user's class inside a part."""
    return type(users_part(part)).__name__
