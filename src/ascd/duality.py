"""The duality gap: how far from optimal a point can be, at most.

For every dual point θ, Fenchel's inequality bounds F(x) − min F by

    gap = Σ_k [f_k(z_k) + f_k*(θ_k) − θ_k z_k]  +  Σ_j [Ψ_j(x_j) + Ψ_j*(−u_j) + x_j u_j],   z = Ax, u = Aᵀθ,

a sum of terms that are each non-negative, so nothing cancels.  The dual point is θ = s·v with v = ∇f(Ax) and s
the largest number in [0, 1] for which all Ψ_j* are finite.  Where Ψ_j* allows only one value of u_j (an unpenalised
coordinate) or one sign (a non-negative one), scaling alone would shrink θ to nothing: v is first projected so that it
fits there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ascd._checks import Array
from ascd._jit import at, helper, kernel
from ascd.matrices import add_columns, dot, weighted_square

if TYPE_CHECKING:
    from ascd.problem import Problem

#: Projecting costs O(d k²) for k such coordinates; beyond this many it is not tried.
MOST_PROJECTED = 200


def certificate(problem: Problem, steepness: Any, x: Array, image: Array, slope: Array) -> tuple[float, float]:
    """The smallest gap found from v = ∇f(Ax) and its projection (inf where none is known), and the largest score.

    It reads every column once, or twice where scaling alone gives no useful dual point.
    """
    products = np.full(x.size, np.nan)
    gap, steepest, scale = certify(problem.parts, steepness, x, image, slope, products)
    if not (np.isfinite(x).all() and np.isfinite(products).all()):
        return math.inf, math.inf  # x left float64: nothing is known
    if scale <= 0.0 or math.isinf(gap):
        required = products.copy()
        required_products(problem.parts.penalty, x, required)
        fixed = np.flatnonzero(~np.isnan(required))
        curvature = np.empty(slope.size)
        curvatures(problem.parts, image, curvature)
        excess = products[fixed] - required[fixed]
        fitted = fitted_slope(problem.parts.matrix, False, curvature, slope, fixed, excess)
        if fitted is not None:
            gap = min(gap, certify(problem.parts, steepness, x, image, fitted, required)[0])
    return math.inf if math.isnan(gap) else float(gap), float(steepest)


def fitted_slope(
    matrix: Any, intercept: bool, curvature: Array, slope: Array, columns: Array, excess: Array
) -> Array | None:
    """The nearest dual point whose products with these columns are smaller by ``excess``; None if they are too many.

    Distance is measured by the loss's curvatures H: the slope moves by H·(A_columns, 1)·c, as a change of those
    coordinates (and of the intercept, if there is one) would move it.  So entries that cannot move without leaving the
    domain of f* (no weight, no curvature) stay.
    """
    if not 0 < columns.size <= MOST_PROJECTED:
        return None
    block = np.zeros((slope.size, columns.size + intercept), order="F")
    for i, j in enumerate(columns):
        add_columns(matrix, np.array([j]), np.ones(1), block[:, i])
    if intercept:
        block[:, -1] = 1.0
        excess = np.append(excess, slope.sum())
    root = np.sqrt(curvature)
    block *= root[:, None]
    size = np.linalg.norm(block, axis=0)
    size[size == 0.0] = 1.0  # small columns count as much as large ones
    shift = np.linalg.lstsq((block / size).T, excess / size, rcond=None)[0]
    fitted: Array = slope - root * shift
    return fitted


@kernel
def required_products(penalty: Any, x: Array, products: Array) -> None:
    """Where scaling cannot bring u_j into the domain of Ψ_j*(−u_j), the nearest product that fits x_j; nan elsewhere.

    Scaling fails where the domain ends at a point s·u_j cannot reach.  Coordinates that stand at such an end belong
    to these too, because the projection for the others would push them over it.
    """
    for j in range(x.size):
        low, high = penalty.subgradient(x[j], j)
        nearest = max(low, min(high, -products[j]))
        far = 1.0 + abs(nearest)
        at_end = low == high and min(penalty.dual_scale(nearest - far, j), penalty.dual_scale(nearest + far, j)) <= 0.0
        products[j] = -nearest if at_end or penalty.dual_scale(-products[j], j) <= 0.0 else math.nan


@kernel
def curvatures(problem: Any, image: Array, out: Array) -> None:
    """out_k = s_k·loss''(b_k, z_k)."""
    for k in range(out.size):
        out[k] = at(problem.sample.weight, k) * problem.loss.curvature(problem.sample.target[k], image[k])


@kernel
def certify(
    problem: Any, steepness: Any, x: Array, image: Array, slope: Array, products: Array
) -> tuple[float, float, float]:
    """The gap for the dual point s·slope, the largest score, and s.

    ``products`` takes Aᵀ·slope; where it comes with a number, the product is known to be that, up to rounding.
    """
    scale, steepest = 1.0, 0.0
    tiny = 0.0
    for k in range(slope.size):
        tiny += slope[k] * slope[k]
    tiny = 1e-12 * math.sqrt(tiny)
    for j in range(x.size):
        product = dot(problem.matrix, j, slope)
        steepest = max(steepest, steepness.score(problem.penalty, j, x[j], product))
        if not abs(product - products[j]) <= tiny * math.sqrt(weighted_square(problem.matrix, j, 1.0)):
            products[j] = product
        scale = min(scale, problem.penalty.dual_scale(-products[j], j))
    if scale < 0.0:
        return math.inf, steepest, scale
    gap = sample_gap(problem.sample, problem.loss, image, slope, scale)
    for j in range(x.size):
        gap += positive_part(gap_term(problem.penalty, x[j], j, scale * products[j]))
    return gap, steepest, scale


@helper
def positive_part(term: float) -> float:
    """0 for a term that rounding made negative; nan stays nan, so that it cannot pass for a gap of 0."""
    return 0.0 if term < 0.0 else term


@helper
def sample_gap(sample: Any, loss: Any, image: Array, slope: Array, scale: float) -> float:
    """Σ_k f_k(z_k) + f_k*(θ_k) − θ_k·z_k for the dual point θ = scale·slope."""
    total = 0.0
    for k in range(image.size):
        weight, target = at(sample.weight, k), sample.target[k]
        if weight > 0.0:
            dual = scale * slope[k] / weight
            fit = loss.value(target, image[k]) + loss.conjugate(target, dual)
            total += weight * positive_part(fit - dual * image[k])
    return total


@helper
def gap_term(penalty: Any, x: float, j: int, u: float) -> float:
    """Ψ_j(x) + Ψ_j*(−u) + x·u."""
    return penalty.cost(x, j) + penalty.cost_conjugate(-u, j) + x * u
