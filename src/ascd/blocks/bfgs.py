"""Limited-memory BFGS for a smooth convex F, with lines along which F costs no product with the data.

Points and directions know their images, so that F and its slope at every length t of a line x + t·p are a look at the
losses.  Vectors u have duals u′ with ⟨u, v⟩ = uᵀv′: themselves, or where a space has another inner product, their
images (``variables.Span``).  With steps s and changes y of the gradient as rows of one matrix, R the upper triangle of
SᵀY (rows and columns from the oldest pair to the newest), D its diagonal and γ = ⟨s, y⟩/⟨y, y⟩ of the last,

    −p = γ·g + S·R⁻ᵀ[(D + γYᵀY)a − γYᵀg] − γY·a,      a = R⁻¹Sᵀg

(Byrd, Nocedal and Schnabel, 1994): one pass over the pairs for their products with g, another for p.  Their products
with each other need none: ⟨s_i, y⟩ = ⟨s_i, g_new⟩ − ⟨s_i, g⟩, and so for ⟨y_i, y⟩.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from ascd._core.checks import Array
from ascd.blocks import tuning


class Vector(NamedTuple):
    """A vector and its dual, which may be the same array."""

    plain: Array
    dual: Array

    def plus(self, factor: float, other: Vector) -> Vector:
        plain = self.plain + factor * other.plain
        return Vector(plain, plain if self.dual is self.plain else self.dual + factor * other.dual)


class Pairs:
    """The last steps and changes of the gradient: rows 2i and 2i + 1, ``order`` from the oldest i to the newest."""

    def __init__(self, size: int, has_duals: bool) -> None:
        memory = pairs_kept(size, has_duals)
        self.rows = np.empty((2 * memory, size))
        self.duals = np.empty((2 * memory, size)) if has_duals else self.rows
        self.steps, self.changes = np.zeros((2, memory, memory))  # ⟨s_i, y_j⟩ for j no older than i, ⟨y_i, y_j⟩
        self.order: list[int] = []
        self.known, self.used = np.zeros(2 * memory), 0  # products of the rows with the last gradient

    def look(self, gradient: Vector) -> None:
        """One pass: the products with a gradient."""
        self.known[: self.used] = self.rows[: self.used] @ gradient.dual

    def direction(self, gradient: Vector) -> Vector:
        """−Hg; −g where there are no pairs."""
        if not self.order:
            return Vector(-gradient.plain, -gradient.plain if gradient.dual is gradient.plain else -gradient.dual)
        at = np.array(self.order)
        steps, changes = self.steps[at[:, None], at], self.changes[at[:, None], at]  # dtrtrs reads the upper triangle
        own, last = np.diagonal(steps), self.order[-1]
        gamma = self.steps[last, last] / self.changes[last, last]
        along = dtrtrs(steps, self.known[2 * at])[0]
        right = own * along + gamma * (changes @ along - self.known[2 * at + 1])
        factors = np.zeros(self.used)
        factors[2 * at] = -dtrtrs(steps, right, trans=1)[0]
        factors[2 * at + 1] = gamma * along
        return Vector(*self._combined(factors, -gamma, gradient))

    def _combined(self, factors: Array, share: float, gradient: Vector) -> tuple[Array, Array]:
        plain = factors @ self.rows[: self.used]
        plain += share * gradient.plain
        if gradient.dual is gradient.plain:
            return plain, plain
        dual = factors @ self.duals[: self.used]
        dual += share * gradient.dual
        return plain, dual

    def add(self, length: float, way: Vector, before: Vector, slope: float, gradient: Vector) -> None:
        """A step of that length from a point with gradient ``before``, and slope along the way, to ``gradient``."""
        memory = self.steps.shape[0]
        place = self.order.pop(0) if len(self.order) == memory else len(self.order)
        if self.used == 2 * len(self.order):
            self.used += 2
        old = self.known.copy()
        for rows, of in {id(self.rows): (self.rows, 0), id(self.duals): (self.duals, 1)}.values():
            np.multiply(way[of], length, out=rows[2 * place])
            np.subtract(gradient[of], before[of], out=rows[2 * place + 1])
        self.look(gradient)
        change = self.known - old
        change[2 * place] = self.known[2 * place] - length * slope
        change[2 * place + 1] = float(self.rows[2 * place + 1] @ self.duals[2 * place + 1])
        self.steps[:, place] = change[0::2]
        self.changes[:, place] = self.changes[place, :] = change[1::2]
        if change[2 * place] > tuning.STRAIGHT * abs(length * slope) and change[2 * place + 1] > 0.0:
            self.order.append(place)
        else:  # no curvature but rounding: begin afresh
            self.order, self.used = [], 0


def pairs_kept(size: int, has_duals: bool) -> int:
    """How many pairs are remembered: more of long vectors, whose steps cost more, as far as memory goes."""
    if size < tuning.LONG_VECTOR:
        return tuning.SMOOTH_MEMORY
    room = int(tuning.MEMORY_NUMBERS // (4 * size if has_duals else 2 * size))
    return max(tuning.SMOOTH_MEMORY, min(tuning.LONG_MEMORY, room))


class Line(NamedTuple):
    """F at a length t: its value, its slope along the line, and the slopes of the losses."""

    value: float
    slope: float
    slopes: Any


def search(at: Callable[[float], Line], start: Line, length: float) -> tuple[float, Line] | None:
    """A length at which F has fallen enough and its slope is flat enough (Wolfe); None where rounding hides it.

    F is convex: where its slope along the line is still steep the length is too short, where it rises too long.
    """
    low, high, slope_low, slope_high = 0.0, math.inf, start.slope, math.nan
    for _ in range(tuning.MOST_LENGTHS):
        there = at(length)
        most = start.value + tuning.LEAST_FALL * length * start.slope + tuning.UNSEEN_FALL * abs(start.value)
        if not (there.value <= most and there.slope <= -tuning.FLAT_ENOUGH * start.slope):
            high, slope_high = length, there.slope
        elif there.slope < tuning.FLAT_ENOUGH * start.slope:
            low, slope_low = length, there.slope
        else:
            return length, there
        if high == math.inf:
            length *= tuning.LONGER
            continue
        share = slope_low / (slope_low - slope_high) if slope_high > 0.0 else 0.5  # where the slope would be 0
        share = share if math.isfinite(share) else tuning.LINE_MARGIN
        length = low + min(max(share, tuning.LINE_MARGIN), 1.0 - tuning.LINE_MARGIN) * (high - low)
    return None
