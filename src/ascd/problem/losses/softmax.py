"""The multinomial logistic loss: T classes, all at once.

    loss(y, z) = log Σ_t exp(z_t) − z_y,     p = softmax(z),     gradient p − e_y,     Hessian diag(p) − ppᵀ.

**Certificate.**  A dual point is θ_k = s_k(q_k − e_y) with q_k in the simplex, and its loss terms are the
Kullback–Leibler divergences of q_k from p_k.  With an intercept Σ_k θ_k = 0 must hold.  The gradient V with respect to
predictions, whose entries have small relative errors, misses it by ρ.  With M = Σ_k s_k(diag(p_k) − p_kp_kᵀ) and
Ma = −ρ (one entry of a is 0),

    q_k = p_k∘(1 + a − ⟨p_k, a⟩)

meets it, and |θ_kt − V_kt| ≤ η·|V_kt| with η = 2·max|a|, to which the relative errors of V are added.  M without a row
and column has an inverse without negative entries, so that |a| ≤ M⁻¹|ρ| is known well, however small a class's part of
M is.  Scaled by s, q = (1 − s)e_y + s·q_k differs from q̂ = (1 − s)e_y + s·p_k by δ with |δ_t| ≤ η·s·min(p_t, 1 − p_t)
and Σ_t δ_t = 0.  With log(1 + t) ≤ t,

    KL(q ‖ p) ≤ KL(q̂ ‖ p) + Σ_t δ_t·log(q̂_t/p_t) + Σ_t δ_t²/q̂_t,     and with o = 1 − p_y
    KL(q̂ ‖ p) = s·o·log s + (p_y + (1 − s)o)·log((p_y + (1 − s)o)/p_y).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix.careful import UNIT, careful_sum
from ascd.matrix.design import Design
from ascd.problem.lengths import norm, row_lengths
from ascd.problem.losses.outputs import Curvature, DualPoint, Look
from ascd.problem.tuning import (
    BALANCED,
    LARGEST_SHARE,
    LEAST_ORDINARY,
    LONGEST_CONSTANT_STEP,
    MOST_BALANCING_STEPS,
    SMALLEST_SHARE,
    SOFTMAX_ENTRY,
    UNDERFLOW,
)


class Softmax:
    """log Σ exp(z_t) − z_y for classes 0 .. T − 1; ``weight`` has one number a sample."""

    is_coupled, is_quadratic, is_flat = True, False, False
    bound = 0.5

    def __init__(self, labels: Array, n_classes: int, weight: Array) -> None:
        self.labels, self.n_outputs, self.weight = labels, n_classes, weight
        self.counted = weight > 0.0

    def look(self, predictor: Array) -> Look:
        raw_gradient, own, shared = np.empty((3, *predictor.shape))
        losses, most = np.empty((2, self.labels.size))
        fill_look(predictor, self.labels, self.weight, raw_gradient, losses, own, shared, most)
        return Look(float(losses.sum()), raw_gradient, Curvature(own, shared, most))

    def value_and_slope(self, predictor: Array) -> tuple[float, Array]:
        """Return ``look`` without the curvature."""
        raw_gradient, losses = np.empty(predictor.shape), np.empty(self.labels.size)
        price = SOFTMAX_ENTRY * predictor.size
        share(price, self.labels.size, fill_softmax, predictor, self.labels, self.weight, raw_gradient, losses)
        return float(losses.sum()), raw_gradient

    def balance(self, predictor: Array) -> Array:
        """Add the best constants of the classes, which sum to 0, to the predictions, in place; return them."""
        shift = np.zeros(self.n_outputs)
        if not predictor.any():  # logarithms of the classes' parts, if all have one
            counts = np.bincount(self.labels, self.weight, self.n_outputs)
            if counts.min() > SMALLEST_SHARE * counts.max():
                shift = np.log(counts) - np.log(counts).mean()
                predictor += shift
        here = self.look(predictor)
        for _ in range(MOST_BALANCING_STEPS):
            first = here.raw_gradient.sum(axis=0)
            if np.abs(first).max() <= BALANCED * float(np.abs(here.raw_gradient).sum()):
                break
            step = constant_step(self._total(here.curvature), first)
            there, t = self.look(predictor + step), 1.0
            while not there.value <= here.value + 1e-4 * t * float(first @ step) + 1e-15 * here.value and t > 1e-6:
                t *= 0.5
                there = self.look(predictor + t * step)
            if not there.value <= here.value * (1.0 + 1e-15) or t <= 1e-6:
                break
            is_small = np.abs(t * step).max() <= BALANCED * (1.0 + np.abs(predictor).max())
            is_small = is_small or (t < 1.0 and there.value >= here.value)  # rounding is all that is left
            shift, here = shift + t * step, there
            predictor += t * step
            if is_small:
                break
        return shift

    @staticmethod
    def _total(curvature: Curvature) -> Array:
        shared: Any = curvature.shared
        return np.diag(curvature.own.sum(axis=0)) - shared.T @ shared

    def dual_point(
        self, design: Design, columns: Array, intercept: bool, seen: Look, predictor: Array
    ) -> DualPoint | None:
        """Return the gradient itself, and how far a point that fits can be, as a share of each sample's probabilities.

        None for unpenalised columns, which it cannot fit.
        """
        if columns.size:
            return None
        share, size = self._rounding(predictor), np.abs(seen.raw_gradient)
        if intercept:
            sums = np.array([careful_sum(column) for column in np.ascontiguousarray(seen.raw_gradient.T)])
            missed = np.abs(sums[:, 0]) + sums[:, 1] + share @ size
            share = share + 2.1 * largest_solution(self._total(seen.curvature), missed, self.weight.size)
        if not np.max(share[self.counted], initial=0.0) <= LARGEST_SHARE:
            return None
        lengths = share[self.counted] * row_lengths(size[self.counted]) / np.sqrt(self.weight[self.counted])
        return DualPoint(seen.raw_gradient, share, norm(lengths) * (1.0 + 1e-9))

    def _rounding(self, predictor: Array) -> Array:
        """Return the relative errors of the probabilities: of z − max z, of exp, their sum and the quotient."""
        classes = np.ascontiguousarray(predictor.T)
        spread: Array = classes.max(axis=0) - classes.min(axis=0)
        return (self.n_outputs + 8.0 + 2.0 * spread) * UNIT

    def gap(self, predictor: Array, dual: Array, reach: Array, scale: float) -> float:
        terms, shares = np.empty(self.labels.size), np.empty(predictor.shape)
        given = (predictor, self.labels, self.weight, reach, scale, shares, terms)
        share(SOFTMAX_ENTRY * predictor.size, terms.size, fill_gaps, *given)
        return float(terms.sum())


def constant_step(matrix: Array, gradient: Array) -> Array:
    """Return Newton's step for the constants of the classes, at most ``LONGEST_CONSTANT_STEP`` long.

    Where probabilities are 0 or 1 up to rounding, gradients and curvatures are rounding errors, and so is their
    quotient.
    """
    step = -solve_singular(matrix, gradient[:, None])[:, 0]
    largest = float(np.abs(step).max())
    if not math.isfinite(largest):
        return np.zeros(step.size)
    return step * min(1.0, LONGEST_CONSTANT_STEP / largest) if largest > 0.0 else step


def solve_singular(matrix: Array, right: Array) -> Array:
    """Return the solutions that sum to 0, one a column of the right side; the vector of ones is in the null space.

    The entry with the largest diagonal is fixed at 0 first, and the others are scaled to a diagonal of 1: classes may
    differ in weight by many orders of magnitude.  A class without samples may have next to no weight: it is not scaled.
    """
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return np.full(right.shape, np.nan)
    kept = np.delete(np.arange(matrix.shape[0]), int(np.argmax(np.diagonal(matrix))))
    diagonal = np.diagonal(matrix)[kept]
    unit = np.sqrt(np.where(diagonal > SMALLEST_SHARE, diagonal, 1.0))
    inner = matrix[np.ix_(kept, kept)] / np.outer(unit, unit)
    solution = np.zeros(right.shape)
    solution[kept] = np.linalg.lstsq(inner, right[kept] / unit[:, None], rcond=1e-13)[0] / unit[:, None]
    solution -= solution.mean(axis=0)
    return solution


def largest_solution(matrix: Array, size: Array, terms: int) -> float:
    """Return an upper bound on max|a|, for Ma = r with |r| ≤ size, r summing to 0, M's rows too, and one entry of a 0.

    With B nearly the inverse of M without that row and column and E = I − MB, M⁻¹ = B(I − E)⁻¹.
    """
    kept = np.delete(np.arange(size.size), int(np.argmax(np.diagonal(matrix))))
    inner = matrix[np.ix_(kept, kept)]
    try:
        inverse = np.linalg.inv(inner)
    except np.linalg.LinAlgError:
        return math.inf
    error = np.abs(np.eye(kept.size) - inner @ inverse).sum(axis=1)
    error = error + (terms + size.size + 16.0) * UNIT * (np.abs(inner) @ np.abs(inverse)).sum(axis=1)
    off = float(error.max())
    if not off < 0.1:
        return math.inf
    return float(np.max(np.abs(inverse) @ (size[kept] + 1.2 * off * float(size[kept].max()))))


@helper
def fill_shares(predictor: Array, y: int, shares: Array) -> tuple[float, float]:
    """Fill in the probabilities of one sample; return its loss, and 1 − p_y as a sum: exact where p_y is near 1."""
    most, others = -math.inf, 0.0
    for t in range(predictor.size):
        most = max(most, predictor[t])
    for t in range(predictor.size):
        shares[t] = math.exp(predictor[t] - most)
    own = shares[y]
    shares[y] = 0.0
    for t in range(predictor.size):
        others += shares[t]
    shares[y] = own
    for t in range(predictor.size):
        shares[t] /= others + own
    loss = math.log1p(others / own) if own > others else math.log(others + own) + (most - predictor[y])
    return loss, others / (others + own)


@kernel
def fill_softmax(
    predictor: Array, labels: Array, weight: Array, raw_gradient: Array, losses: Array, start: int, stop: int
) -> None:
    """Fill in losses and gradients of some samples."""
    for number in range(start, stop):
        k = wide(number)
        y = wide(labels[k])
        loss, others = fill_shares(predictor[k], y, raw_gradient[k])
        losses[k], raw_gradient[k, y] = weight[k] * loss, -others
        for t in range(predictor.shape[1]):
            raw_gradient[k, t] *= weight[k]


@kernel
def fill_look(
    predictor: Array, labels: Array, weight: Array, raw_gradient: Array, losses: Array, own: Array, shared: Array,
    most: Array,
) -> None:  # fmt: skip
    """Fill in losses, gradients and curvatures: s·p, √s·p, and s times a bound on the eigenvalues of diag(p) − ppᵀ."""
    for k in range(labels.size):
        y, root, largest = wide(labels[k]), math.sqrt(weight[k]), 0.0
        loss, others = fill_shares(predictor[k], y, own[k])
        losses[k] = weight[k] * loss
        for t in range(predictor.shape[1]):
            share = own[k, t]
            largest = max(largest, share)
            raw_gradient[k, t], own[k, t], shared[k, t] = weight[k] * share, weight[k] * share, root * share
        raw_gradient[k, y] = -weight[k] * others
        most[k] = weight[k] * min(largest, 2.0 * largest * (1.0 - largest))  # Gershgorin


@kernel
def fill_gaps(
    predictor: Array, labels: Array, weight: Array, reach: Array, scale: float, shares: Array, terms: Array, start: int,
    stop: int,
) -> None:  # fmt: skip
    """Fill in upper bounds on the divergences KL(q ‖ p), with what rounding and the reach add to them."""
    below = math.log(scale) if scale > 0.0 else 0.0
    for number in range(start, stop):
        k = wide(number)
        terms[k] = 0.0
        if weight[k] > 0.0:
            y = wide(labels[k])
            loss, others = fill_shares(predictor[k], y, shares[k])
            near, error = reach[k] if reach.size > 0 else 0.0, error_of(predictor[k])
            terms[k] = weight[k] * largest_divergence(shares[k, y], others, loss, scale, below, error, near)


@helper
def error_of(predictor: Array) -> float:
    """Return the relative errors of the probabilities: of z − max z, of exp, their sum and the quotient."""
    least, most = math.inf, -math.inf
    for t in range(predictor.size):
        least, most = min(least, predictor[t]), max(most, predictor[t])
    return (predictor.size + 8.0 + 2.0 * (most - least)) * UNIT


@helper
def largest_divergence(
    own: float, others: float, loss: float, scale: float, below: float, error: float, reach: float
) -> float:
    """Return an upper bound on the divergence of one sample; ``below`` is log(scale), 0 for a scale of 0."""
    joined = own + (1.0 - scale) * others
    if own > 0.5:
        ratio, lost = math.log1p((1.0 - scale) * others / own), 0.0
    elif joined == 0.0:  # both are p_y, which has underflowed
        ratio, lost = 0.0, 0.0
    else:
        ratio, lost = math.log(joined) + loss, 8.0 * UNIT * joined * loss  # a difference of logarithms
    first, second = scale * others * below, joined * ratio
    term = max(first + second, 0.0) + (8.0 * UNIT + error) * (abs(first) + abs(second)) + lost
    term += reach * scale * (others * abs(below) + min(own, others) * abs(ratio))
    term += UNDERFLOW if min(own, others) < LEAST_ORDINARY else 0.0
    return term + 2.0 * reach * reach * others
