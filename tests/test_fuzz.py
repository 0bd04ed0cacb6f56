"""The fuzzer: a slice of its cases, and that it sees, shrinks and prints what it is made to find."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from dying import dies_at_three
from fuzz.calls import CALLS, problem_of, truth_of
from fuzz.cases import SPARSE, STORAGES, Case, source, stored
from fuzz.checks import Violation, check_answer, judge
from fuzz.command import judge_seeds, side_by_side
from fuzz.draw import ESTIMATORS, combinations, draw, engines
from fuzz.peers import from_scipy
from fuzz.report import Tally, markdown
from fuzz.search import candidates
from fuzz.shrink import as_test, shrink
from fuzz.steps import faults, watched
from fuzz.truth import make_truth, penalty_arrays
from fuzz.twists import twisted

import ascd

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
PENALTIES = {
    "None": {}, "Zero": {"linear": 0.01}, "L1": {"strength": 0.3, "linear": 0.1}, "L2": {"strength": 0.5},
    "L1L2": {"l1": 0.2, "l2": 0.3, "weights": np.array([0.0, 1.0, 2.0])},
    "Box": {"lower": np.array([0.0, -np.inf, 1.0]), "upper": np.array([1.0, np.inf, 1.0]), "l2": 0.1, "linear": 0.1},
    "BoundedL1L2": {"l1": 0.1, "l2": 0.1, "lower": -0.5, "upper": 0.25},
}  # fmt: skip


def small_case(loss="squared", penalty="L1", **changes):
    rng = np.random.default_rng(3)
    b = rng.standard_normal(8)
    b = {"poisson": np.round(np.abs(b)), "squared": b, "huber": b}.get(loss, np.where(b > 0.0, 1.0, -1.0))
    case = Case("solve", rng.standard_normal((8, 3)), b, loss, penalty=penalty, parameters=PENALTIES[penalty])
    return replace(case, **changes)


# ------------------------------------------------------------------------------------------- the slice

#: Cases a family, of the few combinations of parts that other tests compile, too: about a minute on one core.
SLICE = {
    "solve": 1000,
    "path": 60,
    "minimize": 60,
    "steps": 40,
    "user": 30,
    "DualSVM": 60,
    "Lasso": 40,
    "Ridge": 40,
    "LinearSVC": 20,
}


@pytest.mark.parametrize("family", SLICE)
def test_no_violation(family):
    tally = judge_seeds(0, SLICE[family], few=True, family=family)
    assert [(found.seed, found.violation) for found in tally.found] == []


# ------------------------------------------------------------------------------------------- the truth


@pytest.mark.parametrize("penalty", PENALTIES)
def test_truth_is_exact_for_the_squared_loss(penalty):
    case = small_case(penalty=penalty)
    truth, x = truth_of(case), np.clip([0.125, 0.7, 0.1], *bounds_of(penalty))
    value, error, _ = truth.value(x)
    exact = sum((sum(map(product, row, x)) - Fraction(b)) ** 2 / 2 for row, b in zip(case.A, case.b, strict=True))
    for j, z in enumerate(map(Fraction, x)):
        l1, l2, linear = (Fraction(float(part[j])) for part in (truth.l1, truth.l2, truth.linear))
        exact += l1 * abs(z) + l2 * z * z / 2 + linear * z
    high, low = float(value), float(value - np.longdouble(float(value)))
    inexact = Fraction(1, 10**15) if penalty == "L1L2" else 0  # weights·l1 as a float64 here, exact there
    assert abs(Fraction(high) + Fraction(low) - exact) <= Fraction(float(error)) + Fraction(1, 10**30) + inexact
    assert 0.0 < error < 1e-15


def product(a, x):
    return Fraction(float(a)) * Fraction(float(x))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_truth_agrees_with_the_library(interpreted, loss, penalty):
    case = small_case(loss, penalty, weight=np.arange(8.0))
    problem = problem_of(case)
    truth, x = truth_of(case), np.clip([0.1, -0.2, 1.0], *bounds_of(penalty))
    assert float(truth.value(x)[0]) == pytest.approx(problem.objective(x), rel=1e-13)


def bounds_of(penalty):
    parameters = PENALTIES[penalty]
    return parameters.get("lower", -np.inf), parameters.get("upper", np.inf)


def test_truth_says_infinity_outside_the_box():
    truth = truth_of(small_case(penalty="Box"))
    assert math.isinf(float(truth.value(np.array([2.0, 0.0, 1.0]))[0]))
    assert np.array_equal(truth.nearest(), [0.0, 0.0, 1.0])


# ------------------------------------------------------------------------------------------- the search


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [name for name in PENALTIES if name != "Zero"])
@pytest.mark.parametrize("intercept", [False, True])
def test_search_and_scipy_agree(loss, penalty, intercept):
    case = small_case(loss, penalty, options={"intercept": intercept}, weight=np.r_[0.0, np.ones(7)])
    truth = truth_of(case)
    found = truth.values(*candidates(truth, [(truth.nearest(), 0.0)]))[0].min()
    peer = truth.value(*from_scipy(truth, truth.nearest(), 0.0)[0])[0]
    assert float(found) == pytest.approx(float(peer), rel=1e-9, abs=1e-9)
    assert found <= peer + 1e-12


@pytest.mark.parametrize("exponent", [-140, -40, 40, 140])
def test_search_works_at_every_scale(exponent):
    case = small_case(penalty="L1")
    scale = 10.0**exponent
    arrays = penalty_arrays("L1", {"strength": 0.3 * scale}, 3)
    truth = make_truth(case.A * scale, case.b, None, "squared", 1.0, arrays, False)
    plain = make_truth(case.A, case.b, None, "squared", 1.0, penalty_arrays("L1", {"strength": 0.3}, 3), False)
    found, expected = (float(one.values(*candidates(one, [(np.zeros(3), 0.0)]))[0].min()) for one in (truth, plain))
    assert found == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------------------------------- cases


def test_a_seed_is_a_case():
    for seed in range(200):
        assert source(draw(seed)) == source(draw(seed))


@pytest.mark.parametrize("family", ["solve", "path", "minimize", "steps", "user", "DualSVM", *ESTIMATORS])
def test_a_case_prints_itself(family):
    for seed in range(20):
        case = draw(seed, family=family)
        again = eval(source(case), {"Case": Case, "np": np})
        assert source(again) == source(case)
        assert np.array_equal(again.A, case.A)


def test_every_part_is_drawn():
    losses, penalties, storages = (set() for _ in range(3))
    for seed in range(1000):
        case = draw(seed, few=False, family="solve")
        losses.add(case.loss), penalties.add(case.penalty), storages.add(case.storage)
    assert losses == set(LOSSES)
    assert penalties == set(PENALTIES)
    assert storages == set(STORAGES)
    assert len(combinations()) == 2 * len(LOSSES) * 6
    assert {engine[0] for engine in engines()} == set(ascd.engine.rules.RULES)


@pytest.mark.parametrize("storage", STORAGES)
def test_storages_hold_the_same_numbers(storage):
    A = np.array([[1.0, 0.0, -2.0], [0.0, 0.0, 3.0]])
    found = stored(A, storage)
    assert np.array_equal(found.toarray() if storage in SPARSE else np.asarray(found), A)


@pytest.mark.parametrize("twist", ["again", "permuted", "scaled"])
def test_a_twist_keeps_the_objective(twist):
    x = np.array([0.5, -0.25, 1.0])
    for penalty in PENALTIES:
        case = small_case(penalty=penalty, twist=twist, weight=np.arange(8.0))
        other, back = twisted(case)
        for name in ("lower", "upper"):
            assert name not in case.parameters or np.ndim(other.parameters[name]) == np.ndim(case.parameters[name])
        mine, theirs = truth_of(case), truth_of(other)
        there = x[np.argsort(back(np.arange(3)))] if twist == "permuted" else x / back(np.ones(3))
        assert np.array_equal(back(there), x)
        assert float(mine.value(x)[0]) == float(theirs.value(there)[0])


# ------------------------------------------------------------------------------------------- what it finds


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


def test_an_objective_that_is_next_to_nothing_beside_its_constant():
    """P = σ·Σs + (2/σ)·F with F = 3e-173: what P is beside its constant is rounding, and a little more is wrong."""
    case = draw(202000013617)
    (answer,) = CALLS["HuberRegressor"](case)
    assert check_answer(answer) == []
    wrong = replace(answer, objective=answer.objective + 1e3 * answer.rounding)
    assert [violation.kind for violation in check_answer(wrong)] == ["objective"]


def test_a_process_that_dies_is_a_violation():
    total = Tally()
    for tally in side_by_side([(0, 2), (2, 2), (4, 1)], 2, dies_at_three):
        total.add(tally)
    assert total.cases == 5
    assert [(found.seed, found.violation.kind) for found in total.found] == [(3, "process died")]


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
