"""The lower bound and the errors of ``ascd.theory``, against numbers."""

from __future__ import annotations

import numpy as np
import pytest
from quadratics import gradient_ratios, random_quadratic

from ascd import theory

FAMILY = [(n, alpha) for n in (3, 10, 50, 200) for alpha in (0.01, 0.1, 1 / 3, 0.5)]


@pytest.mark.parametrize("n", [3, 4, 20, 1000, 100_000])
@pytest.mark.parametrize("alpha", [1e-6, 0.01, 0.1, 0.3, 0.4999])
def test_cycling_constant_solves_its_equation(n: int, alpha: float) -> None:
    c = theory.cycling_constant(n, alpha)
    powers = c ** np.arange(n)
    assert powers[-1] == pytest.approx((1 - alpha) / n * powers.sum(), rel=1e-11)
    # The proof's two-sided bound; the lower half implies the printed 1 - 4 alpha / n.
    assert theory.cycling_constant_bound(n, alpha) <= c <= 1 - 2 * alpha / n
    assert theory.cycling_constant_bound(n, alpha) > 1 - 4 * alpha / n


def test_cycling_constant_is_robust_for_tiny_alpha() -> None:
    # To first order 1 - c = 2 alpha / (n - 1).
    assert 1 - theory.cycling_constant(5, 1e-13) == pytest.approx(5e-14, rel=1e-2)
    assert theory.cycling_constant(100_000, 1e-300) == 1.0


@pytest.mark.parametrize(("n", "alpha"), FAMILY)
def test_steepest_descent_cycles_from_the_worst_start(n: int, alpha: float) -> None:
    Q, c = theory.lower_bound_matrix(n, alpha), theory.cycling_constant(n, alpha)
    iterates = theory.steepest_descent_on(Q, theory.worst_start(n, alpha), 3 * n)
    times, moved = np.nonzero(np.diff(iterates, axis=0))
    assert times.tolist() == list(range(3 * n))
    assert moved.tolist() == [t % n for t in range(3 * n)]
    before, after = iterates[times, moved], iterates[times + 1, moved]
    np.testing.assert_allclose(after, c**n * before, rtol=1e-9)


@pytest.mark.parametrize(("n", "alpha"), FAMILY)
def test_gradient_ratio_bound_at_every_iterate(n: int, alpha: float) -> None:
    Q = theory.lower_bound_matrix(n, alpha)
    ratios = gradient_ratios(Q, theory.steepest_descent_on(Q, theory.worst_start(n, alpha), 5 * n))
    assert ratios.max() <= theory.gradient_ratio_bound(n, alpha)
    # The same at every iterate, and not far below the bound: 2.4/n for n = 3, 3/n and more for large n.
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    assert ratios[0] > 0.5 * theory.gradient_ratio_bound(n, alpha)
    if alpha <= 1 / 3:
        assert ratios.max() <= 4 / n


@pytest.mark.parametrize("n", [20, 50])
def test_steady_state_from_ones_after_two_passes(n: int) -> None:
    Q, bound = theory.lower_bound_matrix(n), theory.gradient_ratio_bound(n)
    ratios = gradient_ratios(Q, theory.steepest_descent_on(Q, np.ones(n), 10 * n))
    assert ratios[: 2 * n].max() > bound  # not yet: the start is not the worst one
    assert ratios[2 * n :].max() <= bound


def test_steady_state_from_random_starts_needs_more_than_two_passes() -> None:
    n = 50
    Q, bound = theory.lower_bound_matrix(n), theory.gradient_ratio_bound(n)
    for seed in range(3):
        x0 = np.random.default_rng(seed).standard_normal(n)
        ratios = gradient_ratios(Q, theory.steepest_descent_on(Q, x0, 10 * n))
        assert ratios[2 * n :].max() > bound
        assert ratios[6 * n :].max() <= bound


@pytest.mark.parametrize(("n", "s"), [(20, 20), (40, 10), (60, 5), (90, 3)])
def test_low_dimensional_family_is_faster_by_n_over_s(n: int, s: int) -> None:
    alpha, x0 = 0.1, np.ones(n)
    x0[:s] = theory.worst_start(s, alpha)
    Q = theory.low_dimensional_matrix(n, s, alpha)
    iterates = theory.steepest_descent_on(Q, x0, 4 * s)
    assert (iterates[:, s:] == 1).all()
    for gradient in iterates @ Q:
        speedup = theory.progress_steepest(gradient, 1.0) / theory.progress_uniform(gradient, 1.0)
        assert n / s <= speedup <= (n / s) * (3 + 3 * alpha)


def test_least_squares_factor_reproduces_the_matrix() -> None:
    Q = theory.low_dimensional_matrix(12, 5)
    A = theory.as_least_squares(Q)
    np.testing.assert_allclose(A.T @ A, Q, atol=1e-14)
    assert (A == A.T).all()
    assert (A[:, 5:] == 0).all()  # exactly: their squared norms are divided by
    Q = random_quadratic(0, n=6, rank=3)
    A = theory.as_least_squares(Q)
    np.testing.assert_allclose(A.T @ A, Q, atol=1e-12)


