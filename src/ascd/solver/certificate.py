"""How far from optimal, from intervals instead of exact gradient entries.

For the dual point θ = s·v the gap is a sum of non-negative terms (see ``problem.duality``); each penalty term is convex
in u_j = ⟨a_j, v⟩, and so is the set of u_j that allow a scale s.  Over an interval both are therefore worst at its
ends: the gap from the ends bounds the gap from the exact entries, and where the radius is 0 it is that gap.

Most coordinates are surely at rest at zero, where the penalty is smallest: by convexity their terms are 0 for every
scale.  ``look_over`` finds the others, and ``survey`` looks at those alone.

Where the dual allows only u_j = 0 (an unpenalised coordinate) or one sign of it, no scale helps.  While the solver
runs, such coordinates count by their violation alone, |x_j|·violation, and the gap is not certain.  Rounding errors are
not counted here either: this is what the solver steers by.  What it tells in the end is proved by ``problem.proof``.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._base.checks import Array
from ascd._base.jit import helper, kernel, wide
from ascd.data.matrices import dot
from ascd.problem.duality import gap_term, positive_part, sample_gap

#: A scale below 1 is made smaller by this share: rounding must not push a product over the end of its domain.
MARGIN = 1e-15


@helper
def judge(penalty: Any, x: float, j: int, g: float, r: float, norm: float) -> tuple[float, float]:
    """The signed violation of optimality, at most, for a gradient entry in g ± r; and the score.

    Both are negative where the coordinate is surely at rest.  The score is else the violation over ‖a_j‖, and infinite
    where the coordinate is free to move.
    """
    low, high = penalty.subgradient(x, j)
    slack = max(g + low, -g - high)
    violation = slack + r if slack > -math.inf else slack
    if low == high:
        return violation, math.inf
    return violation, violation / norm if violation > 0.0 and norm > 0.0 else violation


@kernel
def look_over(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, score: Array, unsettled: Array
) -> int:
    """List the coordinates that are not surely at rest at zero; their number.

    ``score`` is positive where one may violate optimality; its size is ``survey``'s matter.  The first loop has no
    branches, so that several coordinates go through it at a time.
    """
    count = 0
    for j in range(x.size):
        low, high = penalty.subgradient(x[j], j)
        violation = max(estimate[j] + low, -estimate[j] - high) + radius[j]
        may_rest = (x[j] == 0.0) & (low <= 0.0) & (high >= 0.0) & (low < high) & (penalty.cost(x[j], j) == 0.0)
        score[j] = violation if may_rest else math.inf
    for j in range(x.size):
        unsettled[count] = j
        count += 0 if score[j] <= 0.0 else 1
    for i in range(count):
        j = wide(unsettled[i])
        if score[j] == math.inf:
            _, score[j] = judge(penalty, x[j], j, estimate[j], radius[j], norm[j])
    return count


@kernel
def survey(
    sample: Any, loss: Any, penalty: Any, x: Array, image: Array, slope: Array, estimate: Array, radius: Array,
    norm: Array, unsettled: Array, score: Array,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """An upper bound on the gap, the largest violation possible, the penalty's cost, and whether the bound is certain.

    ``unsettled`` is what ``look_over`` listed; intervals may have shrunk since, and scores follow.  Coordinates that no
    scale fits count by their violation.
    """
    scale, steepest, cost, loose = 1.0, 0.0, 0.0, 0.0
    for i in range(unsettled.size):
        j = wide(unsettled[i])
        g, r = estimate[j], radius[j]
        violation, score[j] = judge(penalty, x[j], j, g, r, norm[j])
        steepest = max(steepest, violation)
        cost += penalty.cost(x[j], j)
        if violation > 0.0:
            fits = penalty.dual_scale(-g - r, j)
            if r > 0.0:
                fits = min(fits, penalty.dual_scale(r - g, j))
            if fits > 0.0:
                scale = min(scale, fits)
            else:
                loose += violation * (abs(x[j]) + violation / max(norm[j] * norm[j], 1e-300))
    is_certain = loose == 0.0
    if scale < 1.0:
        scale *= 1.0 - MARGIN
    gap = loose + sample_gap(sample, loss, image, slope, scale)
    for i in range(unsettled.size):
        j = wide(unsettled[i])
        left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
        term = gap_term(penalty, x[j], j, left)
        if right > left:
            term = max(term, gap_term(penalty, x[j], j, right))
        if term < math.inf:
            gap += positive_part(term)
        else:
            is_certain = False
    return gap, steepest, cost, is_certain


@kernel
def worst_violation(penalty: Any, x: Array, gradient: Array, columns: Array) -> float:
    """The largest violation of optimality among some coordinates whose gradient entries are known."""
    worst = 0.0
    for i in range(columns.size):
        j = wide(columns[i])
        low, high = penalty.subgradient(x[j], j)
        worst = max(worst, gradient[j] + low, -gradient[j] - high)
    return worst


@kernel
def curvature_along(matrix: Any, j: int, curvature: Array, mean: float) -> float:
    """Σ_k H_k·(a_kj − mean)² over the stored entries, and mean²·H_k over the others."""
    total, square = 0.0, 0.0
    for k in range(curvature.size):
        total += curvature[k]
    for p in range(matrix.start(j), matrix.stop(j)):
        entry = matrix.entry(p, j)
        square += curvature[matrix.row(p)] * entry * entry
    return square - mean * (2.0 * dot(matrix, j, curvature) - mean * total)
