"""Work for the fuzzer's processes that ends one of them; every process imports this, and nothing heavy with it."""

from __future__ import annotations

import os


class Counted:
    """A tally of cases without a violation, made by who receives it."""

    def __init__(self, cases: int) -> None:
        self.cases = cases

    def __reduce__(self):
        return tally_of, (self.cases,)


def tally_of(cases):
    from fuzz.report import Tally

    return Tally(cases=cases)


def dies_at_three(first, count):
    """Work that ends its process at one seed."""
    if first <= 3 < first + count:
        os._exit(1)
    return Counted(count)