SQUARE = np.eye(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.lower_bound_matrix(0), "n must be at least 1; got 0"),
        (lambda: theory.lower_bound_matrix(3, 0.6), r"alpha must be in \(0, 0.5\]; got 0.6"),
        (lambda: theory.cycling_constant(2, 0.1), "n must be at least 3; got 2"),
        (lambda: theory.cycling_constant(3, 0.0), "alpha must be in .*; got 0.0"),
        (lambda: theory.worst_start(3, float("nan")), "alpha must be in .*; got nan"),
        (lambda: theory.cycling_constant_bound(1), "n must be at least 3"),
        (lambda: theory.gradient_ratio_bound(3, -1.0), "alpha must be in .*; got -1.0"),
        (lambda: theory.low_dimensional_matrix(3, 4), "s must be at most n = 3; got 4"),
        (lambda: theory.as_least_squares(np.ones((2, 3))), r"Q must be a square matrix; got shape \(2, 3\)"),
        (lambda: theory.as_least_squares([[1.0, 2.0], [0.0, 1.0]]), "Q must be finite and symmetric"),
        (lambda: theory.as_least_squares([[1.0, 0.0], [0.0, -1.0]]), "Q must be positive semidefinite; .* -1"),
        (lambda: theory.as_least_squares([[1e-9, 2e-9], [0.0, 1e-9]]), "Q must be finite and symmetric"),
        (
            lambda: theory.as_least_squares([[1.0], [1.0, 2.0]]),
            r"Q must hold real numbers; got \[\[1.0\], \[1.0, 2.0\]\]",
        ),
        (lambda: theory.smooth_rate_steepest(1.0, 1.0, "soon"), "t must hold real numbers; got 'soon'"),
        (lambda: theory.steepest_descent_on(SQUARE, [1.0], 1), "x0 must have length 2; got 1"),
        (lambda: theory.steepest_descent_on(SQUARE, [1.0, 1.0], -1), "n_iter must be at least 0; got -1"),
        (lambda: theory.progress_uniform([], 1.0), "gradient must have at least one entry"),
        (lambda: theory.progress_steepest([np.nan], 1.0), "gradient must be finite"),
        (lambda: theory.progress_steepest([1.0], 0.0), "L must be in .*; got 0.0"),
        (lambda: theory.progress_active([1.0, 2.0], [2], 1.0), r"active must be .* length 2 .*; got \[2\]"),
        (lambda: theory.progress_active([1.0, 2.0], [], 1.0), "active must be a non-empty mask"),
        (lambda: theory.progress_active([1.0, 2.0], [False, False], 1.0), "active must be a non-empty mask"),
        (lambda: theory.smooth_rate_steepest(1.0, -1.0, 1), "R1 must be in .*; got -1.0"),
        (lambda: theory.smooth_rate_uniform(2, 1.0, 1.0, [1, 0]), r"t must be at least 1; got \[1, 0\]"),
        (lambda: theory.strong_rate_steepest(2.0, 1.0, 1.0, 1), r"mu1 must be in \[0, 1\]; got 2.0"),
        (lambda: theory.strong_rate_uniform(2, 0.5, 1.0, -1.0, 1), "gap must be in .*; got -1.0"),
        (lambda: theory.one_norm_strong_convexity(np.eye(17)), "Q must be at most 16 x 16 .*; got 17 x 17"),
        (lambda: theory.competitive_ratio_limit(5, 2, 0.0), "T must be in .*; got 0.0"),
        (lambda: theory.competitive_ratio_limit(5, 2, 3.0, c=1.5), "c must be in .*; got 1.5"),
        (lambda: theory.competitive_ratio_bound(5, 6, 3.0), "s must be at most n = 5; got 6"),
        (lambda: theory.simulate_competitive_ratio(5, 2, 0.5, 10), "T must be in .*; got 0.5"),
        (lambda: theory.simulate_competitive_ratio(5, 2, np.inf, 10), r"T must be in \[1, 1e\+17\]; got inf"),
        (lambda: theory.simulate_competitive_ratio(5, 2, 1e19, 10, returns="deterministic"), "T must be in .*; got 1e"),
        (lambda: theory.simulate_competitive_ratio(5, 2, 2.5, 10, returns="deterministic"), "T must be an integer"),
        (lambda: theory.simulate_competitive_ratio(5, 2, 2, 10, returns="fixed"), "unknown returns 'fixed'"),
        (lambda: theory.simulate_competitive_ratio(5, 2, 2, -1), "n_iter must be at least 0"),
    ],
)
def test_errors_name_argument_value_and_what_is_allowed(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()
