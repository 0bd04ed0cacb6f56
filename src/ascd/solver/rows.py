"""Newton's method for row chunks that stay where they are: one round trip a step, and no vector of samples travels.

A step leads from x to x' (and from c to c'); several lengths t of it are tried at once.  With z_t = z + t·(z' − z),
v_t = ∇f(z_t) and H_t = diag f''(z_t), a chunk returns Σ f_k(z_t), Σ v_t and Aᵀv_t for every t, and the moments of the
columns W, A_WᵀH_tA_W less their means, for the t that is best for its own rows.  (Chunks of shuffled data agree on it;
where they do not, the sum is still a curvature between two.)  For t = 1 it returns what a certificate needs
(``certify_from_sums``).

At the best point the model is, with g the gradient, S the sum of v and m the weighted means of the columns,

    Q(Δ) = (g − S·m)ᵀΔ + ½ ΔᵀGΔ + Σ Ψ_j(x_j + Δ_j),       Δc = −S/ΣH − mᵀΔ,

with an intercept; without it (g, AᵀHA and no Δc).  Its minimum is where the next round trip goes, together with points
on the way and beyond: the first steps of a logistic loss are far too short.  Moments are most of the work and of what
travels, so those of the columns alone are requested that are free to move at the end of the step, violate optimality
there, or are the next to do so.  For a quadratic loss moments never change, and the first pass has returned them: the
second round trip proves the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.timing import Stopwatch
from ascd.matrix.chunked import Moments, TallChunks, add_moments, linear, moments
from ascd.matrix.costs import CONSTANT_CENTRED
from ascd.problem.certificate import certify_from_sums
from ascd.problem.losses import Sample
from ascd.problem.samples import dual_length, evaluate_samples, gap_of_samples, unweighted
from ascd.problem.terms import subgradients
from ascd.results import Limits, Status
from ascd.solver import tuning
from ascd.solver.check import OptimalityCheck, Report
from ascd.solver.models import GramModel
from ascd.solver.state import State

#: Scales of a dual point that its gap is computed for: 1 − 4⁻ᵏ, and 1.  A chord of a parabola between two of them lies
#: at most 1.6 times above it.
SCALES = np.array([*(1.0 - 0.25**k for k in range(13)), 1.0])
#: Lengths of a step that are tried in one round trip, the whole step first.  First steps of a logistic loss are up to
#: six times too short.
TRIAL_LENGTHS, WHOLE = np.array([1.0, 0.5, 0.25, 0.05, 2.0, 3.0, 4.0, 6.0]), np.ones(1)
NO_COLUMNS, NO_NUMBERS = np.empty(0, dtype=np.int64), np.empty(0)


# ---- what a chunk returns


class Sums(NamedTuple):
    """Sums over rows for every length: losses, raw gradients and their products with the columns; moments of one.

    Beside moments of some columns stand the weighted sums of all.  At the end of the step: Σ v²/s, the largest f'';
    and of the positive raw gradients, then of the others, what their sizes sum to, their products with the columns, and
    the samples' part of the gap for every scale.
    """

    losses: Array
    totals: Array
    products: Array
    moments: Moments | None
    sums: Array
    square: float
    most_curved: float
    sizes: Array
    split: Array
    gaps: Array

    @staticmethod
    def together(answers: Sequence[Sums]) -> Sums:
        """Return the sums over several chunks."""
        found = [one.moments for one in answers if one.moments is not None]
        most = max(one.most_curved for one in answers)
        names = [name for name in Sums._fields if name not in ("moments", "most_curved")]
        sums: dict[str, Any] = {name: sum(getattr(one, name) for one in answers) for name in names}
        return Sums(moments=add_moments(found) if found else None, most_curved=most, **sums)


def rows_of(problem: Any, rows: slice) -> tuple[Sample, Any, Any]:
    """Return the samples of these rows, their loss and offset, to be kept beside their chunk."""
    parts = problem.parts
    return _chosen(parts.sample, rows), parts.loss, parts.offset[rows] if parts.offset.size else 0.0


def _chosen(sample: Sample, rows: Any) -> Sample:
    return Sample(*(field if np.ndim(field) == 0 else unlocked(field[rows]) for field in sample))


def sums_over_rows(
    part: Any, rows: Any, before: Array, end: Array, constants: Array, lengths: Array, costs: Array, columns: Array
) -> Sums:
    """Return the sums over a chunk for a step from ``before`` to ``end``, with the ``constants`` c at both.

    Several ``lengths`` of it are tried, the first is 1; ``costs`` are the penalty's at each, divided by the number of
    rows.  ``columns`` are those whose moments are wanted, if any.
    """
    sample, loss, offset = _chosen(rows[0], slice(None)), rows[1], rows[2]  # what has travelled may be locked
    (d, n), count = part.shape, lengths.size

    def predicted(x: Array, constant: float) -> Array:
        moved = np.flatnonzero(x)
        return linear(part, moved, x[moved]) + (constant + offset)

    predictor = predicted(end, constants[1])
    start = predicted(before, constants[0]) if count > 1 else predictor
    losses, gradients, curvatures = np.empty(count), np.empty((count, d)), np.empty((count, d))
    for number, t in enumerate(lengths.tolist()):
        there = predictor if t == 1.0 else start + t * (predictor - start)
        losses[number] = evaluate_samples(sample, loss, there, gradients[number], curvatures[number], None)[0]
    curvature, whole = curvatures[int(np.argmin(np.nan_to_num(losses + d * costs, nan=np.inf)))], gradients[0]
    groups = np.array([whole > 0.0, ~(whole > 0.0)])
    split = np.where(groups, whole, 0.0)
    weighed = [curvature[None]] * (columns.size > 0)
    products = part.dots(np.arange(n), np.concatenate([split, gradients[1:], *weighed]).T).T
    sums = products[count + 1] if weighed else np.zeros(0)
    found = moments(part, columns, curvature, sums[columns]) if weighed else None
    gaps = np.empty((2, SCALES.size))
    for some, out in zip(groups, gaps, strict=True):
        given = _chosen(sample, some), loss, predictor[some], whole[some], NO_NUMBERS
        out[:] = [gap_of_samples(*given, scale) for scale in SCALES.tolist()]
    square, most_curved = np.square(dual_length(whole, sample.weight)), unweighted(curvatures[0], sample.weight).max()
    return Sums(
        losses, gradients.sum(axis=1), np.vstack([products[:2].sum(axis=0), products[2 : count + 1]]), found, sums,
        float(square), float(most_curved), np.abs(split).sum(axis=1), products[:2], gaps,
    )  # fmt: skip


# ---- the method


class RowIterate(NamedTuple):
    """Where the run is; the gradient is that with the best constant, if there is an intercept.

    ``total`` is the sum of the raw gradient; ``sums`` are those at the end of a step that led here, if there was one.
    """

    x: Array
    constant: float
    loss: float
    gradient: Array
    total: float
    moments: Moments
    sums: Sums | None


class Proposal(NamedTuple):
    """A model's minimum, the gradient there and the decrease of F that the model predicts."""

    x: Array
    constant: float
    gradient: Array
    decrease: float


