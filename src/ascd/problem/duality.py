"""The duality gap: how far from optimal a point can be, at most.

For every dual point θ, Fenchel's inequality bounds F(x) − min F by

    gap = Σ_k [f_k(z_k) + f_k*(θ_k) − θ_k z_k]  +  Σ_j [Ψ_j(x_j) + Ψ_j*(−u_j) + x_j u_j],   z = Ax, u = Aᵀθ,

a sum of terms that are each non-negative, so nothing cancels.  The dual point is θ = s·v with v = ∇f(Ax) and s
the largest number in [0, 1] for which all Ψ_j* are finite.  θ = 0 is a dual point too: its gap is F(x) minus the sum of
all minima of the losses and the penalties.

Products u_j are known as intervals g_j ± r_j, which hold the rounding errors of their computation.  Each penalty term
is convex in u_j, and so is the set of u_j that allow a scale s: over an interval both are worst at its ends.  The terms
of samples are convex in θ_k, and worst at the ends of θ_k ± δ_k (see ``dual_fit``).  ``proof`` puts this together.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share_list
from ascd._core.tuning import LISTED_A_PART
from ascd.matrix import prices
from ascd.problem.losses.formulas import divergence
from ascd.problem.optimality import violation_of
from ascd.problem.penalties.formulas import cost_size
from ascd.problem.tuning import BESIDE_ZERO, LAST_PLACES


@helper
def positive_part(term: float) -> float:
    """0 for a term that rounding made negative; nan stays nan, so that it cannot pass for a gap of 0."""
    return 0.0 if term < 0.0 else term


@helper
def gap_term(penalty: Any, x: float, j: int, u: float) -> float:
    """Ψ_j(x) + Ψ_j*(−u) + x·u."""
    return penalty.cost(x, j) + penalty.cost_conjugate(-u, j) + x * u


@helper
def term_between(penalty: Any, x: float, j: int, left: float, right: float) -> float:
    """The largest term for u_j in [left, right]: it is convex in u_j, so it is that of an end."""
    term = gap_term(penalty, x, j, left)
    return max(term, gap_term(penalty, x, j, right)) if right > left else term


@helper
def slope_size(penalty: Any, x: float, j: int) -> float:
    """What the slopes of Ψ_j at x are made of, added up: a kink and a tilt may cancel each other.

    At zero only where Ψ_j(0) = 0: else what stands beside zero is no slope.
    """
    if x != 0.0:
        size = cost_size(penalty, x, j) / abs(x)
        return size if size < math.inf else 0.0
    size = 0.0
    if penalty.cost(0.0, j) != 0.0:
        return size
    for beside in (BESIDE_ZERO, -BESIDE_ZERO):
        cost = cost_size(penalty, beside, j)
        size = max(size, cost / BESIDE_ZERO) if cost < math.inf else size
    return size


@helper
def largest_term(penalty: Any, x: float, j: int, left: float, right: float) -> float:
    """The largest term for u_j in [left, right], and for those within the rounding errors of Ψ_j*.

    Ψ_j*(−u) is a function of a difference, u less what Ψ_j holds at a kink: where that nearly vanishes, its last digits
    are all there is.  Beyond the end of Ψ_j*'s domain there is nothing to look at, if both ends are certainly inside.
    """
    if not (penalty.dual_scale(-left, j) >= 1.0 and penalty.dual_scale(-right, j) >= 1.0):
        return math.inf
    term = term_between(penalty, x, j, left, right)
    low, high = penalty.subgradient(x, j)
    size = abs(left) + abs(right) + slope_size(penalty, x, j)
    size += (abs(low) if low > -math.inf else 0.0) + (abs(high) if high < math.inf else 0.0)
    for end in (left - LAST_PLACES * size, right + LAST_PLACES * size):
        wider = gap_term(penalty, x, j, end)
        term = max(term, wider) if wider < math.inf else term
    return term


@helper
def sample_gap(sample: Any, loss: Any, image: Array, slope: Array, scale: float, start: int, stop: int) -> float:
    """Σ_k f_k(z_k) + f_k*(θ_k) − θ_k·z_k for θ = scale·slope, by the quick formulas: good to rounding errors of F.

    Over the samples from ``start`` to ``stop``.
    """
    total = 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target = at(sample.weight, k), sample.target[k]
        if weight > 0.0:
            dual = scale * slope[k] / weight
            fit = loss.value(target, image[k]) + loss.conjugate(target, dual)
            total += weight * positive_part(fit - dual * image[k])
    return total


@kernel
def scale_within(penalty: Any, estimate: Array, radius: Array, listed: Array, margin: float) -> float:
    """The largest s in [0, 1] for which s·u_j is in the domain of Ψ_j*, for u_j in estimate ± radius.

    Where s < 1 it is made smaller by the share ``margin``: rounding must not push s·u_j over the end of its domain.
    """
    scale = 1.0
    for i in range(listed.size):
        j = wide(listed[i])
        g, r = estimate[j], radius[j]
        scale = min(scale, penalty.dual_scale(-g - r, j), penalty.dual_scale(r - g, j))
    return scale * (1.0 - margin) if scale < 1.0 else scale


@kernel
def terms_within(
    penalty: Any, x: Array, estimate: Array, radius: Array, listed: Array, fixed: Array, scale: float
) -> tuple[float, float]:
    """The penalties' part of the gap for s·dual, and the size of its terms, for u_j in estimate ± radius.

    Products of ``fixed`` coordinates are what the estimate says, whatever s is.  Coordinates neither ``listed`` nor
    fixed are surely at rest: their terms are 0 for every scale.
    """
    gap, size = 0.0, 0.0
    for i in range(listed.size):
        j = wide(listed[i])
        left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
        gap += positive_part(largest_term(penalty, x[j], j, left, right))
        size += cost_size(penalty, x[j], j) + abs(x[j] * left) + abs(x[j] * right)
    for i in range(fixed.size):
        j = wide(fixed[i])
        gap += positive_part(largest_term(penalty, x[j], j, estimate[j], estimate[j]))
        size += cost_size(penalty, x[j], j) + abs(x[j] * estimate[j])
    return gap, size


@kernel
def gap_at_zero(sample: Any, loss: Any, penalty: Any, x: Array, image: Array) -> tuple[float, float]:
    """The gap for the dual point 0, and the size of the penalties' terms."""
    gap, size = 0.0, 0.0
    for k in range(image.size):
        weight = at(sample.weight, k)
        if weight > 0.0:
            gap += weight * divergence(loss, sample.target[k], image[k], 0.0)
    for j in range(x.size):
        gap += positive_part(largest_term(penalty, x[j], j, 0.0, 0.0))
        size += cost_size(penalty, x[j], j) + abs(penalty.cost_conjugate(0.0, j))
    return gap, size


