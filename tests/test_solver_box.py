"""Quadratic problems in a box: every way to the minimum arrives, and gaps are those of the problem itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import ascd
from ascd.solver import tuning
from ascd.solver.box import barrier, descent
from ascd.solver.box.barrier import Barrier
from ascd.solver.box.descent import BoxDescent
from ascd.solver.box.drift import largest_affordable, most_drifting, settle
from ascd.solver.box.kinds import is_box_problem
from ascd.solver.box.sweeps import gap_term
from ascd.svm import signed_box

pytestmark = pytest.mark.usefixtures("interpreted")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)) * np.linspace(0.5, 2.0, 6)
Y = np.where(X[:, 0] - X[:, 1] + RNG.standard_normal(40) > 0.0, 1.0, -1.0)


def dual(C=1.0, loss="hinge", storage=np.asarray, weight=None):
    """The signed dual with the squared loss, samples weighted by 1/ω."""
    data = storage(X.T) if storage is not np.asarray else X.T
    return ascd.Problem(data, np.zeros(6), penalty=signed_box(Y, C, loss), sample_weight=weight)


def primal_gap(problem, x, C, weight=None, loss="hinge"):
    """Primal minus dual value, from the textbook's formulas."""
    omega = 1.0 if weight is None else 1.0 / weight
    w = (X.T @ x) / omega
    short = np.maximum(0.0, 1.0 - Y * (X @ w))
    primal = 0.5 * np.sum(omega * w * w) + C * (short if loss == "hinge" else short**2).sum()
    return primal + problem.objective(x)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_gap_terms_add_up_to_the_gap(loss):
    problem = dual(0.7, loss)
    for _ in range(5):
        x = Y * 0.7 * RNG.random(40) * (RNG.random(40) < 0.7)
        gradient = X @ (X.T @ x)
        terms = [gap_term(problem.parts.penalty, x[j], gradient[j], j) for j in range(40)]
        assert min(terms) >= 0.0
        assert sum(terms) == pytest.approx(primal_gap(problem, x, 0.7, loss=loss), rel=1e-8)


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_gap_asked_for_is_reached(C, turn):
    """Every two of C, weights and storage meet."""
    weight, storage = (None, np.linspace(0.5, 2.0, 6))[turn], (np.asarray, sparse.csc_array)[(turn + (C < 1.0)) % 2]
    problem = dual(C, storage=storage, weight=weight)
    goal = 1e-7 * C * 40
    outcome = BoxDescent(problem, np.zeros(40)).minimise(lambda slope: goal, 3000)
    assert outcome.gap <= goal
    assert math.isfinite(problem.objective(outcome.x))
    assert primal_gap(problem, outcome.x, C, weight) <= 1.01 * goal
    assert outcome.reads > 0
    assert not outcome.is_interrupted


@pytest.mark.parametrize("way", ["sweeps", "faces", "barrier", "settle"])
def test_every_way_leads_there(way, monkeypatch):
    """With the others out of reach, and one as soon as possible."""
    problem, called = dual(1.0), []
    monkeypatch.setattr(tuning, "DRIFT_SHARE", math.inf if way == "settle" else 0.0)
    monkeypatch.setattr(descent, "settle", lambda *args: called.append("_settle") or settle(*args))
    monkeypatch.setattr(tuning, "FACE_WAIT", 1 if way == "faces" else 10**9)
    monkeypatch.setattr(tuning, "FACE_SWEEPS", 1)
    monkeypatch.setattr(tuning, "SWEEPS_A_ROUND", 2)
    monkeypatch.setattr(tuning, "ROUND_LENGTH", 0.0)
    monkeypatch.setattr(tuning, "BARRIER_LATEST", 0.0)
    monkeypatch.setattr(tuning, "BARRIER_WAIT", 0.0)
    monkeypatch.setattr(BoxDescent, "_is_short", lambda self: way == "barrier")
    for name in ("_faces", "_barrier"):
        method = getattr(BoxDescent, name)
        monkeypatch.setattr(
            BoxDescent, name, lambda self, *args, method=method, name=name: called.append(name) or method(self, *args)
        )
    outcome = BoxDescent(problem, np.zeros(40)).minimise(lambda slope: 4e-5, 3000)
    assert primal_gap(problem, outcome.x, 1.0) <= 4.04e-5
    assert set(called) == ({"_" + way} if way != "sweeps" else set())


