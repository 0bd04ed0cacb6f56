"""Two formulas that selection, screening and certificates share.

**Violation.**  x_j is optimal iff −g ∈ ∂Ψ_j(x_j) = [low, high] for its gradient entry g.  The distance to that, with a
sign, is max(g + low, −g − high): negative inside.

**Angle.**  From g = ⟨a, v_r⟩ follows, for every v = s·v_r + e with e ⟂ v_r, ⟨a, v⟩ ∈ s·g ± ‖e‖·w, where
w² = ‖a‖² − g²/‖v_r‖² is the square of what a has across v_r.
"""

from __future__ import annotations

import math

from ascd._base.jit import helper
from ascd.problem.tuning import SQUARE_ROUNDING


@helper
def violation_of(low: float, high: float, g: float) -> float:
    """How far −g is outside [low, high]; negative inside.

    Examples
    --------
    >>> from ascd.problem.optimality import violation_of
    >>> violation_of(-1.0, 1.0, 3.0), violation_of(-1.0, 1.0, 0.5)
    (2.0, -0.5)
    """
    right, left = g + low, -g - high
    return right if right > left else left  # as vector registers like it


@helper
def width_across(square: float, along: float, inverse: float) -> float:
    """√(‖a‖² − along²/‖v_r‖²), rounding added; ``inverse`` is 1/‖v_r‖².

    Examples
    --------
    >>> from ascd.problem.optimality import width_across
    >>> round(width_across(25.0, 3.0, 1.0), 6)
    4.0
    """
    return math.sqrt(max(square - along * along * inverse, 0.0) + SQUARE_ROUNDING * square)
