"""Results → claims: each claim of the paper with how it was tested, what was measured, and whether it holds here.

A claim is a function of the evidence that returns what was measured and a verdict; its texts stand in the decorator.
Nothing is written by hand: where a results file lacks a panel, the claims that need it are "not tested".

"Height" of a curve is the mean over its records of log10 of the relative suboptimality (cut off at 1e-6): one unit is
a factor of ten, and lower is better over the whole run, not only at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# they enter their claims, in the order of the table
from ascd.experiments.claims import practice, details, lemmas, theory  # noqa: F401  # isort: skip
from ascd.experiments.claims.register import REGISTER, UNTESTED, Claim, Evidence, Finding


def judge_all(results: Mapping[str, Any]) -> list[Claim]:
    """Every claim, judged by a results file."""
    evidence, rows = Evidence(results), []
    for where, text, test, judge in REGISTER:
        try:
            found = judge(evidence)
        except KeyError as error:
            found = Finding(f"the results lack {error.args[0]}", UNTESTED)
        rows.append(Claim(where, text, test, found.measured, found.verdict))
    return rows


def to_markdown(rows: Sequence[Claim], lead: str = "") -> str:
    """The claims as a table for the documentation.

    Examples
    --------
    >>> from ascd.experiments.claims import to_markdown
    >>> from ascd.experiments.claims.register import Claim
    >>> print(to_markdown([Claim("Thm 1", "1 | 2", "by eye", "yes", "holds")]).splitlines()[-1])
    | Thm 1 | 1 \\| 2 | by eye | yes | **holds** |
    """
    lines = [lead, ""] if lead else []
    lines += ["| where | claim | tested by | measured | verdict |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [cell.replace("|", "\\|") for cell in (row.where, row.claim, row.test, row.measured)]
        lines.append(f"| {' | '.join(cells)} | **{row.verdict}** |")
    return "\n".join(lines) + "\n"
