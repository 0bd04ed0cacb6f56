"""One-step progress and rates against numbers: where they hold, how tight they are, what needs a correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quadratics import random_quadratic, uniform_expected_values, values_of

from ascd import theory


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.data())
def test_sandwich(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    numbers = st.lists(st.floats(0, 10, allow_subnormal=False), min_size=n, max_size=n)
    gradient, above, below = (np.array(data.draw(numbers)) for _ in range(3))
    upper, lower = gradient + above, (gradient - below).clip(min=0)
    order = np.argsort(-upper)
    for size in range(1, n + 1):  # smallest prefix whose complement is provably below its average
        active, rest = order[:size], order[size:]
        if (upper[rest] ** 2 < np.mean(lower[active] ** 2)).all():
            break
    uniform, steepest = theory.progress_uniform(gradient, 2.0), theory.progress_steepest(gradient, 2.0)
    slack = 1 + 1e-12
    assert uniform <= theory.progress_active(gradient, active, 2.0) * slack
    assert theory.progress_active(gradient, active, 2.0) <= steepest * slack
    assert steepest / n <= uniform * slack


def test_an_unsafe_active_set_leaves_the_sandwich() -> None:
    assert theory.progress_active([3.0, 1.0, 1.0], [1, 2], 1.0) < theory.progress_uniform([3.0, 1.0, 1.0], 1.0)


def test_active_set_as_mask_or_indices() -> None:
    gradient = [3.0, -2.0, 1.0]
    assert theory.progress_active(gradient, [True, True, False], 2.0) == (9 + 4) / 2 / 4
    assert theory.progress_active(gradient, [1, 0, 0], 2.0) == (9 + 4) / 2 / 4


@pytest.mark.parametrize("seed", range(5))
def test_progress_measure_of_both_methods(seed: int) -> None:
    """The lemma behind Theorem 1, with steps 1/L: Delta >= 1/(2L|x|_1^2) and 1/(2nL|x|_2^2)."""
    n = 8
    Q = random_quadratic(seed, n, rank=n)
    L = Q.diagonal().max()
    for x in theory.steepest_descent_on(Q, np.random.default_rng(seed).standard_normal(n), 30):
        value, g = 0.5 * x @ Q @ x, Q @ x
        i = np.argmax(np.abs(g))
        gains = g**2 / L - Q.diagonal() * g**2 / (2 * L**2)
        assert 1 / (value - gains[i]) - 1 / value >= 1 / (2 * L * np.abs(x).sum() ** 2)
        assert 1 / (value - gains.mean()) - 1 / value >= 1 / (2 * n * L * (x @ x))
        assert gains[i] >= theory.progress_steepest(g, L) * (1 - 1e-12)
        assert gains.mean() >= theory.progress_uniform(g, L) * (1 - 1e-12)


def test_progress_measures_do_not_compare_as_printed() -> None:
    """``Delta_SCD / n <= Delta_UCD <= Delta_SCD`` holds for the lower bounds, not for Delta itself."""

    def deltas(diagonal: list[float], x: list[float]) -> tuple[float, float]:
        d, g = np.array(diagonal), np.array(diagonal) * x
        value = 0.5 * np.sum(d * np.square(x))
        gains = g**2 / d.max() - d * g**2 / (2 * d.max() ** 2)
        return 1 / (value - gains[np.argmax(np.abs(g))]) - 1 / value, 1 / (value - gains.mean()) - 1 / value

    steepest, uniform = deltas([1.0, 1.0, 1.0, 1.0], [1.0, 0.1, 0.1, 0.1])
    assert uniform < steepest / 4
    steepest, uniform = deltas([1.0, 0.1], [1.0, 9.9])
    assert steepest < uniform


@pytest.mark.parametrize("seed", range(5))
def test_rates_on_strongly_convex_quadratics(seed: int) -> None:
    n, t = 8, np.arange(1, 200)
    Q = random_quadratic(seed, n, rank=2 * n)
    x0 = np.random.default_rng(seed).standard_normal(n)
    L, gap = Q.diagonal().max(), 0.5 * x0 @ Q @ x0
    mu1, mu2 = theory.one_norm_strong_convexity(Q), np.linalg.eigvalsh(Q)[0]
    # The level set is an ellipsoid: its radius in the p-norm is sqrt(2 gap / mu_p).
    R1, R2 = np.sqrt(2 * gap / mu1), np.sqrt(2 * gap / mu2)
    assert R2 <= R1 <= np.sqrt(n) * R2

    steepest = values_of(Q, theory.steepest_descent_on(Q, x0, len(t)))[1:]
    uniform = uniform_expected_values(Q, x0, len(t))[1:]
    assert (steepest <= theory.smooth_rate_steepest(L, R1, t)).all()
    assert (uniform <= theory.smooth_rate_uniform(n, L, R2, t)).all()
    assert (steepest <= theory.strong_rate_steepest(mu1, L, gap, t)).all()
    assert (uniform <= theory.strong_rate_uniform(n, mu2, L, gap, t)).all()


@pytest.mark.parametrize("seed", range(5))
def test_smooth_rate_on_singular_quadratics(seed: int) -> None:
    """Level sets are unbounded; the radius is that of the distance to the nearest minimiser.

    That distance is ``max <y, x>`` over the part of the cube orthogonal to the kernel, so its square is at most
    ``2 gap * max <pinv(Q) y, y>`` over the corners of the whole cube.
    """
    n, t = 8, np.arange(1, 200)
    Q = random_quadratic(seed, n, rank=4)
    assert theory.one_norm_strong_convexity(Q) == 0
    x0 = np.random.default_rng(seed).standard_normal(n)
    corners = 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    inverse = np.linalg.pinv(Q, hermitian=True, rcond=1e-10)
    R1 = np.sqrt(x0 @ Q @ x0 * np.einsum("ki,ij,kj->k", corners, inverse, corners).max())
    values = values_of(Q, theory.steepest_descent_on(Q, x0, len(t)))[1:]
    assert (values <= theory.smooth_rate_steepest(Q.diagonal().max(), R1, t)).all()


def test_rates_are_attained() -> None:
    """On |x|^2/2 the uniform rate is exact for all t, the steepest one in its first step from 1."""
    n, ones, t = 5, np.ones(5), np.arange(20)
    mu1 = theory.one_norm_strong_convexity(np.eye(n))
    uniform = uniform_expected_values(np.eye(n), ones, 19)
    np.testing.assert_allclose(theory.strong_rate_uniform(n, 1.0, 1.0, n / 2, t), uniform, rtol=1e-12)
    first = values_of(np.eye(n), theory.steepest_descent_on(np.eye(n), ones, 1))[1]
    assert theory.strong_rate_steepest(mu1, 1.0, n / 2, 1) == pytest.approx(first)


def test_rates_by_hand() -> None:
    assert theory.smooth_rate_steepest(2.0, 3.0, 6) == 6.0
    assert theory.smooth_rate_uniform(4, 2.0, 3.0, 6) == 24.0
    np.testing.assert_allclose(theory.strong_rate_steepest(1.0, 4.0, 2.0, [0, 2]), [2.0, 1.125])
    np.testing.assert_allclose(theory.strong_rate_uniform(2, 2.0, 4.0, 2.0, [0, 2]), [2.0, 1.125])


@pytest.mark.parametrize("seed", range(5))
def test_one_norm_strong_convexity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q = random_quadratic(seed, n=6, rank=12)
    mu1, mu2 = theory.one_norm_strong_convexity(Q), np.linalg.eigvalsh(Q)[0]
    assert mu1 <= mu2 <= 6 * mu1
    # Smallest curvature: nowhere less on the sphere, and attained at inv(Q) y for some signs y.
    points = np.vstack([rng.standard_normal((2000, 6)), rng.choice([-1.0, 1.0], (2000, 6)) @ np.linalg.inv(Q)])
    points /= np.abs(points).sum(axis=1, keepdims=True)
    curvature = 2 * values_of(Q, points)
    assert curvature.min() == pytest.approx(mu1, rel=1e-9)


def test_one_norm_strong_convexity_where_it_is_known() -> None:
    diagonal = np.array([0.5, 1.0, 4.0])
    assert theory.one_norm_strong_convexity(np.diag(diagonal)) == pytest.approx(1 / np.sum(1 / diagonal))
    # mu1 = mu2 / n on the lower-bound family: the rates agree with "no speed-up".
    for n, alpha in [(3, 0.5), (10, 0.01), (16, 0.1)]:
        assert theory.one_norm_strong_convexity(theory.lower_bound_matrix(n, alpha)) == pytest.approx(alpha / n)


def test_a_radius_whose_square_overflows() -> None:
    """Infinite, and so empty, is what such a bound is; it once was an error."""
    assert theory.smooth_rate_steepest(L=1.0, R1=1e200, t=1) == np.inf
    assert theory.smooth_rate_uniform(2, L=1.0, R2=1e200, t=1) == np.inf
