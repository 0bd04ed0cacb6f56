"""The door to the samples: targets, weights, losses, and what follows from the image z = Ax + c.

These live where the rows live; the solver asks for sums over them and for vectors of their length, nothing else:

==================  ===========================================================================
``evaluate``        Σ s·loss; slopes and curvatures are filled in, after the best intercept
``gap``             the samples' part of a duality gap, for the dual point scale·slope
``secants``         curvatures that a step has shown
``keep, compare``   slopes remembered: their lengths, and how the present one lies to them
==================  ===========================================================================

Many samples are looked at in parts of fixed size, which threads share (see ``problem.at_samples``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.problem.at_samples import evaluate_samples, most_curvature, price_of
from ascd.problem.duality import sample_gap
from ascd.problem.optimality import length_across, share_along
from ascd.problem.tuning import SAMPLES_A_PART, SMALL, SQUARE_ROUNDING
from ascd.solver import tuning


class Samples:
    """Targets, weights and losses in local memory."""

    def __init__(self, parts: Any, intercept: bool) -> None:
        self.sample, self.loss, self.intercept = parts.sample, parts.loss, intercept
        self.size = parts.sample.target.size
        self.is_quadratic = bool(parts.loss.is_quadratic())
        bound, weight = float(parts.loss.curvature_bound()), float(np.mean(parts.sample.weight))
        self.has_bound = math.isfinite(bound)
        self.most_curvature = most_curvature(parts.sample, parts.loss)
        self.typical_curvature = weight * (bound if self.has_bound else 1.0)
        self.price = price_of(parts.loss) * self.size  # of a look at all of them
        self.kept = np.zeros((tuning.SLOTS, self.size))  # slopes remembered

    def evaluate(self, image: Array, slope: Array, curvature: Array, guess: float = 0.0) -> tuple[float, float]:
        """The sum of losses, and how far the intercept (if there is one) has moved the image: about ``guess``."""
        most = self.most_curvature if self.intercept else None
        return evaluate_samples(self.sample, self.loss, image, slope, curvature, most, guess)

    def gap(self, image: Array, slope: Array, scale: float) -> float:
        """Σ f_k(z_k) + f_k*(θ_k) − θ_k·z_k for θ = scale·slope."""
        out = np.empty(parts_of(self.size))
        share(self.price, out.size, fenchel_gaps, self.sample, self.loss, image, slope, scale, out)
        return float(out.sum())

    def secants(self, image: Array, there: Array, slope: Array, end: Array, out: Array) -> None:
        """Raise ``out`` to the curvatures that a step from the image to ``there`` has shown."""
        given = (self.sample, self.loss, image, there, slope, end, out)
        share(2.0 * self.price, self.size, raise_to_secants, *given)

    def keep(self, slot: int, slope: Array) -> tuple[float, float]:
        """Remember a slope; its squared length and its sum."""
        sums = np.empty((parts_of(self.size), 2))
        share(prices.SUMMED * self.size, len(sums), keep_slope, slope, self.kept[slot], sums)
        length, total = (sums[0] if len(sums) == 1 else sums.sum(axis=0)).tolist()
        return length, total

    def compare(self, slope: Array, length: Array, total: Array, used: Array, out: Array) -> None:
        """For every slope v_r remembered: the share s of it in the present one, ‖e‖ and |Σe| of the rest e."""
        if self.size <= SAMPLES_A_PART:
            compare_slopes(slope, self.kept, length, total, used, out)
            return
        slots = np.flatnonzero(used)
        sums = np.zeros((parts_of(self.size), 2 + slots.size))
        price = prices.SAMPLE * self.size
        share(price, len(sums), slope_sums, slope, self.kept, slots, sums)
        size, sum_here, *along = (sums[0] if len(sums) == 1 else sums.sum(axis=0)).tolist()
        squares = length[slots].tolist()
        shares = np.array([share_along(product, square) for product, square in zip(along, squares, strict=True)])
        rest = np.zeros((len(sums), slots.size))
        share(price, len(sums), rest_sums, slope, self.kept, slots, shares, rest)
        out[0, slots] = shares
        rounding = SQUARE_ROUNDING * SQUARE_ROUNDING * size
        out[1, slots] = [length_across(square, rounding, size) for square in rest.sum(axis=0).tolist()]
        out[2, slots] = np.abs(sum_here - shares * total[slots])


def parts_of(size: int) -> int:
    """How many parts so many samples are looked at in."""
    return -(-size // SAMPLES_A_PART)


@kernel
def fenchel_gaps(
    sample: Any, loss: Any, image: Array, slope: Array, scale: float, out: Array, start: int, stop: int
) -> None:
    """out_p = the samples' part of the gap, for each part."""
    for part in range(start, stop):
        out[part] = sample_gap(
            sample, loss, image, slope, scale, part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, image.size)
        )


