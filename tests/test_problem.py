"""Objective, gradient and duality gap against NumPy, for every loss with every penalty.

Interpreted, so that the many combinations cost no compiling; compiled code is held to the same in test_minimize.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from formulas import LOSSES, PENALTIES, feasible, gradient, smooth, targets
from pairs import in_pairs

import ascd

D, N = 12, 4
WEIGHTS = {"no weights": None, "weights": np.r_[0.0, 0.0, np.linspace(0.2, 3.0, D - 2)]}
pytestmark = pytest.mark.usefixtures("interpreted")
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
        partials = [problem.partial(x, j) for j in range(N)]
        np.testing.assert_allclose(partials, slopes, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(problem.image(x), A @ x, rtol=1e-13, atol=1e-14)


@pairs
def test_the_gap_bounds_the_distance_to_the_optimum_and_vanishes_there(loss, penalty):
    """Every loss and every penalty, with weights and without; each pair is in test_solver_agreement."""
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


def test_repr_says_what_it_is():
    assert repr(make("huber", "l1")[0]) == "Problem(12 x 4 Dense, loss=Huber, penalty=L1)"


@pytest.mark.parametrize("j", [-1, N, N + 7])
def test_partial_refuses_columns_that_do_not_exist(j):
    with pytest.raises(IndexError, match=f"j must be in 0 .. 3; got {j}"):
        make("squared", "zero")[0].partial(np.zeros(N), j)


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


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"b": [1.0]}, "b must have length 12"),
        ({"b": np.zeros(D)}, "labels"),
        ({"penalty": ascd.L1(-1.0)}, "L1 strength"),
        ({"sample_weight": -np.ones(D)}, "sample_weight must be at least 0"),
    ],
)
def test_a_replacement_is_checked(change, word):
    with pytest.raises(ValueError, match=word):
        make("logistic", "zero")[0].replace(**change)
