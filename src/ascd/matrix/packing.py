"""Arrays in fewer bytes while they travel, without loss.

- numbers of columns fit into 32 bits,
- counts fit into the shortest integers that hold the largest,
- vectors of few different values (labels, and slopes at zero coefficients that follow from them) travel as those values
  and a byte an entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices


class Coded(NamedTuple):
    """``values[codes]``."""

    codes: Array
    values: Array


def packed(one: Any, known: dict[int, Any]) -> Any:
    """An array, or a named tuple with some in it, as it travels; anything else as it is.

    ``known`` keeps what was packed already by its id: an array that stands in several places is packed once.
    """
    if isinstance(one, np.ndarray):
        if id(one) not in known:
            known[id(one)] = _short(one) if one.dtype == np.int64 else _coded(one)
        return known[id(one)]
    if hasattr(one, "_make"):
        return one._make(packed(part, known) for part in one)
    return one


def unpacked(one: Any) -> Any:
    """What ``packed`` was given."""
    if isinstance(one, Coded):
        return one.values[one.codes]
    if isinstance(one, np.ndarray) and one.dtype == np.int32:
        return one.astype(np.int64)
    if hasattr(one, "_make"):
        return one._make(map(unpacked, one))
    return one


def shortest(counts: Array) -> Array:
    """Numbers that are not negative, in the shortest integers that hold them."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def bytes_of(one: Any) -> int:
    """Bytes of the arrays in something that travels."""
    if isinstance(one, np.ndarray):
        return int(one.nbytes)
    if isinstance(one, list | tuple):
        return sum(map(bytes_of, one))
    return sum(map(bytes_of, (one.data, one.indices, one.indptr))) if hasattr(one, "indptr") else 0


def _short(one: Array) -> Array:
    is_short = not one.size or int(np.abs(one).max()) <= np.iinfo(np.int32).max
    return one.astype(np.int32) if is_short else one


def _coded(one: Array) -> Any:
    """As codes where it is worth it; a few entries tell mostly that it is not.  Compared as bits: −0 is not 0."""
    if one.dtype != np.float64 or one.size < prices.WORTH_CODES:
        return one
    bits = np.ascontiguousarray(one).view(np.int64)
    few = np.unique(bits.ravel()[:: max(1, one.size // prices.WORTH_CODES)])
    if few.size > prices.MOST_CODES:
        return one
    codes = np.minimum(np.searchsorted(few, bits), few.size - 1).astype(np.uint8)
    return Coded(codes, few.view(np.float64)) if np.array_equal(few[codes], bits) else one
