"""Matrices that are not columns in local memory: each pass reads them where and as they are.

A pass answers for all columns at once, so a few columns may cost as much as all.  ``CachedMatrix`` therefore copies
columns that are requested in small numbers (working sets, columns that intervals leave undecided) into local memory
with one pass, ``cache_bytes`` at most, and answers for them from there; a pass is needed for the rest alone.  Where
columns are expensive to move (``caches_dots`` is False) only working sets are cached, never columns whose products with
a vector are requested.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix, Part
from ascd.matrix.dense import Dense, Local, LocalDense, dense_products
from ascd.matrix.sparse import LocalSparse, sparse_products


class Remote(Matrix):
    """A matrix of which columns can be fetched into local memory."""

    @abstractmethod
    def fetch(self, columns: Array) -> Local:
        """Return a copy of these columns in local memory."""

    def take(self, columns: Array) -> Part:
        return Part(self.fetch(columns).matrix, np.arange(columns.size))

    def in_memory(self) -> Local:
        """Return a copy of all columns in local memory."""
        return self.fetch(np.arange(self.shape[1]))


def joined(blocks: Iterable[tuple[slice, Any, Any]], shape: tuple[int, int], is_sparse: bool) -> Local:
    """Return a matrix of blocks: their rows, their places among the columns, and the numbers there."""
    if not is_sparse:
        values = np.empty(shape, order="F")
        for rows, there, block in blocks:
            values[rows, there] = block
        return LocalDense(Dense(values), shape)
    from scipy.sparse import coo_array, csc_array

    names = np.arange(shape[1], dtype=np.int32)
    found = [(np.empty(0), names[:0], names[:0])]
    for rows, there, block in blocks:
        entries = coo_array(block)
        found.append((entries.data, entries.row + rows.start, names[there][entries.col]))
    data, row, column = map(np.concatenate, zip(*found, strict=True))
    return LocalSparse.of(csc_array((data, (row, column)), shape=shape))


def beside(first: Local, second: Local) -> Local:
    """Return the columns of two matrices of one kind side by side."""
    columns = [one.matrix.to_scipy(*one.shape) for one in (first, second)]
    if first.is_sparse:
        from scipy.sparse import hstack

        return LocalSparse.of(hstack(columns, format="csc"))
    values = np.concatenate([one.T for one in columns]).T
    return LocalDense(Dense(values), values.shape)


class Cache(NamedTuple):
    """Columns in local memory: which, and the place of every column of the matrix there (−1: not there)."""

    local: Local
    columns: Array
    place: Array

    def has(self, columns: Array) -> Array:
        """Return a mask of the columns that are in it."""
        return np.asarray(self.place[columns] >= 0)


class CachedMatrix(Remote):
    """A matrix with a cache of columns in local memory.

    Attributes
    ----------
    cache_bytes : bytes that the cache may take
    most_bytes : bytes that columns may take in local memory, all together, even for a moment
    caches_dots : columns whose products with a vector are requested are cached too, where there is room
    """

    cache_bytes: float
    most_bytes: float = math.inf
    caches_dots: bool = True
    # replaced as a whole: folds of a cross-validation share it between threads
    _cache: Cache | None = None

    @abstractmethod
    def read_dots(self, columns: Array, vectors: Array) -> Array:
        """Return ``dots`` from a pass."""

    @abstractmethod
    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        """Do what ``add`` does by a pass."""

    @property
    def most_near(self) -> int:
        """Columns of average length that fit into the cache."""
        n = self.shape[1]
        return int(self.cache_bytes / max(1.0, self._bytes(np.arange(n)) / n)) if self.caches_dots else n

    @property
    def portion_bytes(self) -> float:  # type: ignore[override]
        return 0.5 * self.cache_bytes

    def dots(self, columns: Array, vectors: Array) -> Array:
        """From the cache, and from a pass for columns that are not in it."""
        cache = (self._with(columns) if self.caches_dots else None) or self._cache
        if cache is None:
            return self.read_dots(columns, vectors)
        cached, out = cache.has(columns), np.empty((columns.size, *vectors.shape[1:]))
        if cached.any():
            out[cached] = cache.local.dots(cache.place[columns[cached]], vectors)
        if not cached.all():
            out[~cached] = self.read_dots(columns[~cached], vectors)
        return out

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        """From the cache if all of these columns are in it; they are fetched where there is room, moving cheap."""
        cache = self._with(columns) if self.caches_dots else self._cache
        if cache is not None and cache.has(columns).all():
            cache.local.add(cache.place[columns], factors, out)
        elif columns.size:
            self.read_add(columns, factors, out)

    def take(self, columns: Array) -> Part:
        """Cached, or fetched for this once if they are many."""
        cache = self._with(columns)
        if cache is not None:
            return Part(cache.local.matrix, cache.place[columns])
        self._make_room(columns)
        return super().take(columns)

    def products(self, *given: Any) -> Array:
        return (sparse_products if self.is_sparse else dense_products)(self, *given)

    def are_near(self, columns: Array) -> Array:
        """Return a mask of the columns that are in local memory."""
        return np.zeros(columns.size, dtype=bool) if self._cache is None else self._cache.has(columns)

    def _bytes(self, columns: Array) -> float:
        """What the columns take in local memory; a sparse entry has its row."""
        return (12.0 if self.is_sparse else 8.0) * self.entries(columns)

    def _with(self, columns: Array) -> Cache | None:
        """The cache with these columns in it: they are fetched; None where they have no room."""
        cache = self._cache
        missing = columns if cache is None else columns[~cache.has(columns)]
        if missing.size == 0:
            return cache
        if self._bytes(columns) > self.cache_bytes:
            return None
        if cache is not None:
            both = self._bytes(cache.columns) + self._bytes(missing)
            # for a moment there are those before and all together
            if both <= self.cache_bytes and 2.0 * both <= self.most_bytes:
                return self._keep(self.fetch(missing), missing, cache)
        del cache
        self._make_room(columns)
        return self._keep(self.fetch(columns), columns.copy())

    def _make_room(self, columns: Array) -> None:
        """Clear the cache where these columns have no room beside it."""
        cache = self._cache
        if cache is not None and self._bytes(cache.columns) + self._bytes(columns) > self.most_bytes:
            self._cache = None

    def _keep(self, local: Local, columns: Array, cache: Cache | None = None) -> Cache:
        """Cache these columns, beside those of ``cache``."""
        if cache is not None:
            local, columns = beside(cache.local, local), np.concatenate([cache.columns, columns])
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        self._cache = cache = Cache(local, columns, place)
        return cache
