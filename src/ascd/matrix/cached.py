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
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, pairwise, starmap
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats, Matrix, Part
from ascd.matrix.costs import TILE, TILE_ROWS
from ascd.matrix.dense import Dense, Local, LocalDense, dense_products
from ascd.matrix.sparse import CSC, LocalSparse, count_rows, signed, sparse_products

#: Numbers that are read where they are; others are converted.
READ_IN_PLACE = tuple(np.dtype(kind) for kind in (np.float64, np.float32, np.int8, np.uint8, np.bool_))
#: Rows, places among the requested columns, and the numbers there; before they are read, these columns (None: all).
Piece = tuple[slice, Array, Any]


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
        both = math.inf if cache is None else self._bytes(cache.columns) + self._bytes(missing)
        if both > self.cache_bytes or 2.0 * both > self.most_bytes:  # for a moment there are both, and those before
            cache, missing = None, columns.copy()
            self._make_room(columns)
        return self._keep(self.fetch(missing), missing, cache)

    def _make_room(self, columns: Array) -> None:
        """Clear the cache where these columns have no room beside it."""
        cache = self._cache
        if cache is not None and self._bytes(cache.columns) + self._bytes(columns) > self.most_bytes:
            self._cache = None

    def _keep(self, local: Local, columns: Array, cache: Cache | None = None) -> Cache:
        """Cache these columns, beside those of ``cache``."""
        if cache is not None:
            columns = np.concatenate([cache.columns, columns])
            both = [one.matrix.to_scipy(*one.shape) for one in (cache.local, local)]
            if local.is_sparse:
                from scipy.sparse import hstack

                local = LocalSparse.of(hstack(both, format="csc"))
            else:
                local = LocalDense(Dense(np.concatenate([one.T for one in both]).T), (self.shape[0], columns.size))
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        self._cache = cache = Cache(local, columns, place)
        return cache


# ---- rows in memory


class Rows(CachedMatrix):
    """Data that lie by rows, read in place: products are sums over rows, Σ_k v_k·a_k.

    The rows, ``turned``, are the columns of Aᵀ.  Threads share the columns, so sums do not depend on their number.  No
    column is cached where ``cache_bytes`` is 0.
    """

    def __init__(self, turned: Any, cache_bytes: float | None = None) -> None:
        self.turned, self.shape, self.every = turned, turned.shape[::-1], np.arange(turned.shape[1])
        room = max(costs.NEAR_FLOOR, costs.NEAR_SHARE * turned.nbytes)
        self.cache_bytes = room if cache_bytes is None else cache_bytes

    nbytes = property(lambda self: int(self.turned.nbytes))

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        self.bytes_read += self.nbytes
        out = np.zeros((self.shape[1], *vectors.shape[1:]))
        self.turned.add(self.every, vectors, out)
        return out[columns]

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        self.bytes_read += self.nbytes
        x = np.zeros((self.shape[1], *factors.shape[1:]))
        x[columns] = factors
        out += self.turned.dots(self.every, x)


class DenseRows(Rows):
    """A dense array in C order, of which a pass reads all."""

    def __init__(self, values: Array, cache_bytes: float | None = None) -> None:
        super().__init__(LocalDense(Dense(values.T), values.shape[::-1]), cache_bytes)
        self.values = values

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        ones, count = np.ones(self.shape[0]), len(vectors)
        weights = [] if np.ndim(weight) == 0 else [weight]
        sums = self._sums(np.stack([*vectors, ones, ones, *weights]), count + 1)
        total, plain, *square = sums[count:]
        return ColumnStats(square[0] if weights else weight * plain, plain, total, sums[:count])

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        rows = np.ascontiguousarray(vectors.reshape(self.shape[0], -1).T)
        return self._sums(rows, len(rows)).T[columns].reshape(columns.size, *vectors.shape[1:])

    def _sums(self, vectors: Array, squared: int) -> Array:
        """vectors·A; of the last ones, from number ``squared`` on, with the squares of the entries."""
        self.bytes_read += self.nbytes
        out = np.zeros((len(vectors), self.shape[1]))
        share(len(out) * self.pass_cost(), self.shape[1], sum_rows, self.values, vectors, squared, out)
        return out

    def fetch(self, columns: Array) -> LocalDense:
        self.bytes_read += min(self.nbytes, self.shape[0] * columns.size * 64)  # an entry costs its cache line or page
        values = np.empty((self.shape[0], columns.size), order="F")
        share(costs.DENSE_ENTRY * values.size, len(values), copy_columns, self.values, columns, values)
        return LocalDense(Dense(values), values.shape)


