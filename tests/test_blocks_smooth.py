"""Block problems without a kink: L-BFGS on all blocks, proved as every other point, and what happens where it fails."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ascd
from ascd.solver.loop import Solver
from ascd.solver.smooth import Smooth


def classes(d=60, n=12, count=4, ridge=0.5, **penalty):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((d, n))
    labels = np.argmax(A @ rng.standard_normal((n, count)) + rng.gumbel(size=(d, count)), axis=1)
    return ascd.Problem(A, labels, "softmax", ascd.GroupL2(**{"strength": 0.0, "ridge": ridge, **penalty}))


def smooth(problem):
    return Smooth(
        Solver(problem, np.zeros((problem.n_features, problem.n_outputs)), False, np.zeros(problem.n_outputs)).state
    )


def without_bfgs(patch):
    patch.setattr(Smooth, "applies", lambda self: False)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "huber", "logistic"])
def test_both_ways_lead_to_one_answer(monkeypatch, loss, intercept):
    rng = np.random.default_rng(4)
    A, b = rng.standard_normal((50, 9)), rng.standard_normal((50, 3))
    target = {"softmax": np.argmax(b, axis=1), "huber": 10.0 * b, "logistic": np.sign(b)}[loss]
    problem = ascd.Problem(A, target, loss, ascd.GroupL2(0.0, groups=3, ridge=0.7))
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    with monkeypatch.context() as patch:
        without_bfgs(patch)
        other = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert found.converged
    assert other.converged
    np.testing.assert_allclose(found.x, other.x, atol=1e-3)  # √(2·gap/ridge)
    assert abs(found.objective - other.objective) <= found.gap + other.gap


def test_the_intercept_counts_where_it_stops(monkeypatch):
    """Columns far from 0: the constants change the gradients of the coefficients, and one run of L-BFGS sees that."""
    rng, runs = np.random.default_rng(7), []
    A = 3.0 + rng.standard_normal((80, 12))
    problem = ascd.Problem(A, np.arange(80) % 4, "softmax", ascd.GroupL2(0.0, ridge=0.01))
    improve = Smooth.improve
    monkeypatch.setattr(Smooth, "improve", lambda *args: runs.append(1) or improve(*args))
    monkeypatch.setattr("ascd.solver.tuning.FEW_COEFFICIENTS", 0)
    assert ascd.solve(problem, tol=1e-6, intercept=True).converged
    assert len(runs) == 1


@pytest.mark.parametrize("unit", [1e-59, 1e59])
def test_numbers_near_the_ends_of_the_range_are_solved_for(unit):
    problem = ascd.Problem(unit * np.eye(3), [0, 1, 2], "softmax", ascd.GroupL2(0.0, ridge=1.0))
    assert 0.0 <= ascd.solve(problem, tol=1e-6).gap < math.inf


def test_a_path_begins_afresh_with_every_penalty():
    found = ascd.path(classes(), alphas=[10.0, 1.0, 0.1], tol=1e-8)
    for k, alpha in enumerate(found.alphas):
        alone = ascd.solve(classes(ridge=0.5 * alpha), tol=1e-8)
        np.testing.assert_allclose(found.coefs[..., k], alone.x, atol=1e-3)
        assert found.gaps[k] <= 1e-8 * found.zero_objective


def test_an_interrupt_keeps_the_lowest_point(monkeypatch):
    problem = classes()
    evaluate, count = problem.loss.evaluate, []

    def interrupt(predictor, *options):
        count.append(1)
        if len(count) == 9:
            raise KeyboardInterrupt
        return evaluate(predictor, *options)

    monkeypatch.setattr(problem.loss, "evaluate", interrupt)
    found = ascd.solve(problem, tol=1e-12)
    assert found.status is ascd.Status.INTERRUPTED
    assert found.objective < 0.9 * found.zero_objective
    assert found.objective - ascd.solve(classes(), tol=1e-12).objective <= found.gap < math.inf
