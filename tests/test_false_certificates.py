"""Problems whose certificates were false once: each was called converged far from its minimum, or broke the run.

The last part has penalties whose conjugates were wrong: squares leave float64's range, or a linear term cancels a kink.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import ascd
from ascd import L1, L2, Box, Problem, solve
from ascd.problem.terms import NO_INDICES, gap_of_coordinates, largest_term

INF = math.inf

pytestmark = pytest.mark.usefixtures("interpreted")


def gaussian(d, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d, n)), rng.standard_normal(d)


def test_a_huber_loss_far_out_has_no_curvature_to_fit_a_dual_point_with():
    solution = solve(Problem([[1.0]], [1e8], "huber"))
    assert solution.converged
    assert solution.objective <= 1e-6 * solution.zero_objective
    for limits in ({"max_iter": 0}, {"max_time": 0.0}, {"callback": lambda snapshot: True}):
        early = solve(Problem([[1.0]], [1e8], "huber"), **limits)
        assert not early.converged
        assert early.gap >= early.objective


@pytest.mark.parametrize("intercept", [False, True])
def test_huber_targets_of_a_million(intercept, compiled):
    A, b = gaussian(100, 5)
    solution = solve(Problem(A, 1e6 * b, "huber"), intercept=intercept)
    # beyond its threshold the loss is an absolute value: the minimum is known to a linear program
    from scipy.optimize import linprog

    X = np.c_[A, np.ones((100, int(intercept)))]
    d, n = X.shape
    program = linprog(
        np.r_[np.zeros(n), np.ones(2 * d)],
        A_eq=np.hstack([X, np.eye(d), -np.eye(d)]),
        b_eq=1e6 * b,
        bounds=[(None, None)] * n + [(0.0, None)] * (2 * d),
    )
    assert solution.converged
    assert solution.objective <= 1.35 * program.fun * (1.0 + 1e-5)


@pytest.mark.parametrize("limits", [{"max_iter": 0}, {"max_iter": 1}])
def test_logistic_from_far_away_stopped_at_once(limits):
    A, b = gaussian(100, 5)
    problem = Problem(A, np.sign(b), "logistic")
    minimum = solve(problem, tol=1e-12).objective
    early = solve(problem, x0=np.full(5, 1e4), **limits)
    assert early.gap >= early.objective - minimum
    assert early.converged == (early.gap <= 1e-6 * early.zero_objective)


def test_a_linear_term_that_the_intercept_follows_for_ever():
    problem = Problem([[1.0], [1.0]], [100.0, 100.0], penalty=Box(0.0, INF, linear=-1e-3))
    with pytest.raises(ValueError, match=r"unbounded below.*intercept"):
        solve(problem, intercept=True)
    with pytest.raises(ValueError, match=r"unbounded below.*intercept"):
        ascd.path(problem, alphas=[1.0], intercept=True)
    assert solve(problem).converged  # without it the loss grows


@pytest.mark.parametrize("tol", [0.0, 1e-17])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_penalty_beyond_the_largest_useful_one_and_no_tolerance(tol, factor, compiled):
    A, b = gaussian(30, 150)
    strength = factor * float(np.abs(A.T @ b).max())
    problem = Problem(A, b, penalty=L1(strength))
    solution = solve(problem, tol=tol)
    assert not solution.x.any()
    assert solution.gap <= 1e-20
    assert str(solution.status) in ("converged", "stalled")
    walk = ascd.path(Problem(A, b, penalty=L1(1.0)), alphas=[strength], tol=tol)
    assert not walk.coefs.any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_through_estimators():
    A, b = gaussian(30, 150)
    strength = float(np.abs((A - A.mean(0)).T @ b).max()) / 30.0
    assert not ascd.Lasso(alpha=strength, tol=0.0).fit(A, b).coef_.any()
    strength = float(np.abs(A.T @ b).max()) / 30.0
    assert not ascd.lasso_path(A, b, alphas=[strength], tol=0.0)[1].any()


def test_samples_without_weight_may_overflow():
    A = np.array([[1.0], [2.0], [1e3]])
    weight = np.array([1.0, 1.0, 0.0])
    with_row = solve(Problem(A, [2.0, 3.0, 1.0], "poisson", sample_weight=weight), tol=1e-10)
    without = solve(Problem(A[:2], [2.0, 3.0], "poisson"), tol=1e-10)
    assert with_row.converged
    np.testing.assert_allclose(with_row.x, without.x, rtol=1e-5)
    assert with_row.objective == pytest.approx(without.objective, rel=1e-9)


def test_a_poisson_run_that_diverges_has_no_gap():
    solution = solve(Problem([[1.0]], [1.0], "poisson"), x0=[700.0], max_iter=3)
    assert not math.isnan(solution.gap)
    assert not math.isnan(solution.objective)
    assert solution.gap >= solution.objective


def test_a_curvature_that_overflows_is_an_error():
    with pytest.raises(ValueError, match="squared norm overflows"):
        Problem([[1.2e154]], [1.0], "squared_hinge")


def test_raw_gradients_that_do_not_sum_to_zero_are_noticed():
    A, b = gaussian(7, 1)
    problem = Problem(A, np.sign(b), "logistic", L2(1.0))
    minimum = solve(problem, intercept=True, tol=1e-12).objective
    for limit in (0, 1, 1000):
        solution = solve(problem, x0=[1e17], intercept=True, max_iter=limit)
        assert solution.objective - minimum <= solution.gap
    assert solution.converged
    assert solution.objective == pytest.approx(minimum, rel=1e-5)


def test_small_tilts_count_where_both_bounds_are_finite():
    box = Box(-1.0, 1.0, linear=1.0)
    assert box.cost_conjugate(1.0 + 1e-13, 0) == pytest.approx(1e-13, rel=1e-2)
    assert ascd.BoundedL1L2(1.0, 0.0, -1.0, 1.0).cost_conjugate(1.0 + 1e-13, 0) == pytest.approx(1e-13, rel=1e-2)
    assert L1(1.0).cost_conjugate(1.0 + 1e-13, 0) == INF


def test_a_support_vector_machine_with_large_bounds(compiled):
    A, b = gaussian(40, 3)
    svm = ascd.DualSVM(A, np.sign(A[:, 0] + 0.3 * b), C=1e6)
    first, second = (solve(svm, tol=tol) for tol in (1e-8, 1e-13))
    assert first.objective - second.objective <= first.gap
    assert second.objective - first.objective <= second.gap


@pytest.mark.parametrize("intercept", [False, True])
def test_unpenalised_logistic_gaps_are_not_short(intercept, compiled):
    A, b = gaussian(60, 4, seed=3)
    problem = Problem(A, np.sign(b), "logistic")
    best = solve(problem, tol=1e-15, intercept=intercept)
    for tol in (1e-4, 1e-8, 1e-11):
        solution = solve(problem, tol=tol, intercept=intercept)
        assert solution.objective - best.objective <= solution.gap + 1e-15 * best.objective


def test_columns_below_the_range_of_float64_are_named():
    A, b = gaussian(5, 2)
    A[:, 1] *= 1e-170
    with pytest.raises(ValueError, match=r"squared norm .* underflows float64, the first is column 1"):
        Problem(A, b)
    A[:, 1] = 0.0
    assert solve(Problem(A, b)).converged
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    A[4, 1] = 1e-200  # in a sample that does not count
    assert solve(Problem(A, b, sample_weight=weight)).converged


def test_an_objective_near_its_lower_bound_is_a_certificate():
    """Losses and penalties are not negative: on separable data F itself bounds the distance to the minimum."""
    A = np.array([[1.0], [2.0], [-1.5]])
    solution = solve(Problem(A, [1.0, 1.0, -1.0], "logistic"), x0=[400.0])
    assert solution.converged
    assert solution.objective <= solution.gap <= 1e-20


def test_a_column_whose_square_underflows_in_a_dual_fit():
    """Its one large entry belongs to a sample that must not be moved, the other is far below the square root of 0."""
    problem = Problem([[-0.45155225698008045], [2e-310]], [-1.0, -1.0], "squared_hinge")
    x = np.array([2.2145831064772277])
    shortfall = 1.0 - 0.45155225698008045 * 2.2145831064772277
    assert problem.gap(x) >= 0.9 * shortfall**2


def test_terms_of_a_penalty_that_cancel_have_rounding_errors():
    """l1·x and linear·x are 10⁵ times what is left of them: a gap below their rounding errors is no proof."""
    penalty = ascd.BoundedL1L2(l1=4.7566e-4, l2=0.3, lower=0.0, linear=-4.756654e-4)
    problem = Problem([[1e-9]], [0.0], penalty=penalty)
    x = np.array([1.8e-8])
    assert problem.gap(x) >= 2.0**-53 * 4.7e-4 * 1.8e-8


def test_an_objective_that_overflows_is_no_fit():
    A, b = gaussian(40, 5)
    for model in (ascd.Lasso(), ascd.ElasticNet(), ascd.NNLS(), ascd.Ridge(), ascd.Lasso(fit_intercept=False)):
        with pytest.raises(ValueError, match=r"not finite in float64.*rescale"):
            model.fit(A, 1e200 * b)


def test_a_flat_start_is_not_called_converged_by_the_engine():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6))
    problem = Problem(1e-5 * A, np.sign(3.0 * A[:, 0] + rng.standard_normal(40)), "logistic")
    solution = ascd.minimize(problem, rng=0)
    assert solution.status is ascd.Status.STATIONARY
    assert solution.gap > 1e-6 * solution.zero_objective
    assert solution.zero_objective == pytest.approx(problem.objective(np.zeros(6)))


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_huber_regression_is_proved_without_a_penalty_too(alpha, intercept, compiled):
    A, b = gaussian(100, 4)
    model = ascd.HuberRegressor(alpha=alpha, fit_intercept=intercept).fit(A, A @ [1.0, 2.0, 3.0, 4.0] + b)
    assert model.certificate_.converged
    early = ascd.HuberRegressor(alpha=alpha, fit_intercept=intercept, max_iter=0)
    with pytest.warns(match="stopped early"):
        certificate = early.fit(A, b).certificate_
    assert certificate.gap <= certificate.objective * (1.0 + 1e-9)


def test_columns_that_are_nearly_the_same_do_not_make_a_problem_unbounded():
    """A direction in which predictions hardly change, but change: the squared loss grows along it."""
    A = np.array([[1.0, 1.0], [1.0, 1.0 + 2e-8]])
    solution = solve(Problem(A, [1.0, 1.0], penalty=ascd.Zero(np.array([-1e-9, 0.5e-9]))), max_iter=50)
    assert solution.status is not ascd.Status.DIVERGED
    assert solution.gap < INF
    with pytest.raises(ValueError, match="unbounded below"):
        Problem(A[:, [0, 0]], [1.0, 1.0], penalty=ascd.Zero(np.array([-1e-9, 0.5e-9])))


@pytest.mark.parametrize("seed", [202000024348, 202000004093])
def test_gradients_that_differ_by_twenty_orders_of_magnitude_do_not_end_the_process(seed):
    """Whether these are bounded is asked of a linear program whose presolve wrote beyond its memory."""
    from fuzz.calls import problem_of
    from fuzz.draw import draw

    assert solve(problem_of(draw(seed)), max_iter=3).objective < INF


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_constant_that_is_off_by_its_last_digit_has_a_gap(loss):
    """Rounded residuals may sum to 0 where the exact ones do not: then the gap was 0."""
    rng, uneven = np.random.default_rng(0), 0
    for rounds in [0, 1, 2, 3] * 15:
        b, start = 0.5 * rng.standard_normal(2), rng.standard_normal(1)
        found = solve(Problem(np.ones((2, 1)), b, loss, L1(1e3)), x0=start, intercept=True, max_iter=rounds)
        if found.x[0] == 0.0:
            above = (Fraction(found.intercept) - (Fraction(b[0]) + Fraction(b[1])) / 2) ** 2
            uneven += above > 0
            assert above <= found.gap
    assert uneven > 3


def test_the_gap_of_columns_that_are_almost_equal_is_true():
    """A descent from a far start passes a raw gradient of zeros: the gap was 5 % too small (found by fuzzing)."""
    rng = np.random.default_rng(0)
    A = np.asfortranarray(1e8 + rng.standard_normal((6, 5)))
    start = np.array([1.6e8, 2.7e9, 3.2e8, 1.6e8, 2.2e9])
    strength = 3.5e7
    found = solve(Problem(A, -np.ones(6), "logistic", ascd.L21(strength)), x0=start, max_iter=3)
    best = solve(Problem(A, -np.ones(6), "logistic", L1(strength)), tol=1e-13)
    assert found.objective - found.gap <= best.objective * (1.0 + 1e-14)


# ------------------------------------------------------------------------------------------ penalties


def test_a_conjugate_that_overflows_is_infinite():
    solution = solve(Problem([[1.0]], [1e150], penalty=L2(1e-9)))
    assert solution.converged
    np.testing.assert_allclose(solution.x, 1e150 / (1.0 + 1e-9))
    assert solve(Problem([[1.0]], [1e150], penalty=L2(1e-9)), max_iter=0).gap >= 4.9e299


def test_a_conjugate_with_bounds_that_overflows_is_infinite():
    """Written as a difference, it was inf - inf, which compiled code took for 0."""
    penalty, x = ascd.BoundedL1L2(1.75e225, 0.05).check(2), np.zeros((2, 1))
    assert penalty.cost_conjugate(1.9e226, 0) == penalty.cost_conjugate(-1.9e226, 0) == INF
    products = np.array([1.9e226, -1.9e226])
    for gap in (gap_of_coordinates, gap_of_coordinates.compiled):
        for j in (0, 1):
            assert gap(penalty, x.ravel(), products, np.zeros(2), np.array([j]), NO_INDICES, 1.0)[0] == INF
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
