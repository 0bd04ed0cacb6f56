"""Passes by the library's own products: a chunk at a time is converted to float64 and multiplied.

Entries of float32 (or of fewer digits) are float64 numbers too, so what is summed is what a host would sum, and
rounding errors are those of float64: (d + 8)·2⁻⁵³·‖a_j‖‖v‖ for any order of summation, as certificates count them.
A chunk and what is computed from it take ``prices.DEVICE_SHARE`` of the data at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.device.spaces import Space


class Chunks:
    """A dense array in float64, a chunk at a time."""

    def __init__(self, values: Any, space: Space) -> None:
        self.values, self.space = values, space
        self.d, self.n = values.shape
        room = prices.DEVICE_SHARE * self.d * self.n * item_size(values)
        self.most = int(min(prices.DEVICE_BLOCK, max(prices.DEVICE_FLOOR, room)) // prices.DEVICE_ENTRY)
        self.is_by_rows = is_by_rows(values)
        self.reason = "there are no kernels for this array"  # why passes go by chunks, where they do

    def survey(self, weight: Any | None, vectors: Any) -> Any:
        """Rows of sums over all columns: products with the vectors (one a row), Σa, Σa², and Σ s·a² with weights s."""
        count = vectors.shape[0] + (2 if weight is None else 3)
        out = self.space.zeros((count, self.n))
        for rows, there, part in self.tiles(None):
            square = part * part
            sums = [self.space.xp.sum(part, axis=0)[None, :], self.space.xp.sum(square, axis=0)[None, :]]
            if weight is not None:
                sums.append(weight[None, rows] @ square)
            if vectors.shape[0] > 0:
                sums.insert(0, vectors[:, rows] @ part)
            row = 0
            for found in sums:
                stop = row + found.shape[0]
                out[row:stop, there] = out[row:stop, there] + found
                row = stop
        return out

    def squares(self, weight: Any, columns: Array) -> Any:
        out = self.space.zeros((1, columns.size))
        for rows, there, part in self.tiles(columns):
            out[:, there] = out[:, there] + weight[None, rows] @ (part * part)
        return out[0, :]

    def dots(self, columns: Array | None, vectors: Any) -> Any:
        """Products of the columns (all) with the vectors, one a row."""
        out = self.space.zeros((vectors.shape[0], self.n if columns is None else columns.size))
        for rows, there, part in self.tiles(columns):
            out[:, there] = out[:, there] + vectors[:, rows] @ part
        return out

    def add(self, columns: Array | None, factors: Any) -> Any:
        """Σ_i factors_i·a_columns_i."""
        out = self.space.zeros((self.d, 1))
        for rows, there, part in self.tiles(columns):
            out[rows, :] = out[rows, :] + part @ factors[there][:, None]
        return out[:, 0]

    def tiles(self, columns: Array | None) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, places among the columns, and these entries in float64."""
        count = self.n if columns is None else columns.size
        tall, wide = self.extents(count)
        for first in range(0, count, wide):
            there = slice(first, min(first + wide, count))
            places = None if columns is None else self.space.put(np.ascontiguousarray(columns[there], dtype=np.int64))
            for top in range(0, self.d, tall):
                rows = slice(top, min(top + tall, self.d))
                yield rows, there, self.tile(rows, there if places is None else places)

    def tile(self, rows: slice, columns: Any) -> Any:
        """Some rows of some columns in float64; columns are a slice or places on the device."""
        if isinstance(columns, slice):
            return self.space.wide(self.values[rows, columns])
        if self.is_by_rows:
            return self.space.wide(self.space.take(self.values[rows, :], columns, axis=1))
        return self.space.wide(self.space.take(self.values.T[:, rows], columns, axis=0)).T  # columns stay together

    def extents(self, count: int) -> tuple[int, int]:
        """How many rows and columns a chunk has: as many as lie together."""
        if self.is_by_rows:
            wide = min(count, self.most)
            return max(1, min(self.d, self.most // max(1, wide))), max(1, wide)
        tall = min(self.d, self.most)
        return tall, max(1, min(count, self.most // tall))


def is_by_rows(values: Any) -> bool:
    """Do the entries of a row lie together?  Where a library does not tell, they do."""
    strides = values.stride() if callable(getattr(values, "stride", None)) else getattr(values, "strides", None)
    return strides is None or strides[1] <= strides[0]


def item_size(values: Any) -> int:
    """Bytes an entry."""
    size = getattr(values.dtype, "itemsize", None) or getattr(values, "itemsize", None)
    return int(size) if size else 8


def concat(space: Space, arrays: list[Any]) -> Any:
    """Arrays below each other."""
    join = getattr(space.xp, "concat", None) or space.xp.concatenate
    return join(arrays, axis=0)
