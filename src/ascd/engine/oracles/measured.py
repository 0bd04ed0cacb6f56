"""The reference oracle for rules that seldom look: the angle is measured before a look, not followed by every step.

``reference`` keeps s and ‖e‖ of v = s·v_ref + e current, which reads each column that moves once more.  A rule that
looks at the bounds once in a thousand steps does not need that.  Here a step adds its length to a path (O(1)), and the
rule asks for a measurement, one pass over v, before it looks.  In between, with s and ‖e‖ as they were measured,

    ∇_j  ∈  s·g_ref,j ± (‖e‖·w_j + path·‖a_j‖),        path = Σ|γ_t|·M‖a_{i_t}‖ since the measurement,

because v has moved by a vector whose product with a_j is at most path·‖a_j‖: the bound of the clock ("norm").  So the
intervals hold after every step, whether or not anybody measures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.engine.intervals import CLOCK_ALONE, EPSILON
from ascd.engine.oracles.reference import ACROSS, ALONG, ROUNDING, ReferenceBound, make_reference, start_reference
from ascd.problem.optimality import length_across, share_along
from ascd.problem.tuning import SQUARE_ROUNDING

REFERENCE_SQUARE, CLOCK_THEN, HAS_REFERENCE = range(3)


class Measured(NamedTuple):
    """Intervals from the angle to a reference vector, measured where the rule looks at them.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule="awake", oracle=ascd.Measured()).objective
    4.5
    """

    unit: float = 1.0

    def prepare(self, parts: Any, rng: Any) -> MeasuredAngle:
        return MeasuredAngle(*start_reference(parts), np.zeros(3))


class MeasuredAngle(NamedTuple):
    """The bound, ‖a_j‖², v_ref, and [‖v_ref‖², the clock at the measurement, whether there is a reference]."""

    angle: ReferenceBound
    square: Array
    slope: Array
    account: Array

    def tightening(self) -> ReferenceBound:
        return self.angle

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        point.intervals.widen(abs(change) * point.problem.norm[i] * (point.problem.gain + point.problem.slack))
        self.angle.place[ROUNDING] = path_since(point, self.account)

    @helper
    def measure(self, point: Any) -> None:
        measure_angle(point, self.slope, self.account, self.angle.place)

    @helper
    def refresh(self, point: Any) -> None:
        """Make the present point the reference; columns whose entries are not known are read."""
        self.account[REFERENCE_SQUARE] = make_reference(point, self.angle, self.square, self.slope)
        begin_path(point, self.account, self.angle.place)


@helper
def begin_path(point: Any, account: Array, place: Array) -> None:
    """There is a new reference."""
    account[CLOCK_THEN], account[HAS_REFERENCE] = point.intervals.clock[CLOCK_ALONE], 1.0
    place[ROUNDING] = point.intervals.clock[EPSILON]


@helper
def path_since(point: Any, account: Array) -> float:
    """The path since the measurement, rounding included."""
    return point.intervals.clock[CLOCK_ALONE] - account[CLOCK_THEN] + point.intervals.clock[EPSILON]


@helper
def measure_angle(point: Any, reference: Array, account: Array, place: Array) -> None:
    """s and ‖e‖ from v and v_ref."""
    if account[HAS_REFERENCE] == 0.0:
        return
    product, distance = 0.0, 0.0
    for k in range(reference.size):
        away = point.slope[k] - reference[k]
        product += away * reference[k]
        distance += away * away
    square = account[REFERENCE_SQUARE]
    along = share_along(product, square)
    place[ALONG] = 1.0 + along
    across = max(distance - along * product, 0.0)
    place[ACROSS] = length_across(across, SQUARE_ROUNDING * distance, max(square, distance))
    account[CLOCK_THEN] = point.intervals.clock[CLOCK_ALONE]
    place[ROUNDING] = point.intervals.clock[EPSILON]


class Unmeasured(NamedTuple):
    """For oracles that are always current: nothing to measure, nothing to refresh."""

    unit: float = 1.0

    @helper
    def measure(self, point: Any) -> None:
        pass

    @helper
    def refresh(self, point: Any) -> None:
        pass
