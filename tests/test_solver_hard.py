"""Hard cases: degenerate data, no finite minimum, tolerances that rounding forbids."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from solving import LOSSES, make_case, target_of

import ascd

pytestmark = pytest.mark.usefixtures("long_way")


def data(loss="squared", shape=(18, 5), seed=0):
    case = make_case(loss, "none", shape=shape, seed=seed)
    return case.A, case.b


def largest_entry(problem, intercept):
    """λ_max: the largest gradient entry at zero coefficients."""
    start = ascd.solve(problem, intercept=intercept, max_iter=0)
    z = np.full(problem.n_samples, start.intercept)
    gradient = [problem.parts.loss.derivative(y, c) for y, c in zip(problem.parts.sample.target, z, strict=True)]
    A = problem.parts.matrix.to_scipy(problem.n_samples, problem.n_features)
    return np.abs(A.T @ gradient).max()


# ------------------------------------------------------------------------------- degenerate matrices


def with_zero_column(A):
    A[:, 2] = 0.0


def with_equal_columns(A):
    A[:, 3], A[:, 4] = A[:, 0], -A[:, 1]


def with_collinear_columns(A):
    A[:, 4] = A[:, 0] + A[:, 1] - 2.0 * A[:, 2]


def with_large_means(A):
    A += 1e4


def with_a_constant_column(A):
    A[:, 1] = 3.0


SPOILERS = [with_zero_column, with_equal_columns, with_collinear_columns, with_large_means, with_a_constant_column]
#: exp of large means overflows
POSSIBLE = [(spoil, loss) for spoil in SPOILERS for loss in LOSSES if (spoil, loss) != (with_large_means, "poisson")]


#: every two of columns, loss and penalty meet
PENALTIES = (None, ascd.L1(0.5), ascd.L1L2(0.3, 0.2), ascd.Box(-0.1, 0.1))


@pytest.mark.parametrize(("spoil", "loss"), POSSIBLE)
def test_degenerate_columns(spoil, loss):
    A, b = data(loss)
    penalty = PENALTIES[(SPOILERS.index(spoil) + list(LOSSES).index(loss)) % 4]
    spoil(A)
    for design, intercept in ((A, True), (sp.csc_array(A), False)):
        problem = ascd.Problem(design, b, loss, penalty)
        solution = ascd.solve(problem, tol=1e-8, intercept=intercept)
        # no dual point is known where unpenalised columns depend on each other
        is_proved = penalty is not None or spoil not in (with_equal_columns, with_collinear_columns)
        assert solution.status is (ascd.Status.CONVERGED if is_proved else ascd.Status.STATIONARY)
        assert (solution.gap <= 1e-8 * solution.zero_objective) == is_proved
        assert np.isfinite(solution.x).all()


@pytest.mark.parametrize("mean", [1e6, 1e7, 1e8, 1e9])
@pytest.mark.parametrize("penalty", [ascd.L1(2.0), ascd.L2(1.0)])
def test_means_far_larger_than_deviations(mean, penalty):
    """Up to 1e7 the answer is proved; beyond, rounding decides, but F never ends above where it was."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6))
    b = A[:, :3] @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(40)
    plain = ascd.solve(ascd.Problem(A, b, penalty=penalty), intercept=True, tol=1e-10)
    moved = ascd.solve(ascd.Problem(A + mean, b, penalty=penalty), intercept=True, max_iter=100)
    assert moved.converged or mean > 1e7
    assert moved.objective == pytest.approx(plain.objective, rel=1e-5 if mean <= 1e7 else 1e-2)


@pytest.mark.parametrize("mean", [1e6, 1e7, 1e9])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("storage", ["csc", "csr"])
def test_sparse_columns_that_lie_far_from_zero(mean, loss, storage):
    """Years and coordinates beside indicators: digits of their means once took the place of the products."""
    rng = np.random.default_rng(0)
    A, levels = rng.standard_normal((80, 3)), np.eye(8)[rng.integers(0, 8, 80)]
    b = A @ [1.0, -2.0, 0.5] + levels @ rng.standard_normal(8)
    b = np.sign(b) if loss == "logistic" else b
    near = ascd.solve(ascd.Problem(np.c_[A, levels], b, loss, ascd.L1(1.0)), intercept=True, tol=1e-10)
    far = sp.csc_array(np.c_[A + mean, levels]).asformat(storage)
    solution = ascd.solve(ascd.Problem(far, b, loss, ascd.L1(1.0)), intercept=True)
    assert solution.converged or mean > 1e7
    assert solution.objective == pytest.approx(near.objective, rel=1e-5)
    assert solution.gap >= solution.objective - near.objective - 1e-6


