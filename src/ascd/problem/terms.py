"""Sums over the penalty: its cost, the distance from optimality, and its part of a duality gap.

For a dual point Θ = s·V with products U = AᵀV, the penalty's part of the gap is

    Σ_b Ψ_b(x_b) + Ψ_b*(−s·U_b) + s⟨x_b, U_b⟩,

a sum of terms that are not negative.  U_b is known to lie in a ball: ``estimate`` ± ``radius``.  Each term is convex in
U_b, and so is the set of U_b that allow a scale s, so both are bounded by their values on the boundary of the ball.
Blocks at rest, which are zero with −U_b inside ∂Ψ_b(0) for all of the ball, have terms of 0 at every scale.

Two adapters give both kinds of penalties the same methods: ``ByCoordinate`` for one output and blocks of one, several
times as fast, and ``ByBlock``.  They take flat arrays and the position ``first`` at which a block begins in them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.columns import UNIT
from ascd.problem.arithmetic import length_of, violation_of
from ascd.problem.penalties import cost_size, derivative_size
from ascd.problem.tuning import LAST_PLACES

NO_INDICES = np.empty(0, dtype=np.int64)


class Terms:
    """The sums over a penalty, by coordinate where ``ends`` is None.

    ``norm`` are those of the blocks of columns, ``ends`` say where blocks begin and end in the flat vector of
    coefficients.  ``score`` has one number a block: positive where it may violate optimality, infinite where it is free
    to move.  ``margin`` is the rounding error of a scale below 1.
    """

    def __init__(self, penalty: Any, norm: Array, ends: Array | None = None, outputs: int = 1) -> None:
        self.norm, self.count, self.outputs, self.is_by_coordinate = norm, norm.size, outputs, ends is None
        self.score, self.all = np.empty(self.count), np.arange(self.count)
        self.longest, self.margin, self.unpenalised = 1, LAST_PLACES, NO_INDICES
        self.parts: Any = ByCoordinate(penalty)
        if ends is not None:
            self.ends, self.sizes = ends, np.diff(ends)
            self.longest = int(self.sizes.max())
            self.margin = (2.0 * self.longest + 16.0) * UNIT
            self.parts = ByBlock(penalty, ends, np.ones(self.longest))
            #: blocks that allow no dual product but 0; of coordinates ``required`` finds them
            self.is_unpenalised = np.empty(self.count, dtype=np.bool_)
            find_unpenalised(penalty, ends, self.parts.room, -self.parts.room, self.is_unpenalised)
            self.unpenalised = np.flatnonzero(self.is_unpenalised)

    def cost(self, x: Array) -> float:
        """Return Σ_b Ψ_b(x_b)."""
        return float(cost_of(self.parts, self.all, x.ravel()))

    def cost_on(self, blocks: Array, x: Array) -> float:
        return float(cost_of(self.parts, blocks, x.ravel()))

    def violation_on(self, blocks: Array, x: Array, gradient: Array) -> float:
        return float(largest_violation(self.parts, blocks, x.ravel(), gradient.ravel()))

    def screen(self, x: Array, estimate: Array, radius: Array) -> Array:
        """Return the blocks that are not surely at rest, and fill in ``score``."""
        listed = self.undecided(x, estimate, radius)
        self.score.fill(-1.0)
        self.fill_scores(x, estimate, radius, listed)
        return listed

    def fill_scores(self, x: Array, estimate: Array, radius: Array, listed: Array) -> None:
        """Fill in the scores of the listed blocks."""
        fill_scores(self.parts, x.ravel(), estimate.ravel(), radius, self.norm, listed, self.score)

    def measure(
        self, x: Array, estimate: Array, radius: Array, listed: Array
    ) -> tuple[float, float, float, float, bool]:
        """Return the sums over the ``listed`` blocks from their balls, rounding not counted, and fill in their scores.

        Scale of the dual point, largest violation, cost, the penalty's part of the gap, and whether that is all of it.
        """
        balls = self.parts, x.ravel(), estimate.ravel(), radius
        scale, violation, cost, infeasible = map(float, measure(*balls, self.norm, listed, self.score))
        scale = self.shrunk(scale)
        gap, _, is_finite = gap_of(*balls, listed, scale, False)
        return scale, violation, cost, float(gap) + infeasible, bool(is_finite) and infeasible == 0.0

    def undecided(self, x: Array, estimate: Array, radius: Array) -> Array:
        """Return the blocks that are not at rest for certain, rounding errors counted."""
        found = np.empty(self.count, dtype=np.bool_)
        find_undecided(self.parts, x.ravel(), estimate.ravel(), radius, found)
        return np.flatnonzero(found)

    def shrunk(self, scale: float, margin: float = 0.0) -> float:
        """Return a scale below 1 made smaller by the share ``margin``, and at least by its rounding error."""
        return scale * (1.0 - max(margin, self.margin)) if scale < 1.0 else scale

    def gap(self, x: Array, estimate: Array, radius: Array, listed: Array, scale: float) -> tuple[float, float]:
        """Return the penalty's part of the gap, rounding counted, and the size of its terms."""
        gap, size, is_finite = gap_of(self.parts, x.ravel(), estimate.ravel(), radius, listed, scale, True)
        return float(gap) if is_finite else math.inf, float(size)

    def required(self, x: Array, estimate: Array, radius: Array, is_tight: bool, before: Array) -> tuple[Array, Array]:
        """Return the blocks whose products no scale makes feasible, also ``before``, and their products (k, T)."""
        if not self.is_by_coordinate:
            return self.unpenalised, np.zeros((int(self.sizes[self.unpenalised].sum()) // self.outputs, self.outputs))
        required, products = np.empty(self.count), estimate.ravel()
        given = (self.parts, x.ravel(), products, radius, is_tight, required)
        share(costs.COORDINATE * self.count, self.count, required_products, *given)
        kept = before[np.isnan(required[before])]
        required[kept] = products[kept]  # they require nothing now
        fixed = np.flatnonzero(~np.isnan(required))
        return fixed, required[fixed, None]


# ---- the sums


@kernel
def cost_of(parts: Any, blocks: Array, x: Array) -> float:
    """Return Σ Ψ_b over some blocks, whose coefficients stand one after the other in x."""
    total, first = 0.0, 0
    for i in range(blocks.size):
        b = wide(blocks[i])
        total += parts.cost_at(x, wide(first), b)
        first += parts.size_at(b)
    return total


@kernel
def largest_violation(parts: Any, blocks: Array, x: Array, g: Array) -> float:
    """Return the largest violation of some blocks, which stand one after the other; at least 0."""
    worst, first = 0.0, 0
    for i in range(blocks.size):
        b = wide(blocks[i])
        worst = max(worst, parts.violation_at(x, g, wide(first), b, 0.0)[0])
        first += parts.size_at(b)
    return worst


@kernel
def find_undecided(parts: Any, x: Array, g: Array, radius: Array, found: Array) -> None:
    """Fill in which blocks are not at rest for certain; without branches several coordinates are done at a time."""
    for number in range(radius.size):
        b = wide(number)
        found[b] = not parts.rests_at(x, g, parts.first_at(b), b, radius[b])


@helper
def violation_and_score(parts: Any, x: Array, g: Array, radius: Array, norm: Array, b: int) -> tuple[float, float]:
    """Return the violation of a block, and that over ‖A_b‖: inf where it is free to move (x_b is at no kink)."""
    violation, is_free = parts.violation_at(x, g, parts.first_at(b), b, radius[b])
    per_norm = violation / norm[b] if violation > 0.0 and norm[b] > 0.0 else violation
    return violation, math.inf if is_free else per_norm


@kernel
def fill_scores(parts: Any, x: Array, g: Array, radius: Array, norm: Array, listed: Array, score: Array) -> None:
    """Fill in the scores of the listed blocks."""
    for i in range(listed.size):
        b = wide(listed[i])
        score[b] = violation_and_score(parts, x, g, radius, norm, b)[1]


@helper
def measured(
    parts: Any, x: Array, g: Array, radius: Array, norm: Array, listed: Array, score: Array
) -> tuple[float, float, float, float]:
    """Return scale, violation, cost and an estimate of the gap of blocks that no scale fits; fill in the scores."""
    scale, steepest, cost, infeasible = 1.0, 0.0, 0.0, 0.0
    for i in range(listed.size):
        b = wide(listed[i])
        first = parts.first_at(b)
        violation, score[b] = violation_and_score(parts, x, g, radius, norm, b)
        steepest = violation if violation > steepest or math.isnan(violation) else steepest  # nan stays
        cost += parts.cost_at(x, first, b)
        if violation > 0.0:
            fits = parts.scale_at(g, first, b, radius[b])
            if fits > 0.0:
                scale = min(scale, fits)
            else:
                length = parts.length_at(x, first, b)
                infeasible += violation * (length + violation / max(norm[b] * norm[b], 1e-300))
    return scale, steepest, cost, infeasible


measure = kernel(measured)


@kernel
def scale_of(parts: Any, g: Array, radius: Array, listed: Array) -> float:
    """Return the largest s in [0, 1] for which all Ψ_b*(−s·U_b) are finite, for U_b within the radius of g_b."""
    scale = 1.0
    for i in range(listed.size):
        b = wide(listed[i])
        scale = min(scale, parts.scale_at(g, parts.first_at(b), b, radius[b]))
    return scale


@kernel
def gap_of(
    parts: Any, x: Array, g: Array, radius: Array, listed: Array, scale: float, is_exact: bool
) -> tuple[float, float, bool]:
    """Return the sum of the finite terms, the size of their parts, and whether all are finite (nan is not)."""
    gap, size, infinite = 0.0, 0.0, 0
    for i in range(listed.size):
        b = wide(listed[i])
        term, parts_size = parts.term_at(x, g, parts.first_at(b), b, radius[b], scale, is_exact)
        gap += positive_part(term) if term < math.inf else 0.0
        size += parts_size
        infinite += 0 if term < math.inf else 1
    return gap, size, infinite == 0


# ---- penalties by coordinate


class ByCoordinate(NamedTuple):
    """Blocks of one: scalar formulas."""

    penalty: Any

    @helper
    def first_at(self, b: int) -> int:
        return b

    @helper
    def size_at(self, b: int) -> int:
        return 1

    @helper
    def cost_at(self, x: Array, first: int, b: int) -> float:
        return self.penalty.cost(x[first], b)

    @helper
    def violation_at(self, x: Array, g: Array, first: int, b: int, radius: float) -> tuple[float, bool]:
        """Return the signed violation at most, and whether the coordinate is free to move."""
        low, high = self.penalty.subgradient(x[first], b)
        slack = violation_of(low, high, g[first])
        return slack + radius if slack > -math.inf else slack, low == high

    @helper
    def rests_at(self, x: Array, g: Array, first: int, b: int, radius: float) -> bool:
        """Return whether a coordinate stays at zero, a kink and minimum of Ψ, for all g ± radius, rounding counted."""
        low, high = self.penalty.subgradient(x[first], b)
        is_finite = math.isfinite(low) and math.isfinite(high)  # one end is not at a bound
        size = abs(low) + abs(high) if is_finite else derivative_size(self.penalty, 0.0, b)
        violation = violation_of(low, high, g[first]) + radius + LAST_PLACES * size
        is_smallest = (x[first] == 0.0) & (low <= 0.0) & (high >= 0.0) & (low < high)
        return violation <= 0.0 and is_smallest and self.penalty.cost(x[first], b) == 0.0  # nan is not

    @helper
    def requires_at(self, x: Array, g: Array, first: int, b: int, radius: float, is_tight: bool) -> bool:
        """Return whether no scale makes the product g ± radius feasible (with ``is_tight`` none below 1 is allowed)."""
        penalty, fits = self.penalty, self.scale_at(g, first, b, radius)
        low, high = penalty.subgradient(x[first], b)
        nearest = max(low, min(high, -g[first]))
        far = 1.0 + abs(nearest)
        at_end = low == high and min(penalty.dual_scale(nearest - far, b), penalty.dual_scale(nearest + far, b)) <= 0.0
        return at_end or fits <= 0.0 or (is_tight and fits < 1.0)

    @helper
    def length_at(self, x: Array, first: int, b: int) -> float:
        return abs(x[first])

    @helper
    def scale_at(self, g: Array, first: int, b: int, radius: float) -> float:
        return min(self.penalty.dual_scale(-g[first] - radius, b), self.penalty.dual_scale(radius - g[first], b))

    @helper
    def term_at(
        self, x: Array, g: Array, first: int, b: int, radius: float, scale: float, is_exact: bool
    ) -> tuple[float, float]:
        """Return the largest term for u in g ± radius, with rounding errors if ``is_exact``; and its parts' size."""
        left, right = scale * (g[first] - radius), scale * (g[first] + radius)
        size = cost_size(self.penalty, x[first], b) + abs(x[first] * left) + abs(x[first] * right)
        if is_exact:
            return largest_term(self.penalty, x[first], b, left, right), size
        return term_between(self.penalty, x[first], b, left, right), size


@helper
def positive_part(term: float) -> float:
    """Return 0 for a term that rounding made negative; nan stays nan: it must not pass for a gap of 0."""
    return 0.0 if term < 0.0 else term


@helper
def gap_term(penalty: Any, x: float, j: int, u: float) -> float:
    """Return Ψ_j(x) + Ψ_j*(−u) + x·u."""
    return penalty.cost(x, j) + penalty.cost_conjugate(-u, j) + x * u


@helper
def term_between(penalty: Any, x: float, j: int, left: float, right: float) -> float:
    """Return the largest term for u_j in [left, right]: it is convex in u_j, so it is that of an end."""
    term = gap_term(penalty, x, j, left)
    return max(term, gap_term(penalty, x, j, right)) if right > left else term


@helper
def largest_term(penalty: Any, x: float, j: int, left: float, right: float) -> float:
    """Return the largest term for u_j in [left, right] and within the rounding errors of Ψ_j*.

    Ψ_j*(−u) is a function of a difference, u less the end of a subdifferential: where that nearly vanishes, its last
    digits are all there is.
    """
    if not (penalty.dual_scale(-left, j) >= 1.0 and penalty.dual_scale(-right, j) >= 1.0):
        return math.inf
    term = term_between(penalty, x, j, left, right)
    low, high = penalty.subgradient(x, j)
    size = abs(left) + abs(right) + derivative_size(penalty, x, j)
    size += (abs(low) if low > -math.inf else 0.0) + (abs(high) if high < math.inf else 0.0)
    for end in (left - LAST_PLACES * size, right + LAST_PLACES * size):
        wider = gap_term(penalty, x, j, end)
        term = max(term, wider) if wider < math.inf else term
    return term


@kernel
def subgradients(penalty: Any, x: Array, low: Array, high: Array) -> None:
    for j in range(x.size):
        low[j], high[j] = penalty.subgradient(x[j], j)


@kernel
def required_products(
    parts: Any, x: Array, estimate: Array, radius: Array, is_tight: bool, required: Array, start: int, stop: int
) -> None:
    """Fill in the nearest feasible product where scaling cannot make u_j feasible; nan elsewhere.

    Coordinates at an end of the domain of Ψ_j* that s·u_j cannot reach belong to these, because a dual point that fits
    the others would push them over it; with ``is_tight`` also those that need a scale below 1.
    """
    penalty = parts.penalty
    for number in range(start, stop):
        j = wide(number)
        required[j] = math.nan
        if parts.requires_at(x, estimate, j, j, radius[j], is_tight):
            low, high = penalty.subgradient(x[j], j)
            u = max(low, min(high, -estimate[j]))
            required[j] = -u
            if penalty.dual_scale(u, j) < 1.0:  # a number beside it, as the ends of the domain may be rounded
                away = 4.0 * LAST_PLACES * (abs(u) + derivative_size(penalty, 0.0, j))
                for beside in (u + away, u - away):
                    required[j] = -beside if penalty.dual_scale(beside, j) >= 1.0 else required[j]


# ---- penalties by block


class ByBlock(NamedTuple):
    """Blocks of a flat vector, block b from ``ends[b]`` to ``ends[b + 1]``; ``room`` has the length of the largest."""

    penalty: Any
    ends: Array
    room: Array

    @helper
    def first_at(self, b: int) -> int:
        return wide(self.ends[b])

    @helper
    def size_at(self, b: int) -> int:
        return self.ends[b + 1] - self.ends[b]

    @helper
    def cost_at(self, x: Array, first: int, b: int) -> float:
        return self.penalty.block_cost(x[first : first + self.size_at(b)], b)

    @helper
    def negate_at(self, g: Array, first: int, b: int, scale: float) -> int:
        """Fill the room with −scale·g_b; return the length."""
        size = wide(self.ends[b + 1] - self.ends[b])
        for i in range(size):
            self.room[i] = -scale * g[first + i]
        return size

    @helper
    def violation_at(self, x: Array, g: Array, first: int, b: int, radius: float) -> tuple[float, bool]:
        """Return the distance of −g_b from ∂Ψ_b(x_b), at most, and whether the block is not zero."""
        last = first + self.size_at(b)
        distance = self.penalty.block_distance(x[first:last], g[first:last], b)
        return distance + radius, length_of(x[first:last]) != 0.0

    @helper
    def rests_at(self, x: Array, g: Array, first: int, b: int, radius: float) -> bool:
        """Return whether the block stays at zero for every U_b within the radius of g_b."""
        here = x[first : first + self.size_at(b)]
        is_known = radius < math.inf and length_of(g[first : first + here.size]) < math.inf  # nan is not
        if not (is_known and length_of(here) == 0.0 and self.penalty.block_cost(here, b) == 0.0):
            return False
        return self.penalty.block_conjugate(self.room[: self.negate_at(g, first, b, 1.0)], radius, b) == 0.0

    @helper
    def requires_at(self, x: Array, g: Array, first: int, b: int, radius: float, is_tight: bool) -> bool:
        return False  # those that require 0 are known beforehand

    @helper
    def length_at(self, x: Array, first: int, b: int) -> float:
        return length_of(x[first : first + self.size_at(b)])

    @helper
    def scale_at(self, g: Array, first: int, b: int, radius: float) -> float:
        return self.penalty.block_scale(self.room[: self.negate_at(g, first, b, 1.0)], radius, b)

    @helper
    def term_at(
        self, x: Array, g: Array, first: int, b: int, radius: float, scale: float, is_exact: bool
    ) -> tuple[float, float]:
        """Return the largest term for U_b within the radius of g_b, and the size of its parts."""
        here, product, size = x[first : first + self.size_at(b)], 0.0, 0.0
        for i in range(here.size):
            product += here[i] * g[first + i]
            size += abs(here[i] * g[first + i])
        cost, width = self.penalty.block_cost(here, b), scale * radius
        conjugate = self.penalty.block_conjugate(self.room[: self.negate_at(g, first, b, scale)], width, b)
        term = cost + conjugate + scale * product + width * length_of(here) * (1.0 + 1e-12)
        return term, (here.size + 8.0) * (abs(cost) + scale * size)


@kernel
def find_unpenalised(penalty: Any, ends: Array, vector: Array, other: Array, out: Array) -> None:
    """Fill in which blocks allow no multiple of both vectors: their dual product must be 0.

    Those with a bound at 0 and nothing else allow one sign.
    """
    for b in range(out.size):
        size = ends[b + 1] - ends[b]
        out[b] = penalty.block_scale(vector[:size], 0.0, b) <= 0.0 and penalty.block_scale(other[:size], 0.0, b) <= 0.0
