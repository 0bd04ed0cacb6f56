"""Run scikit-learn's tests with our estimators in place of its own.

    python -m tests.peer_suites [coordinate_descent sparse_coordinate_descent ridge huber glm logistic svm] [--list]

Prints what passed and failed by module; ends with 0 where the failures are exactly those of ``expected.py``.
"""

from __future__ import annotations

import argparse
import os
import sys

import pytest
import sklearn

from .expected import EXPECTED
from .swap import Swap
from .verdict import Verdict, judge

MODULES = {
    "coordinate_descent": "sklearn.linear_model.tests.test_coordinate_descent",
    "sparse_coordinate_descent": "sklearn.linear_model.tests.test_sparse_coordinate_descent",
    "ridge": "sklearn.linear_model.tests.test_ridge",
    "huber": "sklearn.linear_model.tests.test_huber",
    "glm": "sklearn.linear_model._glm.tests.test_glm",
    "logistic": "sklearn.linear_model.tests.test_logistic",
    "svm": "sklearn.svm.tests.test_svm",
}
KINDS = ("passed", "expected to fail", "failed", "skipped")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.peer_suites", description=__doc__)
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], help="which of scikit-learn's test files")
    parser.add_argument(
        "--list", action="store_true", help="print the expected failures with their reasons, run nothing"
    )
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print(
            "\n".join(f"{entry.test}{f' [{entry.which}]' if entry.which else ''}: {entry.reason}" for entry in EXPECTED)
        )
        return 0
    swap = Swap()
    # scikit-learn's tests, under their own settings: ours make warnings errors
    options = ["-c", os.devnull, "-p", "no:cacheprovider", "-q", "--tb=no", "--disable-warnings", "--no-summary"]
    pytest.main([*options, "--pyargs", *(MODULES[name] for name in chosen.modules or MODULES)], plugins=[swap])
    verdict = judge(swap.outcomes, EXPECTED)
    show(verdict, swap.messages)
    return 0 if verdict.is_as_expected and swap.outcomes else 1


def show(verdict: Verdict, messages: dict[str, str]) -> None:
    """A table by module, and what was not expected."""
    print(f"\nscikit-learn {sklearn.__version__}, its tests of the estimators that ascd has\n")
    print(f"{'':<52}" + "".join(f"{kind:>18}" for kind in KINDS))
    for module, counts in verdict.counts.items():
        print(f"{module:<52}" + "".join(f"{counts[kind]:>18,}" for kind in KINDS))
    print(f"{'all':<52}" + "".join(f"{sum(c[kind] for c in verdict.counts.values()):>18,}" for kind in KINDS))
    for test in verdict.failures:
        print(f"\nnot expected to fail: {test}\n    {messages.get(test, '')}", end="")
    for test in verdict.passes:
        print(f"\nexpected to fail, but passes: {test}", end="")
    for entry in verdict.idle:
        print(f"\nexpected to fail, but no such test ran: {entry.test} {entry.which}", end="")
    print("\n\nas expected" if verdict.is_as_expected else "\n\nnot as expected")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
