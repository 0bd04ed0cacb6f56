"""Dual points on the samples' side: their lengths, and points that have some products exactly.

Lengths are in the norm ‖θ‖² = Σ_k θ_k²/s_k, which is dual to that of the columns; samples without weight do not count.
Sums are over parts of fixed size, which threads share, so that they do not depend on the number of threads.

Where Ψ_j* is finite at one point alone (a column without penalty, and the intercept with its column of ones), or x_j
stands at an end of its domain (an active coordinate bounded by 0 from one side), the dual point must satisfy
⟨a_j, θ⟩ = r_j.  No vector of float64 numbers does so exactly; but near one that nearly does there is one that does.
With J these columns, H the loss's curvatures and the excess ρ_j = ⟨a_j, θ⟩ − r_j,

    θ' = θ − H^½·B(BᵀB)⁻¹ρ,         B = H^½ (A_J, 1),

fits exactly: the raw gradient moves as a change of the coordinates in J would move it.  In floating point this is a
better dual point (``moved``).  In exact arithmetic it exists, no farther away than, with σ the smallest singular value
of B,

    |θ'_k − θ_k|  ≤  √H_k · min(‖ρ‖/σ, ‖B_k‖·‖ρ‖/σ²)            (``reach``),

so what holds for all dual points within that distance is proved.  Columns are first scaled to length 1.  Columns that
depend on the others fit by themselves.  Floating point shows that only where all numbers are integers or one column
equals another, as they are or in units of their own (a constant beside the intercept, dummies that were scaled): else
there is no proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import Matrix, as_block
from ascd.matrix.columns import careful_sum, elementwise, support
from ascd.problem import tuning
from ascd.problem.losses.formulas import divergence
from ascd.problem.optimality import square_over
from ascd.problem.samples import price_of
from ascd.problem.tuning import DOMAIN_ROUNDING, NEAR_END, SAMPLES_A_PART


def is_finite(vector: Array) -> bool:
    """Return whether all entries are finite; mostly the sum of squares tells, without another array."""
    return math.isfinite(float(vector @ vector)) or bool(np.isfinite(vector).all())


def unweighted(vector: Array, weight: Any) -> Array:
    """Return vector_k/s_k, 0 where a sample has no weight."""
    if np.ndim(weight) == 0:
        return vector
    return np.divide(vector, weight, out=np.zeros(vector.size), where=weight > 0.0)


def dual_length(vector: Array, weight: Any) -> float:
    """Return √Σ θ_k²/s_k."""
    if np.ndim(weight) == 0:
        square = float(vector @ vector)
        if tuning.LEAST_SUM_OF_SQUARES < square < tuning.MOST_SUM_OF_SQUARES or not vector.any():
            return math.sqrt(square)
        most = float(np.abs(vector).max())
        return most * float(np.linalg.norm(vector / most)) if most < math.inf else most
    return dual_distance(vector, vector, 0.0, weight)


def dual_distance(vector: Array, other: Array, scale: float, weight: Any) -> float:
    """Return the length of the vector less ``scale`` times the other."""
    sums = np.empty(-(-vector.size // SAMPLES_A_PART))
    share(costs.SUMMED * vector.size, sums.size, square_sums, vector, other, scale, weight, sums)
    return math.sqrt(float(sums.sum()))


@kernel
def square_sums(vector: Array, other: Array, scale: float, weight: Any, sums: Array, start: int, stop: int) -> None:
    """Fill in, for each part, Σ (vector_k − scale·other_k)²/s_k."""
    for part in range(start, stop):
        total = 0.0
        for number in range(part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, vector.size)):
            k = wide(number)
            away, counted = vector[k] - scale * other[k], at(weight, k)
            total += square_over(away, counted) if counted > 0.0 else 0.0
        sums[part] = total


def movable(sample: Any, loss: Any, dual: Array, curvature: Array, typical: float) -> Array:
    """Return the curvatures, 0 for samples whose θ_k is so near the end of its domain that it must not be moved."""
    out = np.empty(dual.size)
    share(costs.CURVED_SAMPLE * out.size, out.size, movable_curvatures, sample, loss, dual, curvature, typical, out)
    return out


@kernel
def movable_curvatures(
    sample: Any, loss: Any, dual: Array, curvature: Array, typical: float, out: Array, start: int, stop: int
) -> None:
    """Fill in ``movable`` of some samples."""
    for number in range(start, stop):
        out[wide(number)] = movable_curvature(sample, loss, dual, curvature, typical, wide(number))


@helper
def movable_curvature(sample: Any, loss: Any, dual: Array, curvature: Array, typical: float, k: int) -> float:
    """Return the curvature of a sample, 0 where its θ_k is near the end of its domain."""
    weight, target = at(sample.weight, k), sample.target[k]
    if not (weight > 0.0 and curvature[k] > 0.0):
        return 0.0
    u = dual[k] / weight
    away = NEAR_END * (abs(u) + typical)
    is_inside = loss.conjugate(target, u - away) < math.inf and loss.conjugate(target, u + away) < math.inf
    return curvature[k] if is_inside else 0.0


# ---- the samples' part of a gap: divergences, in which nothing cancels


@helper
def sample_gap(
    sample: Any, loss: Any, predictor: Array, dual: Array, reach: Array, scale: float, start: int, stop: int
) -> float:
    """Return the largest Σ_k f_k(z_k) + f_k*(θ_k) − θ_k·z_k for |θ − scale·dual| ≤ reach (none where that is empty)."""
    total = 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target, z = at(sample.weight, k), sample.target[k], predictor[k]
        if weight > 0.0:
            u = scale * dual[k] / weight
            if reach.size > 0 and reach[k] > 0.0:  # whether the end is inside the domain must not be left to rounding
                away = reach[k] / weight + 4.0 * DOMAIN_ROUNDING * abs(u)
                term = max(divergence(loss, target, z, u - away), divergence(loss, target, z, u + away))
            else:
                term = divergence(loss, target, z, u)
            total += weight * term
    return total


def gap_of_samples(sample: Any, loss: Any, predictor: Array, dual: Array, reach: Array, scale: float) -> float:
    """Return ``sample_gap`` of all samples, by parts that threads share."""
    out = np.empty(-(-predictor.size // SAMPLES_A_PART))
    given = (sample, loss, predictor, dual, reach, scale, out)
    share(2.0 * price_of(loss) * predictor.size, out.size, sample_gaps, *given)
    return float(out.sum())


@kernel
def sample_gaps(
    sample: Any, loss: Any, predictor: Array, dual: Array, reach: Array, scale: float, out: Array, start: int, stop: int
) -> None:
    """Fill in ``sample_gap`` of each part of the samples."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, predictor.size)
        out[part] = sample_gap(sample, loss, predictor, dual, reach, scale, first, last)


