"""What scikit-learn's tests gave, held against what was expected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Expected(NamedTuple):
    """Failures of a test of scikit-learn, for all its parameters or those in which the regex ``which`` is found."""

    test: str
    reason: str
    which: str = ""

    def covers(self, found: str) -> bool:
        name, _, parameters = found.partition("[")
        return name.endswith(f"/{self.test}") and re.search(self.which, parameters.removesuffix("]")) is not None


class Verdict(NamedTuple):
    """Tests that failed or passed against expectation, entries that fit no test, and counts by module."""

    failures: list[str]
    passes: list[str]
    idle: list[Expected]
    counts: dict[str, Counter[str]]

    @property
    def is_as_expected(self) -> bool:
        return not (self.failures or self.passes or self.idle)


def judge(outcomes: Mapping[str, str], expected: Sequence[Expected]) -> Verdict:
    """Compare the outcomes ("passed", "failed", "skipped") of tests with the table of expected failures."""
    failures, passes, counts = [], [], {}
    used: set[Expected] = set()
    for test, outcome in outcomes.items():
        entries = [entry for entry in expected if entry.covers(test)]
        used.update(entries)
        kind = "expected to fail" if outcome == "failed" and entries else outcome
        counts.setdefault(test.partition("::")[0], Counter())[kind] += 1
        if outcome == "failed" and not entries:
            failures.append(test)
        if outcome == "passed" and entries:
            passes.append(test)
    idle = [entry for entry in expected if entry not in used and _module(entry.test) in map(_module, outcomes)]
    return Verdict(failures, passes, idle, counts)


def _module(test: str) -> str:
    return test.partition("::")[0].rpartition("/")[2]
