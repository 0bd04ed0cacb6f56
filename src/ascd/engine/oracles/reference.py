"""The reference oracle: intervals that grow with the distance travelled, not with the length of the path.

At a reference point the products g_ref = Aᵀv_ref with v_ref = ∇f(Ax_ref) are known.  Split the present v = ∇f(Ax) into
v = s·v_ref + e with e ⟂ v_ref.  The part of a_j orthogonal to v_ref has the squared length
w_j² = ‖a_j‖² − g_ref,j²/‖v_ref‖², so by Cauchy and Schwarz

    ∇_j = ⟨a_j, v⟩  ∈  s·g_ref,j ± ‖e‖·w_j.

It needs no curvature bound, so it serves every loss, and is intersected with the interval of "norm".

**Measuring.**  s and ‖e‖ take one pass over v and v_ref (``measure``).  With their values at the last measurement and
the path since, Σ|γ_t|·M‖a_{i_t}‖,

    ∇_j  ∈  s·g_ref,j ± (‖e‖·w_j + path·‖a_j‖),

by the bound of "norm", so the intervals hold after every step, measured or not.  A measurement is made when the steps
since the last one have touched as many entries as it reads; a rule may ask for one before it reads bounds.

**Refreshing.**  When the reads that moved nothing since the last refresh reach ``patience`` times n, the present point
becomes the reference.  So refreshing never costs more than a fixed multiple of what it might have saved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd._core.jit import helper
from ascd.engine.intervals import EPSILON, STEP_LENGTH
from ascd.engine.tuning import LITTLE_PATIENCE
from ascd.matrix.columns import fill_squares
from ascd.problem.arithmetic import has_digits, length_across, share_along, square_over
from ascd.problem.tuning import SQUARE_ROUNDING

#: Rows of ``Referenced.account``: ‖v_ref‖², G at the last measurement, reads at and moves since the refresh, entries
#: touched since the last measurement, whether there is a reference, whether the rule measures and refreshes by itself.
REFERENCE_SQUARE, LENGTH_THEN, READS, MOVES, TOUCHED, HAS_REFERENCE, IS_MANAGED = range(7)
#: Rows of ``ReferenceBound.place``: s, ‖e‖, the path since the measurement + ε.
ALONG, ACROSS, PATH_SINCE = range(3)


@helper
def width_across(square: float, product: float, reference: float) -> float:
    """Return √(‖a‖² − ⟨a, v_r⟩²/‖v_r‖²), rounding added, from both squares."""
    along = square_over(product, reference) if has_digits(reference) else 0.0
    return math.sqrt(max(square - along, 0.0) + SQUARE_ROUNDING * square)


class Reference(NamedTuple):
    """Intervals from the angle between v and a reference vector, intersected with those of "norm".

    Parameters
    ----------
    patience : refresh when this many times n reads have moved nothing; the rule "working-set" decides by itself

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule="block", oracle=ascd.Reference()).objective
    4.5
    """

    patience: float = LITTLE_PATIENCE

    def prepare(self, parts: Any, rng: Any) -> Referenced:
        patience = as_number(self.patience, "Reference patience", low=0.0, high=1e300, strict=True)
        n, d = parts.norm.size, parts.sample.target.size
        square = np.empty(n)
        fill_squares(parts.matrix, np.arange(n), 1.0, square, 0, n)
        bound = ReferenceBound(np.zeros(n), np.ones(n), np.array([0.0, math.inf, 0.0]), parts.norm)
        return Referenced(bound, square, np.zeros(d), np.zeros(7), patience)


class ReferenceBound(NamedTuple):
    """g_ref, w, [s, ‖e‖, path] and ‖a_j‖: the second interval of every entry, rounding included."""

    product: Array
    width: Array
    place: Array
    norm: Array

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        place = self.place
        middle = place[ALONG] * self.product[j]
        half = place[ACROSS] * self.width[j] + place[PATH_SINCE] * self.norm[j]
        # written without branches: a scan of the bounds uses vector registers
        low = g - r if g - r > middle - half else middle - half
        high = g + r if g + r < middle + half else middle + half
        width = high - low if high > low else 0.0
        return (0.5 * (low + high) if width < math.inf else g), 0.5 * width


class Referenced(NamedTuple):
    """The second intervals, ‖a_j‖² (unweighted), v_ref and the accounts of reads."""

    bound: ReferenceBound
    square: Array
    vector: Array
    account: Array
    patience: float

    def tightening(self) -> ReferenceBound:
        return self.bound

    def leave_to_rule(self) -> None:
        """Let the rule measure and refresh."""
        self.account[IS_MANAGED] = 1.0

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, account = point.problem, self.account
        point.intervals.inflate(abs(change) * problem.norm[i] * (problem.gain + problem.slack))
        if account[IS_MANAGED] == 0.0:
            account[MOVES] += 1.0
            account[TOUCHED] += problem.matrix.stop(i) - problem.matrix.start(i)
            wasted = point.reads[0] - account[READS] - account[MOVES]
            if account[HAS_REFERENCE] == 0.0 or wasted > self.patience * point.x.size:
                self.refresh(point)
            elif account[TOUCHED] >= self.vector.size:
                self.measure(point)
        lengths = point.intervals.lengths
        self.bound.place[PATH_SINCE] = lengths[STEP_LENGTH] - account[LENGTH_THEN] + lengths[EPSILON]

    @helper
    def measure(self, point: Any) -> None:
        """Compute s and ‖e‖ from v and v_ref."""
        account, place = self.account, self.bound.place
        if account[HAS_REFERENCE] == 0.0:
            return
        product, distance = 0.0, 0.0
        for k in range(self.vector.size):
            away = point.raw_gradient[k] - self.vector[k]
            product += away * self.vector[k]
            distance += away * away
        square = account[REFERENCE_SQUARE]
        along = share_along(product, square)
        place[ALONG] = 1.0 + along
        across = max(distance - along * product, 0.0)
        place[ACROSS] = length_across(across, SQUARE_ROUNDING * distance, max(square, distance))
        self.begin_path(point)

    @helper
    def begin_path(self, point: Any) -> None:
        """Start the path at the present v."""
        self.account[LENGTH_THEN], self.account[TOUCHED] = point.intervals.lengths[STEP_LENGTH], 0.0
        self.bound.place[PATH_SINCE] = point.intervals.lengths[EPSILON]

    @helper
    def refresh(self, point: Any) -> None:
        """Make the present v the reference, and every interval a point; at the start known entries are not read."""
        bound, intervals, account, square = self.bound, point.intervals, self.account, 0.0
        is_start = intervals.lengths[STEP_LENGTH] == 0.0
        for k in range(self.vector.size):
            self.vector[k] = point.raw_gradient[k]
        for k in range(self.vector.size):
            square += self.vector[k] ** 2
        for j in range(point.x.size):
            g = intervals.estimate[j]
            if not is_start or intervals.radius_at(j) > 0.0:
                g = point.partial(j)
                intervals.set_entry(j, g, 0.0)
            bound.product[j] = g
            bound.width[j] = width_across(self.square[j], g, square)
        bound.place[ALONG], bound.place[ACROSS] = 1.0, 0.0
        account[REFERENCE_SQUARE], account[HAS_REFERENCE] = square, 1.0
        account[READS], account[MOVES] = point.reads[0], 0.0
        self.begin_path(point)
