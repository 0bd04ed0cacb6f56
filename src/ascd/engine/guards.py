"""Parts by their names, and validation of what users' own return: the run ends with an error that names the part.

Compiled code does not check an index.  So a user's rule or step is wrapped in one that checks its answer, stores what
was wrong in ``fault`` and raises; ``complaint`` makes the sentence.  Intervals are checked between pieces.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd._core.contracts import prepared, users_classes
from ascd.engine.descent import active_count
from ascd.engine.intervals import STEP_LENGTH
from ascd.engine.tuning import OUTSIDE_ROUNDING


class CheckedRule(NamedTuple):
    """A rule whose picks must be coordinates."""

    rule: Any
    fault: Array  # [is there one (2 for None), the pick, step, number of coordinates, unused]

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
        return active_count(self.rule, point)

    def complaint(self) -> str:
        kind, pick, t, n = self.fault[:4]
        shown, name = "None" if kind == 2.0 else f"{pick:g}", users_classes(self)[0].__name__
        return f"rule {name}: select returned {shown} in step {t:.0f}; it must return one of 0 .. {n - 1:.0f}"


class CheckedStep(NamedTuple):
    """A step that must return a finite gradient entry and an error that is not negative.

    Where the new x itself is not finite the run ends with the status "diverged", which says enough.
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
            f"step {users_classes(self)[0].__name__}: take returned ({new:g}, {gradient:g}, {error:g}) for coordinate "
            f"{i:.0f}; it must return the new x, its gradient entry there, finite, and that entry's error, not negative"
        )


def as_part(part: Any, table: dict[str, Any], role: str, contract: type, *arguments: Any) -> Any:
    """Return the compiled part for a name of the table or a part, ours or the user's own, whose answers are checked."""
    if isinstance(part, str):
        if part not in table:
            raise unknown_name(part, role, table)
        part = table[part]()
    part, guards = prepared(part, contract, role, *arguments), {"rule": CheckedRule, "step": CheckedStep}
    return guards[role](part, np.zeros(5)) if role in guards and users_classes(part) else part


def check_intervals(oracle: Any, intervals: Any, t: int) -> None:
    """Raise a ValueError where a user's oracle has left a radius below 0 or something that is not a number."""
    if not users_classes(oracle):
        return
    with np.errstate(invalid="ignore"):
        grown = intervals.lengths[STEP_LENGTH] * intervals.norm
        radius, slack = intervals.offset + grown, OUTSIDE_ROUNDING * (np.abs(intervals.offset) + np.abs(grown))
        wrong = np.isnan(radius) | (radius < -slack) | np.isnan(intervals.estimate)
    if wrong.any():
        j, name = int(np.flatnonzero(wrong)[0]), users_classes(oracle)[0].__name__
        raise ValueError(
            f"oracle {name}: after step {t} coordinate {j} has the estimate {intervals.estimate[j]:g}, "
            f"the radius {radius[j]:g}; estimates must be numbers and radii must not be negative (infinite is allowed)"
        )
