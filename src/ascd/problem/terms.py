"""Sums over the penalty: its cost, the distance from optimality, and its part of a duality gap.

For a dual point Θ = s·V with products U = AᵀV, the penalty's part of the gap is

    Σ_b Ψ_b(x_b) + Ψ_b*(−s·U_b) + s⟨x_b, U_b⟩,

a sum of terms that are not negative.  U_b is known to lie in a ball: ``estimate`` ± ``radius``.  Each term is convex in
U_b, and so is the set of U_b that allow a scale s, so both are bounded by their values on the boundary of the ball.
Blocks that surely stay at zero ("at rest": x_b = 0 and −U_b inside ∂Ψ_b(0) for all U_b in the ball) have terms of 0 at
every scale; the sums run over the others.

``CoordinateTerms`` evaluates penalties given by scalar formulas (one output, blocks of one); ``BlockTerms`` those of
blocks.  Both have the same methods.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import LISTED_A_PART, share, share_list
from ascd.matrix import costs
from ascd.matrix.columns import UNIT
from ascd.problem.arithmetic import length_of, lengths_of_blocks, violation_of
from ascd.problem.penalties import cost_size, derivative_size
from ascd.problem.tuning import LAST_PLACES

NO_INDICES = np.empty(0, dtype=np.int64)


class Measured(NamedTuple):
    """Scale of the dual point, largest violation, cost, and the gap of coordinates that no scale makes feasible."""

    scale: float
    violation: float
    cost: float
    infeasible: float


class Terms:
    """What both kinds of sums share.

    ``score`` has one number a block: positive where the block may violate optimality, infinite where it is free to
    move.  ``margin`` is the rounding error of a scale below 1.
    """

    def __init__(self, penalty: Any, norm: Array, longest: int, margin: float) -> None:
        self.penalty, self.norm, self.count, self.longest, self.margin = penalty, norm, norm.size, longest, margin
        self.score = np.empty(self.count)

    def cost(self, x: Array) -> float:
        """Return Σ_b Ψ_b(x_b)."""
        return self.cost_on(np.arange(self.count), x)

    def gap_at_zero(self, x: Array) -> tuple[float, float]:
        """Return the penalty's part of the gap at the dual point 0, and the size of its terms."""
        zero = np.zeros(self.count)
        return self.gap(x, np.zeros(x.shape), zero, np.arange(self.count), NO_INDICES, 1.0)

    def shrunk(self, scale: float, margin: float = 0.0) -> float:
        """Return a scale below 1 made smaller by the share ``margin``, and at least by its rounding error."""
        return scale * (1.0 - max(margin, self.margin)) if scale < 1.0 else scale

    def cost_on(self, blocks: Array, x: Array) -> float:
        raise NotImplementedError

    def gap(
        self, x: Array, estimate: Array, radius: Array, listed: Array, fixed: Array, scale: float
    ) -> tuple[float, float]:
        raise NotImplementedError