class SparseRows(Rows):
    """Compressed sparse rows."""

    is_sparse = True

    @cached_property
    def counts(self) -> Array:
        found = np.zeros(self.shape[1] + 1, dtype=np.int64)
        share(self.turned.pass_cost(), self.shape[1], count_rows, self.turned.matrix, self.every, found)
        return found[1:]

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        (d, n), (data, indices, ends) = self.shape, self.turned.matrix
        ones, squares = np.ones(d), np.zeros((n, 2))
        sums = self.read_dots(np.arange(n), np.column_stack([ones, *vectors]))
        weights = np.column_stack([weight * ones, ones])
        step = max(1, int(costs.BLOCK * d // max(1, data.size)))
        for rows in (slice(start, min(start + step, d)) for start in range(0, d, step)):
            here = slice(ends[rows.start], ends[rows.stop])
            entries, offsets = data[here].astype(np.float64), ends[rows.start : rows.stop + 1] - ends[rows.start]
            some = LocalSparse(CSC(entries * entries, indices[here], offsets), (n, offsets.size - 1))
            some.add(self.every[: offsets.size - 1], weights[rows], squares)
        return ColumnStats(squares[:, 0].copy(), squares[:, 1].copy(), sums[:, 0].copy(), sums[:, 1:].T.copy())

    def fetch(self, columns: Array) -> LocalSparse:
        from scipy.sparse import csr_array

        self.bytes_read += self.nbytes if columns.size else 0
        rows = csr_array(signed(*self.turned.matrix), shape=self.shape)
        return LocalSparse.of(rows[:, columns].tocsc().astype(np.float64))


@kernel
def sum_rows(values: Array, vectors: Array, squared: int, out: Array, start: int, stop: int) -> None:
    """out += vectors·A, and of the last vectors, from number ``squared`` on, with the squares of the entries.

    Few rows of few columns at a time, so that a second reading finds them in the cache.
    """
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        end = min(row + TILE_ROWS, d)
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            for m in range(vectors.shape[0]):
                add_whole_rows(values, vectors[m], m >= squared, row, end, out[m], first, last)


@helper
def add_whole_rows(
    values: Array, vector: Array, is_squared: bool, row: int, end: int, out: Array, first: int, last: int
) -> None:
    """Four rows at a time, the last ones with factors of 0: the sums are read and written once for them."""
    for k in range(row, end, 4):
        k1, k2, k3 = min(k + 1, end - 1), min(k + 2, end - 1), min(k + 3, end - 1)
        v0, v1 = vector[k], vector[k1] if k1 > k else 0.0
        v2, v3 = vector[k2] if k2 > k1 else 0.0, vector[k3] if k3 > k2 else 0.0
        for number in range(first, last):
            j = wide(number)
            a, b = np.float64(values[k, j]), np.float64(values[k1, j])
            c, e = np.float64(values[k2, j]), np.float64(values[k3, j])
            if is_squared:
                a, b, c, e = a * a, b * b, c * c, e * e
            ahead = v0 * a + v1 * b
            out[j] += ahead + (v2 * c + v3 * e)


@kernel
def copy_columns(values: Array, columns: Array, out: Array, start: int, stop: int) -> None:
    for number in range(start, stop):
        k = wide(number)
        for i in range(columns.size):
            out[k, i] = values[k, wide(columns[i])]


def as_stored(A: Any, cache_bytes: float | None = None) -> Matrix:
    """Return an array, contiguous in either way, or a sparse matrix by columns or rows as a matrix on its memory.

    Of dense rows ``cache_bytes`` of columns are cached.
    """
    if hasattr(A, "tocsc"):
        return LocalSparse.of(A) if A.format == "csc" else SparseRows(LocalSparse.of(A.T))
    values = unlocked(A.view(np.uint8 if A.dtype == np.bool_ else A.dtype, np.ndarray))  # booleans are read as bytes
    return LocalDense(Dense(values), A.shape) if A.flags.f_contiguous else DenseRows(values, cache_bytes)


# ---- files, read piece by piece: the next one while the last is used, and only columns that are requested


class FileMatrix(CachedMatrix):
    """A matrix in files; ``memory`` is what it may take, in bytes.

    A file holds groups of rows.  Where the columns of a group lie apart, those that are not requested are not read.
    Some formats decode a *chunk* at a time, all rows of a group and a few columns, whatever is requested of it.  Pieces
    are made of whole chunks there, so that a pass decodes each one once.

    The reader has a method ``read(rows, columns)`` for rows of one group with these columns (None: all), an array in C
    or Fortran order or a CSC matrix, and these attributes:

    shape, is_sparse, counts : as those of a matrix
    size, bytes_read : bytes that all numbers take in the files, and those read so far
    ends : where groups of rows end, from 0 on
    together : columns of a group that are read together, whichever of them are requested, from column 0 on
    rows_apart : some rows of a group can be read without the others
    """

    is_dear = answers_several = True

    def __init__(self, reader: Any, memory: float) -> None:
        self.reader, self.shape, self.is_sparse = reader, reader.shape, reader.is_sparse
        self.memory, self.piece = memory, int(min(costs.BLOCK_BYTES, costs.FILE_PIECE * memory))
        self.cache_bytes, self.most_bytes = costs.FILE_NEAR * memory, costs.FILE_ROOM * memory

    nbytes = property(lambda self: int(min(self.reader.size, self.memory)))
    counts = property(lambda self: self.reader.counts)
    bytes_read = property(lambda self: self.reader.bytes_read)  # type: ignore[assignment]

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        square, plain, total = np.zeros((3, self.shape[1]))
        out = ColumnStats(square, plain, total, np.zeros((len(vectors), self.shape[1])))
        for rows, there, values in self.pieces(None):
            share = weight if np.ndim(weight) == 0 else weight[rows]
            found = as_stored(values, 0.0).column_stats(share, np.ascontiguousarray(vectors[:, rows]))
            with np.errstate(all="ignore"):  # what is not finite is named once norms have shown it
                for mine, theirs in zip(out, found, strict=True):
                    mine[..., there] += theirs
        return out

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, *vectors.shape[1:]))
        for rows, there, values in self.pieces(columns):
            out[there] += as_stored(values, 0.0).dots(np.arange(values.shape[1]), vectors[rows])
        return out

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        for rows, there, values in self.pieces(columns):
            as_stored(values, 0.0).add(np.arange(values.shape[1]), factors[there], out[rows])

    def fetch(self, columns: Array) -> Local:
        return joined(self.pieces(columns), (self.shape[0], columns.size), self.is_sparse)

    def pieces(self, columns: Array | None) -> Iterator[Piece]:
        """Yield what is requested in the order of the file; the next piece is read ahead, unless they are large."""
        tallest = int(np.diff(self.reader.ends).max())
        if not self.reader.rows_apart and self._chunk(tallest) > costs.FILE_PIECE * self.memory:
            yield from starmap(self._read, self._places(columns))
            return
        with ThreadPoolExecutor(1, thread_name_prefix="ascd-read") as pool:
            reading: Iterator[Any] = (pool.submit(self._read, *place) for place in self._places(columns))
            for piece, _next in pairwise(chain(reading, [None])):
                yield piece.result()

    def _read(self, rows: slice, there: Array, columns: Array | None) -> Piece:
        """Numbers that compiled code reads as they are; others (half precision, the other byte order) as float64."""
        values = self.reader.read(rows, columns)
        return rows, there, values if values.dtype in READ_IN_PLACE else values.astype(np.float64)

    def _chunk(self, height: int) -> float:
        """Bytes of so many rows of columns that are read together."""
        d, n = self.shape
        return height * min(self.reader.together, n) * self.reader.size / (d * n)

    def _places(self, columns: Array | None) -> Iterator[Piece]:
        """Where the pieces are: none is too large, unless it is one chunk that can only be read as a whole."""
        wanted = np.arange(self.shape[1]) if columns is None else columns
        order = np.argsort(wanted, kind="stable")
        number = np.unique(wanted[order] // self.reader.together, return_inverse=True)[1]
        for start, stop in pairwise(self.reader.ends.tolist() if wanted.size else []):
            share = self.piece / self._chunk(stop - start)
            tall = max(1, int(min(1.0, share) * (stop - start))) if self.reader.rows_apart else stop - start
            for there in np.split(order, np.flatnonzero(np.diff(number // max(1, int(share)))) + 1):
                chosen = None if columns is None and there.size == wanted.size else wanted[there]
                for top in range(start, stop, tall):
                    yield slice(top, min(top + tall, stop)), there, chosen
