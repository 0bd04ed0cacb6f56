"""Intervals that provably contain every gradient entry: what rules, certificate and solver read.

For each coordinate j an estimate g̃_j and a radius r_j with ∇_j f(x) ∈ [g̃_j − r_j, g̃_j + r_j].  The errors of
all oracles of the paper but one are multiples of ‖a_i‖‖a_j‖, so the growth of the radii has the form

    r_j  =  offset_j + clock · reach_j,        reach_j = ‖a_j‖ in the norm weighted by the samples,

with one clock for all coordinates: a step of coordinate i by γ advances it by |γ|·‖a_i‖·(relative error), which
costs O(1) whatever n is.  The offset changes only when j itself is visited (``pin``) or when an oracle knows
more about it.

The intervals hold in exact arithmetic; float64 rounding of the sums behind them is not added to the radii.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._checks import Array, as_finite_vector, as_vector, unknown_name
from ascd.problem import Parts

#: Relative size of a difference that is nothing but rounding.
ROUNDING = 1e-15


class Intervals(NamedTuple):
    """Estimates, radius offsets, reach, and the clock (an array of one number, so that kernels can advance it).

    The point x, the penalty and the steepness stand beside them, because together they bound every score.
    """

    estimate: Array
    offset: Array
    reach: Array
    clock: Array
    x: Array
    penalty: Any
    steepness: Any
    extra: Any  # what else is known, as ``tighten(j, g, r)``; see the reference oracle

    def radius_at(self, j: int) -> float:
        grown = self.clock[0] * self.reach[j]
        radius = self.offset[j] + grown
        # a pinned offset is minus what the clock had added by then: their difference is 0 only up to rounding
        return radius if radius > ROUNDING * grown else 0.0

    def pin(self, j: int, gradient: float, error: float) -> None:
        self.estimate[j] = gradient
        self.offset[j] = error - self.clock[0] * self.reach[j]

    def widen(self, amount: float) -> None:
        self.clock[0] += amount

    def score_at(self, j: int, g: float) -> float:
        """The steepness of coordinate j where ∇_j f(x) = g."""
        return self.steepness.score(self.penalty, j, self.x[j], g)

    def signed_upper_at(self, j: int) -> float:
        """The upper bound on the steepness of coordinate j, negative where it certainly has none."""
        g, r = self.extra.tighten(j, self.estimate[j], self.radius_at(j))
        return self.steepness.signed_upper(self.penalty, j, self.x[j], g, r)

    def bounds_at(self, j: int) -> tuple[float, float]:
        """Lower and upper bound on the steepness of coordinate j over its interval."""
        g, r = self.extra.tighten(j, self.estimate[j], self.radius_at(j))
        return self.steepness.bounds(self.penalty, j, self.x[j], g, r)


class NothingElse(NamedTuple):
    """No knowledge beyond estimate and radius."""

    unit: float = 1.0

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        return g, r


def start_intervals(init: Any, x: Array, parts: Parts, steepness: Any) -> tuple[Intervals, bool]:
    """The intervals before the first step, and whether the exact gradient is still to be read into them.

    ``init`` is "gradient" (exact), "none" (estimate 0, radius ∞) or the user's (estimate, radius).
    """
    n = x.size
    rest = (parts.norm, np.zeros(1), x, parts.penalty, steepness, NothingElse())
    if isinstance(init, str):
        if init not in ("gradient", "none"):
            raise unknown_name(init, "init", ("gradient", "none"))
        return Intervals(np.zeros(n), np.full(n, np.inf), *rest), init == "gradient"
    if not (isinstance(init, tuple) and len(init) == 2):
        raise TypeError(f"init must be 'gradient', 'none' or a pair (estimate, radius); got {init!r}")
    estimate = as_finite_vector(init[0], "init estimate", n).copy()
    radius = as_vector(init[1], "init radius", n).copy()
    if np.isnan(radius).any() or (radius < 0).any():
        raise ValueError("init radius must be non-negative (inf is allowed) and not nan")
    return Intervals(estimate, radius, *rest), False
