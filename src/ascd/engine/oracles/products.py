"""Oracles that estimate products of columns: the paper's g¹ to g⁴, and our combinations of them.

An oracle estimates ⟨a_i, a_j⟩ (weighted by the samples) by p_ij with an error of at most e_ij.  From these follow the
paper's g and δ for every loss (see ``ascd.problem``):

    g_ij = gain·p_ij,       δ_ij = gain·e_ij + slack·‖a_i‖‖a_j‖.

After a step by γ the estimates move by γ·g_ij and the radii grow by |γ|·δ_ij (not γ·δ_ij, erratum).

``Sketch`` (g²) uses a random embedding S with independent entries √(3/m)·{+1, 0, −1}, probabilities 1/6, 2/3, 1/6
(Achlioptas 2003).  It keeps all products within ε‖a_i‖‖a_j‖ with probability at least 1 − failure for
m ≥ ln(2n²/failure)/(ε²/4 − ε³/6); where m is not below d, products are exact.  ``Random`` (g⁴) draws p uniformly from
±‖a_i‖‖a_j‖: it can be off by ‖a_i‖‖a_j‖ + |p|, not by ‖a_i‖‖a_j‖ as printed (erratum E4); ``printed=True`` uses the
paper's radius to reproduce its figures, and such runs count violated bounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_flag, as_number
from ascd._core.contracts import confidence_of, likely
from ascd._core.jit import at, helper, wide
from ascd.engine.guards import as_part
from ascd.engine.tuning import LARGEST_EXACT, LEAST_EPSILON, LEAST_FAILURE
from ascd.matrix.columns import clear, dot, scatter
from ascd.matrix.sparse import CSC, as_rows
from ascd.protocols import Oracle


@helper
def inflate_after(point: Any, i: int, change: float, error: float) -> None:
    """Inflate all radii after a step, for products known up to ``error``·‖a_i‖‖a_j‖, rounding included."""
    problem, length = point.problem, abs(change) * point.problem.norm[i]
    point.intervals.inflate(length * (problem.gain * error + problem.slack))
    point.intervals.count_products(length * (problem.gain + problem.slack))


class Norm(NamedTuple):
    """``|⟨a_i, a_j⟩| ≤ ‖a_i‖‖a_j‖``: free to use, O(1) a step.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, oracle=ascd.Norm()).objective
    4.5
    """

    unit: float = 1.0

    def keeps_estimates(self) -> bool:
        return True

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem = point.problem
        point.intervals.inflate(abs(change) * problem.norm[i] * (problem.gain + problem.slack))


@helper
def add_products(point: Any, i: int, change: float, products: Array, error: float) -> None:
    """Move the estimates by products of column i known up to ``error``·‖a_i‖‖a_j‖, and inflate the radii."""
    step = change * point.problem.gain
    for j in range(products.size):
        point.intervals.estimate[j] += step * products[j]
    inflate_after(point, i, change, error)


@helper
def fill_products(point: Any, i: int, work: Array, products: Array) -> None:
    """Compute the products of column i with all columns (one pass over the data, counted); ``work`` stays zero."""
    problem = point.problem
    scatter(problem.matrix, i, problem.sample.weight, work)
    for j in range(products.size):
        products[j] = dot(problem.matrix, j, work)
    clear(problem.matrix, i, work)
    point.reads[0] += products.size


class Exact(NamedTuple):
    """Exact products; for the squared loss every interval then stays a point.

    Dense data take AᵀA, n² numbers computed beforehand; sparse data are copied by rows, and every step goes through
    the rows of its column.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule="ascd", oracle=ascd.Exact(), steepness="gs-s").objective
    4.5
    """

    unit: float = 1.0

    def prepare(self, parts: Any, rng: Any) -> Any:
        if isinstance(parts.matrix, CSC):
            return RowProducts(*as_rows(parts.matrix, parts.sample.target.size))
        if 8 * parts.norm.size**2 > LARGEST_EXACT:
            raise ValueError(
                f"oracle 'exact' would need a Gram matrix of {parts.norm.size} x {parts.norm.size} numbers, more "
                f"than {LARGEST_EXACT / 2**30:g} GiB; use 'norm', 'cached' or 'sketch', or pass A sparse"
            )
        return GramProducts(gram_matrix(parts.matrix, parts.sample.weight, parts.norm.size, parts.sample.target.size))


def gram_matrix(matrix: Any, weight: Any, n: int, d: int) -> Array:
    """AᵀSA as a dense column-major array."""
    columns = matrix.to_scipy(d, n)
    weighted = columns if np.ndim(weight) == 0 else columns * np.asarray(weight)[:, None]
    products = columns.T @ weighted
    return np.asfortranarray(products.toarray() if hasattr(products, "toarray") else products)


class GramProducts(NamedTuple):
    """Products from a precomputed AᵀSA."""

    products: Array

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        add_products(point, i, change, self.products[:, i], 0.0)


class RowProducts(NamedTuple):
    """Products of sparse columns through a row-wise copy of A."""

    data: Array
    indices: Array
    indptr: Array

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        step = change * problem.gain
        touched = 0
        for p in range(problem.matrix.start(i), problem.matrix.stop(i)):
            k = wide(problem.matrix.row(p))
            scale = step * at(problem.sample.weight, k) * problem.matrix.entry(p, i)
            touched += wide(self.indptr[k + 1]) - wide(self.indptr[k])
            for q in range(self.indptr[k], self.indptr[k + 1]):
                intervals.estimate[self.indices[q]] += scale * self.data[q]
        point.reads[0] += touched * problem.norm.size / max(1, self.data.size)
        inflate_after(point, i, change, 0.0)


def sketch_dimension(n: int, epsilon: float, failure: float) -> int:
    """Return the number of rows m that the Johnson–Lindenstrauss lemma asks for."""
    return math.ceil(math.log(2.0 * n**2 / failure) / (epsilon**2 / 4.0 - epsilon**3 / 6.0))


class Sketch(NamedTuple):
    """Products from a sparse random embedding of the columns.

    Parameters
    ----------
    epsilon : error of a product relative to ‖a_i‖‖a_j‖, in [1e-100, 1]
    failure : probability that some product's error is larger, at least 1e-200

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((2000, 8))
    >>> problem = ascd.Problem(A, A @ np.ones(8), penalty=ascd.L2(1.0))
    >>> ascd.minimize(problem, oracle=ascd.Sketch(0.5), rng=0).converged
    True
    """

    epsilon: float = 0.5
    failure: float = 0.01

    def prepare(self, parts: Any, rng: Any) -> Embedded:
        epsilon = as_number(self.epsilon, "Sketch epsilon", low=LEAST_EPSILON, high=1.0)
        failure = as_number(self.failure, "Sketch failure", low=LEAST_FAILURE, high=1.0)
        d, n = parts.sample.target.size, parts.norm.size
        columns = parts.matrix.to_scipy(d, n)
        weight = np.sqrt(np.broadcast_to(parts.sample.weight, d))
        m = sketch_dimension(n, epsilon, failure)
        if m >= d:
            dense = columns.toarray() if hasattr(columns, "toarray") else columns
            return Embedded(np.asfortranarray(dense * weight[:, None]), 0.0, 0.0)
        embedded = _sparse_signs(m, d, rng).multiply(weight[None, :]).tocsr() @ columns
        dense = embedded.toarray() if hasattr(embedded, "toarray") else embedded
        return Embedded(np.asfortranarray(dense), epsilon, failure)


class Embedded(NamedTuple):
    """The embedded columns, the relative error of their products, the probability that some error is larger."""

    embedded: Array
    epsilon: float
    failure: float

    def confidence(self) -> float:
        return likely(self.failure)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        step = change * problem.gain
        for j in range(problem.norm.size):
            product = 0.0
            for k in range(self.embedded.shape[0]):
                product += self.embedded[k, i] * self.embedded[k, j]
            limit = problem.norm[i] * problem.norm[j]
            intervals.estimate[j] += step * max(-limit, min(limit, product))
        inflate_after(point, i, change, self.epsilon)


def _sparse_signs(m: int, d: int, rng: Any) -> Any:
    """Return the m × d matrix S, as CSR."""
    from scipy.sparse import csr_array

    counts = rng.binomial(d, 1.0 / 3.0, size=m)
    indices = np.concatenate([rng.choice(d, size=count, replace=False) for count in counts])
    signs = rng.choice(np.array([-1.0, 1.0]), size=indices.size) * math.sqrt(3.0 / m)
    return csr_array((signs, indices, np.concatenate([[0], np.cumsum(counts)])), shape=(m, d))


class Simulated(NamedTuple):
    """Exact products blurred by a uniform relative error.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> round(ascd.minimize(problem, oracle=ascd.Simulated(0.1), rng=0).objective, 6)
    4.5
    """

    epsilon: float = 0.1

    def prepare(self, parts: Any, rng: Any) -> Blurred:
        epsilon = as_number(self.epsilon, "Simulated epsilon", low=0.0, high=1e300)
        return Blurred(epsilon, np.empty(parts.norm.size), np.zeros(parts.sample.target.size))


class Blurred(NamedTuple):
    """The error's size, and room for products and one scattered column."""

    epsilon: float
    products: Array
    work: Array

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        norm = point.problem.norm
        fill_products(point, i, self.work, self.products)
        for j in range(norm.size):
            self.products[j] += self.epsilon * norm[i] * norm[j] * (2.0 * rng.random() - 1.0)
        add_products(point, i, change, self.products, self.epsilon)