@helper
def may_rest(penalty: Any, x: float, j: int, low: float, high: float) -> bool:
    """Does x_j stand at zero, where the penalty is smallest and has a kink?  Then it stays there for a range of u_j."""
    return (x == 0.0) & (low <= 0.0) & (high >= 0.0) & (low < high) & (penalty.cost(x, j) == 0.0)


@helper
def kink_size(penalty: Any, j: int, low: float, high: float) -> float:
    """What low and high, the ends of ∂Ψ_j(0), are made of, added up: their sum is twice a tilt, the distance a kink.

    At a bound one of them is infinite, and the other may be what is left of both.
    """
    return abs(low) + abs(high) if math.isfinite(low) and math.isfinite(high) else slope_size(penalty, 0.0, j)


def open_coordinates(penalty: Any, x: Array, estimate: Array, radius: Array, listed: Array) -> int:
    """List the coordinates that are not surely at rest at zero, where the penalty is smallest; their number."""
    return share_list(prices.COORDINATE * x.size, listed, list_open, penalty, x, estimate, radius)


@kernel
def list_open(
    penalty: Any, x: Array, estimate: Array, radius: Array, listed: Array, counts: Array, start: int, stop: int
) -> None:
    """Those of some parts (see ``share_list``)."""
    for part in range(start, stop):
        first = part * LISTED_A_PART
        count = first
        for number in range(first, min(first + LISTED_A_PART, x.size)):
            j = wide(number)
            low, high = penalty.subgradient(x[j], j)
            violation = violation_of(low, high, estimate[j]) + radius[j]
            violation += LAST_PLACES * kink_size(penalty, j, low, high)
            is_at_rest = violation <= 0.0 and may_rest(penalty, x[j], j, low, high)  # nan is not
            listed[wide(count)] = j
            count += 0 if is_at_rest else 1
        counts[part] = count - first


@helper
def inward(penalty: Any, j: int, u: float) -> float:
    """u, or a number beside it that is certainly in the domain of Ψ_j*, whose ends may be rounded."""
    if penalty.dual_scale(u, j) >= 1.0:
        return u
    away = 4.0 * LAST_PLACES * (abs(u) + slope_size(penalty, 0.0, j))
    if penalty.dual_scale(u - away, j) >= 1.0:
        return u - away
    return u + away if penalty.dual_scale(u + away, j) >= 1.0 else u


@kernel
def required_products(
    penalty: Any, x: Array, estimate: Array, radius: Array, is_tight: bool, required: Array, start: int, stop: int
) -> None:
    """Where scaling cannot bring u_j into the domain of Ψ_j*(−u_j), the nearest product that fits x_j; nan elsewhere.

    Scaling fails where the domain ends at a point s·u_j cannot reach.  Coordinates that stand at such an end belong
    to these too, because a dual point that fits the others would push them over it.  Where it ``is_tight``, no scale
    below 1 will do, and all that would need one belong to these.
    """
    for number in range(start, stop):
        j = wide(number)
        low, high = penalty.subgradient(x[j], j)
        g, r = estimate[j], radius[j]
        nearest = max(low, min(high, -g))
        far = 1.0 + abs(nearest)
        at_end = low == high and min(penalty.dual_scale(nearest - far, j), penalty.dual_scale(nearest + far, j)) <= 0.0
        fits = min(penalty.dual_scale(-g - r, j), penalty.dual_scale(r - g, j))
        is_required = at_end or fits <= 0.0 or (is_tight and fits < 1.0)
        required[j] = -inward(penalty, j, nearest) if is_required else math.nan


@kernel
def penalty_conjugates(penalty: Any, products: Array, out: Array) -> None:
    """out_j = Ψ_j*(products_j)."""
    for j in range(out.size):
        out[j] = penalty.cost_conjugate(products[j], j)