# -------------------------------------------------------------------------------------- coordinates that drift


def twins(C):
    """Every third sample occurs a second time, a little changed and with the other label: CD takes C·‖x‖² sweeps."""
    again = X[::3] * (1.0 + 1e-3 * RNG.standard_normal(X[::3].shape))
    rows, labels = np.vstack([X, again]), np.concatenate([Y, -Y[::3]])
    return ascd.Problem(rows.T, np.zeros(6), penalty=signed_box(labels, C, "hinge"))


def test_pairs_that_drift_are_settled_in_a_part_of_the_reads(monkeypatch, compiled):
    monkeypatch.setattr(BoxDescent, "_is_short", lambda self: False)
    monkeypatch.setattr(tuning, "FACE_WAIT", 10**9)
    monkeypatch.setattr(tuning, "FEWEST_DRIFTING", 10)
    monkeypatch.setattr(tuning, "ROUND_LENGTH", 0.0)
    reads, problem = {}, twins(30.0)
    for share in (0.0, math.inf):
        monkeypatch.setattr(tuning, "DRIFT_SHARE", share)
        found = BoxDescent(problem, np.zeros(54)).minimise(lambda slope: 1e-3, 3000)
        assert found.gap <= 1e-3
        reads[share] = found.reads
    assert reads[math.inf] < 0.1 * reads[0.0]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 6)])
def test_settled_coordinates_are_at_their_minimum_and_the_slope_follows(loss, weight):
    problem = dual(0.7, loss, weight=weight)
    x = Y * 0.7 * RNG.random(40)
    before, scale = x.copy(), 1.0 if weight is None else weight
    columns = np.array([1, 2, 5, 11, 30])
    slope = scale * (X.T @ x)
    taken = settle(problem.design, problem.parts, slope, x, columns, 1e-8)
    assert taken.reads == 15
    assert taken.price > 0.0
    np.testing.assert_array_equal(np.delete(x, columns), np.delete(before, columns))
    np.testing.assert_allclose(slope, scale * (X.T @ x), atol=1e-12)
    gradient = X @ slope
    terms = [gap_term(problem.parts.penalty, x[j], gradient[j], j) for j in columns]
    assert max(terms) <= 1e-8
    assert problem.objective(x) < problem.objective(before)


def test_columns_that_are_zero_do_not_keep_others_from_settling():
    rows = np.vstack([np.zeros(6), X])
    problem = ascd.Problem(rows.T, np.zeros(6), penalty=signed_box(np.append(1.0, Y), 1.0, "hinge"))
    x = 0.5 * np.append(1.0, Y)
    settle(problem.design, problem.parts, rows.T @ x, x, np.arange(41), 1e-6)
    assert x[0] == 1.0
    assert primal_gap(dual(1.0), x[1:], 1.0) <= 1e-4


def test_those_that_drift_most_are_chosen_as_many_as_can_be_paid():
    free, drift = np.array([4, 1, 7, 3]), np.array([0.5, 0.0, 0.1, 2.0])
    np.testing.assert_array_equal(most_drifting(free, drift, 2), [3, 4])
    np.testing.assert_array_equal(most_drifting(free, drift, 9), [3, 4, 7])
    design = dual().design
    sizes = [largest_affordable(design, budget) for budget in (0.0, 1e6, 1e8, math.inf)]
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    assert sizes[-1] <= tuning.MOST_DRIFTING


