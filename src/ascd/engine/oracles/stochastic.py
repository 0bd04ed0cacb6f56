"""Gradient entries from a sample of the rows, with intervals that hold with a stated probability.

The paper ends with the question whether ASCD extends to the stochastic setting with its guarantees.  Here the rule, the
step and the exact read of the chosen column stay as they are; what is known of the *other* entries comes from rows:

    ∇_j = ⟨a_j, v⟩ = c_j + ⟨a_j, e⟩ = c_j + Σ_k a_kj·e_k,        e = v − v_ref,  c_j = ⟨a_j, v_ref⟩  (0 without anchor).

m rows are drawn with replacement, row k with a probability in proportion to |e_k|·max_j |a_kj|/‖a_j‖ (``row_sample``).
Then y ∈ [−1, 1] for every column at once, S‖a_j‖·ȳ estimates ⟨a_j, e⟩ without bias, and Bernstein's inequality
(``concentration``) gives

    ∇_j ∈ c_j + S‖a_j‖·ȳ_j ± S‖a_j‖·radius(V̂_j, ‖e‖/S, m, η_s),        η_s = 6·failure/(π²s²n) in sample s.

v may depend on all former samples, this one is independent of v: the bound holds given the past, and the union over
entries and samples gives that **all intervals of a run hold together with probability at least 1 − failure**.  Sums of
m numbers that are at most 1, and of the d shares by which rows are drawn, are rounded: δ = (m + d)·SUM_ROUNDING is
added to the radius and to ‖e‖/S, 2δ to V̂.  Between samples the clock of ``norm`` widens them.  Each is intersected with
what was known; where the intersection is empty, a former interval or this one is wrong for certain, and the column is
read.

A sample costs m rows and two passes over v, counted as the columns that have as many entries.  It is drawn when the
columns read since the last one come to that, and when the clock has added ``patience`` times what the last sample left
as radii: near the minimum, where steps are short and the radius of a sample is not, sampling ceases by itself.

**Anchored.**  When the reads that moved nothing come to a quarter of n, the gradient is read exactly, v_ref = v, and
from there on its change alone is sampled (the control variate of variance-reduced methods): the radius of a sample then
follows ‖v − v_ref‖ instead of ‖v‖, which does not fall to 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_flag, as_number
from ascd._core.contracts import likely
from ascd._core.jit import helper
from ascd.engine.intervals import CLOCK_AND_EPSILON
from ascd.engine.oracles.concentration import sampled_radius, share_of_failure
from ascd.engine.oracles.row_sample import RowSample, start_sample
from ascd.engine.tuning import ANCHOR_WASTE, FEWEST_ROWS, LEAST_FAILURE, SUM_ROUNDING

SAMPLES, CLOCK, LEFT, SAMPLED_AT, MOVED_SINCE, WASTE_FROM, REFUTED = range(7)


class Stochastic(NamedTuple):
    """Entries estimated from sampled rows; all intervals of a run hold together with probability 1 − ``failure``.

    Sparse data are copied by rows.  What the intervals say is likely, not proved: a run ends after a look at exact
    entries, its gap is computed from all data, and ``solution.confidence`` has the probability.

    Parameters
    ----------
    rows : how many rows a sample draws; by default n_samples/n_features, which have as many entries as a column
    failure : the probability that some interval of the run does not hold, at least 1e-200
    anchored : read the whole gradient when reads that moved nothing have paid for it, and sample what changes since
    patience : sample again when the radii have grown by this many times what the last sample left of them

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((3000, 10))
    >>> problem = ascd.Problem(A, A[:, 0] - 2.0 * A[:, 1], penalty=ascd.L1(300.0))
    >>> solution = ascd.minimize(problem, rule="a-ascd", oracle=ascd.Stochastic(), rng=0, max_iter=12, tol=0.0)
    >>> np.flatnonzero(solution.x), solution.confidence
    (array([0, 1]), 0.99)
    """

    rows: int | None = None
    failure: float = 0.01
    anchored: bool = True
    patience: float = 0.5

    def is_random(self) -> bool:
        return True

    def prepare(self, parts: Any, rng: Any) -> Sampled:
        failure = as_number(self.failure, "Stochastic failure", low=LEAST_FAILURE, high=1.0)
        patience = as_number(self.patience, "Stochastic patience", low=0.0, high=1e300)
        anchored = as_flag(self.anchored, "Stochastic anchored")
        n, d = parts.norm.size, parts.sample.target.size
        draws = max(FEWEST_ROWS, d // n) if self.rows is None else as_count(self.rows, "Stochastic rows", low=2)
        sample, columns = start_sample(parts, draws), n / max(1, parts.matrix.stored().size)
        place = (np.zeros(d), np.zeros(n), np.zeros(7))
        return Sampled(sample, *place, failure, patience, anchored, columns, float(parts.norm.sum()))


class Sampled(NamedTuple):
    """The sample, v_ref and c = Aᵀv_ref, and the accounts."""

    sample: RowSample
    anchor: Array
    product: Array
    account: Array
    failure: float
    patience: float
    is_anchored: bool
    columns: float  # what one entry counts, as a part of a column read
    reach: float  # Σ_j of the reaches

    def confidence(self) -> float:
        return likely(self.failure)

    @helper
    def begin(self, point: Any, rng: Any) -> None:
        """At the start a sample takes the place of a pass over all columns."""
        self.account[WASTE_FROM] = point.reads[0]
        self.take_sample(point, rng)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, account = point.problem, self.account
        point.intervals.widen(abs(change) * problem.norm[i] * (problem.gain + problem.slack))
        account[MOVED_SINCE] += 1.0
        if self.is_anchored and self.has_wasted(point):
            self.set_anchor(point)
        elif account[SAMPLES] == 0.0 or self.is_due(point):
            self.take_sample(point, rng)

    @helper
    def is_due(self, point: Any) -> bool:
        """Have steps read as much as a sample costs, and radii grown enough for one to help?"""
        account, draws = self.account, self.sample.gaps.size - 1
        price = draws * point.x.size / self.anchor.size + self.passes()
        grown = (point.intervals.clock[CLOCK_AND_EPSILON] - account[CLOCK]) * self.reach
        return point.reads[0] - account[SAMPLED_AT] >= price and grown >= self.patience * account[LEFT]

    @helper
    def passes(self) -> float:
        """Two passes over v, in columns."""
        return 2.0 * self.anchor.size * self.columns

    @helper
    def has_wasted(self, point: Any) -> bool:
        """Have reads that moved nothing since the anchor, which better intervals would have spared, paid for one?"""
        return point.reads[0] - self.account[WASTE_FROM] - self.account[MOVED_SINCE] > ANCHOR_WASTE * point.x.size

    @helper
    def set_anchor(self, point: Any) -> None:
        """Read all entries; what changes from here on is sampled."""
        account = self.account
        for k in range(self.anchor.size):
            self.anchor[k] = point.slope[k]
        for j in range(point.x.size):
            self.product[j] = point.partial(j)
            point.intervals.pin(j, self.product[j], 0.0)
        account[MOVED_SINCE], account[LEFT] = 0.0, 0.0
        account[CLOCK] = point.intervals.clock[CLOCK_AND_EPSILON]
        account[SAMPLED_AT], account[WASTE_FROM] = point.reads[0], point.reads[0]

    @helper
    def take_sample(self, point: Any, rng: Any) -> None:
        """Draw rows, and cut every interval by what they say."""
        account, sample = self.account, self.sample
        account[SAMPLES] += 1.0
        mass, size, last = sample.weigh_rows(point.slope, self.anchor)
        entries = sample.draw_rows(point.slope, self.anchor, mass, last, rng) if mass > 0.0 else 0
        cost = entries * self.columns + self.passes()
        point.reads[0] += cost
        account[WASTE_FROM] += cost  # what a sample costs is not a read that moved nothing
        eta = share_of_failure(self.failure, account[SAMPLES], point.x.size)
        moment, account[LEFT] = min(1.0, size / mass) if mass > 0.0 else 0.0, 0.0
        for j in range(point.x.size):
            middle, radius = self.interval_of(j, mass, moment, eta)
            self.cut(point, j, middle, radius)
            account[LEFT] += radius
        account[CLOCK], account[SAMPLED_AT] = point.intervals.clock[CLOCK_AND_EPSILON], point.reads[0]

    @helper
    def interval_of(self, j: int, mass: float, moment: float, eta: float) -> tuple[float, float]:
        """The sample's estimate of entry j, and its radius."""
        sample, draws = self.sample, self.sample.gaps.size - 1
        unit = mass * sample.length[j]
        if unit == 0.0:
            return self.product[j], 0.0
        mean, rounding = sample.total[j] / draws, SUM_ROUNDING * (draws + self.anchor.size)
        variance = max(0.0, sample.squares[j] - draws * mean * mean) / (draws - 1.0) + 2.0 * rounding
        radius = sampled_radius(variance, moment + rounding, draws, eta) + rounding
        return self.product[j] + unit * mean, unit * radius

    @helper
    def cut(self, point: Any, j: int, middle: float, radius: float) -> None:
        """The intersection with what was known; where there is none, one of both is wrong, and the column is read."""
        intervals = point.intervals
        known, width = intervals.estimate[j], intervals.radius_at(j)
        low, high = max(known - width, middle - radius), min(known + width, middle + radius)
        if low > high:
            self.account[REFUTED] += 1.0
            intervals.pin(j, point.partial(j), 0.0)
        elif high - low < 2.0 * width:
            intervals.pin(j, 0.5 * (low + high), 0.5 * (high - low))
