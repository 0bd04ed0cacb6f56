"""Quadratic models on a working set: all forms find the same minimum, and Newton steps never raise the model."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from pairs import in_pairs

import ascd
from ascd.matrix import costs
from ascd.problem.softmax import Softmax
from ascd.solver import newton, tuning
from ascd.solver.models import BlockGramModel, GramMatrix, GramModel, minimise_on_columns
from ascd.solver.subproblem import Subproblem
from ascd.solver.working_set import WorkingSet

# ------------------------------------------------------------------------------- penalties by coordinate

MODELS = {
    "l1": ascd.L1(0.7),
    "elastic net": ascd.L1L2(0.4, 0.3),
    "l1 weighted": ascd.L1(0.5, np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0])),
    "box": ascd.Box(-0.2, 0.3),
    "non-negative": ascd.Box(0.0, math.inf, linear=0.2),
    "l2": ascd.L2(0.4),
    "none": ascd.Zero(),
}


def model_value(G, g, penalty, start, x):
    change = x - start
    return g @ change + 0.5 * change @ G @ change + sum(penalty.cost(float(x[j]), j) for j in range(x.size))


def long_descent(G, g, penalty, start, sweeps=4000):
    """Coordinate descent on Q, for long."""
    x = start.copy()
    for _ in range(sweeps):
        for j in range(x.size):
            curvature = G[j, j] or 1.0
            x[j] = penalty.prox(x[j] - (g + G @ (x - start))[j] / curvature, 1.0 / curvature, j)
    return x


def both_models(penalty, intercept, storage, seed):
    """Q at a random point: its matrix, its gradient, the model on the Gram matrix, and sweeps over the columns."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((15, 6)) + 0.8 * rng.standard_normal((15, 1))
    problem = ascd.Problem(sp.csc_array(A) if storage == "sparse" else A, np.ones(15), penalty=penalty)
    weight, gradient = 0.2 + rng.random(15), rng.standard_normal(15)
    gradient -= gradient.mean() if intercept else 0.0
    means = weight @ A / weight.sum() if intercept else np.zeros(6)
    start = np.clip(rng.standard_normal(6) * (rng.random(6) < 0.5), *bounds_of(penalty))
    gram = GramMatrix(problem.design, intercept)
    gram.admit(rng.permutation(6), weight, means)
    by_gram = GramModel(problem.penalty, gram.columns, gram.store, (A.T @ gradient)[gram.columns], start[gram.columns])
    by_columns = partial(minimise_on_columns, problem.penalty, problem.design, np.arange(6), weight, means, gradient)
    G = (A - means).T @ (weight[:, None] * (A - means))
    return G, A.T @ gradient, problem.penalty, start, by_gram, by_columns


def point_of(model):
    """The coefficients in the order of the columns."""
    return model.x[np.argsort(model.columns)]


def bounds_of(penalty):
    return getattr(penalty, "lower", -math.inf), getattr(penalty, "upper", math.inf)


@in_pairs(name=MODELS, intercept=[False, True], storage=["dense", "sparse"])
def test_both_models_find_the_minimum_of_a_long_descent(name, intercept, storage):
    G, g, penalty, start, model, by_columns = both_models(MODELS[name], intercept, storage, 3)
    best = model_value(G, g, penalty, start, long_descent(G, g, penalty, start, 1500))
    x = start.copy()
    assert model.minimise(1e-11, 1000) <= 1e-11
    assert by_columns(x, 1e-11, 1000)[0] <= 1e-11
    for found in (point_of(model), x):
        assert model_value(G, g, penalty, start, found) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(8))
def test_a_newton_step_never_raises_the_model(name, seed):
    G, g, penalty, start, model, _ = both_models(MODELS[name], False, "dense", seed)
    before = model_value(G, g, penalty, start, point_of(model))
    for _ in range(3):
        model.newton_step()
        after = model_value(G, g, penalty, start, point_of(model))
        assert after <= before + 1e-12
        before = after
    expected = (g + G @ (point_of(model) - start))[model.columns]
    np.testing.assert_allclose(model.gradient, expected, atol=1e-10)


