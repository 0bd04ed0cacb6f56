"""Objective, gradient and duality gap against NumPy, for every loss with every penalty.

Interpreted, so that the many combinations cost no compiling; compiled code is held to the same in test_minimize.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from blocks import CLASSES, GROUPS, LONG, WEIGHT, A, Y
from formulas import LOSSES, PENALTIES, feasible, gradient, smooth, targets
from pairs import in_pairs
from user_parts.my_blocks import OwnNorm
from user_parts.my_penalties import Threshold

import ascd
from ascd.problem.block_penalties import BlockNorm, Entrywise

D, N = 12, 4
WEIGHTS = {"no weights": None, "weights": np.r_[0.0, 0.0, np.linspace(0.2, 3.0, D - 2)]}
by_turns = [(list(LOSSES)[turn % 4], penalty) for turn, penalty in enumerate(PENALTIES)]
pairs = pytest.mark.parametrize(("loss", "penalty"), by_turns)


def data(loss, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((D, N)), targets(loss, D, rng), rng


def make(loss, penalty, weights=None):
    A, b, rng = data(loss)
    return ascd.Problem(A, b, loss, PENALTIES[penalty][0], weights), A, b, rng


@in_pairs(loss=LOSSES, penalty=PENALTIES, weights=WEIGHTS)
def test_values_equal_numpy(loss, penalty, weights):
    weights = WEIGHTS[weights]
    problem, A, b, rng = make(loss, penalty, weights)
    s = np.ones(D) if weights is None else weights
    for _ in range(3):
        x = feasible(PENALTIES[penalty][0], rng)
        expected = smooth(loss, A, b, s, x) + PENALTIES[penalty][1](x).sum()
        slopes = gradient(loss, A, b, s, x)
        assert problem.objective(x) == pytest.approx(expected, rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(problem.gradient(x), slopes, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(problem.linear_predictor(x), A @ x, rtol=1e-13, atol=1e-14)


@pairs
def test_the_gap_bounds_the_distance_to_the_optimum_and_vanishes_there(loss, penalty):
    """Every loss and every penalty, with weights and without; each pair is in test_solver_peers."""
    turn = list(PENALTIES).index(penalty) // 4
    problem, _, _, rng = make(loss, penalty, list(WEIGHTS.values())[turn % 2])
    solution = ascd.solve(problem, tol=1e-11)
    assert solution.converged
    scale = 1.0 + abs(solution.objective)
    assert 0.0 <= problem.gap(solution.x) <= 1e-9 * scale
    assert solution.gap == pytest.approx(problem.gap(solution.x), abs=1e-9 * scale)
    finite = 0
    for size in (1e-3, 0.1, 1.0):
        shifted = solution.x + size * rng.standard_normal(N)
        x = np.clip(
            shifted, getattr(problem.parts.penalty, "lower", -np.inf), getattr(problem.parts.penalty, "upper", np.inf)
        )
        gap = problem.gap(x)
        assert gap >= problem.objective(x) - solution.objective - 1e-9 * scale
        finite += math.isfinite(gap)
    assert finite >= 1


def numpy_lasso_gap(A, b, x, lam, s):
    """Primal minus dual value at the scaled residual; no help from the library."""
    residual = b - A @ x
    theta = s * residual
    theta = theta * min(1.0, lam / np.abs(A.T @ theta).max())
    dual = theta @ b - 0.5 * np.sum(np.divide(theta**2, s, out=np.zeros(len(s)), where=s > 0))
    return 0.5 * np.sum(s * residual**2) + lam * np.abs(x).sum() - dual


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("seed", range(5))
def test_the_lasso_gap_equals_the_textbook(weights, seed):
    A, b, rng = data("squared", seed)
    problem = ascd.Problem(A, b, penalty=ascd.L1(2.0), sample_weight=weights)
    s = np.ones(D) if weights is None else weights
    for x in (np.zeros(N), rng.standard_normal(N), ascd.minimize(problem, rule="cyclic").x):
        textbook = min(numpy_lasso_gap(A, b, x, 2.0, s), problem.objective(x))  # 0 is a dual point too
        assert problem.gap(x) == pytest.approx(textbook, rel=2e-9, abs=1e-11)


@pytest.mark.parametrize("penalty", ["zero", "l1", "non-negative"])
def test_the_gap_of_a_point_beyond_float64_is_no_number_and_no_error(penalty):
    with np.errstate(all="ignore"):
        for size in (1e160, 1e308):
            assert make("squared", penalty)[0].gap(np.full(N, size)) == math.inf


@pairs
def test_a_replaced_problem_equals_one_built_anew_and_shares_the_matrix(loss, penalty):
    problem, A, b, rng = make(loss, "zero")
    weights, new = WEIGHTS["weights"], PENALTIES[penalty][0]
    changes = [{"penalty": new}, {"b": b[::-1]}, {"sample_weight": weights, "penalty": new}, {"loss": ascd.Huber(0.5)}]
    for change in [*changes, {"loss": "squared"}]:
        other = problem.replace(**change)
        anew = ascd.Problem(**{"A": A, "b": b, "loss": loss, **change})
        assert other.parts.matrix is problem.parts.matrix
        for name in ("norm", "lipschitz", "largest", "gain", "slack", "loss"):
            np.testing.assert_array_equal(getattr(other.parts, name), getattr(anew.parts, name))
        x = feasible(new, rng)
        assert other.objective(x) == anew.objective(x)


# --- One ``Problem`` for every kind: penalties by coordinate with several outputs, offsets, gaps and references


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


def test_the_gap_of_a_point_with_its_intercept_is_that_of_the_solution():
    for target in (Y[:, 0] + 3.0, Y + 3.0):
        problem = ascd.Problem(COLUMNS, target, penalty=ascd.L1(0.5))
        found = ascd.solve(problem, tol=1e-10, intercept=True)
        assert problem.gap(found.x, found.intercept) == pytest.approx(found.gap, rel=1.0, abs=1e-12)
        assert problem.gap(found.x) > 1.0
        with pytest.raises(ValueError, match="intercept must"):
            problem.gap(found.x, np.zeros(7))


@pytest.mark.parametrize("positive", [False, True])
def test_the_conjugate_of_a_group_is_the_largest_in_the_ball(positive):
    rng, group, l1, ridge = np.random.default_rng(0), np.array([1.0]), np.array([0.3]), np.array([0.5])
    penalty = BlockNorm(group, l1, ridge, positive)
    for _ in range(20):
        u, away = 2.0 * rng.standard_normal(3), rng.standard_normal((200, 3))
        near = u + 0.7 * away / np.linalg.norm(away, axis=1, keepdims=True)
        inside = [penalty.block_conjugate(one, 0.0, 0) for one in near]
        assert max(inside) <= penalty.block_conjugate(u, 0.7, 0) * (1.0 + 1e-12)
        scale = BlockNorm(group, l1, np.zeros(1), positive).block_scale(u, 0.7, 0)
        for one in scale * (1.0 - 1e-9) * near:
            assert BlockNorm(group, l1, np.zeros(1), positive).block_conjugate(one, 0.0, 0) == 0.0


@pytest.mark.parametrize("penalty", BY_COORDINATE.values(), ids=BY_COORDINATE)
def test_the_adaptor_agrees_with_the_formulas(penalty):
    problem = ascd.Problem(COLUMNS, Y[:, 0], penalty=penalty)
    block, scalar, rng = Entrywise(problem.penalty), problem.penalty, np.random.default_rng(0)
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


def test_a_penalty_of_ones_own_by_coordinate_takes_several_targets():
    problem = ascd.Problem(COLUMNS, Y, penalty=Threshold(2.0))
    solution = ascd.solve(problem, tol=1e-8)
    alone = ascd.solve(ascd.Problem(COLUMNS, Y[:, 1], penalty=Threshold(2.0)), tol=1e-10)
    np.testing.assert_allclose(solution.x[:, 1], alone.x, atol=1e-3)
