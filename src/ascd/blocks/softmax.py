"""The multinomial logistic loss: T classes, all at once.

    loss(y, z) = log Σ_t exp(z_t) − z_y,     p = softmax(z),     slope p − e_y,     Hessian diag(p) − ppᵀ.

**Certificate.**  A dual point is θ_k = s_k(q_k − e_y) with q_k in the simplex, and its loss terms are the
Kullback–Leibler divergences of q_k from p_k.  With an intercept Σ_k θ_k = 0 must hold.  The slope V, whose entries have
small relative errors, misses it by ρ.  With M = Σ_k s_k(diag(p_k) − p_kp_kᵀ) and Ma = −ρ (one entry of a is 0),

    q_k = p_k∘(1 + a − ⟨p_k, a⟩)

meets it, and |θ_kt − V_kt| ≤ η·|V_kt| with η = 2·max|a|, to which the relative errors of V are added.  M without a row
and column has an inverse without negative entries, so that |a| ≤ M⁻¹|ρ| is known well, however small a class's part of
M is.  Scaled by s, q = (1 − s)e_y + s·q_k differs from q̂ = (1 − s)e_y + s·p_k by δ with |δ_t| ≤ η·s·min(p_t, 1 − p_t)
and Σ_t δ_t = 0.  With log(1 + t) ≤ t,

    KL(q ‖ p) ≤ KL(q̂ ‖ p) + Σ_t δ_t·log(q̂_t/p_t) + Σ_t δ_t²/q̂_t.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import share
from ascd.blocks.lengths import norm, row_lengths
from ascd.blocks.losses import Curvature, DualPoint, Look
from ascd.blocks.softmax_samples import fill_gaps, fill_look, fill_softmax
from ascd.blocks.tuning import LARGEST_SHARE, LONGEST_CONSTANT_STEP, MOST_BALANCING_STEPS, SMALLEST_SHARE, SOFTMAX_ENTRY
from ascd.matrix.arithmetic import UNIT, careful_sum
from ascd.matrix.base import Design
from ascd.problem.tuning import BALANCED


class Softmax:
    """log Σ exp(z_t) − z_y for classes 0 .. T − 1; ``weight`` has one number a sample."""

    is_coupled, is_quadratic, is_flat = True, False, False
    #: of the Hessian's largest eigenvalue
    bound = square_bound = 0.5

    def __init__(self, labels: Array, n_classes: int, weight: Array) -> None:
        self.labels, self.n_outputs, self.weight = labels, n_classes, weight
        self.counted = weight > 0.0

    def look(self, image: Array) -> Look:
        slope, own, shared = np.empty((3, *image.shape))
        losses, most = np.empty((2, self.labels.size))
        fill_look(image, self.labels, self.weight, slope, losses, own, shared, most)
        return Look(float(losses.sum()), slope, Curvature(own, shared, most))

    def value_and_slope(self, image: Array) -> tuple[float, Array]:
        """``look`` without curvatures."""
        slope, losses = np.empty(image.shape), np.empty(self.labels.size)
        price = SOFTMAX_ENTRY * image.size
        share(price, self.labels.size, fill_softmax, image, self.labels, self.weight, slope, losses)
        return float(losses.sum()), slope

    def balance(self, image: Array) -> Array:
        """Move the image, in place, to the best constants, which sum to 0; how far."""
        shift = np.zeros(self.n_outputs)
        if not image.any():  # logarithms of the classes' parts, if all have one
            counts = np.bincount(self.labels, self.weight, self.n_outputs)
            if counts.min() > SMALLEST_SHARE * counts.max():
                shift = np.log(counts) - np.log(counts).mean()
                image += shift
        here = self.look(image)
        for _ in range(MOST_BALANCING_STEPS):
            first = here.slope.sum(axis=0)
            if np.abs(first).max() <= BALANCED * float(np.abs(here.slope).sum()):
                break
            step = constant_step(self._total(here.curvature), first)
            there, t = self.look(image + step), 1.0
            while not there.value <= here.value + 1e-4 * t * float(first @ step) + 1e-15 * here.value and t > 1e-6:
                t *= 0.5
                there = self.look(image + t * step)
            if not there.value <= here.value * (1.0 + 1e-15) or t <= 1e-6:
                break
            is_small = np.abs(t * step).max() <= BALANCED * (1.0 + np.abs(image).max())
            is_small = is_small or (t < 1.0 and there.value >= here.value)  # rounding is all that is left
            shift, here = shift + t * step, there
            image += t * step
            if is_small:
                break
        return shift

    @staticmethod
    def _total(curvature: Curvature) -> Array:
        shared: Any = curvature.shared
        return np.diag(curvature.own.sum(axis=0)) - shared.T @ shared

    def dual_point(self, design: Design, columns: Array, intercept: bool, seen: Look, image: Array) -> DualPoint | None:
        """The slope itself; how far the nearest one is that fits, as a share of the probabilities, a sample each."""
        if columns.size:
            return None
        share, size = self._rounding(image), np.abs(seen.slope)
        if intercept:
            sums = np.array([careful_sum(column) for column in np.ascontiguousarray(seen.slope.T)])
            missed = np.abs(sums[:, 0]) + sums[:, 1] + share @ size
            share = share + 2.1 * largest_solution(self._total(seen.curvature), missed, self.weight.size)
        if not np.max(share[self.counted], initial=0.0) <= LARGEST_SHARE:
            return None
        lengths = share[self.counted] * row_lengths(size[self.counted]) / np.sqrt(self.weight[self.counted])
        return DualPoint(seen.slope, share, norm(lengths) * (1.0 + 1e-9))

    def _rounding(self, image: Array) -> Array:
        """Relative errors of the probabilities: of z − max z in the exponent, of exp, their sum and the quotient."""
        classes = np.ascontiguousarray(image.T)
        spread: Array = classes.max(axis=0) - classes.min(axis=0)
        return (self.n_outputs + 8.0 + 2.0 * spread) * UNIT

    def gap(self, image: Array, dual: Array, reach: Array, scale: float) -> float:
        terms, price = np.empty(self.labels.size), SOFTMAX_ENTRY * image.size
        share(price, terms.size, fill_gaps, image, self.labels, self.weight, reach, scale, np.empty(image.shape), terms)
        return float(terms.sum())


def constant_step(matrix: Array, slopes: Array) -> Array:
    """Newton's step for the constants, no longer than makes sense.

    Where probabilities are 0 or 1 up to rounding, slopes and curvatures are rounding errors, and so is their quotient.
    """
    step = -solve_singular(matrix, slopes[:, None])[:, 0]
    largest = float(np.abs(step).max())
    if not math.isfinite(largest):
        return np.zeros(step.size)
    return step * min(1.0, LONGEST_CONSTANT_STEP / largest) if largest > 0.0 else step


def solve_singular(matrix: Array, right: Array) -> Array:
    """The solutions that sum to 0, one a column of the right side; the vector of ones is in the null space.

    The entry with the largest diagonal is held at 0 first, and the others are measured in units of their own: classes
    may differ in weight by many orders of magnitude.  One that no sample belongs to may have next to none: it has no
    unit of its own then, and stays where it is.
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
    """max|a| at most, for Ma = r with |r| ≤ size, r summing to 0, M's rows too, and one entry of a 0.

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
