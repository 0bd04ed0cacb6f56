"""Steepness: scores for coordinates of a composite problem, and their bounds over an interval.

With g = ∇_j f(x), ∂Ψ_j(x) = [a, b] and the model V(y) = g·y + L/2·y² + Ψ_j(x + y) − Ψ_j(x), minimised at y*:

========  ===============================  ==========================================
name      score                            Lipschitz-scaled form (L becomes L_j)
========  ===============================  ==========================================
gs        |g + Ψ_j'(x)|, smooth Ψ only     gsl: divided by √L_j
gs-s      dist(−g, ∂Ψ_j(x))                gsl-s: divided by √L_j
gs-r      L·|y*|                           gsl-r: √L_j·|y*|
gs-q      √(−2L·min V)                     gsl-q: √(−2·min V)
========  ===============================  ==========================================

All unscaled scores have the unit of a gradient and equal |g| where Ψ = 0; half the square of a scaled score is
the decrease of F that it stands for.  As functions of g all of them are convex with minimum 0 on −∂Ψ_j(x)
(y* is monotone in g; −min V is a maximum of affine functions of g), so over an interval [lo, hi] = g ± r

    upper = max(score(lo), score(hi)),
    lower = score(lo) if the interval lies right of −a,  score(hi) if left of −b,  0 otherwise.

All are Lipschitz in g: ``rates`` gives the constant times ‖a_j‖, how fast bounds can grow with the accumulated step
length.  ``signed_upper`` is the upper bound with its sign: for gs-s the slack + r, negative while the interval proves
the coordinate optimal, so that selection without scanning can order optimal coordinates, too.

For gs-q this equals the paper's Algorithm 2 (its ω_u, ω_ℓ), with the −Ψ_j(x) that the printed model lacks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd._core.contracts import check_methods
from ascd._core.jit import at, helper
from ascd.engine.tuning import ROUNDING_SHARE
from ascd.problem.arithmetic import violation_of
from ascd.problem.problem import Parts
from ascd.protocols import Steepness


class Subgradient(NamedTuple):
    """GS-s: the smallest subgradient, times ``scale`` (1, or 1/√L_j)."""

    scale: Any

    def rates(self, norm: Array) -> Array:
        return self.scale * norm

    def falls_evenly(self) -> bool:
        return True

    def score(self, penalty: Any, j: int, x: float, g: float) -> float:
        low, high = penalty.subgradient(x, j)
        violation = violation_of(low, high, g)
        return at(self.scale, j) * (0.0 if violation <= 0.0 else violation)  # nan stays nan

    def bounds(self, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]:
        low, high = penalty.subgradient(x, j)
        # the signed slack: its positive part is the score, and it moves by at most r with g
        slack = violation_of(low, high, g)
        lower, upper = slack - r, slack + r
        scale = at(self.scale, j)
        # a coordinate fixed by its box has slack −∞; with r = ∞ the comparison turns nan into 0
        return scale * (lower if lower > 0.0 else 0.0), scale * (upper if upper > 0.0 else 0.0)

    def signed_upper(self, penalty: Any, j: int, x: float, g: float, r: float) -> float:
        low, high = penalty.subgradient(x, j)
        slack = violation_of(low, high, g)
        # fixed by its box: never steep, also where r = ∞
        return at(self.scale, j) * (slack + r) if slack > -math.inf else slack


class Displacement(NamedTuple):
    """GS-r: the length of the model's step, times ``scale`` (L, or √L_j)."""

    lipschitz: Any
    scale: Any

    def rates(self, norm: Array) -> Array:
        return self.scale / self.lipschitz * norm

    def score(self, penalty: Any, j: int, x: float, g: float) -> float:
        step = 1.0 / at(self.lipschitz, j)
        return at(self.scale, j) * abs(penalty.prox(x - step * g, step, j) - x)

    def bounds(self, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]:
        return bounds_at_ends(self, penalty, j, x, g, r)

    def signed_upper(self, penalty: Any, j: int, x: float, g: float, r: float) -> float:
        return max(self.score(penalty, j, x, g - r), self.score(penalty, j, x, g + r))


class ModelDecrease(NamedTuple):
    """GS-q: the predicted decrease of the model, as √(2·scale·decrease) with ``scale`` L, or 1."""

    lipschitz: Any
    scale: float

    def rates(self, norm: Array) -> Array:
        return np.sqrt(self.scale / self.lipschitz) * norm

    def score(self, penalty: Any, j: int, x: float, g: float) -> float:
        if math.isinf(g):
            # the limit of the score is infinite unless a bound stops the coordinate where it stands
            return 0.0 if penalty.prox(math.inf if g < 0.0 else -math.inf, 1.0, j) == x else math.inf
        lipschitz = at(self.lipschitz, j)
        new = penalty.prox(x - g / lipschitz, 1.0 / lipschitz, j)
        y = new - x
        curved = 0.5 * lipschitz * y * y
        before, after, tangent = penalty.cost(x, j), penalty.cost(new, j), (g + lipschitz * y) * y
        # decrease = curved + excess with excess ≥ 0; an excess within rounding of its terms is noise, not progress
        excess = before - after - tangent
        if excess <= ROUNDING_SHARE * (abs(before) + abs(after) + abs(tangent)):
            excess = 0.0
        return math.sqrt(2.0 * self.scale * (curved + excess))

    def bounds(self, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]:
        return bounds_at_ends(self, penalty, j, x, g, r)

    def signed_upper(self, penalty: Any, j: int, x: float, g: float, r: float) -> float:
        return max(self.score(penalty, j, x, g - r), self.score(penalty, j, x, g + r))


@helper
def bounds_at_ends(steepness: Any, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]:
    """Return bounds of a convex score with minimum 0 on −∂Ψ_j(x), from its values at the ends of g ± r."""
    at_lo, at_hi = steepness.score(penalty, j, x, g - r), steepness.score(penalty, j, x, g + r)
    low, high = penalty.subgradient(x, j)
    lower = at_lo if g - r + low > 0.0 else at_hi if g + r + high < 0.0 else 0.0
    return lower, max(at_lo, at_hi)


#: "gs" and "gsl" are "gs-s" and "gsl-s" for smooth penalties only.
STEEPNESS = ("gs", "gs-s", "gs-r", "gs-q", "gsl", "gsl-s", "gsl-r", "gsl-q")


def as_steepness(steepness: Any, parts: Parts) -> Any:
    """Return the compiled steepness for a name, or the user's own after a check of its methods."""
    if not isinstance(steepness, str):
        check_methods(steepness, Steepness, "steepness")
        return steepness
    if steepness not in STEEPNESS:
        raise unknown_name(steepness, "steepness", STEEPNESS)
    kind, _, family = steepness.partition("-")
    if not family and not getattr(parts.penalty, "is_smooth", bool)():
        raise ValueError(
            f"steepness {steepness!r} needs a smooth penalty, such as Zero or L2, and this one is not: "
            f"use {', '.join(name for name in STEEPNESS if '-' in name)}"
        )
    is_scaled, root = kind == "gsl", np.sqrt(parts.lipschitz)
    if family == "r":
        return Displacement(parts.lipschitz, root) if is_scaled else Displacement(parts.largest, parts.largest)
    if family == "q":
        return ModelDecrease(parts.lipschitz, 1.0) if is_scaled else ModelDecrease(parts.largest, parts.largest)
    return Subgradient(1.0 / root if is_scaled else 1.0)
