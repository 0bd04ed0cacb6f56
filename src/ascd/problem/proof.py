"""The certificate: an upper bound on F(x) − min F that counts every rounding error of its own computation.

``prove`` takes the best of several dual points: 0; the slope v, scaled; and v moved so that it fits the coordinates
which no scale fits (``dual_fit``).  What is computed in floating point and what is proved differ by

- the products: an inner product of d terms is wrong by (d + 8)·u·‖a_j‖‖θ‖ at most, u = 2⁻⁵³, which becomes part of its
  interval.  Where these intervals are too wide for the gap that is asked for, the products are computed with a proven
  error (``careful``);
- the image: z̃ = Ax + e with ‖e‖ ≤ ζ.  Since f is convex, f(z) − θᵀz ≤ f(z̃) − θᵀz̃ + (∇f(z) − θ)ᵀ(z − z̃), so the
  gap grows by ‖v − θ‖·ζ + 2M·ζ² at most, where M may be that of z̃: next to nothing near the optimum, where θ is v;
- the residuals z − b, rounded before a dual point is taken from them: off by δ, a term ½(r + δ)² is at most
  ½(1 + 10⁻⁹)r² + ½(1 + 10⁹)δ² (``residual_rounding``);
- the sums over samples and coordinates, of terms that are not negative: relative errors, ``RELATIVE`` of the sum; and
  the penalties' terms, which cancel: a few units in the last place of their parts.

Numbers are taken to stay above 1e-290: what lies below counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.arithmetic import UNIT, careful_sum
from ascd.matrix.base import Design
from ascd.problem import tuning
from ascd.problem.dual_fit import DualFit, InterceptFit, centred, fit_to
from ascd.problem.dual_samples import dual_distance, dual_length, is_finite, movable, unweighted
from ascd.problem.duality import gap_at_zero, open_coordinates, required_products, scale_within, terms_within
from ascd.problem.precise_gaps import precise_gap


class Place(NamedTuple):
    """A point with an intercept, the image z = Ax + c·1, and the slopes and curvatures of the losses there."""

    x: Array
    constant: float
    image: Array
    slope: Array
    curvature: Array
    intercept: bool


class Products(NamedTuple):
    """Aᵀ·slope as intervals, rounding errors not counted, and a function that gives Aᵀ·dual for another dual point."""

    estimate: Array
    radius: Array
    read: Callable[[Array], Array]


class Certificate(NamedTuple):
    """An upper bound on F(x) − min F (inf where no dual point is known).

    ``can_fit`` is False where coordinates ask for a dual point that cannot be fitted: no point x has a better proof.
    """

    gap: float
    can_fit: bool


def prove(
    design: Design, parts: Any, penalty: Any, place: Place, products: Products, enough: float = 0.0
) -> Certificate:
    """What is proved at this place.  The gap is made no tighter than ``enough``."""
    with np.errstate(all="ignore"):
        if not (is_finite(place.x) and is_finite(place.slope)):
            return Certificate(math.inf, True)
        return _Proof(design, parts, penalty, place).certificate(products, enough)


def residual_rounding(length: float) -> float:
    """What the rounding of residuals can add to a gap, for slopes of this length."""
    off = 4.0 * UNIT * length
    return off * off / tuning.RELATIVE


class _Near(NamedTuple):
    """The dual points within ``reach`` of s·dual that give the ``fixed`` columns what they require.

    There is one for every s ≥ ``least_scale``; its products differ from those of s·dual by ``spread``·‖a_j‖ at most.
    """

    dual: Array
    reach: Array
    spread: float
    fixed: Array
    least_scale: float


class _Proof:
    """One place, looked at with several dual points."""

    def __init__(self, design: Design, parts: Any, penalty: Any, place: Place) -> None:
        self.design, self.parts, self.penalty, self.place = design, parts, penalty, place
        weight, d = parts.sample.weight, place.slope.size
        self.is_weighted = np.ndim(weight) > 0
        self.total = float(weight.sum()) if self.is_weighted else float(d)
        self.noise = (d + 8.0) * UNIT
        self.length = self._length(place.slope)
        self.zeta = self._image_error()
        self.most_curvature = self._most_curvature() if self.zeta > 0.0 else 0.0
        self.required, self.listed = np.empty(place.x.size), np.empty(place.x.size, dtype=np.int64)
        self.is_tight = False  # does no scale below 1 meet products that are required and not 0?

    def certificate(self, products: Products, enough: float) -> Certificate:
        found = self._by_slope(products, enough)
        return found if found.gap <= enough else found._replace(gap=min(found.gap, self._at_zero()))

    def _by_slope(self, products: Products, enough: float) -> Certificate:
        """With the slope as dual point, scaled and, where need be, moved."""
        best, place, columns, fit = math.inf, self.place, np.arange(0), None
        dual, estimate, radius, excess = place.slope, products.estimate.copy(), products.radius, np.empty(0)
        if place.intercept:
            fit = self._fit(columns)
            if fit is None:
                return Certificate(best, False)
            dual = centred(fit.moved(dual, np.array([careful_sum(dual)[0]])), fit)
        for attempt in range(tuning.MOST_DUAL_FITS):
            if best <= enough:
                break
            if attempt:
                assert fit is not None
                dual = fit.moved(dual, excess)
                estimate, radius = products.read(dual), np.zeros(radius.size)
            wide = radius + self._noise(dual, moved=attempt == 0)
            to_fit = self._columns_to_fit(estimate, wide, columns)
            if to_fit.size > columns.size:
                columns, fit = to_fit, self._fit(to_fit)
            if columns.size and fit is None:
                return Certificate(best, False)
            gap, excess = self._gap(dual, estimate, wide, columns, fit, enough)
            self.is_tight = self.is_tight or (gap == math.inf and bool(self.required[columns].any()))
            is_better = gap < tuning.WORTHWHILE * best
            best = min(best, gap)
            if not columns.size or (attempt and not is_better):
                break
        return Certificate(best, True)

    def _at_zero(self) -> float:
        parts, place = self.parts, self.place
        gap, size = gap_at_zero(parts.sample, parts.loss, self.penalty, place.x, place.image)
        return self._finished(gap, size, self.length)

    def _columns_to_fit(self, estimate: Array, radius: Array, before: Array) -> Array:
        """Coordinates that no scale fits, and those fitted before: where they need nothing now, they stay."""
        given = (self.penalty, self.place.x, estimate, radius, self.is_tight, self.required)
        share(prices.COORDINATE * radius.size, radius.size, required_products, *given)
        held = before[np.isnan(self.required[before])]
        self.required[held] = estimate[held]
        return np.flatnonzero(~np.isnan(self.required))

    def _fit(self, columns: Array) -> DualFit | InterceptFit | None:
        parts, place = self.parts, self.place
        curvature = place.curvature  # where the conjugate is finite everywhere, all samples may move
        if not parts.loss.is_quadratic():
            slope = unweighted(place.slope, parts.sample.weight)
            typical = math.sqrt(float(slope @ slope) / slope.size)
            curvature = movable(parts.sample, parts.loss, place.slope, curvature, typical)
        return fit_to(self.design, columns, place.intercept, curvature, parts.sample.weight, self.required[columns])

    def _gap(
        self,
        dual: Array,
        estimate: Array,
        radius: Array,
        fixed: Array,
        fit: DualFit | InterceptFit | None,
        enough: float,
    ) -> tuple[float, Array]:
        """The gap for the dual points near this one that fit the columns, and by how much it misses them."""
        if fit is None:
            return self._careful_gap(_Near(dual, np.empty(0), 0.0, fixed, 0.0), estimate, radius, enough), np.empty(0)
        excess, error = self._excess(dual, fixed)
        estimate[fixed] = self.required[fixed]
        required = np.abs(np.append(self.required[fixed], np.zeros(int(self.place.intercept))))
        gap, away = math.inf, 0.0
        for _ in range(tuning.MOST_SCALES):  # where products are required that are not 0, a scale below 1 misses them
            reach, bound = fit.reach(np.abs(excess) + error + away * required)
            spread = self._length(reach)
            spread = spread if bound is reach else min(spread, self._length(bound))
            near = _Near(dual, reach, spread, fixed, 1.0 - away)
            gap = self._careful_gap(near, estimate, radius.copy(), enough)
            if gap < math.inf or not required.any():
                break
            away = max(tuning.MORE_SHRINK * away, tuning.FIRST_SHRINK)
        return gap, excess

    def _excess(self, dual: Array, columns: Array) -> tuple[Array, Array]:
        """By how much the products of the dual point differ from those required, and the error of that."""
        product, error = self.design.careful_dots(columns, dual)
        excess = product - self.required[columns]
        error = error + self._own_rounding(dual) * self.parts.norm[columns]
        if self.place.intercept:
            total, off = careful_sum(dual)
            off += self._own_rounding(dual) * math.sqrt(self.total)
            excess, error = np.append(excess, total), np.append(error, off)
        return excess, error

    def _careful_gap(self, near: _Near, estimate: Array, radius: Array, enough: float) -> float:
        """The gap from ordinary products, or from careful ones where these are worth their price."""
        spread = near.spread * self.parts.norm
        if not np.isfinite(near.spread):
            return math.inf
        radius += spread
        gap = self._within(near, estimate, radius)
        if gap > enough and self._within(near, estimate, spread) < max(tuning.WORTHWHILE * gap, enough):
            count = open_coordinates(self.penalty, self.place.x, estimate, radius, self.listed)
            columns = np.setdiff1d(self.listed[:count], near.fixed, assume_unique=True)
            estimate[columns], radius[columns] = self.design.careful_dots(columns, near.dual)
            radius[columns] += spread[columns] + self._own_rounding(near.dual) * self.parts.norm[columns]
            gap = min(gap, self._within(near, estimate, radius))
        return gap

    def _within(self, near: _Near, estimate: Array, radius: Array) -> float:
        parts, place = self.parts, self.place
        count = open_coordinates(self.penalty, place.x, estimate, radius, self.listed)
        listed = self.listed[:count]
        if near.fixed.size:
            listed = np.setdiff1d(listed, near.fixed, assume_unique=True)
        for margin in tuning.MARGINS:
            scale = float(scale_within(self.penalty, estimate, radius, listed, margin))
            if not scale > 0.0:
                gap, size = math.inf, 0.0
                break
            gap, size = terms_within(self.penalty, place.x, estimate, radius, listed, near.fixed, scale)
            gap += precise_gap(parts.sample, parts.loss, place.image, near.dual, near.reach, scale)
            if gap < math.inf:
                break
        if near.fixed.size and scale < near.least_scale and self.required[near.fixed].any():
            return math.inf  # the products required are missed by more than the reach was computed for
        return self._finished(gap, size, self._distance(near.dual, scale) + near.spread)

    def _noise(self, dual: Array, moved: bool) -> Array:
        """Rounding errors of the products; at first they are those of the slope, of which the dual point is a part."""
        away = self._distance(dual, 1.0) if moved and dual is not self.place.slope else 0.0
        length = self.length if dual is self.place.slope else self._length(dual)
        noise: Array = (self.noise * length + away) * self.parts.norm
        return noise

    def _own_rounding(self, dual: Array) -> float:
        """Losses with a domain move a dual point that weights have pushed over its end: by its last digits at most."""
        is_exact = self.parts.loss.is_quadratic() or not self.is_weighted
        return 0.0 if is_exact else 8.0 * UNIT * self._length(dual)

    def _finished(self, gap: float, size: float, distance: float) -> float:
        """The gap with the rounding errors of its own sums and of the image."""
        bound = (1.0 + tuning.RELATIVE) * gap + 8.0 * UNIT * size + residual_rounding(self.length)
        if self.zeta != 0.0:  # nan must not pass
            bound += (distance + 2.0 * self.most_curvature * self.zeta) * self.zeta
        return math.inf if math.isnan(bound) else float(bound)

    def _length(self, vector: Array) -> float:
        """The norm Σ θ_k²/s_k, which is dual to that of the columns."""
        return dual_length(vector, self.parts.sample.weight)

    def _distance(self, dual: Array, scale: float) -> float:
        """The length of slope − scale·dual."""
        return dual_distance(self.place.slope, dual, scale, self.parts.sample.weight)

    def _image_error(self) -> float:
        """ζ: how far the computed image can be from Ax + c·1, as seen from the targets."""
        x, moved = np.abs(self.place.x), np.count_nonzero(self.place.x)
        size = float(x @ self.parts.norm) + abs(self.place.constant) * math.sqrt(self.total)
        return ((moved + 3.0) * UNIT * size if moved else 0.0) + self.parts.target_error

    def _most_curvature(self) -> float:
        """M; where curvatures have no bound, the largest here, if the image's error cannot change it much."""
        bound = float(self.parts.loss.curvature_bound())
        if math.isfinite(bound):
            return bound
        weight, curvature = self.parts.sample.weight, self.place.curvature
        is_far = self.zeta * math.sqrt(float(unweighted(np.ones(curvature.size), weight).max())) > 0.1
        return math.inf if is_far else float(unweighted(curvature, weight).max())
