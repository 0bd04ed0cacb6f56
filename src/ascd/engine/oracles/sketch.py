"""g²: products of random low-dimensional images of the columns (Johnson–Lindenstrauss).

S has independent entries √(3/m)·{+1, 0, −1} with probabilities 1/6, 2/3, 1/6 (Achlioptas 2003).  The images keep
the norms of all vectors û ± v̂ of pairs of normalised columns within 1 ± ε, and hence all products within
ε‖a_i‖‖a_j‖, with probability at least 1 − failure when

    m ≥ ln(2n² / failure) / (ε²/4 − ε³/6).

Where that m is not below d there is nothing to gain: the columns are kept as they are and the products are exact.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd._core.contracts import likely
from ascd.engine.tuning import LEAST_EPSILON, LEAST_FAILURE


def sketch_dimension(n: int, epsilon: float, failure: float) -> int:
    """The number of rows m that the Johnson–Lindenstrauss lemma asks for.

    Examples
    --------
    >>> from ascd.engine.oracles.sketch import sketch_dimension
    >>> sketch_dimension(1000, 0.5, 0.01)
    459
    """
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

    def is_random(self) -> bool:
        return True

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
        images = _sparse_signs(m, d, rng).multiply(weight[None, :]).tocsr() @ columns
        dense = images.toarray() if hasattr(images, "toarray") else images
        return Embedded(np.asfortranarray(dense), epsilon, failure)


class Embedded(NamedTuple):
    """Images of the columns, the relative error of their products, and the probability that some error is larger."""

    images: Array
    epsilon: float
    failure: float

    def confidence(self) -> float:
        return likely(self.failure)

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        problem, intervals = point.problem, point.intervals
        step = change * problem.gain
        for j in range(problem.norm.size):
            product = 0.0
            for k in range(self.images.shape[0]):
                product += self.images[k, i] * self.images[k, j]
            limit = problem.norm[i] * problem.norm[j]
            intervals.estimate[j] += step * max(-limit, min(limit, product))
        relative = problem.gain * self.epsilon + problem.slack
        length = abs(change) * problem.norm[i]
        intervals.widen(length * relative)
        intervals.moved(length * (problem.gain + problem.slack))


def _sparse_signs(m: int, d: int, rng: Any) -> Any:
    """The m × d matrix S, as CSR."""
    from scipy.sparse import csr_array

    counts = rng.binomial(d, 1.0 / 3.0, size=m)
    indices = np.concatenate([rng.choice(d, size=count, replace=False) for count in counts])
    signs = rng.choice(np.array([-1.0, 1.0]), size=indices.size) * math.sqrt(3.0 / m)
    return csr_array((signs, indices, np.concatenate([[0], np.cumsum(counts)])), shape=(m, d))
