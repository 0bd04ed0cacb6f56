"""The stochastic oracle: gradient entries from a sample of the rows; intervals hold with a stated probability.

    ∇_j = ⟨a_j, v⟩ = c_j + Σ_k a_kj·e_k,        e = v − v_ref,  c_j = ⟨a_j, v_ref⟩  (0 without anchor).

m rows are drawn with replacement, row k with probability |e_k|ρ_k/S, ρ_k = max_j |a_kj|/‖a_j‖ and S = Σ|e_k|ρ_k.  A
draw gives y_j = sign(e_k)·a_kj/(ρ_k‖a_j‖) ∈ [−1, 1] with mean ⟨a_j, e⟩/(S‖a_j‖) for every column at once, and
E y² ≤ E|y| ≤ ‖e‖/S.  The draws come in the order of their rows, from m sorted uniform numbers made by m + 1
exponential gaps: one pass over e finds S, a second one all rows.

Sample s of a run gets the share 6/(π²s²) of the allowed failure, divided by the n entries that it estimates, so that
all intervals of a run hold together with probability at least 1 − failure.  For rounding δ = (m + d)·SUM_ROUNDING is
added to the radius and to ‖e‖/S, 2δ to V̂.  Between samples the intervals are inflated as by "norm".  Each is
intersected with the previous one; where the intersection is empty one of both is wrong, and the column is read.
``docs/selection.md`` has the proof, when samples are drawn and anchors set, and what it gains.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_flag, as_number
from ascd._core.contracts import likely
from ascd._core.jit import helper, kernel
from ascd.engine.intervals import INFLATION
from ascd.engine.tuning import FEWEST_ROWS, LEAST_FAILURE, LITTLE_PATIENCE, SUM_ROUNDING
from ascd.matrix.columns import fill_squares
from ascd.matrix.sparse import CSC, as_rows
from ascd.problem.arithmetic import has_digits

#: Rows of ``Sampled.account``: samples drawn, G + ε and the sum of the radii after the last one, reads then, moves
#: since the anchor, reads that waste is counted from.
SAMPLES, INFLATION_THEN, LEFT, SAMPLED_AT, MOVED_SINCE, WASTE_FROM = range(6)


class Stochastic(NamedTuple):
    """Entries estimated from sampled rows; all intervals of a run hold together with probability 1 − ``failure``.

    Sparse data are copied by rows.  The intervals are likely, not proved: a run ends after a check of exact entries,
    its gap is computed from all data, and ``solution.confidence`` is the probability.

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

    def prepare(self, parts: Any, rng: Any) -> Sampled:
        failure = as_number(self.failure, "Stochastic failure", low=LEAST_FAILURE, high=1.0)
        patience = as_number(self.patience, "Stochastic patience", low=0.0, high=1e300)
        anchored = as_flag(self.anchored, "Stochastic anchored")
        n, d = parts.norm.size, parts.sample.target.size
        draws = max(FEWEST_ROWS, d // n) if self.rows is None else as_count(self.rows, "Stochastic rows", low=2)
        matrix, square, weight = parts.matrix, np.empty(n), np.zeros(d)
        fill_squares(matrix, np.arange(n), 1.0, square, 0, n)
        fill_weights(matrix, np.sqrt(square), weight)
        return Sampled(
            failure=failure,
            patience=patience,
            is_anchored=anchored,
            columns=n / max(1, matrix.stored().size),
            norms=float(parts.norm.sum()),
            anchor=np.zeros(d),
            product=np.zeros(n),
            account=np.zeros(6),
            rows=RowsCopied(CSC(*as_rows(matrix, d))) if isinstance(matrix, CSC) else RowsInPlace(matrix),
            length=np.sqrt(square),
            weight=weight,
            total=np.empty(n),
            squares=np.empty(n),
            drawn=np.zeros(draws, dtype=np.int64),
            factor=np.empty(draws),
            gaps=np.empty(draws + 1),
        )


class Sampled(NamedTuple):
    """The anchor, the accounts and the last sample."""

    failure: float
    patience: float
    is_anchored: bool
    columns: float  # one entry as a fraction of a column read
    norms: float  # Σ_j ‖a_j‖, weighted by the samples
    anchor: Array  # v_ref
    product: Array  # c = Aᵀv_ref
    account: Array
    rows: Any
    length: Array  # ‖a_j‖
    weight: Array  # ρ_k
    total: Array  # Σ y_j over the draws
    squares: Array  # Σ y_j²
    drawn: Array  # the drawn rows
    factor: Array
    gaps: Array

    def confidence(self) -> float:
        return likely(self.failure)

    @helper
    def begin(self, point: Any, rng: Any) -> None:
        """Start with a sample instead of a pass over all columns."""
        self.account[WASTE_FROM] = point.reads[0]
        self.take_sample(point, rng)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, account = point.problem, self.account
        point.intervals.inflate(abs(change) * problem.norm[i] * (problem.gain + problem.slack))
        account[MOVED_SINCE] += 1.0
        wasted = point.reads[0] - account[WASTE_FROM] - account[MOVED_SINCE]
        if self.is_anchored and wasted > LITTLE_PATIENCE * point.x.size:
            self.set_anchor(point)
        elif account[SAMPLES] == 0.0 or self.is_due(point):
            self.take_sample(point, rng)

    @helper
    def is_due(self, point: Any) -> bool:
        """Return whether steps have read as much as a sample costs, and radii have grown enough for one to help."""
        account, draws = self.account, self.drawn.size
        price = draws * point.x.size / self.anchor.size + 2.0 * self.anchor.size * self.columns
        grown = (point.intervals.lengths[INFLATION] - account[INFLATION_THEN]) * self.norms
        return point.reads[0] - account[SAMPLED_AT] >= price and grown >= self.patience * account[LEFT]

    @helper
    def set_anchor(self, point: Any) -> None:
        """Read all entries; from here on the change of v is sampled."""
        account = self.account
        for k in range(self.anchor.size):
            self.anchor[k] = point.raw_gradient[k]
        for j in range(point.x.size):
            self.product[j] = point.partial(j)
            point.intervals.set_entry(j, self.product[j], 0.0)
        account[MOVED_SINCE], account[LEFT] = 0.0, 0.0
        account[INFLATION_THEN] = point.intervals.lengths[INFLATION]
        account[SAMPLED_AT], account[WASTE_FROM] = point.reads[0], point.reads[0]

    @helper
    def take_sample(self, point: Any, rng: Any) -> None:
        """Draw rows, and intersect every interval with the sample's; columns where that is empty are read."""
        account, intervals = self.account, point.intervals
        account[SAMPLES] += 1.0
        mass, size, last = self.weigh_rows(point.raw_gradient)
        entries = self.draw_rows(point.raw_gradient, mass, last, rng) if mass > 0.0 else 0
        cost = entries * self.columns + 2.0 * self.anchor.size * self.columns
        point.reads[0] += cost
        account[WASTE_FROM] += cost  # what a sample costs is not a read that moved nothing
        eta = 6.0 * self.failure / (math.pi * math.pi * account[SAMPLES] ** 2 * point.x.size)
        moment, account[LEFT] = min(1.0, size / mass) if mass > 0.0 else 0.0, 0.0
        for j in range(point.x.size):
            middle, radius = self.interval_of(j, mass, moment, eta)
            known, width = intervals.estimate[j], intervals.radius_at(j)
            low, high = max(known - width, middle - radius), min(known + width, middle + radius)
            if low > high:  # one of both is wrong
                intervals.set_entry(j, point.partial(j), 0.0)
            elif high - low < 2.0 * width:
                intervals.set_entry(j, 0.5 * (low + high), 0.5 * (high - low))
            account[LEFT] += radius
        account[INFLATION_THEN], account[SAMPLED_AT] = intervals.lengths[INFLATION], point.reads[0]

    @helper
    def interval_of(self, j: int, mass: float, moment: float, eta: float) -> tuple[float, float]:
        """Return the sample's estimate of entry j, and its radius."""
        draws, unit = self.drawn.size, mass * self.length[j]
        if unit == 0.0:
            return self.product[j], 0.0
        mean, rounding = self.total[j] / draws, SUM_ROUNDING * (draws + self.anchor.size)
        variance = max(0.0, self.squares[j] - draws * mean * mean) / (draws - 1.0) + 2.0 * rounding
        radius = sampled_radius(variance, moment + rounding, draws, eta) + rounding
        return self.product[j] + unit * mean, unit * radius

    @helper
    def weigh_rows(self, raw_gradient: Array) -> tuple[float, float, int]:
        """Return S, ‖e‖ (inf where its square has lost digits) and the last row that may be drawn."""
        mass, square, last = 0.0, 0.0, -1
        for k in range(raw_gradient.size):
            away = raw_gradient[k] - self.anchor[k]
            part = abs(away) * self.weight[k]
            mass += part
            square += away * away
            last = k if part > 0.0 else last
        return mass, math.sqrt(square) if has_digits(square) else math.inf, last

    @helper
    def draw_rows(self, raw_gradient: Array, mass: float, last: int, rng: Any) -> int:
        """Compute Σy and Σy² of a sample; returns how many entries it has read."""
        length = 0.0  # of all gaps: their running sums divided by it are sorted uniform numbers
        for i in range(self.gaps.size):
            self.gaps[i] = -math.log(1.0 - rng.random())
            length += self.gaps[i]
        k, reached, wanted, scale = -1, 0.0, 0.0, mass / length
        for i in range(self.drawn.size):
            wanted += self.gaps[i] * scale
            while (reached < wanted or k < 0) and k < last:  # rounding may leave the sum below the last number
                k += 1
                reached += abs(raw_gradient[k] - self.anchor[k]) * self.weight[k]
            self.drawn[i] = k
            self.factor[i] = (1.0 if raw_gradient[k] > self.anchor[k] else -1.0) / self.weight[k]
        entries = self.rows.add_drawn(self.drawn, self.factor, self.total, self.squares)
        for j in range(self.total.size):
            if self.length[j] > 0.0:
                self.total[j] /= self.length[j]
                self.squares[j] /= self.length[j] * self.length[j]
        return entries


class RowsInPlace(NamedTuple):
    """The drawn rows of dense columns, column by column: each is read from its beginning to its end."""

    matrix: Any

    @helper
    def add_drawn(self, drawn: Array, factor: Array, total: Array, squares: Array) -> int:
        """Sum factor·a_kj and its square over the drawn rows, for all columns; returns how many entries were read."""
        for j in range(total.size):
            first, second = 0.0, 0.0
            for i in range(drawn.size):
                share = factor[i] * self.matrix.entry(drawn[i], j)
                first += share
                second += share * share
            total[j], squares[j] = first, second
        return drawn.size * total.size


class RowsCopied(NamedTuple):
    """The drawn rows of sparse data, row by row: ``copy`` is a matrix whose columns are the rows."""

    copy: Any

    @helper
    def add_drawn(self, drawn: Array, factor: Array, total: Array, squares: Array) -> int:
        entries = 0
        for j in range(total.size):
            total[j], squares[j] = 0.0, 0.0
        for i in range(drawn.size):
            k = drawn[i]
            entries += self.copy.stop(k) - self.copy.start(k)
            for p in range(self.copy.start(k), self.copy.stop(k)):
                j, share = self.copy.row(p), factor[i] * self.copy.entry(p, k)
                total[j] += share
                squares[j] += share * share
        return entries


@kernel
def fill_weights(matrix: Any, length: Array, weight: Array) -> None:
    """Fill in ρ_k = max_j |a_kj|/‖a_j‖."""
    for j in range(length.size):
        scale = 1.0 / length[j] if length[j] > 0.0 else 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            share = abs(matrix.entry(p, j)) * scale
            weight[k] = share if share > weight[k] else weight[k]


@helper
def sampled_radius(variance: float, second_moment: float, draws: int, eta: float) -> float:
    """Return the radius of the mean of draws in [−1, 1]; it holds with probability at least 1 − η.

    It is the smaller of two, each for half of η: Bernstein's, for E y² ≤ ``second_moment``, and that of Maurer and
    Pontil (2009, Theorem 4, both sides), for draws with that variance.
    """
    log, empirical_log = math.log(4.0 / eta), math.log(8.0 / eta)
    bernstein = math.sqrt(2.0 * second_moment * log / draws) + 2.0 * log / (3.0 * draws)
    empirical = math.sqrt(2.0 * variance * empirical_log / draws) + 14.0 * empirical_log / (3.0 * (draws - 1.0))
    return min(bernstein, empirical)
