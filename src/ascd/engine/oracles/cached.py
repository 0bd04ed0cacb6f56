"""Exact products for the columns that keep moving, in a bounded cache; another oracle for the rest.

The paper proposes to compute the products of the active set's columns exactly and to store them.  The columns
that move again and again *are* the active set, so a column's row of products is computed (one pass over the data,
counted as n column reads) when it moves for the ``patience``-th time, and the row that was used longest ago makes
room for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count
from ascd._core.contracts import confidence_of
from ascd._core.jit import helper
from ascd.engine.oracles.known import as_oracle
from ascd.matrix.columns import clear, dot, scatter


class Cached(NamedTuple):
    """Exact products for up to ``capacity`` columns, ``fallback`` for the others.

    Parameters
    ----------
    capacity : number of rows of n products kept
    patience : a column's row is computed when it moves for this many-th time
    fallback : the oracle for columns that are not cached, a name or a part

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, oracle=ascd.Cached(capacity=2)).objective
    4.5
    """

    capacity: int = 100
    patience: int = 2
    fallback: Any = "norm"

    def prepare(self, parts: Any, rng: Any) -> RowCache:
        n = parts.norm.size
        capacity = min(as_count(self.capacity, "Cached capacity"), n)
        return RowCache(
            fallback=as_oracle(self.fallback, parts, rng),
            patience=as_count(self.patience, "Cached patience"),
            products=np.empty((n, capacity), order="F"),
            slot=np.full(n, -1, dtype=np.int32),
            moves=np.zeros(n, dtype=np.int32),
            owner=np.full(capacity, -1, dtype=np.int32),
            used=np.zeros(capacity, dtype=np.int64),
            tick=np.zeros(1, dtype=np.int64),
            work=np.zeros(parts.sample.target.size),
        )


class RowCache(NamedTuple):
    """Rows of products, who owns which slot, and when each slot was used last."""

    fallback: Any
    patience: int
    products: Array
    slot: Array
    moves: Array
    owner: Array
    used: Array
    tick: Array
    work: Array

    def confidence(self) -> float:
        return confidence_of(self.fallback)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        self.moves[i] += 1
        if self.slot[i] < 0 and self.moves[i] >= self.patience:
            self.fill(point, i)
        if self.slot[i] < 0:
            self.fallback.update(point, i, change, rng)
            return
        problem, intervals, slot = point.problem, point.intervals, self.slot[i]
        self.tick[0] += 1
        self.used[slot] = self.tick[0]
        step = change * problem.gain
        for j in range(problem.norm.size):
            intervals.estimate[j] += step * self.products[j, slot]
        length = abs(change) * problem.norm[i]
        intervals.widen(length * problem.slack)
        intervals.moved(length * (problem.gain + problem.slack))

    @helper
    def fill(self, point: Any, i: int) -> None:
        """Compute the products of column i into the slot that was used longest ago."""
        slot = np.argmin(self.used)
        if self.owner[slot] >= 0:
            self.slot[self.owner[slot]] = -1
            self.moves[self.owner[slot]] = 0
        self.owner[slot], self.slot[i] = i, slot
        problem = point.problem
        scatter(problem.matrix, i, problem.sample.weight, self.work)
        for j in range(problem.norm.size):
            self.products[j, slot] = dot(problem.matrix, j, self.work)
        clear(problem.matrix, i, self.work)
        point.reads[0] += problem.norm.size
