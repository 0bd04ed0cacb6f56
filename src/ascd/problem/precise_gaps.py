"""The samples' part of a duality gap (``duality``) to the last digits: divergences, in which nothing cancels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share
from ascd.problem.at_samples import price_of
from ascd.problem.losses.formulas import divergence
from ascd.problem.tuning import DOMAIN_ROUNDING, SAMPLES_A_PART


@helper
def precise_sample_gap(
    sample: Any, loss: Any, image: Array, dual: Array, reach: Array, scale: float, start: int, stop: int
) -> float:
    """The largest Σ_k f_k(z_k) + f_k*(θ_k) − θ_k·z_k for |θ − scale·dual| ≤ reach (none where that is empty)."""
    total = 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target, z = at(sample.weight, k), sample.target[k], image[k]
        if weight > 0.0:
            u = scale * dual[k] / weight
            if reach.size > 0 and reach[k] > 0.0:  # whether the end is inside the domain must not be left to rounding
                away = reach[k] / weight + 4.0 * DOMAIN_ROUNDING * abs(u)
                term = max(divergence(loss, target, z, u - away), divergence(loss, target, z, u + away))
            else:
                term = divergence(loss, target, z, u)
            total += weight * term
    return total


def precise_gap(sample: Any, loss: Any, image: Array, dual: Array, reach: Array, scale: float) -> float:
    """``precise_sample_gap`` of all samples, by parts that threads share."""
    out = np.empty(-(-image.size // SAMPLES_A_PART))
    given = (sample, loss, image, dual, reach, scale, out)
    share(2.0 * price_of(loss) * image.size, out.size, precise_gaps, *given)
    return float(out.sum())


@kernel
def precise_gaps(
    sample: Any, loss: Any, image: Array, dual: Array, reach: Array, scale: float, out: Array, start: int, stop: int
) -> None:
    """``precise_sample_gap`` of each part of the samples."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, image.size)
        out[part] = precise_sample_gap(sample, loss, image, dual, reach, scale, first, last)


def precise_gaps_at(sample: Any, loss: Any, image: Array, dual: Array, scales: Array) -> Array:
    """``precise_gap`` without a reach, for each of several scales: what they have in common is computed once."""
    out = np.zeros((-(-image.size // SAMPLES_A_PART), scales.size))
    price = price_of(loss) * image.size * (2.0 + scales.size)
    share(price, len(out), add_gaps_at, sample, loss, image, dual, scales, out)
    return np.asarray(out.sum(axis=0))


@kernel
def add_gaps_at(
    sample: Any, loss: Any, image: Array, dual: Array, scales: Array, out: Array, start: int, stop: int
) -> None:
    """The gaps of each part of the samples, one a scale, are added to its line."""
    for part in range(start, stop):
        for k in range(part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, image.size)):
            weight, target, z = at(sample.weight, k), sample.target[k], image[k]
            if weight > 0.0:
                for m in range(scales.size):
                    out[part, m] += weight * divergence(loss, target, z, scales[m] * dual[k] / weight)
