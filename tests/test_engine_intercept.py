"""``minimize(..., intercept=True)``: the answer of ``solve``, whatever the rule, loss, penalty and storage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from penalty_table import PENALTIES
from user_parts.my_penalties import Threshold

import ascd

RNG = np.random.default_rng(0)
A = RNG.standard_normal((30, 5)) + 0.3
SIGNAL = A[:, 0] - A[:, 3] + 2.0 + 0.3 * RNG.standard_normal(30)
WEIGHT = RNG.random(30) + 0.5
LOSSES = {"squared": SIGNAL, "huber": SIGNAL, "logistic": np.sign(SIGNAL - 2.0), "squared_hinge": np.sign(SIGNAL - 2.0)}


def agree(problem, **how):
    expected = ascd.solve(problem, tol=1e-9, intercept=True)
    found = ascd.minimize(problem, tol=1e-9, intercept=True, rng=0, **how)
    assert found.x.shape == (problem.n_features,)
    assert found.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-9)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-3)
    return found


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, np.ascontiguousarray])
def test_every_loss_and_storage(loss, store):
    agree(ascd.Problem(store(A), LOSSES[loss], loss, ascd.L1L2(0.5, 0.5), WEIGHT))


@pytest.mark.parametrize("name", PENALTIES)
def test_every_penalty(name):
    agree(ascd.Problem(A, SIGNAL, penalty=PENALTIES[name](5, 10.0, 1.0)[0]))


@pytest.mark.parametrize("rule", ["cyclic", "uniform", "steepest", "ascd", "u-ascd", "a-ascd"])
def test_every_rule(rule):
    agree(ascd.Problem(A, SIGNAL, penalty=ascd.L1(2.0)), rule=rule)


def test_what_has_no_intercept_is_named():
    with pytest.raises(TypeError, match=r"with_free\(self, n\).*Threshold has none"):
        ascd.minimize(ascd.Problem(A, SIGNAL, penalty=Threshold(1.0)), intercept=True)
    with pytest.raises(ValueError, match="x0 must have length 5"):
        ascd.minimize(ascd.Problem(A, SIGNAL), intercept=True, x0=np.ones(6))
