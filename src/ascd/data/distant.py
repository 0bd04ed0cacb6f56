"""Data that are read block by block: rows as they lie in memory or in a file, passed by from first to last.

A pass over the blocks answers for all columns at once, so single columns cost as much as all.  Therefore columns that
are asked for in small numbers are fetched in one pass and kept *near*, in local memory (``prices.NEAR_SHARE`` of the
data at most).  Working sets and columns that intervals leave open are such; from then on they are answered from there.
A pass is needed for the rest alone.

``bytes_read`` counts what was read of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._base.checks import Array
from ascd.data import prices
from ascd.data.design import Part, Survey
from ascd.data.local import Local


class Block(Protocol):
    """Some rows of some columns."""

    def survey(self, weight: Any, vectors: Array, out: Survey) -> None:
        """Add what these rows bring."""

    def dots(self, vector: Array, out: Array) -> None:
        """out += products with the vector's entries for these rows."""

    def add(self, factors: Array, image: Array) -> None:
        """image (of these rows) += Σ factors·columns."""

    def check_finite(self) -> None: ...


class Source(Protocol):
    """Where blocks come from."""

    shape: tuple[int, int]
    nbytes: int

    def entries(self, columns: Array | None) -> int: ...
    def blocks(self, columns: Array | None) -> Iterator[tuple[slice, Block]]:
        """Blocks of all rows, one after the other, with these columns (all)."""

    def fetch(self, columns: Array) -> Local:
        """These columns in local memory; one pass."""

    def join(self, near: Local, other: Local) -> Local:
        """The columns of both."""

    def passed(self, columns: Array | None) -> int:
        """Bytes that a pass for these columns reads."""


class Near(NamedTuple):
    """Columns in local memory: which, and the place of every column there (−1)."""

    local: Local
    held: Array
    place: Array


class Distant:
    """A design of row blocks."""

    def __init__(self, source: Source) -> None:
        self._source, self.shape, self.nbytes = source, source.shape, source.nbytes
        self._limit = max(prices.NEAR_FLOOR, prices.NEAR_SHARE * source.nbytes)
        nothing = np.empty(0, dtype=np.int64)
        # replaced as a whole: folds of a cross-validation ask from several threads
        self._near = Near(source.fetch(nothing), nothing, np.full(self.shape[1], -1, dtype=np.int64))
        self.bytes_read = 0

    def entries(self, columns: Array | None = None) -> int:
        return self._source.entries(columns)

    def sweep_price(self, columns: Array) -> float:
        return self._near.local.entry_price * 2.0 * self.entries(columns) + prices.VISIT * columns.size

    def products_price(self, columns: Array) -> float:
        return self._near.local.price_of_products(columns.size, self.entries(columns))

    def survey(self, weight: Any, vectors: Array) -> Survey:
        n = self.shape[1]
        out = Survey(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((len(vectors), n)))
        for rows, block in self._pass(None):
            block.survey(weight if np.ndim(weight) == 0 else weight[rows], vectors[:, rows], out)
        return out

    def dots(self, columns: Array, vector: Array) -> Array:
        near = self._bring(columns)
        if near is not None:
            return near.local.dots(near.place[columns], vector)
        out = np.zeros(columns.size)
        for rows, block in self._pass(columns):
            block.dots(vector[rows], out)
        return out

    def squares(self, weight: Any, columns: Array) -> Array:
        local, places = self.local(columns)
        return local.squares(weight, places)

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        product, error = np.empty((2, columns.size))
        for start, stop in self._portions(columns):
            local, places = self.local(columns[start:stop])
            product[start:stop], error[start:stop] = local.careful_dots(places, vector)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        near = self._bring(columns)
        if near is not None:
            near.local.add(near.place[columns], factors, image)
            return
        for rows, block in self._pass(columns):
            block.add(factors, image[rows])

    def means(self, columns: Array, weight: Array) -> Array:
        total = float(weight.sum())
        return self.dots(columns, weight) / total if total > 0.0 else np.zeros(columns.size)

    def multiplier(self, keeps: bool) -> DistantMultiplier:
        return DistantMultiplier(self, keeps, self._near.local.multiplier(keeps).constant)

    def take(self, columns: Array) -> Part:
        local, places = self.local(columns)
        return Part(local.matrix, places)

    def in_memory(self) -> Local:
        """A copy of all columns in local memory."""
        return self._fetch(np.arange(self.shape[1]))

    def check_finite(self) -> None:
        for _, block in self._pass(None):
            block.check_finite()

    def local(self, columns: Array) -> tuple[Local, Array]:
        """The columns in local memory, and their places: near, or fetched for this once where they are too many."""
        near = self._bring(columns)
        if near is not None:
            return near.local, near.place[columns]
        return self._fetch(columns), np.arange(columns.size)

    def _pass(self, columns: Array | None) -> Iterator[tuple[slice, Block]]:
        self.bytes_read += self._source.passed(columns)
        return self._source.blocks(columns)

    def _fetch(self, columns: Array) -> Local:
        self.bytes_read += self._source.passed(columns)
        return self._source.fetch(columns)

    def _portions(self, columns: Array) -> Iterator[tuple[int, int]]:
        """Parts of the columns that may be fetched together."""
        size = max(1, int(columns.size * self._limit / max(1.0, 2.0 * self._bytes(columns))))
        for start in range(0, columns.size, size):
            yield start, min(start + size, columns.size)

    def _bytes(self, columns: Array) -> float:
        """What the columns take in local memory, at most: a float64 and an index an entry."""
        return 12.0 * self.entries(columns)

    def _bring(self, columns: Array) -> Near | None:
        """The columns kept near, with these among them: they are fetched where there is room."""
        near = self._near
        missing = columns[near.place[columns] < 0]
        if missing.size == 0:
            return near
        if self._bytes(columns) > self._limit:
            return None
        if self._bytes(near.held) + self._bytes(missing) <= self._limit:
            local, held = self._source.join(near.local, self._fetch(missing)), np.concatenate([near.held, missing])
        else:
            local, held = self._fetch(columns), columns.copy()
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[held] = np.arange(held.size)
        self._near = Near(local, held, place)
        return self._near


class DistantMultiplier:
    """Products of columns that are brought near first."""

    def __init__(self, design: Distant, keeps: bool, constant: float) -> None:
        self.design, self.keeps, self.constant = design, keeps, constant
        self.local: Local | None = None
        self.inner: Any = None

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        local, places = self.design.local(columns)
        if self.local is not local:  # other columns are near now
            self.local, self.inner = local, local.multiplier(self.keeps)
        here = None if means is None else _spread(means[columns], places)
        self.inner.fill(store, places, left, right, weight, here)

    def is_cheap(self, count: int, size: int) -> bool:
        """They are near then, all of them."""
        return True

    def forget(self) -> None:
        self.local = self.inner = None


def _spread(values: Array, places: Array) -> Array:
    """An array that has the values at these places."""
    out = np.zeros(int(places.max()) + 1)
    out[places] = values
    return out
