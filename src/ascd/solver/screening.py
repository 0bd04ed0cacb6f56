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

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import share, share_list
from ascd._core.tuning import LISTED_A_PART
from ascd.matrix import prices
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


def screen(penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, score: Array, candidates: Array) -> int:
    """List the coordinates that are not surely at rest at zero; their number.

    ``score`` is positive where one may violate optimality; ``scale_and_cost`` gives it its size.
    """
    given = (penalty, x, estimate, radius, norm, score)
    return share_list(prices.COORDINATE * x.size, candidates, screen_parts, *given)


@kernel
def screen_parts(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, score: Array, candidates: Array, counts: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Some parts (see ``share_list``).  The first loop has no branches: several coordinates go through it at a time."""
    for part in range(start, stop):
        first = part * LISTED_A_PART
        last, count = min(first + LISTED_A_PART, x.size), first
        for number in range(first, last):
            j = wide(number)
            low, high = penalty.subgradient(x[j], j)
            violation = violation_of(low, high, estimate[j]) + radius[j]
            score[j] = violation if may_rest(penalty, x[j], j, low, high) else math.inf
        for number in range(first, last):
            j = wide(number)
            candidates[wide(count)] = j
            count += 0 if score[j] <= 0.0 else 1
        for i in range(first, count):
            j = wide(candidates[wide(i)])
            if score[j] == math.inf:
                _, score[j] = violation_and_score(penalty, x[j], j, estimate[j], radius[j], norm[j])
        counts[part] = count - first


def scale_and_cost(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, candidates: Array, score: Array
) -> tuple[float, float, float, float]:
    """The dual point's scale, the largest violation possible, the penalty's cost, and what no scale fits.

    Intervals may have shrunk since ``screen``, and scores follow.
    """
    found = np.empty((4, count_of_parts(candidates.size)))
    given = (penalty, x, estimate, radius, norm, candidates, score, found)
    share(prices.COORDINATE * candidates.size, found.shape[1], scales_and_costs, *given)
    scale, steepest, cost, loose = found[0].min(), found[1].max(), found[2].sum(), found[3].sum()
    return float(scale * (1.0 - MARGIN) if scale < 1.0 else scale), float(steepest), float(cost), float(loose)


def count_of_parts(count: int) -> int:
    """How many parts so many candidates are looked at in."""
    return max(1, -(-count // LISTED_A_PART))


@kernel
def scales_and_costs(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, candidates: Array, score: Array, out: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """``scale_and_cost`` of each part of the candidates, without the margin."""
    for part in range(start, stop):
        found = scale_and_cost_of(penalty, x, estimate, radius, norm, candidates, score, part * LISTED_A_PART)
        out[0, part], out[1, part], out[2, part], out[3, part] = found


@helper
def scale_and_cost_of(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, candidates: Array, score: Array, first: int
) -> tuple[float, float, float, float]:
    scale, steepest, cost, loose = 1.0, 0.0, 0.0, 0.0
    for i in range(first, min(first + LISTED_A_PART, candidates.size)):
        j = wide(candidates[wide(i)])
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
    return scale, steepest, cost, loose


def add_gap_terms(
    penalty: Any, x: Array, estimate: Array, radius: Array, candidates: Array, scale: float, gap: float
) -> tuple[float, bool]:
    """The gap with the candidates' terms added, and whether all of them are finite."""
    found = np.empty((2, count_of_parts(candidates.size)))
    given = (penalty, x, estimate, radius, candidates, scale, found)
    share(prices.COORDINATE * candidates.size, found.shape[1], gap_terms, *given)
    return float(gap + found[0].sum()), not found[1].any()


@kernel
def gap_terms(
    penalty: Any, x: Array, estimate: Array, radius: Array, candidates: Array, scale: float, out: Array, start: int,
    stop: int,
) -> None:  # fmt: skip
    """For each part of the candidates: the sum of terms that are finite, and how many are not."""
    for part in range(start, stop):
        first, total, endless = part * LISTED_A_PART, 0.0, 0.0
        for i in range(first, min(first + LISTED_A_PART, candidates.size)):
            j = wide(candidates[wide(i)])
            left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
            term = term_between(penalty, x[j], j, left, right)
            if term < math.inf:
                total += positive_part(term)
            else:
                endless += 1.0
        out[0, part], out[1, part] = total, endless


@kernel
def worst_violation(penalty: Any, x: Array, gradient: Array, columns: Array) -> float:
    """The largest violation of optimality among some coordinates whose gradient entries are known."""
    worst = 0.0
    for i in range(columns.size):
        j = wide(columns[i])
        low, high = penalty.subgradient(x[j], j)
        worst = max(worst, violation_of(low, high, gradient[j]))
    return worst


@kernel
def subgradients(penalty: Any, x: Array, low: Array, high: Array) -> None:
    """The ends of ∂Ψ_j(x_j) of all coordinates."""
    for j in range(x.size):
        low[j], high[j] = penalty.subgradient(x[j], j)
