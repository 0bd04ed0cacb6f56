"""Groups, several targets and several classes: agreement with the plain Lasso and with peers, and true gaps."""

from __future__ import annotations

import numpy as np
import pytest
from blocks import GROUPS, LONG, PROBLEMS, RNG, WEIGHT, A, Y, objective, target_of
from scipy import sparse
from user_parts.my_blocks import OwnNorm

import ascd
from ascd._core.jit import debugging
from ascd.problem.softmax import Softmax
from ascd.results import Status
from ascd.solver import tuning


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gap_is_true_and_small(name, intercept):
    """F less its stated gap is no higher than F at a much better point, all recomputed in long double."""
    problem, (target, loss) = PROBLEMS[name](), target_of(name)
    loose, tight = (ascd.solve(problem, tol=tol, intercept=intercept) for tol in (1e-3, 1e-12))
    assert loose.converged
    assert tight.status in (Status.CONVERGED, Status.STALLED)
    assert tight.gap <= 1e-10 * tight.zero_objective
    best = objective(problem, A, target, tight.x, tight.intercept, loss)
    for solution in (loose, tight):
        value = objective(problem, A, target, solution.x, solution.intercept, loss)
        assert abs(value - LONG(solution.objective)) <= 1e-12 * abs(value)
        assert value - best <= solution.gap
    assert loose.gap <= 1e-3 * loose.zero_objective


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_repeated_samples(name):
    count = (2 * WEIGHT).astype(int)
    weighted = ascd.solve(PROBLEMS[name](sample_weight=2.0 * WEIGHT), tol=1e-11, intercept=True)
    target, loss = target_of(name)
    problem = PROBLEMS[name]()
    own = ascd.Problem(
        np.repeat(A, count, axis=0), np.repeat(target, count, axis=0), loss, groups=problem.groups,
        penalty=problem.penalty,
    )  # fmt: skip
    repeated = ascd.solve(own, tol=1e-11, intercept=True)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.x, repeated.x, atol=1e-4)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", PROBLEMS)
def test_sparse_storage_gives_the_same(name):
    plain, (target, loss) = PROBLEMS[name](), target_of(name)
    stored = ascd.Problem(sparse.csc_array(A), target, loss, groups=plain.groups, penalty=plain.penalty)
    first, second = (ascd.solve(one, tol=1e-10, intercept=True) for one in (plain, stored))
    assert first.converged
    assert second.converged
    assert first.objective == pytest.approx(second.objective, abs=2e-10 * first.zero_objective)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_one_column_are_the_plain_lasso(loss, intercept):
    target = Y[:, 0] if loss == "squared" else np.sign(Y[:, 0])
    for strength in (0.3, 3.0):
        with debugging(True):  # by coordinate it is compiled elsewhere
            plain = ascd.solve(ascd.Problem(A, target, loss, ascd.L1L2(strength, 0.0)), tol=1e-12, intercept=intercept)
        found = ascd.solve(ascd.Problem(A, target, loss, ascd.GroupL2(strength, 1)), tol=1e-12, intercept=intercept)
        assert found.objective == pytest.approx(plain.objective, rel=1e-11)
        np.testing.assert_allclose(found.x, plain.x, atol=1e-5)


@pytest.mark.usefixtures("compiled")
def test_screened_blocks_are_not_read_again():
    rng = np.random.default_rng(2)
    wide = rng.standard_normal((200, 2000))
    target = wide[:, :5] @ np.ones(5) + rng.standard_normal(200)
    problem = ascd.Problem(wide, target, penalty=ascd.GroupL2(1.0, 2))
    result = ascd.path(problem, n_alphas=20, eps=0.3, tol=1e-8)
    assert result.status is Status.CONVERGED
    assert result.reads < 0.5 * 2000 * (20 + result.n_iters.sum())


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", ["group", "sparse group", "rows", "unpenalised", "logistic", "softmax rows"])
def test_a_path_is_what_solving_each_gives(name):
    problem = PROBLEMS[name]()
    result = ascd.path(problem, n_alphas=5, eps=0.05, tol=1e-9, intercept=True)
    assert result.status is Status.CONVERGED
    assert (result.gaps <= 1e-9 * result.zero_objective).all()
    for number, alpha in enumerate(result.alphas):
        one = problem.replace(penalty=problem.penalty.scaled(float(alpha)))
        found = ascd.solve(one, tol=1e-9, intercept=True)
        assert found.objective == pytest.approx(result.objectives[number], abs=2e-9 * result.zero_objective)
        assert one.objective(result.coefs[..., number], result.intercepts[..., number]) == pytest.approx(
            result.objectives[number], rel=1e-9
        )
    penalised = result.coefs[..., 0][GROUPS[1]] if name == "unpenalised" else result.coefs[..., 0]
    assert not penalised.any()


