"""``Outputs``: a loss by sample and output, f(Z) = Σ_kt s_k·loss(y_kt, z_kt), as a loss of all predictions.

With one output it is that loss itself, with the squared loss and T outputs least squares for T targets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix
from ascd.problem.dual import ExactDual, FittedDual, fit_to, gap_of_samples, movable, unweighted
from ascd.problem.losses.curvature import Curvature
from ascd.problem.losses.shifted import Sample, Stated
from ascd.problem.samples import evaluate_samples, quick_gap


class Outputs:
    """The sum of one loss over samples and outputs.

    Parameters
    ----------
    stated : loss, targets and offset
    weight : array of shape (n_samples,)
    is_weighted : False where all weights are 1
    moves_target : whether the offset of losses of z − b is part of the target (see ``Stated.as_parts``)
    """

    is_coupled = False

    def __init__(self, stated: Stated, weight: Array, is_weighted: bool = True, moves_target: bool = True) -> None:
        self.stated, self.weight, self.n_outputs = stated, weight, stated.n_outputs
        self.is_flat, self.is_weighted = stated.target.ndim == 1, is_weighted
        self.loss, target = stated.as_parts(moves_target)
        self.target = target.reshape(weight.size, self.n_outputs)
        each: Any = (weight if self.n_outputs == 1 else np.repeat(weight, self.n_outputs)) if is_weighted else 1.0
        self.sample = Sample(target.ravel(), each)
        self.is_quadratic, self.bound = bool(self.loss.is_quadratic()), float(self.loss.curvature_bound())
        #: what the curvatures of all samples sum to at most
        self.most = float(weight.sum()) * self.bound

    def evaluate(self, Z: Array, intercept: bool, guess: float = 0.0) -> tuple[float, Array, Curvature, Array]:
        """Return the value, the raw gradient (d, T), the curvature, and the best intercepts, which move Z in place.

        The search for an intercept starts at ``guess``.
        """
        shift, most = np.zeros(self.n_outputs), None
        if intercept and self.n_outputs == 1:
            most = self.most
        elif intercept:
            shift = self.balance(Z)
        gradient, curvature = np.empty(Z.shape), np.empty(Z.shape)
        flat = Z.ravel(), gradient.ravel(), curvature.ravel()
        value, moved = evaluate_samples(self.sample, self.loss, *flat, most, guess)
        largest = curvature[:, 0] if self.n_outputs == 1 else curvature.max(axis=1)
        return float(value), gradient, Curvature(curvature, None, largest), shift + moved

    def value_and_gradient(self, Z: Array) -> tuple[float, Array]:
        """Return the value and the raw gradient (d, T)."""
        return self.evaluate(Z, False)[:2]

    def balance(self, Z: Array) -> Array:
        """Add the best constant of each output to the predictions, in place; return the constants."""
        if self.is_quadratic:
            gradient = self.evaluate(Z, False)[1]
            # where no sample counts, every constant is as good as the other
            shift = -gradient.sum(axis=0) / self.most if self.most > 0.0 else np.zeros(self.n_outputs)
            Z += shift
            return shift
        shift, room = np.empty(self.n_outputs), np.empty((2, self.weight.size))
        for t in range(self.n_outputs):
            sample, column = Sample(self.target[:, t].copy(), self.weight), Z[:, t].copy()
            shift[t] = evaluate_samples(sample, self.loss, column, room[0], room[1], self.most)[1]
            Z[:, t] = column
        return shift

    def gap(self, Z: Array, dual: Array, reach: Array, scale: float) -> float:
        """Return Σ f_k(z_k) + f_k*(θ_k) − ⟨θ_k, z_k⟩, the largest for θ within ``reach`` of scale·dual."""
        return gap_of_samples(self.sample, self.loss, Z.ravel(), dual.ravel(), reach.ravel(), scale)

    def quick_gap(self, Z: Array, gradient: Array, scale: float) -> float:
        """Return ``gap`` for scale·gradient by quick formulas, good to the rounding errors of F."""
        return quick_gap(self.sample, self.loss, Z.ravel(), gradient.ravel(), scale)

    def own_curvature(self, seen: Any, t: int) -> Array:
        """Return the curvatures of one output, of shape (n_samples,)."""
        return np.ascontiguousarray(seen.curvature.own[:, t])

    def _movable(self, point: Any) -> Array:
        """Return the weights with which a dual point is moved, one a sample and output; 0 where it must not move."""
        own: Array = point.curvature.own
        if self.is_quadratic:
            return own
        gradient = point.raw_gradient.ravel()
        per_sample = unweighted(gradient, self.sample.weight)
        typical = math.sqrt(float(per_sample @ per_sample) / per_sample.size)
        return movable(self.sample, self.loss, gradient, own.ravel(), typical).reshape(own.shape)

    def dual_fit(self, matrix: Matrix, columns: Array, required: Array, point: Any) -> ExactDual | FittedDual | None:
        """Return what moves a dual point to the products (k, T) that ``columns`` require, and to sums of 0.

        None where that is out of reach.  For a quadratic loss all outputs are moved with the same factors.
        """
        if columns.size == 0 and not point.intercept:
            return ExactDual()
        able, fits = self._movable(point), []
        for t in range(self.n_outputs):
            if t == 0 or not self.is_quadratic:
                own = np.ascontiguousarray(able[:, t])
                fit = fit_to(matrix, columns, point.intercept, own, self.weight, required[:, t])
            if fit is None:
                return None
            fits.append(fit)
        return FittedDual(fits, self.weight if self.is_weighted else 1.0, columns.size > 0)
