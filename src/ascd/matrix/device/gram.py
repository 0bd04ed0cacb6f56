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

#: Entries of 16 bits that lines of them begin at multiples of: products of others take five times as long.
CUDA_ALIGNED = 64


class Wide:
    """Columns weighted and centred in float64, some rows at a time.

    ``sums`` is the type of their products, ``bytes`` what an entry takes beside the data: as it came, and what is
    computed from it.
    """

    sums, bytes = "float64", 32

    def __init__(self, source: Any, columns: Array, weight: Array, means: Array | None) -> None:
        self.source, self.gpu, self.count = source, source.gpu, columns.size
        self.places, self.root = self.gpu.put(columns, np.int64), self._along_rows(np.sqrt(weight))
        self.means = self._along_columns(np.zeros(columns.size) if means is None else means[columns])

    def rows(self, rows: slice) -> Any:
        """Return some rows."""
        found = self._lines(rows)
        return found.T if self.source.by_columns else found

    def add(self, out: Any, left: Any, right: Any) -> None:
        """out += leftᵀ·right, in place: the sum is as large as G."""
        out += left.T @ right

    def _lines(self, rows: slice) -> Any:
        """Some rows as they lie, a line of memory a row: what is computed lies likewise."""
        part = self.source.tile(rows, self.places)
        if self.source.by_columns:
            return (part.T - self.means) * self.root[:, rows]
        return (part - self.means) * self.root[rows, :]

    def _along_rows(self, vector: Array) -> Any:
        return self.gpu.put(vector[None, :] if self.source.by_columns else vector[:, None])

    def _along_columns(self, vector: Array) -> Any:
        return self.gpu.put(vector[:, None] if self.source.by_columns else vector[None, :])


class Short(Wide):
    """Columns divided by their lengths as well, in the numbers that a GPU multiplies fastest: float16."""

    sums, bytes = "float32", 44

    def __init__(self, source: Any, columns: Array, weight: Array, means: Array | None, lengths: Array) -> None:
        super().__init__(source, columns, weight, means)
        self.shares = self._along_columns(1.0 / lengths[columns])

    def _lines(self, rows: slice) -> Any:
        part = (super()._lines(rows) * self.shares).astype(np.float16)
        out = self.gpu.xp.empty((part.shape[0], aligned(part.shape[1])), dtype=np.float16)[:, : part.shape[1]]
        out[:, :] = part
        return out

    def add(self, out: Any, left: Any, right: Any) -> None:
        self.gpu.add_half_products(out, left, right)


