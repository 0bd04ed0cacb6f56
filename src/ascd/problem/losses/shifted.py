"""Targets and offsets: the prediction of sample k is o_k + (Ax)_k, where the offset o_k is known.

For losses of the difference z − b an offset only shifts the target: loss(b, o + z) = loss(b − o, z).  For the others
``Shifted`` stores targets and offsets itself, and the target that compiled code passes to it is the index k of the
sample.  With f_k(z) = loss(b_k, o_k + z),

    f_k'(z) = loss'(b_k, o_k + z),   f_k*(u) = loss*(b_k, u) − u·o_k.

The sum o_k + z is rounded, by at most δ = 2⁻⁵³·|o_k + z|: the divergence, whose first two derivatives in z are
loss' − u and loss'', adds what that can change.  A curvature that jumps, such as that of the squared hinge where a
margin is 1, is the larger one of both sides.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_numbers, finite_values, refuse_masks, unlocked
from ascd._core.devices import to_host
from ascd.problem.losses import SOFTMAX
from ascd.problem.losses.by_sample import Huber, Squared
from ascd.problem.losses.formulas import divergence, weighted_value
from ascd.problem.tuning import MOST_CLASSES, OF_A_SUM


class Sample(NamedTuple):
    """Targets b and weights s (the number 1.0 where all weigh the same)."""

    target: Array
    weight: Any


class Shifted(NamedTuple):
    """loss(target_k, offset_k + z), a loss whose target is the index k of a sample.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.problem.losses.shifted import Shifted
    >>> loss = Shifted(ascd.Logistic(), np.array([1.0, -1.0]), np.array([0.5, 2.0]))
    >>> loss.value(1.0, -3.0) == ascd.Logistic().value(-1.0, -1.0)
    True
    """

    loss: Any
    target: Array
    offset: Array

    def value(self, y: float, z: float) -> float:
        k = int(y)
        return self.loss.value(self.target[k], self.offset[k] + z)

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        k = int(y)
        return weighted_value(self.loss, weight, self.target[k], self.offset[k] + z)

    def derivative(self, y: float, z: float) -> float:
        k = int(y)
        return self.loss.derivative(self.target[k], self.offset[k] + z)

    def curvature(self, y: float, z: float) -> float:
        k = int(y)
        return self.loss.curvature(self.target[k], self.offset[k] + z)

    def conjugate(self, y: float, u: float) -> float:
        k = int(y)
        return self.loss.conjugate(self.target[k], u) - u * self.offset[k]

    def divergence(self, y: float, z: float, u: float) -> float:
        k = int(y)
        target, there = self.target[k], self.offset[k] + z
        term = divergence(self.loss, target, there, u)
        if term == math.inf:
            return term
        away = OF_A_SUM * abs(there)
        curvature = max(self.loss.curvature(target, there - away), self.loss.curvature(target, there + away))
        return term + away * (abs(self.loss.derivative(target, there) - u) + away * curvature)

    def curvature_bound(self) -> float:
        return float(self.loss.curvature_bound())

    def is_quadratic(self) -> bool:
        return self.loss.is_quadratic()


class Stated(NamedTuple):
    """Loss, targets and offset (None where there is none) as the user states them.

    The target has the shape (n_samples,) or (n_samples, n_outputs), the offset the same; for the softmax loss the
    target holds the classes 0 .. T − 1.
    """

    loss: Any
    target: Array
    offset: Array | None

    @classmethod
    def of(cls, loss: Any, b: Any, offset: Any, n_samples: int) -> Stated:
        """Return what the user passed, checked."""
        if isinstance(loss, str) and loss == SOFTMAX:
            if offset is not None:
                raise ValueError("offset is for losses of one sample and output; the softmax loss takes none")
            return cls(loss, _as_classes(b, n_samples), None)
        target = _as_targets(b, "b", n_samples)
        if hasattr(loss, "check_target"):
            loss.check_target(target.ravel())
        if offset is None:
            return cls(loss, target, None)
        known = _as_targets(offset, "offset", n_samples)
        if known.shape != target.shape:
            if known.ndim == 2:
                raise ValueError(
                    f"offset must have the shape of b, {target.shape}, or ({n_samples},); got {known.shape}"
                )
            known = np.ascontiguousarray(np.broadcast_to(known[:, None], target.shape))
        return cls(loss, target, known)

    @property
    def is_softmax(self) -> bool:
        return isinstance(self.loss, str)

    @property
    def n_outputs(self) -> int:
        if self.is_softmax:
            return max(2, int(self.target.max()) + 1)
        return 1 if self.target.ndim == 1 else int(self.target.shape[1])

    def as_parts(self, moves_target: bool = True) -> tuple[Any, Array]:
        """Return the loss by sample and the flat targets that compiled code sees.

        With ``moves_target`` the offset of losses of z − b is taken from the target; ``target_error`` counts what
        that rounds.
        """
        if self.offset is None:
            return self.loss, self.target.ravel()
        if moves_target and isinstance(self.loss, Squared | Huber):
            return self.loss, (self.target - self.offset).ravel()
        index = np.arange(self.target.size, dtype=np.float64)
        return Shifted(self.loss, self.target.ravel(), self.offset.ravel()), index

    def target_error(self, weight: Any) -> float:
        """Return √Σ s_k·τ_k², where τ_k is what rounding takes from the target b_k − o_k."""
        if self.offset is None or not isinstance(self.loss, Squared | Huber):
            return 0.0
        target = self.target - self.offset
        back = target - self.target
        error = (self.target - (target - back)) - (self.offset + back)  # exactly, see Knuth's sum of two numbers
        return float(np.sqrt(np.sum(weight * error**2)))

    def sizes(self, predictor: Any, here: slice | None = None) -> tuple[Array, Any]:
        """Return |b_k| and |o_k + z_k| of some samples, for bounds on rounding errors; z may be one number for all."""
        here = slice(None) if here is None else here
        return np.abs(self.target[here]), np.abs(predictor if self.offset is None else predictor + self.offset[here])


def _as_targets(values: Any, name: str, n_samples: int) -> Array:
    """Finite numbers of shape (n_samples,) or (n_samples, n_outputs) in C order."""
    if np.ndim(values) == 0:
        raise ValueError(f"{name} must have the shape (n_samples,) or (n_samples, n_outputs); got {values!r}")
    array = as_numbers(values, name)
    if array.ndim > 2 or array.size == 0:
        raise ValueError(f"{name} must have the shape ({n_samples},) or ({n_samples}, n_outputs); got {array.shape}")
    if len(array) != n_samples:
        raise ValueError(f"{name} must have length {n_samples}; got {len(array)}")
    array = unlocked(np.ascontiguousarray(array, dtype=np.float64).view(np.ndarray))
    finite_values(array, name)
    return array


def _as_classes(b: Any, n_samples: int) -> Array:
    """Labels of the softmax loss: integers from 0, one a sample."""
    refuse_masks(b, "b")
    labels = np.asarray(to_host(b))
    if labels.ndim != 1 or labels.size != n_samples:
        raise ValueError(f"b must have length {n_samples}; got shape {labels.shape}")
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError("b must hold the classes 0, 1, 2, ... as integers for the softmax loss")
    largest = int(labels.max())
    if largest >= MOST_CLASSES:
        raise ValueError(
            f"b must hold the classes 0, 1, 2, ... below {MOST_CLASSES:,}; the largest is {largest}: number them "
            "without gaps, as np.unique(b, return_inverse=True) does"
        )
    return labels.astype(np.int64)
