"""Answers from the memory of this process; what depends on the storage is left to ``dense`` and ``sparse``."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix.careful import careful_products
from ascd.matrix.design import Design, Part, Survey
from ascd.matrix.matrices import dot, first_at, squares_and_sum, sums_with_one, sums_with_two, weighted_square

NO_WEIGHTS = np.empty(0)


class Local(Design):
    """A matrix in memory; ``matrix`` is its compiled storage."""

    #: Nanoseconds to read an entry; bytes that one takes, as float64.
    entry_price: float
    entry_bytes: float

    def __init__(self, matrix: Any, shape: tuple[int, int]) -> None:
        self.matrix, self.shape = matrix, shape

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.matrix)

    def survey(self, weight: Any, vectors: Array) -> Survey:
        """One pass: Σ s·a², Σ a², Σ a and the products with the vectors (one a row)."""
        n = self.shape[1]
        square, plain, total = np.empty((3, n))
        products = np.empty((len(vectors), n))
        scale, weights = (float(weight), NO_WEIGHTS) if np.ndim(weight) == 0 else (0.0, weight)
        given = (self.matrix, scale, weights, self._laid_out(vectors))
        self._share(None, self._surveying(len(vectors)), *given, square, plain, total, products)
        return Survey(square, plain, total, products)

    def _surveying(self, count: int) -> Any:
        """The kernel that surveys with so many vectors."""
        return fill_survey

    def _laid_out(self, vectors: Array) -> Array:
        """Vectors, one a row, as a pass over all columns reads them best."""
        return vectors

    def squares(self, weight: Any, columns: Array) -> Array:
        """Σ_k s_k·a_kj²."""
        out = np.empty(columns.size)
        self._share(columns, fill_squares, self.matrix, columns, weight, out)
        return out

    def dots(self, columns: Array, vector: Array) -> Array:
        """⟨a_j, vector⟩."""
        out = np.empty(columns.size)
        self._share(columns, fill_dots, self.matrix, columns, vector, out)
        return out

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """⟨a_j, vector⟩, and how far it can be off."""
        product, error = np.empty((2, columns.size))
        self._share(columns, careful_products, self.matrix, columns, vector, product, error)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        """image += Σ_i factors_i·a_columns_i."""
        share(self.pass_price(columns), self.shape[0], add_columns, self.matrix, columns, factors, image)

    def _share(self, columns: Array | None, kernel: Any, *arguments: Any) -> None:
        """A pass over these columns (all), by parts with equally many entries."""
        size = self.shape[1] if columns is None else columns.size
        price = self.pass_price(columns)
        share(price, size, kernel, *arguments, weigh=lambda: self.running_entries(columns))

    def pass_price(self, columns: Array | None = None) -> float:
        """Nanoseconds to read these columns once."""
        return self.entry_price * self.entries(columns)

    def take(self, columns: Array) -> Part:
        """The columns as they lie."""
        return Part(self.matrix, columns)

    def check_finite(self) -> None:
        """Raise a ValueError that names what is not finite."""
        finite_values(self.matrix.stored(), "A")

    @abstractmethod
    def beside(self, other: Any) -> Local:
        """These columns, and those of another matrix of this kind."""

    @abstractmethod
    def running_entries(self, columns: Array | None) -> Array | None:
        """How many entries the columns up to each have, together; None where all have the same number."""

    def products_price(self, columns: Array) -> float:
        """Nanoseconds of the products of all pairs of these columns."""
        return self.price_of_products(columns.size, self.entries(columns))

    @abstractmethod
    def price_of_products(self, count: int, stored: int) -> float:
        """Nanoseconds of the products of all pairs of so many columns with so many entries."""


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
def fill_survey(
    matrix: Any, scale: float, weights: Array, vectors: Array, square: Array, plain: Array, total: Array,
    products: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Column by column, so that a second look at one finds it in the cache; mostly one is enough.

    All samples have the weight ``scale``, or each one of the ``weights``.
    """
    for number in range(start, stop):
        j = wide(number)
        if vectors.shape[0] == 1:
            plain[j], total[j], products[0, j] = sums_with_one(matrix, j, vectors[0])
        elif vectors.shape[0] == 2:
            plain[j], total[j], products[0, j], products[1, j] = sums_with_two(matrix, j, vectors)
        else:
            plain[j], total[j] = squares_and_sum(matrix, j)
            for m in range(vectors.shape[0]):
                products[m, j] = dot(matrix, j, vectors[m])
        square[j] = weighted_square(matrix, j, weights) if weights.size > 0 else scale * plain[j]


@kernel
def fill_squares(matrix: Any, columns: Array, weight: Any, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = weighted_square(matrix, wide(columns[i]), weight)


@kernel
def fill_dots(matrix: Any, columns: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = dot(matrix, wide(columns[i]), vector)


@kernel
def add_columns(matrix: Any, columns: Array, factors: Array, out: Array, start: int, stop: int) -> None:
    """out += Σ factors_i·a_i on the rows from ``start`` to ``stop``: each thread has rows of its own."""
    is_whole = start == 0 and stop == out.size
    for i in range(columns.size):
        j, factor = wide(columns[i]), factors[i]
        if factor == 0.0:
            continue
        if is_whole:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += factor * matrix.entry(p, j)
        else:
            for p in range(first_at(matrix, j, start), first_at(matrix, j, stop)):
                out[matrix.row(p)] += factor * matrix.entry(p, j)