def aligned(count: int) -> int:
    """Return the next multiple at which lines of memory may begin."""
    return -(-count // CUDA_ALIGNED) * CUDA_ALIGNED


def multiply(left: Wide, right: Wide | None = None) -> Any:
    """Return products of columns with others, or with each other (strip by strip), on the device."""
    source, count, other = left.source, left.count, (right or left).count
    out = left.gpu.xp.zeros((count, aligned(other)), dtype=left.sums)[:, :other]
    step = max(1, count if right else aligned(-(-count // 8)))
    strips = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    height = max(64, source.room // left.bytes // max(1, count + (right.count if right else 0)))
    for top in range(0, source.shape[0], height):
        rows = slice(top, min(top + height, source.shape[0]))
        a = left.rows(rows)
        b = right.rows(rows) if right else a
        for strip in strips:
            first = 0 if right else strip.start
            left.add(out[strip, first:], a[:, strip], b[:, first:])
    for strip in () if right else strips:  # below the diagonal is what is above it
        out[strip.stop :, strip] = out[strip, strip.stop :].T
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
        self.weight, self.means = weight, means if self.intercept else np.zeros(means.size)
        of_mean = float(weight.sum()) * self.means[joining] ** 2
        if not self.is_exact:
            square = self.source.squares(weight, joining)
            own = np.where(square - of_mean > self.constant * square, square - of_mean, square)
            if not np.all((own == 0.0) | ((own > 1e-200) & (own < 1e200))):  # which no short numbers reach
                joining = np.concatenate([self.columns, joining])
                self.widen()
                self.admit(joining, weight, means)
                return
            self.lengths[joining] = np.where(own > 0.0, np.sqrt(own / weight.size), 1.0)
        old, size = self.columns, self.columns.size + joining.size
        with self.gpu.here():
            corner, added = self._multiply(joining, joining), np.zeros(size)
            found = self.gpu.fetch(corner.diagonal())
            if (
                self.is_exact
            ):  # the square of a constant column holds it: it does nothing that the intercept does not do
                own = np.where(found > self.constant * of_mean, found, of_mean)
            store = self.gpu.xp.zeros((size, size), dtype=self._kind)
            store[old.size :, old.size :] = corner
            added[old.size :] = own / self.lengths[joining] ** 2 - found  # short products tell less of it
            add_to_diagonal(store, self._put(added))
            if old.size:
                beside = self._multiply(old, joining)
                store[: old.size, : old.size] = self.store
                store[: old.size, old.size :] = beside
                store[old.size :, : old.size] = beside.T
        self._hold(np.concatenate([old, joining]), np.concatenate([self.diagonal, own]), store)

    def times(self, vector: Array) -> Array:
        """G·vector, with G as it is stored."""
        scaled, largest = _scaled(vector * self.own_lengths)
        with self.gpu.here():
            found = self.gpu.fetch((self.store @ self._put(scaled)[:, None])[:, 0])
        return np.asarray(self.own_lengths * (largest * found.astype(np.float64)))

    def times_exactly(self, vector: Array) -> Array:
        """G·vector by two passes over the columns."""
        means, moved = self.means[self.columns], np.flatnonzero(vector)
        Av = np.full(self.weight.size, -float(means @ vector))
        self.source.add(self.columns[moved], vector[moved], Av)
        HAv = self.weight * Av
        return np.asarray(self.source.dots(self.columns, HAv) - means * float(HAv.sum()))

    def solve(self, free: Array, curvature: Array, right: Array, shift: float) -> Array | None:
        """(G + curvature)⁻¹·right on the free coordinates, the diagonal raised by a share; None if singular."""
        own, lengths = self.diagonal[free], self.own_lengths[free]
        diagonal = own + curvature
        shift = shift if self.is_exact else max(shift, 1e-6)  # rounding leaves short ones regular
        raised = (np.where(diagonal > 0.0, diagonal * (1.0 + shift), 1.0) - own) / lengths**2
        scaled, largest = _scaled(right / lengths)
        with self.gpu.here():
            matrix = add_to_diagonal(self._part(free), self._put(raised))
            found = self.gpu.cholesky_solve(matrix, self._put(scaled)[:, None])
            direction = None if found is None else largest * self.gpu.fetch(found)[:, 0].astype(np.float64) / lengths
        return direction if direction is not None and np.isfinite(direction).all() else None

    @property
    def _kind(self) -> str:
        """The type of the products."""
        return Wide.sums if self.is_exact else Short.sums

    def _multiply(self, first: Array, second: Array) -> Any:
        self.source.note(first)
        if first is second:
            return multiply(self._gathered(first))
        self.source.note(second)
        return multiply(self._gathered(first), self._gathered(second))

    def _gathered(self, columns: Array) -> Wide:
        given = self.source, columns, self.weight, self.means
        return Wide(*given) if self.is_exact else Short(*given, self.lengths)

    def _put(self, vector: Array) -> Any:
        """Numbers on the device in the type of the products."""
        return self.gpu.put(vector, self._kind)

    def _part(self, places: Array) -> Any:
        there, take = self.gpu.put(places, np.int64), self.gpu.xp.take
        return take(take(self.store, there, axis=0), there, axis=1)

    def _hold(self, columns: Array, diagonal: Array, store: Any) -> None:
        self.columns, self.diagonal, self.store = columns, diagonal, store
        self.own_lengths = self.lengths[columns]
        self.position[columns] = np.arange(columns.size)


def _scaled(vector: Array) -> tuple[Array, float]:
    """The vector with a largest number of one, since short numbers do not reach far, and what it was."""
    largest = float(np.abs(vector).max(initial=0.0)) or 1.0
    return vector / largest, largest


def add_to_diagonal(matrix: Any, values: Any) -> Any:
    """matrix + diag(values), in place."""
    matrix.ravel()[:: matrix.shape[0] + 1] += values
    return matrix
