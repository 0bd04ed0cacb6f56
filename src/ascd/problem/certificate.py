"""The certificate: an upper bound on F(x, c) − min F that counts every rounding error of its own computation.

For every dual point Θ of shape (d, T), Fenchel's inequality bounds F − min F by

    gap = Σ_k [f_k(z_k) + f_k*(θ_k) − ⟨θ_k, z_k⟩]  +  Σ_b [Ψ_b(x_b) + Ψ_b*(−U_b) + ⟨x_b, U_b⟩],   Z = Ax + 1cᵀ, U = AᵀΘ,

a sum of terms that are not negative, so nothing cancels (Fercoq, Gramfort, Salmon 2015; Ndiaye et al. 2017).  Dual
points tried are Θ = 0 and Θ = s·V with V = ∇f(Z) and s the largest number in [0, 1] for which all Ψ_b* are finite.
With an intercept V must sum to 0: first the entries of one sign are scaled; where that does not do, V is moved to this
and to other products that are required (``ascd.problem.samples``).
``docs/certificates.md`` lists what is rounded:

- an inner product of d terms is wrong by (d + 8)·u·‖a_j‖‖θ‖ at most, u = 2⁻⁵³, which becomes part of its interval;
- for the predictor Z̃ = Z + E with ‖E‖ ≤ ζ the gap grows by ‖V − Θ‖·ζ + 2M·ζ² at most, since f is convex;
- residuals z − b are off by δ: a term ½(r + δ)² is at most ½(1 + 10⁻⁹)r² + ½(1 + 10⁹)δ².

Numbers are taken to stay above 1e-290: what lies below counts as 0.  All gaps that are reported come from here;
``solver.check`` and ``solver.small`` estimate them, to choose what to do next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.columns import UNIT, careful_sum
from ascd.problem.arithmetic import has_digits, length_of, lengths_of_blocks, nonzero_rows, norm, square_over
from ascd.problem.samples import dual_length, sample_gap, unweighted
from ascd.problem.terms import NO_INDICES, positive_part, scale_of
from ascd.problem.tuning import DOMAIN_ROUNDING, MARGINS, RELATIVE, SAMPLES_A_PART, WORTHWHILE


class Point(NamedTuple):
    """A point with what follows from it: x (n, T) in the order of the blocks, constants (T,), predictor Z (d, T),
    raw gradient V (d, T) and the curvature there."""

    x: Array
    constant: Array
    predictor: Array
    raw_gradient: Array
    curvature: Any
    intercept: bool


def certify(
    problem: Any, terms: Any, point: Point, estimate: Array, radius: Array, read: Any, enough: float = 0.0
) -> tuple[float, bool]:
    """Return a bound on F − min F at a point, and whether unpenalised columns have a dual point: else no x is proved.

    The penalty is that of these terms.  In the order of the blocks AᵀV is within ``radius`` (one a block) of
    ``estimate`` (n, T), and ``read`` returns AᵀΘ.  The bound is made no tighter than ``enough``; where that is inf, V
    itself is the dual point, or there is no bound.
    """
    loss, size = problem.loss, point.predictor.size
    with np.errstate(all="ignore"):
        is_large = size > SAMPLES_A_PART and enough < math.inf
        if not (loss.is_coupled or terms.unpenalised.size or is_large):
            reach, listed = np.empty(size if point.intercept else 0), np.empty(terms.count, dtype=np.int64)
            wider = radius if terms.is_by_coordinate else with_length_rounding(terms, estimate, radius)
            gap = gap_at_gradient(
                loss.sample, loss.loss, terms.parts, terms.norm, point.x.ravel(), point.constant, point.intercept,
                point.predictor.ravel(), point.raw_gradient.ravel(), estimate.ravel(), wider, problem.total_weight,
                loss.bound, problem.offset_length, max(MARGINS[0], terms.margin), listed,
                point.raw_gradient.flatten(), reach,
            )  # fmt: skip
            if gap <= enough:
                return float(gap), True
        if not (np.isfinite(point.x).all() and np.isfinite(point.raw_gradient).all()):
            return math.inf, True
        return _Proof(problem, terms, point, read).certificate(estimate, radius, enough)


@kernel
def gap_at_gradient(
    sample: Any, loss: Any, parts: Any, norm: Array, x: Array, constant: Array, intercept: bool, predictor: Array,
    gradient: Array, estimate: Array, radius: Array, total: float, bound: float, offset: float, margin: float,
    listed: Array, dual: Array, reach: Array,
) -> float:  # fmt: skip
    """Return the gap at the raw gradient as dual point, its signs balanced where each output must sum to 0.

    It is cheaper than ``_Proof``, whose dual points sum to 0 by a projection: a small ``solve`` takes 1.7 times as long
    without.  The gap is inf where a product is required or curvatures have no bound.  ``dual`` holds the gradient, too.
    """
    d = predictor.size
    length, spread, away = distance_in_dual(gradient, gradient, 0.0, sample.weight), 0.0, 0.0
    if not (length < math.inf and bound < math.inf):
        return math.inf
    if intercept:
        for t in range(constant.size):
            if not balance_signs(gradient, dual, reach, t, constant.size):
                return math.inf
        spread = distance_in_dual(reach, reach, 0.0, sample.weight)
        away = distance_in_dual(gradient, dual, 1.0, sample.weight)
    rounding = 2.0 * (d + 8.0) * UNIT * max(length, distance_in_dual(dual, dual, 0.0, sample.weight))
    wide_by = rounding + away + spread
    count, moved, size_of_x, scale = 0, 0, 0.0, 1.0
    for number in range(norm.size):
        b = wide(number)
        first, r = parts.first_at(b), radius[b] + wide_by * norm[b]
        if parts.requires_at(x, estimate, first, b, r, False):
            return math.inf
        if not parts.rests_at(x, estimate, first, b, r):
            listed[count] = b
            count += 1
            scale = min(scale, parts.scale_at(estimate, first, b, r))
        size_of_block = parts.length_at(x, first, b)
        size_of_x += size_of_block * norm[b]
        moved += parts.size_at(b) if size_of_block > 0.0 else 0
    size_of_x += length_of(constant) * math.sqrt(total) + offset
    zeta = (moved + 4.0) * UNIT * size_of_x if moved > 0 or offset > 0.0 else 0.0
    if not scale > 0.0:
        return math.inf
    scale = scale * (1.0 - margin) if scale < 1.0 else scale
    gap, size = 0.0, 0.0
    for i in range(count):
        b = wide(listed[i])
        term, of_parts = parts.term_at(x, estimate, parts.first_at(b), b, radius[b] + wide_by * norm[b], scale, True)
        gap += positive_part(term)
        size += of_parts
    gap += sample_gap(sample, loss, predictor, dual, reach, scale, 0, d)
    distance = distance_in_dual(gradient, dual, scale, sample.weight) + spread
    return finished(gap, size, length, distance, zeta, bound)


@helper
def balance_signs(gradient: Array, dual: Array, reach: Array, start: int, step: int) -> bool:
    """Fill in V with the entries of one sign scaled, so that an output sums to 0; they are ``step`` apart.

    ``reach`` is how far each may be from the dual point that does so exactly: rounding leaves a part of the scale open.
    No entry grows and all become a little smaller: none leaves its domain.  Returns False without both signs.
    """
    d, above, below = dual.size, 0.0, 0.0
    for k in range(start, d, step):
        above += max(gradient[k], 0.0)
        below += max(-gradient[k], 0.0)
    if not (0.0 < above < math.inf and 0.0 < below < math.inf):
        return False
    part, inside = (2.0 * d + 8.0) * UNIT, 1.0 - 8.0 * DOMAIN_ROUNDING
    for k in range(start, d, step):
        share = min(1.0, below / above if gradient[k] > 0.0 else above / below)
        least = share * (1.0 - part)
        dual[k] = inside * least * gradient[k]
        reach[k] = (min(1.0 - least, 2.0 * part * share) + 8.0 * UNIT) * abs(gradient[k])
    return True


@helper
def distance_in_dual(one: Array, other: Array, scale: float, weight: Any) -> float:
    """Return √Σ (one_k − scale·other_k)²/s_k; inf where its square is not an ordinary number of float64."""
    total = 0.0
    for number in range(one.size):
        k = wide(number)
        difference, counted = one[k] - scale * other[k], at(weight, k)
        total += square_over(difference, counted) if counted > 0.0 else 0.0
    return math.sqrt(total) if total == 0.0 or has_digits(total) else math.inf


@helper
def finished(gap: float, size: float, length: float, distance: float, zeta: float, curvature: float) -> float:
    """Return the gap with its rounding errors: of ``size`` that cancelled, of residuals, of a predictor off by ζ.

    Raw gradients have this ``length``, or 0 where they are not residuals.
    """
    off = 4.0 * UNIT * length
    bound = (1.0 + RELATIVE) * gap + 8.0 * UNIT * size + off * off / RELATIVE
    if zeta != 0.0:  # nan must not pass; no power: one that overflows is an error in Python
        bound += (distance + 2.0 * curvature * zeta) * zeta
    return bound if bound == bound else math.inf


class _Proof:
    """One point, with several dual points.

    Points within ``reach`` of s·``dual`` fit; other products differ from its by ``spread``·‖A_b‖ at most.
    """

    def __init__(self, problem: Any, terms: Any, point: Point, read: Any) -> None:
        self.problem, self.terms, self.point, self.read, self.loss = problem, terms, point, read, problem.loss
        self.norm, self.outputs, weight = terms.norm, problem.n_outputs, problem.sample_weight
        self.weight: Any = np.repeat(weight, self.outputs) if np.ndim(weight) else 1.0
        self.dual, self.V = point.raw_gradient, point.raw_gradient.ravel()
        self.length = dual_length(self.V, self.weight)
        self.residual_length = 0.0 if self.loss.is_coupled else self.length
        self.zeta = predictor_error(problem, point.x, point.constant)
        most = unweighted(point.curvature.most, weight)
        self.most_curvature = bounded_curvature(self.loss, self.zeta, problem.weight, float(most.max()))
        self.fixed, self.required = NO_INDICES, np.empty((0, self.outputs))
        self.is_tight = False  # does no scale below 1 meet products that are required and not 0?

    def certificate(self, estimate: Array, radius: Array, enough: float) -> tuple[float, bool]:
        best, can_fit = self._by_gradient(estimate, radius, enough)
        if best <= enough:
            return best, can_fit
        x, terms, Z = self.point.x, self.terms, self.point.predictor  # with 0 as dual point
        gap, size = terms.gap(x, np.zeros(x.shape), np.zeros(terms.count), terms.all, 1.0)
        gap += self.loss.gap(Z, np.zeros(Z.shape), np.empty(0), 0.0)
        gap = finished(gap, size, self.residual_length, self.length, self.zeta, self.most_curvature)
        return min(best, gap), can_fit

    def _by_gradient(self, estimate: Array, radius: Array, enough: float) -> tuple[float, bool]:
        """Return the gap with the raw gradient as dual point, scaled and, where need be, moved; and whether it fits."""
        best, fit = math.inf, self._fit()
        if fit is None:
            return best, False
        excess, _ = self._excess()
        for attempt in range(4):  # what fits some coordinates may push others over their end
            self.dual = fit.moved(self.dual, excess)
            noise = 2.0 * (self.problem.n_samples + 8.0) * UNIT * dual_length(self.dual.ravel(), self.weight)
            if attempt == 0:  # the products are those of V, near which the dual point is
                noise += dual_length(self.V - self.dual.ravel(), self.weight)
                estimate, radius = estimate.copy(), radius + noise * self.norm
            else:
                estimate, radius = self.read(self.dual), noise * self.norm
            fixed, self.required = self.terms.required(self.point.x, estimate, radius, self.is_tight, self.fixed)
            if fixed.size > self.fixed.size:
                self.fixed = fixed
                fit = self._fit()
                if fit is None:
                    return best, False
            excess, error = self._excess()
            estimate[self.problem.groups.columns(self.fixed)] = self.required
            self.reach, self.spread = fit.near(self.dual, np.abs(excess) + error)
            gap = self._refined_gap(estimate, radius, enough)
            self.is_tight = self.is_tight or (gap == math.inf and bool(self.required.any()))
            is_better = gap < WORTHWHILE * best
            best = min(best, gap)
            if best <= enough or not self.fixed.size or (attempt and not is_better):
                break
        return best, True

    def _fit(self) -> Any:
        columns = self.problem.groups.order[self.problem.groups.columns(self.fixed)]
        return self.loss.dual_fit(self.problem.design, columns, self.required, self.point)

    def _excess(self) -> tuple[Array, Array]:
        """Return the products of the dual point less those required, an intercept's sums last, and their errors."""
        products, error = self._careful_products(self.problem.groups.columns(self.fixed))
        excess = products - self.required
        if self.point.intercept:
            sums = np.array([careful_sum(np.ascontiguousarray(column)) for column in self.dual.T])
            excess = np.vstack([excess, sums[:, 0]])
            error = np.vstack([error, sums[:, 1] + self._own_rounding() * math.sqrt(self.problem.total_weight)])
        return excess, error

    def _careful_products(self, rows: Array) -> tuple[Array, Array]:
        """Return compensated products of the columns at some rows of x with the dual point, and their errors."""
        columns, found = self.problem.groups.order[rows], np.empty((2, rows.size, self.outputs))
        for t in range(self.outputs if rows.size else 0):
            vector = np.ascontiguousarray(self.dual[:, t])
            found[0, :, t], found[1, :, t] = self.problem.design.careful_dots(columns, vector)
        return found[0], found[1] + self._own_rounding() * self.problem.norm[columns, None]

    def _own_rounding(self) -> float:
        """Return how far losses with a domain move a dual point that weights have pushed over its end, at most."""
        is_exact = self.loss.is_quadratic or np.ndim(self.weight) == 0
        return 0.0 if is_exact else 8.0 * UNIT * dual_length(self.dual.ravel(), self.weight)

    def _refined_gap(self, estimate: Array, radius: Array, enough: float) -> float:
        """Return the gap from ordinary products, or from compensated ones where these are worth their cost."""
        if not np.isfinite(self.spread):
            return math.inf
        spread = self.spread * self.norm
        radius += spread
        radius[self.fixed] = spread[self.fixed] = 0.0  # these products are met exactly
        gap = self._within(estimate, radius)
        if gap > enough and self._within(estimate, spread) < max(WORTHWHILE * gap, enough):
            blocks = np.setdiff1d(self.terms.undecided(self.point.x, estimate, radius), self.fixed, assume_unique=True)
            rows = self.problem.groups.columns(blocks)
            estimate[rows], error = self._careful_products(rows)
            ends = self.outputs * np.append(0, np.cumsum(self.problem.groups.sizes[blocks]))
            radius[blocks] = spread[blocks] + 1.01 * lengths_of_blocks(error, ends)
            gap = min(gap, self._within(estimate, radius))
        return gap

    def _within(self, estimate: Array, radius: Array) -> float:
        x, terms = self.point.x, self.terms
        radius = radius if terms.is_by_coordinate else with_length_rounding(terms, estimate, radius)
        samples = partial(self.loss.gap, self.point.predictor, self.dual, self.reach)
        gap, size, scale = scaled_gap(terms, x, estimate, radius, samples, self.fixed)
        if scale < 1.0 and self.required.any():
            return math.inf  # the products required are missed
        distance = dual_length(self.V - scale * self.dual.ravel(), self.weight) if self.zeta > 0.0 else 0.0
        return finished(gap, size, self.residual_length, distance + self.spread, self.zeta, self.most_curvature)


