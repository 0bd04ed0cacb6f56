"""Products of columns with each other on the device: A_Lᵀ H A_R, columns less their means, in float64.

Rows pass in chunks that fill the room beside the data; each is weighted by √H.  Products of columns with themselves
are symmetric: strips of them are multiplied with what is to their right alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd.data import prices
from ascd.data.device.chunks import Chunks, item_size


def multiply(chunks: Chunks, first: Array, second: Array, weight: Array, means: Array | None) -> Any:
    """Products of the first columns with the second, on the device."""
    space, is_same = chunks.space, np.array_equal(first, second)
    root = space.put(np.sqrt(weight))
    left = _Gathered(chunks, first, root, means)
    right = left if is_same else _Gathered(chunks, second, root, means)
    out = space.zeros((first.size, second.size))
    width = first.size + (0 if is_same else second.size)
    room = max(64, chunks.most * prices.DEVICE_ENTRY // ((3 * 8 + item_size(chunks.values)) * max(1, width)))
    for top in range(0, chunks.d, room):
        rows = slice(top, min(top + room, chunks.d))
        a = left.rows(rows)
        _add_products(out, a, a if is_same else right.rows(rows), is_same)
    return mirrored(space.xp, out) if is_same and first.size > prices.DEVICE_CUT else out


class _Gathered:
    """Columns weighted and centred, some rows at a time."""

    def __init__(self, chunks: Chunks, columns: Array, root: Any, means: Array | None) -> None:
        self.chunks, self.root = chunks, root
        self.places = chunks.space.put(np.ascontiguousarray(columns, dtype=np.int64))
        self.means = None if means is None else chunks.space.put(means[columns])

    def rows(self, rows: slice) -> Any:
        part = self.chunks.tile(rows, self.places)
        if self.means is not None:
            part = part - self.means[None, :]
        return part * self.root[rows][:, None]


def _add_products(out: Any, a: Any, b: Any, is_same: bool) -> None:
    count = out.shape[0]
    step = -(-count // prices.DEVICE_STRIPS) if is_same and count > prices.DEVICE_CUT else count
    for start in range(0, count, max(1, step)):
        stop, right = min(start + step, count), start if is_same else 0
        strip = out[start:stop, right:]
        strip += a[:, start:stop].T @ b[:, right:]  # in place: the sum is as large as G


def mirrored(xp: Any, out: Any) -> Any:
    """The upper strips, copied below the diagonal."""
    count = out.shape[0]
    step = -(-count // prices.DEVICE_STRIPS)
    for start in range(0, count, step):
        stop = min(start + step, count)
        out[stop:, start:stop] = out[start:stop, stop:].T
    return out