class CoordinateTerms(Terms):
    """Sums over a penalty by coordinate.

    Parameters
    ----------
    penalty : NamedTuple with the methods of ``ascd.protocols.Penalty``
    norm : array of shape (n_features,), norms of the columns
    """

    is_by_coordinate = True

    def __init__(self, penalty: Any, norm: Array) -> None:
        super().__init__(penalty, norm, 1, LAST_PLACES)
        self._listed = np.empty(self.count, dtype=np.int64)

    def cost_on(self, blocks: Array, x: Array) -> float:
        """Return the cost of some coordinates with the values x of shape (len(blocks), 1)."""
        return float(cost_of(self.penalty, blocks, x.ravel()))

    def violation_on(self, blocks: Array, x: Array, gradient: Array) -> float:
        """Return the largest violation of some coordinates, with their values and gradient entries."""
        return float(largest_violation(self.penalty, blocks, x.ravel(), gradient.ravel()))

    def screen(self, x: Array, estimate: Array, radius: Array) -> Array:
        """Return the coordinates that are not surely at rest, and fill in ``score``."""
        given = (self.penalty, x.ravel(), estimate.ravel(), radius, self.norm, self.score)
        count = share_list(costs.COORDINATE * self.count, self._listed, screen_coordinates, *given)
        return self._listed[:count]

    def measure(self, x: Array, estimate: Array, radius: Array, listed: Array) -> Measured:
        """Return what the intervals of the ``listed`` coordinates say; their scores follow their intervals."""
        found = np.empty((4, parts_of(listed.size)))
        given = (self.penalty, x.ravel(), estimate.ravel(), radius, self.norm, listed, self.score, found)
        share(costs.COORDINATE * listed.size, found.shape[1], measure_coordinates, *given)
        scale = self.shrunk(float(found[0].min()))
        return Measured(scale, float(found[1].max()), float(found[2].sum()), float(found[3].sum()))

    def quick_gap(self, x: Array, estimate: Array, radius: Array, listed: Array, scale: float) -> tuple[float, bool]:
        """Return the sum of the finite terms, rounding not counted, and whether all are finite."""
        found = np.empty((2, parts_of(listed.size)))
        given = (self.penalty, x.ravel(), estimate.ravel(), radius, listed, scale, found)
        share(costs.COORDINATE * listed.size, found.shape[1], quick_coordinate_gaps, *given)
        return float(found[0].sum()), not found[1].any()

    def undecided(self, x: Array, estimate: Array, radius: Array) -> Array:
        """Return the coordinates that are not at rest for certain, rounding errors counted."""
        given = (self.penalty, x.ravel(), estimate.ravel(), radius)
        listed = np.empty(self.count, dtype=np.int64)
        count = share_list(costs.COORDINATE * self.count, listed, list_undecided_coordinates, *given)
        return listed[:count]

    def scale(self, estimate: Array, radius: Array, listed: Array, margin: float) -> float:
        """Return the largest s in [0, 1] with all Ψ_j*(−s·u_j) finite, made smaller by the share ``margin``."""
        return self.shrunk(float(scale_of_coordinates(self.penalty, estimate.ravel(), radius, listed)), margin)

    def gap(
        self, x: Array, estimate: Array, radius: Array, listed: Array, fixed: Array, scale: float
    ) -> tuple[float, float]:
        """Return the penalty's part of the gap and the size of its terms, for rounding errors.

        Products of ``fixed`` coordinates are exactly the estimate, whatever the scale.
        """
        given = (self.penalty, x.ravel(), estimate.ravel(), radius)
        gap, size = gap_of_coordinates(*given, listed, fixed, scale)
        return float(gap), float(size)

    def required(self, x: Array, estimate: Array, radius: Array, is_tight: bool, before: Array) -> tuple[Array, Array]:
        """Return the coordinates whose products no scale makes feasible, and the products that are (k, 1).

        Coordinates of ``before`` remain among them: where they require nothing now, they keep their product.
        """
        required, products = np.empty(self.count), estimate.ravel()
        given = (self.penalty, x.ravel(), products, radius, is_tight, required)
        share(costs.COORDINATE * self.count, self.count, required_products, *given)
        kept = before[np.isnan(required[before])]
        required[kept] = products[kept]
        fixed = np.flatnonzero(~np.isnan(required))
        return fixed, required[fixed, None]


