"""The theorems as functions against numbers; what ``ascd reproduce T`` measures is tested in ``test_reproduction``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from ascd import theory

FAMILY = [(3, 0.01), (3, 0.5), (10, 0.1), (50, 1 / 3), (200, 0.01), (200, 0.5)]
SETTINGS = [(100, 10, 50, 1.0), (100, 10, 400, 1.0), (100, 10, 1e7, 0.7), (30, 29, 3, 0.1), (20, 20, 5, 0.5)]


def random_quadratic(seed: int, n: int, rank: int) -> np.ndarray:
    """Semidefinite, with diagonal entries of different sizes."""
    factor = np.random.default_rng(seed).standard_normal((rank, n)) * np.linspace(0.3, 2.0, n)
    return factor.T @ factor


def values_of(Q: np.ndarray, iterates: np.ndarray) -> np.ndarray:
    return 0.5 * np.einsum("ti,ij,tj->t", iterates, Q, iterates)


def uniform_expected_values(Q: np.ndarray, x0: np.ndarray, n_iter: int) -> np.ndarray:
    """E f(x_t) for uniform picks and steps 1/L, exactly: a recursion for M = E[x x^T]."""
    n, L = len(Q), Q.diagonal().max()
    moment, values = np.outer(x0, x0), []
    for _ in range(n_iter + 1):
        values.append(0.5 * np.trace(Q @ moment))
        change = Q @ moment
        jump = np.diag(np.diag(Q @ moment @ Q))
        moment = moment - (change + change.T) / (n * L) + jump / (n * L**2)
    return np.array(values)


@pytest.mark.parametrize(("n", "alpha"), FAMILY)
def test_steepest_descent_cycles_from_the_worst_start_and_gains_no_more_than_the_bound(n: int, alpha: float) -> None:
    Q, c = theory.lower_bound_matrix(n, alpha), theory.cycling_constant(n, alpha)
    iterates = theory.steepest_descent_on(Q, theory.worst_start(n, alpha), 3 * n)
    times, moved = np.nonzero(np.diff(iterates, axis=0))
    assert times.tolist() == list(range(3 * n))
    assert moved.tolist() == [t % n for t in range(3 * n)]
    np.testing.assert_allclose(iterates[times + 1, moved], c**n * iterates[times, moved], rtol=1e-9)
    squares = (iterates @ Q) ** 2
    ratios = squares.max(axis=1) / squares.sum(axis=1)
    bound = theory.gradient_ratio_bound(n, alpha)
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    assert 0.5 * bound < ratios.max() <= bound


@settings(derandomize=True, max_examples=100, deadline=None)
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


@pytest.mark.parametrize("seed", range(3))
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


@pytest.mark.parametrize(("n", "s", "T", "c"), SETTINGS)
def test_competitive_ratio_solves_the_equilibrium(n: int, s: int, T: float, c: float) -> None:
    def imbalance(a: float) -> float:
        return (1 - a) * (n - s) / T - a * (n - s) / (a * (n - s) + c * s)

    share = brentq(imbalance, 0, 1, xtol=1e-15) if n > s else 0.0
    limit = theory.competitive_ratio_limit(n, s, T, c)
    assert limit == pytest.approx(c * s / (share * (n - s) + c * s), rel=1e-9)
    theta = n**2 + (c - 1) ** 2 * s**2 + 2 * n * ((c - 1) * s - T) + 2 * (1 + c) * s * T + T**2
    assert limit == pytest.approx(2 * c * s / (c * s + n - s - T + np.sqrt(theta)), rel=1e-6)
    assert limit >= theory.competitive_ratio_bound(n, s, T)


@pytest.mark.parametrize(("n", "s", "T", "c"), [(100, 10, 50, 1.0), (100, 10, 400, 1.0), (100, 30, 80, 0.25)])
def test_the_mean_of_the_simulation_is_just_above_the_limit(n: int, s: int, T: int, c: float) -> None:
    """rho is convex in the number of intruders, so its mean lies above the limit (Jensen), and not far.

    Between its jumps the number k of intruders is a birth-death chain: up at rate (n - s - k)/T, down at rate
    k/(k + cs).
    """
    k = np.arange(n - s + 1)
    up, down = (n - s - k[:-1]) / T, k[1:] / (k[1:] + c * s)
    weight = np.cumprod(np.append(1.0, up / down))
    mean = weight @ (c * s / (c * s + k)) / weight.sum()
    limit = theory.competitive_ratio_limit(n, s, T, c)
    assert limit < mean < limit + 0.01
    ratio = theory.simulate_competitive_ratio(n, s, T, 25_000, c=c, rng=2)
    assert ratio[0] == 1
    assert ratio[2000:].mean() == pytest.approx(mean, abs=0.01)
    assert np.diff(c * s / ratio).max() < 15, "absences are spread out from the start"
