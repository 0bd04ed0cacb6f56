"""g³: nothing is known of the product but Cauchy–Schwarz, so the estimates stay and one clock widens all radii."""

from __future__ import annotations

from typing import Any, NamedTuple


class Norm(NamedTuple):
    """``|⟨a_i, a_j⟩| ≤ ‖a_i‖‖a_j‖``: free to use, O(1) a step.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, oracle=ascd.Norm()).objective
    4.5
    """

    unit: float = 1.0

    def keeps_estimates(self) -> bool:
        return True

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem = point.problem
        point.intervals.widen(abs(change) * problem.norm[i] * (problem.gain + problem.slack))
