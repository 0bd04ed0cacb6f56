"""The certificate: an upper bound on F(X, c) − min F that counts the rounding errors of its own computation.

For every dual point Θ, of shape (d, T), that gives unpenalised columns and the intercept products of exactly 0,

    gap = Σ_k s_k·[loss(z_k) + loss*(θ_k/s_k) − ⟨θ_k, z_k⟩/s_k] + Σ_b [Ψ_b(X_b) + Ψ_b*(−U_b) + ⟨X_b, U_b⟩],   U = AᵀΘ,

a sum of terms that are not negative.  Θ is the slope V, moved to fit those equations, times the largest s ≤ 1 that all
Ψ_b* allow; or 0.  As in ``ascd.problem.proof``,

- U_b is known as a ball: its radius holds what lies between the slope when the block was read and Θ, the distance to
  the point that fits exactly, and rounding, (d + 8)·u·‖A_b‖·‖Θ‖.  Where that is too much for the gap that is asked for,
  the products of the blocks that count are computed with compensation and their own error bound;
- the image is off by at most ζ, which adds ‖V − Θ‖ζ + 2Mζ²;
- sums of terms that are not negative are taken 10⁻⁹ larger, and what cancels adds units in its last place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd.blocks.bounds import GradientBounds
from ascd.blocks.fit import Fit
from ascd.blocks.lengths import lengths_of_blocks, norm, row_lengths
from ascd.blocks.losses import DualPoint
from ascd.blocks.products import products
from ascd.blocks.terms import add_terms, fill_lengths, fill_open, largest_allowed_scale, unpenalised
from ascd.data.careful import UNIT
from ascd.problem.tuning import RELATIVE, WORTHWHILE


class Certificate(NamedTuple):
    """The gap, and whether unpenalised blocks could be fitted at all."""

    gap: float
    can_fit: bool


def prove(fit: Fit, bounds: GradientBounds, enough: float) -> Certificate:
    """What is proved at this point, no tighter than ``enough``."""
    if not (np.isfinite(fit.x).all() and np.isfinite(fit.slope).all()):
        return Certificate(math.inf, True)
    with np.errstate(all="ignore"):
        return _Proof(fit, bounds).certificate(enough)


class _Proof:
    """One point, looked at with two dual points."""

    def __init__(self, fit: Fit, bounds: GradientBounds) -> None:
        problem = fit.problem
        self.fit, self.bounds, self.problem, self.ends = fit, bounds, problem, problem.ends
        self.weight = problem.weight[:, None]
        self.norm = lengths_of_blocks(problem.norm[problem.groups.order][:, None], problem.groups.starts)
        self.longest = int(np.diff(self.ends).max())
        self.flat, self.room = fit.x.ravel(), np.empty(self.longest)
        self.is_free = unpenalised(fit.penalty, self.ends)
        self.zeta = self._image_error()

    def certificate(self, enough: float) -> Certificate:
        fit, problem = self.fit, self.problem
        free = problem.groups.columns(np.flatnonzero(self.is_free))
        point = problem.loss.dual_point(problem.design, problem.groups.order[free], fit.intercept, fit.seen, fit.image)
        gap = math.inf if point is None or not np.isfinite(point.spread) else self._by_slope(point, enough)
        return Certificate(gap if gap <= enough else min(gap, self._at_zero()), point is not None)

    def _by_slope(self, point: DualPoint, enough: float) -> float:
        bounds, length = self.bounds, self._length(point.dual)
        away = self._length(point.dual - self.fit.slope)
        estimate, radius = bounds.estimate, bounds.radius
        if self.is_free.any():
            order = self.problem.groups.order
            estimate, away = products(self.problem.design, order, point.dual), 0.0
            bounds.reads += order.size
            radius = np.zeros(radius.size)
        spread = point.spread * self.norm
        wide = radius + spread + (bounds.noise * length + away) * self.norm
        gap = self._gap(point, estimate, wide)
        if gap > enough and self._gap(point, estimate, spread) < max(WORTHWHILE * gap, enough):
            gap = min(gap, self._gap(point, *self._carefully(point, estimate, wide, spread)))
        return gap

    def _carefully(self, point: DualPoint, estimate: Array, wide: Array, spread: Array) -> tuple[Array, Array]:
        """Products of the blocks that are not surely at rest, with compensation."""
        groups, estimate, radius = self.problem.groups, estimate.copy(), wide.copy()
        blocks = self._open(-estimate.ravel(), wide)
        places = groups.columns(blocks)
        error = np.zeros(estimate.shape)
        for t in range(estimate.shape[1]):
            found = self.problem.design.careful_dots(groups.order[places], point.dual[:, t].copy())
            estimate[places, t], error[places, t] = found
        off = lengths_of_blocks(error, groups.starts)
        radius[blocks] = spread[blocks] + 1.01 * off[blocks]
        return estimate, radius

    def _open(self, u: Array, radius: Array) -> Array:
        listed = np.empty(radius.size + 1, dtype=np.int64)
        count = fill_open(self.fit.penalty, self.flat, u, radius, self.ends, listed)
        return listed[:count][~self.is_free[listed[:count]]]

    def _gap(self, point: DualPoint, estimate: Array, radius: Array) -> float:
        fit, u, lengths = self.fit, -estimate.ravel(), np.empty(radius.size)
        fill_lengths(u, self.ends, lengths)
        radius = radius + (self.longest + 8.0) * UNIT * lengths  # of the norms' own rounding
        radius[np.isnan(radius)] = math.inf  # where something overflowed nothing is known
        blocks = self._open(u, radius)
        scale = float(largest_allowed_scale(fit.penalty, u, radius, self.ends, blocks))
        if scale < 1.0:
            scale *= 1.0 - (2.0 * self.longest + 16.0) * UNIT
        if not scale > 0.0:
            return math.inf
        gap, size = add_terms(fit.penalty, self.flat, u, radius, self.ends, blocks, scale, self.room)
        gap += self.problem.loss.gap(fit.image, point.dual, point.reach, scale)
        free, zero = np.flatnonzero(self.is_free), np.zeros(u.size if self.is_free.any() else 0)
        gap += add_terms(fit.penalty, self.flat, zero, zero, self.ends, free, 1.0, self.room)[0]
        return self._finished(gap, size, self._length(fit.slope - scale * point.dual) + point.spread)

    def _at_zero(self) -> float:
        fit = self.fit
        blocks, zero = np.arange(self.is_free.size), np.zeros(self.flat.size)
        gap, size = add_terms(fit.penalty, self.flat, zero, np.zeros(blocks.size), self.ends, blocks, 1.0, self.room)
        gap += self.problem.loss.gap(fit.image, np.zeros(fit.image.shape), np.empty(0), 0.0)
        return self._finished(gap, size, self._length(fit.slope))

    def _finished(self, gap: float, size: float, distance: float) -> float:
        bound = (1.0 + RELATIVE) * gap + 8.0 * size
        if self.zeta > 0.0:
            bound += distance * self.zeta + 2.0 * self._most_curvature() * self.zeta**2
        return math.inf if math.isnan(bound) else float(bound)

    def _length(self, dual: Array) -> float:
        """The norm √Σ θ²/s, which is dual to that of the columns."""
        return norm(np.divide(dual, np.sqrt(self.weight), out=np.zeros(dual.shape), where=self.weight > 0.0))

    def _image_error(self) -> float:
        """ζ: how far the computed image can be from AX + 1cᵀ, in the norm √Σ s·z²."""
        fit, rows = self.fit, row_lengths(self.fit.x)
        size = float(rows @ self.problem.norm[self.problem.groups.order])
        size += float(np.linalg.norm(fit.constant)) * math.sqrt(float(self.weight.sum()))
        return (np.count_nonzero(rows) + 3.0) * UNIT * size if rows.any() else 0.0

    def _most_curvature(self) -> float:
        """M; where curvatures have no bound, the largest here, if the image's error cannot change it much."""
        bound = self.problem.loss.bound
        if math.isfinite(bound):
            return float(bound)
        counted = self.problem.weight > 0.0
        most = self.fit.seen.curvature.most[counted] / self.problem.weight[counted]
        is_near = self.zeta / math.sqrt(float(self.problem.weight[counted].min())) <= 0.1
        return float(most.max()) if is_near else math.inf
