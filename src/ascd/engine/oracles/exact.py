"""g¹: exact products, from a Gram matrix or, for sparse data, through the rows that the moved column touches.

⟨a_i, a_j⟩ = Σ_{k : a_ki ≠ 0} s_k a_ki a_kj        one sparse row for each nonzero of a_i
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ascd._core.checks import Array, unknown_name
from ascd._core.jit import at, wide
from ascd.engine.tuning import LARGEST_EXACT
from ascd.matrix.columns import gram_matrix
from ascd.matrix.sparse import CSC, as_rows


class Exact(NamedTuple):
    """Exact products; for the squared loss every interval then stays a point.

    Parameters
    ----------
    method : {"auto", "gram", "rows"}
        "gram" computes AᵀA beforehand (n² numbers); "rows" goes through the rows of sparse data at each step and
        keeps a row-wise copy.  "auto" takes "rows" for sparse data and "gram" for dense.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule="ascd", oracle=ascd.Exact("gram"), steepness="gs-s").objective
    4.5
    """

    method: str = "auto"

    def prepare(self, parts: Any, rng: Any) -> Any:
        if self.method not in ("auto", "gram", "rows"):
            raise unknown_name(self.method, "Exact method", ("auto", "gram", "rows"))
        sparse = isinstance(parts.matrix, CSC)
        if self.method == "rows" and not sparse:
            raise ValueError("Exact method 'rows' needs a sparse A; use 'gram' for dense data")
        if sparse and self.method != "gram":
            return Rows(*as_rows(parts.matrix, parts.sample.target.size))
        if 8 * parts.norm.size**2 > LARGEST_EXACT:
            raise ValueError(
                f"oracle 'exact' would need a Gram matrix of {parts.norm.size} x {parts.norm.size} numbers, more "
                f"than {LARGEST_EXACT / 2**30:g} GiB; use 'norm', 'cached' or 'sketch', or pass A sparse"
            )
        return Gram(gram_matrix(parts.matrix, parts.sample.weight, parts.norm.size, parts.sample.target.size))


class Gram(NamedTuple):
    """Products from a precomputed AᵀSA."""

    products: Array

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        step = change * problem.gain
        for j in range(problem.norm.size):
            intervals.estimate[j] += step * self.products[j, i]
        length = abs(change) * problem.norm[i]
        intervals.widen(length * problem.slack)
        intervals.moved(length * (problem.gain + problem.slack))


class Rows(NamedTuple):
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
        length = abs(change) * problem.norm[i]
        intervals.widen(length * problem.slack)
        intervals.moved(length * (problem.gain + problem.slack))
