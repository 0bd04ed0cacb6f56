"""How far from optimal, from intervals instead of exact gradient entries.

For the dual point θ = s·v the gap is a sum of non-negative terms (see ``ascd.duality``); each penalty term is convex
in u_j = ⟨a_j, v⟩, and so is the set of u_j that allow a scale s.  Over an interval both are therefore worst at its
ends: the gap from the ends bounds the gap from the exact entries, and where the radius is 0 it is that gap.

Where the dual allows only u_j = 0 (an unpenalised coordinate) or one sign of it, no scale helps.  While the solver
runs, such coordinates count by their violation alone, |x_j|·violation; the certificate at the end moves the dual point
so that it fits them exactly, if they are few enough.
"""

from __future__ import annotations

import math
from typing import Any

from ascd._checks import Array
from ascd._jit import kernel
from ascd.duality import gap_term, positive_part, sample_gap


@kernel
def survey(
    sample: Any, loss: Any, penalty: Any, x: Array, image: Array, slope: Array, estimate: Array, radius: Array,
    norm: Array, score: Array, strict: bool, with_gap: bool,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """An upper bound on the gap, the largest violation possible, the penalty's cost, and whether the bound is certain.

    ``score`` takes each coordinate's signed violation, at most, over ‖a_j‖: negative where it is surely at rest,
    infinite where it is free to move.  Without ``with_gap`` that is all that is asked for.  Unless ``strict``,
    coordinates that no scale fits count by their violation.
    """
    scale, steepest, cost, loose = 1.0, 0.0, 0.0, 0.0
    for j in range(x.size):
        g, r = estimate[j], radius[j]
        low, high = penalty.subgradient(x[j], j)
        slack = max(g + low, -g - high)
        violation = slack + r if slack > -math.inf else slack
        steepest = max(steepest, violation)
        score[j] = math.inf if low == high else (violation / norm[j] if norm[j] > 0.0 else violation)
        cost += penalty.cost(x[j], j)
        if violation > 0.0:
            fits = min(penalty.dual_scale(-g - r, j), penalty.dual_scale(r - g, j))
            if fits > 0.0 or strict:
                scale = min(scale, fits)
            else:
                loose += violation * (abs(x[j]) + violation / max(norm[j] * norm[j], 1e-300))
    if not with_gap or not scale >= 0.0:
        return math.inf, steepest, cost, True
    gap = loose + sample_gap(sample, loss, image, slope, scale)
    for j in range(x.size):
        if x[j] == 0.0 and score[j] <= 0.0:
            low, high = penalty.subgradient(0.0, j)
            if low <= 0.0 <= high and penalty.cost(0.0, j) == 0.0:
                continue  # at rest where the penalty is smallest: by convexity the term is 0 for every scale
        left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
        term = gap_term(penalty, x[j], j, left)
        if right > left:
            term = max(term, gap_term(penalty, x[j], j, right))
        if strict or term < math.inf:
            gap += positive_part(term)
    return gap, steepest, cost, loose == 0.0