class BlockTerms(Terms):
    """Sums over a penalty by block; the methods are those of ``CoordinateTerms``.

    Parameters
    ----------
    penalty : NamedTuple with the methods of ``ascd.protocols.BlockPenalty``
    norm : array of shape (n_blocks,), norms of the blocks of columns
    ends : array of shape (n_blocks + 1,), where blocks begin and end in the flat vector of coefficients
    outputs : number of outputs
    """

    is_by_coordinate = False

    def __init__(self, penalty: Any, norm: Array, ends: Array, outputs: int) -> None:
        longest = int(np.diff(ends).max())
        super().__init__(penalty, norm, longest, (2.0 * longest + 16.0) * UNIT)
        self.ends, self.outputs, self._room = ends, outputs, np.empty(longest)
        self.is_free = unpenalised(penalty, ends)
        self.free = np.flatnonzero(self.is_free)
        #: the length of a gradient up to which a block of zeros rests, None where that is not known
        self.rest_radius = penalty.resting_radii() if hasattr(penalty, "resting_radii") else None

    def cost_on(self, blocks: Array, x: Array) -> float:
        return float(cost_of_rows(self.penalty, blocks, self.ends, x.ravel()))

    def violation_on(self, blocks: Array, x: Array, gradient: Array) -> float:
        return float(largest_distance(self.penalty, blocks, self.ends, x.ravel(), gradient.ravel()))

    def screen(self, x: Array, estimate: Array, radius: Array) -> Array:
        listed = self.undecided(x, estimate, radius)
        self.score[:] = -1.0
        score_blocks(*self._given(x, estimate, radius), self.norm, listed, self.score)
        return listed

    def measure(self, x: Array, estimate: Array, radius: Array, listed: Array) -> Measured:
        found = measure_blocks(*self._given(x, estimate, radius), self.norm, listed, self._room, self.score)
        scale, violation, cost, infeasible = map(float, found)
        return Measured(self.shrunk(scale), violation, cost, infeasible)

    def quick_gap(self, x: Array, estimate: Array, radius: Array, listed: Array, scale: float) -> tuple[float, bool]:
        gap, _ = self.gap(x, estimate, radius, listed[~self.is_free[listed]], NO_INDICES, scale)
        return gap, math.isfinite(gap)

    def undecided(self, x: Array, estimate: Array, radius: Array) -> Array:
        blocks = np.arange(self.count)
        if self.rest_radius is not None:  # those that are not zero, or whose gradient may be long
            longest = lengths_of_blocks(estimate, self.ends) * (1.0 + self.margin) + radius
            moved = np.logical_or.reduceat(x.ravel() != 0.0, self.ends[:-1])
            with np.errstate(invalid="ignore"):
                blocks = np.flatnonzero(moved | ~(longest <= self.rest_radius * (1.0 - self.margin)))
        listed = np.empty(blocks.size + 1, dtype=np.int64)
        return listed[: list_undecided_blocks(*self._given(x, estimate, radius), blocks, self._room, listed)]

    def scale(self, estimate: Array, radius: Array, listed: Array, margin: float) -> float:
        found = scale_of_blocks(self.penalty, estimate.ravel(), radius, self.ends, listed, self._room)
        return self.shrunk(float(found), margin)

    def gap(
        self, x: Array, estimate: Array, radius: Array, listed: Array, fixed: Array, scale: float
    ) -> tuple[float, float]:
        gap, size = gap_of_blocks(*self._given(x, estimate, radius), listed, scale, self._room)
        if fixed.size:  # unpenalised blocks, whose products are exactly 0
            zero = np.zeros(x.size)
            more, larger = gap_of_blocks(*self._given(x, zero, zero[: self.count]), fixed, 1.0, self._room)
            gap, size = gap + more, size + larger
        return float(gap), float(size)

    def required(self, x: Array, estimate: Array, radius: Array, is_tight: bool, before: Array) -> tuple[Array, Array]:
        columns = int(np.diff(self.ends)[self.free].sum()) // self.outputs
        return self.free, np.zeros((columns, self.outputs))

    def _given(self, x: Array, estimate: Array, radius: Array) -> tuple[Any, ...]:
        """Return the first arguments of compiled sums over blocks."""
        return self.penalty, x.ravel(), estimate.ravel(), radius, self.ends


