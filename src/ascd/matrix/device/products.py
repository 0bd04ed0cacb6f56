"""Products of columns with each other on the device: A_Lᵀ H A_R, columns less their means.

Rows pass in chunks that fill the room beside the data; each is weighted by √H.  Products of columns with themselves
are symmetric: strips of them are multiplied with what is to their right alone.

``Wide`` columns are float64, and so are their products.  ``Short`` ones have squares of mean one and 16 bits, and are
summed in float32: their products are some 10⁻³ from the true ones, and computed twelve times as fast on an H200
(``benchmarks/gpu.py --only products``).  Where a library has no such products, they are float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.device.chunks import Chunks, item_size
from ascd.matrix.device.halves import halves_of


class Wide:
    """Columns weighted and centred in float64, some rows at a time."""

    def __init__(self, chunks: Chunks, columns: Array, weight: Array, means: Array | None) -> None:
        space = chunks.space
        self.chunks, self.count, self.zeros = chunks, columns.size, space.zeros
        self.places = space.put(np.ascontiguousarray(columns, dtype=np.int64))
        self.root = space.put(np.sqrt(weight))
        self.means = None if means is None else space.put(means[columns])

    @property
    def bytes(self) -> int:
        """What an entry takes in memory beside the data: as it came, and twice what is computed from it."""
        return 3 * 8 + item_size(self.chunks.values)

    def rows(self, rows: slice) -> Any:
        """As they lie, so that what is computed lies likewise."""
        part = self.chunks.tile(rows, self.places)
        part = part if self.chunks.is_by_rows else part.T
        if self.means is not None:
            part = part - self._of_columns(self.means)
        part = self._finished(part * self._of_samples(self.root[rows]))
        return part if self.chunks.is_by_rows else part.T

    def add(self, out: Any, left: Any, right: Any) -> None:
        """out += leftᵀ·right, in place: the sum is as large as G."""
        out += left.T @ right

    def _finished(self, part: Any) -> Any:
        return part

    def _of_samples(self, values: Any) -> Any:
        return values[:, None] if self.chunks.is_by_rows else values[None, :]

    def _of_columns(self, values: Any) -> Any:
        return values[None, :] if self.chunks.is_by_rows else values[:, None]


class Short(Wide):
    """Columns divided by their lengths as well, in the numbers that a device multiplies fastest."""

    def __init__(
        self, chunks: Chunks, columns: Array, weight: Array, means: Array | None, lengths: Array, passes: Any
    ) -> None:
        super().__init__(chunks, columns, weight, means)
        self.zeros, self.add = chunks.space.short_zeros, chunks.space.add_short_products  # type: ignore[method-assign]
        self.shares = chunks.space.put(1.0 / lengths[columns])
        self.at_once = halves_of(passes, columns, self.root, self.means, self.shares)

    @property
    def bytes(self) -> int:
        return super().bytes if self.at_once is None else 2

    def rows(self, rows: slice) -> Any:
        return super().rows(rows) if self.at_once is None else self.at_once(rows)

    def _finished(self, part: Any) -> Any:
        return self.chunks.space.short(part * self._of_columns(self.shares))


def multiply(left: Wide, right: Wide | None = None) -> Any:
    """Products of columns with others, or with each other, on the device."""
    chunks, other = left.chunks, right or left
    pitch = -(-other.count // prices.CUDA_ALIGNED) * prices.CUDA_ALIGNED
    out = left.zeros((left.count, pitch))[:, : other.count]
    width = left.count + (right.count if right else 0)
    room = max(64, chunks.most * prices.DEVICE_ENTRY // (left.bytes * max(1, width)))
    for top in range(0, chunks.d, room):
        rows = slice(top, min(top + room, chunks.d))
        a = left.rows(rows)
        _add_products(left, out, a, right.rows(rows) if right else None)
    return mirrored(out) if right is None and left.count > prices.DEVICE_CUT else out


def _add_products(left: Wide, out: Any, a: Any, b: Any | None) -> None:
    """All of them; without b, those of a with itself on and above the diagonal."""
    count = out.shape[0]
    step = strip_of(count) if b is None and count > prices.DEVICE_CUT else count
    for start in range(0, count, max(1, step)):
        stop, first = min(start + step, count), start if b is None else 0
        left.add(out[start:stop, first:], a[:, start:stop], (a if b is None else b)[:, first:])


def strip_of(count: int) -> int:
    """Rows of a strip: one of so many, beginning where memory does."""
    return -(-count // (prices.DEVICE_STRIPS * prices.CUDA_ALIGNED)) * prices.CUDA_ALIGNED


def mirrored(out: Any) -> Any:
    """The upper strips, copied below the diagonal."""
    count = out.shape[0]
    step = strip_of(count)
    for start in range(0, count, step):
        stop = min(start + step, count)
        out[stop:, start:stop] = out[start:stop, stop:].T
    return out
