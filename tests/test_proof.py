"""Proofs: nothing is called proved that is not.  Rational arithmetic and SciPy are the judges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from solving import LOSSES, make_case

import ascd
from ascd.matrix.arithmetic import careful_sum
from ascd.problem.dual_fit import fit_to
from ascd.problem.losses import as_loss
from ascd.problem.losses.formulas import divergence
from ascd.results.solution import Status
from ascd.svm import Clipped

pytestmark = pytest.mark.usefixtures("plain_python")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0, 8, 60]), sparse=st.booleans())
def test_careful_products_are_within_their_error(seed, spread, sparse):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 4)) * 2.0 ** rng.integers(-spread, spread + 1, (30, 4))
    v = rng.standard_normal(30) * 2.0 ** rng.integers(-spread, spread + 1, 30)
    v[-1] = -(A[:-1, 0] @ v[:-1]) / A[-1, 0]  # the first product nearly cancels
    design = ascd.Problem(sp.csc_array(A) if sparse else A, np.ones(30)).design
    product, error = design.careful_dots(np.arange(4), v)
    for j in range(4):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(A[:, j], v, strict=True))
        assert abs(Fraction(product[j]) - exact) <= Fraction(error[j])
        assert error[j] <= 2.3e-16 * abs(product[j]) + 1e-28 * (np.abs(A[:, j]) @ np.abs(v))
    total, off = careful_sum(v)
    assert abs(Fraction(total) - sum(map(Fraction, v))) <= Fraction(off)


def test_products_without_rounding_have_no_error():
    design = ascd.Problem(np.array([[1.0], [2.0], [3.0]]), np.ones(3)).design
    product, error = design.careful_dots(np.arange(1), np.array([4.0, -2.0, 1.0]))
    assert (product[0], error[0]) == (3.0, 0.0)


LOSS_NAMES = ["squared", "logistic", "huber", "squared_hinge", "poisson"]


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_divergences_are_value_and_conjugate_and_product(name):
    loss, rng = as_loss(name), np.random.default_rng(0)
    for _ in range(300):
        y = float(rng.poisson(2.0)) if name == "poisson" else float(rng.choice([-1.0, 1.0]))
        z, other = rng.uniform(-3.0, 3.0, 2)
        u = loss.derivative(y, other)
        plain = loss.value(y, z) + loss.conjugate(y, u) - u * z
        assert divergence(loss, y, z, u) == pytest.approx(plain, rel=1e-9, abs=1e-12)
        assert divergence(loss, y, z, loss.derivative(y, z)) <= 1e-28
    clipped = Clipped(np.array([-1.0]), np.array([2.0]))
    for z in rng.uniform(-4.0, 4.0, 50):
        plain = clipped.value(0.0, z) + clipped.conjugate(0.0, 0.5) - 0.5 * z
        assert divergence(clipped, 0.0, z, 0.5) == pytest.approx(plain, rel=1e-12, abs=1e-14)
        assert divergence(clipped, 0.0, z, 2.5) == math.inf


@pytest.mark.parametrize(
    ("name", "y", "z", "u", "expected"),
    [
        ("logistic", 1.0, 800.0, 0.0, 0.0),
        ("logistic", 1.0, -800.0, 0.0, 800.0),
        ("logistic", 1.0, 0.0, 0.1, math.inf),
        ("squared_hinge", 1.0, 0.0, 1e-16, math.inf),
        ("huber", 0.0, 0.0, 1.4, math.inf),
        ("huber", 1e8, 0.0, -1.35, 0.0),
        ("poisson", 1.0, 800.0, 0.0, math.inf),
        ("poisson", 2.0, 0.0, -2.1, math.inf),
        ("squared", 1e8, 1e8 + 1.0, 1.0, 0.0),
    ],
)
def test_divergences_far_out(name, y, z, u, expected):
    with np.errstate(over="ignore"):
        assert divergence(as_loss(name), y, z, u) == pytest.approx(expected, abs=1e-300)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scales", [1.0, np.logspace(-8, 8, 4)])
def test_a_fitted_dual_point_has_the_products_asked_for(intercept, scales):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 4)) * scales
    problem, slope, curvature = ascd.Problem(A, np.ones(12)), rng.standard_normal(12), 0.1 + rng.random(12)
    columns, ones = np.array([0, 1, 3]), np.ones(12, dtype=bool)
    fit = fit_to(problem.design, columns, intercept, curvature, ones, np.zeros(3))
    block = np.c_[A[:, columns], np.ones((12, int(intercept)))]
    fitted = fit.moved(slope, block.T @ slope)
    assert fit.used.tolist() == list(range(3 + intercept))
    norms = np.linalg.norm(block, axis=0) * np.linalg.norm(slope)
    assert np.all(np.abs(block.T @ fitted) <= 1e-12 * norms)
    # the point that fits exactly is within reach: here it is known, from the other side
    excess = 1e-3 * rng.standard_normal(3 + intercept) * np.linalg.norm(block, axis=0)
    moved = np.abs(fit.moved(slope, excess) - slope)
    reach, bound = fit.reach(excess)
    assert np.all(moved <= reach)
    assert np.linalg.norm(moved) <= np.linalg.norm(bound)


def dependent(kind):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 3))
    if kind == "dummies":
        return np.eye(3)[rng.integers(0, 3, 20)], True
    if kind == "twins":
        return np.c_[A, A[:, 0]], False
    if kind == "sum":
        return np.c_[A, A[:, 0] + A[:, 1]], False
    return np.c_[np.round(A), np.round(A) @ [1.0, -2.0, 3.0] / 2.0], False  # halves of integers are integers, too


@pytest.mark.parametrize(("kind", "is_proved"), [("dummies", True), ("twins", True), ("sum", False), ("halves", True)])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_that_depend_on_others_are_proved_or_said_to_be_stationary(kind, is_proved, loss):
    A, intercept = dependent(kind)
    b = np.sign(np.random.default_rng(2).standard_normal(20))
    solution = ascd.solve(ascd.Problem(A, b, loss), tol=1e-9, intercept=intercept)
    assert solution.status is (Status.CONVERGED if is_proved else Status.STATIONARY)
    assert "first-order" in Status.STATIONARY.sentence
    assert (solution.gap <= 1e-9 * solution.zero_objective) == is_proved


def test_many_unpenalised_coordinates_are_proved_too(compiled):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((260, 220))
    b = A @ rng.standard_normal(220) + rng.standard_normal(260)
    solution = ascd.solve(ascd.Problem(A, b), tol=1e-8)
    residual = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    assert solution.converged
    assert solution.objective == pytest.approx(0.5 * residual @ residual, rel=1e-8)


def test_where_fitting_is_too_dear_first_order_conditions_decide(monkeypatch):
    monkeypatch.setattr("ascd.problem.tuning.FEW_COLUMNS", 2)
    monkeypatch.setattr("ascd.problem.tuning.MOST_OPERATIONS", 10.0)
    case = make_case("squared", "none", seed=2)
    solution = ascd.solve(case.problem(), tol=1e-9)
    assert solution.status is Status.STATIONARY
    assert not solution.converged
    assert solution.objective - case.minimum() <= solution.gap


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "half-infinite box", "l1, some free"])
def test_early_ends_prove_what_they_say(loss, penalty):
    case = make_case(loss, penalty, intercept=True, seed=4)
    minimum, problem = case.minimum(), case.problem()
    for limits in ({"max_iter": 0}, {"max_iter": 1}, {"max_time": 0.0}, {"callback": lambda snapshot: True}):
        solution = ascd.solve(problem, tol=1e-9, intercept=True, **limits)
        assert solution.objective - minimum <= solution.gap + 1e-9 * abs(minimum)
        assert solution.converged == (solution.gap <= 1e-9 * solution.zero_objective)
