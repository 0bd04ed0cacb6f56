"""Arrays and sparse matrices on a GPU, read where they lie.

Passes are kernels of our own over dense arrays (``cuda``), CuPy's products over sparse ones.  Vectors of samples and of
columns travel, the data never do; columns are fetched only where single ones are needed (a column without a penalty
whose dual point must be fitted).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import Remote
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.device.arrays import Gpu, as_cupy
from ascd.matrix.device.cuda import Passes
from ascd.matrix.device.gram import DeviceGram, Wide, multiply
from ascd.matrix.sparse import LocalSparse


class OnDevice(Remote):
    """What dense and sparse matrices have in common; ``gpu`` is where they are."""

    is_dear = True
    at_once = 1024  # a pass takes longer than products of so many columns
    gpu: Gpu

    def dots(self, columns: Array, vectors: Array) -> Array:
        found = self.rows_of_dots(columns, vectors.reshape(self.shape[0], -1).T)
        return np.ascontiguousarray(found.T).reshape(-1, *vectors.shape[1:])

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        for number in np.ndindex(out.shape[1:]):  # one output after the other
            there = (slice(None), *number)
            out[there] += self.sum_of(columns, np.ascontiguousarray(factors[there]))

    @abstractmethod
    def rows_of_dots(self, columns: Array, vectors: Array) -> Array:
        """Return products of these columns with vectors, both one a row."""

    @abstractmethod
    def sum_of(self, columns: Array, factors: Array) -> Array:
        """Return A_columns·factors."""


class DeviceDense(OnDevice):
    """A dense array where it lies."""

    def __init__(self, values: Any) -> None:
        self.values = as_cupy(values)
        self.gpu = Gpu(self.values)
        self.shape: tuple[int, int] = (int(values.shape[0]), int(values.shape[1]))
        with self.gpu.here():
            self.passes = Passes(self.values, self.gpu)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    @property
    def products_room(self) -> float:
        """Bytes that products of columns may take on the device."""
        with self.gpu.here():
            return 0.2 * self.gpu.free_bytes()

    def kept_products(self, intercept: bool, constant: float) -> DeviceGram:
        """Return products of columns that stay on the device."""
        return DeviceGram(self, intercept, constant)

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self.note(None)
        with self.gpu.here():
            weights = None if np.ndim(weight) == 0 else self.gpu.put(weight, np.float64)
            found = self.gpu.fetch(self.passes.column_stats(weights, self.gpu.put(vectors, np.float64)))
        count = len(vectors)
        total, plain = found[count], found[count + 1]
        square = weight * plain if weights is None else found[count + 2]
        return ColumnStats(square, plain, total, np.ascontiguousarray(found[:count]))

    def squares(self, weight: Any, columns: Array) -> Array:
        self.note(columns)
        with self.gpu.here():
            weights = self.gpu.put(np.broadcast_to(weight, self.shape[:1]), np.float64)
            return self.gpu.fetch(self.passes.squares(weights, columns))

    def rows_of_dots(self, columns: Array, vectors: Array) -> Array:
        self.note(columns)
        with self.gpu.here():
            return self.gpu.fetch(self.passes.dots(self._chosen(columns), self.gpu.put(vectors, np.float64)))

    def sum_of(self, columns: Array, factors: Array) -> Array:
        self.note(columns)
        with self.gpu.here():
            return self.gpu.fetch(self.passes.add(self._chosen(columns), factors))

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        self.note(first)
        is_same = np.array_equal(first, second)
        if not is_same:
            self.note(second)
        with self.gpu.here():
            left = Wide(self.passes, first, weight, means)
            return self.gpu.fetch(multiply(left, None if is_same else Wide(self.passes, second, weight, means)))

    def fetch(self, columns: Array) -> LocalDense:
        self.note(columns)
        values = np.empty((self.shape[0], columns.size), order="F")
        with self.gpu.here():
            for rows, there, part in self.passes.tiles(columns):
                values[rows, there] = self.gpu.fetch(part)
        return LocalDense(Dense(values), values.shape)

    def check_finite(self) -> None:
        with self.gpu.here():
            refuse_infinite(sum(int((~self.gpu.xp.isfinite(part)).sum()) for _, _, part in self.passes.tiles(None)))

    def note(self, columns: Array | None) -> None:
        """Count what a pass over these columns (all) reads."""
        size = self.shape[1] if columns is None else columns.size
        self.bytes_read += size * (self.nbytes // self.shape[1])

    def _chosen(self, columns: Array) -> Array | None:
        """None for all columns in their order."""
        are_all = columns.size == self.shape[1] and bool((columns == np.arange(columns.size)).all())
        return None if are_all else columns


def refuse_infinite(bad: int) -> None:
    """Raise an error that says how many entries are not finite, if any is."""
    if bad:
        raise ValueError(f"A must be finite; it has {bad} nan or inf entries")


class DeviceSparse(OnDevice):
    """A CSC or CSR matrix where it lies (``there``): passes are products there, in pieces of float64.

    A piece is some columns of a CSC matrix, some rows of a CSR one: what lies together.
    """

    is_sparse = True

    def __init__(self, there: Any) -> None:
        if getattr(there, "format", None) not in ("csc", "csr"):
            raise TypeError(f"A must be a CSC or CSR matrix where it is on a device; got {type(there).__name__}")
        self.gpu = Gpu(there.data)
        self.there, self.is_by_rows = there, there.format == "csr"
        self.shape: tuple[int, int] = (int(there.shape[0]), int(there.shape[1]))
        with self.gpu.here():
            self.ends = self.gpu.fetch(there.indptr).astype(np.int64)  # of columns (rows)
            self._counts = np.diff(self.ends)
            if self.is_by_rows:
                found = self.gpu.xp.bincount(there.indices, minlength=self.shape[1])
                self._counts = self.gpu.fetch(found).astype(np.int64)
        room = min(costs.DEVICE_BLOCK, max(costs.DEVICE_FLOOR, costs.DEVICE_SHARE * self.nbytes))
        self.most = max(1, int(room // 36))  # bytes: an entry as it came, in float64 and squared, each with its index

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

    def rows_of_dots(self, columns: Array, vectors: Array) -> Array:
        return self._products(columns, vectors)

    def sum_of(self, columns: Array, factors: Array) -> Array:
        self._note(columns)
        out, whole = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        whole[columns] = factors
        with self.gpu.here():
            vector = self.gpu.put(whole if self.is_by_rows else factors, np.float64)
            for rows, there, part in self._pieces(columns):
                out[rows] += self.gpu.fetch(part @ vector[there])
        return out

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Return products of columns with each other; the second are made dense, a few at a time."""
        self._note(first)
        out = np.empty((first.size, second.size))
        with self.gpu.here():
            left = self._columns(first).T.tocsr()
            weights = self.gpu.put(weight, np.float64)
            step = max(1, 36 * self.most // (24 * self.shape[0]))
            for start in range(0, second.size, step):
                there = slice(start, min(start + step, second.size))
                dense = self._columns(second[there]).toarray() * weights[:, None]
                out[:, there] = self.gpu.fetch(left @ dense)
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
        with self.gpu.here():
            there = self._columns(columns).tocsc()
            arrays = [self.gpu.fetch(one) for one in (there.data, there.indices, there.indptr)]
        return LocalSparse.of(sparse.csc_array(tuple(arrays), shape=(self.shape[0], columns.size)))

    def check_finite(self) -> None:
        with self.gpu.here():
            refuse_infinite(int((~self.gpu.xp.isfinite(self.there.data)).sum()))

    def _products(
        self, columns: Array, vectors: Array, of: Callable[[Any], Any] = lambda part: part, counts: bool = True
    ) -> Array:
        """Products of these columns with the vectors, both one a row; ``of`` is applied to the entries before."""
        if counts:
            self._note(columns)
        are_most = self.is_by_rows or 2 * columns.size > self.shape[1]  # then all of them are multiplied
        with self.gpu.here():
            beside = self.gpu.put(vectors.T, np.float64)
            total = self.gpu.xp.zeros((self.shape[1] if are_most else columns.size, len(vectors)))
            for rows, there, part in self._pieces(None if are_most else columns):
                total[there] = total[there] + of(part).T @ beside[rows]
            found = self.gpu.fetch(total).T
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
        return self._wide(self.there[:, self.gpu.put(columns, np.int64)])

    def _wide(self, part: Any) -> Any:
        return part if part.dtype == np.float64 else part.astype(np.float64)

    def _note(self, columns: Array) -> None:
        """Count what a pass over these columns reads."""
        share = 1.0 if self.is_by_rows else float(self.counts[columns].sum()) / max(1, int(self.ends[-1]))
        self.bytes_read += int(share * self.nbytes)


def _squared(part: Any) -> Any:
    return type(part)((part.data * part.data, part.indices, part.indptr), shape=part.shape)
