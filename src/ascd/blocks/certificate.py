"""The certificate: an upper bound on F(X, c) − min F that counts the rounding errors of its own computation.

For every dual point Θ, of shape (d, T), that gives unpenalised columns and the intercept products of exactly 0,

    gap = Σ_k s_k·[loss(z_k) + loss*(θ_k/s_k) − ⟨θ_k, z_k⟩/s_k] + Σ_b [Ψ_b(X_b) + Ψ_b*(−U_b) + ⟨X_b, U_b⟩],   U = AᵀΘ,

a sum of terms that are not negative.  Θ is the slope V, moved to fit those equations, times the largest s ≤ 1 that all
Ψ_b* allow; or 0.  As in ``ascd.problem.proof``,

- U_b is known as a ball: its radius holds what lies between the slope when the block was read and Θ, the distance to
  the point that fits exactly, and rounding, (d + 8)·u·‖A_b‖·‖Θ‖.  Where that is too much for the gap that is asked for,
  the products of the blocks that count are computed with compensation and their own error bound;
- the image is off by at most ζ, which adds ‖V − Θ‖ζ + 2Mζ²;
- residuals are rounded before a dual point is taken from them (``residual_rounding``);
- sums of terms that are not negative are taken 10⁻⁹ larger, and what cancels adds units in its last place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.blocks.bounds import GradientBounds
from ascd.blocks.fit import Fit
from ascd.blocks.lengths import lengths_of_blocks, norm
from ascd.blocks.losses import DualPoint
from ascd.blocks.products import products
from ascd.blocks.terms import add_terms, fill_lengths, fill_open, largest_allowed_scale, weigh_rows
from ascd.blocks.tuning import FAR_FROM_ENOUGH
from ascd.matrix.arithmetic import UNIT
from ascd.problem.proof import residual_rounding
from ascd.problem.tuning import RELATIVE, WORTHWHILE


class Certificate(NamedTuple):
    """The gap, and whether unpenalised blocks could be fitted at all."""

    gap: float
    can_fit: bool


class Known(NamedTuple):
    """Products of the blocks within ``radius`` of ``estimate``, which is for blocks that may count; its ``length``."""

    estimate: Array
    length: Array
    radius: Array


def prove(fit: Fit, bounds: GradientBounds, enough: float, is_thorough: bool) -> Certificate:
    """What is proved at this point, no tighter than ``enough``; far from that, no tighter than is easily had."""
    if not (np.isfinite(fit.x).all() and np.isfinite(fit.slope).all()):
        return Certificate(math.inf, True)
    with np.errstate(all="ignore"):
        return _Proof(fit, bounds, is_thorough).certificate(enough)


def finished(gap: float, size: float, rounding: float, distance: float, zeta: float, curvature: float) -> float:
    """The gap with its rounding errors: ``size`` of what cancelled in it, of residuals, and of an image off by ζ."""
    bound = (1.0 + RELATIVE) * gap + 8.0 * size + rounding
    if zeta > 0.0:
        bound += (distance + 2.0 * curvature * zeta) * zeta  # no power: one that overflows is an error in Python
    return math.inf if math.isnan(bound) else float(bound)


class _Proof:
    """One point, looked at with two dual points."""

    def __init__(self, fit: Fit, bounds: GradientBounds, is_thorough: bool) -> None:
        problem, self.is_thorough = fit.problem, is_thorough
        self.fit, self.bounds, self.problem, self.ends = fit, bounds, problem, bounds.ends
        self.root = problem.root
        self.norm, self.longest = bounds.norm, bounds.longest
        self.flat, self.room = fit.x.ravel(), np.empty(self.longest)
        self.is_free, self.has_free = fit.resting.is_free, fit.resting.has_free
        self.zeta, self.length = self._image_error(), self._length(fit.slope)

    def certificate(self, enough: float) -> Certificate:
        fit, problem = self.fit, self.problem
        free = np.empty(0, dtype=np.int64)
        if self.has_free:
            free = problem.groups.order[problem.groups.columns(np.flatnonzero(self.is_free))]
        point = problem.loss.dual_point(problem.design, free, fit.intercept, fit.seen, fit.image)
        gap = math.inf if point is None or not np.isfinite(point.spread) else self._by_slope(point, enough)
        objective = fit.seen.value + fit.cost()
        nearest = gap if gap == math.inf else min(gap, objective)
        is_beaten = problem.loss.is_coupled and gap <= objective  # which is the gap of 0 there
        if gap > enough and not is_beaten and self._is_worth_more(nearest, enough):
            gap = min(gap, self._at_zero())
        return Certificate(gap, point is not None)

    def _is_worth_more(self, gap: float, enough: float) -> bool:
        return self.is_thorough or not gap > FAR_FROM_ENOUGH * enough or gap == math.inf

    def _by_slope(self, point: DualPoint, enough: float) -> float:
        bounds, is_slope = self.bounds, point.dual is self.fit.slope
        length = self.length if is_slope else self._length(point.dual)
        away = 0.0 if is_slope else self._length(point.dual - self.fit.slope)
        known = Known(bounds.estimate, bounds.length, bounds.radius)
        if self.has_free:
            known, away = self._products(point.dual), 0.0
        rounding = (self.longest + 8.0) * UNIT * (known.length + known.radius)  # of the norms themselves
        spread = point.spread * self.norm + rounding
        wide = known._replace(radius=known.radius + spread + (bounds.noise * length + away) * self.norm)
        gap = self._gap(point, wide)
        if not (gap > enough and self._is_worth_more(gap, enough)):
            return gap
        if self._gap(point, known._replace(radius=spread)) < max(WORTHWHILE * gap, enough):
            gap = min(gap, self._gap(point, self._carefully(point, wide, spread)))
        return gap

    def _products(self, dual: Array) -> Known:
        """Of all blocks with a dual point that is far from the slope."""
        order, length = self.problem.groups.order, np.empty(self.norm.size)
        estimate = products(self.problem.design, order, dual)
        self.bounds.reads += order.size
        fill_lengths(estimate.ravel(), self.ends, np.arange(length.size), length)
        return Known(estimate, length * (1.0 + (self.longest + 8.0) * UNIT), np.zeros(length.size))

    def _carefully(self, point: DualPoint, wide: Known, spread: Array) -> Known:
        """Products of the blocks that are not surely at rest, with compensation."""
        groups, (estimate, length, radius) = self.problem.groups, (part.copy() for part in wide)
        blocks = self._open(wide)
        places = groups.columns(blocks)
        error = np.zeros((places.size, estimate.shape[1]))
        for t in range(estimate.shape[1]):
            found = self.problem.design.careful_dots(groups.order[places], point.dual[:, t].copy())
            estimate[places, t], error[:, t] = found
        if blocks.size:
            off = lengths_of_blocks(error, np.append(0, np.cumsum(groups.sizes[blocks])))
            radius[blocks] = spread[blocks] + 1.01 * off
            length[blocks] += wide.radius[blocks]
        return Known(estimate, length, radius)

    def _open(self, known: Known) -> Array:
        fit = self.fit
        blocks = fit.resting.candidates(fit.moved, known.length, known.radius)
        if not self.has_free:
            self.bounds.show(blocks)
        listed = np.empty(blocks.size + 1, dtype=np.int64)
        gradient = known.estimate.ravel()
        count = fill_open(fit.penalty, self.flat, gradient, known.radius, self.ends, blocks, self.room, listed)
        return listed[:count][~self.is_free[listed[:count]]]

    def _gap(self, point: DualPoint, known: Known) -> float:
        # where something overflowed nothing is known
        known = known._replace(radius=np.where(np.isnan(known.radius), math.inf, known.radius))
        fit, gradient, radius = self.fit, known.estimate.ravel(), known.radius
        blocks = self._open(known)
        scale = float(largest_allowed_scale(fit.penalty, gradient, radius, self.ends, blocks, self.room))
        if scale < 1.0:
            scale *= 1.0 - (2.0 * self.longest + 16.0) * UNIT
        if not scale > 0.0:
            return math.inf
        gap, size = add_terms(fit.penalty, self.flat, gradient, radius, self.ends, blocks, scale, self.room)
        gap += self.problem.loss.gap(fit.image, point.dual, point.reach, scale)
        if self.has_free:
            gap += self._terms_at_zero(np.flatnonzero(self.is_free))[0]
        away = self._length(fit.slope - scale * point.dual) if self.zeta > 0.0 else 0.0
        return self._finished(gap, size, away + point.spread)

    def _terms_at_zero(self, blocks: Array) -> tuple[float, float]:
        """Terms of blocks whose products are 0."""
        zero = np.zeros(self.flat.size)
        return add_terms(self.fit.penalty, self.flat, zero, zero[: self.norm.size], self.ends, blocks, 1.0, self.room)

    def _at_zero(self) -> float:
        fit, zero = self.fit, np.zeros(self.norm.size)
        gap, size = self._terms_at_zero(fit.resting.candidates(fit.moved, zero, zero))
        gap += self.problem.loss.gap(fit.image, np.zeros(fit.image.shape), np.empty(0), 0.0)
        return self._finished(gap, size, self.length)

    def _finished(self, gap: float, size: float, distance: float) -> float:
        rounding = 0.0 if self.problem.loss.is_coupled else residual_rounding(self.length)
        curvature = self._most_curvature() if self.zeta > 0.0 else 0.0
        return finished(gap, size, rounding, distance, self.zeta, curvature)

    def _length(self, dual: Array) -> float:
        """The norm √Σ θ²/s, which is dual to that of the columns."""
        if self.root is None:
            return norm(dual)
        return norm(np.divide(dual, self.root, out=np.zeros(dual.shape), where=self.root > 0.0))

    def _image_error(self) -> float:
        """ζ: how far the computed image can be from AX + 1cᵀ, in the norm √Σ s·z²."""
        fit = self.fit
        size, count = weigh_rows(fit.x, self.bounds.column_norm)
        if fit.intercept:
            size += norm(fit.constant) * math.sqrt(float(self.problem.weight.sum()))
        return (count + 3.0) * UNIT * float(size) if count else 0.0

    def _most_curvature(self) -> float:
        """M; where curvatures have no bound, the largest here, if the image's error cannot change it much."""
        bound = self.problem.loss.bound
        if math.isfinite(bound):
            return float(bound)
        counted = self.problem.weight > 0.0
        most = self.fit.seen.curvature.most[counted] / self.problem.weight[counted]
        is_near = self.zeta / math.sqrt(float(self.problem.weight[counted].min())) <= 0.1
        return float(most.max()) if is_near else math.inf
