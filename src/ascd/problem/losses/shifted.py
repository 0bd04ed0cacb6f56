"""A loss with an offset: the prediction of sample k is o_k + (Ax)_k, where o_k is known.

For losses of the difference z − b an offset only moves the target: loss(b, o + z) = loss(b − o, z).  For the others
``Shifted`` holds targets and offsets itself, and the target that compiled code hands to it is the number k of the
sample.  With f_k(z) = loss(b_k, o_k + z),

    f_k'(z) = loss'(b_k, o_k + z),   f_k*(u) = loss*(b_k, u) − u·o_k.

The sum o_k + z is rounded, by at most δ = 2⁻⁵³·|o_k + z|: the divergence, whose derivative in z is loss' − u and which
bends by loss'', adds what that can change.  A curvature that jumps, such as that of the squared hinge where a margin is
1, is the larger one of both sides.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_finite_vector
from ascd.problem.losses.formulas import divergence, weighted_value
from ascd.problem.losses.huber import Huber
from ascd.problem.losses.squared import Squared
from ascd.problem.tuning import OF_A_SUM

#: All samples.
EVERYTHING = slice(None)


class Shifted(NamedTuple):
    """loss(target_k, offset_k + z), a loss whose target is the number k of a sample.

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
        bend = max(self.loss.curvature(target, there - away), self.loss.curvature(target, there + away))
        return term + away * (abs(self.loss.derivative(target, there) - u) + away * bend)

    def curvature_bound(self) -> float:
        return float(self.loss.curvature_bound())

    def is_quadratic(self) -> bool:
        return self.loss.is_quadratic()


class Stated(NamedTuple):
    """Loss, targets and offset (None where there is none) as the user states them."""

    loss: Any
    target: Array
    offset: Array | None

    @classmethod
    def of(cls, loss: Any, b: Any, offset: Any, n_samples: int) -> Stated:
        """What the user passed, after a look at it."""
        target = as_finite_vector(b, "b", n_samples)
        if hasattr(loss, "check_target"):
            loss.check_target(target)
        return cls(loss, target, None if offset is None else as_finite_vector(offset, "offset", n_samples))

    def as_parts(self) -> tuple[Any, Array]:
        """The loss and the targets that compiled code sees."""
        if self.offset is None:
            return self.loss, self.target
        if isinstance(self.loss, Squared | Huber):
            return self.loss, self.target - self.offset
        return Shifted(self.loss, self.target, self.offset), np.arange(self.target.size, dtype=np.float64)

    def target_error(self, weight: Any) -> float:
        """√Σ s_k·τ_k², where τ_k is what rounding takes from the target b_k − o_k."""
        if self.offset is None or not isinstance(self.loss, Squared | Huber):
            return 0.0
        target = self.target - self.offset
        back = target - self.target
        error = (self.target - (target - back)) - (self.offset + back)  # exactly, see Knuth's sum of two numbers
        return float(np.sqrt(np.sum(weight * error**2)))

    def sizes(self, image: Any, here: slice = EVERYTHING) -> tuple[Array, Any]:
        """|b_k| and |o_k + z_k| of some samples, for bounds on rounding errors; z may be one number for all."""
        return np.abs(self.target[here]), np.abs(image if self.offset is None else image + self.offset[here])
