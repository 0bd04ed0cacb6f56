"""The fuzzer: a slice of its cases, the judge's own truth, and what it sees, shrinks and prints."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from dying import dies_at_three
from fuzz import command
from fuzz.calls import answers, problem_of, truth_of
from fuzz.calls import interpreted as interpreted_runs
from fuzz.cases import SPARSE, STORAGES, Case, source, stored
from fuzz.checks import judge
from fuzz.command import Tally, apart, judge_seeds, judge_watched, side_by_side
from fuzz.draw import FAMILIES, SINGLE, combinations, draw
from fuzz.estimators import BLOCK_ESTIMATORS, ESTIMATORS
from fuzz.forms import twisted, with_columns
from fuzz.placed import HELD, ON_DISK, as_held, fitting, placed
from fuzz.search import candidates, from_scipy
from fuzz.shrink import as_test, shrink
from fuzz.steps import engines, faults
from pairs import in_pairs

import ascd
from ascd.engine.oracles import stochastic
from ascd.matrix.base import as_block
from ascd.matrix.open import open_design
from ascd.results import Solution

RNG = np.random.default_rng(3)
A = RNG.standard_normal((8, 4))
TARGETS = {
    "squared": RNG.standard_normal(8), "huber": RNG.standard_normal(8),
    "logistic": np.where(RNG.random(8) < 0.5, 1.0, -1.0), "squared_hinge": np.where(RNG.random(8) < 0.5, 1.0, -1.0),
    "poisson": RNG.poisson(1.0, 8).astype(float),
}  # fmt: skip
PENALTIES = {
    "None": {}, "Zero": {"linear": 0.01}, "L1": {"strength": 0.3, "linear": 0.1}, "L2": {"strength": 0.5},
    "L1L2": {"l1": 0.2, "l2": 0.3, "weights": np.array([0.0, 1.0, 2.0, 1.0])},
    "Box": {"lower": np.array([0.0, -np.inf, 1.0, 0.0]), "upper": np.array([1.0, np.inf, 1.0, np.inf]), "linear": 0.1},
    "BoundedL1L2": {"l1": 0.1, "l2": 0.1, "lower": -0.5, "upper": 0.25},
}  # fmt: skip
BLOCKS = {
    "GroupL2": {"strength": 0.4, "groups": [[2, 0], [1], [3]], "weights": np.array([0.5, 0.0, 2.0]), "ridge": 0.1},
    "SparseGroup": {"l1": 0.1, "l2": 0.3, "groups": [[3, 1], [0, 2]], "positive": True},
    "L21": {"strength": 0.3, "weights": np.array([1.0, 0.0, 2.0, 1.0])},
}  # fmt: skip
ROWS = {**TARGETS, "squared": RNG.standard_normal((8, 2)), "softmax": np.array([0, 1, 2, 1, 0, 2, 2, 1])}
#: Every loss with every penalty of coordinates, and three losses with those of blocks.
ALL = [(loss, penalty) for loss in TARGETS for penalty in PENALTIES]
ALL += [(loss, penalty) for loss in ("squared", "softmax", "logistic") for penalty in BLOCKS]


def small_case(loss="squared", penalty="L1", **changes):
    targets = TARGETS if penalty in PENALTIES else ROWS
    case = Case("solve", A, targets[loss], loss, penalty=penalty, parameters={**PENALTIES, **BLOCKS}[penalty])
    return replace(case, **changes)


def kinds(case):
    return {violation.kind for violation in judge(case)[1]}


# ------------------------------------------------------------------------------------------- the slice

#: Cases a family, of the few combinations of parts that other tests compile, too: some ten seconds on one core.
SLICE = {
    "solve": 400, "path": 60, "stochastic": 40, "steps": 40, "offset": 40, "user": 30, "blocks": 40,
    "block_path": 6, "MultiTaskElasticNet": 5, "SparseGroupLasso": 5,
}  # fmt: skip
#: Cases of parts that would have to be compiled.
INTERPRETED = {
    "DualSVM": 60, "Lasso": 40, "Ridge": 40, "LinearSVC": 20, "minimize": 40, "Multinomial": 3, "placed": 5,
    "placed_blocks": 3,
}  # fmt: skip


@pytest.fixture
def uncompiled_vectors(monkeypatch):
    """To the compiler an array of one row or one column is of another type: these cases run as plain Python.

    So do those with bounds: no other test compiles this combination of parts.
    """
    judge = command.judge

    def judged(case, deep):
        with interpreted_runs() if is_apart(case) else nullcontext():
            return judge(case, deep)

    monkeypatch.setattr(command, "judge", judged)


def is_apart(case):
    return case.penalty == "BoundedL1L2" or (min(case.shape) == 1 and not case.has_blocks)


@pytest.mark.usefixtures("compiled", "uncompiled_vectors")
@pytest.mark.parametrize("family", SLICE)
def test_no_violation(family):
    tally = judge_seeds(0, SLICE[family], few=True, family=family)
    assert [(found.seed, found.violation) for found in tally.found] == []


@pytest.mark.parametrize("family", INTERPRETED)
def test_no_violation_without_compiling(request, family):
    if family not in ("DualSVM", "Lasso", "Ridge", "LinearSVC"):
        request.getfixturevalue("long_way")
    tally = judge_seeds(0, INTERPRETED[family], few=True, family=family)
    assert [(found.seed, found.violation) for found in tally.found] == []


# ------------------------------------------------------------------------------------------- the truth


@pytest.mark.parametrize("penalty", [*PENALTIES, "GroupL2"])
def test_truth_is_exact_for_the_squared_loss(penalty):
    case = small_case(penalty=penalty, options={"intercept": True})
    truth = truth_of(case)
    x = np.array([[0.5, 0.25], [0.25, -1.0], [0.0, 0.0], [0.0, 0.0]])[:, : truth.outputs]  # norms are rational
    point = np.clip(truth.point(x, np.array([0.5, -0.25])[: truth.outputs]), *truth.bounds())
    x, constants = point[: truth.coefficients].reshape(4, -1), point[truth.coefficients :]
    value, error, _ = truth.value(point)
    exact = Fraction(0)
    for row, target in zip(A, truth.b, strict=True):
        for t, constant in enumerate(constants):
            predicted = sum(Fraction(a) * Fraction(z) for a, z in zip(row, x[:, t], strict=True))
            exact += (predicted + Fraction(constant) - Fraction(target[t])) ** 2 / 2
    for j, row in enumerate(x):
        l1, l2, linear = (Fraction(float(part[j])) for part in (truth.l1, truth.l2, truth.linear))
        exact += sum(l1 * abs(z) + l2 * z * z / 2 + linear * z for z in map(Fraction, row))
    if penalty == "GroupL2":  # the second group has no weight, and the others' norms are those of one row
        norm = np.sqrt(np.longdouble(0.3125))
        exact += Fraction(0.4 * 0.5) * (Fraction(float(norm)) + Fraction(float(norm - np.longdouble(float(norm)))))
    high, low = float(value), float(value - np.longdouble(float(value)))
    inexact = Fraction(1, 10**15) if penalty == "L1L2" else 0  # weights·l1 as a float64 here, exact there
    assert abs(Fraction(high) + Fraction(low) - exact) <= Fraction(float(error)) + Fraction(1, 10**18) + inexact
    assert 0.0 < error < 1e-15


@pytest.mark.parametrize(("loss", "penalty"), ALL)
def test_truth_agrees_with_the_library(loss, penalty):
    case = small_case(loss, penalty, weight=np.arange(8.0))
    truth = truth_of(case)
    point = np.clip(np.abs(np.random.default_rng(0).standard_normal(truth.size)), *truth.bounds())
    x = point.reshape(4, -1)
    expected = problem_of(case).objective(x if case.has_rows else x[:, 0])
    assert float(truth.value(point)[0]) == pytest.approx(expected, rel=1e-13)


def test_an_offset_is_a_column_with_coefficient_one():
    offset, x = np.linspace(-1.0, 2.0, 8), np.array([0.5, -0.25, 1.0, 0.0])
    for loss in TARGETS:
        case = small_case(loss, weight=np.arange(8.0), options={"offset": offset})
        expected = problem_of(case).objective(x)
        assert float(truth_of(case).value(np.append(x, 1.0))[0]) == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------------------------------- the search


@in_pairs(loss=TARGETS, penalty=[name for name in PENALTIES if name != "Zero"], intercept=[False, True])
def test_search_and_scipy_agree(loss, penalty, intercept):
    case = small_case(loss, penalty, options={"intercept": intercept}, weight=np.r_[0.0, np.ones(7)])
    if penalty == "None" and loss != "squared":  # separable data have no minimum
        case = replace(case, penalty="L2", parameters={"strength": 0.1})
    truth = truth_of(case)
    found = truth.values(candidates(truth, [truth.nearest()]))[0].min()
    peer = truth.value(from_scipy(truth, truth.nearest())[0])[0]
    assert float(found) == pytest.approx(float(peer), rel=1e-9, abs=1e-9)
    assert found <= peer + 1e-12


@in_pairs(loss=["squared", "softmax", "logistic"], penalty=BLOCKS, intercept=[False, True])
def test_search_scipy_and_the_library_agree_on_blocks(loss, penalty, intercept):
    case = small_case(loss, penalty, options={"intercept": intercept, "tol": 1e-10}, weight=np.r_[0.0, np.ones(7)])
    truth = truth_of(case)
    found = float(truth.values(candidates(truth, [truth.nearest()]))[0].min())
    assert found == pytest.approx(ascd.solve(problem_of(case), **case.options).objective, rel=1e-8)
    peers = [float(truth.value(point)[0]) for point in from_scipy(truth, truth.nearest())]
    assert found <= min(peers) + 1e-9
    assert min(peers) == pytest.approx(found, rel=2e-2 if loss == "softmax" else 1e-4)  # kinks are hard for L-BFGS


@pytest.mark.parametrize("exponent", [-140, -40, 40, 140])
@pytest.mark.parametrize("penalty", ["L1", "GroupL2"])
def test_search_works_at_every_scale(exponent, penalty):
    scale, strength = 10.0**exponent, {"strength": 0.3}
    plain = small_case(penalty=penalty, parameters={**BLOCKS.get(penalty, {}), **strength, "ridge": 0.0})
    if penalty == "L1":
        plain = replace(plain, parameters=strength)
    scaled = replace(plain, A=A * scale, parameters={**plain.parameters, "strength": 0.3 * scale})
    found = []
    for case in (plain, scaled):
        truth = truth_of(case)
        found.append(float(truth.values(candidates(truth, [truth.nearest()]))[0].min()))
    assert found[1] == pytest.approx(found[0], rel=1e-12)


# ------------------------------------------------------------------------------------------- cases


def test_a_seed_is_a_case():
    for seed in range(200):
        assert source(draw(seed)) == source(draw(seed))
    assert {draw(seed, family="single").family for seed in range(200)} <= {*SINGLE, *ESTIMATORS}


@pytest.mark.parametrize("family", [*FAMILIES, *ESTIMATORS, *BLOCK_ESTIMATORS])
def test_a_case_prints_itself(family):
    for seed in range(20):
        case = draw(seed, family=family)
        again = eval(source(case), {"Case": Case, "np": np})
        assert source(again) == source(case)
        assert np.array_equal(again.A, case.A)
        assert again.b.dtype.kind == case.b.dtype.kind


def test_every_part_is_drawn():
    losses, penalties, storages = (set() for _ in range(3))
    for seed in range(1000):
        case = draw(seed, family="solve")
        losses.add(case.loss), penalties.add(case.penalty), storages.add(case.storage)
    assert (losses, penalties, storages) == (set(TARGETS), set(PENALTIES), set(STORAGES))
    assert len(combinations()) == 2 * len(TARGETS) * 6
    assert {engine[0] for engine in engines()} == set(ascd.engine.rules.RULES)


@pytest.mark.parametrize("storage", STORAGES)
def test_storages_hold_the_same_numbers(storage):
    A = np.array([[1.0, 0.0, -2.0], [0.0, 0.0, 3.0]])
    found = stored(A, storage)
    assert np.array_equal(found.toarray() if storage in SPARSE else np.asarray(found), A)


@pytest.mark.parametrize("storage", ["parted:3", "parted:8", "table:1", "table:5", *HELD, *(f"{s}:2" for s in ON_DISK)])
def test_places_hold_the_same_numbers(storage):
    kind, rng = storage.partition(":")[0], np.random.default_rng(0)
    B = np.array([[1.0, 0.0, -2.0], [0.0, 1.0, 3.0], [0.0, 0.0, 1.0]])
    B = np.minimum(np.abs(B), 1.0) if "bool" in storage else B
    design = open_design(placed(B, storage))
    assert np.array_equal(as_block(design.take(np.arange(3)), 3), B)
    drawn, name = fitting(rng, B, kind)
    assert name.startswith(kind)
    if kind in ("held", "npy"):
        held = as_held(drawn, *name.split(":")[1:3])
        assert np.array_equal(held.toarray() if hasattr(held, "toarray") else held, drawn)


@pytest.mark.parametrize("twist", ["again", "permuted", "scaled"])
def test_a_twist_keeps_the_objective(twist):
    for loss, penalty in ALL:
        case = small_case(loss, penalty, twist=twist, weight=np.arange(8.0), options={"intercept": True})
        other, back = twisted(case)
        mine, theirs = truth_of(case), truth_of(other)
        there = np.clip(np.abs(np.random.default_rng(1).standard_normal(theirs.size)), *theirs.bounds())
        difference = mine.value(back(there))[0] - theirs.value(there)[0]
        assert abs(float(difference)) <= 1e-15 * float(theirs.value(there)[2])


def test_fewer_columns_take_their_groups_along():
    case = small_case(penalty="GroupL2", options={"x0": np.arange(8.0).reshape(4, 2)})
    small = with_columns(case, np.array([0, 3]))
    assert small.parameters["groups"] == [[0], [1]]
    assert small.parameters["weights"].tolist() == [0.5, 2.0]
    assert small.options["x0"].tolist() == [[0.0, 1.0], [6.0, 7.0]]


# ------------------------------------------------------------------------------------------- what it sees


@pytest.fixture
def boastful(monkeypatch):
    """A library whose gap is a tenth of the true one."""
    honest = ascd.solve

    def solve(problem, **options):
        solution = honest(problem, **{**options, "max_iter": 0})
        return replace(solution, gap=0.1 * solution.gap)

    monkeypatch.setattr(ascd, "solve", solve)


@pytest.mark.parametrize(("loss", "penalty"), [("squared", "L1"), ("squared", "GroupL2"), ("softmax", "GroupL2")])
def test_a_false_gap_is_found_shrunk_and_printed(boastful, loss, penalty):
    case = small_case(loss, penalty, storage="csr", options={"tol": 1e-3, "max_iter": 7})
    violations = [violation for violation in judge(case)[1] if violation.kind == "gap"]
    assert violations
    assert violations[0].size > 1e-3
    small, violation = shrink(case, violations[0], calls=200)
    assert small.A.size < case.A.size
    assert (small.storage, violation.kind) == ("F", "gap")
    names = {"Case": Case, "np": np, "judge": judge}
    exec(as_test(small, violation, "boast"), names)
    with pytest.raises(AssertionError):
        names["test_boast"]()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"gap": -1e-9}, "gap nan or negative"),
        ({"gap": math.nan}, "gap nan or negative"),
        ({"objective": 1e3}, "objective"),
        ({"gap": 1.0}, "converged above tolerance"),
        ({"x": np.array([2.0, 0.0, 1.0, 0.0])}, "outside the box"),
        ({"x": np.array([math.nan, 0.0, 1.0, 0.0])}, "point not finite"),
        ({"zero_objective": 1e6}, "zero_objective"),
    ],
)
def test_each_false_report_is_found(monkeypatch, changes, kind):
    honest = ascd.solve
    monkeypatch.setattr(ascd, "solve", lambda problem, **options: replace(honest(problem, **options), **changes))
    assert kind in kinds(small_case(penalty="Box"))


def test_a_slow_fit_is_found():
    case = small_case(seconds=0.0)
    assert answers(case).seconds > 0.0
    assert kinds(case) == {"slow"}
    assert kinds(replace(case, seconds=60.0)) == set()


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
    assert kinds(small_case()) == {kind}


def test_a_run_that_depends_on_chance_is_found(monkeypatch):
    honest, calls = ascd.solve, iter(range(9))
    monkeypatch.setattr(ascd, "solve", lambda problem, **options: honest(problem, **options, max_iter=next(calls)))
    assert "not deterministic" in kinds(small_case(twist="again"))


def test_an_interval_that_is_too_narrow_is_found(monkeypatch):
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
    assert kinds(case) == set()
    monkeypatch.setattr(owner, name, broken, raising=False)
    assert kind in kinds(case)
    if kind == "interval":  # intervals that may fail are not held to be true
        assert kinds(likely_case(failure=0.01)) == set()


# ------------------------------------------------------------------------------------------- processes and reports


def test_a_process_that_dies_is_a_violation():
    found = list(side_by_side([(0, 2), (2, 2), (4, 1)], 2, dies_at_three))
    (died,) = (tally for tally in found if isinstance(tally, Tally))
    assert sum(tally for tally in found if isinstance(tally, int)) == 4
    assert [(one.seed, one.violation.kind) for one in died.found] == [(3, "process died")]


def test_a_case_that_does_not_end_is_a_violation():
    """With a thousandth of a second no case ends in time."""
    (tally,) = apart((0, 1), partial(judge_watched, few=True, family="solve", seconds=1e-3))
    assert [(found.seed, found.violation.kind) for found in tally.found] == [(0, "process died")]
