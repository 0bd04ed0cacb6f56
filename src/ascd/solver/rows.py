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
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.timing import Stopwatch
from ascd.matrix.chunked import Moments, TallChunks, add_moments, moments
from ascd.problem.certificate import certify_from_sums
from ascd.problem.dual import dual_length, unweighted
from ascd.problem.losses import Sample
from ascd.problem.samples import evaluate_samples, gaps_of_samples
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
NO_COLUMNS = np.empty(0, dtype=np.int64)


# ---- what a chunk returns


class RowSamples(NamedTuple):
    """The samples of some rows."""

    sample: Sample
    loss: Any
    offset: Any


class Trial(NamedTuple):
    """From ``before`` to ``end``, with the ``constants`` c at both; lengths to try (the first is 1) and their costs.

    ``costs`` are the penalty's at each length divided by the number of rows, ``scales`` those that a dual point may
    have, ``columns`` those whose moments are wanted, if any; ``by_sign`` asks for dual points that sum to zero.
    """

    before: Array
    end: Array
    constants: Array
    lengths: Array
    costs: Array
    scales: Array
    columns: Array
    by_sign: bool


class Sums(NamedTuple):
    """Sums over rows for every length: losses, raw gradients and their products with the columns; moments of one.

    Beside moments of some columns stand the weighted sums of all.  At the end of the step: Σ v²/s, the largest f'';
    and for all raw gradients, or for the positive ones and the others, what their sizes sum to, their products with
    the columns, and the samples' part of the gap for every scale.
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
        fields = {name: reduce(add, (getattr(one, name) for one in answers)) for name in ADDED}
        return answers[0]._replace(
            moments=add_moments(found) if found else None, most_curved=max(one.most_curved for one in answers), **fields
        )


#: Fields that add up.
ADDED = ("losses", "totals", "products", "sums", "square", "sizes", "split", "gaps")


def rows_of(problem: Any, rows: slice) -> RowSamples:
    """Return the samples of these rows, to be kept beside their chunk."""
    offset = problem.parts.offset[rows] if problem.parts.offset.size else 0.0
    return RowSamples(_chosen(problem.parts.sample, rows), problem.parts.loss, offset)


def _chosen(sample: Sample, rows: Any) -> Sample:
    return Sample(sample.target[rows], sample.weight if np.ndim(sample.weight) == 0 else sample.weight[rows])


def sums_over_rows(part: Any, rows: RowSamples, *given: Any) -> Sums:
    """Return the sums over a chunk; ``given`` are the fields of a ``Trial``."""
    trial, (sample, loss, offset) = Trial(*given), _writable(rows)
    d, count = part.shape[0], trial.lengths.size
    predictor = _product(part, trial.end) + (trial.constants[1] + offset)
    start = _product(part, trial.before) + (trial.constants[0] + offset) if count > 1 else predictor
    losses, gradients, curvatures = np.empty(count), np.empty((count, d)), np.empty((count, d))
    for number, t in enumerate(trial.lengths.tolist()):
        there = predictor if t == 1.0 else start + t * (predictor - start)
        losses[number] = evaluate_samples(sample, loss, there, gradients[number], curvatures[number], None)[0]
    own = np.nan_to_num(losses + d * trial.costs, nan=np.inf)
    curvature, end = curvatures[int(np.argmin(own))], gradients[0]
    groups = [end > 0.0, ~(end > 0.0)] if trial.by_sign else [np.ones(d, dtype=np.bool_)]
    split = np.array([np.where(group, end, 0.0) for group in groups])
    weighed, parted = [curvature[None]] * (trial.columns.size > 0), [split] * trial.by_sign
    vectors = np.concatenate([gradients, *weighed, *parted])
    products = np.ascontiguousarray(part.dots(np.arange(part.shape[1]), vectors.T).T)
    sums = products[count] if weighed else np.zeros(0)
    found = moments(part, trial.columns, curvature, sums[trial.columns]) if weighed else None
    gaps = np.array([
        gaps_of_samples(_chosen(sample, group), loss, predictor[group], end[group], trial.scales) for group in groups
    ])  # fmt: skip
    return Sums(
        losses, gradients.sum(axis=1), products[:count], found, sums, float(np.square(dual_length(end, sample.weight))),
        float(unweighted(curvatures[0], sample.weight).max()), np.abs(split).sum(axis=1),
        products[-2:] if trial.by_sign else products[:1], gaps,
    )  # fmt: skip


def _writable(rows: RowSamples) -> RowSamples:
    """Return rows with writable arrays: those that have travelled may be locked."""
    sample, loss, offset = rows
    weight = sample.weight if np.ndim(sample.weight) == 0 else unlocked(sample.weight)
    return RowSamples(Sample(unlocked(sample.target), weight), loss, offset)


def _product(part: Any, x: Array) -> Array:
    moved, out = np.flatnonzero(x), np.zeros(part.shape[0])
    part.add(moved, x[moved], out)
    return out


# ---- the method


class RowIterate(NamedTuple):
    """Where the run is; ``sums`` are those at the end of a step that led here, if there was one.

    ``means`` are those of all columns, the moments' those of their own.
    """

    x: Array
    constant: float
    loss: float
    gradient: Array
    total: float
    moments: Moments
    means: Array
    sums: Sums | None


class Proposal(NamedTuple):
    """A model's minimum, the gradient there and the decrease of F that the model predicts."""

    x: Array
    constant: float
    gradient: Array
    decrease: float


