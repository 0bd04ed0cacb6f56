"""Products of columns with each other on a device: A_Lᵀ H A_R, columns less their means.

Rows pass in tiles that fill the room beside the data; each is weighted by √H.  Products of columns with themselves are
symmetric: strips of them are multiplied with what is to their right alone.  Exact products are float64.  *Short* ones
are float32, of which the device multiplies 10 bits: they are some 10⁻³ from the true ones, and computed twice as fast
on an H200 (``benchmarks/gpu.py --only products``).

``DeviceGram`` keeps G = A_Wᵀ H A_W of a working set on the device, where it is multiplied and factorised: vectors of
the length of the working set travel, G never does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array

#: Types of short and of exact products.
SHORT, EXACT = "float32", "float64"
#: What an entry takes beside the data while products are computed, in bytes: as it came, and what is made of it.
ENTRY_BYTES = 36
#: Squares of columns up to this, and down to its inverse, have short products that are numbers of that type.
LARGEST = 1e20


class Weighted:
    """Columns less their means, weighted by √H, in numbers of one ``kind``, some rows at a time."""

    def __init__(self, source: Any, columns: Array, weight: Array, means: Array | None, kind: str = EXACT) -> None:
        self.source, self.gpu, self.count, self.kind = source, source.gpu, columns.size, kind
        source.note(columns)
        less, root = np.zeros(columns.size) if means is None else means[columns], np.sqrt(weight)
        self.places = self.gpu.put(columns, np.int64)
        if source.by_columns:  # computed as the columns lie
            self.means, self.root = self.gpu.put(less[:, None]), self.gpu.put(root[None, :])
        else:
            self.means, self.root = self.gpu.put(less[None, :]), self.gpu.put(root[:, None])

    def rows(self, rows: slice) -> Any:
        """Return some rows."""
        part = self.source.tile(rows, self.places)
        if self.source.by_columns:
            return ((part.T - self.means) * self.root[:, rows]).astype(self.kind, copy=False).T
        return ((part - self.means) * self.root[rows, :]).astype(self.kind, copy=False)


def multiply(left: Weighted, right: Weighted | None = None) -> Any:
    """Return products of columns with others, or with each other (strip by strip), on the device."""
    source, count, other = left.source, left.count, (right or left).count
    out = left.gpu.xp.zeros((count, other), dtype=left.kind)
    step = max(1, count if right else -(-count // 8))
    strips = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    height = max(64, source.room // ENTRY_BYTES // max(1, count + (right.count if right else 0)))
    with left.gpu.short_products():
        for top in range(0, source.shape[0], height):
            rows = slice(top, min(top + height, source.shape[0]))
            a = left.rows(rows)
            b = right.rows(rows) if right else a
            for strip in strips:
                first = 0 if right else strip.start
                out[strip, first:] += a[:, strip].T @ b[:, first:]
    for strip in () if right else strips:  # below the diagonal is what is above it
        out[strip.stop :, strip] = out[strip, strip.stop :].T
    return out


class DeviceGram:
    """G for ``columns``, as they joined; ``diagonal`` is on the host.

    At first products are short: G is then approximate, and ``times_exactly`` shows by how much.  Where that is not good
    enough, ``widen`` clears everything, and products are exact from there on.
    """

    def __init__(self, source: Any, intercept: bool, constant: float) -> None:
        self.source, self.gpu, self.intercept, self.constant = source, source.gpu, intercept, constant
        self.position, self.kind = np.full(source.shape[1], -1, dtype=np.int64), SHORT
        self.room = float(source.products_room)
        self.clear()

    @property
    def is_exact(self) -> bool:
        return self.kind == EXACT

    def clear(self) -> None:
        """Clear everything, and free its memory."""
        self.position[:] = -1
        self._hold(np.empty(0, dtype=np.int64), np.empty(0), None)
        self.largest = 0.0

    def widen(self) -> None:
        """Clear everything; from now on products are exact."""
        self.clear()
        self.kind = EXACT

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Add columns: compute their products with each other and with those that are there."""
        self.weight, self.means = weight, means if self.intercept else np.zeros(means.size)
        of_mean = float(weight.sum()) * self.means[joining] ** 2
        if not self.is_exact:
            square = self.source.squares(weight, joining)
            own = np.where(square - of_mean > self.constant * square, square - of_mean, square)
            if not np.all((own == 0.0) | ((own > 1.0 / LARGEST) & (own < LARGEST))):
                joining = np.concatenate([self.columns, joining])
                self.widen()
                self.admit(joining, weight, means)
                return
        old, size = self.columns, self.columns.size + joining.size
        with self.gpu.here():
            corner, added = self._multiply(joining, joining), np.zeros(size)
            found = self.gpu.fetch(corner.diagonal())
            if self.is_exact:  # a constant column keeps its square: it does nothing that the intercept does not do
                own = np.where(found > self.constant * of_mean, found, of_mean)
            store = self.gpu.xp.zeros((size, size), dtype=self.kind)
            store[old.size :, old.size :] = corner
            added[old.size :] = own - found  # short products tell less of it
            add_to_diagonal(store, self.gpu.put(added, self.kind))
            if old.size:
                beside = self._multiply(old, joining)
                store[: old.size, : old.size] = self.store
                store[: old.size, old.size :] = beside
                store[old.size :, : old.size] = beside.T
        self._hold(np.concatenate([old, joining]), np.concatenate([self.diagonal, own]), store)

    def times(self, vector: Array) -> Array:
        """G·vector, with G as it is stored."""
        scaled, largest = _scaled(vector)
        with self.gpu.here():
            found = self.gpu.fetch((self.store @ self.gpu.put(scaled, self.kind)[:, None])[:, 0])
        return np.asarray(largest * found.astype(np.float64))

    def times_exactly(self, vector: Array) -> Array:
        """G·vector by two passes over the columns."""
        means, moved = self.means[self.columns], np.flatnonzero(vector)
        Av = np.full(self.weight.size, -float(means @ vector))
        self.source.add(self.columns[moved], vector[moved], Av)
        HAv = self.weight * Av
        return np.asarray(self.source.dots(self.columns, HAv) - means * float(HAv.sum()))

    def solve(self, free: Array, curvature: Array, right: Array, shift: float) -> Array | None:
        """(G + curvature)⁻¹·right on the free coordinates, the diagonal raised by a share; None if singular."""
        diagonal = self.diagonal[free] + curvature
        shift = shift if self.is_exact else max(shift, 1e-6)  # rounding leaves short ones regular
        raised = np.where(diagonal > 0.0, diagonal * (1.0 + shift), 1.0) - self.diagonal[free]
        scaled, largest = _scaled(right)
        with self.gpu.here():
            there, take = self.gpu.put(free, np.int64), self.gpu.xp.take
            part = take(take(self.store, there, axis=0), there, axis=1)
            matrix = add_to_diagonal(part, self.gpu.put(raised, self.kind))
            found = self.gpu.cholesky_solve(matrix, self.gpu.put(scaled, self.kind)[:, None])
            direction = None if found is None else largest * self.gpu.fetch(found)[:, 0].astype(np.float64)
        return direction if direction is not None and np.isfinite(direction).all() else None

    def _multiply(self, first: Array, second: Array) -> Any:
        parts = [first] if first is second else [first, second]
        return multiply(*(Weighted(self.source, columns, self.weight, self.means, self.kind) for columns in parts))

    def _hold(self, columns: Array, diagonal: Array, store: Any) -> None:
        self.columns, self.diagonal, self.store = columns, diagonal, store
        self.position[columns] = np.arange(columns.size)


def _scaled(vector: Array) -> tuple[Array, float]:
    """The vector with a largest number of one, since short numbers do not reach far, and what it was."""
    largest = float(np.abs(vector).max(initial=0.0)) or 1.0
    return vector / largest, largest


def add_to_diagonal(matrix: Any, values: Any) -> Any:
    """matrix + diag(values), in place."""
    matrix.ravel()[:: matrix.shape[0] + 1] += values
    return matrix
