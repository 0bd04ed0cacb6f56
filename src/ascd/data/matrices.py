"""How a column is read: the only place that knows the storage of A.

A matrix is a NamedTuple that says where a column's stored entries are: positions ``start(j) .. stop(j)``, and
for a position its ``row`` and its ``entry``.  The operations below are written once on top of these four, for
every storage; the compiler turns them into the loop one would write by hand for each.  ``ahead(j)`` asks for the memory
of a column that will be read soon.

====================  ====================================================================================
``dot``               ⟨a_j, v⟩
``shift``             the slope s·loss'(b, Ax) follows a change of x_j, on the rows of a_j; the image Ax too,
                      except for quadratic losses, where the slope alone is a linear function of x
``along``             first and second derivative of f along a_j, at image + change·a_j
``scatter, clear``    out = diag(s) a_j, and out = 0, on the rows of a_j
``weighted_square``   ⟨a_j, diag(s) a_j⟩
====================  ====================================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array, as_design, unlocked
from ascd._base.jit import at, helper, kernel
from ascd._base.scalars import fetch

#: A matrix whose sizes and offsets are all smaller has indices of 32 bits.
LARGEST_SHORT = 2**31 - 1
#: Integers as libraries know them, and as compiled code reads them.
UNSIGNED: dict[Any, Any] = {np.dtype(np.int32): np.dtype(np.uint32), np.dtype(np.int64): np.dtype(np.uint64)}
SIGNED = {seen: known for known, seen in UNSIGNED.items()}


class Dense(NamedTuple):
    """Column-major float64 storage."""

    values: Array

    def start(self, j: int) -> int:
        return 0

    def stop(self, j: int) -> int:
        return self.values.shape[0]

    def row(self, p: int) -> int:
        return p

    def entry(self, p: int, j: int) -> float:
        return self.values[p, j]

    def ahead(self, j: int) -> None:
        """Columns are long: the machine sees by itself what comes next."""


class CSC(NamedTuple):
    """Compressed sparse columns.

    Rows and offsets are unsigned: a signed index may count from the end, and every access would have to ask whether it
    does, which takes a third of the time of a sparse product.
    """

    data: Array
    indices: Array
    indptr: Array

    def start(self, j: int) -> int:
        return self.indptr[j]

    def stop(self, j: int) -> int:
        return self.indptr[j + 1]

    def row(self, p: int) -> int:
        return self.indices[p]

    def entry(self, p: int, j: int) -> float:
        return self.data[p]

    def ahead(self, j: int) -> None:
        fetch(self.indices, self.indptr[j])
        fetch(self.data, self.indptr[j])


def as_matrix(A: Any) -> tuple[Dense | CSC, int, int]:
    """The compiled form of what the user passed, and its shape; converted at most once, never modified."""
    design = as_design(A)
    if isinstance(design, np.ndarray):
        return Dense(unlocked(design)), *design.shape
    # 32 bits wherever they are enough: one compiled form instead of one for each integer type
    width = np.dtype(np.int32 if max(design.nnz, *design.shape) < LARGEST_SHORT else np.int64)
    return CSC(*map(unlocked, _unsigned(design, width))), *design.shape


def _unsigned(columns: Any, width: Any) -> tuple[Array, Array, Array]:
    """data, indices, indptr of a SciPy matrix, on the same memory where its indices have that width."""
    places = (index.astype(width, copy=False).view(UNSIGNED[width]) for index in (columns.indices, columns.indptr))
    return columns.data, *places


def input_bytes(matrix: Any) -> int:
    """The memory that the matrix takes."""
    return sum(array.nbytes for array in matrix)


def stored_entries(matrix: Any) -> Array:
    """All entries that the storage holds."""
    return matrix.values if isinstance(matrix, Dense) else matrix.data


def count_entries(matrix: Any, columns: Array) -> int:
    """How many entries the storage holds of these columns."""
    if isinstance(matrix, Dense):
        return columns.size * matrix.values.shape[0]
    return int((matrix.indptr[columns + 1] - matrix.indptr[columns]).sum())


@helper
def dot(matrix: Any, j: int, vector: Array) -> float:
    total = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        total += matrix.entry(p, j) * vector[matrix.row(p)]
    return total


@helper
def shift(matrix: Any, j: int, change: float, sample: Any, loss: Any, image: Array, slope: Array) -> None:
    if loss.is_quadratic():  # known to the compiler: one of the two loops remains
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            curvature = at(sample.weight, k) * loss.curvature(sample.target[k], 0.0)
            slope[k] += curvature * change * matrix.entry(p, j)
    else:
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            image[k] += change * matrix.entry(p, j)
            slope[k] = at(sample.weight, k) * loss.derivative(sample.target[k], image[k])


@helper
def along(matrix: Any, j: int, change: float, sample: Any, loss: Any, image: Array) -> tuple[float, float]:
    first, second = 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        k, entry = matrix.row(p), matrix.entry(p, j)
        z = image[k] + change * entry
        weighted = at(sample.weight, k) * entry
        first += weighted * loss.derivative(sample.target[k], z)
        second += weighted * entry * loss.curvature(sample.target[k], z)
    return first, second


@helper
def scatter(matrix: Any, j: int, weight: Any, out: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        k = matrix.row(p)
        out[k] = at(weight, k) * matrix.entry(p, j)


@helper
def clear(matrix: Any, j: int, out: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        out[matrix.row(p)] = 0.0


@helper
def weighted_square(matrix: Any, j: int, weight: Any) -> float:
    total = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        entry = matrix.entry(p, j)
        total += at(weight, matrix.row(p)) * entry * entry
    return total


@helper
def multiply(matrix: Any, x: Array, out: Array) -> None:
    """out = A·x, reading only the columns with x_j ≠ 0."""
    out[:] = 0.0
    for j in range(x.size):
        if x[j] != 0.0:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += x[j] * matrix.entry(p, j)


@kernel
def weighted_squares(matrix: Any, weight: Any, out: Array) -> None:
    """out_j = ⟨a_j, diag(s) a_j⟩ for all columns."""
    for j in range(out.size):
        out[j] = weighted_square(matrix, j, weight)


@kernel
def column_sums(matrix: Any, weight: Any, out: Array) -> None:
    """out_j = Σ_k s_k·a_kj for all columns."""
    for j in range(out.size):
        total = 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            total += at(weight, matrix.row(p)) * matrix.entry(p, j)
        out[j] = total


@kernel
def weighted_means(matrix: Any, columns: Array, weight: Array, out: Array) -> None:
    """out_j = Σ_k s_k·a_kj / Σ_k s_k for some columns."""
    total = 0.0
    for k in range(weight.size):
        total += weight[k]
    for i in range(columns.size):
        out[columns[i]] = dot(matrix, columns[i], weight) / total if total > 0.0 else 0.0


@kernel
def add_columns(matrix: Any, columns: Array, factors: Array, out: Array) -> None:
    """out += Σ_i factors_i·a_columns_i."""
    for i in range(columns.size):
        j, factor = columns[i], factors[i]
        if factor != 0.0:
            for p in range(matrix.start(j), matrix.stop(j)):
                out[matrix.row(p)] += factor * matrix.entry(p, j)


@kernel
def transposed_product(matrix: Any, vector: Array, out: Array) -> None:
    """out = Aᵀ·vector."""
    for j in range(out.size):
        out[j] = dot(matrix, j, vector)


def to_scipy(matrix: Any, d: int, n: int) -> Any:
    """A as an ndarray or a SciPy sparse array on the same memory, for the places where a library takes over."""
    if isinstance(matrix, Dense):
        return matrix.values
    from scipy.sparse import csc_array

    signed = SIGNED[matrix.indices.dtype]
    return csc_array((matrix.data, matrix.indices.view(signed), matrix.indptr.view(signed)), shape=(d, n))


def to_array(matrix: Any, d: int, n: int) -> Array:
    """A as a plain array."""
    columns = to_scipy(matrix, d, n)
    return columns.toarray() if hasattr(columns, "toarray") else columns


def as_rows(matrix: CSC, d: int) -> tuple[Array, Array, Array]:
    """The row-wise copy (data, indices, indptr) of a sparse matrix, unsigned like its columns."""
    rows = to_scipy(matrix, d, matrix.indptr.size - 1).tocsr()
    return _unsigned(rows, SIGNED[matrix.indices.dtype])


def gram_matrix(matrix: Any, weight: Any, n: int, d: int) -> Array:
    """AᵀSA as a dense column-major array."""
    columns = to_scipy(matrix, d, n)
    weighted = columns if np.ndim(weight) == 0 else columns * np.asarray(weight)[:, None]
    products = columns.T @ weighted
    return np.asfortranarray(products.toarray() if hasattr(products, "toarray") else products)