# ---------------------------------------------------------------------------------- penalties of blocks

BLOCK_PENALTIES = {
    "groups": (ascd.GroupL2(2.0, groups=3), 1),
    "groups, ridge": (ascd.GroupL2(1.0, groups=3, ridge=0.5), 1),
    "groups, not negative": (ascd.GroupL2(1.0, groups=2, positive=True), 1),
    "sparse groups": (ascd.SparseGroup(0.5, 1.0, groups=3), 2),
    "rows": (ascd.L21(2.0), 3),
    "rows, ridge": (ascd.L21(1.0, ridge=0.5), 3),
    "l1": (ascd.SparseGroup(0.5, 0.0), 2),
}


def block_models(name, intercept, loss="squared", seed=0):
    """A subproblem at its start with a working set of all blocks, of 40 × 12 numbers."""
    rng, (penalty, outputs) = np.random.default_rng(seed), BLOCK_PENALTIES[name]
    A = rng.standard_normal((40, 12)) + intercept
    Z = A[:, :3] @ rng.standard_normal((3, outputs)) + rng.standard_normal((40, outputs))
    target = np.argmax(Z, axis=1) if loss == "softmax" else Z if loss == "squared" else np.where(Z > 0.0, 1.0, -1.0)
    target = target[:, 0] if outputs == 1 else target
    from ascd.solver.loop import Solver

    problem = ascd.Problem(A, target, loss, penalty)
    solver = Solver(problem, np.zeros((12, outputs)), intercept, np.zeros(outputs))
    solver._begin()
    working = WorkingSet(problem, np.arange(problem.groups.count))
    return solver, working, Subproblem(solver.state, solver.bounds)


def quadratic_model(solver, working, x, shift):
    """Q(x, shift) from its definition, at the state of the solver."""
    state = solver.state
    A = solver.problem.design.matrix.to_scipy(*solver.problem.design.shape)
    Z = A[:, working.columns] @ (x - state.x[working.rows]) + shift
    curved = state.seen.curvature.own * Z
    if state.seen.curvature.shared is not None:
        curved -= state.seen.curvature.shared * (state.seen.curvature.shared * Z).sum(axis=1, keepdims=True)
    value = np.vdot(state.raw_gradient, Z) + 0.5 * np.vdot(Z, curved)
    return float(value) + state.terms.cost_on(working.blocks, x)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("name", "loss"),
    [*((name, "squared") for name in BLOCK_PENALTIES), ("sparse groups", "softmax"), ("rows", "softmax")],
)
def test_a_working_set_in_parts_leads_to_the_same_minimum(name, intercept, loss, monkeypatch):
    """Parts of six coefficients; with two every block is one, and outputs that are coupled share a bound.

    Sets of the squared loss have no parts: they are swept over in columns.
    """
    found = []
    for most in (1000, 6, 2):
        monkeypatch.setattr(tuning, "BLOCK_GRAM_FLOOR", 8 * most**2)
        monkeypatch.setattr(tuning, "GRAM_SHARE", 0.0)
        solver, working, subproblem = block_models(name, intercept, loss)
        assert (len(subproblem._parts(working)) == 1) == (most == 1000 or loss == "squared")
        for _ in range(5 if loss == "squared" else 20):
            subproblem.improve(working, 1.0)
        found.append(solver.state.seen.value + solver.state.terms.cost(solver.state.x))
        assert found[-1] < solver.state.zero_value
    np.testing.assert_allclose(found, found[0], rtol=1e-6)


