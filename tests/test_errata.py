"""Every erratum of the paper: the corrected form holds in the library, the printed form fails on an example.

E11 and E12 are about the text only.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from lockstep import assemble, record
from problems import CASES

import ascd
from ascd import theory
from ascd.engine.descent import count_violations
from ascd.engine.rules.ascd import smallest_set_threshold
from ascd.engine.steepness import as_steepness


def contains(problem, x, estimate, radius):
    gradient = problem.gradient(x)
    return bool(np.all(np.abs(gradient - estimate) <= radius + 1e-9 * (1.0 + np.abs(gradient))))


def test_E1_a_radius_grows_by_the_size_of_the_step():
    case = CASES["squared, tall, none"]
    problem = case.reference()
    history = record(assemble(case.library(), "uniform", "norm", seed=1), 10)
    printed_failures = 0
    for t, i in enumerate(history.picks):
        gamma = history.x[t + 1, i] - history.x[t, i]
        g, delta = ref.gradient_oracle(problem, ref.oracle_norm(), i, None)
        assert np.all(np.delete(history.radius[t + 1] - history.radius[t], i) >= 0.0)
        assert contains(problem, *(part[t + 1] for part in (history.x, history.estimate, history.radius)))
        printed = ref.printed_move_intervals(history.estimate[t], history.radius[t], i, gamma, g, delta)
        own = np.arange(case.n) == i
        printed = np.where(own, history.estimate[t + 1], printed[0]), np.where(own, history.radius[t + 1], printed[1])
        printed_failures += not contains(problem, history.x[t + 1], *printed)
    assert printed_failures > 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_E2_an_oracle_bounds_the_change_of_the_gradient(loss):
    case = next(case for case in CASES.values() if case.loss == loss and case.A.shape[1] == 4)
    x, i, gamma = np.full(4, 0.5), 1, 1e-3
    for oracle in ("exact", "norm", ascd.Simulated(0.3), "random"):
        start = assemble(case.library(), "uniform", oracle, init=(np.zeros(4), np.zeros(4)), x0=x)
        start.oracle.update(start.point, i, gamma, start.rng)
        _, moved, radius, _, _ = start.state()
        g, delta = moved / gamma, radius / gamma
        assert ref.check_oracle_contract(case.reference(), x, i, gamma, g, delta)
        assert not ref.printed_oracle_contract(case.reference(), x, i, gamma, g, delta)


def test_E3_the_printed_pick_stalls_on_the_coordinate_it_saw_first():
    A = np.diag([1.0, 0.5, 0.5, 0.5, 0.5, 0.5])
    problem = ascd.Problem(A, A @ np.arange(1.0, 7.0))
    runs = {
        pick: record(assemble(problem, ascd.ASCD(pick), "norm", step="fixed", init="none", seed=1), 60)
        for pick in ("uniform", "largest-lower")
    }
    assert set(runs["uniform"].picks) == set(range(6))
    assert len(set(runs["largest-lower"].picks)) == 1
    assert runs["largest-lower"].picks[0] != 0  # a coordinate that one step of length 1/L does not minimise
    objective = {pick: problem.objective(run.x[-1]) for pick, run in runs.items()}
    assert objective["uniform"] < 1e-2 * objective["largest-lower"]


def test_E4_a_random_guess_can_be_off_by_more_than_the_printed_radius():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((20, 30))
    problem = ascd.Problem(A, A[:, 0] - A[:, 1], penalty=ascd.L1(2.0))
    options = {"rule": "uniform", "max_iter": 100, "tol": 0.0, "record": 1, "rng": 0}
    assert np.nanmax(ascd.minimize(problem, oracle=ascd.Random(printed=True), **options).trace.violations) > 0
    assert np.all(np.isnan(ascd.minimize(problem, oracle=ascd.Random(), **options).trace.violations))
    for printed in (False, True):
        run = assemble(problem, "uniform", ascd.Random(printed), seed=0)
        counts = [run.descend(t, t + 1) and count_violations(run.point) for t in range(100)]
        assert (max(counts) > 0) == printed


def test_E5_the_smallest_active_set_is_a_prefix_not_what_peeling_leaves():
    lower, upper = np.zeros(100), np.full(100, 9.0)
    lower[0] = upper[0] = 10.0
    threshold = smallest_set_threshold(lower, upper, 10.0, np.empty((256, 2)), np.empty(100, dtype=np.int32))
    assert list(np.flatnonzero(upper >= threshold)) == [0]
    assert ref.smallest_active_set(upper, lower) == [0]
    assert len(ref.active_set_by_peeling(upper, lower)) == 100


@pytest.mark.parametrize(("lo", "hi"), [(1.0, 3.0), (-3.0, 1.0)])
def test_E6_bounds_on_gs_r_need_absolute_values(lo, hi):
    problem = ascd.Problem(np.eye(2), np.zeros(2))
    steepness = as_steepness("gs-r", problem.parts)
    lower, upper = steepness.bounds(problem.parts.penalty, 0, 0.0, 0.5 * (lo + hi), 0.5 * (hi - lo))
    scores = [steepness.score(problem.parts.penalty, 0, 0.0, g) for g in np.linspace(lo, hi, 41)]
    assert (lower, upper) == pytest.approx((min(scores), max(scores)), abs=1e-12)
    printed_lower, printed_upper = ref.printed_gs_r_bounds(ref.Problem(np.eye(2), np.zeros(2)), 0.0, lo, hi, 0)
    assert printed_lower < 0.0
    assert (printed_upper < max(scores)) == (lo > 0.0)


def test_E7_gs_q_compares_progress_not_penalties():
    A, b, x = np.eye(2), np.array([10.0, 0.0]), np.array([8.9, 0.0])
    problem, twin = ascd.Problem(A, b, penalty=ascd.L1(1.0)), ref.Problem(A, b, "squared", ref.L1(np.ones(2)))
    history = record(assemble(problem, "steepest", "exact", "gs-q", x0=x), 1)
    assert history.picks[0] == 0
    assert problem.objective(history.x[1]) < problem.objective(x)
    printed = ref.printed_gs_q_rule(twin, x)
    assert printed == 1
    assert ref.model_progress(twin, x[1], twin.gradient(x)[1], twin.L, 1) == 0.0  # nothing to gain there


def test_E8_the_steepest_entry_is_the_largest_in_absolute_value():
    b = np.array([5.0, -1.0])
    history = record(assemble(ascd.Problem(np.eye(2), b), "steepest", "exact", "gs"), 1)
    assert history.picks[0] == 0
    assert ref.printed_gs_rule(ref.Problem(np.eye(2), b), np.zeros(2)) == 1


def test_E9_the_hessian_of_least_squares_has_one_row_a_sample():
    A = np.random.default_rng(9).standard_normal((5, 3))
    problem, start = ascd.Problem(A, np.ones(5)), np.array([0.3, -0.2, 0.1])
    change = np.array([problem.gradient(start + e) - problem.gradient(start) for e in np.eye(3)])
    np.testing.assert_allclose(change, A.T @ np.eye(5) @ A, atol=1e-12)
    with pytest.raises(ValueError, match="mismatch"):
        A.T @ np.eye(3) @ A


@pytest.mark.parametrize(("n", "alpha"), [(5, 0.1), (20, 0.3), (100, 0.01)])
def test_E10_the_geometric_sum_of_the_lower_bound(n, alpha):
    c = theory.cycling_constant(n, alpha)
    right, printed = ((1 - alpha) / n * total(c, n) for total in (ref.geometric_sum, ref.printed_geometric_sum))
    assert c ** (n - 1) == pytest.approx(right, rel=1e-10)
    assert abs(c ** (n - 1) - printed) > 0.5 * alpha * c**n
    assert c >= 1 - 3 * alpha / n
    Q, x, _ = ref.lower_bound_problem(n, alpha)
    squares = (Q @ x) ** 2
    assert squares.max() / squares.sum() <= (3 + 3 * alpha) / n
