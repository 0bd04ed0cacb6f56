"""The fuzzer sees, shrinks and prints what it is made to find."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from dying import dies_at_three
from fuzz.cases import Case
from fuzz.checks import Violation, judge
from fuzz.command import apart, judge_seeds, judge_watched, side_by_side
from fuzz.draw import draw
from fuzz.report import Tally, markdown
from fuzz.shrink import as_test, shrink
from fuzz.steps import faults
from fuzz_small import small_case

import ascd
from ascd.engine.oracles import stochastic
from ascd.results.solution import Solution

pytestmark = pytest.mark.usefixtures("plain_python")


@pytest.fixture
def boastful(monkeypatch, interpreted):
    """A library whose gap is a tenth of the true one."""
    honest = ascd.solve

    def solve(problem, **options):
        solution = honest(problem, **{**options, "max_iter": 0})
        return replace(solution, gap=0.1 * solution.gap)

    monkeypatch.setattr(ascd, "solve", solve)


def test_a_false_gap_is_found_and_shrunk(boastful):
    case = small_case(storage="csr", options={"tol": 1e-3, "max_iter": 7})
    violations = [violation for violation in judge(case)[1] if violation.kind == "gap"]
    assert violations
    assert violations[0].size > 0.1
    small, violation = shrink(case, violations[0])
    assert small.shape == (1, 1)
    assert (small.storage, small.options, violation.kind) == ("F", {}, "gap")
    assert set(np.abs(np.r_[small.A.ravel(), small.b])) <= {0.0, 1.0}


def test_a_violation_is_printed_as_a_test(boastful):
    case = small_case()
    violation = next(violation for violation in judge(case)[1] if violation.kind == "gap")
    names = {"Case": Case, "np": np, "judge": judge}
    exec(as_test(case, violation, "boast"), names)
    with pytest.raises(AssertionError):
        names["test_boast"]()


def said(monkeypatch, **changes):
    """The kinds of violations where the solution says something else."""
    honest = ascd.solve
    monkeypatch.setattr(ascd, "solve", lambda problem, **options: replace(honest(problem, **options), **changes))
    return {violation.kind for violation in judge(small_case(penalty="Box"))[1]}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"gap": -1e-9}, "gap nan or negative"),
        ({"gap": math.nan}, "gap nan or negative"),
        ({"objective": 1e3}, "objective"),
        ({"gap": 1.0}, "converged above tolerance"),
        ({"x": np.array([2.0, 0.0, 1.0])}, "outside the box"),
        ({"x": np.array([math.nan, 0.0, 1.0])}, "point not finite"),
        ({"zero_objective": 1e6}, "zero_objective"),
    ],
)
def test_each_false_word_is_found(monkeypatch, changes, kind):
    assert kind in said(monkeypatch, **changes)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ZeroDivisionError("division by zero"), "exception ZeroDivisionError"),
        (ValueError("something went wrong"), "unclear error"),
        (ValueError("x0 must be finite"), "unjustified error"),
        (ValueError("alphas must be smaller: with 2 the penalty overflows"), "unjustified error"),
        (ValueError("F at zero coefficients is inf: A and b must not be too large"), "unjustified error"),
    ],
)
def test_errors_are_judged(monkeypatch, error, kind):
    def solve(problem, **options):
        raise error

    monkeypatch.setattr(ascd, "solve", solve)
    assert [violation.kind for violation in judge(small_case())[1]] == [kind]


def test_a_run_that_depends_on_chance_is_found(monkeypatch, interpreted):
    honest, calls = ascd.solve, iter(range(9))
    monkeypatch.setattr(ascd, "solve", lambda problem, **options: honest(problem, **options, max_iter=next(calls)))
    assert "not deterministic" in {violation.kind for violation in judge(small_case(twist="again"))[1]}


def test_an_interval_that_is_too_narrow_is_found(monkeypatch, interpreted):
    parts = {"rule": "cyclic", "oracle": "norm", "max_iter": 12, "tol": 0.0, "rng": 0}
    case = small_case(family="steps", options=parts)
    assert list(faults(case)) == []
    from ascd.engine.intervals import Intervals

    monkeypatch.setattr(Intervals, "width_at", lambda self, j: 0.0)
    assert [kind for kind, _ in faults(case)] == ["interval"]


def likely_case(failure=1e-9, **changes):
    """Tall data, so that a sample says something."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 3))
    numbers = {"failure": failure, "rows": 40, "patience": 0.0, "anchored": False}
    options = {"rule": "cyclic", "rng": 1, "max_iter": 25, "tol": 1e-6, "stochastic": numbers, **changes}
    return Case(
        "stochastic", A, A[:, 0] + rng.standard_normal(60), penalty="L1", parameters={"strength": 2.0}, options=options
    )


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("owner", "name", "broken", "kind"),
    [
        (stochastic, "sampled_radius", lambda *given: 0.0, "interval"),
        (stochastic.Sampled, "confidence", lambda self: 1.0, "confidence"),
        (stochastic.Sampled, "confidence", lambda self: 1.0, "called proved"),
        (Solution, "gap", property(lambda self: 0.0, lambda self, value: None), "gap"),
    ],
)
def test_a_likely_oracle_that_is_wrong_is_found(monkeypatch, owner, name, broken, kind):
    case = likely_case(max_iter=2 if kind == "gap" else 25)
    assert judge(case)[1] == []
    monkeypatch.setattr(owner, name, broken, raising=False)
    assert kind in {violation.kind for violation in judge(case)[1]}