@kernel
def keep_slope(slope: Array, place: Array, sums: Array, start: int, stop: int) -> None:
    """For each part: a copy, Σv² and Σv."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, slope.size)
        length, total = 0.0, 0.0
        for k in range(first, last):
            place[wide(k)] = slope[wide(k)]
        for k in range(first, last):
            length += slope[wide(k)] * slope[wide(k)]
            total += slope[wide(k)]
        sums[part, 0], sums[part, 1] = length, total


@kernel
def compare_slopes(slope: Array, kept: Array, length: Array, total: Array, used: Array, out: Array) -> None:
    """All of ``compare`` in one call, for few samples."""
    for r in range(used.size):
        if used[r] > 0:
            along, rest, size, sum_here = 0.0, 0.0, 0.0, 0.0
            for k in range(slope.size):
                along += kept[r, k] * slope[k]
                size += slope[k] * slope[k]
                sum_here += slope[k]
            along = share_along(along, length[r])
            for k in range(slope.size):
                away = slope[k] - along * kept[r, k]
                rest += away * away
            rounding = SQUARE_ROUNDING * SQUARE_ROUNDING * size
            out[0, r], out[1, r] = along, length_across(rest, rounding, size)
            out[2, r] = abs(sum_here - along * total[r])


@kernel
def slope_sums(slope: Array, kept: Array, slots: Array, out: Array, start: int, stop: int) -> None:
    """For each part: Σv², Σv, and ⟨v_r, v⟩ for the slopes remembered."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, slope.size)
        size, total = 0.0, 0.0
        for number in range(first, last):
            k = wide(number)
            size += slope[k] * slope[k]
            total += slope[k]
        out[part, 0], out[part, 1] = size, total
        for i in range(slots.size):
            r, along = wide(slots[i]), 0.0
            for number in range(first, last):
                k = wide(number)
                along += kept[r, k] * slope[k]
            out[part, 2 + i] = along


@kernel
def rest_sums(slope: Array, kept: Array, slots: Array, shares: Array, out: Array, start: int, stop: int) -> None:
    """For each part: ‖v − s·v_r‖² for the slopes remembered."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, slope.size)
        for i in range(slots.size):
            r, along, rest = wide(slots[i]), shares[i], 0.0
            for number in range(first, last):
                k = wide(number)
                away = slope[k] - along * kept[r, k]
                rest += away * away
            out[part, i] = rest


@kernel
def raise_to_secants(
    sample: Any, loss: Any, image: Array, there: Array, slope: Array, end: Array, out: Array, start: int, stop: int
) -> None:
    """The curvatures that a step to ``there`` has shown (see ``following``), where they are larger than ``out``."""
    for number in range(start, stop):
        k = wide(number)
        weight, target = at(sample.weight, k), sample.target[k]
        value, other = weight * loss.value(target, image[k]), weight * loss.value(target, there[k])
        lift = end[k] * (there[k] - image[k])
        divergence, change = value - other + lift, end[k] - slope[k]
        is_seen = divergence > SMALL * (abs(value) + abs(other) + abs(lift))
        is_seen = is_seen and weight > 0.0
        out[k] = max(out[k], 0.5 * change * change / divergence if is_seen else 0.0)


@kernel
def cost_of(penalty: Any, columns: Array, values: Array) -> float:
    """Σ Ψ_j over some coordinates with these values."""
    total = 0.0
    for i in range(columns.size):
        total += penalty.cost(values[i], columns[i])
    return total