def with_length_rounding(terms: Any, estimate: Array, radius: Array) -> Array:
    """Return the radii of balls with the rounding errors of the lengths of blocks, of which coordinates have none."""
    wider: Array = radius + (terms.longest + 8.0) * UNIT * (lengths_of_blocks(estimate, terms.ends) + radius)
    wider[np.isnan(wider)] = math.inf  # where something overflowed nothing is known
    return wider


def scaled_gap(
    terms: Any, x: Array, estimate: Array, radius: Array, samples: Callable[[float], float], fixed: Array,
    share: float = 1.0,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the gap at ``share`` times the largest scale that fits, the size of the penalty's terms, and the scale.

    Products of the ``fixed`` blocks fit at every scale.
    """
    others = terms.undecided(x, estimate, radius)
    others = np.setdiff1d(others, fixed, assume_unique=True) if fixed.size else others
    listed, largest = np.append(others, fixed), float(scale_of(terms.parts, estimate.ravel(), radius, others))
    for margin in MARGINS:
        scale = share * terms.shrunk(largest, margin)
        if not scale > 0.0:
            return math.inf, 0.0, 0.0
        gap, size = terms.gap(x, estimate, radius, listed, scale)
        gap += samples(scale)
        if gap < math.inf:
            break
    return gap, size, scale


def predictor_error(problem: Any, x: Array, constant: Array) -> float:
    """Return ζ: how far the computed predictor can be from o + Ax + 1cᵀ, in the norm √Σ s·z²."""
    rows = nonzero_rows(x)
    lengths = np.hypot.reduce(x[rows], axis=1)  # squares may leave the range of float64
    size = float(np.abs(lengths) @ problem.norm[problem.groups.order[rows]])
    size += norm(constant) * math.sqrt(problem.total_weight)
    is_exact = rows.size == 0 and problem.offset_length == 0.0
    return 0.0 if is_exact else (rows.size + 4.0) * UNIT * (size + problem.offset_length)


def bounded_curvature(loss: Any, zeta: float, weight: Array, most: float) -> float:
    """Return the loss's bound M, or ``most``, the largest here, where a predictor off by ζ hardly changes it."""
    if math.isfinite(loss.bound):
        return float(loss.bound)
    counted = weight[weight > 0.0]
    is_near = zeta / math.sqrt(float(counted.min(initial=math.inf))) <= 0.1
    return most if is_near else math.inf


# ---- the same from sums over samples that stay where they are (``ascd.solver.rows``)


def certify_from_sums(
    problem: Any, terms: Any, x: Array, constant: Array, sums: Any, scales: Array, intercept: bool
) -> float:
    """Return an upper bound on F − min F from sums over the samples; inf where there is none.

    The dual point is Θ = s·V.  With an intercept Θ must sum to zero: then the positive entries and the others have
    scales of their own, s·r₊ and s·r₋, of which one is s.  In exact arithmetic there is such an r; it differs from the
    computed one by a relative error of sums.  The samples' part of the gap is convex in the scale: known at some
    ``scales``, it lies below the chords between them.  Penalties that require exact products get no certificate here.
    """
    length, parts, error = math.sqrt(sums.square), np.ones(2), 0.0
    rounding = (problem.n_samples + 8.0) * UNIT
    if np.ndim(problem.sample_weight) and not problem.loss.is_quadratic:  # a domain, and weights: see ``_own_rounding``
        rounding += 8.0 * UNIT
    if intercept:
        above, below = sums.sizes.tolist()
        if not (above > 0.0 and below > 0.0):
            return math.inf
        parts = np.array([min(1.0, below / above), min(1.0, above / below)])
        error = (2.0 * problem.n_samples + 8.0) * UNIT
        rounding = 2.0 * rounding + error

    def samples(scale: float) -> float:
        """The samples' part of the gap, at the worse end of what the scales may be."""
        order, total = np.argsort(1.0 - scales), 0.0
        for found, part in zip(sums.gaps, (scale * parts).tolist(), strict=True):
            away = part * (error + 4.0 * UNIT) if part < 1.0 else 0.0
            ends = 1.0 - np.array([max(part - away, 0.0), min(part + away, 1.0)])
            total += float(np.interp(ends, (1.0 - scales)[order], found[order]).max())
        return math.inf if math.isnan(total) else total

    with np.errstate(all="ignore"):
        estimate, radius = (parts @ sums.split)[:, None], rounding * length * problem.norm
        if not (math.isfinite(sums.square) and np.isfinite(estimate).all()):
            return math.inf
        if terms.required(x, estimate, radius, False, NO_INDICES)[0].size:
            return math.inf
        gap, size, scale = scaled_gap(terms, x, estimate, radius, samples, NO_INDICES, 1.0 - 2.0 * error)
        distance = (1.0 - scale * float(parts.min()) + error) * length
        zeta = predictor_error(problem, x, constant)
        most = bounded_curvature(problem.loss, zeta, problem.weight, sums.most_curved)
        return finished(gap, size, length, distance, zeta, most)
