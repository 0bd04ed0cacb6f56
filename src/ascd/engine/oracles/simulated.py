"""Simulated g²: the exact product plus a uniform error within ε‖a_i‖‖a_j‖, for experiments on the role of ε.

It reads the whole data at each step (counted as n column reads), so it is a measuring instrument, not a method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd.matrix.columns import clear, dot, scatter


class Simulated(NamedTuple):
    """Exact products blurred by a uniform relative error.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> round(ascd.minimize(problem, oracle=ascd.Simulated(0.1), rng=0).objective, 6)
    4.5
    """

    epsilon: float = 0.1

    def is_random(self) -> bool:
        return True

    def prepare(self, parts: Any, rng: Any) -> Blurred:
        epsilon = as_number(self.epsilon, "Simulated epsilon", low=0.0, high=1e300)
        return Blurred(epsilon, np.zeros(parts.sample.target.size))


class Blurred(NamedTuple):
    """The error's size, and room for one scattered column."""

    epsilon: float
    work: Array

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        scatter(problem.matrix, i, problem.sample.weight, self.work)
        step, blur = change * problem.gain, self.epsilon * problem.norm[i]
        for j in range(problem.norm.size):
            error = blur * problem.norm[j] * (2.0 * rng.random() - 1.0)
            intervals.estimate[j] += step * (dot(problem.matrix, j, self.work) + error)
        clear(problem.matrix, i, self.work)
        point.reads[0] += problem.norm.size
        relative = problem.gain * self.epsilon + problem.slack
        length = abs(change) * problem.norm[i]
        intervals.widen(length * relative)
        intervals.moved(length * (problem.gain + problem.slack))
