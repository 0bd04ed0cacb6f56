"""Several references instead of one, and a refresh by what it is expected to save: parts for a comparison.

The last k reference vectors v_1 (the newest), …, v_k with their products g_i = Aᵀv_i are kept.  With q_1, …, q_k, an
orthonormal basis of their span that begins with v_1, and c_ij = ⟨a_j, q_i⟩ (combinations of the products, no reads),

    ∇_j = ⟨a_j, v⟩  ∈  g_1j + Σ_i ⟨v − v_1, q_i⟩·c_ij ± ‖e‖·√(‖a_j‖² − Σ_i c_ij²),    e = v outside of the span.

That is the tightest interval which all k products allow: no wider than the intersection of the k single ones.

**By saving.**  A look that moves nothing is not always the fault of old bounds: right after a refresh some are wasted,
too.  What a refresh would have saved is the waste beyond that rate; it comes when this adds up to ``patience``·n.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd import at, helper
from ascd.matrix.columns import fill_squares
from ascd.problem.tuning import SQUARE_ROUNDING

ACROSS, EPSILON = range(2)
DISTANCE, READS, MOVES, STARTED, PATH, EARLY = range(6)
#: A reference whose new part is this small a share of it adds nothing but rounding.
SMALLEST_NEW_PART = 1e-4
#: The rate of waste right after a refresh is taken from n divided by this many reads.
EARLY_PART = 10


class References(NamedTuple):
    """``count`` references; ``measured`` for the rule "awake", which says when to measure and to refresh."""

    count: int = 2
    patience: float = 0.25
    measured: bool = False
    by_saving: bool = False

    def prepare(self, parts: Any, rng: Any) -> Any:
        n, d, k = parts.norm.size, parts.sample.target.size, self.count
        square = np.empty(n)
        fill_squares(parts.matrix, np.arange(n), 1.0, square, 0, n)
        bound = SpanBound(np.zeros(n), np.zeros((n, k)), np.zeros(k), np.full(n, np.inf), np.zeros(2), parts.norm)
        kept = (np.zeros((d, k)), np.zeros((n, k)), np.zeros((d, k)), square, np.zeros(6))
        span = Span(bound, *kept)
        if self.measured:
            return MeasuredSpan(span)
        return FollowedSpan(span, float(self.patience), bool(self.by_saving))


class SpanBound(NamedTuple):
    """g_1, c, ⟨v − v_1, q_i⟩, w, [‖e‖, ε] and reach."""

    product: Any
    cosine: Any
    along: Any
    width: Any
    place: Any
    reach: Any

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        middle = self.product[j]
        for i in range(self.along.size):
            middle += self.along[i] * self.cosine[j, i]
        half = self.place[0] * self.width[j] + self.place[1] * self.reach[j]
        low = g - r if g - r > middle - half else middle - half
        high = g + r if g + r < middle + half else middle + half
        width = high - low if high > low else 0.0
        return (0.5 * (low + high) if half < np.inf else g), (0.5 * width if half < np.inf else r)


class Span(NamedTuple):
    """The bound, the references, their products, the basis, ‖a_j‖² and the accounts."""

    interval: SpanBound
    slopes: Any
    products: Any
    basis: Any
    square: Any
    account: Any

    @helper
    def push(self, point: Any) -> None:
        """The present point as the newest reference; every entry is read."""
        is_start = point.intervals.clock[0] == point.intervals.clock[1]
        for i in range(self.slopes.shape[1] - 1, 0, -1):
            for k in range(self.slopes.shape[0]):
                self.slopes[k, i] = self.slopes[k, i - 1]
            for j in range(point.x.size):
                self.products[j, i] = self.products[j, i - 1]
        for j in range(point.x.size):
            if not is_start or point.intervals.radius_at(j) > 0.0:
                point.intervals.pin(j, point.partial(j), 0.0)
            self.products[j, 0] = point.intervals.estimate[j]
            self.interval.product[j] = self.products[j, 0]
        for k in range(self.slopes.shape[0]):
            self.slopes[k, 0] = point.slope[k]
        for i in range(self.slopes.shape[1]):
            self.orthogonalise(i)
        for j in range(point.x.size):
            rest = self.square[j]
            for i in range(self.basis.shape[1]):
                rest -= self.interval.cosine[j, i] ** 2
            self.interval.width[j] = np.sqrt(max(rest, 0.0) + SQUARE_ROUNDING * self.square[j])
        self.interval.along[:] = 0.0
        self.interval.place[0], self.interval.place[1] = 0.0, point.intervals.clock[1]
        account = self.account
        account[DISTANCE], account[MOVES], account[STARTED], account[PATH], account[EARLY] = 0.0, 0.0, 1.0, 0.0, -1.0
        account[READS] = point.reads[0]

    @helper
    def orthogonalise(self, i: int) -> None:
        """q_i from v_i and the vectors before it; 0 where v_i has no new part."""
        basis, cosine, d, n = self.basis, self.interval.cosine, self.basis.shape[0], self.square.size
        whole, rest = 0.0, 0.0
        for k in range(d):
            basis[k, i] = self.slopes[k, i]
            whole += basis[k, i] ** 2
        for j in range(n):
            cosine[j, i] = self.products[j, i]
        for other in range(i):
            part = 0.0
            for k in range(d):
                part += basis[k, i] * basis[k, other]
            for k in range(d):
                basis[k, i] -= part * basis[k, other]
            for j in range(n):
                cosine[j, i] -= part * cosine[j, other]
        for k in range(d):
            rest += basis[k, i] ** 2
        scale = 1.0 / np.sqrt(rest) if rest > SMALLEST_NEW_PART**2 * whole and rest > 0.0 else 0.0
        for k in range(d):
            basis[k, i] *= scale
        for j in range(n):
            cosine[j, i] *= scale

    @helper
    def place_across(self) -> None:
        """‖e‖ from ‖v − v_1‖² and its parts inside the span."""
        inside = 0.0
        for i in range(self.interval.along.size):
            inside += self.interval.along[i] ** 2
        distance = self.account[DISTANCE]
        self.interval.place[0] = np.sqrt(max(distance - inside, 0.0) + SQUARE_ROUNDING * abs(distance))


class MeasuredSpan(NamedTuple):
    """As the oracle "measured", with several references."""

    span: Span

    def tightening(self) -> SpanBound:
        return self.span.interval

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        length = abs(change) * point.problem.norm[i] * (point.problem.gain + point.problem.slack)
        point.intervals.widen(length)
        self.span.account[PATH] += length
        self.span.interval.place[1] = self.span.account[PATH] + point.intervals.clock[1]

    @helper
    def measure(self, point: Any) -> None:
        span = self.span
        if span.account[STARTED] == 0.0:
            return
        span.interval.along[:] = 0.0
        distance = 0.0
        for k in range(span.slopes.shape[0]):
            away = point.slope[k] - span.slopes[k, 0]
            distance += away * away
            for i in range(span.interval.along.size):
                span.interval.along[i] += away * span.basis[k, i]
        span.account[DISTANCE], span.account[PATH] = distance, 0.0
        span.place_across()
        span.interval.place[1] = point.intervals.clock[1]

    @helper
    def refresh(self, point: Any) -> None:
        self.span.push(point)


class FollowedSpan(NamedTuple):
    """As the oracle "reference", with several references."""

    span: Span
    patience: float
    by_saving: bool

    def tightening(self) -> SpanBound:
        return self.span.interval

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, account = point.problem, self.span.account
        point.intervals.widen(abs(change) * problem.norm[i] * (problem.gain + problem.slack))
        account[MOVES] += 1.0
        if account[STARTED] == 0.0 or self.is_due(point):
            self.span.push(point)
        else:
            self.follow_span(point, i, change)
        self.span.interval.place[1] = point.intervals.clock[1]

    @helper
    def is_due(self, point: Any) -> bool:
        account, n = self.span.account, point.x.size
        reads = point.reads[0] - account[READS]
        wasted = reads - account[MOVES]
        if not self.by_saving:
            return wasted > self.patience * n
        if account[EARLY] < 0.0 and reads >= n / EARLY_PART:
            account[EARLY] = wasted / reads
        return account[EARLY] >= 0.0 and wasted - account[EARLY] * reads > self.patience * n

    @helper
    def follow_span(self, point: Any, i: int, change: float) -> None:
        problem, span = point.problem, self.span
        matrix, sample, loss = problem.matrix, problem.sample, problem.loss
        for p in range(matrix.start(i), matrix.stop(i)):
            k = matrix.row(p)
            step = change * matrix.entry(p, i)
            new, weight, target = point.slope[k], at(sample.weight, k), sample.target[k]
            if loss.is_quadratic():
                old = new - weight * loss.curvature(target, 0.0) * step
            else:
                old = weight * loss.derivative(target, point.image[k] - step)
            newest = span.slopes[k, 0]
            span.account[DISTANCE] += (new - newest) ** 2 - (old - newest) ** 2
            for each in range(span.interval.along.size):
                span.interval.along[each] += (new - old) * span.basis[k, each]
        span.place_across()
