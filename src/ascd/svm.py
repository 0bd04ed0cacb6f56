"""The dual support vector machine, built from the library's own parts.

With rows x_k, labels y_k = ±1 and A = (y_1 x_1, …, y_m x_m), one column a sample,

    hinge           min_α ½‖Aα‖² − Σα_k                     over 0 ≤ α_k ≤ C
    squared hinge   min_α ½‖Aα‖² − Σα_k + Σα_k²/(4C)        over 0 ≤ α_k

are the duals of min_w ½‖w‖² + C·Σ loss(y_k, ⟨w, x_k⟩).  The primal weights are w = Aα.

In the signed variables β_k = y_k·α_k the matrix is Xᵀ whatever the labels are: they go into the penalty
``signed_box``.  One matrix, which is the user's own, then serves every class of one-against-the-rest.

With ½·Σ ω_j w_j² over l ≤ w ≤ u in place of ½‖w‖², the dual has in place of ½‖z‖², z = Xᵀβ,

    Σ_j max over l_j ≤ w ≤ u_j of (z_j·w − ½ω_j·w²)  =  Σ_j 1/ω_j · max over ω_j·l_j ≤ v ≤ ω_j·u_j of (z_j·v − ½v²),

the squared loss with sample weights 1/ω where there are no bounds, and ``Clipped`` where there are.  Its gradient is w.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_design, as_finite_vector, as_number, unknown_name
from ascd._core.jit import at, kernel
from ascd.matrix.columns import UNIT
from ascd.problem.dual import dual_length
from ascd.problem.losses.formulas import apart, check_signs, product_up
from ascd.problem.penalties import Box
from ascd.problem.problem import Problem
from ascd.problem.tuning import DOMAIN_ROUNDING


class DualSVM(Problem):
    """The dual of the linear SVM without intercept; its coordinates are the samples.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : labels −1 and +1
    C : weight of the losses
    loss : {"hinge", "squared_hinge"}

    Examples
    --------
    >>> import numpy as np, ascd
    >>> X, y = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    >>> svm = ascd.DualSVM(X, y, C=1.0)
    >>> alpha = ascd.minimize(svm, tol=1e-10, rng=0).x
    >>> np.round(svm.weights(alpha), 6)
    array([0.5, 0. ])
    """

    def __init__(self, X: Any, y: Any, C: float = 1.0, loss: str = "hinge") -> None:
        if loss not in ("hinge", "squared_hinge"):
            raise unknown_name(loss, "loss", ("hinge", "squared_hinge"))
        C = as_number(C, "C", low=0.0, high=1e300, strict=True)
        X = as_design(X)
        y = as_finite_vector(y, "y", X.shape[0])
        check_signs(y, loss, "y")
        box = Box(0.0, C, linear=-1.0) if loss == "hinge" else Box(0.0, math.inf, l2=0.5 / C, linear=-1.0)
        signed = X.multiply(y[:, None]) if hasattr(X, "multiply") else X * y[:, None]
        super().__init__(signed.T, np.zeros(X.shape[1]), penalty=box)
        self.C, self.hinge = C, loss

    def weights(self, alpha: Any) -> Array:
        """The primal weights w = Aα, to be used as sign(⟨w, x⟩)."""
        return self.image(alpha)

    def primal_objective(self, weights: Any) -> float:
        """½‖w‖² + C·Σ loss(y_k, ⟨w, x_k⟩)."""
        weights = as_finite_vector(weights, "weights", self.n_samples)
        margins = self.design.dots(np.arange(self.n_features), weights)
        shortfall = np.maximum(0.0, 1.0 - margins)
        losses = shortfall if self.hinge == "hinge" else shortfall**2
        return float(0.5 * weights @ weights + self.C * losses.sum())


def signed_box(y: Array, C: float, loss: str, sample_weight: Array | None = None) -> Box:
    """The penalty of β_k = y_k·α_k, with C·s_k as the weight of sample k's loss.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.svm import signed_box
    >>> X, y = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    >>> svm = ascd.Problem(X.T, np.zeros(2), penalty=signed_box(y, C=1.0, loss="hinge"))
    >>> np.round(svm.image(ascd.minimize(svm, tol=1e-10, rng=0).x), 6)
    array([0.5, 0. ])
    """
    strength = C * (np.ones_like(y) if sample_weight is None else sample_weight)
    most = strength if loss == "hinge" else np.where(strength > 0.0, math.inf, 0.0)
    lower, upper = np.where(y > 0.0, 0.0, -most), np.where(y > 0.0, most, 0.0)
    curvature = np.zeros_like(y)
    if loss == "squared_hinge":
        np.divide(0.5, strength, out=curvature, where=strength > 0.0)
    return Box(lower, upper, curvature, -y)


def primal_value(problem: Problem, alpha: Array, weights: Array, dual_objective: float) -> tuple[float, float]:
    """Return the primal objective at the weights w = ∇f(Aα), f*(w) + Σ_j Ψ_j*(−⟨a_j, w⟩), and a bound on its gap.

    The gap is at most the sum of the primal and the dual objective; their rounding errors are added.
    """
    parts, (d, n) = problem.parts, (problem.n_samples, problem.n_features)
    length = dual_length(weights, parts.sample.weight)
    products = problem.design.dots(np.arange(n), weights)
    radius = (d + 8.0) * UNIT * length * parts.norm
    value, worst, size = conjugate_sums(parts, weights, products, radius, alpha)
    predictor_error = (np.count_nonzero(alpha) + 4.0) * float(np.abs(alpha) @ parts.norm) * length
    error = 2.0 * UNIT * ((d + n + 32.0) * (size + abs(dual_objective)) + predictor_error)
    return float(value), max(0.0, float(worst) + dual_objective) + error


@kernel
def conjugate_sums(
    problem: Any, weights: Array, products: Array, radius: Array, alpha: Array
) -> tuple[float, float, float]:
    """Σ f_k*(w_k) + Σ Ψ_j*(−u_j); the largest it can be for u in products ± radius; and the size of all terms."""
    value, worst, size = 0.0, 0.0, 0.0
    for k in range(weights.size):
        weight = at(problem.sample.weight, k)
        term = weight * problem.loss.conjugate(problem.sample.target[k], weights[k] / weight)
        value, worst, size = value + term, worst + term, size + abs(term)
    for j in range(products.size):
        term = problem.penalty.cost_conjugate(-products[j], j)
        high = problem.penalty.cost_conjugate(-products[j] - radius[j], j)
        low = problem.penalty.cost_conjugate(radius[j] - products[j], j)
        value, worst = value + term, worst + max(high, low)
        size += abs(term) + abs(problem.penalty.cost(alpha[j], j))
    return value, worst, size


class Clipped(NamedTuple):
    """max over lower_j ≤ v ≤ upper_j of z·v − ½v², a loss whose target is the number j of a feature.

    Its derivative is z, clipped to the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.svm import Clipped
    >>> loss = Clipped(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    >>> float(loss.derivative(0.0, 5.0)), float(loss.value(1.0, 3.0))
    (1.0, 4.0)
    """

    lower: Array
    upper: Array

    def value(self, y: float, z: float) -> float:
        j = int(y)
        v = max(self.lower[j], min(self.upper[j], z))
        return v * (z - 0.5 * v)

    def derivative(self, y: float, z: float) -> float:
        j = int(y)
        return max(self.lower[j], min(self.upper[j], z))

    def curvature(self, y: float, z: float) -> float:
        j = int(y)
        return 1.0 if self.lower[j] <= z <= self.upper[j] else 0.0

    def conjugate(self, y: float, u: float) -> float:
        j = int(y)
        far = DOMAIN_ROUNDING * (1.0 + abs(u))
        return 0.5 * u * u if self.lower[j] - far <= u <= self.upper[j] + far else math.inf

    def divergence(self, y: float, z: float, u: float) -> float:
        j = int(y)
        far, v = DOMAIN_ROUNDING * (1.0 + abs(u)), max(self.lower[j], min(self.upper[j], z))
        if not self.lower[j] - far <= u <= self.upper[j] + far:
            return math.inf
        return product_up(apart(v, u), abs(z - 0.5 * (v + u)))

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return False