def gaps_of_samples(sample: Any, loss: Any, predictor: Array, dual: Array, scales: Array) -> Array:
    """Return ``gap_of_samples`` without a reach for each of several scales."""
    return np.array([gap_of_samples(sample, loss, predictor, dual, np.empty(0), scale) for scale in scales.tolist()])


# ---- dual points that have some products exactly


class ExactDual:
    """The raw gradient itself: no product is required."""

    def start(self, gradient: Array) -> Array:
        return gradient

    def moved(self, dual: Array, excess: Array) -> Array:
        return dual

    def near(self, dual: Array, misses: Array) -> tuple[Array, float]:
        return np.empty(0), 0.0


class FittedDual:
    """A fit for each output; ``weight`` are those of the samples.

    ``near`` returns how far the dual point that fits exactly can be, entry by entry and in all, where products and
    sums are off by ``misses`` of shape (k, T).
    """

    def __init__(self, fits: list[Any], weight: Any, has_columns: bool) -> None:
        self.fits, self.weight, self.has_columns = fits, weight, has_columns

    def start(self, gradient: Array) -> Array:
        """Return the raw gradient, with sums of 0 where there is an intercept alone to fit."""
        if self.has_columns:
            return gradient
        dual = np.empty(gradient.shape)
        for t, fit in enumerate(self.fits):
            column = np.ascontiguousarray(gradient[:, t])
            dual[:, t] = centred(fit.moved(column, np.array([careful_sum(column)[0]])), fit)
        return dual

    def moved(self, dual: Array, excess: Array) -> Array:
        """Return the dual point whose products are smaller by ``excess`` (k, T)."""
        out = np.empty(dual.shape)
        for t, fit in enumerate(self.fits):
            out[:, t] = fit.moved(np.ascontiguousarray(dual[:, t]), excess[:, t])
        return out

    def near(self, dual: Array, misses: Array) -> tuple[Array, float]:
        reach, spread = np.empty(dual.shape), 0.0
        for t, fit in enumerate(self.fits):
            reach[:, t], bound = fit.reach(misses[:, t])
            length = dual_length(np.ascontiguousarray(reach[:, t]), self.weight)
            if bound is not None:
                length = min(length, dual_length(bound, self.weight))
            spread = math.hypot(spread, length)
        return reach, spread


