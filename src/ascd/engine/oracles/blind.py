"""δ = ∞: an oracle that knows nothing about some coordinates, whatever else it knows.

The algorithm allows infinite errors.  After any step the blind coordinates' radii are infinite until they are
visited, so they stay in the active set and are learned by being picked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import confidence_of
from ascd.engine.oracles.known import as_oracle


class Blind(NamedTuple):
    """Any oracle, with δ_ij = ∞ for the coordinates j in ``columns``.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> round(ascd.minimize(problem, oracle=ascd.Blind([0, 2], "norm"), rng=0).objective, 6)
    4.5
    """

    columns: Any
    inner: Any = "norm"

    def prepare(self, parts: Any, rng: Any) -> Blinded:
        columns = np.asarray(self.columns)
        n = parts.norm.size
        if columns.ndim != 1 or columns.dtype.kind not in "iu":
            raise TypeError(f"Blind columns must be a list of column numbers; got {self.columns!r}")
        if columns.size and not (columns.min() >= 0 and columns.max() < n):
            raise ValueError(f"Blind columns must be in 0 .. {n - 1}; got {columns.min()} .. {columns.max()}")
        return Blinded(columns.astype(np.int64), as_oracle(self.inner, parts, rng))


class Blinded(NamedTuple):
    """The blind coordinates and the oracle for the others."""

    columns: Array
    inner: Any

    def confidence(self) -> float:
        return confidence_of(self.inner)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        self.inner.update(point, i, change, rng)
        for k in range(self.columns.size):
            point.intervals.offset[self.columns[k]] = np.inf
