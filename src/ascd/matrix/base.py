"""The one interface to a matrix A of shape (n_samples, n_features), however and wherever it is stored.

The solver and the certificates never look inside: they call the methods of ``Matrix``, with ``columns`` an array of
column indices (int64, none twice) and float64 vectors, one or one a column.  ``shape`` must be set and three methods
must be written: ``dots`` (gradient entries), ``add`` (Ax follows a step), ``take`` (columns in local memory).  All else
has a default that a storage with a faster way replaces.  ``dots`` and ``add`` are sums in float64, within (d + 8)·2⁻⁵³
times the sizes of what they add up, on which certificates count; ``careful_dots`` bounds its own true error.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.columns import careful_products, fill_block, fill_column_stats, fill_squares

NOTHING = np.empty(0)


class DataGone(ConnectionError):
    """The data cannot be read any more: what they were on has gone away.  The message says what, and what to do."""


class Part(NamedTuple):
    """Columns in local memory: ``matrix`` is a compiled storage, ``places`` are their indices in it."""

    matrix: Any
    places: Array


class ColumnStats(NamedTuple):
    """What a first pass over all columns gives: Σ s·a², Σ a², Σ a, and products with vectors, one a row."""

    square: Array
    plain: Array
    total: Array
    products: Array


class Matrix(ABC):
    """A matrix of shape (n_samples, n_features); see the top for what a subclass must write.

    Attributes
    ----------
    shape : (n_samples, n_features)
    matrix : the compiled storage where all columns are in local memory, or None
    feature_names : names of the columns for errors, or None
    is_sparse : columns in local memory are sparse
    at_once : columns that may be one working set because their products come with a pass, and columns are not moved; 0
        where products are computed as they are needed
    is_dear : a pass costs so much that a proof from intervals is not confirmed by one
    answers_several : a pass costs much, and one for several vectors no more than one for one
    brings_columns : a round that finds columns to move copies them into local memory too (``chunked.WideChunks``)
    rounds, bytes_read : round trips, and bytes that were read of data that are not in local memory, so far
    row_parts : row chunks that evaluate functions where they are (``chunked.TallChunks``), or None
    portion_bytes : bytes of columns that may be in local memory together
    """

    shape: tuple[int, int]
    matrix: Any = None
    feature_names: list[str] | None = None
    is_sparse: bool = False
    at_once: int = 0
    is_dear: bool = False
    answers_several: bool = False
    brings_columns: bool = False
    rounds: int = 0
    bytes_read: int = 0
    row_parts: Any = None
    portion_bytes: float = costs.BLOCK_BYTES

    @abstractmethod
    def dots(self, columns: Array, vectors: Array) -> Array:
        """Return A_columnsᵀ·vectors for vectors of shape (n_samples,) or (n_samples, T): (columns.size,) or with T."""

    @abstractmethod
    def add(self, columns: Array, factors: Array, out: Array) -> None:
        """out += A_columns·factors, with ``out`` of shape (n_samples,) or (n_samples, T), and factors likewise."""

    @abstractmethod
    def take(self, columns: Array) -> Part:
        """Return these columns in local memory."""

    # ---- passes

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        """Return norms, sums and products with ``vectors`` (shape (m, n_samples)) of all columns, in one pass.

        ``weight`` is a number or has shape (n_samples,).
        """
        (d, n), count = self.shape, len(vectors)
        vectors = vectors if count else np.zeros((1, d))
        scale, weights = (float(weight), NOTHING) if np.ndim(weight) == 0 else (0.0, weight)
        (square, plain, total), products = np.empty((3, n)), np.empty((len(vectors), n))
        outs = square, plain, total, products
        self._fill(fill_column_stats, np.arange(n), (scale, weights, vectors), *outs)
        return ColumnStats(square, plain, total, products[:count])

    def squares(self, weight: Any, columns: Array) -> Array:
        """Return Σ_k s_k·a_kj² of these columns, s a number or a vector of shape (n_samples,)."""
        out = np.empty(columns.size)
        self._fill(fill_squares, columns, (weight,), out)
        return out

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """Return ⟨a_j, vector⟩ for these columns with compensation, and bounds on the errors."""
        product, error = np.empty((2, columns.size))
        self._fill(careful_products, columns, (vector,), product, error)
        return product, error

    def means(self, columns: Array, weight: Array) -> Array:
        """Return Σ_k s_k·a_kj / Σ_k s_k of these columns; 0 where no sample counts."""
        total = float(weight.sum())
        return self.dots(columns, weight) / total if total > 0.0 else np.zeros(columns.size)

    def _fill(self, kernel: Callable[..., None], columns: Array, given: tuple[Any, ...], *outs: Array) -> None:
        """Let a kernel fill in numbers for each column, the last index of ``outs``, with some columns at a time."""
        step = max(1, int(min(columns.size, self.portion_bytes * columns.size / (8 * max(1, self.entries(columns))))))
        for start in range(0, columns.size, step):
            there = slice(start, start + step)
            part, cost = self.take(columns[there]), self.pass_cost(columns[there])
            share(cost, part.places.size, kernel, *part, *given, *map(itemgetter((..., there)), outs))

    # ---- products of columns with each other

    def products(
        self, first: Array, second: Array, weight: Array, means: Array | None, kept: dict[Any, Any] | None = None
    ) -> Array:
        """Return A_firstᵀ H A_second, of columns less their means; ``means`` are those of all columns.

        They are multiplied once where both are one array.  Where other curvatures of the same columns follow, ``kept``
        is a dict for what does not depend on them.
        """
        left, right = (
            as_block(self.take(columns), self.shape[0]) - (0.0 if means is None else means[columns])
            for columns in (first, second)
        )
        return np.asarray(left.T @ (weight[:, None] * right))

    def kept_products(self, intercept: bool, constant: float) -> Any:
        """Return products that stay where the matrix is (``device.gram.DeviceGram``), or None."""
        return None

    def coupled_gram(self, columns: Array, entries: Array, own: Array, shared: Array, ones: bool) -> Array:
        """Return the Gram matrix of some coefficients of these columns for a loss that couples outputs.

        Sample k has the curvature diag(own_k) − shared_k shared_kᵀ, both of shape (n_samples, n_outputs).  ``entries``
        lists coefficients (j, t) as j·T + t, in rising order.  With ``ones`` all T of a last column of ones follow.
        """
        (d, m), T = (self.shape[0], columns.size), own.shape[1]
        block = as_block(self.take(columns), d)
        block = np.c_[block, np.ones(d)] if ones else block
        column, output = np.divmod(np.r_[entries, np.arange(m * T, (m + ones) * T)], T)
        listed = [np.flatnonzero(output == t) for t in range(T)]
        gram, step = np.zeros((column.size, column.size)), max(1, costs.BLOCK // max(column.size, 1))
        for rows in (slice(start, start + step) for start in range(0, d, step)):
            some = block[rows]
            across = some[:, column] * shared[rows][:, output]
            gram -= across.T @ across
            for t, chosen in enumerate(listed):
                part = some[:, column[chosen]]
                gram[np.ix_(chosen, chosen)] += part.T @ (own[rows, t, None] * part)
        return gram

    # ---- costs, in nanoseconds on one core

    @property
    def nbytes(self) -> int:
        """Bytes that the matrix takes where it is."""
        return 8 * self.shape[0] * self.shape[1]

    @property
    def counts(self) -> Array:
        """Stored entries of each column."""
        return np.full(self.shape[1], self.shape[0])

    def entries(self, columns: Array | None = None) -> int:
        """Return how many entries of these columns (all) are stored."""
        if not self.is_sparse:
            return self.shape[0] * (self.shape[1] if columns is None else columns.size)
        return int((self.counts if columns is None else self.counts[columns]).sum())

    def pass_cost(self, columns: Array | None = None) -> float:
        """Return the cost of reading these columns (all) once."""
        return 0.5 * (costs.SPARSE_ENTRY if self.is_sparse else costs.DENSE_ENTRY) * self.entries(columns)

    def sweep_cost(self, columns: Array) -> float:
        """Return the cost of a sweep over these columns; infinite where columns are not moved."""
        return math.inf if self.at_once else 2.0 * self.pass_cost(columns) + costs.VISIT * columns.size

    def products_cost(self, count: int, stored: int) -> float:
        """Return the cost of the products of all pairs of ``count`` columns with so many entries."""
        if self.is_sparse:
            return (costs.SPARSE_PRODUCT * stored / self.shape[0] + costs.LISTED) * stored + costs.CALLS
        return costs.DENSE_PRODUCT * count * stored + costs.CALLS

    # ---- matrices whose passes cost much

    @property
    def most_near(self) -> int:
        """Columns that can be copied into local memory and kept: working sets are no larger."""
        return self.shape[1]


def as_block(part: Part, d: int) -> Array:
    """Return columns in local memory as a dense array of shape (d, part.places.size), in Fortran order."""
    block = np.zeros((d, part.places.size), order="F")
    fill_block(part.matrix, part.places, block)
    return block
