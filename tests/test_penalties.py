"""Every penalty against its definition: prox and conjugate by brute force, subgradients by differences."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from formulas import HIGH, LOW, PENALTIES, C, W, inside

import ascd
from ascd import L1, Box, Problem, solve
from ascd.problem.penalties import as_penalty
from ascd.problem.terms import largest_term

N = 4
POINTS = (-3.0, -1.0, -0.5, 0.0, 0.1, 0.25, 0.5, 1.5, 2.0, 4.0)
GRID = np.unique(np.round(np.r_[np.linspace(-5.0, 5.0, 10_001), np.linspace(-200.0, 200.0, 40_001)], 9))
U = (-5.0, -0.9, -0.8, -0.3, 0.0, 0.2, 0.3, 0.8, 1.1, 6.0)
SHARES = np.linspace(0.0, 1.0, 201)
CASES = {
    **PENALTIES,
    "zero linear": (ascd.Zero(C), lambda x: C * x),
    "l1 weights linear": (ascd.L1(0.8, W, C), lambda x: 0.8 * W * np.abs(x) + C * x),
    "l2 weights 0 linear": (ascd.L2(0.5, W, C), lambda x: 0.25 * W * x**2 + C * x),
    "elastic net weights 0 linear": (
        ascd.L1L2(0.6, np.array([0.0, 0.4, 0.0, 0.1]), W, C),
        lambda x: W * (0.6 * np.abs(x) + np.array([0.0, 0.2, 0.0, 0.05]) * x**2) + C * x,
    ),
    "bounded": (
        ascd.BoundedL1L2(0.6, 0.4, LOW, HIGH, W, C),
        lambda x: inside(x, LOW, HIGH) + W * (0.6 * np.abs(x) + 0.2 * x**2) + C * x,
    ),
    "bounded without l2": (
        ascd.BoundedL1L2(0.6, 0.0, LOW, HIGH, 1.0, C),
        lambda x: inside(x, LOW, HIGH) + 0.6 * np.abs(x) + C * x,
    ),
    "bounded nowhere": (ascd.BoundedL1L2(0.6, weights=W), lambda x: 0.6 * W * np.abs(x)),
    "free box linear": (ascd.Box(-math.inf, math.inf, 0.0, C), lambda x: C * x),
}
each = pytest.mark.parametrize("name", CASES)


def penalty_of(name):
    return CASES[name][0].check(N)


def cost_of(name, j):
    """Ψ_j for an array of points, from the formula."""
    formula = CASES[name][1]
    return lambda x: np.array(formula(np.broadcast_to(np.asarray(x, float)[..., None], (*np.shape(x), N)))[..., j])


@each
def test_cost_equals_the_formula(name):
    penalty = penalty_of(name)
    for j in range(N):
        expected = cost_of(name, j)(np.array(POINTS))
        np.testing.assert_allclose([penalty.cost(x, j) for x in POINTS], expected, rtol=1e-14, atol=1e-15)


@each
@pytest.mark.parametrize("step", [0.05, 1.0, 7.0])
def test_prox_minimises(name, step):
    penalty, near = penalty_of(name), np.geomspace(1e-7, 1.0, 30)
    for j in range(N):
        cost = cost_of(name, j)
        for v in (-20.0, -1.0, -0.2, 0.0, 0.3, 0.7, 30.0):
            best = penalty.prox(v, step, j)
            rivals = np.r_[GRID[::10], best + near, best - near]
            model = 0.5 * (rivals - v) ** 2 + step * cost(rivals)
            assert 0.5 * (best - v) ** 2 + step * cost(best) <= model.min() + 1e-13 * (1.0 + v * v)


@each
def test_subgradient_is_the_pair_of_one_sided_difference_quotients(name):
    penalty, h = penalty_of(name), 1e-6
    for j in range(N):
        cost = cost_of(name, j)
        for x in (x for x in POINTS if math.isfinite(cost(x))):
            left, right = (cost(x) - cost(x - h)) / h, (cost(x + h) - cost(x)) / h
            assert penalty.subgradient(x, j) == pytest.approx((float(left), float(right)), rel=1e-4, abs=1e-5)


@each
@pytest.mark.parametrize("u", U)
def test_conjugate_is_the_supremum(name, u):
    penalty = penalty_of(name)
    for j in range(N):
        cost, conjugate = cost_of(name, j), penalty.cost_conjugate(u, j)
        if math.isinf(conjugate):
            far = np.array([-1e8, 1e8])
            assert conjugate > 0
            assert np.max(u * far - cost(far)) > 1e4
        else:
            brute = np.max(u * GRID - cost(GRID))
            assert conjugate == pytest.approx(brute, rel=1e-5, abs=1e-6)
            assert conjugate >= brute - 1e-12 * (1.0 + abs(brute))


@each
def test_fenchel_young_is_an_equality_on_the_subdifferential(name):
    penalty = penalty_of(name)
    for j in range(N):
        for x in (x for x in POINTS if math.isfinite(penalty.cost(x, j))):
            low, high = penalty.subgradient(x, j)
            middle = 0.5 * sum(penalty.subgradient(0.0, j))  # the ends are sums with rounding errors: a little inside
            for u in filter(math.isfinite, (low, high)):
                u += 1e-12 * (middle - u) if math.isfinite(middle) else 0.0
                total = penalty.cost(x, j) + penalty.cost_conjugate(u, j)
                assert total == pytest.approx(u * x, rel=1e-9, abs=1e-9)


@each
@pytest.mark.parametrize("u", U)
def test_dual_scale_is_the_largest_allowed_share(name, u):
    penalty = penalty_of(name)
    for j in range(N):
        scale = penalty.dual_scale(u, j)
        shares = np.clip(np.r_[SHARES, scale + np.geomspace(2e-9, 1e-2, 20)], 0.0, 1.0)
        allowed = np.array([math.isfinite(penalty.cost_conjugate(s * u, j)) for s in shares])
        assert scale == -1.0 or 0.0 <= scale <= 1.0
        low, high = (penalty.subgradient(x, j)[0] for x in (-1.0, 1.0))
        if scale == -1.0:  # an end that is a single point is met by no scale but for its own
            assert low == high or not allowed.any()
        else:
            assert not allowed[scale + 1e-9 < shares].any()
            assert math.isfinite(penalty.cost_conjugate(scale * u, j))


@each
def test_smooth_means_no_kink_anywhere(name):
    penalty = penalty_of(name)
    ends = [penalty.subgradient(x, j) for j in range(N) for x in POINTS]
    assert penalty.is_smooth() == all(low == high for low, high in ends)


@pytest.mark.parametrize(
    "penalty", [ascd.L1(1.0, 0.0), ascd.L1(0.0), ascd.L2(0.0), ascd.L1L2(1.0, 2.0, 0.0), ascd.Box(-math.inf, math.inf)]
)
def test_weight_zero_leaves_the_coordinate_free(penalty):
    free = penalty.check(N)
    assert free.is_smooth()
    assert (free.prox(-1.7, 3.0, 2), free.cost(5.0, 2), free.subgradient(0.0, 2)) == (-1.7, 0.0, (0.0, 0.0))
    assert (free.cost_conjugate(0.0, 2), free.cost_conjugate(0.1, 2), free.dual_scale(0.1, 2)) == (0.0, math.inf, 0.0)


BAD = [
    (lambda: ascd.L1(-1.0), ValueError, ["L1 strength", "at least 0", "-1"]),
    (lambda: ascd.L1(math.nan), ValueError, ["L1 strength", "finite", "nan"]),
    (lambda: ascd.L1("strong"), TypeError, ["L1 strength", "real numbers"]),
    (lambda: ascd.L1(1.0, [1.0, 2.0]), ValueError, ["penalty l1", "length 4", "2"]),
    (lambda: ascd.L1(1.0, [1.0, 2.0, -3.0, 0.0]), ValueError, ["L1 weights", "at least 0", "-3"]),
    (lambda: ascd.L1(1.0, np.ones((2, 2))), ValueError, ["L1 weights", "one-dimensional", "(2, 2)"]),
    (lambda: ascd.L1(1.0, 1.0, math.inf), ValueError, ["L1 linear", "finite", "inf"]),
    (lambda: ascd.L2(-0.5), ValueError, ["L2 strength", "at least 0", "-0.5"]),
    (lambda: ascd.Zero([1.0]), ValueError, ["penalty linear", "length 4", "1"]),
    (lambda: ascd.L1L2(1.0, -1.0), ValueError, ["L1L2 l2", "at least 0", "-1"]),
    (lambda: ascd.L1L2(1.0, 1.0, 1.0, "x"), TypeError, ["L1L2 linear", "real numbers"]),
    (lambda: ascd.Box(1.0, 0.0), ValueError, ["Box lower", "upper", "1.0", "0.0"]),
    (lambda: ascd.Box(math.inf, math.inf), ValueError, ["Box lower", "+inf"]),
    (lambda: ascd.Box(-math.inf, -math.inf), ValueError, ["upper", "-inf"]),
    (lambda: ascd.Box(math.nan, 1.0), ValueError, ["Box lower", "nan"]),
    (lambda: ascd.Box(0.0, 1.0, -1.0), ValueError, ["Box l2", "at least 0", "-1"]),
    (lambda: ascd.BoundedL1L2(1.0, 1.0, 2.0, 1.0), ValueError, ["BoundedL1L2 lower", "2.0", "1.0"]),
    (lambda: ascd.BoundedL1L2(1.0, upper=-math.inf), ValueError, ["BoundedL1L2 lower", "upper"]),
    (lambda: ascd.BoundedL1L2(1.0, weights=[1.0]), ValueError, ["penalty l1", "length 4"]),
    (lambda: ascd.L1([1.0, 2.0, 3.0], [1.0, 2.0]), ValueError, ["L1 weights", "length 3", "2"]),
    (lambda: ascd.L1(1e200, 1e200), ValueError, ["L1 strength must be at most 1e+150"]),
    (lambda: ascd.L1(1e100, 1e100), ValueError, ["penalty l1 must be at most 1e+150 with its weights"]),
    (lambda: ascd.L1, TypeError, ["penalty", "NamedTuple"]),
    (lambda: "l1", TypeError, ["penalty", "'l1'", "NamedTuple"]),
]


@pytest.mark.parametrize(("penalty", "error", "words"), BAD)
def test_bad_parameters_are_named(penalty, error, words):
    with pytest.raises(error) as caught:
        as_penalty(penalty(), N)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_piece_of_the_bounded_elastic_net_is_quadratic_and_ends_at_its_kinks_and_bounds():
    penalty = ascd.BoundedL1L2(0.6, 0.4, [-1.0, 0.0, -math.inf, -2.0], [2.0, math.inf, 0.5, 2.0], W).check(N)
    assert penalty.piece(1.0, 0) == (0.4, 0.0, 2.0)
    assert penalty.piece(-0.5, 0) == (0.4, -1.0, 0.0)
    assert penalty.piece(0.0, 0) == (0.4, 0.0, 0.0)
    assert penalty.piece(2.0, 0) == (0.4, 2.0, 2.0)
    assert penalty.piece(3.0, 1) == (0.0, 0.0, math.inf)  # weight 0: no kink, no curvature
    assert penalty.piece(-5.0, 2) == (1.0, -math.inf, 0.0)
    for j in range(N):
        for x in (-0.7, 0.3, 1.2):
            curvature, low, high = penalty.piece(x, j)
            if low < high:  # the slope grows by the curvature along the piece
                middle = np.clip([x - 0.01, x + 0.01], low, high)
                slopes = [penalty.subgradient(float(z), j) for z in middle]
                assert slopes[1][0] - slopes[0][1] == pytest.approx(curvature * (middle[1] - middle[0]), abs=1e-12)


# ----------------------------------------------------------- conjugates that were wrong once

INF = math.inf


def test_small_tilts_count_where_both_bounds_are_finite():
    box = Box(-1.0, 1.0, linear=1.0)
    assert box.cost_conjugate(1.0 + 1e-13, 0) == pytest.approx(1e-13, rel=1e-2)
    assert ascd.BoundedL1L2(1.0, 0.0, -1.0, 1.0).cost_conjugate(1.0 + 1e-13, 0) == pytest.approx(1e-13, rel=1e-2)
    assert L1(1.0).cost_conjugate(1.0 + 1e-13, 0) == INF


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