class DualFit:
    """The columns in J (the column of ones last, if there is an intercept), ready to fit dual points to them.

    ``used`` are the positions in J of the columns that are fitted; the others depend on them.
    """

    def __init__(self, block: Array, root: Array, used: Array) -> None:
        unit, size = to_length_one(block[:, used] * root[:, None])
        self.root, self.used, self.size = root, used, size
        if used.size == 1:  # quickly
            one = np.ones((1, 1))
            self.directions, self.left, self.right, self.singular = unit, one, one, one[0] * unit.any()
        else:
            self.directions, triangle = np.linalg.qr(unit)
            self.left, self.singular, self.right = np.linalg.svd(triangle)

    @property
    def is_regular(self) -> bool:
        return self.used.size == 0 or bool(self.singular[-1] > tuning.SMALLEST_SINGULAR * self.singular[0] > 0.0)

    def moved(self, dual: Array, excess: Array) -> Array:
        """Return the dual point whose products are smaller by ``excess``."""
        coefficients = self.left @ (self.right @ (excess[self.used] / self.size) / self.singular)
        return dual - self.root * (self.directions @ coefficients)

    def reach(self, excess: Array) -> tuple[Array, Array | None]:
        """Return how far a dual point that fits exactly can be where products are off by ``excess``.

        First sample by sample; then as a vector of at most the same length that is easier to bound.
        """
        if self.used.size == 0:
            return np.zeros(self.root.size), np.zeros(self.root.size)
        length = tuning.SAFETY * float(np.linalg.norm(excess[self.used] / self.size))
        least = float(self.singular[-1])
        rows = np.linalg.norm(self.directions @ (self.left * self.singular), axis=1)
        return self.root * length * np.minimum(1.0 / least, rows / least**2), self.root * (length / least)


class InterceptFit:
    """The column of ones alone, B = H^½·1: what a ``DualFit`` does, in a few passes over the samples.

    The dual point moves along H, whose share of every sample is the ``root``: θ' = θ − ρ·H/ΣH.
    """

    def __init__(self, curvature: Array, total: float) -> None:
        self.root = elementwise(np.divide, curvature, total)

    def moved(self, dual: Array, excess: Array) -> Array:
        """Return the dual point whose sum is smaller by ``excess``."""
        out = elementwise(np.multiply, self.root, -float(excess[0]))
        return elementwise(np.add, out, dual, out)

    def reach(self, excess: Array) -> tuple[Array, Array | None]:
        """See ``DualFit``; the first is easy to bound."""
        return elementwise(np.multiply, self.root, tuning.SAFETY * abs(float(excess[0]))), None


def centred(dual: Array, fit: DualFit | InterceptFit) -> Array:
    """Take the sum that rounding has left, in place, from a small entry that may move, which has fine digits."""
    able = support(fit.root[: tuning.SAMPLES_A_PART])
    if able.size == 0:
        able = support(fit.root)
    if able.size:
        dual[able[np.argmin(np.abs(dual[able]))]] -= careful_sum(dual)[0]
    return dual


