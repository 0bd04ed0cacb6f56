"""Formulas that selection, screening and certificates share.

**Violation.**  x_j is optimal iff −g ∈ ∂Ψ_j(x_j) = [low, high] for its gradient entry g.  The distance to that, with a
sign, is max(g + low, −g − high): negative inside.

**Angle.**  From g = ⟨a, v_r⟩ follows, for every v = s·v_r + e with e ⟂ v_r, ⟨a, v⟩ ∈ s·g ± ‖e‖·w, where
w² = ‖a‖² − g²/‖v_r‖² is the square of what a has across v_r.  g² may overflow where this does not.  Where
‖v_r‖² itself has left the range of float64 (weights of 10⁻¹⁷⁰ are enough), nothing is known along v_r: s = 0, w = ‖a‖.
Where ‖v‖² has, ‖e‖ has no limit.
"""

from __future__ import annotations

import math

from ascd._core.jit import helper, strict_helper
from ascd.problem.tuning import LEAST_SUM_OF_SQUARES, MOST_SUM_OF_SQUARES, NO_LIMIT, SQUARE_ROUNDING


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
def has_digits(square: float) -> bool:
    """Is this sum of squares one of float64's ordinary numbers?"""
    return LEAST_SUM_OF_SQUARES < square < MOST_SUM_OF_SQUARES


@helper
def share_along(product: float, square: float) -> float:
    """s = ⟨v, v_r⟩/‖v_r‖² from both."""
    return product / square if has_digits(square) else 0.0


@helper
def length_across(rest: float, rounding: float, size: float) -> float:
    """‖e‖ from its square, rounding added to it, where ``size``, of the squares that it came from, is in range."""
    length = math.sqrt(rest + rounding) if has_digits(size) else NO_LIMIT
    return length if length < NO_LIMIT else NO_LIMIT  # also where it is no number


@helper
def inverse_square(square: float) -> float:
    """1/‖v_r‖²; 0 where nothing is known along v_r."""
    return 1.0 / square if has_digits(square) else 0.0


@strict_helper
def square_times(value: float, factor: float) -> float:
    """factor·value², where the square alone may overflow: the products are not to be reordered."""
    return factor * value * value


@strict_helper
def square_over(value: float, divisor: float) -> float:
    """value²/divisor, where the square alone may leave the range of float64: the compiler must not take it first."""
    return value * (value / divisor)


@strict_helper
def added(total: float, rest: float, amount: float) -> tuple[float, float]:
    """A sum after one more term, and what was too small to be seen in it: it counts with the terms to come.

    Examples
    --------
    >>> from ascd.problem.optimality import added
    >>> total, rest = 1.0, 0.0
    >>> for _ in range(10_000):
    ...     total, rest = added(total, rest, 1e-17)
    >>> total - 1.0 > 9e-14
    True
    """
    carried = rest + amount
    new = total + carried
    return new, carried - (new - total) if new < math.inf else 0.0


@helper
def width_across(square: float, along: float, inverse: float) -> float:
    """√(‖a‖² − along²/‖v_r‖²), rounding added; ``inverse`` is 1/‖v_r‖².

    Examples
    --------
    >>> from ascd.problem.optimality import width_across
    >>> round(width_across(25.0, 3.0, 1.0), 6)
    4.0
    """
    return math.sqrt(max(square - square_times(along, inverse), 0.0) + SQUARE_ROUNDING * square)
