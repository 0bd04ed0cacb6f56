"""Products of columns with each other on a device: A_Lᵀ H A_R, columns less their means.

Rows pass in tiles that fill the room beside the data; each is weighted by √H.  Products of columns with themselves are
symmetric: strips of them are multiplied with what is to their right alone.  ``Wide`` columns are float64, and so are
their products.  ``Short`` ones have squares of mean one and 16 bits, and are summed in float32: their products are some
10⁻³ from the true ones, and computed twelve times as fast on an H200 (``benchmarks/gpu.py --only products``).

``DeviceGram`` keeps G = A_Wᵀ H A_W of a working set on the device, where it is multiplied and factorised: vectors of
the length of the working set travel, G never does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.base import Advanced, Bends
from ascd.matrix.device.cuda import CUDA_ALIGNED, MOMENTUM_SOURCE, Passes, compiled


class Wide:
    """Columns weighted and centred in float64, some rows at a time; ``sums`` is the type of their products."""

    sums = "float64"

    def __init__(self, passes: Passes, columns: Array, weight: Array, means: Array | None) -> None:
        gpu = passes.gpu
        self.passes, self.count, self.gpu = passes, columns.size, gpu
        self.places = gpu.put(columns, np.int64)
        self.root = gpu.put(np.sqrt(weight))
        self.means = None if means is None else gpu.put(means[columns])

    @property
    def bytes(self) -> int:
        """Bytes of an entry in memory beside the data: as it came, and twice what is computed from it."""
        return 3 * 8 + int(self.passes.values.itemsize)

    def rows(self, rows: slice) -> Any:
        """Return some rows, computed as they lie: what is computed lies likewise."""
        part, are_columns = self.passes.tile(rows, self.places), self.passes.lines.are_columns
        part = part.T if are_columns else part
        if self.means is not None:
            part = part - (self.means[:, None] if are_columns else self.means[None, :])
        part = part * (self.root[rows][None, :] if are_columns else self.root[rows][:, None])
        return part.T if are_columns else part

    def add(self, out: Any, left: Any, right: Any) -> None:
        """out += leftᵀ·right, in place: the sum is as large as G."""
        out += left.T @ right


class Short(Wide):
    """Columns divided by their lengths as well, in the numbers that a GPU multiplies fastest: float16."""

    sums = "float32"
    bytes = 2

    def __init__(self, passes: Passes, columns: Array, weight: Array, means: Array | None, lengths: Array) -> None:
        super().__init__(passes, columns, weight, means)
        self.gather = passes.halves(columns, self.root, self.means, self.gpu.put(1.0 / lengths[columns]))

    def rows(self, rows: slice) -> Any:
        return self.gather(rows)

    def add(self, out: Any, left: Any, right: Any) -> None:
        self.gpu.add_half_products(out, left, right)


def multiply(left: Wide, right: Wide | None = None) -> Any:
    """Return products of columns with others, or with each other, on the device."""
    passes, other = left.passes, right or left
    pitch = -(-other.count // CUDA_ALIGNED) * CUDA_ALIGNED
    out = left.gpu.xp.zeros((left.count, pitch), dtype=left.sums)[:, : other.count]
    width = left.count + (right.count if right else 0)
    room = max(64, passes.most * costs.DEVICE_ENTRY // (left.bytes * max(1, width)))
    for top in range(0, passes.d, room):
        rows = slice(top, min(top + room, passes.d))
        a = left.rows(rows)
        _add_products(left, out, a, right.rows(rows) if right else None)
    return mirrored(out) if right is None and left.count > costs.DEVICE_CUT else out


def _add_products(left: Wide, out: Any, a: Any, b: Any | None) -> None:
    """All of them; without b, those of a with itself on and above the diagonal."""
    count = out.shape[0]
    step = strip_of(count) if b is None and count > costs.DEVICE_CUT else count
    for start in range(0, count, max(1, step)):
        stop, first = min(start + step, count), start if b is None else 0
        left.add(out[start:stop, first:], a[:, start:stop], (a if b is None else b)[:, first:])


def strip_of(count: int) -> int:
    """Return the rows of a strip: one of eight, beginning where memory is aligned."""
    return -(-count // (8 * CUDA_ALIGNED)) * CUDA_ALIGNED


def mirrored(out: Any) -> Any:
    """Copy the upper strips below the diagonal."""
    count = out.shape[0]
    step = strip_of(count)
    for start in range(0, count, step):
        stop = min(start + step, count)
        out[stop:, start:stop] = out[start:stop, stop:].T
    return out


class DeviceGram:
    """G for ``columns``, as they joined; ``diagonal`` is on the host.

    ``store`` holds G_jk/(l_j·l_k).  At first products are short (``products``) and ``lengths`` l those of the columns:
    G is then approximate, and ``times_exactly`` shows by how much.  Where that is not good enough, ``widen`` clears
    everything, and products are in float64 from there on, with l = 1.
    """

    def __init__(self, source: Any, intercept: bool, constant: float) -> None:
        self.source, self.gpu, self.intercept, self.constant = source, source.gpu, intercept, constant
        self.position = np.full(source.shape[1], -1, dtype=np.int64)
        self.lengths, self.is_exact = np.ones(source.shape[1]), False
        self.clear()

    @property
    def room(self) -> float:
        return float(self.source.products_room)

    @property
    def kind(self) -> str:
        """The type of the products."""
        return "float64" if self.is_exact else "float32"

    def clear(self) -> None:
        """Clear everything, and free its memory."""
        self.position[:] = -1
        self._hold(np.empty(0, dtype=np.int64), np.empty(0), None)
        self.largest = 0.0

    def widen(self) -> None:
        """Clear everything; from now on products are exact."""
        self.clear()
        self.is_exact = True
        self.lengths[:] = 1.0

    def keep(self, columns: Array) -> None:
        """Clear all but these columns."""
        places = self.position[columns]
        places = places[places >= 0]
        kept, diagonal = self.columns[places], self.diagonal[places]
        with self.gpu.here():
            store = self._part(places) if places.size else None
        self.clear()
        self._hold(kept, diagonal, store)

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Add columns: compute their products with each other and with those that are there."""
        self.weight, self.means = weight, means if self.intercept else None
        own = None if self.is_exact else self._measure(joining)
        if not self.is_exact and own is None:  # squares that short numbers cannot be scaled by
            everything = np.concatenate([self.columns, joining])
            self.widen()
            self.admit(everything, weight, means)
            return
        old, size = self.columns, self.columns.size + joining.size
        with self.gpu.here():
            store = self.gpu.xp.zeros((size, size), dtype=self.kind)
            store[old.size :, old.size :] = self._multiply(joining, joining)
            own = self._own(store, joining, own)
            if old.size:
                beside = self._multiply(old, joining)
                store[: old.size, : old.size] = self.store
                store[: old.size, old.size :] = beside
                store[old.size :, : old.size] = beside.T
        self._hold(np.concatenate([old, joining]), np.concatenate([self.diagonal, own]), store)

    def times(self, vector: Array) -> Array:
        """G·vector, with G as it is stored."""
        lengths = self.own_lengths
        scaled = vector * lengths
        largest = float(np.abs(scaled).max(initial=0.0)) or 1.0  # short numbers do not reach far
        with self.gpu.here():
            there = self._as_store(scaled / largest)[:, None]
            return lengths * (largest * self.gpu.fetch((self.store @ there)[:, 0]).astype(np.float64))

    def advance(
        self, x: Array, gradient: Array, scale: Array, bends: Bends, bound: float, count: int
    ) -> Advanced | None:
        """Return where ``count`` proximal steps with momentum lead from x; None where that is not finite."""
        size, lengths, gpu = x.size, self.own_lengths, self.gpu
        if size == 0:
            return None
        rows = np.stack([x, gradient, x, gradient, x, scale, lengths, *bends])
        unit = float(np.max(np.abs(gradient) * lengths / (bound * scale))) or 1.0  # short numbers do not reach far
        launch = compiled("momentum", MOMENTUM_SOURCE, (("S", "double" if self.is_exact else "float"),))
        with gpu.here():
            there, state = gpu.put(rows), gpu.put(np.array([bound, 1.0, 0.0, unit]))
            change, curved = (gpu.xp.empty(size, dtype=self.kind) for _ in range(2))
            launch((1, 1), size, 1, there, curved, change, state)
            for _ in range(count):
                self.store.dot(change, out=curved)
                launch((1, 1), size, 0, there, curved, change, state)
            found, bend = gpu.fetch(there[:2, :]), float(gpu.fetch(state)[2])
        return Advanced(found[0].copy(), found[1].copy(), bend) if np.isfinite(found).all() else None

    def times_exactly(self, vector: Array) -> Array:
        """G·vector by two passes over the columns."""
        means = np.zeros(vector.size) if self.means is None else self.means[self.columns]
        return times_by_passes(self.source, self.columns, self.weight, means, vector)

    def solve(self, free: Array, curvature: Array, right: Array, shift: float) -> Array | None:
        """(G + curvature)⁻¹·right on the free coordinates, the diagonal raised by a share; None if singular."""
        own, lengths = self.diagonal[free], self.own_lengths[free]
        diagonal, shift = (
            own + curvature,
            shift if self.is_exact else max(shift, 1e-6),
        )  # rounding leaves short ones regular
        raised = (np.where(diagonal > 0.0, diagonal * (1.0 + shift), 1.0) - own) / lengths**2
        scaled = right / lengths
        largest = float(np.abs(scaled).max(initial=0.0)) or 1.0
        with self.gpu.here():
            matrix = add_to_diagonal(self._part(free), self._as_store(raised))
            found = self.gpu.cholesky_solve(matrix, self._as_store(scaled / largest)[:, None])
            direction = None if found is None else largest * self.gpu.fetch(found)[:, 0].astype(np.float64) / lengths
        return direction if direction is not None and np.isfinite(direction).all() else None

    def _measure(self, columns: Array) -> Array | None:
        """Squares of the columns less their means, which lengths are taken from; None where those are out of reach."""
        square = self.source.squares(self.weight, columns)
        total = float(self.weight.sum())
        own = square if self.means is None else varying_of(square, total * self.means[columns] ** 2, self.constant)
        if not np.all((own == 0.0) | ((own > 1e-200) & (own < 1e200))):
            return None
        self.lengths[columns] = np.where(own > 0.0, np.sqrt(own / self.weight.size), 1.0)
        return own

    def _multiply(self, first: Array, second: Array) -> Any:
        self.source.note(first)
        if first is not second:
            self.source.note(second)
        return multiply(self._gathered(first), None if first is second else self._gathered(second))

    def _gathered(self, columns: Array) -> Wide:
        known = self.source.passes, columns, self.weight, self.means
        return Wide(*known) if self.is_exact else Short(*known, self.lengths)

    def _own(self, store: Any, columns: Array, measured: Array | None) -> Array:
        """The diagonal of the columns that come last, put into the products.

        It is known better than by short products; and that of constant columns, which do nothing that the intercept
        does not do, holds them.
        """
        added, last = np.zeros(store.shape[0]), slice(store.shape[0] - columns.size, None)
        own = found = self.gpu.fetch(store.diagonal())[last]
        if measured is not None:
            own, added[last] = measured, measured / self.lengths[columns] ** 2 - found
        elif self.means is not None:
            square = float(self.weight.sum()) * self.means[columns] ** 2
            added[last] = np.where(found <= self.constant * square, square - found, 0.0)
            own = found + added[last]
        if added.any():
            add_to_diagonal(store, self._as_store(added))
        return own

    def _as_store(self, vector: Array) -> Any:
        """Numbers on the device in the type of the products."""
        return self.gpu.put(vector, self.kind)

    def _part(self, places: Array) -> Any:
        there, take = self.gpu.put(places, np.int64), self.gpu.xp.take
        return take(take(self.store, there, axis=0), there, axis=1)

    def _hold(self, columns: Array, diagonal: Array, store: Any) -> None:
        self.columns, self.diagonal, self.store = columns, diagonal, store
        self.own_lengths = self.lengths[columns]
        self.position[columns] = np.arange(columns.size)


def times_by_passes(source: Any, columns: Array, weight: Array, means: Array, vector: Array) -> Array:
    """Return G·vector, by two passes over the columns."""
    Av = np.full(weight.size, -float(means @ vector))
    moved = np.flatnonzero(vector)
    source.add(columns[moved], vector[moved], Av)
    HAv = weight * Av
    return source.dots(columns, HAv) - means * float(HAv.sum())


def varying_of(square: Array, of_mean: Array, constant: float) -> Array:
    """Return squares of columns less their means; the whole square of columns that are constant, up to rounding."""
    varying = square - of_mean
    return np.where(varying > constant * square, varying, square)


def add_to_diagonal(matrix: Any, values: Any) -> Any:
    """matrix + diag(values), in place."""
    matrix.ravel()[:: matrix.shape[0] + 1] += values
    return matrix
