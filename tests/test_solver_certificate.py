"""The certificate: from intervals a bound on the exact gap, from exact entries the gap of ``Problem.gap``."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import in_pairs
from penalty_table import BOUNDED_BELOW
from solving import LOSSES, make_case

import ascd
from ascd.problem.duality import sample_gap
from ascd.solver.screening import add_gap_terms, scale_and_cost, screen

pytestmark = pytest.mark.usefixtures("plain_python")

SEEDS = st.integers(0, 10_000)
#: penalties whose conjugate allows a scaled dual point
SCALED = ["l1", "elastic net", "l2", "box", "box away from 0, l2"]


def measure(problem, x, estimate, radius, candidates, score):
    """The gap from the candidates' intervals, the largest violation, the cost, and whether the gap is certain."""
    parts, (_, image, slope) = problem.parts, problem.evaluate(x)
    scale, steepest, cost, loose = scale_and_cost(parts.penalty, x, estimate, radius, parts.norm, candidates, score)
    start = loose + sample_gap(parts.sample, parts.loss, image, slope, scale, 0, image.size)
    gap, is_finite = add_gap_terms(parts.penalty, x, estimate, radius, candidates, scale, start)
    return gap, steepest, cost, is_finite and loose == 0.0


def survey_at(problem, x, estimate, radius):
    penalty, norm, score = problem.parts.penalty, problem.parts.norm, np.empty(x.size)
    everything, listed = np.arange(x.size), np.empty(x.size, dtype=np.int64)
    count = screen(penalty, x, estimate, radius, norm, score, listed)
    gap, steepest, cost, is_certain = measure(problem, x, estimate, radius, listed[:count], score.copy())
    whole = measure(problem, x, estimate, radius, everything, score)  # those left out are at rest: they add nothing
    assert (gap, steepest, cost) == pytest.approx(whole[:3], rel=1e-12, abs=1e-300)
    assert is_certain == whole[3]
    return gap if is_certain else math.inf, steepest, cost, score


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
    exact_gap, exact_steepest, cost, exact_score = survey_at(problem, x, gradient, np.zeros(x.size))
    gap, steepest, same_cost, score = survey_at(problem, x, estimate, radius)
    assert gap >= exact_gap * (1.0 - 1e-12) - 1e-14  # the smallest are rounding of the terms' parts
    assert steepest >= exact_steepest - 1e-12
    assert np.all(score >= exact_score - 1e-9)
    assert cost == same_cost == pytest.approx(case.cost(x), abs=1e-12)


@in_pairs(loss=LOSSES, penalty=SCALED, weighted=[False, True])
def test_from_exact_entries_it_is_the_gap_of_the_problem(loss, penalty, weighted):
    case = make_case(loss, penalty, weighted=weighted, seed=3)
    problem = case.problem()
    for seed in range(4):
        x = random_point(case, np.random.default_rng(seed))
        gap, steepest, _, _ = survey_at(problem, x, problem.gradient(x), np.zeros(x.size))
        assert problem.gap(x) <= gap * (1.0 + 1e-8) + 1e-14  # the dual point 0 may be better
        assert case.objective(x) - case.minimum() <= gap * (1.0 + 1e-9)
        assert steepest > 0.0 or gap <= 1e-13


def test_the_steepest_entry_is_the_largest_violation():
    case = make_case("squared", "l1", seed=1)
    problem, x = case.problem(), np.zeros(5)
    gradient = problem.gradient(x)
    _, steepest, _, score = survey_at(problem, x, gradient, np.zeros(5))
    violation = np.abs(gradient) - case.terms.l1
    assert steepest == pytest.approx(violation.max())
    np.testing.assert_allclose(score, violation / np.where(violation > 0.0, np.linalg.norm(case.A, axis=0), 1.0))


def test_a_coordinate_that_is_free_to_move_always_belongs_to_the_working_set():
    case = make_case("squared", "l1, some free", seed=1)
    score = survey_at(case.problem(), np.array([0.0, 0.0, 2.0, 0.0, 0.0]), np.zeros(5), np.zeros(5))[3]
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