class Random(NamedTuple):
    """Uniformly random products with their safe radius (or the printed one).

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> round(ascd.minimize(problem, oracle=ascd.Random(), rng=0).objective, 6)
    4.5
    """

    printed: bool = False

    def prepare(self, parts: Any, rng: Any) -> Random:
        return Random(as_flag(self.printed, "Random printed"))

    def is_safe(self) -> bool:
        return not self.printed

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        scale = change * problem.norm[i] * problem.gain
        extra = 0.0 if self.printed else abs(scale)
        for j in range(problem.norm.size):
            guess = 2.0 * rng.random() - 1.0
            intervals.estimate[j] += scale * guess * problem.norm[j]
            intervals.offset[j] += extra * abs(guess) * problem.norm[j]
        inflate_after(point, i, change, 1.0)


class Cached(NamedTuple):
    """Exact products for up to ``capacity`` columns, ``fallback`` for the others.

    Parameters
    ----------
    capacity : number of rows of n products kept
    patience : a column's row is computed when it moves for this many-th time
    fallback : the oracle for columns that are not cached, a name or a part

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, oracle=ascd.Cached(capacity=2)).objective
    4.5
    """

    capacity: int = 100
    patience: int = 2
    fallback: Any = "norm"

    def prepare(self, parts: Any, rng: Any) -> RowCache:
        from ascd.engine.oracles import ORACLES

        n = parts.norm.size
        capacity = min(as_count(self.capacity, "Cached capacity"), n)
        return RowCache(
            fallback=as_part(self.fallback, ORACLES, "oracle", Oracle, parts, rng),
            patience=as_count(self.patience, "Cached patience"),
            products=np.empty((n, capacity), order="F"),
            slot=np.full(n, -1, dtype=np.int32),
            moves=np.zeros(n, dtype=np.int32),
            owner=np.full(capacity, -1, dtype=np.int32),
            used=np.zeros(capacity, dtype=np.int64),
            work=np.zeros(parts.sample.target.size),
        )


class RowCache(NamedTuple):
    """Rows of products, the column of each slot, and when each slot was used last."""

    fallback: Any
    patience: int
    products: Array
    slot: Array
    moves: Array
    owner: Array
    used: Array
    work: Array

    def confidence(self) -> float:
        return confidence_of(self.fallback)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        self.moves[i] += 1
        if self.slot[i] < 0 and self.moves[i] >= self.patience:
            self.fill(point, i)
        if self.slot[i] < 0:
            self.fallback.update(point, i, change, rng)
            return
        self.used[self.slot[i]] = int(point.reads[0])
        add_products(point, i, change, self.products[:, self.slot[i]], 0.0)

    @helper
    def fill(self, point: Any, i: int) -> None:
        """Compute the products of column i into the least recently used slot."""
        slot = np.argmin(self.used)
        if self.owner[slot] >= 0:
            self.slot[self.owner[slot]] = -1
            self.moves[self.owner[slot]] = 0
        self.owner[slot], self.slot[i] = i, slot
        fill_products(point, i, self.work, self.products[:, slot])
