"""What certificates ask of a dual point, sample by sample: its length, and where it may be moved.

Lengths are in the norm ‖θ‖² = Σ_k θ_k²/s_k, which is dual to that of the columns; samples without weight do not count.
Sums are over parts of fixed size, which threads share, so that they do not depend on the number of threads; no vector
of differences or of quotients is made for them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.problem.optimality import square_over
from ascd.problem.tuning import NEAR_END, SAMPLES_A_PART


def is_finite(vector: Array) -> bool:
    """Mostly the sum of squares tells, without another array."""
    return math.isfinite(float(vector @ vector)) or bool(np.isfinite(vector).all())


def unweighted(vector: Array, weight: Any) -> Array:
    """vector_k/s_k, 0 where a sample has no weight."""
    if np.ndim(weight) == 0:
        return vector
    return np.divide(vector, weight, out=np.zeros(vector.size), where=weight > 0.0)


def dual_length(vector: Array, weight: Any) -> float:
    """√Σ θ_k²/s_k."""
    if np.ndim(weight) == 0:
        return math.sqrt(float(vector @ vector))
    return dual_distance(vector, vector, 0.0, weight)


def dual_distance(vector: Array, other: Array, scale: float, weight: Any) -> float:
    """The length of the vector less ``scale`` times the other."""
    sums = np.empty(-(-vector.size // SAMPLES_A_PART))
    share(prices.SUMMED * vector.size, sums.size, square_sums, vector, other, scale, weight, sums)
    return math.sqrt(float(sums.sum()))


@kernel
def square_sums(vector: Array, other: Array, scale: float, weight: Any, sums: Array, start: int, stop: int) -> None:
    """For each part: Σ (vector_k − scale·other_k)²/s_k."""
    for part in range(start, stop):
        total = 0.0
        for number in range(part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, vector.size)):
            k = wide(number)
            away, counted = vector[k] - scale * other[k], at(weight, k)
            total += square_over(away, counted) if counted > 0.0 else 0.0
        sums[part] = total


def movable(sample: Any, loss: Any, dual: Array, curvature: Array, typical: float) -> Array:
    """Curvatures of the samples that may be moved."""
    out = np.empty(dual.size)
    share(prices.CURVED_SAMPLE * out.size, out.size, movable_curvatures, sample, loss, dual, curvature, typical, out)
    return out


@kernel
def movable_curvatures(
    sample: Any, loss: Any, dual: Array, curvature: Array, typical: float, out: Array, start: int, stop: int
) -> None:
    """The curvatures, 0 for samples whose θ_k stands so near the end of its domain that it must not be moved."""
    for number in range(start, stop):
        k = wide(number)
        weight, target = at(sample.weight, k), sample.target[k]
        out[k] = 0.0
        if weight > 0.0 and curvature[k] > 0.0:
            u = dual[k] / weight
            away = NEAR_END * (abs(u) + typical)
            is_inside = loss.conjugate(target, u - away) < math.inf and loss.conjugate(target, u + away) < math.inf
            out[k] = curvature[k] if is_inside else 0.0
