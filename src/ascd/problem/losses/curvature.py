"""The curvature of a loss of all predictions: one small Hessian a sample."""

from __future__ import annotations

from typing import NamedTuple

from ascd._core.checks import Array


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