def fit_to(
    design: Matrix, columns: Array, intercept: bool, curvature: Array, weight: Any, required: Array
) -> DualFit | InterceptFit | None:
    """Return a fit for these columns; None where it is out of reach or cannot be proved.

    Samples count that have a positive ``weight``; ``required`` are the products asked for.
    """
    if intercept and columns.size == 0:
        with np.errstate(over="ignore"):
            total = float(curvature.sum())
        if 0.0 < total < np.inf:
            return InterceptFit(curvature, total)
    count = columns.size + intercept
    if count > tuning.FEW_COLUMNS and curvature.size * count**2 > tuning.MOST_OPERATIONS:
        return None
    block = as_block(design.take(columns), curvature.size)
    if intercept:
        block = np.c_[block, np.ones(curvature.size)]
    root = np.sqrt(curvature)
    if count <= curvature.size:
        fit = DualFit(block, root, np.arange(count))
        if fit.is_regular:
            return fit
    used = _independent(block * root[:, None])
    others = np.setdiff1d(np.arange(count), used)
    counted = np.broadcast_to(np.asarray(weight) > 0.0, curvature.shape)
    if required.any() or not _surely_depend(block[counted], used, others):
        return None
    fit = DualFit(block, root, used)
    return fit if fit.is_regular else None


def to_length_one(block: Array) -> tuple[Array, Array]:
    """Columns of length 1, and the lengths they had; below ``SHORTEST_COLUMN`` a column becomes 0 (and its length 1).

    Squares of small and of large numbers are no float64 numbers: columns are brought near 1 first.
    """
    peak = np.abs(block).max(axis=0, initial=0.0)
    is_there = peak > tuning.SHORTEST_COLUMN
    peak = np.where(is_there, peak, 1.0)
    near = np.where(is_there, block / peak, 0.0)
    size = np.linalg.norm(near, axis=0)
    size[~is_there] = 1.0
    return near / size, np.where(is_there, peak * size, 1.0)


def _independent(block: Array) -> Array:
    """Positions of columns that span the others, as far as floating point can tell."""
    from scipy.linalg import qr

    triangle, order = qr(to_length_one(block)[0], mode="r", pivoting=True)
    length = np.abs(np.diagonal(triangle))
    largest = length.max(initial=0.0)
    return np.sort(order[: int(((length > tuning.SMALLEST_SINGULAR * largest) & (length > 0.0)).sum())])


def _surely_depend(block: Array, used: Array, others: Array) -> bool:
    """Is it certain that the other columns are combinations of those used, in some units?"""
    return _depend(block, used, others) or _depend(_in_units(block), used, others)


def _in_units(block: Array) -> Array:
    """Columns whose smallest entry but 0 divides all others, as multiples of it; no remainder is rounded."""
    size = np.abs(block)
    unit = np.where(size > 0.0, size, np.inf).min(axis=0, initial=np.inf)
    unit[unit == np.inf] = 1.0
    is_whole = ~np.fmod(block, unit).any(axis=0) & (size.max(axis=0, initial=0.0) / unit < tuning.LARGEST_INTEGER)
    found: Array = block / np.where(is_whole, unit, 1.0)
    return found


def _depend(block: Array, used: Array, others: Array) -> bool:
    """Is it certain that the other columns are combinations of those used, as they are?"""
    others = np.array([j for j in others if block[:, j].any()], dtype=np.int64)
    if others.size == 0 or used.size == 0:
        return others.size == 0
    coefficients = np.linalg.lstsq(block[:, used], block[:, others], rcond=None)[0]
    return all(_is_combination(block[:, used], block[:, j], coefficients[:, which]) for which, j in enumerate(others))


def _is_combination(block: Array, column: Array, coefficients: Array) -> bool:
    """Is the column one of the others, or its negative, or a combination of integers with small rational factors?"""
    for denominator in range(1, tuning.LARGEST_DENOMINATOR + 1):
        factors = np.round(denominator * coefficients)
        if np.abs(factors - denominator * coefficients).max(initial=0.0) > tuning.NEARLY_WHOLE:
            continue
        parts = block[:, factors != 0.0]
        factors = factors[factors != 0.0]
        if factors.size == 1 and abs(factors[0]) == denominator:
            return bool(np.array_equal(column, np.sign(factors[0]) * parts[:, 0]))
        size = np.abs(parts) @ np.abs(factors) + denominator * np.abs(column)
        are_whole = np.array_equal(parts, np.round(parts)) and np.array_equal(column, np.round(column))
        is_exact = are_whole and size.max(initial=0.0) < tuning.LARGEST_INTEGER
        return bool(is_exact and np.array_equal(parts @ factors, denominator * column))
    return False
