"""g⁴: the product is guessed uniformly in ±N with N = ‖a_i‖‖a_j‖.

A guess p can be off by N + |p|, not by N as printed (erratum E4).  The safe radius is the default; ``printed=True``
uses the paper's, for reproducing its figures only: runs with it count how often a bound is violated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ascd._core.checks import as_flag


class Random(NamedTuple):
    """Uniformly random products with their safe radius (or the printed one).

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> round(ascd.minimize(problem, oracle=ascd.Random(), rng=0).objective, 6)
    4.5
    """

    printed: bool = False

    def is_random(self) -> bool:
        return True

    def prepare(self, parts: Any, rng: Any) -> Random:
        return Random(self.checked_printed())

    def checked_printed(self) -> bool:
        return as_flag(self.printed, "Random printed")

    def is_safe(self) -> bool:
        return not self.printed

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        scale = change * problem.norm[i] * problem.gain
        extra = 0.0 if self.printed else abs(scale)
        for j in range(problem.norm.size):
            guess = 2.0 * rng.random() - 1.0
            intervals.estimate[j] += scale * guess * problem.norm[j]
            intervals.offset[j] += extra * abs(guess) * problem.norm[j]
        length = abs(change) * problem.norm[i] * (problem.gain + problem.slack)
        intervals.widen(length)
        intervals.moved(length)
