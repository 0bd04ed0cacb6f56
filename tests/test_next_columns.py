"""Tall data elsewhere: a round brings products of the columns that may move next, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from solving import LOSSES, make_case
from test_in_rows import in_parts

import ascd
from ascd.problem.precise_gaps import precise_gap, precise_gaps_at
from ascd.solver import tuning
from ascd.solver.in_rows import GRID
from ascd.solver.next_columns import next_columns

pytestmark = pytest.mark.usefixtures("plain_python")
RNG = np.random.default_rng(1)
X = RNG.standard_normal((200, 40)) + 0.5 * RNG.standard_normal((200, 1))
SIGNAL = X[:, :4] @ np.array([2.0, -2.0, 1.0, 1.0])
LABELS = np.where(SIGNAL + RNG.standard_normal(200) > 0.0, 1.0, -1.0)


FEW, THEIRS = X[:50, :10], LABELS[:50]


def stated(A, share, labels=LABELS):
    top = np.abs(X[: labels.size].T @ (0.5 * labels)).max()
    return ascd.Problem(A, labels, "logistic", ascd.L1(float(top) / share))


@pytest.mark.parametrize("intercept", [False, True])
def test_products_of_few_columns_travel(intercept, compiled):
    problem = stated(in_parts(X), 3)
    found = ascd.solve(problem, tol=1e-8, intercept=intercept)
    expected = ascd.solve(stated(X, 3), tol=1e-10, intercept=intercept)
    assert found.converged
    np.testing.assert_allclose(found.x, expected.x, atol=1e-5)
    executor = problem.design.executor
    assert executor.questions == ["first", *["apply"] * (problem.design.rounds - 1)]
    moving = np.count_nonzero(found.x)
    room = moving + tuning.FEWEST_NEXT + int(tuning.NEXT_SHARE * moving)
    assert max(max(sizes) for sizes in executor.moved[-2:]) <= max(room**2, 12 * 40) < 40**2


@pytest.mark.parametrize("intercept", [False, True])
def test_columns_that_were_left_out_join_when_they_must_move(monkeypatch, intercept, compiled):
    monkeypatch.setattr(tuning, "FEWEST_NEXT", 0)
    monkeypatch.setattr(tuning, "NEXT_SHARE", 0.0)
    problem = stated(in_parts(FEW), 30, THEIRS)
    found = ascd.path(problem, n_alphas=5, eps=0.03, tol=1e-8, intercept=intercept, early_stop=False)
    expected = ascd.path(stated(FEW, 30, THEIRS), alphas=found.alphas, tol=1e-10, intercept=intercept)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-7)
    assert set(problem.design.executor.questions) == {"first", "apply"}


def test_free_columns_and_the_nearest_are_chosen():
    n, penalty = 60, ascd.L1(1.0)
    problem = ascd.Problem(np.eye(n), np.zeros(n), penalty=penalty)
    before, end, gradient = np.zeros(n), np.zeros(n), np.linspace(0.0, 0.5, n)
    before[3], end[5], gradient[[5, 7]] = 1.0, -1.0, [1.0, -1.2]
    ends = (before, np.zeros(n)), (end, gradient)
    found = next_columns(problem.parts.penalty, np.ones(n), ends)
    assert found.tolist() == sorted({3, 5, 7} | set(range(n - tuning.FEWEST_NEXT, n)))
    short = np.where(np.arange(n) == 10, 1e-3, 1.0)  # a distance counts in lengths of the column
    assert 10 not in next_columns(problem.parts.penalty, short, ends)
    free = ascd.Problem(np.eye(n), np.zeros(n), penalty=ascd.L2(1.0)).parts.penalty
    assert next_columns(free, np.ones(n), ends).tolist() == list(range(n))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_gaps_of_several_scales_are_those_of_each(loss, weighted):
    case = make_case(loss, "l1", False, weighted, seed=3)
    problem = case.problem()
    _, image, slope = problem.evaluate(0.1 * np.ones(5))
    sample, stated_loss = problem.parts.sample, problem.parts.loss
    found = precise_gaps_at(sample, stated_loss, image, slope, GRID)
    each = [precise_gap(sample, stated_loss, image, slope, np.empty(0), scale) for scale in GRID.tolist()]
    np.testing.assert_allclose(found, each, rtol=1e-13)
