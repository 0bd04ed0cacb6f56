"""The signed dual of the support vector machine is the dual with other names for its variables."""

from __future__ import annotations

import numpy as np
import pytest

import ascd
from ascd.svm import signed_box

pytestmark = pytest.mark.usefixtures("interpreted")
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 4)), np.where(np.arange(12) % 3, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_signed_variables_cost_the_same(loss):
    plain = ascd.DualSVM(X, Y, 0.7, loss)
    signed = ascd.Problem(X.T, np.zeros(4), penalty=signed_box(Y, 0.7, loss))
    for _ in range(5):
        alpha = 0.7 * RNG.random(12)
        assert signed.objective(Y * alpha) == pytest.approx(plain.objective(alpha), rel=1e-12)
        np.testing.assert_allclose(signed.image(Y * alpha), plain.weights(alpha), atol=1e-14)
        assert signed.objective(-Y * alpha) == np.inf
        assert signed.gap(Y * alpha) == pytest.approx(plain.gap(alpha), rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_multiply_the_losses_and_zero_removes_a_sample(loss):
    weight = np.arange(12) % 4 * 0.5
    signed = ascd.Problem(X.T, np.zeros(4), penalty=signed_box(Y, 0.7, loss, weight))
    beta = ascd.minimize(signed, rule="cyclic", tol=1e-11, max_iter=40_000).x
    w = signed.image(beta)
    short = np.maximum(0.0, 1.0 - Y * (X @ w))
    primal = 0.5 * w @ w + 0.7 * weight @ (short if loss == "hinge" else short**2)
    assert primal == pytest.approx(-signed.objective(beta), rel=1e-6)
    np.testing.assert_array_equal(beta[weight == 0.0], 0.0)
