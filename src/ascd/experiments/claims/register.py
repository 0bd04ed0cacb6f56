"""The register that claims are entered into, what a claim is judged by, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ascd.experiments.curves import Panel, panel_of

HOLDS, PART, NOT, UNTESTED = "holds", "holds in part", "does not hold here", "not tested"
#: verdict → the same of several claims
PLURALS = {HOLDS: "hold", PART: "hold in part", NOT: "do not hold here", UNTESTED: "not tested"}
#: verdict → its class in the report's table
MARKS = {HOLDS: "holds", PART: "part", NOT: "not", UNTESTED: "untested"}


class Finding(NamedTuple):
    """What was measured, and the verdict."""

    measured: str
    verdict: str


class Claim(NamedTuple):
    """A row of the table of claims."""

    where: str
    claim: str
    test: str
    measured: str
    verdict: str


class Evidence:
    """Access to a results file for claims."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = results
        self._panels: dict[str, Panel] = {}

    def panel(self, name: str) -> Panel:
        """The curves of a panel."""
        if name not in self.results["index"]:
            raise KeyError(name)
        if name not in self._panels:
            self._panels[name] = panel_of(self.results, name)
        return self._panels[name]

    def numbers(self, part: str, curve: str) -> dict[str, Any]:
        """The result of a job that is no descent."""
        found: dict[str, Any] = self.results["runs"][self.results["index"][part][curve][0]]["result"]
        return found


Judge = Callable[[Evidence], Finding]
REGISTER: list[tuple[str, str, str, Judge]] = []


def claim(where: str, text: str, test: str) -> Callable[[Judge], Judge]:
    """Enter a claim: where the paper makes it, what it says, how it is tested."""

    def enter(judge: Judge) -> Judge:
        REGISTER.append((where, text, test, judge))
        return judge

    return enter


def verdict_of(outcomes: Sequence[bool]) -> str:
    """All, some or none.

    Examples
    --------
    >>> from ascd.experiments.claims.register import verdict_of
    >>> verdict_of([True, True]), verdict_of([True, False]), verdict_of([False])
    ('holds', 'holds in part', 'does not hold here')
    """
    return HOLDS if all(outcomes) else PART if any(outcomes) else NOT
