"""Screening and the duality gap, from intervals instead of exact gradient entries.

For the dual point θ = s·v the gap is a sum of non-negative terms (see ``problem.duality``); each penalty term is convex
in u_j = ⟨a_j, v⟩, and so is the set of u_j that allow a scale s.  Over an interval both are therefore worst at its
ends: the gap from the ends bounds the gap from the exact entries, and where the radius is 0 it is that gap.

Most coordinates are surely at rest at zero, where the penalty is smallest: by convexity their terms are 0 for every
scale.  ``screen`` finds the others, the candidates; the gap is a sum over those alone.

Where the dual allows only u_j = 0 (an unpenalised coordinate) or one sign of it, no scale helps.  While the solver
runs, such coordinates count by their violation alone, |x_j|·violation, and the gap is not certain.  Rounding errors are
not counted here either: this is what the solver steers by.  What it tells in the end is proved by ``problem.proof``.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._base.checks import Array
from ascd._base.jit import helper, kernel, wide
from ascd.problem.duality import may_rest, positive_part, term_between
from ascd.problem.optimality import violation_of
from ascd.solver.tuning import MARGIN


@helper
def violation_and_score(penalty: Any, x: float, j: int, g: float, r: float, norm: float) -> tuple[float, float]:
    """The signed violation of optimality, at most, for a gradient entry in g ± r; and the score.

    Both are negative where the coordinate is surely at rest.  The score is else the violation over ‖a_j‖, and infinite
    where the coordinate is free to move.
    """
    low, high = penalty.subgradient(x, j)
    slack = violation_of(low, high, g)
    violation = slack + r if slack > -math.inf else slack
    if low == high:
        return violation, math.inf
    return violation, violation / norm if violation > 0.0 and norm > 0.0 else violation


@kernel
def screen(penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, score: Array, candidates: Array) -> int:
    """List the coordinates that are not surely at rest at zero; their number.

    ``score`` is positive where one may violate optimality; ``scale_and_cost`` gives it its size.  The first loop has no
    branches, so that several coordinates go through it at a time.
    """
    count = 0
    for j in range(x.size):
        low, high = penalty.subgradient(x[j], j)
        violation = violation_of(low, high, estimate[j]) + radius[j]
        score[j] = violation if may_rest(penalty, x[j], j, low, high) else math.inf
    for j in range(x.size):
        candidates[count] = j
        count += 0 if score[j] <= 0.0 else 1
    for i in range(count):
        j = wide(candidates[i])
        if score[j] == math.inf:
            _, score[j] = violation_and_score(penalty, x[j], j, estimate[j], radius[j], norm[j])
    return count


@kernel
def scale_and_cost(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, candidates: Array, score: Array
) -> tuple[float, float, float, float]:
    """The dual point's scale, the largest violation possible, the penalty's cost, and what no scale fits.

    Intervals may have shrunk since ``screen``, and scores follow.
    """
    scale, steepest, cost, loose = 1.0, 0.0, 0.0, 0.0
    for i in range(candidates.size):
        j = wide(candidates[i])
        g, r = estimate[j], radius[j]
        violation, score[j] = violation_and_score(penalty, x[j], j, g, r, norm[j])
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
    if scale < 1.0:
        scale *= 1.0 - MARGIN
    return scale, steepest, cost, loose


@kernel
def add_gap_terms(
    penalty: Any, x: Array, estimate: Array, radius: Array, candidates: Array, scale: float, gap: float
) -> tuple[float, bool]:
    """The gap with the candidates' terms added, and whether all of them are finite."""
    is_finite = True
    for i in range(candidates.size):
        j = wide(candidates[i])
        left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
        term = term_between(penalty, x[j], j, left, right)
        if term < math.inf:
            gap += positive_part(term)
        else:
            is_finite = False
    return gap, is_finite


@kernel
def worst_violation(penalty: Any, x: Array, gradient: Array, columns: Array) -> float:
    """The largest violation of optimality among some coordinates whose gradient entries are known."""
    worst = 0.0
    for i in range(columns.size):
        j = wide(columns[i])
        low, high = penalty.subgradient(x[j], j)
        worst = max(worst, violation_of(low, high, gradient[j]))
    return worst
