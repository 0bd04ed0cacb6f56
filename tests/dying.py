"""Work that ends one of the fuzzer's processes; every process imports this, and nothing heavy with it."""

from __future__ import annotations

import os


def dies_at_three(first: int, count: int) -> int:
    """The number of cases, unless seed 3 is among them."""
    if first <= 3 < first + count:
        os._exit(1)
    return count
