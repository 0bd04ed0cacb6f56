"""The reference oracle: bounds that grow with the distance travelled, not with the length of the path.

At a reference point the products g_ref = Aᵀv_ref with v_ref = ∇f(Ax_ref) are known.  Split the present v = ∇f(Ax) into
v = s·v_ref + e with e ⟂ v_ref.  The part of a_j orthogonal to v_ref has the squared length
w_j² = ‖a_j‖² − g_ref,j²/‖v_ref‖², so by Cauchy and Schwarz

    ∇_j = ⟨a_j, v⟩  ∈  s·g_ref,j ± ‖e‖·w_j.

This is the tightest interval that ‖a_j‖ and one product allow.  It needs no curvature bound, so it serves every loss,
and it sees the overall shrinking of v for free.  It is intersected with the clock's interval ("norm").

s and ‖e‖ follow from P = ⟨v − v_ref, v_ref⟩ and D = ‖v − v_ref‖², which a step changes on the rows of one column:

    s = 1 + P/‖v_ref‖²,       ‖e‖² = D − P²/‖v_ref‖².

Where the loss is quadratic and samples have no weights, v moves by a multiple δ of a_i.  Then no row has to be read:
with the entry ∇_i that the step has read anyway,

    P grows by δ·g_ref,i,       D by δ·(2(∇_i − g_ref,i) + δ‖a_i‖²).

**Rounding** of P and D is counted, in ``STRAYED`` and ``TURNED``: they are sums over all steps since the reference.
With ε of ``engine.intervals`` both products are wrong by ε‖a_i‖ at most, and the sums by an ulp each time.  What P is
wrong by turns v a little, and moves an entry by ‖a_j‖/‖v_ref‖ times as much: it is counted beside ε.

**Refreshing.**  A read that moves nothing is wasted: better bounds would have spared it.  When the reads wasted since
the last refresh reach ``patience`` times the n reads of a refresh, the present point becomes the reference.  So
refreshing never costs more than a fixed multiple of what it might have saved.  A rule that draws at random from a set
wastes reads whatever the bounds are, so that it has more patience (``RuleOptions.is_patient``).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd._core.contracts import asked
from ascd._core.jit import at, helper, is_one
from ascd._core.scalars import fetch
from ascd.engine.intervals import CLOCK_ALONE, EPSILON
from ascd.engine.tuning import (
    ADDITION_ROUNDING,
    INTERVAL_ROUNDING,
    LITTLE_PATIENCE,
    MUCH_PATIENCE,
    STRAY_ROUNDING,
    TURN_ROUNDING,
)
from ascd.matrix.columns import fill_squares
from ascd.problem.optimality import has_digits, inverse_square, length_across, share_along, width_across
from ascd.problem.tuning import NO_LIMIT, SQUARE_ROUNDING

#: What ``account`` holds: P, D and ‖v_ref‖², reads and moves at and since the refresh, whether there is a reference,
#: and what D and P may be wrong by.
PRODUCT, DISTANCE, SQUARE, READS, MOVES, STARTED, STRAYED, TURNED = range(8)
#: What ``ReferenceBound.place`` holds: s, ‖e‖, ε, ‖v_ref‖ and how often there was a new reference.
ALONG, ACROSS, ROUNDING, LENGTH, REFRESHES = range(5)


class Reference(NamedTuple):
    """Intervals from the angle between v and a reference vector, intersected with the clock's.

    Parameters
    ----------
    patience : refresh when this many times n reads have moved nothing; by default 1/4, or 1 with rules that draw at
        random from a set (a-ascd, ascd, look-ahead, adaptive)

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule="block", oracle=ascd.Reference()).objective
    4.5
    """

    patience: float | None = None

    def suited_to(self, rule: Any) -> Reference:
        """The same with the patience for the rule, where none was asked for."""
        usual = MUCH_PATIENCE if asked(rule, "is_patient", False) else LITTLE_PATIENCE
        return Reference(usual if self.patience is None else self.patience)

    def prepare(self, parts: Any, rng: Any) -> Referenced:
        return Referenced(*start_reference(parts), np.zeros(8), self.checked_patience())

    def checked_patience(self) -> float:
        return as_number(self.patience, "Reference patience", low=0.0, high=1e300, strict=True)


def start_reference(parts: Any) -> tuple[ReferenceBound, Array, Array]:
    """A bound that knows nothing yet, ‖a_j‖² and room for v_ref."""
    n, d = parts.norm.size, parts.sample.target.size
    square = np.empty(n)
    fill_squares(parts.matrix, np.arange(n), 1.0, square, 0, n)
    place = np.array([0.0, math.inf, 0.0, 0.0, 0.0])
    return ReferenceBound(np.zeros(n), np.ones(n), place, parts.norm), square, np.zeros(d)


class ReferenceBound(NamedTuple):
    """g_ref, w, [s, ‖e‖, ε, …] and reach: what it takes to tighten an interval, rounding included."""

    product: Array
    width: Array
    place: Array
    reach: Array

    @helper
    def bring(self, j: int) -> None:
        fetch(self.product, j)
        fetch(self.width, j)

    @helper
    def interval_at(self, j: int) -> tuple[float, float]:
        """What the reference alone knows of an entry: its middle and half its width."""
        place = self.place
        return place[ALONG] * self.product[j], place[ACROSS] * self.width[j] + place[ROUNDING] * self.reach[j]

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        middle, half = self.interval_at(j)
        # written without branches: a scan of the bounds uses vector registers
        low = g - r if g - r > middle - half else middle - half
        high = g + r if g + r < middle + half else middle + half
        width = high - low if high > low else 0.0
        return (0.5 * (low + high) if width < math.inf else g), 0.5 * width


class Referenced(NamedTuple):
    """The bound, ‖a_j‖², v_ref, and the running numbers P, D, ‖v_ref‖² and the accounts of reads."""

    angle: ReferenceBound
    square: Array
    slope: Array
    account: Array
    patience: float

    def tightening(self) -> ReferenceBound:
        return self.angle

    def has_plane(self) -> bool:
        """Do intervals depend on the place alone, between visits and refreshes?"""
        return True

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, account = point.problem, self.account
        point.intervals.widen(abs(change) * problem.norm[i] * (problem.gain + problem.slack))
        account[MOVES] += 1.0
        wasted = point.reads[0] - account[READS] - account[MOVES]
        if account[STARTED] == 0.0 or wasted > self.patience * point.x.size:
            self.refresh(point)
        else:
            self.follow_step(point, i, change)
        self.angle.place[ROUNDING] = point.intervals.clock[EPSILON] + turned_by(account)

    @helper
    def follow_step(self, point: Any, i: int, change: float) -> None:
        """P and D after the step; then s and ‖e‖."""
        if point.problem.loss.is_quadratic() and is_one(point.problem.sample.weight):  # known to the compiler
            self.follow_products(point, i, change * point.problem.gain * at(point.problem.sample.weight, 0))
        else:
            self.follow_rows(point, i, change)
        place_from(self.account, self.angle.place)

    @helper
    def follow_products(self, point: Any, i: int, step: float) -> None:
        """v has moved by ``step`` times column i."""
        account, known = self.account, self.angle.product[i]
        account[PRODUCT] += step * known
        account[DISTANCE] += step * (2.0 * (point.entry_read[0] - known) + step * self.square[i])
        error = abs(step) * point.intervals.reach[i] * point.intervals.clock[EPSILON]
        account[STRAYED] += STRAY_ROUNDING * error + ADDITION_ROUNDING * abs(account[DISTANCE])
        account[TURNED] += TURN_ROUNDING * error + ADDITION_ROUNDING * abs(account[PRODUCT])

    @helper
    def follow_rows(self, point: Any, i: int, change: float) -> None:
        """The same from the rows of column i."""
        problem, account = point.problem, self.account
        matrix, sample, loss = problem.matrix, problem.sample, problem.loss
        product, distance = 0.0, 0.0  # numbers of their own: sums in an array would wait for its memory
        for p in range(matrix.start(i), matrix.stop(i)):
            k = matrix.row(p)
            step = change * matrix.entry(p, i)
            new, weight, target = point.slope[k], at(sample.weight, k), sample.target[k]
            if loss.is_quadratic():
                old = new - weight * loss.curvature(target, 0.0) * step
            else:
                old = weight * loss.derivative(target, point.image[k] - step)
            ref = self.slope[k]
            product += (new - old) * ref
            distance += (new - ref) ** 2 - (old - ref) ** 2
        add_from_rows(account, product, distance)

    @helper
    def refresh(self, point: Any) -> None:
        """Make the present point the reference."""
        account = self.account
        account[SQUARE] = make_reference(point, self.angle, self.square, self.slope)
        begin_account(account, point.reads[0])


@helper
def begin_account(account: Array, reads: float) -> None:
    """There is a new reference, after so many reads."""
    account[PRODUCT], account[DISTANCE], account[STRAYED], account[TURNED] = 0.0, 0.0, 0.0, 0.0
    account[READS], account[MOVES], account[STARTED] = reads, 0.0, 1.0


@helper
def add_from_rows(account: Array, product: float, distance: float) -> None:
    """What P and D have changed by, from the rows of a step: their terms are no larger than D before and after."""
    before = account[DISTANCE]
    account[PRODUCT] += product
    account[DISTANCE] += distance
    larger = max(before, account[DISTANCE])
    account[STRAYED] += INTERVAL_ROUNDING * larger
    account[TURNED] += INTERVAL_ROUNDING * math.sqrt(max(larger, 0.0)) * math.sqrt(account[SQUARE])


@helper
def place_from(account: Array, place: Array) -> None:
    """s and ‖e‖ from P and D."""
    square, distance = account[SQUARE], account[DISTANCE]
    along = share_along(account[PRODUCT], square)
    across = max(distance - along * account[PRODUCT], 0.0)
    rounding = SQUARE_ROUNDING * abs(distance) + account[STRAYED] + 2.0 * abs(along) * account[TURNED]
    place[ALONG] = 1.0 + along
    place[ACROSS] = length_across(across, rounding, max(square, distance))


@helper
def turned_by(account: Array) -> float:
    """How far the rounding of P may have moved s·v_ref; without s there is nothing to move."""
    turned = account[TURNED] / math.sqrt(account[SQUARE]) if has_digits(account[SQUARE]) else 0.0
    return turned if turned < NO_LIMIT else NO_LIMIT  # also where it is no number


@helper
def make_reference(point: Any, bound: Any, square: Array, slope: Array) -> float:
    """The present v as v_ref, which is copied to ``slope``: every interval becomes a point.  Returns ‖v_ref‖².

    At the start, before anything has moved, entries that are known are not read again.
    """
    total, clock = 0.0, point.intervals.clock
    is_start = clock[CLOCK_ALONE] == 0.0
    for k in range(slope.size):
        slope[k] = point.slope[k]
    for k in range(slope.size):
        total += slope[k] ** 2
    for j in range(point.x.size):
        g = point.intervals.estimate[j]
        if not is_start or point.intervals.radius_at(j) > 0.0:
            g = point.partial(j)
            point.intervals.pin(j, g, 0.0)
        bound.product[j] = g
        bound.width[j] = width_across(square[j], g, inverse_square(total))
    bound.place[ALONG], bound.place[ACROSS], bound.place[LENGTH] = 1.0, 0.0, math.sqrt(total)
    bound.place[REFRESHES] += 1.0
    return total
