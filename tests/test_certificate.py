"""Certificates: nothing is called proved that is not.  Rational arithmetic and SciPy are the judges."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import in_pairs
from penalty_table import BOUNDED_BELOW
from solving import LOSSES, make_case

import ascd
from ascd.matrix.columns import careful_sum
from ascd.problem.arithmetic import products
from ascd.problem.certificate import Point, _Proof, balance_signs, certify, finished, predictor_error, scaled_gap
from ascd.problem.losses import divergence
from ascd.problem.problem import as_loss
from ascd.problem.samples import fit_to
from ascd.problem.tuning import DOMAIN_ROUNDING
from ascd.results import Status


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
    problem, gradient, curvature = ascd.Problem(A, np.ones(12)), rng.standard_normal((12, 2)), 0.1 + rng.random((12, 2))
    columns, weight = np.array([0, 1, 3]), np.ones(12)
    fit = fit_to(problem.design, columns, intercept, curvature, weight, np.zeros((3, 2)))
    block = np.c_[A[:, columns], np.ones((12, int(intercept)))]
    fitted = fit.moved(gradient, block.T @ gradient)
    norms = np.linalg.norm(block, axis=0) * np.linalg.norm(gradient)
    assert np.all(np.abs(block.T @ fitted) <= 1e-12 * norms[:, None])
    # the point that fits exactly is within reach: here it is known, from the other side
    excess = 1e-3 * rng.standard_normal((3 + intercept, 2)) * np.linalg.norm(block, axis=0)[:, None]
    moved = np.abs(fit.moved(gradient, excess) - gradient)
    reach, spread = fit.near(gradient, excess)
    assert np.all(moved <= reach)
    assert np.linalg.norm(moved) <= spread


@pytest.mark.parametrize("unit", [0.0, 1e-15, 1e-3, 0.3])
def test_a_dual_point_with_balanced_signs_is_within_reach_and_inside(unit):
    """In fractions: entries of one sign scaled, and all of them a little smaller, sum to 0."""
    for seed in range(5):
        V = np.random.default_rng(seed).standard_normal((12, 2))
        V -= V.mean(axis=0) - unit
        dual, reach = np.empty((2, V.size))
        assert all(balance_signs(V.ravel(), dual, reach, t, 2) for t in range(2))
        for t in range(2):
            exact, found, room = ([Fraction(v) for v in vector.ravel()[t::2]] for vector in (V, dual, reach))
            above, below = sum(v for v in exact if v > 0), -sum(v for v in exact if v < 0)
            inside = 1 - 8 * Fraction(DOMAIN_ROUNDING)
            fits = [inside * v * min(1, below / above if v > 0 else above / below) for v in exact]
            assert sum(fits) == 0
            assert all(abs(v - there) <= r for v, there, r in zip(fits, found, room, strict=True))
            wider = 1 + 5 * Fraction(DOMAIN_ROUNDING)  # what the sums over samples add
            assert all(abs(there) * wider + r < abs(v) for v, there, r in zip(exact, found, room, strict=True))
    assert not balance_signs(np.ones(4), np.empty(4), np.empty(4), 0, 1)


def dependent(kind):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 3))
    if kind == "dummies":
        return np.eye(3)[rng.integers(0, 3, 20)], True
    if kind == "twins":
        return np.c_[A, A[:, 0]], False
    return np.c_[A, A[:, 0] + A[:, 1]], False


@pytest.mark.parametrize("kind", ["dummies", "twins", "sum"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_that_depend_on_others_are_said_to_be_stationary(kind, loss):
    A, intercept = dependent(kind)
    b = np.sign(np.random.default_rng(2).standard_normal(20))
    solution = ascd.solve(ascd.Problem(A, b, loss), tol=1e-9, intercept=intercept)
    assert solution.status is Status.STATIONARY
    assert "first-order" in Status.STATIONARY.sentence
    assert solution.gap > 1e-9 * solution.zero_objective
    less = ascd.solve(ascd.Problem(A[:, :-1], b, loss), tol=1e-12, intercept=intercept)
    assert less.converged
    assert solution.objective == pytest.approx(less.objective, rel=1e-8)


def test_an_unpenalised_column_without_entries_fits_by_itself():
    A = np.c_[np.random.default_rng(1).standard_normal((20, 3)), np.zeros(20)]
    assert ascd.solve(ascd.Problem(A, A[:, 0] + A[:, 1] ** 2), tol=1e-9).converged


def test_where_fitting_is_too_expensive_first_order_conditions_decide(monkeypatch):
    monkeypatch.setattr("ascd.problem.samples.fit_to", lambda *_: None)
    case = make_case("squared", "none", seed=2)
    solution = ascd.solve(case.problem(), tol=1e-9)
    assert solution.status is Status.STATIONARY
    assert not solution.converged
    assert solution.objective - case.minimum() <= solution.gap


# ------------------------------------------------------------------- gaps from intervals, and from exact entries

SEEDS = st.integers(0, 10_000)
#: penalties whose conjugate allows a scaled dual point
SCALED = ["l1", "elastic net", "l2", "box", "box away from 0, l2"]


def measured(problem, terms, x, estimate, radius, listed):
    """The gap from the listed intervals, the largest violation, the cost, and whether the gap is certain."""
    _, predictor, gradient = problem.evaluate(x)
    interval = x[:, None], estimate[:, None], radius, listed
    scale, violation, cost, gap, is_complete = terms.measure(*interval)
    gap += problem.loss.gap(predictor.reshape(-1, 1), gradient.reshape(-1, 1), np.empty(0), scale)
    return gap, violation, cost, is_complete


def screened_gap(problem, x, estimate, radius):
    """The same from the coordinates that are not screened out, which must be that of all; and the scores."""
    terms = problem.terms()
    listed = terms.screen(x[:, None], estimate[:, None], radius).copy()
    gap, violation, cost, is_certain = measured(problem, terms, x, estimate, radius, listed)
    whole = measured(problem, terms, x, estimate, radius, np.arange(x.size))
    assert (gap, violation, cost) == pytest.approx(whole[:3], rel=1e-12, abs=1e-300)
    assert is_certain == whole[3]
    return gap if is_certain else math.inf, violation, cost, terms.score


def random_point(case, rng):
    x = 0.3 * rng.standard_normal(case.A.shape[1]) * (rng.random(case.A.shape[1]) < 0.6)
    return np.clip(x, case.terms.lower, case.terms.upper)


@settings(max_examples=120, deadline=None)
@given(
    seed=SEEDS, loss=st.sampled_from(list(LOSSES)), penalty=st.sampled_from(BOUNDED_BELOW), weighted=st.booleans(),
    width=st.sampled_from([1e-8, 1e-3, 1.0, 100.0]),
)  # fmt: skip
def test_the_gap_from_intervals_bounds_the_exact_gap(seed, loss, penalty, weighted, width):
    rng = np.random.default_rng(seed)
    case = make_case(loss, penalty, weighted=weighted, seed=seed)
    problem, x = case.problem(), random_point(case, rng)
    gradient, radius = problem.gradient(x), width * rng.random(x.size) * (rng.random(x.size) < 0.7)
    estimate = gradient + radius * rng.uniform(-1.0, 1.0, x.size)
    exact_gap, exact_violation, cost, exact_score = screened_gap(problem, x, gradient, np.zeros(x.size))
    gap, violation, same_cost, score = screened_gap(problem, x, estimate, radius)
    assert gap >= exact_gap * (1.0 - 1e-12) - 1e-14  # the smallest are rounding of the terms' parts
    assert violation >= exact_violation - 1e-12
    assert np.all(score >= exact_score - 1e-9)
    assert cost == same_cost == pytest.approx(case.cost(x), abs=1e-12)


@in_pairs(loss=LOSSES, penalty=SCALED, weighted=[False, True])
def test_from_exact_entries_it_is_the_gap_of_the_problem(loss, penalty, weighted):
    case = make_case(loss, penalty, weighted=weighted, seed=3)
    problem = case.problem()
    for seed in range(4):
        x = random_point(case, np.random.default_rng(seed))
        gap, violation, _, _ = screened_gap(problem, x, problem.gradient(x), np.zeros(x.size))
        assert problem.gap(x) <= gap * (1.0 + 1e-8) + 1e-14  # the dual point 0 may be better
        assert case.objective(x) - case.minimum() <= gap * (1.0 + 1e-9)
        assert violation > 0.0 or gap <= 1e-13


def test_a_coordinate_that_is_free_to_move_always_belongs_to_the_working_set():
    case = make_case("squared", "l1, some free", seed=1)
    score = screened_gap(case.problem(), np.array([0.0, 0.0, 2.0, 0.0, 0.0]), np.zeros(5), np.zeros(5))[3]
    assert np.isinf(score).tolist() == [False, True, True, False, True]


@in_pairs(
    loss=LOSSES,
    penalty=["none", "l1, some free", "half-infinite box", "l1 of strength 0", "l2 weighted, linear"],
    intercept=[False, True],
)
def test_a_dual_point_is_found_for_unpenalised_coordinates(loss, penalty, intercept):
    """No scale fits them; the certificate moves the dual point instead, and the tolerance is reached."""
    case = make_case(loss, penalty, intercept, seed=2)
    solution = ascd.solve(case.problem(), tol=1e-9, intercept=intercept)
    assert solution.converged
    assert solution.gap <= 1e-9 * solution.zero_objective


def test_rounding_of_what_cancels_is_counted():
    """Terms of size 1 that sum to 0 prove no gap below some ulps of 1."""
    assert finished(0.0, 1.0, 0.0, 0.0, 0.0, 0.0) >= 2.0 * np.finfo(float).eps
    assert finished(np.nan, 1.0, 0.0, 0.0, 0.0, 0.0) == np.inf


def test_a_gap_counts_rounding_of_products_and_of_predictors(monkeypatch):
    """Each product of a column with V, and the predictor times how far the dual point is from V."""
    seen = {}

    def scaled(terms, x, estimate, radius, *given):
        seen.setdefault("radius", radius.copy())
        found = scaled_gap(terms, x, estimate, radius, *given)
        seen.setdefault("scale", found[2])
        return found

    def ended(gap, size, rounding, distance, zeta, curvature):
        seen.setdefault("distances", []).append(distance)
        return finished(gap, size, rounding, distance, zeta, curvature)

    monkeypatch.setattr("ascd.problem.certificate.scaled_gap", scaled)
    monkeypatch.setattr("ascd.problem.certificate.finished", ended)
    rng = np.random.default_rng(0)
    A, b, x = rng.standard_normal((30, 6)), rng.standard_normal(30), rng.standard_normal(6)
    problem = ascd.Problem(A, b, penalty=ascd.L1(0.1))
    V = A @ x - b
    assert problem.gap(x) > 0.0
    assert seen["scale"] < 0.5
    assert min(seen["distances"]) >= 0.5 * np.linalg.norm(V)
    assert np.all(seen["radius"] >= np.finfo(float).eps * np.linalg.norm(V) * np.linalg.norm(A, axis=0))


def first_attempt(problem, x, displace=lambda product: product, radius=0.0):
    """The gap of the first dual point that is tried, from products that are displaced."""
    predictor, read = problem.linear_predictor(x)[:, None], partial(products, problem.design, np.arange(x.size))
    _, gradient, curvature, _ = problem.loss.evaluate(predictor, False)
    point = Point(x[:, None], np.zeros(1), predictor, gradient, curvature, False)
    product = displace(read(gradient))
    return certify(problem, problem.terms(), point, product, np.full(x.size, radius), read, 1e300)[0]


def test_rounding_of_a_product_far_above_the_penalty_leaves_a_gap():
    """‖a‖‖V‖ = 1e8·λ: a product that is λ but for its rounding allows no scale of 1, and no gap of rounding alone."""
    rng = np.random.default_rng(0)
    b, a, strength = rng.standard_normal(50), rng.standard_normal(50), 1e-8
    a -= (a @ b) / (b @ b) * b
    problem = ascd.Problem(a[:, None] / np.linalg.norm(a), b / np.linalg.norm(b), penalty=ascd.L1(strength))
    gap = first_attempt(problem, np.zeros(1), lambda product: np.full((1, 1), -strength * (1.0 - 1e-12)))
    assert gap >= 0.5 * (50 * np.finfo(float).eps / 2.0 / strength) ** 2


def test_rounding_of_a_predictor_of_large_coefficients_leaves_a_gap():
    """a·x − a·x = 0 may be off by ulps of a·x: the gap grows by that times the distance of the dual point."""
    rng = np.random.default_rng(0)
    b, a, size, count = rng.standard_normal(5), rng.standard_normal(5), 2.0**27, 400
    a, b = (a - (a @ b) / (b @ b) * b), b / np.linalg.norm(b)
    a, x, strength = a / np.linalg.norm(a), np.append(np.tile([size, -size], count // 2), 0.0), 2.0**-60
    problem = ascd.Problem(np.c_[np.tile(a[:, None], count), b], b, penalty=ascd.L1(np.append([strength] * count, 0.5)))
    far, near = first_attempt(problem, x), first_attempt(problem, np.zeros(count + 1))
    total = count * size  # errors of the products alone make some 30 units of it
    assert far - near - strength * total >= 50.0 * np.finfo(float).eps * total


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_first_gap_holds_for_all_products_in_the_balls(loss):
    rng = np.random.default_rng(0)
    A, b, x = rng.standard_normal((30, 6)), np.sign(rng.standard_normal(30)), 0.3 * rng.standard_normal(6)
    problem = ascd.Problem(A, b, loss, ascd.L1(1.0))
    exact, radius = first_attempt(problem, x), 0.5
    nearer = first_attempt(problem, x, lambda product: product - np.copysign(radius, product), radius)
    assert nearer >= (1.0 - 1e-9) * exact
    assert first_attempt(problem, x, lambda product: product - np.copysign(radius, product)) < exact


def test_a_dual_point_that_may_miss_what_is_required_has_a_larger_gap(monkeypatch):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 4)), rng.standard_normal(20)
    problem = ascd.Problem(A, b, penalty=ascd.L1(0.5, weights=[0.0, 1.0, 1.0, 1.0]))
    x = ascd.solve(problem, tol=1e-12).x
    honest, excess = problem.gap(x), _Proof._excess

    def uncertain(self):
        found, error = excess(self)
        return found, error + 1e-3

    monkeypatch.setattr(_Proof, "_excess", uncertain)
    assert problem.gap(x) > honest + 1e-9


def test_sums_of_terms_know_their_sizes_and_keep_what_was_required():
    terms = ascd.Problem(np.eye(3), np.ones(3), penalty=ascd.L1(1.0)).terms()
    x, products = np.array([[2.0], [0.0], [-3.0]]), np.full((3, 1), 0.5)
    gap, size = terms.gap(x, products, np.zeros(3), np.arange(3), 1.0)
    assert gap == pytest.approx(2.0 + 3.0 + 1.0 - 1.5)
    assert size >= 2.0 + 3.0 + 1.0 + 1.5
    assert (terms.shrunk(0.5) < 0.5, terms.shrunk(1.0)) == (True, 1.0)
    fixed, kept = terms.required(x, products, np.zeros(3), False, np.array([1]))
    assert (fixed.tolist(), kept.tolist()) == ([1], [[0.5]])


@pytest.mark.parametrize("unit", [2.0**-700, 2.0**700])
def test_errors_of_predictors_are_counted_where_squares_leave_the_range(unit):
    rng = np.random.default_rng(0)
    problem = ascd.Problem(rng.standard_normal((6, 4)), rng.standard_normal((6, 3)), penalty=ascd.L21(1.0))
    x, constant = rng.standard_normal((4, 3)) * np.array([[1.0], [0.0], [2.0], [1.0]]), np.zeros(3)
    expected = predictor_error(problem, x, constant)
    assert expected > 0.0
    assert predictor_error(problem, unit * x, constant) == unit * expected