@pytest.mark.usefixtures("interpreted")
def test_likely_intervals_that_may_fail_are_not_held_to_be_true(monkeypatch):
    monkeypatch.setattr(stochastic, "sampled_radius", lambda *given: 0.0)
    assert judge(likely_case(failure=0.01))[1] == []


@pytest.mark.usefixtures("interpreted")
def test_a_likely_run_that_depends_on_more_than_its_seed_is_found(monkeypatch):
    honest, seeds = ascd.minimize, iter(range(9))
    monkeypatch.setattr(ascd, "minimize", lambda problem, **how: honest(problem, **{**how, "rng": next(seeds)}))
    found = judge(likely_case(failure=0.01, rule="uniform", max_iter=5))[1]
    assert "not deterministic" in {violation.kind for violation in found}


@pytest.mark.usefixtures("interpreted")
def test_the_judge_knows_scores_beyond_the_range_of_float64():
    """Squares of gradients of 1e100, times curvatures of 1e200."""
    assert judge(draw(2144, family="stochastic"))[1] == []


@pytest.mark.usefixtures("interpreted")
def test_numbers_of_a_likely_oracle_are_refused_for_a_reason_only(monkeypatch):
    case = likely_case()
    assert judge(case.with_option(stochastic={"rows": 1}))[1] == []

    def refuse(self, parts, rng):
        raise ValueError("Stochastic rows must be at least 2; got 40")

    monkeypatch.setattr(ascd.Stochastic, "prepare", refuse)
    assert [violation.kind for violation in judge(case)[1]] == ["unjustified error"]


def test_a_process_that_dies_is_a_violation():
    total = Tally()
    for tally in side_by_side([(0, 2), (2, 2), (4, 1)], 2, dies_at_three):
        total.add(tally)
    assert total.cases == 5
    assert [(found.seed, found.violation.kind) for found in total.found] == [(3, "process died")]


def test_a_case_that_does_not_end_is_a_violation():
    """With a thousandth of a second no case ends in time."""
    (tally,) = apart((0, 1), partial(judge_watched, few=True, family="solve", seconds=1e-3))
    assert [(found.seed, found.violation.kind) for found in tally.found] == [(0, "process died")]


def test_reports_add_up(interpreted):
    whole, parts = judge_seeds(0, 6, True, "solve"), Tally()
    for seed in range(6):
        parts.add(judge_seeds(seed, 1, True, "solve"))
    assert parts.counts == whole.counts
    assert (parts.cases, parts.answers, parts.certified) == (whole.cases, whole.answers, whole.certified)
    whole.found = []
    whole.count(7, small_case(), judge(small_case())[0], [Violation("gap", "too small", 0.5)], 0.1)
    text = markdown(whole, "make fuzz", 1.0, ["def test(): ..."])
    assert "| gap | solve | coarse | 1 | 0.5 | 7 |" in text
    assert "Cases: **7**" in text
