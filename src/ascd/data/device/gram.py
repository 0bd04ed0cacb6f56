"""Products of a working set that stay on the device: G = A_Wᵀ H A_W is multiplied and factorised there.

Vectors of the length of the working set travel, G never does.  ``DeviceGram`` holds G; ``DeviceColumns`` has no room
for it, and multiplies by two passes over the columns.  Both answer ``times`` and ``solve``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd.data.device.products import multiply


class DeviceGram:
    """G for ``columns``, as they joined; ``diagonal`` is on the host."""

    def __init__(self, source: Any, intercept: bool, constant: float) -> None:
        self.source, self.space, self.intercept, self.constant = source, source.space, intercept, constant
        self.position = np.full(source.shape[1], -1, dtype=np.int64)
        self.clear()

    @property
    def room(self) -> float:
        return float(self.source.products_room)

    def by_passes(self, columns: Array, weight: Array, means: Array, accuracy: float, most: int) -> DeviceColumns:
        return DeviceColumns(self.source, columns, weight, means, accuracy, most)

    def clear(self) -> None:
        """Forget everything, and give back its memory."""
        self.columns, self.diagonal, self.store = np.empty(0, dtype=np.int64), np.empty(0), None
        self.position[:] = -1

    def keep(self, columns: Array) -> None:
        """Forget all but these columns."""
        places = self.position[columns]
        places = places[places >= 0]
        kept, diagonal = self.columns[places], self.diagonal[places]
        store = self._part(places) if places.size else None
        self.clear()
        self._hold(kept, diagonal, store)

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Let columns join: their products with each other and with those that are there."""
        old, less = self.columns, means if self.intercept else None
        size = old.size + joining.size
        with self.space.here():
            store = self.space.zeros((size, size))
            new = self._multiply(joining, joining, weight, less)
            own = self._own(new, joining, weight, means)
            store[old.size :, old.size :] = new
            if old.size:
                beside = self._multiply(old, joining, weight, less)
                store[: old.size, : old.size] = self.store
                store[: old.size, old.size :] = beside
                store[old.size :, : old.size] = beside.T
        self._hold(np.concatenate([old, joining]), np.concatenate([self.diagonal, own]), store)

    def times(self, vector: Array) -> Array:
        """G·vector."""
        with self.space.here():
            return self.space.fetch((self.store @ self.space.put(vector)[:, None])[:, 0])

    def solve(self, free: Array, curvature: Array, right: Array, shift: float) -> Array | None:
        """(G + curvature)⁻¹·right on the free coordinates, the diagonal raised by a share; None if singular."""
        diagonal = self.diagonal[free] + curvature
        raised = np.where(diagonal > 0.0, diagonal * (1.0 + shift), 1.0) - self.diagonal[free]
        with self.space.here():
            matrix = add_to_diagonal(self.space, self._part(free), raised)
            found = self.space.cholesky_solve(matrix, self.space.put(right)[:, None])
            direction = None if found is None else self.space.fetch(found)[:, 0]
        return direction if direction is not None and np.isfinite(direction).all() else None

    def _multiply(self, first: Array, second: Array, weight: Array, means: Array | None) -> Any:
        self.source.note(first)
        if first is not second:
            self.source.note(second)
        return multiply(self.source.chunks, first, second, weight, means)

    def _own(self, store: Any, columns: Array, weight: Array, means: Array) -> Array:
        """The diagonal; that of constant columns, which do nothing that the intercept does not do, holds them."""
        own = self.space.fetch(diagonal_of(self.space, store))
        if self.intercept:
            square = float(weight.sum()) * means[columns] ** 2
            held = np.where(own <= self.constant * square, square - own, 0.0)
            if held.any():
                add_to_diagonal(self.space, store, held)
            own = own + held
        return own

    def _part(self, places: Array) -> Any:
        there = self.space.put(np.ascontiguousarray(places, dtype=np.int64))
        return self.space.take(self.space.take(self.store, there, axis=0), there, axis=1)

    def _hold(self, columns: Array, diagonal: Array, store: Any) -> None:
        self.columns, self.diagonal, self.store = columns, diagonal, store
        self.position[columns] = np.arange(columns.size)


class DeviceColumns:
    """G without G: a product is two passes over the columns, a system is solved by conjugate gradients."""

    def __init__(self, source: Any, columns: Array, weight: Array, means: Array, accuracy: float, most: int) -> None:
        self.source, self.columns, self.weight = source, columns, weight
        self.means, self.total = means[columns], float(weight.sum())
        self.accuracy, self.most = accuracy, most
        square = source.squares(weight, columns)
        varying = square - self.total * self.means**2
        self.diagonal = np.where(varying > 1e-12 * square, varying, square)
        self.reads = columns.size

    def times(self, vector: Array) -> Array:
        image = np.full(self.weight.size, -float(self.means @ vector))
        moved = np.flatnonzero(vector)
        self.source.add(self.columns[moved], vector[moved], image)
        bent = self.weight * image
        self.reads += moved.size + self.columns.size
        return self.source.dots(self.columns, bent) - self.means * float(bent.sum())

    def solve(self, free: Array, curvature: Array, right: Array, shift: float) -> Array | None:
        """As far as few steps of conjugate gradients, preconditioned by the diagonal, lead."""
        diagonal = self.diagonal[free] + curvature
        diagonal[diagonal <= 0.0] = 1.0
        solution, residual = np.zeros(free.size), right.copy()
        step = residual / diagonal
        direction, size = step.copy(), float(residual @ step)
        enough, whole = self.accuracy * size, np.zeros(self.columns.size)
        for _ in range(self.most):
            whole[free] = direction
            curved = self.times(whole)[free] + curvature * direction
            bend = float(direction @ curved)
            if bend <= 0.0 or size <= enough:
                break
            solution += size / bend * direction
            residual -= size / bend * curved
            step = residual / diagonal
            before, size = size, float(residual @ step)
            direction = step + size / before * direction
        return solution


def diagonal_of(space: Any, matrix: Any) -> Any:
    """The diagonal of a square matrix."""
    return space.xp.reshape(matrix, (-1,))[:: matrix.shape[0] + 1]


def add_to_diagonal(space: Any, matrix: Any, values: Array) -> Any:
    """matrix + diag(values), in place."""
    size = matrix.shape[0]
    flat = space.xp.reshape(matrix, (size * size,))
    flat[:: size + 1] = flat[:: size + 1] + space.put(np.ascontiguousarray(values))
    return space.xp.reshape(flat, (size, size))