class RowNewton:
    """One problem in row chunks; the last iterate is kept between penalties.

    The state goes along, but what follows from x there is postponed.
    """

    def __init__(self, state: State, check: OptimalityCheck, rows: TallChunks) -> None:
        self.state, self.check, self.rows, self.problem = state, check, rows, state.problem
        self.is_quadratic = state.loss.is_quadratic
        self.kept: list[Any] = []
        self.iterate: RowIterate | None = None
        self.damping, self.columns, self.reads = 0.0, np.arange(state.n), 0

    def minimise(self, tolerance: float, limits: Limits, is_ended: Callable[[], bool]) -> Status | None:
        """Run until the gap is at most ``tolerance``; None where the rest needs the samples themselves."""
        failures, lowest, stopwatch, state = 0, math.inf, Stopwatch(), self.state
        point, self.damping = self._begin(), 0.0
        self.iterate = None  # where the run ends without one, the state alone is the point
        for rounds in range(min(limits.max_iter, 100) + 1):
            if point is None or failures > 4:
                return None
            if point.sums is not None or not np.array_equal(point.x, state.x[:, 0]):
                state.postpone(point.x[:, None], np.array([point.constant]))
            self.check.report = report = self._report(point)
            if report.gap <= tolerance and not state.is_postponed:
                return None
            is_last, is_late = rounds == limits.max_iter, stopwatch.seconds > limits.max_time
            if report.gap <= tolerance or is_last or is_late:
                self.iterate = point
                if report.gap <= tolerance:
                    return Status.CONVERGED
                return Status.ITERATION_LIMIT if is_last else Status.TIME_LIMIT
            proposal = self._propose(point, tolerance)
            is_known = point.sums is not None or not state.is_postponed  # else its gap is not
            # what is missing then is a proof that needs the samples themselves
            is_slow = is_known and not report.gap < 0.5 * lowest
            if is_slow and not proposal.decrease > 0.1 * tolerance:
                columns = point.moments.columns
                worst = state.terms.violation_on(columns, point.x[columns], point.gradient[columns])
                if worst >= report.violation:  # of a column whose moments are known
                    return None
            lowest = min(lowest, report.gap)
            if is_ended():
                return Status.INTERRUPTED
            following = self._follow(point, proposal)
            failures = failures + 1 if following is point else 0
            point = following
        return None

    def _begin(self) -> RowIterate | None:
        """Return the last iterate; the state from what is known of it, or by a round trip."""
        state, bounds = self.state, self.check.bounds
        if self.iterate is not None:
            return self.iterate
        x, constant, found = state.x[:, 0].copy(), float(state.constant[0]), None
        if not state.is_postponed and bounds.is_exact(state.raw_gradient):
            found = self.rows.known_moments(self.columns, state.seen.curvature.most)
        if found is None:
            return self._at(x, constant, self._request(x, x, (constant, constant), WHOLE, self.columns)[0], 0, None)
        if not 0.0 < found.total < math.inf:  # no sample curves its loss here
            return None
        total = float(state.raw_gradient.sum())
        gradient = bounds.estimate[:, 0] - (total * found.means if state.intercept else 0.0)
        return RowIterate(x, constant, state.seen.value, gradient, total, found, None)

    def _request(
        self, before: Array, end: Array, constants: tuple[float, float], lengths: Array, columns: Array
    ) -> tuple[Sums, Array]:
        """Make a round trip: sums over all rows for a step, with moments of these columns, and F at every length."""
        if not self.kept:
            self.kept = self.rows.executor.keep([rows_of(self.problem, span) for span in self.rows.spans])
        costs = np.array([self._cost(before + t * (end - before)) for t in lengths.tolist()])
        self.reads += self.state.n + int(np.count_nonzero(end))
        given = before, end, np.array(constants), lengths, costs / self.state.d, columns
        sums: Sums = self.rows.over_rows(sums_over_rows, self.kept, *given)
        return sums, np.nan_to_num(sums.losses + costs, nan=math.inf, posinf=math.inf)

    def _at(self, x: Array, constant: float, sums: Sums, number: int, known: Moments | None) -> RowIterate | None:
        """Return the iterate that a length leads to; None where nothing finite is known of it.

        Where the sums have no moments, they are still the ``known`` ones of all columns.
        """
        found = sums.moments or known
        loss, gradient, total = float(sums.losses[number]), sums.products[number], float(sums.totals[number])
        is_known = found is not None and 0.0 < found.total < math.inf and np.isfinite(found.products).all()
        if found is None or not (is_known and np.isfinite([loss, *gradient]).all()):
            return None
        if self.state.intercept:
            gradient = gradient - total * (sums.sums / found.total if sums.moments else found.means)
        return RowIterate(x, constant, loss, gradient, total, found, sums if number == 0 else None)

    def _report(self, point: RowIterate) -> Report:
        """Return how good the iterate is."""
        state = self.state
        if not state.is_postponed:
            self.check.evaluate()
            return self.check.report
        gap, x = math.inf, point.x[:, None]
        if point.sums is not None:
            given = (x, np.array([point.constant]), point.sums, SCALES, state.intercept)
            gap = certify_from_sums(self.problem, state.terms, *given)
        violation = state.terms.violation_on(self.columns, x, point.gradient)
        return Report(point.loss + self._cost(point.x), gap, violation, math.isfinite(gap), math.inf)

    def _propose(self, point: RowIterate, tolerance: float) -> Proposal:
        """Return the model's minimum."""
        found, gradient, columns = point.moments, point.gradient.copy(), point.moments.columns
        gram, violation = self._gram(found), self.check.report.violation
        spread = float(np.abs(point.x).sum()) or self.check.report.objective / max(violation, 1e-300)
        # a round trip costs more than sweeps
        target = 0.01 * min(tuning.ENOUGH * tolerance / max(spread, 1e-300), violation)
        model = GramModel(self.state.penalty, columns, gram, gradient[columns], point.x[columns])
        model.minimise(target, tuning.MOST_SWEEPS)
        x, change = point.x.copy(), model.x - point.x[columns]
        x[columns] = model.x
        decrease = -float(change @ (gradient[columns] + 0.5 * (gram @ change))) + self._cost(point.x) - self._cost(x)
        gradient[columns] = model.gradient
        if not self.state.intercept:
            return Proposal(x, point.constant, gradient, decrease)
        own = -point.total / found.total
        constant = point.constant + own - float(found.means @ change)
        return Proposal(x, constant, gradient, decrease - 0.5 * own * point.total)

    def _gram(self, found: Moments) -> Array:
        """Return G in column order, damped; a column that the intercept can replace is fixed where it is."""
        store, own = np.array(found.products, order="F"), found.total * found.means**2
        if not self.state.intercept:
            store += found.total * np.outer(found.means, found.means)
        diagonal = store.diagonal()
        is_constant = self.state.intercept & (diagonal <= CONSTANT_CENTRED * own)
        diagonal = np.where(is_constant, own, diagonal)
        bound = self.state.loss.bound
        typical = float(np.mean(self.problem.weight)) * (bound if math.isfinite(bound) else 1.0)
        np.fill_diagonal(store, diagonal + self.damping * typical * self.problem.norm[found.columns] ** 2)
        return store

    def _follow(self, point: RowIterate, proposal: Proposal) -> RowIterate | None:
        """Return the best iterate on the way to the proposal and beyond; the same one where F decreases nowhere."""
        lengths = WHOLE if self.is_quadratic else TRIAL_LENGTHS
        columns = NO_COLUMNS if self.is_quadratic else self._next_columns(point, proposal)
        constants = point.constant, proposal.constant
        sums, values = self._request(point.x, proposal.x, constants, lengths, columns)
        now, best = point.loss + self._cost(point.x), int(np.argmin(values))
        noise = tuning.OBJECTIVE_ROUNDING * (4.0 + math.sqrt(self.state.d)) * abs(now)
        best = 0 if values[0] <= values[best] + noise else best
        if not values[best] <= now + noise:
            self.damping = max(tuning.MORE_DAMPING * self.damping, tuning.LEAST_AFTER_FAILURE)
            return point
        if best == 0:
            self.damping = 0.0
            return self._at(proposal.x, proposal.constant, sums, 0, point.moments)
        t = float(lengths[best])
        constant = point.constant + t * (proposal.constant - point.constant)
        return self._at(point.x + t * (proposal.x - point.x), constant, sums, best, point.moments)

    def _next_columns(self, point: RowIterate, proposal: Proposal) -> Array:
        """Return the columns whose moments the next model needs, in rising order; all, where it would be nearly all."""
        low, high = np.empty((2, self.state.n))
        subgradients(self.state.penalty, proposal.x, low, high)
        nearest = np.maximum(low + proposal.gradient, -proposal.gradient - high) / np.maximum(self.problem.norm, 1e-300)
        nearest[(low == high) | (point.x != proposal.x)] = math.inf
        moving = int(np.count_nonzero(nearest > 0.0))
        count = moving + tuning.SMALLEST_SET + int(tuning.NEXT_SHARE * moving)
        if count > 0.9 * low.size:
            return self.columns
        return np.sort(np.argpartition(-nearest, count - 1)[:count])

    def _cost(self, x: Array) -> float:
        return float(self.state.terms.cost_on(self.columns, x))