@pytest.mark.parametrize(
    ("number", "penalty"), [*enumerate([None, ascd.L1(1e-3), ascd.L1(0.5), ascd.L2(0.1), ascd.L1(0.1, [0, 1] * 3)])]
)
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_scales_from_1e_8_to_1e8(loss, number, penalty):
    """Every two of loss, penalty and intercept meet."""
    intercept = (number + len(loss)) % 2 == 0
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6))
    b = target_of(loss, A, rng)
    scales = np.logspace(-8, 8, 6)
    solution = ascd.solve(ascd.Problem(A * scales, b, loss, penalty), tol=1e-6, intercept=intercept)
    if number == 1 and not solution.converged:
        # |⟨a_j, θ⟩| ≤ 1e-3 with ‖a_j‖ = 6e8: what float64 leaves of θ's last digit is more than a proof may lose
        assert solution.status is ascd.Status.STALLED
        same = ascd.solve(ascd.Problem(A, b, loss, ascd.L1(1e-3, 1.0 / scales)), tol=1e-6, intercept=intercept)
        assert solution.objective == pytest.approx(same.objective, rel=1e-6)
        return
    assert solution.converged
    assert solution.gap <= 1e-6 * solution.zero_objective
    if penalty is None:  # the minimum does not depend on scales
        plain = ascd.solve(ascd.Problem(A, b, loss), tol=1e-10, intercept=intercept)
        assert solution.objective == pytest.approx(plain.objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
def test_nothing_to_do(loss, intercept):
    """All-zero A, all-zero weights, a penalty at or above λ_max: exact zeros, no round."""
    A, b = data(loss)
    top = largest_entry(ascd.Problem(A, b, loss), intercept)
    problems = [
        ascd.Problem(0.0 * A, b, loss),
        ascd.Problem(A, b, loss, ascd.L1(0.1), 0.0 * b),
        ascd.Problem(A, b, loss, ascd.L1(top * (1.0 + 1e-12))),
        ascd.Problem(A, b, loss, ascd.L1(1e12)),
    ]
    for problem in problems:
        solution = ascd.solve(problem, tol=1e-10, intercept=intercept)
        assert solution.converged
        assert solution.n_iter == 0
        assert not solution.x.any()
        assert solution.objective == solution.zero_objective


# ------------------------------------------------------------------------------------------ targets


@pytest.mark.parametrize(("loss", "intercept", "tol"), [
    ("logistic", False, 1e-6), ("logistic", True, 1e-12),
    ("squared_hinge", False, 1e-12), ("squared_hinge", True, 1e-6),
])  # fmt: skip
def test_separable_data_without_penalty_ends(loss, intercept, tol):
    A, _ = data()
    problem = ascd.Problem(A, np.sign(A @ np.ones(5) + 0.01), loss)
    solution = ascd.solve(problem, tol=tol, intercept=intercept, max_iter=100)
    assert solution.status in (ascd.Status.CONVERGED, ascd.Status.ITERATION_LIMIT, ascd.Status.STALLED)
    assert np.isfinite(solution.x).all()
    assert solution.objective <= 1e-4 * solution.zero_objective
    assert solution.objective <= solution.gap + 1e-12 * solution.zero_objective  # the infimum is 0


# ---------------------------------------------------------------------------- tolerances and limits


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
def test_high_precision(loss, intercept):
    case = make_case(loss, "l1", intercept, seed=3)
    solution = ascd.solve(case.problem(), tol=1e-14, intercept=intercept)
    assert solution.converged
    assert solution.n_iter <= 20
    assert solution.gap <= 1e-14 * solution.zero_objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l1", "none", "box", "elastic net"])
def test_a_tolerance_of_zero_ends(loss, penalty):
    """Thousands of sweeps where nothing is left to be had."""
    case = make_case(loss, penalty, True, shape=(14, 2), seed=3)
    solution = ascd.solve(case.problem(), tol=0.0, intercept=True)
    assert solution.status in (ascd.Status.CONVERGED, ascd.Status.STALLED)
    assert solution.n_iter < 100
    assert solution.gap <= 1e-12 * solution.zero_objective
