"""The judge of scikit-learn's test suites: what passes or fails against expectation is told apart."""

from __future__ import annotations

from peer_suites.expected import EXPECTED
from peer_suites.verdict import Expected, judge

OUTCOMES = {
    "linear_model/tests/test_a.py::test_one": "passed",
    "linear_model/tests/test_a.py::test_two[dense-1]": "failed",
    "linear_model/tests/test_a.py::test_two[sparse-1]": "passed",
    "linear_model/tests/test_a.py::test_two_more": "skipped",
    "svm/tests/test_b.py::test_two[dense]": "failed",
}


def test_failures_that_are_all_expected_and_nothing_else():
    table = [Expected("test_a.py::test_two", "why", "dense"), Expected("test_b.py::test_two", "why")]
    verdict = judge(OUTCOMES, table)
    assert verdict.is_as_expected
    assert verdict.counts["linear_model/tests/test_a.py"] == {"passed": 2, "expected to fail": 1, "skipped": 1}


def test_what_was_not_expected_is_named():
    table = [
        Expected("test_a.py::test_two", "all of them"),
        Expected("test_a.py::test_gone", "of a former version"),
        Expected("test_c.py::test_of_a_module_that_did_not_run", "no matter"),
    ]
    verdict = judge(OUTCOMES, table)
    assert not verdict.is_as_expected
    assert verdict.failures == ["svm/tests/test_b.py::test_two[dense]"]
    assert verdict.passes == ["linear_model/tests/test_a.py::test_two[sparse-1]"]
    assert verdict.idle == [table[1]]


def test_every_expected_failure_has_a_reason_and_stands_once():
    assert all(entry.reason and "::test_" in entry.test for entry in EXPECTED)
    assert len({(entry.test, entry.which) for entry in EXPECTED}) == len(EXPECTED)
