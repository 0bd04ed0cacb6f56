"""One ``Problem`` for every kind: penalties by coordinate with several outputs, offsets, gaps and references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from blocks import CLASSES, GROUPS, LONG, WEIGHT, A, Y
from user_parts.my_blocks import OwnNorm
from user_parts.my_penalties import Threshold

import ascd
from ascd.problem.block_penalties import Entrywise

pytestmark = pytest.mark.usefixtures("interpreted")
COLUMNS = A[:, :8]
OFFSET = 0.3 * Y

BY_COORDINATE = {
    "l1": ascd.L1(4.0),
    "weighted": ascd.L1(4.0, np.linspace(0.0, 2.0, 8)),
    "l2": ascd.L2(2.0),
    "net": ascd.L1L2(3.0, 1.0),
    "box": ascd.Box(0.0, 0.5),
    "bounded": ascd.BoundedL1L2(3.0, 1.0, -0.2, 0.3),
    "linear": ascd.L1L2(3.0, 1.0, 1.0, np.linspace(-1.0, 1.0, 8)),
}


@pytest.mark.parametrize("penalty", BY_COORDINATE.values(), ids=BY_COORDINATE)
@pytest.mark.parametrize(("loss", "intercept"), [("squared", True), ("huber", False)])
def test_several_targets_with_a_penalty_by_coordinate_are_single_problems(penalty, loss, intercept):
    several = ascd.solve(ascd.Problem(COLUMNS, Y, loss, penalty, WEIGHT), tol=1e-10, intercept=intercept)
    assert several.converged
    total = 0.0
    for t in range(Y.shape[1]):
        one = ascd.solve(ascd.Problem(COLUMNS, Y[:, t], loss, penalty, WEIGHT), tol=1e-10, intercept=intercept)
        np.testing.assert_allclose(several.x[:, t], one.x, atol=1e-4)
        total += one.objective
    assert several.objective - total <= several.gap + 1e-9 * several.zero_objective


@pytest.mark.parametrize("penalty", BY_COORDINATE.values(), ids=BY_COORDINATE)
def test_the_adaptor_agrees_with_the_formulas(penalty):
    problem = ascd.Problem(COLUMNS, Y[:, 0], penalty=penalty)
    block, scalar, rng = problem.block_penalty, problem.penalty, np.random.default_rng(0)
    assert isinstance(block, Entrywise)
    for j in range(8):
        x, g = np.array([max(0.0, scalar.prox(rng.standard_normal(), 1.0, j))]), 3.0 * rng.standard_normal(1)
        low, high = scalar.subgradient(x[0], j)
        assert block.block_cost(x, j) == pytest.approx(scalar.cost(x[0], j))
        assert block.block_distance(x, g, j) == pytest.approx(max(0.0, g[0] + low, -g[0] - high))
        assert block.block_scale(g, 0.0, j) == scalar.dual_scale(g[0], j)
        if scalar.dual_scale(g[0], j) == 1.0:
            assert scalar.cost_conjugate(g[0], j) <= block.block_conjugate(g, 0.0, j) < math.inf
        moved = g.copy()
        block.block_prox(moved, 0.5, j)
        assert moved[0] == scalar.prox(g[0], 0.5, j)
    radii = block.resting_radii()
    for j in np.flatnonzero(radii > 0.0):
        for u in (radii[j], -radii[j]):
            assert block.block_conjugate(np.array([u]), 0.0, j) == 0.0


def test_classes_with_l1_are_those_of_the_sparse_group():
    plain, grouped = (
        ascd.solve(ascd.Problem(A, CLASSES, "softmax", penalty), tol=1e-9, intercept=True)
        for penalty in (ascd.L1(1.0), ascd.SparseGroup(1.0, 0.0))
    )
    assert plain.converged
    assert plain.objective == pytest.approx(grouped.objective, rel=1e-8)


@pytest.mark.parametrize("kind", ["rows", "group", "poisson"])
def test_offsets_are_columns_with_known_coefficients(kind):
    target, loss, penalty = {
        "rows": (Y, "squared", ascd.L21(4.0)),
        "group": (Y[:, 0], "squared", ascd.GroupL2(4.0, GROUPS)),
        "poisson": (np.round(np.abs(Y)), "poisson", ascd.L21(2.0)),
    }[kind]
    known = OFFSET[:, 0] if kind == "group" else OFFSET
    problem = ascd.Problem(A, target, loss, penalty, offset=known)
    solution = ascd.solve(problem, tol=1e-9)
    assert solution.converged
    if loss == "squared":
        moved = ascd.solve(ascd.Problem(A, target - known, loss, penalty), tol=1e-9)
        assert solution.objective == pytest.approx(moved.objective, rel=1e-8)
    else:
        mean = np.exp((A @ solution.x + known).astype(LONG))
        costs = [problem.penalty.block_cost(row, j) for j, row in enumerate(solution.x)]
        entropy = np.where(target > 0, target * np.log(np.maximum(target, 1)), 0.0) - target
        value = np.sum(mean - target * (A @ solution.x + known) + entropy) + np.sum(costs)
        assert solution.objective == pytest.approx(float(value), rel=1e-10)


KINDS = {
    "coordinate": ascd.Problem(A, Y[:, 0], penalty=ascd.L1(8.0), sample_weight=WEIGHT),
    "group": ascd.Problem(A, Y[:, 0], penalty=ascd.GroupL2(8.0, GROUPS), sample_weight=WEIGHT),
    "own blocks": ascd.Problem(A, Y[:, 0], penalty=OwnNorm(8.0), groups=5),
    "rows": ascd.Problem(A, Y, penalty=ascd.L21(8.0), sample_weight=WEIGHT),
    "entries": ascd.Problem(A, Y, penalty=ascd.L1(4.0)),
    "softmax": ascd.Problem(A, CLASSES, "softmax", ascd.L21(2.0)),
}


@pytest.mark.parametrize("problem", KINDS.values(), ids=KINDS)
def test_objective_gradient_and_gap_of_every_kind(problem):
    solution, rng = ascd.solve(problem, tol=1e-9), np.random.default_rng(1)
    assert problem.gap(solution.x) <= 2e-9 * solution.zero_objective
    x = solution.x + 0.1 * rng.standard_normal(solution.x.shape)
    assert problem.objective(x) - solution.objective <= problem.gap(x)
    free = problem.replace(penalty=ascd.L1(0.0))  # the loss alone
    direction, step = rng.standard_normal(x.shape), 1e-6
    change = (free.objective(x + step * direction) - free.objective(x - step * direction)) / (2.0 * step)
    assert problem.gradient(x).shape == x.shape
    assert np.vdot(problem.gradient(x), direction) == pytest.approx(change, rel=1e-5)


def test_a_replaced_problem_may_be_of_another_kind():
    plain = ascd.Problem(A, Y[:, 0], penalty=ascd.L1(4.0))
    several = plain.replace(b=Y)
    assert (plain.is_by_coordinate, several.is_by_coordinate, several.n_outputs) == (True, False, 3)
    x = np.ones((40, 3))
    assert several.objective(x) == ascd.Problem(A, Y, penalty=ascd.L1(4.0)).objective(x)
    grouped = plain.replace(penalty=ascd.GroupL2(1.0, GROUPS))
    assert grouped.groups.count == 8
    assert grouped.replace(penalty=grouped.penalty.scaled(2.0)).objective(np.ones(40)) > grouped.objective(np.ones(40))
    assert plain.replace(loss="softmax", b=CLASSES).n_outputs == 3


def test_a_penalty_of_ones_own_by_coordinate_takes_several_targets():
    problem = ascd.Problem(COLUMNS, Y, penalty=Threshold(2.0))
    solution = ascd.solve(problem, tol=1e-8)
    alone = ascd.solve(ascd.Problem(COLUMNS, Y[:, 1], penalty=Threshold(2.0)), tol=1e-10)
    np.testing.assert_allclose(solution.x[:, 1], alone.x, atol=1e-3)
