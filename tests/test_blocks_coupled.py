"""Losses whose outputs meet: the matrix of all coefficients, the pass over the samples, and looks that are spared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ascd.blocks import solver, steps, tuning
from ascd.blocks.coupled_gram import coupled_gram, flat, gram_of_block, without_constants
from ascd.blocks.pieces import Working
from scipy import sparse

import ascd
from ascd.problem.losses.softmax import Softmax

D, M, T = 30, 4, 3
RNG = np.random.default_rng(0)
BLOCK = RNG.standard_normal((D, M)) * (RNG.random((D, M)) < 0.7)
BLOCK[7] = 0.0
LABELS = RNG.integers(0, T, D)
WEIGHT = RNG.random(D) * (RNG.random(D) < 0.8)
LOOK = Softmax(LABELS, T, WEIGHT).look(RNG.standard_normal((D, T)))


def hessian():
    """Of the losses in the coefficients (j, t), as they stand, and then the constants: Σ_k s·(diag(p) − ppᵀ) ⊗ aaᵀ."""
    total = np.zeros(((M + 1) * T, (M + 1) * T))
    for k in range(D):
        if WEIGHT[k] > 0.0:
            share = LOOK.curvature.own[k] / WEIGHT[k]
            own = WEIGHT[k] * (np.diag(share) - np.outer(share, share))
            row = np.append(BLOCK[k], 1.0)
            total += np.kron(np.outer(row, row), own)
    return total


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("share", [0.0, 1.0], ids=["dense rows", "sparse rows"])
def test_the_matrix_is_the_hessian(share, ones, monkeypatch):
    """Also where columns stand in another order, and rows are empty."""
    whole, size = hessian(), (M + ones) * T
    monkeypatch.setattr("ascd.blocks.coupled_gram.SPARSE_COUPLED", share)
    monkeypatch.setattr("ascd.blocks.coupled_gram.COUPLED_AT_ONCE", 5 * size)
    columns = np.array([2, 0, 4, 1])
    wide = np.zeros((D, 6))
    wide[:, columns] = BLOCK
    part = ascd.Problem(sparse.csc_array(wide), LABELS, "softmax", ascd.L21(1.0)).design.take(columns)
    np.testing.assert_allclose(coupled_gram(part, LOOK.curvature, ones), whole[:size, :size], atol=1e-13)


def test_constants_are_at_their_best_after_every_step():
    whole, size = hessian(), M * T
    gram, change = without_constants(gram_of_block(np.c_[BLOCK, np.ones(D)], LOOK.curvature), T)
    crossed = whole[size:, :size]
    np.testing.assert_allclose(change, -np.linalg.pinv(whole[size:, size:]) @ crossed, atol=1e-10)
    np.testing.assert_allclose(gram, whole[:size, :size] + crossed.T @ change, atol=1e-12)
    np.testing.assert_allclose(change.sum(axis=0), 0.0, atol=1e-12)


def test_blocks_keep_their_places():
    working = flat(Working(np.array([1, 3]), np.array([0, 1, 4]), np.array([2, 5, 6, 7]), 3))
    assert working.starts.tolist() == [0, 3, 12]
    assert (working.places.size, working.outputs, working.longest) == (12, 1, 9)


PENALTIES = {
    "l1": ascd.SparseGroup(1.5, 0.0),
    "l1 and rows": ascd.SparseGroup(0.5, 1.0),
    "rows": ascd.L21(2.0),
    "rows, ridge": ascd.L21(1.0, ridge=0.5),
    "groups": ascd.GroupL2(2.0, groups=3),
    "groups, not negative": ascd.GroupL2(1.0, groups=2, positive=True),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_both_models_lead_to_the_same_minimum(name, intercept, monkeypatch):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.5)
    labels = (A[:, 0] > 0.0).astype(int) + (A[:, 4] + 0.3 * rng.standard_normal(40) > 0.5)
    data = sparse.csc_array(A) if intercept else A
    problem = ascd.Problem(data, labels, "softmax", PENALTIES[name], sample_weight=rng.random(40) + 0.5)
    calls, made = [], steps.Steps._by_one_matrix
    monkeypatch.setattr(steps.Steps, "_by_one_matrix", lambda *args: calls.append(1) or made(*args))
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert calls
    calls.clear()
    monkeypatch.setattr(tuning, "LARGEST_COUPLED", 0)
    other = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert not calls
    assert found.converged
    assert other.converged
    assert abs(found.objective - other.objective) <= max(found.gap, other.gap)
    assert found.objective == pytest.approx(problem.objective(found.x, found.intercept), rel=1e-12)
    assert np.count_nonzero(found.x) > 0


@pytest.mark.parametrize("scale", [1.0, 30.0, 800.0])
def test_a_look_at_the_samples(scale):
    """Probabilities as small as float64 has them; samples without weight count nothing."""
    image = scale * np.random.default_rng(2).standard_normal((D, T))
    found = Softmax(LABELS, T, WEIGHT).look(image)
    wide = image.astype(np.longdouble)
    logs = wide - np.logaddexp.reduce(wide, axis=1)[:, None]
    shares = np.exp(logs)
    expected = shares.copy()
    expected[np.arange(D), LABELS] = 0.0
    expected[np.arange(D), LABELS] = -expected.sum(axis=1)
    assert found.value == pytest.approx(float(-(WEIGHT * logs[np.arange(D), LABELS]).sum()), rel=1e-12)
    np.testing.assert_allclose(found.slope, (WEIGHT[:, None] * expected).astype(float), rtol=1e-11)
    np.testing.assert_allclose(found.curvature.own, (WEIGHT[:, None] * shares).astype(float), rtol=1e-11)
    np.testing.assert_allclose(found.curvature.shared, (np.sqrt(WEIGHT)[:, None] * shares).astype(float), rtol=1e-11)
    for k in np.flatnonzero(WEIGHT):
        own = (np.diag(shares[k]) - np.outer(shares[k], shares[k])).astype(float)
        assert WEIGHT[k] * np.linalg.eigvalsh(own)[-1] <= found.curvature.most[k] + 1e-15


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("spread", [1.0, 30.0, 800.0])
def test_the_gap_of_samples_is_their_divergence(spread, scale):
    """Σ s·KL(q ‖ p) for q = (1 − scale)·e_y + scale·p, and no less."""
    image = spread * np.random.default_rng(4).standard_normal((D, T))
    wide = image.astype(np.longdouble)
    logs = wide - np.logaddexp.reduce(wide, axis=1)[:, None]
    dual = scale * np.exp(logs)
    dual[np.arange(D), LABELS] += 1.0 - np.longdouble(scale)
    terms = np.where(dual > 0.0, dual * (np.log(np.where(dual > 0.0, dual, 1.0)) - logs), 0.0)
    expected = float(WEIGHT @ terms.sum(axis=1))
    loss = Softmax(LABELS, T, WEIGHT)
    found = loss.gap(image, np.empty(0), np.empty(0), scale)
    assert expected * (1.0 - 1e-14) - 1e-17 <= found <= expected * (1.0 + 1e-11) + 1e-11
    assert loss.gap(image, np.empty(0), np.full(D, 1e-6), scale) >= found


@pytest.mark.parametrize("penalty", [ascd.L21(4.0), ascd.GroupL2(4.0, groups=4)], ids=["rows", "groups"])
def test_no_certificate_is_looked_for_where_the_minimum_is_surely_far(penalty, monkeypatch):
    rng = np.random.default_rng(3)
    A, count = rng.standard_normal((40, 60)), 2 if isinstance(penalty, ascd.L21) else 1
    target = A[:, :3] @ rng.standard_normal((3, count))
    problem = ascd.Problem(A, target if count > 1 else target[:, 0], penalty=penalty)
    looks, prove = [], solver.prove
    monkeypatch.setattr(tuning, "SMALL_COLUMNS", 0)  # small problems have a proof of their own
    monkeypatch.setattr(solver, "prove", lambda *args: looks.append(1) or prove(*args))
    found = ascd.solve(problem, tol=1e-10)
    spared = len(looks)
    looks.clear()
    monkeypatch.setattr(tuning, "SURELY_FAR", math.inf)
    other = ascd.solve(problem, tol=1e-10)
    assert spared < len(looks)
    assert found.converged
    np.testing.assert_array_equal(found.x, other.x)
    assert (found.gap, found.n_iter) == (other.gap, other.n_iter)
    assert found.trace.gap[0] == math.inf
    short = ascd.solve(problem, tol=1e-10, max_iter=0)
    assert other.trace.gap[0] * (1.0 - 1e-9) <= short.gap < math.inf  # the last look is a thorough one
