"""A dense array on a device, read where it lies.

Passes are kernels of our own where there are some (``cuda``), the library's products for tiles in float64 elsewhere
(``arrays``).  Vectors of samples and of columns travel, the data never do; columns are fetched only where single ones
are needed (a column without a penalty whose dual point must be fitted).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_shape
from ascd._core.devices import is_on_device, to_host
from ascd.matrix import prices
from ascd.matrix.arithmetic import SMALLEST_ERROR, SPLITTER, TINY, UNIT
from ascd.matrix.base import ColumnStats
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.device.arrays import LibraryPasses, Space, item_size, space_of
from ascd.matrix.device.cuda import passes_of
from ascd.matrix.device.gram import DeviceGram, Wide, multiply
from ascd.matrix.remote import Multiplying


class DeviceDense(Multiplying):
    """A dense array where it lies."""

    is_dear = True
    at_once = prices.DEVICE_AT_ONCE

    def __init__(self, values: Any) -> None:
        check_values(values)
        self.space: Space = space_of(values)
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
        return prices.DEVICE_PRODUCTS * free if free is not None else max(prices.DEVICE_BLOCK / 64, 0.3 * self.nbytes)

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

    def dots(self, columns: Array, vector: Array) -> Array:
        return self.dots_with_several(columns, vector[:, None])[:, 0]

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        self.note(columns)
        with self.space.here():
            chosen = None if is_everything(columns, self.shape[1]) else columns
            found = self.passes.dots(chosen, self._put(vectors.T))
            return np.ascontiguousarray(self.space.fetch(found).T)

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """Return products with compensation and error bounds; columns in portions, because these take room."""
        self.note(columns)
        product, error = np.empty((2, columns.size))
        step = max(1, self.chunks.most * prices.DEVICE_ENTRY // (8 * prices.DEVICE_ALIVE * self.shape[0]))
        with self.space.here():
            there = self._put(vector)
            for start in range(0, columns.size, step):
                chosen = slice(start, min(start + step, columns.size))
                places = self.space.put(np.ascontiguousarray(columns[chosen], dtype=np.int64))
                found = compensated_products(self.space, self.chunks.tile(slice(None), places), there)
                product[chosen], error[chosen] = (self.space.fetch(part) for part in found)
        return product, error

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

    def _put(self, values: Array) -> Any:
        """Numbers of the host on the device, in float64 and one row after the other."""
        return self.space.put(np.ascontiguousarray(values, dtype=np.float64))

    def note(self, columns: Array | None) -> None:
        """Count what a pass over these columns (all) reads."""
        size = self.shape[1] if columns is None else columns.size
        self.bytes_read += size * (self.nbytes // self.shape[1])


def brought_if_small(A: Any) -> Any:
    """Return an array on a device with few entries on the host; anything else as it is."""
    return to_host(A) if is_on_device(A) and math.prod(A.shape) < prices.DEVICE_SMALL else A


def check_values(values: Any) -> None:
    """Raise an error unless it is a two-dimensional array of real numbers."""
    check_shape(tuple(values.shape))
    if "complex" in str(values.dtype) or "object" in str(values.dtype):
        raise TypeError(f"A must hold real numbers (float, int or bool); got dtype {values.dtype}")


def is_everything(columns: Array, n: int) -> bool:
    """Return True if these are all columns in their order."""
    return columns.size == n and bool(columns[0] == 0) and bool((np.diff(columns) == 1).all())


def compensated_products(space: Space, part: Any, vector: Any) -> tuple[Any, Any]:
    """Return ⟨a_j, vector⟩ for the columns of a float64 block and bounds on the errors, by operations on whole arrays.

    As ``arithmetic.careful_products``: products are split into their rounded value and their error (Dekker), and summed
    in pairs, each sum with its error (Knuth): log₂ d additions of arrays.  Every operation is one call of the library,
    so none is contracted with another.
    """
    xp = space.xp
    term, missing, lost = exact_products(xp, part, vector[:, None])
    rest, size = xp.sum(missing, axis=0), xp.sum(xp.abs(missing), axis=0)
    while term.shape[0] > 1:
        half = term.shape[0] // 2
        odd = term[2 * half :, :]
        term, left = exact_sums(term[:half, :], term[half : 2 * half, :])
        rest, size = rest + xp.sum(left, axis=0), size + xp.sum(xp.abs(left), axis=0)
        if odd.shape[0]:
            total, left = exact_sums(term[:1, :], odd)
            rest, size = rest + left[0, :], size + xp.abs(left[0, :])
            term[:1, :] = total
    product = term[0, :] + rest
    count = 2.0 * part.shape[0] + 4.0
    own = xp.where(rest != 0.0, UNIT * xp.abs(product), 0.0 * product)
    return product, own + 1.01 * count * UNIT * size + lost


def exact_products(xp: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Return a·b rounded, its error, and the most that numbers near the end of the range can hide."""
    term = a * b
    a_high, b_high = high_half(a), high_half(b)
    a_low, b_low = a - a_high, b - b_high
    missing = a_low * b_low - (((term - a_high * b_high) - a_low * b_high) - a_high * b_low)
    is_tiny = (xp.abs(term) < TINY) & (a != 0.0) & (b != 0.0)
    return term, missing, SMALLEST_ERROR * xp.sum(xp.where(is_tiny, 1.0 + 0.0 * term, 0.0 * term), axis=0)


def exact_sums(x: Any, y: Any) -> tuple[Any, Any]:
    """Return x + y rounded, and its error."""
    grown = x + y
    back = grown - x
    return grown, (x - (grown - back)) + (y - back)


def high_half(a: Any) -> Any:
    """Return the leading 26 bits."""
    wide = SPLITTER * a
    return wide - (wide - a)