class RowNewton:
    """One problem in row chunks; the last iterate is kept between penalties.  ``state`` stays where it is."""

    def __init__(self, state: State, check: OptimalityCheck, rows: TallChunks, x: Array, constant: float) -> None:
        self.state, self.check, self.rows, self.problem = state, check, rows, state.problem
        self.start: tuple[Array, float] | None = (x, constant)  # None: at the state
        self.is_quadratic = state.loss.is_quadratic
        self.kept: list[Any] = []
        self.iterate: RowIterate | None = None
        self.damping, self.report = 0.0, check.report
        self.columns, self.reads = np.arange(state.n), 0

    @property
    def is_ahead(self) -> bool:
        """Return whether the iterate is one that the state has not followed to."""
        point = self.iterate
        return point is not None and (point.sums is not None or not np.array_equal(point.x, self.state.x[:, 0]))

    def minimise(self, tolerance: float, limits: Limits, is_ended: Callable[[], bool]) -> Status | None:
        """Run until the gap is at most ``tolerance``; None where the rest needs the samples themselves."""
        failures, lowest, stopwatch, state = 0, math.inf, Stopwatch(), self.state
        point, self.damping = self._begin(), 0.0
        for rounds in range(min(limits.max_iter, 100) + 1):
            if point is None or failures > 4:
                return None
            self.iterate = point
            self.report = self._report(point)
            gap = self.report.gap
            if gap <= tolerance:
                return Status.CONVERGED if self.is_ahead else None
            if rounds == limits.max_iter:
                return Status.ITERATION_LIMIT
            if stopwatch.seconds > limits.max_time:
                return Status.TIME_LIMIT
            proposal = self._propose(point, tolerance)
            is_known = point.sums is not None or not self.is_ahead  # else its gap is not
            # what is missing then is a proof that needs the samples themselves
            is_slow = is_known and not gap < 0.5 * lowest
            if is_slow and not proposal.decrease > 0.1 * tolerance:
                columns = point.moments.columns
                worst = state.terms.violation_on(columns, point.x[columns], self._gradient(point)[columns])
                if worst >= self.report.violation:  # of a column whose moments are known
                    return None
            lowest = min(lowest, gap)
            if is_ended():
                return Status.INTERRUPTED
            following = self._follow(point, proposal)
            failures = failures + 1 if following is point else 0
            point = following
        return None

    def follow(self) -> None:
        """Take the state to the iterate: a pass over the data."""
        assert self.iterate is not None
        state = self.state
        state.move_to(self.iterate.x[:, None].copy(), np.array([self.iterate.constant]))
        self.iterate = None
        self.check.bounds.read_all(state.raw_gradient)

    def _begin(self) -> RowIterate | None:
        """Return the last iterate; the state from what is known of it; or the start, by a round trip."""
        state, bounds = self.state, self.check.bounds
        if self.iterate is not None:
            return self.iterate
        x, constant = (state.x[:, 0], float(state.constant[0])) if self.start is None else self.start
        is_state = np.array_equal(x, state.x[:, 0])
        found = self.rows.known_moments(self.columns, state.seen.curvature.most) if is_state else None
        if found is None or not bounds.is_exact(state.raw_gradient):
            sums = self._request(x, x, (constant, constant), WHOLE, self.columns)
            return self._at(x.copy(), constant, sums, 0, None)
        if not 0.0 < found.total < math.inf:  # no sample curves its loss here
            return None
        total, gradient = float(state.raw_gradient.sum()), bounds.estimate[:, 0].copy()
        return RowIterate(
            x.copy(), float(state.constant[0]), state.seen.value, gradient, total, found, found.means, None
        )  # fmt: skip

    def _request(
        self, before: Array, end: Array, constants: tuple[float, float], lengths: Array, columns: Array
    ) -> Sums:
        """Make a round trip: sums over all rows for a step, with moments of these columns."""
        if not self.kept:
            self.kept = self.rows.keep_beside([rows_of(self.problem, span) for span in self.rows.spans])
        costs = np.array([self._cost(before + t * (end - before)) for t in lengths.tolist()]) / self.state.d
        trial = Trial(before, end, np.array(constants), lengths, costs, SCALES, columns, self.state.intercept)
        self.reads += self.state.n + int(np.count_nonzero(end))
        found: Sums = self.rows.over_rows(sums_over_rows, self.kept, *trial)
        return found

    def _at(self, x: Array, constant: float, sums: Sums, number: int, last: RowIterate | None) -> RowIterate | None:
        """Return the iterate that a length leads to; None where nothing finite is known of it.

        Where the sums have no moments, those of the last iterate are the same.
        """
        loss, gradient = float(sums.losses[number]), sums.products[number]
        found = sums.moments if last is None or sums.moments is not None else last.moments
        if found is None or not (math.isfinite(loss) and np.isfinite(gradient).all()):
            return None
        if not (0.0 < found.total < math.inf and np.isfinite(found.products).all()):
            return None
        means = sums.sums / found.total if last is None or sums.moments is not None else last.means
        return RowIterate(
            x, constant, loss, gradient, float(sums.totals[number]), found, means, sums if number == 0 else None
        )

    def _report(self, point: RowIterate) -> Report:
        """Return how good the iterate is."""
        state = self.state
        if point.sums is None and np.array_equal(state.x[:, 0], point.x):
            self.check.evaluate()
            return self.check.report
        gap, x = math.inf, point.x[:, None]
        if point.sums is not None:
            given = (x, np.array([point.constant]), point.sums, SCALES, state.intercept)
            gap = certify_from_sums(self.problem, state.terms, *given)
        violation = state.terms.violation_on(self.columns, x, self._gradient(point))
        return Report(point.loss + self._cost(point.x), gap, violation, math.isfinite(gap), math.inf)

    def _gradient(self, point: RowIterate) -> Array:
        """Return the gradient; that with the best constant, if there is an intercept."""
        return point.gradient - point.total * point.means if self.state.intercept else point.gradient

    def _propose(self, point: RowIterate, tolerance: float) -> Proposal:
        """Return the model's minimum."""
        found, gradient, columns = point.moments, self._gradient(point).copy(), point.moments.columns
        gram, violation = self._gram(found), self.report.violation
        spread = float(np.abs(point.x).sum()) or self.report.objective / max(violation, 1e-300)
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
        own = found.total * found.means**2
        if self.state.intercept:
            store, diagonal = np.array(found.products, order="F"), found.products.diagonal().copy()
            constant = self.state.matrix.multiplier(False).constant
            diagonal[diagonal <= constant * own] = own[diagonal <= constant * own]
        else:
            store = np.asfortranarray(found.products + found.total * np.outer(found.means, found.means))
            diagonal = store.diagonal().copy()
        bound = self.state.loss.bound
        typical = float(np.mean(self.problem.weight)) * (bound if math.isfinite(bound) else 1.0)
        np.fill_diagonal(store, diagonal + self.damping * typical * self.problem.norm[found.columns] ** 2)
        return store

    def _follow(self, point: RowIterate, proposal: Proposal) -> RowIterate | None:
        """Return the best iterate on the way to the proposal and beyond; the same one where F decreases nowhere."""
        lengths = WHOLE if self.is_quadratic else TRIAL_LENGTHS
        ends = (point.x, self._gradient(point)), (proposal.x, proposal.gradient)
        columns = NO_COLUMNS if self.is_quadratic else self._next_columns(ends)
        sums = self._request(point.x, proposal.x, (point.constant, proposal.constant), lengths, columns)
        change, shift = proposal.x - point.x, proposal.constant - point.constant
        there = [proposal.x if t == 1.0 else point.x + t * change for t in lengths.tolist()]
        values = sums.losses + np.array([self._cost(x) for x in there])
        values[np.isnan(values)] = math.inf
        now = point.loss + self._cost(point.x)
        noise = tuning.OBJECTIVE_ROUNDING * (4.0 + math.sqrt(self.state.d)) * abs(now)
        best = int(np.argmin(values))
        best = 0 if values[0] <= values[best] + noise else best
        if not values[best] <= now + noise:
            self.damping = max(tuning.MORE_DAMPING * self.damping, tuning.LEAST_AFTER_FAILURE)
            return point
        self.damping = 0.0 if best == 0 else self.damping
        t = float(lengths[best])
        constant = proposal.constant if t == 1.0 else point.constant + t * shift
        return self._at(there[best], constant, sums, best, point)

    def _next_columns(self, ends: Sequence[tuple[Array, Array]]) -> Array:
        """Return the columns whose moments the next model needs, in rising order; all, where it would be nearly all.

        ``ends`` are points of a step with their gradients; the last one is where it leads to.
        """
        n, norm = self.state.n, self.problem.norm
        is_wanted, nearest, low, high = np.zeros(n, dtype=np.bool_), *np.empty((3, n))
        for x, gradient in ends:
            subgradients(self.state.penalty, x, low, high)
            nearest = np.maximum(low + gradient, -gradient - high) / np.maximum(norm, 1e-300)
            is_wanted |= low == high
        is_wanted |= nearest > 0.0
        moving = int(np.count_nonzero(is_wanted))
        count = moving + tuning.FEWEST_NEXT + int(tuning.NEXT_SHARE * moving)
        if count > 0.9 * n:
            return np.arange(n)
        nearest[is_wanted] = math.inf
        return np.sort(np.argpartition(-nearest, count - 1)[:count])

    def _cost(self, x: Array) -> float:
        return float(self.state.terms.cost_on(self.columns, x))