def test_squared_hinge_has_curvature_and_no_upper_end(compiled):
    problem = dual(5.0, "squared_hinge")
    outcome = BoxDescent(problem, np.zeros(40)).minimise(lambda slope: 1e-6, 3000)
    assert primal_gap(problem, outcome.x, 5.0, loss="squared_hinge") <= 1.01e-6


def test_interior_points_end_inside_the_box_with_the_best_gap_seen():
    problem = dual(3.0)
    columns = np.arange(40)
    given = Barrier(problem.design, problem.parts.sample.weight, problem.parts.penalty, columns)
    x, slope, steps = given.minimise(np.zeros(40), np.zeros(6), 1e-9, 60)
    np.testing.assert_allclose(slope, X.T @ x, atol=1e-9)
    assert primal_gap(problem, x, 3.0) <= 2e-9
    assert steps < 40
    assert given.reads > 0


def test_interior_points_end_where_numbers_leave_their_range(monkeypatch):
    problem = dual(3.0)
    given = Barrier(problem.design, problem.parts.sample.weight, problem.parts.penalty, np.arange(40))
    found = iter([1.0, 1e150, 1e150])
    monkeypatch.setattr(barrier, "complementarity", lambda *args: next(found))
    assert given._step(np.full((4, 40), 0.5), np.linspace(-1.0, 1.0, 40)) is None


def test_samples_without_weight_stay_where_they_are():
    box = signed_box(Y, 2.0, "hinge", (np.arange(40) % 4) * 0.5)
    problem = ascd.Problem(X.T, np.zeros(6), penalty=box)
    outcome = BoxDescent(problem, np.zeros(40)).minimise(lambda slope: 1e-6, 3000)
    assert outcome.gap <= 1e-6
    np.testing.assert_array_equal(outcome.x[::4], 0.0)


def test_sweeps_stop_where_nothing_is_gained_and_where_they_may_not_go_on():
    outcome = BoxDescent(dual(0.01), np.zeros(40)).minimise(lambda slope: 0.0, 10**6)
    assert outcome.n_iter < 10**5
    assert BoxDescent(dual(1.0), np.zeros(40)).minimise(lambda slope: 0.0, 3).n_iter == 3


def test_the_gap_is_that_of_the_point_or_unknown(compiled):
    """Also where the last look was some rounds ago: gaps rise and fall."""
    known = []
    for most in range(1, 12):
        problem = dual(100.0)
        outcome = BoxDescent(problem, np.zeros(40)).minimise(lambda slope: 1e-9, most)
        known.append(math.isfinite(outcome.gap))
        assert known[-1] == (outcome.products is not None)
        if known[-1]:
            assert outcome.gap == pytest.approx(primal_gap(problem, outcome.x, 100.0), rel=1e-6)
    assert {*known} == {False, True}


def test_an_interrupt_leaves_the_point_reached(monkeypatch):
    def stop(self, *args):
        self.n_iter += 1
        raise KeyboardInterrupt

    monkeypatch.setattr(BoxDescent, "_sweep", stop)
    outcome = BoxDescent(dual(), np.zeros(40)).minimise(lambda slope: 0.0, 100)
    assert outcome.is_interrupted
    assert outcome.n_iter == 1


def test_only_boxes_that_hold_every_coordinate_are_taken():
    assert is_box_problem(dual())
    assert is_box_problem(dual(loss="squared_hinge"))
    assert not is_box_problem(ascd.Problem(X.T, np.ones(6), penalty=ascd.Box(0.0, math.inf)))
    assert not is_box_problem(ascd.Problem(X.T, np.ones(6), penalty=ascd.L1(1.0)))
    assert not is_box_problem(ascd.Problem(X.T, np.where(np.arange(6) % 2, 1.0, -1.0), "logistic", ascd.Box(0.0, 1.0)))
    weight = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert not is_box_problem(dual(weight=weight))
