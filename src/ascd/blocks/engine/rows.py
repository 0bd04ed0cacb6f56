"""Losses of one sample with several outputs, as compiled code asks for them: a row z of the image at a time.

``Outputs`` and ``Softmax`` (``ascd.blocks.losses``) look at all samples at once; a step of one block may change few.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.blocks.softmax import Softmax
from ascd.problem.losses.formulas import weighted_value


class EachOutput(NamedTuple):
    """One loss, added up over the outputs."""

    loss: Any
    target: Array  # (d, T)
    weight: Array

    @helper
    def row_slope(self, k: int, z: Array, out: Array) -> None:
        """out = s_k·∇loss(y_k, z)."""
        weight = self.weight[k]
        for t in range(z.size):
            out[t] = weight * self.loss.derivative(self.target[k, t], z[t]) if weight > 0.0 else 0.0

    @helper
    def row_value(self, k: int, z: Array) -> float:
        """s_k·loss(y_k, z)."""
        weight, total = self.weight[k], 0.0
        for t in range(z.size):
            total += weighted_value(self.loss, weight, self.target[k, t], z[t]) if weight > 0.0 else 0.0
        return total


class SoftmaxRow(NamedTuple):
    """log Σ_t exp(z_t) − z_y."""

    labels: Array
    weight: Array

    @helper
    def row_slope(self, k: int, z: Array, out: Array) -> None:
        """out = s_k·(p − e_y), with 1 − p_y as the sum of the others."""
        weight, label, largest, total = self.weight[k], self.labels[k], -math.inf, 0.0
        for t in range(z.size):
            largest = max(largest, z[t])
        for t in range(z.size):
            out[t] = math.exp(z[t] - largest)
        for t in range(z.size):
            total += out[t]
        others = 0.0
        for t in range(z.size):
            out[t] *= weight / total
        for t in range(z.size):
            others += out[t] if t != label else 0.0
        out[label] = -others

    @helper
    def row_value(self, k: int, z: Array) -> float:
        """s_k·loss(y_k, z)."""
        largest, total = -math.inf, 0.0
        for t in range(z.size):
            largest = max(largest, z[t])
        for t in range(z.size):
            total += math.exp(z[t] - largest)
        weight = self.weight[k]
        return weight * (largest + math.log(total) - z[self.labels[k]]) if weight > 0.0 else 0.0


def loss_of_rows(loss: Any) -> EachOutput | SoftmaxRow:
    """The compiled form of a block problem's loss."""
    if isinstance(loss, Softmax):
        return SoftmaxRow(loss.labels, loss.weight)
    return EachOutput(loss.loss, loss.target, loss.weight)
