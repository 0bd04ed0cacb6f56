"""Counts of a run and its report: how many cases of which kind, how they ended, what was violated."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from re import sub

import numpy as np

from .calls import Outcome
from .cases import Case
from .checks import Violation
from .shrink import order_of

#: What is counted a case: title, and the value that is counted.
TABLES = ("family", "loss", "penalty", "storage", "weights", "shape", "ended")


@dataclass
class Found:
    """A violation and the seed of its case."""

    seed: int
    family: str
    size: int  # entries of A
    violation: Violation


@dataclass
class Tally:
    """What was seen in some cases; tallies add up."""

    cases: int = 0
    answers: int = 0
    certified: int = 0
    seconds: float = 0.0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in TABLES})
    found: list[Found] = field(default_factory=list)
    slowest: list[tuple[float, int]] = field(default_factory=list)

    def count(self, seed: int, case: Case, outcome: Outcome, violations: Iterable[Violation], seconds: float) -> None:
        self.cases += 1
        self.seconds += seconds
        self.answers += len(outcome.answers)
        self.certified += sum(np.isfinite(answer.gap) for answer in outcome.answers)
        d, n = case.shape
        ended = [answer.status or "no status" for answer in outcome.answers[-1:]]
        if outcome.error is not None:
            ended = [type(outcome.error).__name__]
        values = {
            "family": case.family, "loss": case.loss, "penalty": case.penalty,
            "storage": sub(r":\d+$", "", case.storage),
            "weights": "weighted" if case.weight is not None else "unweighted", "ended": (ended or ["no answer"])[0],
            "shape": "1 entry" if d * n == 1 else f"up to {10 ** len(str(d * n - 1))} entries",
        }  # fmt: skip
        for name, value in values.items():
            self.counts[name][value] += 1
        self.found += [Found(seed, case.family, case.A.size, violation) for violation in violations]
        self.slowest = sorted([*self.slowest, (seconds, seed)])[-5:]

    def add(self, other: Tally) -> None:
        self.cases, self.answers = self.cases + other.cases, self.answers + other.answers
        self.certified, self.seconds = self.certified + other.certified, self.seconds + other.seconds
        for name, counter in other.counts.items():
            self.counts[name].update(counter)
        self.found += other.found
        self.slowest = sorted([*self.slowest, *other.slowest])[-5:]

    def by_kind(self) -> dict[tuple[str, str, int], list[Found]]:
        """Violations by kind, family and order of size, the smallest cases first."""
        groups: dict[tuple[str, str, int], list[Found]] = {}
        for one in sorted(self.found, key=lambda one: (one.size, one.seed)):
            groups.setdefault((one.violation.kind, one.family, order_of(one.violation)), []).append(one)
        return dict(sorted(groups.items()))


def versions() -> str:
    """Python and the libraries that decide the numbers."""
    import numba
    import scipy
    import sklearn

    import ascd

    modules = (ascd, np, scipy, numba, sklearn)
    named = ", ".join(f"{module.__name__} {module.__version__}" for module in modules)
    return f"Python {platform.python_version()}, {named}, {platform.system()} {platform.machine()}"


def markdown(tally: Tally, command: str, seconds: float, tests: Iterable[str] = ()) -> str:
    """The report."""
    lines = [
        f"Command: `{command}`  ", f"Versions: {versions()}  ",
        f"Cases: **{tally.cases:,}**, answers {tally.answers:,}, with a finite gap {tally.certified:,}, violations "
        f"**{len(tally.found):,}**; {seconds:,.0f} s, {1e3 * tally.seconds / max(tally.cases, 1):.1f} ms a case, "
        f"the longest {max((seconds for seconds, _ in tally.slowest), default=0.0):.1f} s",
        "", *_families(tally),
    ]  # fmt: skip
    for name in TABLES[1:]:
        lines += ["", f"| {name} | cases |", "|---|---:|"]
        lines += [f"| {value} | {count:,} |" for value, count in tally.counts[name].most_common()]
    if tally.found:
        lines += ["", "| violation | family | size | cases | largest | smallest seed |", "|---|---|---|---:|---:|---:|"]
    for (kind, family, order), group in tally.by_kind().items():
        largest = max((one.violation.size for one in group if one.violation.size >= 0.0), default=-1.0)
        size = ("rounding", "coarse")[order] if largest >= 0.0 else ""
        shown = f"{largest:.2g}" if largest >= 0.0 else ""
        lines.append(f"| {kind} | {family} | {size} | {len(group):,} | {shown} | {group[0].seed} |")
    for test in tests:
        lines += ["", "```python", test.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _families(tally: Tally) -> list[str]:
    bad = Counter(one.family for one in {(one.seed, one.family): one for one in tally.found}.values())
    rows = ["| family | cases | cases with a violation |", "|---|---:|---:|"]
    return rows + [f"| {name} | {count:,} | {bad[name]:,} |" for name, count in sorted(tally.counts["family"].items())]
