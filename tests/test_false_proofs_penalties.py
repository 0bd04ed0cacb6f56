"""Penalties whose conjugates were wrong once, where squares leave float64's range or a linear term cancels a kink."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from ascd.problem.duality import largest_term, penalty_conjugates

import ascd
from ascd import L1, L2, Problem, solve

INF = math.inf

pytestmark = pytest.mark.usefixtures("interpreted")


def test_a_conjugate_that_overflows_is_infinite():
    solution = solve(Problem([[1.0]], [1e150], penalty=L2(1e-9)))
    assert solution.converged
    np.testing.assert_allclose(solution.x, 1e150 / (1.0 + 1e-9))
    assert solve(Problem([[1.0]], [1e150], penalty=L2(1e-9)), max_iter=0).gap >= 4.9e299


def test_a_conjugate_with_bounds_that_overflows_is_infinite():
    """Written as a difference, it was inf - inf, which compiled code took for 0."""
    penalty, out = ascd.BoundedL1L2(1.75e225, 0.05).check(2), np.zeros(2)
    assert penalty.cost_conjugate(1.9e226, 0) == penalty.cost_conjugate(-1.9e226, 0) == INF
    penalty_conjugates.stored(penalty, np.array([1.9e226, -1.9e226]), out)
    assert (out == INF).all()
    solution = solve(Problem([[-1.08e132], [5.4e131]], [-1.49e94, 8.7e93], penalty=penalty), intercept=True)
    assert solution.x[0] > 0.0
    assert solution.objective < 1e188


def exact_term(l1, weight, linear, bound, x, u):
    """Ψ(x) + Ψ*(-u) + x·u without any rounding, for the box [-bound, bound]: the largest at an end or at 0."""
    l1, weight, linear, x, u = map(Fraction, (l1, weight, linear, x, u))

    def at(z):
        return weight * l1 * abs(z) + linear * z + u * z

    return at(x) - min(at(Fraction(z)) for z in (-bound, 0.0, bound))


@pytest.mark.parametrize("x", [-3.0, -1e-5, 0.0, 2.0])
def test_what_is_left_of_a_kink_and_a_tilt_counts_at_a_far_bound(x):
    """l1·w and linear are 1 and cancel; times a bound of 1e50 their last digits are all of the term."""
    rng, bound = np.random.default_rng(0), 1e50
    for _ in range(50):
        weight, u = rng.uniform(0.5, 2.0), 1e-16 * rng.standard_normal()
        l1, linear = 1.0 / weight, 1.0 + 1e-16 * rng.integers(-3, 4)
        penalty = ascd.BoundedL1L2(l1, 0.0, -bound, bound, weight, linear).check(1)
        found = largest_term(penalty, x, 0, u, u)
        assert Fraction(found) >= exact_term(l1, weight, linear, bound, x, u)


def test_a_kink_that_a_tilt_cancels_leaves_its_last_digits():
    """l1*w = |linear| but for 2.6e-16: the conjugate is known to two digits, and the gap must say so."""
    for linear in (-0.00213874, 0.00213874):
        penalty = ascd.BoundedL1L2(0.00213874 - 2.6e-16, 7e-5, 0.0 if linear < 0.0 else -INF, linear=linear)
        excess = 2.6e-16 + np.spacing(0.00213874)
        assert Problem([[0.0]], [0.0], penalty=penalty).gap([0.0]) >= excess**2 / (2 * 7e-5)


def test_a_conjugate_whose_square_underflows_is_not_zero():
    """Two equal columns with unequal coefficients: F = 4.1e-15, where 2.5e-15 would do."""
    assert L2(1e-300).cost_conjugate(1e-163, 0) == pytest.approx(5e-27, rel=1e-12, abs=0.0)
    problem = Problem([[1e-149, 1e-149]], [1.0], "squared_hinge", L2(1e-300, 1e-12))
    x, better = np.array([0.9e149, (0.1 - 2.5e-15) * 1e149]), np.array([0.5e149, 0.5e149])
    assert problem.gap(x) >= 0.999 * (problem.objective(x) - problem.objective(better)) > 1.5e-15


#: strength·weights is less than the tilt, but not in float64: F falls for ever, by 1e-21 a unit.
STRENGTH, WEIGHT, TILT = 0.015602432330445327 * 0.02286508742847602, 0.8847792288546531, 0.0003156458563869634


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_kink_that_a_tilt_outweighs_by_less_than_a_digit_proves_nothing(sign):
    assert STRENGTH * WEIGHT == TILT
    assert Fraction(STRENGTH) * Fraction(WEIGHT) < Fraction(TILT)
    tilts = (L1(STRENGTH, WEIGHT, sign * TILT), ascd.L1L2(STRENGTH, 0.0, WEIGHT, sign * TILT))
    held = ascd.BoundedL1L2(STRENGTH, 0.0, *((-INF, 0.0) if sign > 0.0 else (0.0, INF)), WEIGHT, sign * TILT)
    for penalty in (*tilts, held):
        problem = Problem([[2.0]], [-0.18], penalty=penalty)
        assert solve(problem, intercept=True).gap == INF
        assert solve(problem).converged  # without an intercept the loss holds x


def test_the_largest_alpha_of_a_tilted_kink_surely_holds_it():
    problem = Problem([[2.0]], [-0.18], penalty=L1(0.02286508742847602, WEIGHT, TILT))
    path = ascd.path(problem, n_alphas=1, intercept=True, tol=0.0)
    assert path.status is ascd.Status.CONVERGED
    assert Fraction(float(path.alphas[0]) * 0.02286508742847602) * Fraction(WEIGHT) > Fraction(TILT)
    assert path.alphas[0] == pytest.approx(0.015602432330445327, rel=1e-13)


def test_coordinates_at_the_end_of_their_domain_are_proved_still():
    """A tilt that outweighs the kink: every dual point must meet its end, a sum that is rounded."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 4)), rng.standard_normal(30)
    for penalty in (L1(0.1, 1.0 / 3.0, -0.5), ascd.BoundedL1L2(0.1, 0.0, 0.0, INF, 1.0 / 3.0, -0.7)):
        solution = solve(Problem(A, b, penalty=penalty), tol=1e-13)
        assert solution.converged
        assert np.count_nonzero(solution.x) > 0
