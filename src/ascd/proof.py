"""The certificate: an upper bound on F(x) − min F that counts every rounding error of its own computation.

``prove`` takes the best of several dual points: 0; the slope v, scaled; and v moved so that it fits the coordinates
which no scale fits (``dual_fit``).  What is computed in floating point and what is proved differ by

- the products: an inner product of d terms is wrong by (d + 8)·u·‖a_j‖‖θ‖ at most, u = 2⁻⁵³, which becomes part of its
  interval.  Where these intervals are too wide for the gap that is asked for, the products are computed with a proven
  error (``careful``);
- the image: z̃ = Ax + e with ‖e‖ ≤ ζ.  Since f is convex, f(z) − θᵀz ≤ f(z̃) − θᵀz̃ + (∇f(z) − θ)ᵀ(z − z̃), so the
  gap grows by ‖v − θ‖·ζ + M·ζ² at most: next to nothing near the optimum, where θ is v;
- the sums over samples and coordinates, of terms that are not negative: relative errors, ``RELATIVE`` of the sum; and
  the penalties' terms, which cancel: a few units in the last place of their parts.

Numbers are taken to stay above 1e-290: what lies below counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._checks import Array
from ascd.careful import UNIT, careful_products, careful_sum
from ascd.dual_fit import DualFit, fit_to
from ascd.duality import gap_at_zero, gap_within, movable_curvatures, open_coordinates, required_products

#: Rounds of fitting the dual point: what fits some coordinates may push others over their end.
MOST_FITS = 4
#: Relative errors of sums of terms that are not negative.
RELATIVE = 1e-9
#: Where the scale is below 1 it is made smaller by the first number; by the next if that was not enough.
MARGINS = (8.0 * UNIT, 1e-12)
#: Products are computed with care where that can lower the gap to this share, or to what is asked for.
WORTHWHILE = 0.9


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


def prove(parts: Any, penalty: Any, place: Place, products: Products, enough: float = 0.0) -> float:
    """An upper bound on F(x) − min F; inf where no dual point is known.  It is made no tighter than ``enough``."""
    if not (np.isfinite(place.x).all() and np.isfinite(place.slope).all()):
        return math.inf
    with np.errstate(all="ignore"):
        return _Proof(parts, penalty, place).best_gap(products, enough)


class _Proof:
    """One place, looked at with several dual points."""

    def __init__(self, parts: Any, penalty: Any, place: Place) -> None:
        self.parts, self.penalty, self.place = parts, penalty, place
        weight = np.asarray(parts.sample.weight, dtype=np.float64)
        self.counted = np.broadcast_to(weight > 0.0, place.slope.shape)
        self.inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0.0)
        self.noise = (place.slope.size + 8.0) * UNIT
        self.zeta = self._image_error(float(np.sum(np.broadcast_to(weight, place.slope.shape))))
        self.most_curvature = self._most_curvature()
        self.required = np.full(place.x.size, np.nan)
        self.listed = np.empty(place.x.size, dtype=np.int64)

    def best_gap(self, products: Products, enough: float) -> float:
        best, place = self._at_zero(), self.place
        dual, estimate, radius = place.slope, products.estimate.copy(), products.radius
        columns, fit, used, excess = np.arange(0), None, np.arange(0), np.empty(0)
        if place.intercept:
            fit, used = self._fit(columns)
            if fit is None:
                return best
            dual = fit.moved(dual, np.array([careful_sum(dual)[0]]))
        for attempt in range(MOST_FITS):
            if best <= enough:
                break
            if attempt:
                assert fit is not None
                dual = fit.moved(dual, excess)
                estimate, radius = products.read(dual), np.zeros(radius.size)
            wide = radius + self._noise(dual, moved=attempt == 0)
            open_columns = self._columns_to_fit(estimate, wide, columns)
            if open_columns.size > columns.size:
                columns = open_columns
                fit, used = self._fit(columns)
            if columns.size and fit is None:
                break
            gap, excess = self._gap(dual, estimate, wide, columns, fit, used, enough)
            is_better = gap < WORTHWHILE * best
            best = min(best, gap)
            if not columns.size or (attempt and not is_better):
                break
        return best

    def _at_zero(self) -> float:
        parts, place = self.parts, self.place
        gap, size = gap_at_zero(parts.sample, parts.loss, self.penalty, place.x, place.image)
        return self._finished(gap, size, self._length(place.slope))

    def _columns_to_fit(self, estimate: Array, radius: Array, before: Array) -> Array:
        """Coordinates that no scale fits, and those fitted before: where they need nothing now, they stay."""
        required_products(self.penalty, self.place.x, estimate, radius, self.required)
        held = before[np.isnan(self.required[before])]
        self.required[held] = estimate[held]
        return np.flatnonzero(~np.isnan(self.required))

    def _fit(self, columns: Array) -> tuple[DualFit | None, Array]:
        parts, place = self.parts, self.place
        curvature = np.empty(place.slope.size)
        typical = float(np.sqrt(np.mean((place.slope * self.inverse) ** 2)))
        movable_curvatures(parts.sample, parts.loss, place.slope, place.curvature, typical, curvature)
        return fit_to(parts.matrix, columns, place.intercept, curvature, self.counted, self.required[columns])

    def _gap(
        self, dual: Array, estimate: Array, radius: Array, columns: Array, fit: DualFit | None, used: Array,
        enough: float,
    ) -> tuple[float, Array]:  # fmt: skip
        """The gap for the dual points near this one that fit the columns, and by how much it misses them."""
        reach, excess = np.empty(0), np.empty(0)
        if fit is not None:
            excess, error = self._excess(dual, columns, used)
            reach = fit.reach(np.abs(excess) + error)
            spread = self._length(reach)
            if not np.isfinite(spread):
                return math.inf, excess
            estimate[columns] = self.required[columns]
            radius = radius + spread * self.parts.norm
            radius[columns] = 0.0
        else:
            spread = 0.0
        gap = self._within(dual, reach, estimate, radius)
        if gap > enough:
            exact = np.minimum(radius, spread * self.parts.norm)
            if self._within(dual, reach, estimate, exact) < max(WORTHWHILE * gap, enough):
                self._read_carefully(dual, columns, spread, estimate, radius)
                gap = min(gap, self._within(dual, reach, estimate, radius))
        return gap, excess

    def _excess(self, dual: Array, columns: Array, used: Array) -> tuple[Array, Array]:
        """By how much the products of the dual point differ from those required, and the error of that."""
        matrix, count = self.parts.matrix, columns.size
        product, error = np.zeros((2, self.place.x.size))
        careful_products(matrix, columns, dual, product, error)
        excess = product[columns] - self.required[columns]
        error = error[columns] + self._own_rounding(dual) * self.parts.norm[columns]
        if self.place.intercept:
            total, off = careful_sum(dual)
            off += 4.0 * UNIT * float(np.abs(dual).sum())
            excess, error = np.append(excess, total), np.append(error, off)
        assert excess.size == count + self.place.intercept
        return excess[used], error[used]

    def _within(self, dual: Array, reach: Array, estimate: Array, radius: Array) -> float:
        parts, place = self.parts, self.place
        count = open_coordinates(self.penalty, place.x, estimate, radius, self.listed)
        for margin in MARGINS:
            gap, scale, size = gap_within(
                parts.sample, parts.loss, self.penalty, place.x, place.image, dual, reach, estimate, radius,
                self.listed[:count], margin,
            )  # fmt: skip
            if gap < math.inf or scale <= 0.0:
                break
        return self._finished(gap, size, self._length(place.slope - scale * dual))

    def _read_carefully(self, dual: Array, fixed: Array, spread: float, estimate: Array, radius: Array) -> None:
        """Products with a proven error for the coordinates that are not surely at rest."""
        count = open_coordinates(self.penalty, self.place.x, estimate, radius, self.listed)
        columns = np.setdiff1d(self.listed[:count], fixed, assume_unique=True)
        careful_products(self.parts.matrix, columns, dual, estimate, radius)
        radius[columns] += (spread + self._own_rounding(dual)) * self.parts.norm[columns]

    def _noise(self, dual: Array, moved: bool) -> Array:
        """Rounding errors of the products; at first they are those of the slope, of which the dual point is a part."""
        away = self._length(dual - self.place.slope) if moved and dual is not self.place.slope else 0.0
        noise: Array = (self.noise * self._length(dual) + away) * self.parts.norm
        return noise

    def _own_rounding(self, dual: Array) -> float:
        """Losses with a domain move a dual point that left it by rounding: by its last digits at most."""
        return 0.0 if self.parts.loss.is_quadratic() else 8.0 * UNIT * self._length(dual)

    def _finished(self, gap: float, size: float, distance: float) -> float:
        """The gap with the rounding errors of its own sums and of the image."""
        bound = (1.0 + RELATIVE) * gap + 8.0 * UNIT * size
        if self.zeta > 0.0:
            bound += distance * self.zeta + 2.0 * self.most_curvature * self.zeta**2
        return math.inf if math.isnan(bound) else float(bound)

    def _length(self, vector: Array) -> float:
        """The norm Σ θ_k²/s_k, which is dual to that of the columns."""
        return float(np.sqrt(np.sum(vector * vector * self.inverse)))

    def _image_error(self, total: float) -> float:
        """ζ: how far the computed image can be from Ax + c·1."""
        x, moved = np.abs(self.place.x), np.count_nonzero(self.place.x)
        size = float(x @ self.parts.norm) + abs(self.place.constant) * math.sqrt(total)
        return (moved + 3.0) * UNIT * size if moved else 0.0

    def _most_curvature(self) -> float:
        bound = float(self.parts.loss.curvature_bound())
        return bound if math.isfinite(bound) else float((self.place.curvature * self.inverse).max(initial=0.0))
