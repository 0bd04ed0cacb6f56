"""A dense array on a GPU, read where it lies.

Vectors of samples and of columns travel, the data never do; columns are fetched only where single ones are needed (a
column without a penalty whose dual point must be fitted).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import Remote
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.device.arrays import Gpu, as_cupy
from ascd.matrix.device.cuda import CUDA_VECTORS, Passes
from ascd.matrix.device.gram import ENTRY_BYTES, DeviceGram, Weighted, multiply


class DeviceDense(Remote):
    """A dense array where it lies; ``gpu`` is where that is, ``room`` the bytes that may be used beside it."""

    is_dear = True
    at_once = 1024  # a pass takes longer than products of so many columns

    def __init__(self, values: Any) -> None:
        self.values = as_cupy(values)
        self.gpu = Gpu(self.values)
        self.shape: tuple[int, int] = (int(values.shape[0]), int(values.shape[1]))
        self.room = int(max(costs.DEVICE_FLOOR, costs.DEVICE_SHARE * self.nbytes))
        with self.gpu.here():
            self.passes = Passes(self.values, self.gpu, self.room)
        self.by_columns = self.passes.lines.are_columns

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    @property
    def products_room(self) -> float:
        """Bytes that products of columns may take on the device."""
        xp = self.gpu.xp
        with self.gpu.here():
            return 0.2 * float(xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes())

    def kept_products(self, intercept: bool, constant: float) -> DeviceGram:
        """Return products of columns that stay on the device."""
        return DeviceGram(self, intercept, constant)

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self.note(None)
        count = CUDA_VECTORS - 1
        some, others = vectors[:count], vectors[count:]
        with self.gpu.here():
            weights = None if np.ndim(weight) == 0 else self.gpu.put(weight, np.float64)
            rows = self.gpu.put(some, np.float64)
            products, (total, plain, *squares) = np.split(
                self.gpu.fetch(self.passes.over_samples(rows, weights, True)), [len(some)]
            )
        if len(others):
            products = np.concatenate([products, self.dots(np.arange(self.shape[1]), others.T).T])
        square = weight * plain if weights is None else squares[0]
        return ColumnStats(square, plain, total, np.ascontiguousarray(products))

    def squares(self, weight: Any, columns: Array) -> Array:
        self.note(columns)
        with self.gpu.here():
            weights = self.gpu.put(np.broadcast_to(weight, self.shape[:1]), np.float64)
            nothing = self.gpu.xp.zeros((0, self.shape[0]))
            return self.gpu.fetch(self.passes.over_samples(nothing, weights, columns=columns)[0, :])

    def dots(self, columns: Array, vectors: Array) -> Array:
        self.note(columns)
        rows, chosen = vectors.reshape(self.shape[0], -1).T, self._chosen(columns)
        out = np.empty((columns.size, len(rows)))
        with self.gpu.here():
            for start in range(0, len(rows), CUDA_VECTORS):
                some = slice(start, start + CUDA_VECTORS)
                put = self.gpu.put(rows[some], np.float64)
                out[:, some] = self.gpu.fetch(self.passes.over_samples(put, columns=chosen)).T
        return out.reshape(-1, *vectors.shape[1:])

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        chosen = self._chosen(columns)
        with self.gpu.here():
            for number in np.ndindex(out.shape[1:]):  # one output after the other
                self.note(columns)
                there = (slice(None), *number)
                out[there] += self.gpu.fetch(self.passes.over_columns(np.ascontiguousarray(factors[there]), chosen))

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        parts = [first] if np.array_equal(first, second) else [first, second]
        for columns in parts:
            self.note(columns)
        with self.gpu.here():
            return self.gpu.fetch(multiply(*(Weighted(self, columns, weight, means) for columns in parts)))

    def fetch(self, columns: Array) -> LocalDense:
        self.note(columns)
        values = np.empty((self.shape[0], columns.size), order="F")
        with self.gpu.here():
            for rows, there, part in self._tiles(columns):
                values[rows, there] = self.gpu.fetch(part)
        return LocalDense(Dense(values), values.shape)

    def note(self, columns: Array | None) -> None:
        """Count what a pass over these columns (all) reads."""
        size = self.shape[1] if columns is None else columns.size
        self.bytes_read += size * (self.nbytes // self.shape[1])

    def tile(self, rows: slice, places: Any) -> Any:
        """Return some rows of some columns (their places are on the GPU) in float64."""
        take = self.gpu.xp.take
        if self.by_columns:  # which stay together
            part = take(self.values.T[:, rows], places, axis=0).T
        else:
            part = take(self.values[rows, :], places, axis=1)
        return part.astype(np.float64, copy=False)

    def _tiles(self, columns: Array) -> Iterator[tuple[slice, slice, Any]]:
        """Yield rows, places among the columns, and these entries: as many at a time as lie together."""
        d, count, most = self.shape[0], columns.size, self.room // ENTRY_BYTES
        tall = min(d, most if self.by_columns else max(1, most // max(1, count)))
        wide = max(1, min(count, most // tall))
        for first in range(0, count, wide):
            there = slice(first, min(first + wide, count))
            places = self.gpu.put(columns[there], np.int64)
            for top in range(0, d, tall):
                rows = slice(top, min(top + tall, d))
                yield rows, there, self.tile(rows, places)

    def _chosen(self, columns: Array) -> Array | None:
        """None for all columns in their order."""
        are_all = columns.size == self.shape[1] and bool((columns == np.arange(columns.size)).all())
        return None if are_all else columns
