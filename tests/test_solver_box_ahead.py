"""``solve`` on duals of support vector machines: the descent in the box first, then the production solver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import ascd
from ascd.solver import tuning
from ascd.solver.box.descent import BoxDescent

pytestmark = pytest.mark.usefixtures("interpreted", "thirty_are_many")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 6)) * np.linspace(0.5, 2.0, 6)
Y = np.where(X[:, 0] - X[:, 1] + RNG.standard_normal(30) > 0.0, 1.0, -1.0)


@pytest.fixture
def thirty_are_many(monkeypatch):
    monkeypatch.setattr(tuning, "FEW_IN_BOX", 20)


def svm(C=1.0, loss="hinge", storage=np.asarray):
    return ascd.DualSVM(storage(X), Y, C, loss)


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_solve_descends_in_the_box_first(C, turn, monkeypatch):
    """And has the answer and the certificate of the production solver alone; every two of C, loss and storage meet."""
    loss, storage = ("hinge", "squared_hinge")[turn], (np.asarray, sparse.csr_array)[(turn + (C < 1.0)) % 2]
    calls = []
    whole = BoxDescent.minimise
    monkeypatch.setattr(BoxDescent, "minimise", lambda *args: calls.append(1) or whole(*args))
    first = ascd.solve(svm(C, loss, storage), tol=1e-8)
    assert calls == [1]
    monkeypatch.setattr(tuning, "FEW_IN_BOX", 1000)
    second = ascd.solve(svm(C, loss, storage), tol=1e-8)
    assert calls == [1]
    for found in (first, second):
        assert found.converged
        assert found.gap <= 1e-8 * found.zero_objective
    assert first.zero_objective == second.zero_objective
    assert abs(first.objective - second.objective) <= first.gap + second.gap


@pytest.mark.parametrize("how", [{"callback": bool}, {"max_time": 100.0}, {"x0": np.zeros(30)}, {"tol": 0.0}])
def test_solve_does_without_the_box_where_the_descent_could_not_be_watched_or_stopped(how, monkeypatch):
    monkeypatch.setattr(BoxDescent, "minimise", None)
    if "callback" in how:
        how = {"callback": lambda snapshot: False}
    assert ascd.solve(svm(), **{"tol": 1e-6, "max_iter": 8, **how}).gap < 1e-5


def test_an_interrupted_descent_ends_the_run_with_its_point(monkeypatch):
    def interrupt(self, *args):
        self._sweep(0.0, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(BoxDescent, "_minimise", interrupt)
    found = ascd.solve(svm(), tol=1e-10)
    assert str(found.status) == "interrupted"
    assert found.x.any()
    assert math.isfinite(found.gap)


def test_where_the_descent_ends_early_the_production_solver_goes_on(monkeypatch):
    monkeypatch.setattr(tuning, "MOST_IDLE_ROUNDS", 0)
    found = ascd.solve(svm(10.0), tol=1e-10)
    assert found.converged


def test_rounds_of_both_are_counted():
    found = ascd.solve(svm(100.0), tol=1e-12, max_iter=4)
    assert found.n_iter <= 4
    assert found.n_iter == found.trace.iteration[-1]
    assert found.reads > 0


@pytest.mark.parametrize("seed", [8, 13, 15, 16])
def test_interior_points_are_not_rounded_to_numbers_outside_the_box(seed):
    """There the objective is infinite, and the run was said to have diverged."""
    rng = np.random.default_rng(seed)
    rows = 1000.0 * rng.standard_normal((60, 1))
    labels = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    C = rng.uniform(1.0, 300.0)
    found = ascd.solve(ascd.DualSVM(rows, labels, C), tol=1e-10)
    assert found.status is not ascd.Status.DIVERGED
    assert found.x.min() >= 0.0
    assert found.x.max() <= C
    assert found.gap <= 1e-6 * found.zero_objective
