"""Print which tests were skipped in every run that had them, and why: ``python .ci/skipped.py REPORT.xml …``.

The reports are those of ``pytest --junitxml``.  A test that one run skips and another one runs is not skipped.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from pathlib import Path


def reasons(reports: Sequence[str]) -> tuple[Counter[str], int]:
    """Why tests were skipped, with how many by each reason; and how many tests ran."""
    skipped: dict[str, str] = {}
    ran = set()
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            found = case.find("skipped")
            if found is None:
                ran.add(name)
            else:
                skipped[name] = found.get("message") or "no reason given"
    return Counter(reason for name, reason in skipped.items() if name not in ran), len(ran)


def main(reports: Sequence[str]) -> int:
    there = [report for report in reports if Path(report).is_file()]
    if not there:
        print("ci: no report was written, so nothing is known of skipped tests")
        return 1
    counts, ran = reasons(there)
    print(f"ci: {ran} tests ran, {counts.total()} were skipped" + (":" if counts else ""))
    for reason, count in counts.most_common():
        print(f"ci:   {count:4d}  {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
