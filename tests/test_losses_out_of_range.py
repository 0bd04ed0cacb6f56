"""Losses that leave the range of float64 before their weight brings them back: F is told, and the gap covers it.

With a weight of 4·10¹⁹⁰ a residual of 10⁻¹⁶⁷ counts 10⁻¹⁴³; its square alone is 0, and so were F and its share of the
gap.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import ascd
from ascd.problem.losses import product_up
from ascd.problem.softmax import fill_shares, largest_divergence

LOSSES = {"squared": ascd.Squared(), "huber": ascd.Huber(1.0), "huber of 1e-200": ascd.Huber(1e-200)}


def exact(loss, weight, residual):
    """weight·loss in fractions."""
    size, weight = abs(Fraction(residual)), Fraction(weight)
    threshold = Fraction(getattr(loss, "threshold", 1e300))
    return weight * (size * size / 2 if size <= threshold else threshold * (size - threshold / 2))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weight", [1e150, 4e190, 1e300])
@pytest.mark.parametrize("x", [3e-167, 1e-180, 1e-200, 1e-160, 3e-120])
def test_gaps_cover_squares_that_underflow(interpreted, name, weight, x):
    problem = ascd.Problem([[1.5]], [0.0], LOSSES[name], sample_weight=[weight])
    value = exact(LOSSES[name], weight, 1.5 * x)
    assert Fraction(problem.gap([x])) >= value * (1 - Fraction(1, 10**9))
    assert float(problem.objective([x])) == pytest.approx(float(value), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("loss", "x", "target"), [("logistic", 800.0, 1.0), ("poisson", -800.0, 0.0)])
def test_gaps_cover_exponentials_that_underflow(interpreted, loss, x, target):
    problem = ascd.Problem([[1.0]], [target], loss, sample_weight=[1e300])
    assert problem.gap([x]) >= np.exp(-800.0 + 300.0 * np.log(10.0))


@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_divergences_of_softmax_cover_probabilities_that_underflow(scale):
    """A probability of exp(−800): KL is about (1 − s + s·log s)·exp(−800), which is no float64 number."""
    shares = np.empty(2)
    loss, others = fill_shares(np.array([0.0, -800.0]), 0, shares)
    below = math.log(scale) if scale > 0.0 else 0.0
    assert largest_divergence(shares[0], others, loss, scale, below, 0.0, 0.0) > 0.0


@pytest.mark.parametrize(("weight", "b"), [(1e-300, 1e200), (1e-170, 1e160)])
@pytest.mark.parametrize("loss", [ascd.Squared(), ascd.Huber(1e250)])
def test_squares_that_overflow_before_their_weight(interpreted, loss, weight, b):
    problem = ascd.Problem([[1.0]], [b], loss, sample_weight=[weight])
    assert problem.objective([0.0]) == pytest.approx(float(exact(loss, weight, b)), rel=1e-12)


def test_compiled_squares_are_not_taken_first(compiled):
    for weight, b in ((4e190, 2e-167), (1e-300, 1e200)):
        problem = ascd.Problem([[1.0]], [b], sample_weight=[weight])
        assert problem.objective([0.0]) == pytest.approx(float(exact(ascd.Squared(), weight, b)), rel=1e-12, abs=0.0)
        assert problem.gap([0.0]) > 0.0


def test_products_are_never_too_small():
    rng = np.random.default_rng(0)
    for _ in range(200):
        first, second = (float(x) for x in rng.uniform(0.5, 1.0, 2) * 2.0 ** rng.integers(-560, -510, 2))
        assert Fraction(product_up(first, second)) >= Fraction(first) * Fraction(second)
    assert product_up(0.0, 5.0) == 0.0
