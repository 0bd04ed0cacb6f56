"""What is steep?  Scores of blocks, with a sign, and how fast they change with the gradient.

With g = ∇_b f(X) and the model V(Y) = ⟨g, Y⟩ + L/2·‖Y‖² + Ψ_b(X_b + Y) − Ψ_b(X_b), minimised at Y*, the scores are
those of ``ascd.engine.steepness``: dist(−g, ∂Ψ_b(X_b)), L‖Y*‖ and √(−2L·min V), divided by √L_b with L = L_b where
they are Lipschitz-scaled.  All of them are ``rate``-Lipschitz in g (rate = 1, or 1/√L_b), for the same reasons as for
single coordinates, so that over a ball of radius r around g

    max(0, score(g) − rate·r)  ≤  score  ≤  max(0, score(g) + rate·r).

Where the score is 0 it is replaced by rate·slack ≤ 0, where −slack is a distance that −g can move without leaving
∂Ψ_b(X_b): along every line the two pieces meet at 0, so the whole is Lipschitz as well, and a block whose ball lies
inside has the upper bound 0.  A penalty tells its slack by ``block_slack``; of one that does not the slack at 0 is
found with its conjugate, which is 0 on ∂Ψ_b(0), in a few evaluations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd._core.contracts import check_methods
from ascd._core.jit import at, helper, optional_method
from ascd.blocks.engine.parts import BlockParts
from ascd.blocks.lengths import distance_between, length_of
from ascd.blocks.tuning import DEPTH_HALVINGS, DEPTH_SCALES
from ascd.engine.steepness import STEEPNESS
from ascd.engine.tuning import BEND_ROUNDING
from ascd.protocols import BlockSteepness


@optional_method
def block_slack(penalty: Any, x: Array, g: Array, b: int) -> float:
    """The distance of −g from ∂Ψ_b(x); inside, minus a distance from its boundary."""
    distance = penalty.block_distance(x, g, b)
    return -depth_at_rest(penalty, x, g, b) if distance <= 0.0 else distance  # what is no number stays none


@helper
def depth_at_rest(penalty: Any, x: Array, g: Array, b: int) -> float:
    """A radius within which −g stays in ∂Ψ_b(0), at least half as large as the largest; 0 where x is not 0."""
    for i in range(x.size):
        if x[i] != 0.0:
            return 0.0
    if penalty.block_cost(x, b) != 0.0:
        return 0.0
    for i in range(g.size):
        g[i] = -g[i]
    radius = length_of(g)
    radius = radius if radius > 0.0 else 1.0
    found = 0.0
    for _ in range(DEPTH_SCALES):  # up while it fits
        if penalty.block_conjugate(g, radius, b) != 0.0:
            break
        found = radius
        radius *= 2.0
    for _ in range(DEPTH_SCALES):  # or down until it does
        if found > 0.0:
            break
        radius *= 0.5
        if penalty.block_conjugate(g, radius, b) == 0.0:
            found = radius
    step = found
    for _ in range(DEPTH_HALVINGS):
        step *= 0.5
        if step > 0.0 and penalty.block_conjugate(g, found + step, b) == 0.0:
            found += step
    for i in range(g.size):
        g[i] = -g[i]
    return found


class BlockSubgradient(NamedTuple):
    """GS-s: the smallest subgradient, times ``scale`` (1, or 1/√L_b)."""

    scale: Any

    def block_rate(self, b: int) -> float:
        return at(self.scale, b)

    def block_score(self, penalty: Any, b: int, x: Array, g: Array) -> float:
        return at(self.scale, b) * block_slack(penalty, x, g, b)


class BlockDisplacement(NamedTuple):
    """GS-r: the length of the model's step, times ``scale`` (L, or √L_b)."""

    lipschitz: Any
    scale: Any
    room: Array

    def block_rate(self, b: int) -> float:
        return at(self.scale, b) / at(self.lipschitz, b)

    def block_score(self, penalty: Any, b: int, x: Array, g: Array) -> float:
        moved = model_step(penalty, b, x, g, at(self.lipschitz, b), self.room)
        if moved > 0.0:
            return at(self.scale, b) * moved
        return min(0.0, self.block_rate(b) * block_slack(penalty, x, g, b))