@pytest.mark.parametrize("name", BLOCK_PENALTIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_newton_step_never_raises_a_block_model(name, seed, monkeypatch):
    solver, working, subproblem = block_models(name, False, seed=seed)
    step, checked = BlockGramModel.newton_step, []

    def watched(self):
        before = quadratic_model(solver, working, self.x, np.zeros(self.x.shape[1]))
        was_cut = step(self)
        after = quadratic_model(solver, working, self.x, np.zeros(self.x.shape[1]))
        checked.append(after <= before + 1e-11 * abs(before))
        return was_cut

    monkeypatch.setattr(BlockGramModel, "newton_step", watched)
    monkeypatch.setattr(BlockGramModel, "between", 1)
    subproblem._minimise(working, 1e-9)
    assert checked
    assert all(checked)


# ------------------------------------------------------------------------------------- coupled outputs

D, M, T = 30, 4, 3
RNG = np.random.default_rng(0)
BLOCK = RNG.standard_normal((D, M)) * (RNG.random((D, M)) < 0.7)
BLOCK[7] = 0.0
LABELS = RNG.integers(0, T, D)
WEIGHT = RNG.random(D) * (RNG.random(D) < 0.8)
CURVATURE = Softmax(LABELS, T, WEIGHT).evaluate(RNG.standard_normal((D, T)), False)[2]


def hessian():
    """Of the losses in the coefficients (j, t), as they stand, and then the constants: Σ_k s·(diag(p) − ppᵀ) ⊗ aaᵀ."""
    total = np.zeros(((M + 1) * T, (M + 1) * T))
    for k in range(D):
        if WEIGHT[k] > 0.0:
            share = CURVATURE.own[k] / WEIGHT[k]
            own = WEIGHT[k] * (np.diag(share) - np.outer(share, share))
            row = np.append(BLOCK[k], 1.0)
            total += np.kron(np.outer(row, row), own)
    return total


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("cost", [0.0, np.inf], ids=["dense rows", "sparse products"])
def test_the_matrix_is_the_hessian(cost, ones, monkeypatch):
    """Also where columns stand in another order, and rows are empty."""
    whole, size = hessian(), (M + ones) * T
    monkeypatch.setattr(costs, "DENSE_PRODUCT", cost)
    monkeypatch.setattr(costs, "BLOCK", 5 * size)
    columns, entries = np.array([2, 0, 4, 1]), np.array([0, 2, 3, 4, 7, 11])
    wide = np.zeros((D, 6))
    wide[:, columns] = BLOCK
    design = ascd.Problem(sp.csc_array(wide), LABELS, "softmax", ascd.L21(1.0)).design
    for listed in (entries, np.arange(M * T)):
        found = design.coupled_gram(columns, listed, CURVATURE.own, CURVATURE.shared, ones)
        chosen = np.r_[listed, np.arange(M * T, size)]
        np.testing.assert_allclose(found, whole[np.ix_(chosen, chosen)], atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_a_compiled_step_goes_to_the_lower_of_the_two_cut_ones(seed):
    rng, m = np.random.default_rng(seed), 7
    root, gradient, x = rng.standard_normal((m, m)), rng.standard_normal(m), rng.standard_normal(m)
    gram, free, work = np.asfortranarray(root @ root.T), np.array([0, 2, 3, 6]), np.zeros((8, m))
    work[0, :4], work[1, :4] = gradient[free], 0.1
    work[2, :4], work[3, :4] = x[free] - (0.1, 9.0, 9.0, 0.0), x[free] + (9.0, 0.2, 9.0, 9.0)
    direction = newton.newton_direction(gram, free, work[1, :4], -work[0, :4])
    ends, values = newton.cut_steps(x[free], direction, work[2, :4], work[3, :4]), []
    for end in ends:
        moved = end - x[free]
        values.append(moved @ (work[0, :4] + 0.5 * (gram[np.ix_(free, free)] @ moved + 0.1 * moved)))
    best = ends[int(np.argmin(values))] if min(values) < 0.0 else x[free]
    moved, expected = best - x[free], gradient + gram[:, free] @ (best - x[free])
    assert newton.take_step(gram, free, direction, work, gradient, x) == (len(ends) > 1 and bool(moved.any()))
    np.testing.assert_array_equal(x[free], best)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-12)