def test_a_penalty_of_ones_own():
    own = ascd.Problem(A, Y[:, 0], penalty=OwnNorm(8.0), groups=GROUPS)
    first, second = (ascd.solve(one, tol=1e-10, intercept=True) for one in (own, PROBLEMS["group"]()))
    assert first.converged
    assert first.objective == pytest.approx(second.objective, rel=1e-9)
    with pytest.raises(TypeError, match="path needs a penalty with a method scaled"):
        ascd.path(own)


# ------------------------------------------------------------------------------------ small least squares

# ------------------------------------------------------------------------------------- several classes


COUPLED = {
    "l1": ascd.SparseGroup(1.5, 0.0),
    "l1 and rows": ascd.SparseGroup(0.5, 1.0),
    "rows": ascd.L21(2.0),
    "rows, ridge": ascd.L21(1.0, ridge=0.5),
    "groups": ascd.GroupL2(2.0, groups=3),
    "groups, not negative": ascd.GroupL2(1.0, groups=2, positive=True),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", COUPLED)
def test_models_of_softmax_in_parts_lead_to_the_same_minimum(name, intercept, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.5)
    labels = (X[:, 0] > 0.0).astype(int) + (X[:, 4] + 0.3 * rng.standard_normal(40) > 0.5)
    data = sparse.csc_array(X) if intercept else X
    problem = ascd.Problem(data, labels, "softmax", COUPLED[name], sample_weight=rng.random(40) + 0.5)
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    monkeypatch.setattr(tuning, "BLOCK_GRAM_FLOOR", 8 * 6**2)
    monkeypatch.setattr(tuning, "GRAM_SHARE", 0.0)
    other = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert found.converged
    assert other.converged
    assert abs(found.objective - other.objective) <= max(found.gap, other.gap)
    assert found.objective == pytest.approx(problem.objective(found.x, found.intercept), rel=1e-12)
    assert np.count_nonzero(found.x) > 0


D, T = 30, 3
LABELS, SOME = RNG.integers(0, T, D), RNG.random(D) * (RNG.random(D) < 0.8)


def log_shares(Z):
    wide = Z.astype(LONG)
    return wide - np.logaddexp.reduce(wide, axis=1)[:, None]


@pytest.mark.parametrize("scale", [1.0, 30.0, 800.0])
def test_softmax_gradients_and_curvatures(scale):
    """Probabilities as small as float64 has them; samples without weight count nothing."""
    Z = scale * np.random.default_rng(2).standard_normal((D, T))
    value, gradient, curvature, _ = Softmax(LABELS, T, SOME).evaluate(Z.copy(), False)
    logs, rows = log_shares(Z), np.arange(D)
    shares = np.exp(logs)
    expected = shares.copy()
    expected[rows, LABELS] = 0.0
    expected[rows, LABELS] = -expected.sum(axis=1)
    assert value == pytest.approx(float(-(SOME * logs[rows, LABELS]).sum()), rel=1e-12)
    np.testing.assert_allclose(gradient, (SOME[:, None] * expected).astype(float), rtol=1e-11)
    np.testing.assert_allclose(curvature.own, (SOME[:, None] * shares).astype(float), rtol=1e-11)
    np.testing.assert_allclose(curvature.shared, (np.sqrt(SOME)[:, None] * shares).astype(float), rtol=1e-11)
    for k in np.flatnonzero(SOME):
        own = (np.diag(shares[k]) - np.outer(shares[k], shares[k])).astype(float)
        assert SOME[k] * np.linalg.eigvalsh(own)[-1] <= curvature.most[k] + 1e-15


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("spread", [1.0, 30.0, 800.0])
def test_the_gap_of_softmax_is_its_divergence(spread, scale):
    """Σ s·KL(q ‖ p) for q = (1 − scale)·e_y + scale·p, and no less."""
    Z = spread * np.random.default_rng(4).standard_normal((D, T))
    logs = log_shares(Z)
    dual = scale * np.exp(logs)
    dual[np.arange(D), LABELS] += 1.0 - LONG(scale)
    terms = np.where(dual > 0.0, dual * (np.log(np.where(dual > 0.0, dual, 1.0)) - logs), 0.0)
    expected, loss = float(SOME @ terms.sum(axis=1)), Softmax(LABELS, T, SOME)
    found = loss.gap(Z, np.empty(0), np.empty(0), scale)
    assert expected * (1.0 - 1e-14) - 1e-17 <= found <= expected * (1.0 + 1e-11) + 1e-11
    assert loss.gap(Z, np.empty(0), np.full(D, 1e-6), scale) >= found


# ---------------------------------------------------------------------------------------------- ends
