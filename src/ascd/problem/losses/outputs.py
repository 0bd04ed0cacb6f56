"""``Outputs``: a loss by sample and output, f(Z) = Σ_kt s_k·loss(y_kt, z_kt), as a loss of all predictions.

With one output it is that loss itself, with the squared loss and T outputs least squares for T targets.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.careful import UNIT, careful_sum
from ascd.matrix.design import Design
from ascd.problem.at_samples import evaluate_samples
from ascd.problem.dual_fit import fit_to
from ascd.problem.dual_samples import movable
from ascd.problem.lengths import norm
from ascd.problem.losses.shifted import Sample, Stated
from ascd.problem.precise_gaps import precise_gap


class Curvature(NamedTuple):
    """Hessians of the samples, diag(h_k) − r_k r_kᵀ, with r = None where outputs are not coupled.

    ``own`` is h and ``shared`` is r, both of shape (n_samples, n_outputs); ``most`` bounds the largest eigenvalue of
    each sample.
    """

    own: Array
    shared: Array | None
    most: Array

    def times(self, direction: Array) -> Array:
        """Return the Hessian of every sample times its row of the direction (n_samples, n_outputs)."""
        product: Array = self.own * direction
        if self.shared is not None:
            product -= self.shared * (self.shared * direction).sum(axis=1, keepdims=True)
        return product


class Look(NamedTuple):
    """The loss at predictions Z: its value, its gradient with respect to Z (n_samples, n_outputs), its curvature."""

    value: float
    raw_gradient: Array
    curvature: Curvature

    @property
    def slope(self) -> Array:
        """Another name of ``raw_gradient``."""
        return self.raw_gradient


class DualPoint(NamedTuple):
    """A dual point (n_samples, n_outputs), near which there is one that meets its equations exactly.

    It is within ``reach``, entry by entry in the loss's own measure (empty for 0), and within ``spread`` in the norm
    Σ θ²/s.
    """

    dual: Array
    reach: Array
    spread: float


class Outputs:
    """The sum of one loss over samples and outputs; ``weight`` has one number a sample.

    With ``moves_target`` the offset of losses of z − b is part of the target (see ``Stated.as_parts``).
    """

    is_coupled = False

    def __init__(self, stated: Stated, weight: Array, moves_target: bool = True) -> None:
        self.stated, self.weight, self.n_outputs = stated, weight, stated.n_outputs
        self.is_flat = stated.target.ndim == 1
        self.loss, target = stated.as_parts(moves_target)
        self.target = target.reshape(weight.size, self.n_outputs)
        each = weight if self.n_outputs == 1 else np.repeat(weight, self.n_outputs)
        self.sample = Sample(target, each)
        self.is_quadratic, self.bound = bool(self.loss.is_quadratic()), float(self.loss.curvature_bound())

    def look(self, predictor: Array) -> Look:
        raw_gradient, curvature = np.empty(predictor.shape), np.empty(predictor.shape)
        filled = (raw_gradient.ravel(), curvature.ravel())
        value, _ = evaluate_samples(self.sample, self.loss, predictor.ravel(), *filled, None)
        most = curvature[:, 0] if self.n_outputs == 1 else curvature.max(axis=1)
        return Look(float(value), raw_gradient, Curvature(curvature, None, most))

    def value_and_slope(self, predictor: Array) -> tuple[float, Array]:
        """Return ``look`` without the curvature."""
        return self.look(predictor)[:2]

    def balance(self, predictor: Array) -> Array:
        """Add the best constant of each output to the predictions, in place; return the constants."""
        most = float(self.weight.sum()) * self.bound
        if self.is_quadratic:
            raw_gradient = self.look(predictor).raw_gradient
            # where no sample counts, every constant is as good as the other
            shift = -raw_gradient.sum(axis=0) / most if most > 0.0 else np.zeros(self.n_outputs)
            predictor += shift
            return shift
        shift, room = np.empty(self.n_outputs), np.empty((2, self.weight.size))
        for t in range(self.n_outputs):
            sample, column = Sample(self.target[:, t].copy(), self.weight), predictor[:, t].copy()
            shift[t] = evaluate_samples(sample, self.loss, column, room[0], room[1], most)[1]
            predictor[:, t] = column
        return shift

    def gap(self, predictor: Array, dual: Array, reach: Array, scale: float) -> float:
        return precise_gap(self.sample, self.loss, predictor.ravel(), dual.ravel(), reach.ravel(), scale)

    def movable(self, seen: Look) -> Array:
        """Return the weights with which a dual point is moved, one a sample and output; 0 where it must not move."""
        if self.is_quadratic:
            return seen.curvature.own
        per_sample = np.divide(seen.raw_gradient, self.weight[:, None], out=np.zeros(seen.raw_gradient.shape),
                               where=self.weight[:, None] > 0.0)  # fmt: skip
        typical = math.sqrt(float(np.mean(per_sample**2)))
        found = movable(self.sample, self.loss, seen.raw_gradient.ravel(), seen.curvature.own.ravel(), typical)
        return found.reshape(seen.raw_gradient.shape)

    def dual_point(
        self, design: Design, columns: Array, intercept: bool, seen: Look, predictor: Array
    ) -> DualPoint | None:
        """Move the gradient of each output so that ``columns`` and the intercept have products of 0; None if it fails.

        For a quadratic loss all outputs are moved with the same factors.
        """
        if columns.size == 0 and not intercept:
            return DualPoint(seen.raw_gradient, np.empty(0), 0.0)
        movable, required = self.movable(seen), np.zeros(columns.size)
        dual, reach, spread, fit = np.empty(seen.raw_gradient.shape), np.empty(seen.raw_gradient.shape), 0.0, None
        square = design.squares(self.weight, columns) if columns.size else np.empty(0)
        norm = np.sqrt(np.append(square, [self.weight.sum()] * intercept))
        for t in range(self.n_outputs):
            if t == 0 or not self.is_quadratic:
                fit = fit_to(design, columns, intercept, movable[:, t].copy(), self.weight, required)
            if fit is None:
                return None
            dual[:, t], excess = self._moved(design, columns, intercept, fit, seen.raw_gradient[:, t].copy(), norm)
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
