"""The fuzzer sees, shrinks and prints what it is made to find."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import mul

import numpy as np
import pytest
from dying import dies_at_three
from fuzz.calls import CALLS, Answer, truth_of
from fuzz.cases import Case
from fuzz.checks import Violation, check_answer, judge
from fuzz.command import judge_seeds, judge_watched, side_by_side
from fuzz.draw import draw
from fuzz.report import Tally, markdown
from fuzz.shrink import as_test, shrink
from fuzz.steps import faults, watched
from fuzz_small import small_case

import ascd
from ascd._base.jit import debugging
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


def test_intervals_hold_in_exact_arithmetic_after_a_long_step():
    """One step moves the clock by 2e7: the radius, a difference of such numbers, has lost the digits of the others."""
    case = draw(202000047767)
    A = [[Fraction(float(entry)) for entry in row] for row in case.A]
    for seen in watched(case):
        x = [Fraction(float(entry)) for entry in seen.x]
        slope = [sum(map(mul, row, x)) - Fraction(float(y)) for row, y in zip(A, case.b, strict=True)]
        for j, (middle, width) in enumerate(zip(seen.estimate, seen.radius, strict=True)):
            entry = sum(row[j] * v for row, v in zip(A, slope, strict=True))
            assert abs(entry - Fraction(float(middle))) <= Fraction(float(width))
    assert list(faults(case)) == []


@pytest.mark.parametrize("oracle", ["simulated", "exact", "cached"])
def test_the_rounding_of_estimates_that_are_sums_is_counted(oracle):
    """33 products were added to an estimate of 75: it was wrong by 5e-13, and 4.9e-13 were counted."""
    case = draw(2101000311395, False, "single")
    options = {**case.options, "oracle": oracle, "max_iter": 200}
    assert list(faults(replace(case, options=options))) == []


@pytest.mark.parametrize("seed", [2101000050975, 2101000945550, 2102000597479, 2103000125546])
def test_numbers_at_the_ends_of_float64(seed):
    """Huber's first scale; ½·Σb² = 1.4e308; a square before its weight; samples weighed by C, which lose a column."""
    assert judge(draw(seed, False, "single"))[1] == []


def test_an_exponential_of_rounding_may_be_infinite():
    """Products of 2e25 that cancel: where a run on a problem without a minimum ended after 385 passes."""
    truth = truth_of(draw(2103000753807, False, "single"))
    x = np.array([-0.9084379588925986, 0.0, 0.0, 0.0, 3.13505655073796e16, -2.3897382642093652e16])
    for objective, kinds in ((math.inf, []), (1.0, ["objective"])):
        assert [each.kind for each in check_answer(Answer(truth, x, 0.0, math.inf, objective, "stalled"))] == kinds


def test_an_objective_that_is_next_to_nothing_beside_its_constant():
    """P = σ·Σs + (2/σ)·F with F = 3e-173: what P is beside its constant is rounding, and a little more is wrong."""
    case = draw(202000013617)
    (answer,) = CALLS["HuberRegressor"](case)
    assert check_answer(answer) == []
    wrong = replace(answer, objective=answer.objective + 1e3 * answer.rounding)
    assert [violation.kind for violation in check_answer(wrong)] == ["objective"]


def test_an_overflow_is_seen_though_its_sample_does_not_count(interpreted):
    """Σ s·a² is 0·inf there, nan where it is compiled; Σ a² tells."""
    with pytest.raises(ValueError, match="squared norm overflows float64: rescale A"):
        ascd.Problem([[1.6e157], [1.6e157]], [2.0, 0.0], "poisson", sample_weight=[2.0, 0.0])
    with pytest.raises(ValueError, match="squared norm overflows float64: rescale A"):
        ascd.Problem([[1.9e157]], [1.9e157], "huber", sample_weight=[0.0])


def test_a_sum_of_squares_beyond_float64_is_no_violation(interpreted):
    """½·b² = 9.8e307 is a number, b² is none."""
    assert judge(Case("solve", np.array([[0.0]]), np.array([1.4e154])))[1] == []


def test_a_square_that_underflows_is_not_lost(compiled):
    """½·l2·x² is 4e-116 and x² is below float64; compiled, because reordered products are what lost it."""
    penalty = ascd.L1L2(l1=[1.0, 1.0], l2=[8e210, 8e210])
    box = ascd.BoundedL1L2(l1=1.0, l2=8e210, lower=-1.0, upper=1.0)
    for each in (penalty, box):
        with debugging(True):
            problem = ascd.Problem([[0.0, 0.0]], [0.0], penalty=each)
        assert problem.objective([1e-163, 0.0]) == pytest.approx(4e-116, rel=1e-12)


def test_targets_whose_squares_overflow_are_named(interpreted):
    """Each fit for a scale starts where the one before ended, where the objective may be infinite: not x0's fault."""
    X, y = [[9.9999998e7], [1.00000002e8]], [8.5e156, -6.3e155]
    model = ascd.HuberRegressor(fit_intercept=False, alpha=7.5, max_iter=5)
    with pytest.raises(ValueError, match="y most likely, contain large values"):
        model.fit(X, y, sample_weight=[4e-5, 1.3e6])


@pytest.mark.parametrize("max_iter", [0, 1, 3])
@pytest.mark.parametrize("solve", [ascd.solve, ascd.solve_blocks])
def test_constants_that_cancel_twice_leave_the_image(interpreted, solve, max_iter):
    """The mean of 0.08480574264207916 three times is off by a last place: 1e-17 hides coefficients of 1e-134 too."""
    A, b, x0 = np.array([[0.1144941], [1.11854595], [2.41957137]]), np.zeros(3), [1.68930901e-134]
    blocks = ascd.BlockProblem(A, b, penalty=ascd.L21(0.0))
    problem = ascd.Problem(A, b) if solve is ascd.solve else blocks
    start = {"x0": x0, "intercept": True, "intercept0": 0.08480574264207916}
    solution = solve(problem, **start, tol=0.0, max_iter=max_iter)
    image = A @ np.ravel(solution.x) + np.ravel(solution.intercept)
    assert solution.objective == pytest.approx(0.5 * float(image @ image), rel=1e-9, abs=0.0)


def test_curvatures_of_blocks_that_overflow_are_no_eigenvalues(interpreted):
    """exp of 1e14 at x0: products of columns are infinite, and no matrix for LAPACK."""
    A = 1e64 * np.array([[0.6, 0.9, 2.6, -0.4], [2.2, 0.8, -1.0, -3.0], [-0.1, 1.1, 0.3, 0.0], [0.8, 1.9, 0.9, -0.7]])
    penalty = ascd.SparseGroup(l1=1.0, l2=4.3e64, groups=[[0], [1, 2, 3]])
    problem = ascd.BlockProblem(A, [0.8, 0.2, 1.1, 0.7], "poisson", penalty)
    solution = ascd.solve_blocks(problem, x0=[1.4e-50, 2.4e-49, -6.3e-49, -3.0e-49], intercept=True, max_iter=3)
    assert math.isfinite(solution.objective)


def test_a_process_that_dies_is_a_violation():
    total = Tally()
    for tally in side_by_side([(0, 2), (2, 2), (4, 1)], 2, dies_at_three):
        total.add(tally)
    assert total.cases == 5
    assert [(found.seed, found.violation.kind) for found in total.found] == [(3, "process died")]


def test_a_case_that_does_not_end_is_a_violation():
    """With a thousandth of a second no case ends in time."""
    (tally,) = side_by_side([(0, 1)], 2, partial(judge_watched, few=True, family="solve", seconds=1e-3))
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
