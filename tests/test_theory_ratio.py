"""The competitive ratio against simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from ascd import theory

SETTINGS = [(100, 10, 50, 1.0), (100, 10, 400, 1.0), (100, 10, 1e7, 0.7), (30, 29, 3, 0.1), (20, 20, 5, 0.5)]


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


def test_competitive_ratio_bound_is_sharp_for_long_absences() -> None:
    for T, distance in [(200, 0.1), (500, 0.01), (5000, 1e-4)]:
        gap = theory.competitive_ratio_limit(100, 10, T) - theory.competitive_ratio_bound(100, 10, T)
        assert 0 < gap < distance
    assert theory.competitive_ratio_bound(100, 10, 500) >= 0.8  # T = 5n


@pytest.mark.parametrize("returns", ["geometric", "deterministic"])
@pytest.mark.parametrize("T", [50, 100, 400])
def test_simulation_settles_at_the_limit(T: int, returns: str) -> None:
    ratio = theory.simulate_competitive_ratio(100, 10, T, 25_000, rng=1, returns=returns)
    assert ratio[0] == 1
    limit = theory.competitive_ratio_limit(100, 10, T)
    assert ratio[2000:].mean() == pytest.approx(limit, abs=0.01)
    assert ratio[T : 4 * T].mean() == pytest.approx(limit, abs=0.12)  # "reached quickly"
    # Absences are spread out from the start: no iteration sees a crowd of the 90 return at once.
    assert np.diff(10 / ratio).max() < 15


def test_limit_is_a_lower_bound_on_the_mean() -> None:
    """rho is convex in the number of intruders, so its mean lies above the limit (Jensen), and not far.

    Between its jumps the number k of intruders is a birth-death chain: up at rate (n - s - k)/T, down at rate
    k/(k + cs).
    """
    for n, s, T, c in [(100, 10, 50, 1.0), (100, 10, 400, 1.0), (100, 30, 80, 0.25)]:
        k = np.arange(n - s + 1)
        up, down = (n - s - k[:-1]) / T, k[1:] / (k[1:] + c * s)
        weight = np.cumprod(np.append(1.0, up / down))
        mean = weight @ (c * s / (c * s + k)) / weight.sum()
        limit = theory.competitive_ratio_limit(n, s, T, c)
        assert limit < mean < limit + 0.01
        simulated = theory.simulate_competitive_ratio(n, s, T, 25_000, c=c, rng=2)[2000:].mean()
        assert simulated == pytest.approx(mean, abs=0.01)


def test_one_coordinate_outside_is_a_renewal_process() -> None:
    """Inside for 2 iterations on average, then outside for exactly 3: a mean of 0.8, above the limit's 0.77."""
    ratio = theory.simulate_competitive_ratio(2, 1, 3, 30_000, rng=3, returns="deterministic")
    outside = np.flatnonzero(np.diff(np.concatenate([[0.5], ratio, [0.5]])))
    lengths = (outside[1::2] - outside[::2])[1:-1]
    assert (lengths == 3).all()
    assert ratio.mean() == pytest.approx(0.8, abs=0.005)
    assert theory.competitive_ratio_limit(2, 1, 3) < 0.77


def test_simulation_repeats_with_the_seed() -> None:
    runs = [theory.simulate_competitive_ratio(20, 4, 10, 300, rng=seed) for seed in (5, 5, 6)]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()


@pytest.mark.parametrize("T", [1e155, 1e200, 1e308, np.inf])
def test_absences_whose_square_overflows(T: float) -> None:
    """The square of T once overflowed, which is an error in Python: the ratio itself is near 1."""
    assert theory.competitive_ratio_limit(100, 10, T) == 1.0
    assert theory.competitive_ratio_limit(5, 5, T, c=0.3) == 1.0
