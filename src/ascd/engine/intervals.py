"""Intervals that provably contain every gradient entry, and the bounds on scores that follow from them.

For each coordinate j there is an estimate g̃_j and a radius r_j with ∇_j f(x) ∈ [g̃_j − r_j, g̃_j + r_j],

    r_j  =  offset_j + G·‖a_j‖

with one accumulated step length G for all coordinates (norms weighted by the samples): a step of coordinate i by γ adds
|γ|·‖a_i‖·(relative error) to it (``inflate``) in O(1).  The offset changes when entry j is read (``set_entry``) or
an oracle knows more about it.

**Rounding.**  Radii hold in exact arithmetic.  In float64 an inner product ⟨a_j, v⟩ and G carry errors of a few ulps of
‖a_j‖(‖v‖ + G), and a coordinate of a few ulps of |x_j|, which moves its entry by M‖a_j‖²|x_j| times as much.  All of
these are multiples of ‖a_j‖, so bounds on scores are taken over g̃_j ± (r_j + ε‖a_j‖) with one number

    ε  =  INTERVAL_ROUNDING · (‖v_0‖ + G + max_i M‖a_i‖|x_i|),    v_0 = v at the start, the maximum over all visits.

Every step adds a column to v, or to Ax, and each sum is rounded.  A step of length l = |γ|‖a_i‖M moves v by at most l,
and with the length p of the path so far (x_0 counted as one step a coordinate) neither v nor M·Ax is longer than
‖v_0‖ + p.  The one that is added to is measured now and then (``limit_rounding``), so that with its length s then and
the path p' since, a step (``count_step``) adds

    INTERVAL_ROUNDING·l + ADDITION_ROUNDING·(s + p')

to ε.  An oracle that adds products to the estimates rounds once more: ``count_products`` adds
INTERVAL_ROUNDING·l + SUM_ROUNDING·(‖v_0‖ + p).  Increments too small to change G are kept in REMAINDER until they do.

So a lower bound below its own rounding error is 0; at 1e-16, "l-ascd" would never leave a coordinate at its minimum.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_finite_vector, as_vector, unknown_name
from ascd._core.jit import helper, strict_helper
from ascd.engine.tuning import ADDITION_ROUNDING, INTERVAL_ROUNDING, SUM_ROUNDING
from ascd.problem.arithmetic import has_digits, norm
from ascd.problem.problem import Parts
from ascd.problem.tuning import SQUARE_ROUNDING

#: Rows of ``Intervals.lengths``: G + ε, ε, the part of ε that comes from x, ‖v_0‖ + the path of v, G, s + the path
#: since v was measured, and increments not yet contained in G.
INFLATION, EPSILON, EPSILON_OF_X, PATH_OF_V, STEP_LENGTH, SINCE_MEASURED, REMAINDER = range(7)


@strict_helper
def added(total: float, rest: float, amount: float) -> tuple[float, float]:
    """Return a sum after one more term, and the part that was too small to be seen in it, for the next call."""
    carried = rest + amount
    new = total + carried
    return new, carried - (new - total) if new < math.inf else 0.0


class Intervals(NamedTuple):
    """Estimates, radius offsets, column norms and accumulated lengths; with x, penalty and steepness they bound scores.

    Shapes: ``estimate``, ``offset``, ``norm`` and ``x`` (n_features,), ``lengths`` (7,).
    """

    estimate: Array
    offset: Array
    norm: Array
    lengths: Array
    x: Array
    penalty: Any
    steepness: Any
    largest_curvature: float  # M
    extra: Any  # a second interval for every entry, as ``tighten(j, g, r)``; see the reference oracle

    def radius_at(self, j: int) -> float:
        """Return r_j without rounding: 0 where the entry was read and nothing has moved since."""
        grown = self.lengths[STEP_LENGTH] * self.norm[j]
        radius = self.offset[j] + grown
        # the offset of a known entry is minus what G had added by then: their difference is 0 only up to rounding
        return radius if radius > INTERVAL_ROUNDING * grown else 0.0

    def width_at(self, j: int) -> float:
        """Return r_j + ε‖a_j‖."""
        width = self.offset[j] + self.lengths[INFLATION] * self.norm[j]
        return width if width > 0.0 else 0.0

    def set_entry(self, j: int, gradient: float, error: float) -> None:
        """Set the interval of entry j to gradient ± error (exact where the error is 0)."""
        lengths = self.lengths
        growth = INTERVAL_ROUNDING * self.largest_curvature * self.norm[j] * abs(self.x[j]) - lengths[EPSILON_OF_X]
        if growth > 0.0:
            lengths[EPSILON_OF_X] += growth
            self.add_rounding(growth)
        self.estimate[j] = gradient
        self.offset[j] = error - lengths[STEP_LENGTH] * self.norm[j]

    def inflate(self, amount: float) -> None:
        """Add ``amount``·‖a_j‖ to the radius of every entry."""
        lengths = self.lengths
        lengths[STEP_LENGTH], lengths[REMAINDER] = added(lengths[STEP_LENGTH], lengths[REMAINDER], amount)
        self.add_rounding(INTERVAL_ROUNDING * amount)

    @helper
    def add_rounding(self, rounding: float) -> None:
        """Add to ε; G + ε is recomputed, so that it never comes from a difference."""
        lengths = self.lengths
        lengths[EPSILON] += rounding
        lengths[INFLATION] = lengths[STEP_LENGTH] + lengths[EPSILON]

    def count_step(self, i: int, change: float) -> None:
        """Add the rounding of v after a step of coordinate i by ``change``."""
        length = abs(change) * self.norm[i] * self.largest_curvature
        self.lengths[PATH_OF_V] += length
        self.lengths[SINCE_MEASURED] += length
        self.add_rounding(INTERVAL_ROUNDING * length + ADDITION_ROUNDING * self.lengths[SINCE_MEASURED])

    @helper
    def limit_rounding(self, square: float) -> None:
        """Bound the rounding of later steps by the measured ‖v‖² (or ‖M·Ax‖²), where that has lost no digits."""
        if has_digits(square):
            size = (1.0 + SQUARE_ROUNDING) * math.sqrt(square)
            self.lengths[SINCE_MEASURED] = min(self.lengths[SINCE_MEASURED], size)

    def count_products(self, length: float) -> None:
        """Add the rounding of estimates to which the products of a step of this length were added."""
        self.add_rounding(INTERVAL_ROUNDING * length + SUM_ROUNDING * self.lengths[PATH_OF_V])

    def score_at(self, j: int, g: float) -> float:
        """Return the steepness of coordinate j for ∇_j f(x) = g."""
        return self.steepness.score(self.penalty, j, self.x[j], g)

    def signed_upper_at(self, j: int) -> float:
        """Return the upper bound on the steepness of coordinate j, negative where its steepness is certainly 0."""
        g, r = self.extra.tighten(j, self.estimate[j], self.width_at(j))
        return self.steepness.signed_upper(self.penalty, j, self.x[j], g, r)

    def bounds_at(self, j: int) -> tuple[float, float]:
        """Return the lower and the upper bound on the steepness of coordinate j over its interval."""
        g, r = self.extra.tighten(j, self.estimate[j], self.width_at(j))
        return self.steepness.bounds(self.penalty, j, self.x[j], g, r)


class NothingElse(NamedTuple):
    """No second interval."""

    unit: float = 1.0

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        return g, r


def start_intervals(init: Any, x: Array, raw_gradient: Array, parts: Parts, steepness: Any) -> tuple[Intervals, bool]:
    """Return the intervals before the first step, and whether the exact gradient is still to be read into them.

    ``init`` is "gradient" (exact), "none" (estimate 0, radius ∞) or the user's (estimate, radius).
    """
    n = x.size
    weights = np.broadcast_to(parts.sample.weight, raw_gradient.shape)
    # as a_j is weighted by the samples, v is divided by the weights: |⟨a_j, v⟩| ≤ ‖a_j‖‖v‖
    size, largest = norm(raw_gradient[weights > 0.0] / np.sqrt(weights[weights > 0.0])), parts.gain + parts.slack
    path = largest * float(np.abs(x) @ parts.norm)
    rounding = INTERVAL_ROUNDING * size + SUM_ROUNDING * np.count_nonzero(x) * path
    lengths = np.array([rounding, rounding, 0.0, size + path, 0.0, size + path, 0.0])
    rest = (parts.norm, lengths, x, parts.penalty, steepness, largest, NothingElse())
    if isinstance(init, str):
        if init not in ("gradient", "none"):
            raise unknown_name(init, "init", ("gradient", "none"))
        return Intervals(np.zeros(n), np.full(n, np.inf), *rest), init == "gradient"
    if not (isinstance(init, tuple) and len(init) == 2):
        raise TypeError(f"init must be 'gradient', 'none' or a pair (estimate, radius); got {init!r}")
    estimate = as_finite_vector(init[0], "init estimate", n).copy()
    radius = as_vector(init[1], "init radius", n).copy()
    if not (radius >= 0.0).all():
        wrong = radius[~(radius >= 0.0)][0]
        raise ValueError(f"init radius must be non-negative (inf is allowed) and not nan; got {wrong:g}")
    return Intervals(estimate, radius, *rest), False
