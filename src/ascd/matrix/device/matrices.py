"""Arrays and sparse matrices on a device, read where they lie.

Passes are kernels of our own where there are some (``cuda``), the library's products for tiles in float64 elsewhere
(``arrays``).  Vectors of samples and of columns travel, the data never do; columns are fetched only where single ones
are needed (a column without a penalty whose dual point must be fitted).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_shape
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import Remote
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.device.arrays import LibraryPasses, Space, item_size, space_of
from ascd.matrix.device.cuda import passes_of
from ascd.matrix.device.gram import DeviceGram, Wide, multiply
from ascd.matrix.sparse import LocalSparse


class OnDevice(Remote):
    """What dense and sparse matrices have in common; ``space`` is their library and device."""

    is_dear = True
    at_once = costs.DEVICE_AT_ONCE
    space: Space

    def dots(self, columns: Array, vector: Array) -> Array:
        return self.dots_with_several(columns, vector[:, None])[:, 0]

    def _put(self, values: Array) -> Any:
        """Numbers of the host on the device, in float64 and one row after the other."""
        return self.space.put(np.ascontiguousarray(values, dtype=np.float64))


class DeviceDense(OnDevice):
    """A dense array where it lies."""

    def __init__(self, values: Any) -> None:
        check_values(values)
        self.space = space_of(values)
        self.values = values
        self.shape: tuple[int, int] = (int(values.shape[0]), int(values.shape[1]))
        self.chunks = LibraryPasses(values, self.space)
        with self.space.here():
            self.passes = passes_of(self.chunks)

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * item_size(self.values)

    @property
    def products_room(self) -> float:
        """Bytes that products of columns may take on the device."""
        with self.space.here():
            free = self.space.free_bytes()
        return costs.DEVICE_PRODUCTS * free if free is not None else max(costs.DEVICE_BLOCK / 64, 0.3 * self.nbytes)

    def kept_products(self, intercept: bool, constant: float) -> DeviceGram:
        """Return products of columns that stay on the device."""
        return DeviceGram(self, intercept, constant)

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self.note(None)
        with self.space.here():
            weights = None if np.ndim(weight) == 0 else self._put(weight)
            found = self.space.fetch(self.passes.column_stats(weights, self._put(vectors)))
        count = len(vectors)
        total, plain = found[count], found[count + 1]
        square = weight * plain if weights is None else found[count + 2]
        return ColumnStats(square, plain, total, np.ascontiguousarray(found[:count]))

    def squares(self, weight: Any, columns: Array) -> Array:
        self.note(columns)
        with self.space.here():
            weights = self._put(np.broadcast_to(weight, self.shape[:1]))
            return self.space.fetch(self.passes.squares(weights, columns))

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        self.note(columns)
        with self.space.here():
            chosen = None if is_everything(columns, self.shape[1]) else columns
            found = self.passes.dots(chosen, self._put(vectors.T))
            return np.ascontiguousarray(self.space.fetch(found).T)

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        self.note(columns)
        with self.space.here():
            chosen = None if is_everything(columns, self.shape[1]) else columns
            out += self.space.fetch(self.passes.add(chosen, self._put(factors)))

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        self.note(first)
        is_same = np.array_equal(first, second)
        if not is_same:
            self.note(second)
        with self.space.here():
            left = Wide(self.chunks, first, weight, means)
            found = multiply(left, None if is_same else Wide(self.chunks, second, weight, means))
            return self.space.fetch(found)

    def fetch(self, columns: Array) -> LocalDense:
        self.note(columns)
        values = np.empty((self.shape[0], columns.size), order="F")
        with self.space.here():
            for rows, there, part in self.chunks.tiles(columns):
                values[rows, there] = self.space.fetch(part)
        return LocalDense(Dense(values), values.shape)

    def check_finite(self) -> None:
        xp, bad = self.space.xp, 0
        with self.space.here():
            for _, _, part in self.chunks.tiles(None):
                bad += int(xp.sum(xp.where(xp.isfinite(part), 0.0 * xp.ones_like(part), xp.ones_like(part))))
        if bad:
            raise ValueError(f"A must be finite; it has {bad} nan or inf entries")

    def note(self, columns: Array | None) -> None:
        """Count what a pass over these columns (all) reads."""
        size = self.shape[1] if columns is None else columns.size
        self.bytes_read += size * (self.nbytes // self.shape[1])


def check_values(values: Any) -> None:
    """Raise an error unless it is a two-dimensional array of real numbers."""
    check_shape(tuple(values.shape))
    if "complex" in str(values.dtype) or "object" in str(values.dtype):
        raise TypeError(f"A must hold real numbers (float, int or bool); got dtype {values.dtype}")


def is_everything(columns: Array, n: int) -> bool:
    """Return True if these are all columns in their order."""
    return columns.size == n and bool(columns[0] == 0) and bool((np.diff(columns) == 1).all())


class DeviceSparse(OnDevice):
    """A CSC or CSR matrix where it lies (``there``): passes are products there, in pieces of float64.

    A piece is some columns of a CSC matrix, some rows of a CSR one: what lies together.
    """

    is_sparse = True

    def __init__(self, there: Any) -> None:
        if getattr(there, "format", None) not in ("csc", "csr"):
            raise TypeError(f"A must be a CSC or CSR matrix where it is on a device; got {type(there).__name__}")
        self.space = space_of(there.data)
        self.there, self.is_by_rows = there, there.format == "csr"
        self.shape: tuple[int, int] = (int(there.shape[0]), int(there.shape[1]))
        with self.space.here():
            self.ends = self.space.fetch(there.indptr).astype(np.int64)  # of columns (rows)
            self._counts = np.diff(self.ends)
            if self.is_by_rows:
                found = self.space.xp.bincount(there.indices, minlength=self.shape[1])
                self._counts = self.space.fetch(found).astype(np.int64)
        room = min(costs.DEVICE_BLOCK, max(costs.DEVICE_FLOOR, costs.DEVICE_SHARE * self.nbytes))
        self.most = max(1, int(room // costs.DEVICE_SPARSE_ENTRY))

    @property
    def nbytes(self) -> int:
        return int(self.ends[-1]) * (int(self.there.data.dtype.itemsize) + 4) + 4 * self.ends.size

    @property
    def counts(self) -> Array:
        return self._counts

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        """Return norms, sums and products from one pass: the ones and the weights go beside the vectors."""
        ones, every = np.ones((1, self.shape[0])), np.arange(self.shape[1])
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.shape[:1])
        found = self._products(every, np.concatenate([vectors, ones]))
        squares = self._products(every, np.concatenate([ones, weights[None]]), _squared, counts=False)
        return ColumnStats(squares[1], squares[0], found[-1], np.ascontiguousarray(found[:-1]))

    def squares(self, weight: Any, columns: Array) -> Array:
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.shape[:1])
        return self._products(columns, weights[None], _squared)[0]

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        return np.ascontiguousarray(self._products(columns, vectors.T).T)

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        self._note(columns)
        whole = np.zeros(self.shape[1])
        whole[columns] = factors
        with self.space.here():
            vector = self._put(whole if self.is_by_rows else factors)
            for rows, there, part in self._pieces(columns):
                out[rows] += self.space.fetch(part @ vector[there])

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Return products of columns with each other; the second are made dense, a few at a time."""
        self._note(first)
        out = np.empty((first.size, second.size))
        with self.space.here():
            left = self._columns(first).T.tocsr()
            weights = self._put(weight)
            step = max(1, self.most * costs.DEVICE_SPARSE_ENTRY // (24 * self.shape[0]))
            for start in range(0, second.size, step):
                there = slice(start, min(start + step, second.size))
                dense = self._columns(second[there]).toarray() * weights[:, None]
                out[:, there] = self.space.fetch(left @ dense)
        if means is not None:
            taken = float(weight.sum()) * np.outer(means[first], means[second])
            out -= taken
            out[np.abs(out) <= costs.LEFT_BY_MEANS * np.abs(taken)] = 0.0
        return out

    def fetch(self, columns: Array) -> LocalSparse:
        from scipy import sparse

        self._note(columns)
        if columns.size == 0:
            return LocalSparse.of(sparse.csc_array((self.shape[0], 0)))
        with self.space.here():
            there = self._columns(columns).tocsc()
            arrays = [self.space.fetch(one) for one in (there.data, there.indices, there.indptr)]
        return LocalSparse.of(sparse.csc_array(tuple(arrays), shape=(self.shape[0], columns.size)))

    def check_finite(self) -> None:
        with self.space.here():
            bad = int((~self.space.xp.isfinite(self.there.data)).sum())
        if bad:
            raise ValueError(f"A must be finite; it has {bad} nan or inf entries")

    def _products(
        self, columns: Array, vectors: Array, of: Callable[[Any], Any] = lambda part: part, counts: bool = True
    ) -> Array:
        """Products of these columns with the vectors, both one a row; ``of`` is applied to the entries before."""
        if counts:
            self._note(columns)
        are_most = self.is_by_rows or 2 * columns.size > self.shape[1]  # then all of them are multiplied
        with self.space.here():
            beside = self._put(vectors.T)
            total = self.space.zeros((self.shape[1] if are_most else columns.size, len(vectors)))
            for rows, there, part in self._pieces(None if are_most else columns):
                total[there] = total[there] + of(part).T @ beside[rows]
            found = self.space.fetch(total).T
        return np.ascontiguousarray(found[:, columns] if are_most else found)

    def _pieces(self, columns: Array | None) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, places among the columns, and these entries in float64; all columns where rows lie together."""
        if self.is_by_rows:
            counts = np.diff(self.ends)
        else:
            counts = self.counts if columns is None else self.counts[columns]
        running, start = np.concatenate([[0], np.cumsum(counts)]), 0
        while start < counts.size:
            stop = int(np.searchsorted(running, running[start] + self.most, side="right")) - 1
            chosen = slice(start, min(max(stop, start + 1), counts.size))
            if self.is_by_rows:
                yield chosen, slice(None), self._wide(self.there[chosen])
            elif columns is None:
                yield slice(None), chosen, self._wide(self.there[:, chosen])
            else:
                yield slice(None), chosen, self._columns(columns[chosen])
            start = chosen.stop

    def _columns(self, columns: Array) -> Any:
        return self._wide(self.there[:, self.space.put(np.ascontiguousarray(columns, dtype=np.int64))])

    def _wide(self, part: Any) -> Any:
        return part if part.dtype == np.float64 else part.astype(np.float64)

    def _note(self, columns: Array) -> None:
        """Count what a pass over these columns reads."""
        share = 1.0 if self.is_by_rows else float(self.counts[columns].sum()) / max(1, int(self.ends[-1]))
        self.bytes_read += int(share * self.nbytes)


def _squared(part: Any) -> Any:
    return type(part)((part.data * part.data, part.indices, part.indptr), shape=part.shape)
