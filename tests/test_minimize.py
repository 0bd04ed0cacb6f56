"""Final objectives against SciPy, scikit-learn and celer, and the cases that break solvers."""

from __future__ import annotations

import numpy as np
import peers
import pytest
from formulas import targets
from pairs import in_pairs
from scipy import sparse

import ascd

D, N = 40, 12


def data(loss="squared", d=D, n=N, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d, n)) * np.linspace(0.5, 2.0, n), targets(loss, d, rng)


def solve(problem, **options):
    solution = ascd.minimize(problem, **{"tol": 1e-9, "rng": 0, "max_iter": 1_000_000, **options})
    assert solution.status.is_answer, solution
    return solution


# loss, penalty, the same for SciPy; every pair is looked at in test_solver_peers, compiled loops in test_compiled
SHARED = [
    ("squared", ascd.Zero(), {}),
    ("squared", ascd.L1(9.0), {"l1": 9.0}),
    ("squared", ascd.L2(9.0), {"l2": 9.0}),
    ("squared", ascd.L1L2(9.0, 5.0), {"l1": 9.0, "l2": 5.0}),
    ("squared", ascd.Box(), {"lower": 0.0}),
    ("squared", ascd.Box(-0.1, 0.2), {"lower": -0.1, "upper": 0.2}),
    ("logistic", ascd.L1(2.0), {"l1": 2.0}),
    ("logistic", ascd.Box(-0.2, 0.4, 1.0), {"l2": 1.0, "lower": -0.2, "upper": 0.4}),
    ("huber", ascd.Zero(), {}),
    ("huber", ascd.L1L2(3.0, 1.0), {"l1": 3.0, "l2": 1.0}),
    ("squared_hinge", ascd.L2(3.0), {"l2": 3.0}),
    ("squared_hinge", ascd.Box(), {"lower": 0.0}),
]


@pytest.mark.parametrize(("loss", "penalty", "same"), SHARED)
def test_scipy_finds_the_same_minimum(loss, penalty, same):
    A, b = data(loss)
    rule = "a-ascd" if loss in ("squared", "logistic") else "cyclic"
    solution = solve(ascd.Problem(A, b, loss, penalty), rule=rule)
    assert solution.objective == pytest.approx(peers.scipy_minimum(loss, A, b, **same), rel=1e-8)
    assert solution.gap <= 1e-8 * solution.objective


@in_pairs(make=[np.asarray, sparse.csr_array], loss=["hinge", "squared_hinge"], C=[0.05, 1.0])
def test_the_dual_svm_agrees_with_liblinear(make, loss, C, request):
    """Compiled for the hinge on dense data, as plain Python else."""
    if make is np.asarray and loss == "hinge":
        request.getfixturevalue("compiled")
    X, y = data("logistic", d=20, n=8)
    svm = ascd.DualSVM(make(X), y, C, loss)
    solution = solve(svm, tol=1e-10)
    weights, theirs = svm.weights(solution.x), peers.svm_dual(X, y, C, loss)
    shortfall = np.maximum(0.0, 1.0 - y * (X @ weights))
    primal = 0.5 * weights @ weights + C * np.sum(shortfall if loss == "hinge" else shortfall**2)
    np.testing.assert_allclose(weights, X.T @ (y * solution.x), rtol=1e-12, atol=1e-14)
    assert svm.primal_objective(weights) == pytest.approx(primal, rel=1e-12)
    assert primal == pytest.approx(svm.primal_objective(theirs), rel=1e-8)
    assert -solution.objective == pytest.approx(primal, rel=1e-8)
    assert solution.gap == pytest.approx(primal + solution.objective, abs=1e-8 * primal)
    np.testing.assert_allclose(weights, theirs, atol=1e-4)


def zero_columns():
    A, b = data()
    A[:, [0, 5, 11]] = 0.0
    return A, b, 9.0


def duplicates():
    A, b = data()
    return np.c_[A, A[:, :4], A[:, :4]], b, 9.0


def wide():
    return *data(d=10, n=40), 2.0


def one_sample():
    return *data(d=1, n=5), 0.3


def one_feature():
    return *data(d=20, n=1), 1.0


HARD = {
    "zero columns": zero_columns,
    "duplicate columns": duplicates,
    "fewer samples than features": wide,
    "more samples than features": lambda: (*data(), 9.0),
    "no penalty": lambda: (*data(), 0.0),
    "no penalty, wide": lambda: (*data(d=10, n=40), 0.0),
    "one sample": one_sample,
    "one feature": one_feature,
    "one number": lambda: (np.array([[2.0]]), np.array([3.0]), 1.0),
    "constant columns": lambda: (np.ones((D, 3)), data()[1], 1.0),
}


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", HARD.values(), ids=HARD)
def test_hard_cases(case, make):
    A, b, lam = case()
    solution = solve(ascd.Problem(make(A), b, penalty=ascd.L1(lam)))
    expected = peers.scipy_minimum("squared", A, b, l1=lam)
    assert solution.objective == pytest.approx(expected, rel=1e-8, abs=1e-12 * (b @ b))
    assert solution.gap <= 1e-7 * (1.0 + b @ b)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "squared_hinge"])
def test_at_the_largest_penalty_everything_is_exactly_zero(loss):
    A, b = data(loss)
    largest = np.abs(ascd.Problem(A, b, loss).gradient(np.zeros(N))).max()
    for factor in (1.0, 1.5):
        solution = solve(ascd.Problem(A, b, loss, ascd.L1(factor * largest)), rule="cyclic")
        np.testing.assert_array_equal(solution.x, np.zeros(N))
        assert solution.gap <= 1e-9 * solution.objective
    assert np.count_nonzero(solve(ascd.Problem(A, b, loss, ascd.L1(0.99 * largest)), rule="cyclic").x) >= 1
