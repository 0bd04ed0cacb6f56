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
from ascd.matrices import dot, weighted_square

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
        required_products(problem.parts.penalty, x, products)
        fixed = np.flatnonzero(~np.isnan(products))
        if 0 < fixed.size <= MOST_PROJECTED:
            projected = _projected(problem, image, slope, fixed, products[fixed])
            gap = min(gap, certify(problem.parts, steepness, x, image, projected, products)[0])
    return math.inf if math.isnan(gap) else float(gap), float(steepest)


def _projected(problem: Problem, image: Array, slope: Array, fixed: Array, required: Array) -> Array:
    """The nearest dual point with the required products on the fixed columns.

    Distance is measured by the loss's curvature: a dual entry moves as a change of x_fixed would move it.  So those
    that cannot move without leaving the domain of f* (no weight, no curvature) stay.
    """
    root = np.empty(slope.size)
    curvatures(problem.parts, image, root)
    root = np.sqrt(root)
    columns = np.stack([problem.image(np.eye(1, problem.n_features, j)[0]) for j in fixed], axis=1)
    shift = np.linalg.lstsq((root[:, None] * columns).T, columns.T @ slope - required, rcond=None)[0]
    projected: Array = slope - root * shift
    return projected


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
    gap = 0.0
    for k in range(image.size):
        weight, target = at(problem.sample.weight, k), problem.sample.target[k]
        if weight > 0.0:
            dual = scale * slope[k] / weight
            fit = problem.loss.value(target, image[k]) + problem.loss.conjugate(target, dual)
            gap += weight * positive_part(fit - dual * image[k])
    for j in range(x.size):
        u = scale * products[j]
        cost = problem.penalty.cost(x[j], j) + problem.penalty.cost_conjugate(-u, j)
        gap += positive_part(cost + x[j] * u)
    return gap, steepest, scale


@helper
def positive_part(term: float) -> float:
    """0 for a term that rounding made negative; nan stays nan, so that it cannot pass for a gap of 0."""
    return 0.0 if term < 0.0 else term
