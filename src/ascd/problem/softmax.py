"""The multinomial logistic loss: T classes, all at once.

    loss(y, z) = log Σ_t exp(z_t) − z_y,     p = softmax(z),     raw gradient p − e_y,     Hessian diag(p) − ppᵀ.

**Certificate.**  A dual point is θ_k = s_k(q_k − e_y) with q_k in the simplex, its loss terms are the Kullback–Leibler
divergences of q_k from p_k.  With an intercept Σ_k θ_k = 0 must hold, which the raw gradient V misses by ρ.  With
M = Σ_k s_k(diag(p_k) − p_kp_kᵀ) and Ma = −ρ (one entry of a is 0), q_k = p_k∘(1 + a − ⟨p_k, a⟩) meets it, and
|θ_kt − V_kt| ≤ η·|V_kt| with η = 2·max|a|, to which the relative errors of V are added.  M without a row and column has
an inverse without negative entries, so that |a| ≤ M⁻¹|ρ| is known well.  Scaled by s, q = (1 − s)e_y + s·q_k differs
from q̂ = (1 − s)e_y + s·p_k by δ with |δ_t| ≤ η·s·min(p_t, 1 − p_t) and Σ_t δ_t = 0.  With log(1 + t) ≤ t,

    KL(q ‖ p) ≤ KL(q̂ ‖ p) + Σ_t δ_t·log(q̂_t/p_t) + Σ_t δ_t²/q̂_t,     and with o = 1 − p_y
    KL(q̂ ‖ p) = s·o·log s + (p_y + (1 − s)o)·log((p_y + (1 − s)o)/p_y).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import Matrix
from ascd.matrix.columns import UNIT
from ascd.problem.arithmetic import norm
from ascd.problem.samples import Curvature, DualFit
from ascd.problem.tuning import BALANCED, LEAST_SUM_OF_SQUARES

#: The name of the loss of several classes, which has no formula for one prediction alone.
SOFTMAX = "softmax"


class Softmax:
    """log Σ exp(z_t) − z_y for classes 0 .. T − 1; ``weight`` has one number a sample."""

    is_coupled, is_quadratic, is_flat = True, False, False
    bound = 0.5

    def __init__(self, labels: Array, n_classes: int, weight: Array) -> None:
        self.labels, self.n_outputs, self.weight = labels, n_classes, weight
        self.loss, self.given = SOFTMAX, labels
        self.counted = weight > 0.0

    def evaluate(self, Z: Array, intercept: bool) -> tuple[float, Array, Curvature, Array]:
        """Return the value, the raw gradient (d, T), the curvature, and the best intercepts, which move Z in place.

        The intercepts sum to 0.
        """
        shift, found = np.zeros(self.n_outputs), self._evaluate(Z)
        for _ in range(50 if intercept else 0):
            value, gradient, curvature = found
            sums = gradient.sum(axis=0)
            if np.abs(sums).max() <= BALANCED * float(np.abs(gradient).sum()):
                break
            step = np.nan_to_num(-solve_singular(self._total(curvature), sums[:, None])[:, 0])
            step *= min(1.0, 1e3 / max(1.0, float(np.abs(step).max())))  # exp(−1000) is 0, and the rest rounding
            for t in 0.5 ** np.arange(20):
                there = self._evaluate(Z + t * step)
                if there[0] <= value + 1e-4 * t * float(sums @ step) + 1e-15 * value:
                    break
            else:
                break
            is_small = np.abs(t * step).max() <= BALANCED * (1.0 + np.abs(Z).max())
            is_small = is_small or (t < 1.0 and there[0] >= value)  # rounding is all that is left
            shift, found = shift + t * step, there
            Z += t * step
            if is_small:
                break
        return (*found, shift)

    def _evaluate(self, Z: Array) -> tuple[float, Array, Curvature]:
        gradient, own, shared = np.empty((3, *Z.shape))
        losses, most = np.empty((2, self.labels.size))
        given = (Z, self.labels, self.weight, gradient, losses, own, shared, most)
        share(costs.CURVED_SAMPLE * Z.size, self.labels.size, fill_softmax, *given)
        return float(losses.sum()), gradient, Curvature(own, shared, most)

    @staticmethod
    def _total(curvature: Curvature) -> Array:
        shared: Any = curvature.shared
        return np.diag(curvature.own.sum(axis=0)) - shared.T @ shared

    def gap(self, Z: Array, dual: Array, reach: Array, scale: float) -> float:
        """Return the Kullback–Leibler divergences at scale·gradient, the largest within shares ``reach`` of it."""
        terms = np.empty(self.labels.size)
        given = (Z, self.labels, self.weight, self.errors(Z), reach, scale, np.empty(Z.shape), terms)
        share(costs.CURVED_SAMPLE * Z.size, terms.size, fill_gaps, *given)
        return float(terms.sum())

    def errors(self, Z: Array) -> Array:
        """Return relative errors of the probabilities: of z − max z in the exponent, exp, its sum and the quotient."""
        return (self.n_outputs + 8.0 + 2.0 * np.ptp(Z, axis=1)) * UNIT

    def own_curvature(self, seen: Any, t: int) -> Array:
        """Return s·p(1 − p) of one class, from raw gradients s·p or s·(1 − p): p − p² would cancel."""
        size = np.abs(seen.raw_gradient[:, t])
        return size - np.divide(size**2, self.weight, out=np.zeros(size.size), where=self.counted)

    def dual_fit(self, matrix: Matrix, columns: Array, required: Array, point: Any) -> DualFit | None:
        """Return how far the dual point is that has sums of 0; None where columns require products."""
        return None if columns.size else DualFit(near=partial(self._nearest, point))

    def _nearest(self, point: Any, dual: Array, misses: Array) -> tuple[Array, float]:
        """Return how far the nearest dual point with sums of 0 is: a share of the probabilities of each sample.

        The sums of the raw gradient are off by ``misses`` (1, T).
        """
        size, part, counted = np.abs(dual), self.errors(point.predictor), self.counted
        if misses.size:
            missed = misses[-1] + part @ size
            own, shared, _ = point.curvature
            sizes = np.diag(own.sum(axis=0)) + np.abs(shared).T @ np.abs(shared)  # of what is subtracted
            part = part + 2.1 * largest_solution(self._total(point.curvature), sizes, missed, self.weight.size)
        if not np.max(part[counted], initial=0.0) <= 0.25:  # else it may leave the simplex
            return part, math.inf
        lengths = part[counted] * np.hypot.reduce(size[counted], axis=1) / np.sqrt(self.weight[counted])
        return part, norm(lengths) * (1.0 + 1e-9)


def solve_singular(matrix: Array, right: Array) -> Array:
    """Return the solutions that sum to 0, one a column of the right side; the vector of ones is in the null space.

    The entry with the largest diagonal is 0 first, and the others are scaled to a diagonal of 1 where there is one:
    classes may differ in weight by many orders of magnitude.
    """
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return np.full(right.shape, np.nan)
    kept = np.delete(np.arange(matrix.shape[0]), int(np.argmax(np.diagonal(matrix))))
    diagonal = np.diagonal(matrix)[kept]
    unit = np.sqrt(np.where(diagonal > LEAST_SUM_OF_SQUARES, diagonal, 1.0))
    inner = matrix[np.ix_(kept, kept)] / np.outer(unit, unit)
    solution = np.zeros(right.shape)
    solution[kept] = np.linalg.lstsq(inner, right[kept] / unit[:, None], rcond=1e-13)[0] / unit[:, None]
    solution -= solution.mean(axis=0)
    return solution


def largest_solution(matrix: Array, sizes: Array, size: Array, terms: int) -> float:
    """Return max|a| at most, for Ma = r with |r| ≤ size, r and M's rows summing to 0, and one entry of a 0.

    With B nearly the inverse of M without that row and column and E = I − MB, M⁻¹ = B(I − E)⁻¹.  Entries of M are
    differences of two sums over so many ``terms``, whose ``sizes`` say what rounding may leave in them.
    """
    kept = np.delete(np.arange(size.size), int(np.argmax(np.diagonal(matrix))))
    inner = matrix[np.ix_(kept, kept)]
    try:
        inverse = np.linalg.inv(inner)
    except np.linalg.LinAlgError:
        return math.inf
    error = np.abs(np.eye(kept.size) - inner @ inverse).sum(axis=1)
    rounding = (terms + size.size + 16.0) * UNIT * sizes[np.ix_(kept, kept)]
    error = error + (rounding @ np.abs(inverse)).sum(axis=1)
    off = float(error.max())
    if not off < 0.1:
        return math.inf
    return float(np.max(np.abs(inverse) @ (size[kept] + 1.2 * off * float(size[kept].max()))))


@helper
def fill_shares(z: Array, y: int, shares: Array) -> tuple[float, float]:
    """Fill in the probabilities of one sample; return its loss, and 1 − p_y as a sum: exact where p_y is near 1."""
    most, others = -math.inf, 0.0
    for t in range(z.size):
        most = max(most, z[t])
    for t in range(z.size):
        shares[t] = math.exp(z[t] - most)
    own = shares[y]
    shares[y] = 0.0
    for t in range(z.size):
        others += shares[t]
    shares[y] = own
    for t in range(z.size):
        shares[t] /= others + own
    loss = math.log1p(others / own) if own > others else math.log(others + own) + (most - z[y])
    return loss, others / (others + own)


@kernel
def fill_softmax(
    Z: Array, labels: Array, weight: Array, gradient: Array, losses: Array, own: Array, shared: Array, most: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Fill in losses, raw gradients and curvatures: s·p, √s·p, and s times a bound of λ_max(diag(p) − ppᵀ)."""
    for number in range(start, stop):
        k = wide(number)
        y, root, largest = wide(labels[k]), math.sqrt(weight[k]), 0.0
        loss, others = fill_shares(Z[k], y, own[k])
        losses[k] = weight[k] * loss
        for t in range(Z.shape[1]):
            part = own[k, t]
            largest = max(largest, part)
            gradient[k, t], own[k, t], shared[k, t] = weight[k] * part, weight[k] * part, root * part
        gradient[k, y] = -weight[k] * others
        most[k] = weight[k] * min(largest, 2.0 * largest * (1.0 - largest))  # Gershgorin


