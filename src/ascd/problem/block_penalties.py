"""Penalties of blocks, Σ_b Ψ_b(x_b): groups of columns, rows of outputs, or both (``ascd.protocols.BlockPenalty``).

``GroupL2``, ``SparseGroup`` and ``L21`` name special cases of ``BlockNorm``.  With soft(u) the entries of u beyond ±l1
(those above l1, where only non-negative coefficients are allowed),

    Ψ_b(x) = l1_b·‖x‖₁ + group_b·‖x‖ + ½·ridge_b·‖x‖²,      Ψ_b*(u) = max(0, ‖soft(u)‖ − group_b)²/(2·ridge_b),

which for ridge_b = 0 is the indicator of ‖soft(u)‖ ≤ group_b.  The norm of soft(u) is 1-Lipschitz, so over a ball
around u it grows by the radius at most.  ``Entrywise`` applies a penalty by coordinate to all entries of a row.

Inside the solver coefficients are in the order of ``Groups``, so that a block is contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number, as_parameter
from ascd._core.contracts import asked
from ascd._core.jit import helper
from ascd.problem.arithmetic import length_from, length_of, violation_of
from ascd.problem.penalties import cost_size, derivative_size, piece, soft_threshold
from ascd.problem.tuning import LARGEST_STRENGTH, LAST_PLACES


@dataclass(frozen=True, eq=False)
class Groups:
    """Blocks of columns: block b is ``order[starts[b] : starts[b + 1]]``, and each column belongs to one."""

    order: Array
    starts: Array

    @property
    def count(self) -> int:
        return self.starts.size - 1

    @cached_property
    def sizes(self) -> Array:
        return self.starts[1:] - self.starts[:-1]

    def columns(self, blocks: Array) -> Array:
        """Return positions in ``order`` of the columns of some blocks, which are in rising order."""
        if blocks.size == self.count:
            return np.arange(self.order.size)
        first = self.starts[blocks]
        sizes = self.starts[blocks + 1] - first
        return np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())


def as_groups(groups: Any, n: int) -> Groups:
    """Return the partition of n columns that a user means.

    - None: every column by itself
    - a number: that many neighbours each
    - a list of lists: the columns of each group
    - n labels, one a column: columns with the same label are a group, in the order of the labels
    - integers that add up to n: sizes of groups of neighbours
    """
    if isinstance(groups, Groups):
        return groups
    groups = 1 if groups is None else groups
    if isinstance(groups, Integral) and not isinstance(groups, bool):
        if groups < 1 or n % groups:
            raise ValueError(f"groups={groups} must be positive and divide the number of columns, {n}")
        return Groups(np.arange(n), np.arange(0, n + 1, int(groups)))
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must be a number, sizes, labels or lists of columns; got {groups!r}")
    given = list(groups)
    if given and all(isinstance(part, Iterable) and not isinstance(part, str) for part in given):
        labels = _labels_of_lists([np.asarray(list(part)) for part in given], n)
    else:
        labels = _labels_of_numbers(np.asarray(given), n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return Groups(np.argsort(labels, kind="stable"), starts)


def _labels_of_numbers(given: Array, n: int) -> Array:
    total = int(given.sum()) if given.dtype.kind in "iu" else None
    if total == n and given.size == n > 1 and (given == 1).all():
        # n others that add up to n are no sizes: one of them is 0 or less
        raise ValueError(
            f"groups can be read as {n} labels and as {n} sizes: pass lists of columns, or groups=1 for single columns"
        )
    if total == n and (given.size != n or n == 1):
        if given.min() < 1:
            raise ValueError(f"groups: group {int(np.argmax(given < 1))} is empty; sizes must be at least 1")
        return np.repeat(np.arange(given.size), given)
    if given.size != n:
        raise ValueError(
            f"groups must be one label for each of the {n} columns, sizes that add up to {n}, or lists of columns; got "
            f"{given.size} entries" + ("" if total is None else f" that add up to {total}")
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(f"groups: the label of column {int(np.argmax(np.isnan(given)))} is nan")
    return np.unique(given, return_inverse=True)[1].ravel()


def _labels_of_lists(parts: list[Array], n: int) -> Array:
    labels = np.full(n, -1)
    for number, part in enumerate(parts):
        if part.size == 0:
            raise ValueError(f"groups: group {number} is empty")
        if part.dtype.kind not in "iu" or part.ndim != 1:
            raise TypeError(f"groups: group {number} must list column numbers; got {part.tolist()!r}")
        for column in part.tolist():
            if not 0 <= column < n:
                raise ValueError(f"groups: group {number} has column {column}, and columns are 0 .. {n - 1}")
            if labels[column] == number:
                raise ValueError(f"groups: group {number} has column {column} more than once")
            if labels[column] >= 0:
                both = f"group {labels[column]} and in group {number}"
                raise ValueError(f"groups must not overlap: column {column} is in {both}")
            labels[column] = number
    missing = np.flatnonzero(labels < 0)
    if missing.size:
        raise ValueError(f"groups must cover all columns: {missing.size} are in none, the first is column {missing[0]}")
    return labels


# ---- penalties


@helper
def length_beyond(u: Array, scale: float, threshold: float, positive: bool) -> float:
    """Return ‖soft(scale·u)‖, or more where squares lose digits; 0 where it is 0."""
    total, most = 0.0, 0.0
    for i in range(u.size):
        part = soft_threshold(scale * u[i], threshold, positive)
        total += part * part
        most = max(most, abs(part))
    return length_from(total, most, u.size)


@helper
def largest_entry(u: Array, positive: bool) -> float:
    """Return the largest |u_i|, or the largest u_i where only non-negative coefficients are allowed."""
    most = 0.0
    for i in range(u.size):
        most = max(most, u[i] if positive else abs(u[i]))
    return most


class BlockNorm(NamedTuple):
    """l1·‖x‖₁ + group·‖x‖ + ½·ridge·‖x‖², one number a block each; with ``positive`` x ≥ 0."""

    group: Array
    l1: Array
    ridge: Array
    positive: bool

    def block_cost(self, x: Array, b: int) -> float:
        total = 0.0
        for i in range(x.size):
            if self.positive and x[i] < 0.0:
                return math.inf
            total += abs(x[i])
        length = length_of(x)
        return self.l1[b] * total + self.group[b] * length + 0.5 * self.ridge[b] * length * length

    def block_prox(self, v: Array, step: float, b: int) -> None:
        threshold = step * self.l1[b]
        length = length_beyond(v, 1.0, threshold, self.positive)
        kept = length - step * self.group[b]
        factor = kept / (length * (1.0 + step * self.ridge[b])) if kept > 0.0 else 0.0
        for i in range(v.size):
            v[i] = factor * soft_threshold(v[i], threshold, self.positive)

    def block_distance(self, x: Array, g: Array, b: int) -> float:
        group, l1, ridge, length = self.group[b], self.l1[b], self.ridge[b], length_of(x)
        if length == 0.0:
            return max(0.0, length_beyond(g, -1.0, l1, self.positive) - group)
        square, most = 0.0, 0.0
        for i in range(x.size):
            if x[i] != 0.0:
                away = g[i] + group * (x[i] / length) + ridge * x[i] + math.copysign(l1, x[i])
            else:
                away = soft_threshold(-g[i], l1, self.positive)
            square, most = square + away * away, max(most, abs(away))
        return length_from(square, most, x.size)

    def block_conjugate(self, u: Array, radius: float, b: int) -> float:
        over = length_beyond(u, 1.0, self.l1[b], self.positive) + radius - self.group[b]
        is_inside = self.group[b] == 0.0 and largest_entry(u, self.positive) + radius <= self.l1[b]
        if over <= 0.0 or is_inside:
            return 0.0
        if self.ridge[b] == 0.0:
            return math.inf
        share = math.hypot(over / math.sqrt(self.ridge[b]), 0.0)  # a call: the compiler must not square ``over`` first
        return 0.5 * share * share

    def block_scale(self, u: Array, radius: float, b: int) -> float:
        if self.block_conjugate(u, radius, b) < math.inf:
            return 1.0
        if self.group[b] == 0.0:
            return self.l1[b] / (largest_entry(u, self.positive) + radius)
        low, high = self.group[b] / (length_beyond(u, 1.0, 0.0, self.positive) + radius), 1.0
        for _ in range(60 if self.l1[b] > 0.0 else 0):  # halves the logarithm of high/low: all digits of a float64
            middle = math.sqrt(low) * math.sqrt(high)
            if length_beyond(u, middle, self.l1[b], self.positive) + middle * radius <= self.group[b]:
                low = middle
            else:
                high = middle
        return low

    def block_piece(self, x: Array, b: int, slope: Array) -> tuple[float, float]:
        kink, length = self.group[b], length_of(x)
        is_at_kink = kink > 0.0 and length == 0.0
        for i in range(x.size):
            is_kink = x[i] == 0.0 and (self.positive or self.l1[b] > 0.0)
            along = kink * (x[i] / length) if length > 0.0 else 0.0
            smooth = along + self.ridge[b] * x[i] + math.copysign(self.l1[b], x[i])
            slope[i] = math.nan if is_at_kink or is_kink else smooth
        return kink, self.ridge[b]

    def is_smooth(self) -> bool:
        return not (self.group.any() or self.l1.any() or self.positive)

    def scaled(self, factor: float) -> BlockNorm:
        return BlockNorm(factor * self.group, factor * self.l1, factor * self.ridge, self.positive)


#: Returns a number in the range of strengths.
as_strength = partial(as_number, low=0.0, high=LARGEST_STRENGTH)


class NormOfBlocks(NamedTuple):
    """The parameters of a ``BlockNorm`` whose blocks are not known yet; ``weights`` multiply ``group``."""

    group: float
    l1: float
    ridge: float
    groups: Any
    weights: Any
    positive: bool

    def compiled(self, groups: Groups) -> BlockNorm:
        """Return the compiled penalty with one number a block of each strength, its weights checked."""
        count, weights = groups.count, self.weights
        if isinstance(weights, str) and weights != "sqrt":
            raise ValueError(f"weights must be one number for each group, 'sqrt' or None; got {weights!r}")
        weights = np.sqrt(groups.sizes) if isinstance(weights, str) else 1.0 if weights is None else weights
        factor = np.broadcast_to(as_parameter(weights, "weights", count, low=0.0), count)
        with np.errstate(over="ignore"):
            strength = self.group * factor
        if strength.max() > LARGEST_STRENGTH:
            raise ValueError(f"weights times the strength must be at most {LARGEST_STRENGTH:g}; got {strength.max():g}")
        if self.positive and self.l1 == 0.0 and self.ridge == 0.0 and (strength == 0.0).any():
            raise ValueError(f"positive=True needs a penalty on every group; group {int(np.argmin(strength))} has none")
        return BlockNorm(strength, np.full(count, self.l1), np.full(count, self.ridge), self.positive)


def GroupL2(
    strength: float, groups: Any = None, weights: Any = None, ridge: float = 0.0, positive: bool = False
) -> NormOfBlocks:
    """strength·Σ_b weight_b·‖x_b‖ + ½·ridge·‖x‖², over groups of columns (and all outputs together).

    Parameters
    ----------
    strength : float
    groups : number, sizes, labels or lists of columns
        A number means that many neighbours each; integers that add up to the number of columns are sizes; one label a
        column, or one list of columns a group.
    weights : array with one number a group, "sqrt" (√size) or None (1 each)
        0 leaves a group without this penalty.
    ridge : float
    positive : bool
        Only non-negative coefficients; then every group needs a penalty.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((30, 6))
    >>> penalty = ascd.GroupL2(12.0, groups=[[0, 3], [1, 4], [2, 5]])
    >>> solution = ascd.solve(ascd.Problem(A, A[:, 0] - A[:, 3], penalty=penalty))
    >>> np.flatnonzero(solution.x).tolist()
    [0, 3]
    """
    strength, ridge = as_strength(strength, "strength"), as_strength(ridge, "ridge")
    return NormOfBlocks(strength, 0.0, ridge, groups, weights, bool(positive))


def SparseGroup(
    l1: float, l2: float, groups: Any = None, weights: Any = None, ridge: float = 0.0, positive: bool = False
) -> NormOfBlocks:
    """l1·‖x‖₁ + l2·Σ_b weight_b·‖x_b‖ + ½·ridge·‖x‖²: few groups, and few coefficients in them.

    Parameters
    ----------
    l1, l2 : float
    groups, weights, ridge, positive : as in ``GroupL2``; weights multiply l2

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((30, 6))
    >>> problem = ascd.Problem(A, A[:, 0], penalty=ascd.SparseGroup(4.0, 2.0, groups=3))
    >>> np.flatnonzero(ascd.solve(problem).x).tolist()
    [0]
    """
    return GroupL2(as_strength(l2, "l2"), groups, weights, ridge, positive)._replace(l1=as_strength(l1, "l1"))


def L21(strength: float, weights: Any = None, ridge: float = 0.0) -> NormOfBlocks:
    """strength·Σ_j weight_j·‖row j of X‖ + ½·ridge·‖X‖²: a column is used by all outputs or by none.

    Parameters
    ----------
    strength : float
    weights : array with one number a column, or None (1 each)
    ridge : float

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((30, 6))
    >>> solution = ascd.solve(ascd.Problem(A, A[:, [0, 1]], penalty=ascd.L21(4.0)))
    >>> np.flatnonzero(solution.x.any(axis=1)).tolist()
    [0, 1]
    """
    return GroupL2(strength, None, weights, ridge)


class Entrywise(NamedTuple):
    """A penalty by coordinate, applied to every entry of the rows of coefficients.

    A block is one column with its T outputs: Ψ_b(x) = Σ_i Ψ_j(x_i) with j = b.  A product u_i known within a radius
    lies in an interval; Ψ_j* is convex and its domain an interval, so both are worst at its ends.
    """

    penalty: Any

    def block_cost(self, x: Array, b: int) -> float:
        total = 0.0
        for i in range(x.size):
            cost = self.penalty.cost(x[i], b)
            total += cost
            if abs(cost) < math.inf:  # where terms of the cost cancel, their rounding errors are counted here
                total += LAST_PLACES * max(0.0, cost_size(self.penalty, x[i], b) - abs(cost))
        return total

    def block_prox(self, v: Array, step: float, b: int) -> None:
        for i in range(v.size):
            v[i] = self.penalty.prox(v[i], step, b)

    def block_distance(self, x: Array, g: Array, b: int) -> float:
        square, most = 0.0, 0.0
        for i in range(x.size):
            low, high = self.penalty.subgradient(x[i], b)
            away = max(0.0, violation_of(low, high, g[i]))
            square, most = square + away * away, max(most, away)
        return length_from(square, most, x.size)

    def block_conjugate(self, u: Array, radius: float, b: int) -> float:
        total, size = 0.0, derivative_size(self.penalty, 0.0, b)
        for i in range(u.size):
            left, right = u[i] - radius, u[i] + radius
            if not (self.penalty.dual_scale(left, b) >= 1.0 and self.penalty.dual_scale(right, b) >= 1.0):
                return math.inf
            value = max(self.penalty.cost_conjugate(left, b), self.penalty.cost_conjugate(right, b))
            around = LAST_PLACES * (abs(left) + abs(right) + size)  # rounding errors of Ψ_j* itself
            for end in (left - around, right + around):
                wider = self.penalty.cost_conjugate(end, b)
                value = max(value, wider) if wider < math.inf else value
            total += value
        return total

    def block_scale(self, u: Array, radius: float, b: int) -> float:
        scale = 1.0
        for i in range(u.size):
            scale = min(scale, self.penalty.dual_scale(u[i] - radius, b), self.penalty.dual_scale(u[i] + radius, b))
        return scale

    def block_piece(self, x: Array, b: int, slope: Array) -> tuple[float, float]:
        most = 0.0
        for i in range(x.size):
            curvature, low, high = piece(self.penalty, x[i], b)
            most = max(most, curvature)
            slope[i] = self.penalty.subgradient(x[i], b)[0] if low < x[i] < high else math.nan
        return 0.0, most

    def is_smooth(self) -> bool:
        return asked(self.penalty, "is_smooth", False)

    def scaled(self, factor: float) -> Entrywise:
        return self._replace(penalty=self.penalty.scaled(factor))
