"""Losses of samples with several outputs: f(Z) = Σ_k s_k·loss(y_k, z_k), z_k a row of Z = AX + 1cᵀ.

``Outputs`` adds up one of the library's losses (or the user's own) over the outputs: with T = 1 that loss itself, with
the squared one least squares for several targets.  ``Softmax`` is the multinomial logistic loss of T classes,

    loss(y, z) = log Σ_t exp(z_t) − z_y,       slope p − e_y,       Hessian diag(p) − ppᵀ,       p = softmax(z),

whose conjugate at u is Σ_t q_t·log q_t with q = u + e_y, for q in the simplex.

==================  ======================================================================================
``look``            the sum of losses at an image, its slopes s·∇loss, and what the Hessians are made of
``value_and_slope``  the same without Hessians
``balance``         moves the image by the best constant an output: slopes then sum to 0
``gap``             Σ_k s_k·[loss(z_k) + loss*(θ_k/s_k) − ⟨θ_k, z_k⟩/s_k], the largest within ``reach`` of θ
``dual_point``      the slope, moved so that unpenalised columns and the intercept get what they require (None: cannot)
==================  ======================================================================================

The Hessian of a sample is diag(h_k) − r_k r_kᵀ (``Curvature``); r is None where outputs do not meet.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_numbers, finite_values
from ascd.blocks.lengths import norm
from ascd.matrix.arithmetic import UNIT, careful_sum
from ascd.matrix.base import Design
from ascd.problem.at_samples import evaluate_samples
from ascd.problem.dual_fit import fit_to
from ascd.problem.dual_samples import movable
from ascd.problem.losses import as_loss
from ascd.problem.precise_gaps import precise_gap
from ascd.problem.problem import Sample


class Curvature(NamedTuple):
    """Hessians of the samples, diag(h_k) − r_k r_kᵀ; ``most`` bounds the largest eigenvalue of each."""

    own: Array
    shared: Array | None
    most: Array

    def times(self, direction: Array) -> Array:
        """The Hessian of every sample times its row of the direction."""
        product: Array = self.own * direction
        if self.shared is not None:
            product -= self.shared * (self.shared * direction).sum(axis=1, keepdims=True)
        return product


class Look(NamedTuple):
    """The sum of losses at an image, with slopes and curvatures."""

    value: float
    slope: Array
    curvature: Curvature


class DualPoint(NamedTuple):
    """A dual point, near which there is one that fits its equations exactly.

    It is within ``reach``, entry by entry in the loss's own measure (empty for 0), and within ``spread`` in the norm
    Σ θ²/s.
    """

    dual: Array
    reach: Array
    spread: float


class Outputs:
    """One loss, added up over the outputs."""

    is_coupled = False

    def __init__(self, loss: Any, target: Any, weight: Array) -> None:
        self.loss = as_loss(loss)
        y = as_numbers(target, "b")
        if y.ndim not in (1, 2) or y.shape[0] != weight.size or y.size == 0:
            raise ValueError(f"b must have the shape ({weight.size},) or ({weight.size}, n_outputs); got {y.shape}")
        self.is_flat = y.ndim == 1
        self.target = np.ascontiguousarray(y.reshape(weight.size, -1), dtype=np.float64)
        finite_values(self.target, "b")
        if hasattr(self.loss, "check_target"):
            self.loss.check_target(self.target.ravel())
        self.weight, self.n_outputs = weight, self.target.shape[1]
        each = weight if self.n_outputs == 1 else np.repeat(weight, self.n_outputs)
        self.sample = Sample(self.target.ravel(), each)
        self.is_quadratic, self.bound = bool(self.loss.is_quadratic()), float(self.loss.curvature_bound())
        self.square_bound = self.bound

    def look(self, image: Array) -> Look:
        slope, curvature = np.empty(image.shape), np.empty(image.shape)
        value, _ = evaluate_samples(self.sample, self.loss, image.ravel(), slope.ravel(), curvature.ravel(), None)
        most = curvature[:, 0] if self.n_outputs == 1 else curvature.max(axis=1)
        return Look(float(value), slope, Curvature(curvature, None, most))

    def value_and_slope(self, image: Array) -> tuple[float, Array]:
        """``look`` without curvatures."""
        return self.look(image)[:2]

    def balance(self, image: Array) -> Array:
        """Move the image, in place, to the best constants; how far."""
        if self.is_quadratic:
            most = float(self.weight.sum()) * self.bound
            slope = self.look(image).slope
            # where no sample counts, every constant is as good as the other
            shift = -slope.sum(axis=0) / most if most > 0.0 else np.zeros(self.n_outputs)
            image += shift
            return shift
        most = float(self.weight.sum()) * self.bound
        shift, room = np.empty(self.n_outputs), np.empty((2, self.weight.size))
        for t in range(self.n_outputs):
            sample, column = Sample(self.target[:, t].copy(), self.weight), image[:, t].copy()
            shift[t] = evaluate_samples(sample, self.loss, column, room[0], room[1], most)[1]
            image[:, t] = column
        return shift

    def gap(self, image: Array, dual: Array, reach: Array, scale: float) -> float:
        return precise_gap(self.sample, self.loss, image.ravel(), dual.ravel(), reach.ravel(), scale)

    def movable(self, seen: Look) -> Array:
        """Curvatures with which a dual point is moved, one a sample and output; 0 where it must not move."""
        if self.is_quadratic:
            return seen.curvature.own
        per_sample = np.divide(seen.slope, self.weight[:, None], out=np.zeros(seen.slope.shape),
                               where=self.weight[:, None] > 0.0)  # fmt: skip
        typical = math.sqrt(float(np.mean(per_sample**2)))
        found = movable(self.sample, self.loss, seen.slope.ravel(), seen.curvature.own.ravel(), typical)
        return found.reshape(seen.slope.shape)

    def dual_point(self, design: Design, columns: Array, intercept: bool, seen: Look, image: Array) -> DualPoint | None:
        """Every output by itself; for a quadratic loss all with the same factors."""
        if columns.size == 0 and not intercept:
            return DualPoint(seen.slope, np.empty(0), 0.0)
        movable, required = self.movable(seen), np.zeros(columns.size)
        dual, reach, spread, fit = np.empty(seen.slope.shape), np.empty(seen.slope.shape), 0.0, None
        square = design.squares(self.weight, columns) if columns.size else np.empty(0)
        norm = np.sqrt(np.append(square, [self.weight.sum()] * intercept))
        for t in range(self.n_outputs):
            if t == 0 or not self.is_quadratic:
                fit = fit_to(design, columns, intercept, movable[:, t].copy(), self.weight, required)
            if fit is None:
                return None
            dual[:, t], excess = self._moved(design, columns, intercept, fit, seen.slope[:, t].copy(), norm)
            reach[:, t], bound = fit.reach(excess)
            spread = math.hypot(spread, min(self._length(reach[:, t]), self._length(bound)))
        return DualPoint(dual, reach, spread)

    def _moved(
        self, design: Design, columns: Array, intercept: bool, fit: Any, dual: Array, norm: Array
    ) -> tuple[Array, Array]:
        """The dual point of one output moved twice, and by how much it misses at most."""
        for _ in range(2):
            dual = fit.moved(dual, self._excess(design, columns, intercept, dual)[0])
        excess, error = self._excess(design, columns, intercept, dual)
        own = 0.0 if self.is_quadratic else 8.0 * UNIT * self._length(dual)
        return dual, np.abs(excess) + error + own * norm

    @staticmethod
    def _excess(design: Design, columns: Array, intercept: bool, dual: Array) -> tuple[Array, Array]:
        product, error = design.careful_dots(columns, dual) if columns.size else (np.empty(0), np.empty(0))
        if intercept:
            total, off = careful_sum(dual)
            product, error = np.append(product, total), np.append(error, off)
        return product, error

    def _length(self, vector: Array) -> float:
        """√Σ θ_k²/s_k."""
        counted = self.weight > 0.0
        return norm(vector[counted] / np.sqrt(self.weight[counted]))