@kernel
def fill_gaps(
    z: Array, labels: Array, weight: Array, errors: Array, reach: Array, scale: float, shares: Array, terms: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Fill in the divergences KL(q ‖ p) at most, with what rounding and the reach add to them."""
    below = math.log(scale) if scale > 0.0 else 0.0
    for number in range(start, stop):
        k = wide(number)
        terms[k] = 0.0
        if weight[k] > 0.0:
            y, near = wide(labels[k]), reach[k] if reach.size > 0 else 0.0
            loss, others = fill_shares(z[k], y, shares[k])
            own = shares[k, y]
            joined = own + (1.0 - scale) * others
            if own > 0.5:
                ratio, lost = math.log1p((1.0 - scale) * others / own), 0.0
            elif joined == 0.0:  # both are p_y, which has underflowed
                ratio, lost = 0.0, 0.0
            else:
                ratio, lost = math.log(joined) + loss, 8.0 * UNIT * joined * loss  # a difference of logarithms
            first, second = scale * others * below, joined * ratio
            term = max(first + second, 0.0) + (8.0 * UNIT + errors[k]) * (abs(first) + abs(second)) + lost
            term += near * scale * (others * abs(below) + min(own, others) * abs(ratio))
            terms[k] = weight[k] * (term + 2.0 * near * near * others)
