"""Answers from the memory of this process; what depends on the storage is left to ``dense`` and ``sparse``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ascd._base.checks import Array, finite_values
from ascd._base.jit import at, kernel, wide
from ascd._base.threads import share
from ascd.data.careful import careful_products
from ascd.data.design import Multiplier, Part
from ascd.data.matrices import dot, weighted_square


class Local(ABC):
    """A matrix in memory; ``matrix`` is its compiled storage."""

    def __init__(self, matrix: Any, shape: tuple[int, int]) -> None:
        self.matrix, self.shape = matrix, shape

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.matrix)

    def squares(self, weight: Any, columns: Array | None = None) -> Array:
        """Σ_k s_k·a_kj²."""
        columns = np.arange(self.shape[1]) if columns is None else columns
        out = np.empty(columns.size)
        fill_squares(self.matrix, columns, weight, out)
        return out

    def sums(self, weight: Any) -> Array:
        """Σ_k s_k·a_kj for all columns."""
        out = np.empty(self.shape[1])
        fill_sums(self.matrix, weight, out)
        return out

    def dots(self, columns: Array, vector: Array, n_jobs: int = 1) -> Array:
        """⟨a_j, vector⟩."""
        out = np.empty(columns.size)
        share(n_jobs, columns.size, fill_dots, self.matrix, columns, vector, out)
        return out

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """⟨a_j, vector⟩, and how far it can be off."""
        product, error = np.empty((2, columns.size))
        careful_products(self.matrix, columns, vector, product, error)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        """image += Σ_i factors_i·a_columns_i."""
        add_columns(self.matrix, columns, factors, image)

    def means(self, columns: Array, weight: Array) -> Array:
        """Σ_k s_k·a_kj / Σ_k s_k, 0 where no sample counts."""
        out = np.empty(columns.size)
        fill_means(self.matrix, columns, weight, out)
        return out

    def take(self, columns: Array) -> Part:
        """The columns as they lie."""
        return Part(self.matrix, columns)

    def check_finite(self) -> None:
        """Raise a ValueError that names what is not finite."""
        finite_values(self.matrix.stored(), "A")

    @abstractmethod
    def entries(self, columns: Array | None = None) -> int:
        """Stored entries, of these columns or all."""

    @abstractmethod
    def sweep_price(self, columns: Array) -> float:
        """Nanoseconds of a sweep over these columns."""

    @abstractmethod
    def products_price(self, columns: Array) -> float:
        """Nanoseconds of the products of all pairs of these columns."""

    @abstractmethod
    def multiplier(self, keeps: bool) -> Multiplier:
        """Products of columns with each other."""


def as_block(part: Part, d: int) -> Array:
    """The columns as a dense block of d rows."""
    block = np.zeros((d, part.places.size), order="F")
    fill_block(part.matrix, part.places, block)
    return block


@kernel
def fill_block(matrix: Any, places: Array, block: Array) -> None:
    for i in range(places.size):
        j = wide(places[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            block[matrix.row(p), i] = matrix.entry(p, j)


@kernel
def fill_squares(matrix: Any, columns: Array, weight: Any, out: Array) -> None:
    for i in range(columns.size):
        out[i] = weighted_square(matrix, wide(columns[i]), weight)


@kernel
def fill_sums(matrix: Any, weight: Any, out: Array) -> None:
    for j in range(out.size):
        total = 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            total += at(weight, matrix.row(p)) * matrix.entry(p, j)
        out[j] = total


@kernel
def fill_dots(matrix: Any, columns: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = dot(matrix, wide(columns[i]), vector)


@kernel
def fill_means(matrix: Any, columns: Array, weight: Array, out: Array) -> None:
    total = 0.0
    for k in range(weight.size):
        total += weight[k]
    for i in range(columns.size):
        out[i] = dot(matrix, columns[i], weight) / total if total > 0.0 else 0.0


@kernel
def add_columns(matrix: Any, columns: Array, factors: Array, out: Array) -> None:
    for i in range(columns.size):
        j, factor = columns[i], factors[i]
        if factor != 0.0:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += factor * matrix.entry(p, j)
