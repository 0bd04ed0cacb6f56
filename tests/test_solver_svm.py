"""Duals of support vector machines: every method reaches the minimum, and gaps are those of the problem itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import ascd
from ascd.solver import tuning
from ascd.solver.models import GramModel
from ascd.solver.svm import BoxDescent, InteriorPoint, primal_value, signed_box

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)) * np.linspace(0.5, 2.0, 6)
Y = np.where(X[:, 0] - X[:, 1] + RNG.standard_normal(40) > 0.0, 1.0, -1.0)


def dual(C=1.0, loss="hinge", storage=np.asarray, weight=None):
    """The signed dual with the squared loss, samples weighted by 1/ω."""
    data = storage(X.T) if storage is not np.asarray else X.T
    return ascd.Problem(data, np.zeros(6), penalty=signed_box(Y, C, loss), sample_weight=weight)


def minimised(problem, goal, most):
    descent = BoxDescent(problem, np.zeros(40))
    descent.minimise(lambda _: goal, most)
    return descent


def primal_gap(problem, x, C, weight=None, loss="hinge"):
    """Primal minus dual value, from the textbook's formulas."""
    omega = 1.0 if weight is None else 1.0 / weight
    w = (X.T @ x) / omega
    short = np.maximum(0.0, 1.0 - Y * (X @ w))
    primal = 0.5 * np.sum(omega * w * w) + C * (short if loss == "hinge" else short**2).sum()
    return primal + problem.objective(x)


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_gap_asked_for_is_reached(C, turn):
    """Every two of C, weights and storage meet."""
    weight, storage = (None, np.linspace(0.5, 2.0, 6))[turn], (np.asarray, sparse.csc_array)[(turn + (C < 1.0)) % 2]
    problem = dual(C, storage=storage, weight=weight)
    goal = 1e-7 * C * 40
    outcome = minimised(problem, goal, 3000)
    assert outcome.gap <= goal
    assert math.isfinite(problem.objective(outcome.x))
    assert primal_gap(problem, outcome.x, C, weight) <= 1.01 * goal
    assert outcome.reads > 0
    assert not outcome.is_interrupted


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("way", [None, InteriorPoint, GramModel])
def test_every_method_reaches_the_goal(way, loss, monkeypatch):
    """Sweeps alone, or with one of the others as soon as possible."""
    problem, called = dual(1.0, loss), set()
    numbers = {"SWEEPS_A_ROUND": 2, "ROUND_LENGTH": 0.0, "INTERIOR_WAIT": 0.0}
    for name, value in {**numbers, "MODEL_STEPS": -math.inf if way is GramModel else math.inf}.items():
        monkeypatch.setattr(tuning, name, value)
    for owner in (InteriorPoint, GramModel):
        whole = owner.minimise
        monkeypatch.setattr(owner, "minimise", lambda *args, o=owner, w=whole: called.add(o) or w(*args))
    descent = BoxDescent(problem, np.zeros(40))
    descent.is_short = way is InteriorPoint
    descent.minimise(lambda _: 4e-5, 3000)
    assert primal_gap(problem, descent.x, 1.0, loss=loss) <= 4.04e-5
    np.testing.assert_allclose(descent.raw_gradient, X.T @ descent.x, atol=1e-9)
    assert called == ({way} if way else set())


def test_the_gap_is_that_of_the_point_or_unknown(compiled, monkeypatch):
    """Also where it was last computed some rounds ago: gaps rise and fall."""
    known = []
    monkeypatch.setattr(tuning, "INTERIOR_WAIT", 0.3)
    for most in range(1, 12):
        problem = dual(100.0)
        outcome = minimised(problem, 1e-9, most)
        known.append(math.isfinite(outcome.gap))
        if known[-1]:
            assert outcome.gap == pytest.approx(primal_gap(problem, outcome.x, 100.0), rel=1e-6)
    assert {*known} == {False, True}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_certificate_of_the_weights_is_their_own_gap(loss):
    """Also far from the optimum, where zero weights would be better ones."""
    problem = dual(0.7, loss)
    for x in (np.zeros(40), 0.7 * Y, 0.7 * Y * RNG.random(40)):
        weights, value, gap = primal_value(problem, x)
        truth = primal_gap(problem, x, 0.7, loss=loss)
        np.testing.assert_allclose(weights, X.T @ x, atol=1e-13)
        assert value == pytest.approx(truth - problem.objective(x), rel=1e-12)
        assert truth <= gap <= truth * (1.0 + 1e-8)


@pytest.fixture
def thirty_are_many(monkeypatch):
    monkeypatch.setattr(tuning, "FEW_IN_BOX", 20)


def few(C=1.0, loss="hinge", storage=np.asarray):
    return ascd.DualSVM(storage(X[:30]), Y[:30], C, loss)


@pytest.mark.usefixtures("thirty_are_many")
@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_solve_descends_in_the_box_first(C, turn, monkeypatch):
    """And has the answer and the certificate of the production solver alone; every two of C, loss and storage meet."""
    loss, storage = ("hinge", "squared_hinge")[turn], (np.asarray, sparse.csr_array)[(turn + (C < 1.0)) % 2]
    calls = []
    whole = BoxDescent.minimise
    monkeypatch.setattr(BoxDescent, "minimise", lambda *args: calls.append(1) or whole(*args))
    first = ascd.solve(few(C, loss, storage), tol=1e-8)
    assert calls == [1]
    monkeypatch.setattr(tuning, "FEW_IN_BOX", 1000)
    second = ascd.solve(few(C, loss, storage), tol=1e-8)
    assert calls == [1]
    for found in (first, second):
        assert found.converged
        assert found.gap <= 1e-8 * found.zero_objective
    assert first.zero_objective == second.zero_objective
    assert abs(first.objective - second.objective) <= first.gap + second.gap