def parts_of(count: int) -> int:
    """Return the number of parts in which so many candidates are summed up; it does not depend on threads."""
    return max(1, -(-count // LISTED_A_PART))


# ---- penalties by coordinate


@helper
def positive_part(term: float) -> float:
    """Return 0 for a term that rounding made negative; nan stays nan, so that it cannot pass for a gap of 0."""
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
    digits are all there is.  Nothing lies beyond the end of the domain of Ψ_j*, if both ends are certainly inside.
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


@helper
def may_rest(penalty: Any, x: float, j: int, low: float, high: float) -> bool:
    """Return whether x_j is zero, where the penalty is smallest and has a kink."""
    return (x == 0.0) & (low <= 0.0) & (high >= 0.0) & (low < high) & (penalty.cost(x, j) == 0.0)


@helper
def kink_size(penalty: Any, j: int, low: float, high: float) -> float:
    """Return the size of what the ends of ∂Ψ_j(0) are made of; at a bound one of them is infinite."""
    return abs(low) + abs(high) if math.isfinite(low) and math.isfinite(high) else derivative_size(penalty, 0.0, j)


@helper
def inside_domain(penalty: Any, j: int, u: float) -> float:
    """Return u, or a number beside it that is certainly in the domain of Ψ_j*, whose ends may be rounded."""
    if penalty.dual_scale(u, j) >= 1.0:
        return u
    away = 4.0 * LAST_PLACES * (abs(u) + derivative_size(penalty, 0.0, j))
    if penalty.dual_scale(u - away, j) >= 1.0:
        return u - away
    return u + away if penalty.dual_scale(u + away, j) >= 1.0 else u


@helper
def violation_and_score(penalty: Any, x: float, j: int, g: float, r: float, norm: float) -> tuple[float, float]:
    """Return the signed violation of optimality, at most, for a gradient entry in g ± r; and the score.

    Both are negative where the coordinate surely stays at rest.  The score is else the violation over ‖a_j‖, and
    infinite where the coordinate is free to move.
    """
    low, high = penalty.subgradient(x, j)
    slack = violation_of(low, high, g)
    violation = slack + r if slack > -math.inf else slack
    if low == high:
        return violation, math.inf
    return violation, violation / norm if violation > 0.0 and norm > 0.0 else violation


@kernel
def cost_of(penalty: Any, columns: Array, values: Array) -> float:
    """Return Σ Ψ_j over some coordinates with these values."""
    total = 0.0
    for i in range(columns.size):
        total += penalty.cost(values[i], columns[i])
    return total


@kernel
def largest_violation(penalty: Any, columns: Array, values: Array, gradient: Array) -> float:
    """Return the largest violation of some coordinates with these values and gradient entries."""
    worst = 0.0
    for i in range(columns.size):
        low, high = penalty.subgradient(values[i], columns[i])
        worst = max(worst, violation_of(low, high, gradient[i]))
    return worst


@kernel
def subgradients(penalty: Any, x: Array, low: Array, high: Array) -> None:
    """Fill in the ends of ∂Ψ_j(x_j) of all coordinates."""
    for j in range(x.size):
        low[j], high[j] = penalty.subgradient(x[j], j)


@kernel
def screen_coordinates(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, score: Array, listed: Array, counts: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """List the coordinates not at rest of some parts (see ``share_list``).  The first loop is free of branches."""
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
            listed[wide(count)] = j
            count += 0 if score[j] <= 0.0 else 1
        for i in range(first, count):
            j = wide(listed[wide(i)])
            if score[j] == math.inf:
                _, score[j] = violation_and_score(penalty, x[j], j, estimate[j], radius[j], norm[j])
        counts[part] = count - first


@kernel
def measure_coordinates(
    penalty: Any, x: Array, estimate: Array, radius: Array, norm: Array, listed: Array, score: Array, out: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Fill in a ``Measured`` for each part of the listed coordinates."""
    for part in range(start, stop):
        first = part * LISTED_A_PART
        scale, steepest, cost, infeasible = 1.0, 0.0, 0.0, 0.0
        for i in range(first, min(first + LISTED_A_PART, listed.size)):
            j = wide(listed[wide(i)])
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
                    infeasible += violation * (abs(x[j]) + violation / max(norm[j] * norm[j], 1e-300))
        out[0, part], out[1, part], out[2, part], out[3, part] = scale, steepest, cost, infeasible


@kernel
def quick_coordinate_gaps(
    penalty: Any, x: Array, estimate: Array, radius: Array, listed: Array, scale: float, out: Array, start: int,
    stop: int,
) -> None:  # fmt: skip
    """Fill in, for each part of the listed coordinates, the sum of the finite terms and the number of the others."""
    for part in range(start, stop):
        first, total, infinite = part * LISTED_A_PART, 0.0, 0.0
        for i in range(first, min(first + LISTED_A_PART, listed.size)):
            j = wide(listed[wide(i)])
            left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
            term = term_between(penalty, x[j], j, left, right)
            if term < math.inf:
                total += positive_part(term)
            else:
                infinite += 1.0
        out[0, part], out[1, part] = total, infinite


@kernel
def list_undecided_coordinates(
    penalty: Any, x: Array, estimate: Array, radius: Array, listed: Array, counts: Array, start: int, stop: int
) -> None:
    """List the coordinates of some parts that are not at rest for certain (see ``share_list``)."""
    for part in range(start, stop):
        first = part * LISTED_A_PART
        count = first
        for number in range(first, min(first + LISTED_A_PART, x.size)):
            j = wide(number)
            listed[wide(count)] = j
            count += 0 if rests_for_certain(penalty, x[j], j, estimate[j], radius[j]) else 1
        counts[part] = count - first


@helper
def rests_for_certain(penalty: Any, x: float, j: int, g: float, r: float) -> bool:
    """Return whether a coordinate stays at zero for every gradient entry in g ± r, rounding errors counted."""
    low, high = penalty.subgradient(x, j)
    violation = violation_of(low, high, g) + r + LAST_PLACES * kink_size(penalty, j, low, high)
    return violation <= 0.0 and may_rest(penalty, x, j, low, high)  # nan is not


@kernel
def scale_of_coordinates(penalty: Any, estimate: Array, radius: Array, listed: Array) -> float:
    """Return the largest s in [0, 1] with s·u_j in the domain of Ψ_j*, for u_j in estimate ± radius."""
    scale = 1.0
    for i in range(listed.size):
        j = wide(listed[i])
        g, r = estimate[j], radius[j]
        scale = min(scale, penalty.dual_scale(-g - r, j), penalty.dual_scale(r - g, j))
    return scale


@kernel
def gap_of_coordinates(
    penalty: Any, x: Array, estimate: Array, radius: Array, listed: Array, fixed: Array, scale: float
) -> tuple[float, float]:
    """Return the sum of the terms of listed and fixed coordinates, and the sum of the sizes of their parts."""
    gap, size = 0.0, 0.0
    for i in range(listed.size):
        j = wide(listed[i])
        left, right = scale * (estimate[j] - radius[j]), scale * (estimate[j] + radius[j])
        term, parts = term_and_size(penalty, x[j], j, left, right)
        gap, size = gap + term, size + parts
    for i in range(fixed.size):
        j = wide(fixed[i])
        term, parts = term_and_size(penalty, x[j], j, estimate[j], estimate[j])
        gap, size = gap + term, size + parts
    return gap, size


@helper
def term_and_size(penalty: Any, x: float, j: int, left: float, right: float) -> tuple[float, float]:
    """Return the largest term of a coordinate for u_j in [left, right], and the size of its parts."""
    size = cost_size(penalty, x, j) + abs(x * left) + abs(x * right)
    return positive_part(largest_term(penalty, x, j, left, right)), size


@kernel
def required_products(
    penalty: Any, x: Array, estimate: Array, radius: Array, is_tight: bool, required: Array, start: int, stop: int
) -> None:
    """Fill in the nearest feasible product where scaling cannot make u_j feasible; nan elsewhere.

    Scaling fails where the domain of Ψ_j*(−u_j) ends at a point that s·u_j cannot reach.  Coordinates at such an end
    belong to these too, because a dual point that fits the others would push them over it.  With ``is_tight`` no scale
    below 1 is allowed, and all that would need one belong to these.
    """
    for number in range(start, stop):
        j = wide(number)
        required[j] = math.nan
        if is_required(penalty, x[j], j, estimate[j], radius[j], is_tight):
            low, high = penalty.subgradient(x[j], j)
            required[j] = -inside_domain(penalty, j, max(low, min(high, -estimate[j])))


@helper
def is_required(penalty: Any, x: float, j: int, g: float, r: float, is_tight: bool) -> bool:
    """Return whether no scale makes the product g ± r feasible (with ``is_tight`` none below 1 is allowed)."""
    low, high = penalty.subgradient(x, j)
    nearest = max(low, min(high, -g))
    far = 1.0 + abs(nearest)
    at_end = low == high and min(penalty.dual_scale(nearest - far, j), penalty.dual_scale(nearest + far, j)) <= 0.0
    fits = min(penalty.dual_scale(-g - r, j), penalty.dual_scale(r - g, j))
    return at_end or fits <= 0.0 or (is_tight and fits < 1.0)


@kernel
def penalty_conjugates(penalty: Any, products: Array, out: Array) -> None:
    """Fill in Ψ_j*(products_j)."""
    for j in range(out.size):
        out[j] = penalty.cost_conjugate(products[j], j)


# ---- penalties by block; ``ends`` says where blocks begin and end in flat vectors


@kernel
def cost_of_rows(penalty: Any, blocks: Array, ends: Array, x: Array) -> float:
    """Return Σ Ψ_b over some blocks, whose coefficients stand one after the other in x."""
    total, first = 0.0, 0
    for i in range(blocks.size):
        b = wide(blocks[i])
        last = first + ends[b + 1] - ends[b]
        total += penalty.block_cost(x[first:last], b)
        first = last
    return total


@kernel
def largest_distance(penalty: Any, blocks: Array, ends: Array, x: Array, g: Array) -> float:
    """Return the largest distance of −g_b from ∂Ψ_b(x_b) over some blocks, which stand one after the other."""
    most, first = 0.0, 0
    for i in range(blocks.size):
        b = wide(blocks[i])
        last = first + ends[b + 1] - ends[b]
        most = max(most, penalty.block_distance(x[first:last], g[first:last], b))
        first = last
    return most


@helper
def is_zero(x: Array) -> bool:
    """Return whether all entries are 0."""
    count = 0
    for p in range(x.size):
        count += x[p] != 0.0
    return count == 0


@kernel
def score_blocks(
    penalty: Any, x: Array, g: Array, radius: Array, ends: Array, norm: Array, listed: Array, score: Array
) -> None:
    """Fill in how far blocks may be from optimality, over their norm; infinite for those that are not zero."""
    for i in range(listed.size):
        b = wide(listed[i])
        first, last = ends[b], ends[b + 1]
        if is_zero(x[first:last]):
            distance = penalty.block_distance(x[first:last], g[first:last], b) + radius[b]
            score[b] = distance / norm[b] if norm[b] > 0.0 else distance
        else:
            score[b] = math.inf


@kernel
def measure_blocks(
    penalty: Any, x: Array, g: Array, radius: Array, ends: Array, norm: Array, listed: Array, room: Array, score: Array
) -> tuple[float, float, float, float]:
    """Return the fields of a ``Measured`` for the listed blocks."""
    scale, steepest, cost, infeasible = 1.0, 0.0, 0.0, 0.0
    for i in range(listed.size):
        b = wide(listed[i])
        first, last = ends[b], ends[b + 1]
        here, u = x[first:last], room[: last - first]
        distance = penalty.block_distance(here, g[first:last], b) + radius[b]
        if score[b] < math.inf:
            score[b] = distance / norm[b] if norm[b] > 0.0 else distance
        steepest = distance if distance > steepest or not distance >= 0.0 else steepest  # nan stays
        cost += penalty.block_cost(here, b)
        for p in range(u.size):
            u[p] = -g[first + p]
        fits = penalty.block_scale(u, radius[b], b)
        if fits > 0.0:
            scale = min(scale, fits)
        else:
            infeasible += distance * (length_of(here) + distance / max(norm[b] * norm[b], 1e-300))
    return scale, steepest, cost, infeasible


@kernel
def list_undecided_blocks(
    penalty: Any, x: Array, g: Array, radius: Array, ends: Array, blocks: Array, room: Array, out: Array
) -> int:
    """List those of some blocks that are not surely at rest: the terms of the others are 0 at every scale."""
    count = 0
    for i in range(blocks.size):
        b = wide(blocks[i])
        first, last = ends[b], ends[b + 1]
        is_known = radius[b] < math.inf and length_of(g[first:last]) < math.inf  # nan is not
        rests = is_known and is_zero(x[first:last]) and penalty.block_cost(x[first:last], b) == 0.0
        if rests:
            for p in range(first, last):
                room[p - first] = -g[p]
            rests = penalty.block_conjugate(room[: last - first], radius[b], b) == 0.0
        out[count] = b
        count += 0 if rests else 1
    return count


@kernel
def scale_of_blocks(penalty: Any, g: Array, radius: Array, ends: Array, blocks: Array, room: Array) -> float:
    """Return the largest s in [0, 1] for which all Ψ_b*(−s·g_b) are finite, for g_b within the radius."""
    scale = 1.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        first, last = ends[b], ends[b + 1]
        for p in range(first, last):
            room[p - first] = -g[p]
        scale = min(scale, penalty.block_scale(room[: last - first], radius[b], b))
    return scale


@kernel
def gap_of_blocks(
    penalty: Any, x: Array, g: Array, radius: Array, ends: Array, blocks: Array, scale: float, room: Array
) -> tuple[float, float]:
    """Return Σ_b Ψ_b(x_b) + Ψ_b*(−s·g_b) + s⟨x_b, g_b⟩, the largest for g_b within the radius; and the terms' size."""
    gap, size = 0.0, 0.0
    for i in range(blocks.size):
        b = wide(blocks[i])
        first, last = ends[b], ends[b + 1]
        product, parts = 0.0, 0.0
        for p in range(first, last):
            room[p - first] = -scale * g[p]
        for p in range(first, last):
            product += x[p] * g[p]
            parts += abs(x[p] * g[p])
        cost = penalty.block_cost(x[first:last], b)
        width = scale * radius[b]
        term = cost + penalty.block_conjugate(room[: last - first], width, b) + scale * product
        gap += positive_part(term + width * length_of(x[first:last]) * (1.0 + 1e-12))
        size += (last - first + 8.0) * (abs(cost) + scale * parts)
    return gap, size


def unpenalised(penalty: Any, ends: Array) -> Array:
    """Return which blocks allow no dual product but 0.  Those with a bound at 0 and nothing else allow one sign."""
    found, vector = np.zeros(ends.size - 1, dtype=np.bool_), np.ones(int(np.diff(ends).max()))
    find_unscaled(penalty, ends, vector, found)
    if found.any():
        other = np.zeros(found.size, dtype=np.bool_)
        find_unscaled(penalty, ends, -vector, other)
        found &= other
    return found


@kernel
def find_unscaled(penalty: Any, ends: Array, vector: Array, out: Array) -> None:
    """Fill in which blocks allow no multiple of the vector."""
    for b in range(ends.size - 1):
        out[b] = penalty.block_scale(vector[: ends[b + 1] - ends[b]], 0.0, b) <= 0.0
