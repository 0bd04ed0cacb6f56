"""Inner products with a proven error bound, by operations on whole arrays: ``data.careful`` for a device.

Products are split into their rounded value and their error (Dekker), and summed in pairs, each sum with its error
(Knuth): log₂ d additions of arrays.  Every operation is one call of the library, so none is contracted with another.
"""

from __future__ import annotations

from typing import Any

from ascd.matrix.careful import SMALLEST_ERROR, SPLITTER, TINY, UNIT
from ascd.matrix.device.spaces import Space


def careful_products(space: Space, part: Any, vector: Any) -> tuple[Any, Any]:
    """⟨a_j, vector⟩ for the columns of a float64 block, and how far it can be off."""
    xp = space.xp
    term, missing, lost = exact_products(xp, part, vector[:, None])
    rest, size = xp.sum(missing, axis=0), xp.sum(xp.abs(missing), axis=0)
    while term.shape[0] > 1:
        half = term.shape[0] // 2
        odd = term[2 * half :, :]
        term, left = exact_sums(term[:half, :], term[half : 2 * half, :])
        rest, size = rest + xp.sum(left, axis=0), size + xp.sum(xp.abs(left), axis=0)
        if odd.shape[0]:
            total, left = exact_sums(term[:1, :], odd)
            rest, size = rest + left[0, :], size + xp.abs(left[0, :])
            term[:1, :] = total
    product = term[0, :] + rest
    count = 2.0 * part.shape[0] + 4.0
    own = xp.where(rest != 0.0, UNIT * xp.abs(product), 0.0 * product)
    return product, own + 1.01 * count * UNIT * size + lost


def exact_products(xp: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """a·b rounded, what rounding has taken away, and the most that numbers near the end of the range can hide."""
    term = a * b
    a_high, b_high = high_half(a), high_half(b)
    a_low, b_low = a - a_high, b - b_high
    missing = a_low * b_low - (((term - a_high * b_high) - a_low * b_high) - a_high * b_low)
    is_tiny = (xp.abs(term) < TINY) & (a != 0.0) & (b != 0.0)
    return term, missing, SMALLEST_ERROR * xp.sum(xp.where(is_tiny, 1.0 + 0.0 * term, 0.0 * term), axis=0)


def exact_sums(x: Any, y: Any) -> tuple[Any, Any]:
    """x + y rounded, and what rounding has taken away."""
    grown = x + y
    back = grown - x
    return grown, (x - (grown - back)) + (y - back)


def high_half(a: Any) -> Any:
    """The leading 26 bits."""
    wide = SPLITTER * a
    return wide - (wide - a)
