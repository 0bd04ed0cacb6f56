"""Random choices, cheap enough for a million cases."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeVar

Value = TypeVar("Value")


def chance(rng: Any, share: float) -> bool:
    """True in this share of all cases."""
    return bool(rng.random() < share)


def pick(rng: Any, values: Sequence[Value]) -> Value:
    """One of the values, all alike."""
    return values[int(rng.integers(len(values)))]


def choose(rng: Any, shares: Mapping[str, float]) -> str:
    """One of the names, by their shares, which need not sum to 1."""
    bounds = list(accumulate(shares.values()))
    return list(shares)[min(bisect(bounds, rng.random() * bounds[-1]), len(bounds) - 1)]