class BlockProgress(NamedTuple):
    """GS-q: the decrease that the model promises, as √(2·scale·decrease) with ``scale`` L, or 1."""

    lipschitz: Any
    scale: float
    room: Array

    def block_rate(self, b: int) -> float:
        return math.sqrt(self.scale / at(self.lipschitz, b))

    def block_score(self, penalty: Any, b: int, x: Array, g: Array) -> float:
        lipschitz = at(self.lipschitz, b)
        moved = model_step(penalty, b, x, g, lipschitz, self.room)
        if moved == 0.0:
            return min(0.0, self.block_rate(b) * block_slack(penalty, x, g, b))
        tangent, size = 0.0, 0.0
        for i in range(x.size):
            y = self.room[i] - x[i]
            tangent += (g[i] + lipschitz * y) * y
            size += abs((g[i] + lipschitz * y) * y)
        before, after = penalty.block_cost(x, b), penalty.block_cost(self.room[: x.size], b)
        bend = before - after - tangent
        if bend <= BEND_ROUNDING * x.size * (abs(before) + abs(after) + size):
            bend = 0.0
        return math.sqrt(2.0 * self.scale * (0.5 * lipschitz * moved * moved + bend))


@helper
def model_step(penalty: Any, b: int, x: Array, g: Array, lipschitz: float, room: Array) -> float:
    """The minimiser of the model goes to ``room``; its distance from x."""
    for i in range(x.size):
        room[i] = x[i] - g[i] / lipschitz
    penalty.block_prox(room[: x.size], 1.0 / lipschitz, b)
    return distance_between(room[: x.size], x)


class Scored(NamedTuple):
    """The steepness that rules see: estimates are scores, and bounds are as far from them as radii allow."""

    scorer: Any
    rate: Array

    def rates(self, norm: Array) -> Array:
        product: Array = self.rate * norm
        return product

    def falls_evenly(self) -> bool:
        return True

    def score(self, penalty: Any, j: int, x: float, g: float) -> float:
        return max(0.0, g)

    def bounds(self, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]:
        lower, upper = g - self.rate[j] * r, g + self.rate[j] * r
        # a slack of −∞ and r = ∞ give nan, which the comparison turns into 0
        return (lower if lower > 0.0 else 0.0), (upper if upper > 0.0 else 0.0)

    def signed_upper(self, penalty: Any, j: int, x: float, g: float, r: float) -> float:
        return g + self.rate[j] * r if g > -math.inf else g


def as_block_steepness(steepness: Any, parts: BlockParts) -> Scored:
    """The compiled steepness for a name, or the user's own after a check of its methods."""
    count = parts.norm.size
    scorer = _named(steepness, parts) if isinstance(steepness, str) else steepness
    check_methods(scorer, BlockSteepness, "steepness")
    rate = np.array([scorer.block_rate(b) for b in range(count)], dtype=np.float64)
    if not (np.isfinite(rate).all() and (rate > 0.0).all()):
        raise ValueError(f"steepness {type(scorer).__name__}: block_rate must be positive and finite for every block")
    return Scored(scorer, rate)


def _named(steepness: str, parts: BlockParts) -> Any:
    if steepness not in STEEPNESS:
        raise unknown_name(steepness, "steepness", STEEPNESS)
    family, scaled, smooth_only = STEEPNESS[steepness]
    longest = int(np.diff(parts.ends).max())
    if smooth_only and not getattr(parts.penalty, "is_smooth", bool)():
        others = ", ".join(name for name, row in STEEPNESS.items() if not row[2])
        raise ValueError(
            f"steepness {steepness!r} needs a block penalty that is smooth (none, or a ridge alone); "
            f"{type(parts.penalty).__name__} is not here: use {others}"
        )
    root: Array = np.sqrt(parts.lipschitz)
    if family == "s":
        return BlockSubgradient(1.0 / root if scaled else 1.0)
    if family == "r":
        scale: Any = root if scaled else parts.largest
        return BlockDisplacement(parts.lipschitz if scaled else parts.largest, scale, np.empty(longest))
    if scaled:
        return BlockProgress(parts.lipschitz, 1.0, np.empty(longest))
    return BlockProgress(parts.largest, parts.largest, np.empty(longest))
