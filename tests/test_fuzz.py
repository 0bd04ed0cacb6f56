"""The fuzzer: a slice of its cases, and the judge's own truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from fuzz import command
from fuzz.calls import problem_of, truth_of
from fuzz.cases import SPARSE, STORAGES, Case, source, stored
from fuzz.command import judge_seeds
from fuzz.draw import BLOCKS, ESTIMATORS, LAST, STORED, _newer, draw, engines
from fuzz.offsets import with_offset
from fuzz.peers import from_scipy
from fuzz.search import candidates
from fuzz.single_draw import combinations
from fuzz.truth import make_truth, penalty_arrays
from fuzz.twists import twisted
from fuzz_small import LOSSES, PENALTIES, small_case
from pairs import in_pairs

import ascd
from ascd._core.jit import debugging

# ------------------------------------------------------------------------------------------- the slice

#: Cases a family, of the few combinations of parts that other tests compile, too: some ten seconds on one core.  Of
#: ``solve`` the first 591 take every branch of the library that 1000 take in plain Python.
SLICE = {
    "solve": 600,
    "path": 60,
    "minimize": 60,
    "stochastic": 40,
    "steps": 40,
    "offset": 40,
    "user": 30,
    "DualSVM": 60,
    "Lasso": 40,
    "Ridge": 40,
    "LinearSVC": 20,
}


@pytest.fixture
def uncompiled_vectors(monkeypatch):
    """To the compiler an array of one row or one column is of another type: these cases run as plain Python."""
    judge = command.judge

    def judged(case, deep):
        with debugging(min(case.shape) == 1):
            return judge(case, deep)

    monkeypatch.setattr(command, "judge", judged)


@pytest.mark.usefixtures("uncompiled_vectors")
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


@in_pairs(loss=LOSSES, penalty=[name for name in PENALTIES if name != "Zero"], intercept=[False, True])
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


def test_single_coordinates_can_be_asked_for():
    """The families that came later are left out; a seed that draws none of them draws the same."""
    seeds = {
        is_older: [seed for seed in range(200) if (_newer(seed) is None) is is_older] for is_older in (True, False)
    }
    assert all(seeds.values())
    assert all(source(draw(seed)) == source(draw(seed, family="single")) for seed in seeds[True])
    assert not {draw(seed, family="single").family for seed in seeds[False]} & {"stochastic", *BLOCKS, *STORED, *LAST}


@pytest.mark.parametrize(
    "family", ["solve", "path", "minimize", "stochastic", "steps", "user", "DualSVM", *filter(None, LAST), *ESTIMATORS]
)
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


def test_an_offset_is_a_column_with_coefficient_one(interpreted):
    offset, x = np.linspace(-1.0, 2.0, 8), np.array([0.5, -0.25, 1.0])
    for loss in LOSSES:
        case = small_case(loss, "L1", weight=np.arange(8.0))
        truth = with_offset(truth_of(case), offset)
        problem = problem_of(case.with_option(offset=offset))
        assert float(truth.value(np.append(x, 1.0))[0]) == pytest.approx(problem.objective(x), rel=1e-12)
