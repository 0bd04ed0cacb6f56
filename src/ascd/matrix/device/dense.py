"""A dense array on a device: a source of answers, computed where it lies.

Passes are products there: by kernels of our own where there are some (``kernels``), by the library's for chunks in
float64 elsewhere.  Vectors of samples and of columns travel, the data never do; columns are fetched only for questions
about single ones (a column without a penalty whose dual point must be fitted).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_shape
from ascd._core.devices import is_on_device, to_host
from ascd.matrix import prices
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.design import Survey
from ascd.matrix.device import compensated
from ascd.matrix.device.chunks import Chunks, item_size
from ascd.matrix.device.gram import DeviceGram
from ascd.matrix.device.kernels import passes_of
from ascd.matrix.device.products import Wide, multiply
from ascd.matrix.device.spaces import Space, space_of


class DeviceDense:
    """A dense array where it lies; a ``RemoteSource``."""

    is_dear = True
    gives_products = True
    near_limit = 0.0
    at_once = prices.DEVICE_AT_ONCE

    def __init__(self, values: Any) -> None:
        check_values(values)
        self.space: Space = space_of(values)
        self.values = values
        self.shape: tuple[int, int] = (int(values.shape[0]), int(values.shape[1]))
        self.nbytes = self.shape[0] * self.shape[1] * item_size(values)
        self.counts = np.full(self.shape[1], self.shape[0], dtype=np.int64)
        self.bytes_read = 0
        self.chunks = Chunks(values, self.space)
        with self.space.here():
            self.passes = passes_of(self.chunks)

    @property
    def products_room(self) -> float:
        """Bytes that products of columns may take on the device."""
        with self.space.here():
            free = self.space.free_bytes()
        return prices.DEVICE_PRODUCTS * free if free is not None else max(prices.DEVICE_BLOCK / 64, 0.3 * self.nbytes)

    def kept_products(self, intercept: bool, constant: float) -> DeviceGram:
        """Products of columns that stay on the device."""
        return DeviceGram(self, intercept, constant)

    def survey(self, weight: Any, vectors: Array) -> Survey:
        self.note(None)
        with self.space.here():
            weights = None if np.ndim(weight) == 0 else self._put(weight)
            found = self.space.fetch(self.passes.survey(weights, self._put(vectors)))
        count = len(vectors)
        total, plain = found[count], found[count + 1]
        square = weight * plain if weights is None else found[count + 2]
        return Survey(square, plain, total, np.ascontiguousarray(found[:count]))

    def squares(self, weight: Any, columns: Array) -> Array:
        self.note(columns)
        with self.space.here():
            weights = self._put(np.broadcast_to(weight, self.shape[:1]))
            return self.space.fetch(self.passes.squares(weights, columns))

    def dots(self, columns: Array, vector: Array) -> Array:
        return self.dots_with_several(columns, vector[:, None])[:, 0]

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        """⟨a_j, vector_t⟩ for the columns of ``vectors``, one row a column here."""
        self.note(columns)
        with self.space.here():
            chosen = None if is_everything(columns, self.shape[1]) else columns
            found = self.passes.dots(chosen, self._put(vectors.T))
            return np.ascontiguousarray(self.space.fetch(found).T)

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """With compensation, columns in portions: their products take room."""
        self.note(columns)
        product, error = np.empty((2, columns.size))
        step = max(1, self.chunks.most * prices.DEVICE_ENTRY // (8 * prices.DEVICE_ALIVE * self.shape[0]))
        with self.space.here():
            there = self._put(vector)
            for start in range(0, columns.size, step):
                chosen = slice(start, min(start + step, columns.size))
                places = self.space.put(np.ascontiguousarray(columns[chosen], dtype=np.int64))
                found = compensated.careful_products(self.space, self.chunks.tile(slice(None), places), there)
                product[chosen], error[chosen] = (self.space.fetch(part) for part in found)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        self.note(columns)
        with self.space.here():
            chosen = None if is_everything(columns, self.shape[1]) else columns
            image += self.space.fetch(self.passes.add(chosen, self._put(factors)))

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Products of columns with each other, each less its mean."""
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
        """Raise a ValueError that names what is not finite."""
        xp, bad = self.space.xp, 0
        with self.space.here():
            for _, _, part in self.chunks.tiles(None):
                bad += int(xp.sum(xp.where(xp.isfinite(part), 0.0 * xp.ones_like(part), xp.ones_like(part))))
        if bad:
            raise ValueError(f"A must be finite; it has {bad} nan or inf entries")

    def _put(self, values: Array) -> Any:
        """Numbers of the host on the device, in float64 and one row after the other."""
        return self.space.put(np.ascontiguousarray(values, dtype=np.float64))

    def note(self, columns: Array | None) -> None:
        """Count what a pass over these columns (all) reads."""
        size = self.shape[1] if columns is None else columns.size
        self.bytes_read += size * (self.nbytes // self.shape[1])


def brought_if_small(A: Any) -> Any:
    """An array on a device with few entries, on the host; anything else as it is."""
    return to_host(A) if is_on_device(A) and math.prod(A.shape) < prices.DEVICE_SMALL else A


def check_values(values: Any) -> None:
    """A two-dimensional array of real numbers."""
    check_shape(tuple(values.shape))
    if "complex" in str(values.dtype) or "object" in str(values.dtype):
        raise TypeError(f"A must hold real numbers (float, int or bool); got dtype {values.dtype}")


def is_everything(columns: Array, n: int) -> bool:
    """Are these all columns in their order?"""
    return columns.size == n and bool(columns[0] == 0) and bool((np.diff(columns) == 1).all())
