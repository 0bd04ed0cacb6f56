"""The signed dual of the support vector machine is the dual with other names for its variables; labels."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.utils.multiclass import check_classification_targets

import ascd
from ascd.estimators._base import classes_of
from ascd.solver.svm import signed_box

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


LABELS = {
    "integers": np.array([3, 1, 3, 1, 2, 2, 1, 3]),
    "bools": np.array([True, False, True, False, True]),
    "whole floats": np.array([-1.0, 1.0, -1.0, 1.0, 1.0]),
    "strings": np.array(["no", "yes", "no", "yes", "yes"]),
    "objects": np.array(["no", "yes", "no", "yes", "yes"], dtype=object),
    "fractions": np.array([0.5, 1.5, 0.5, 1.5, 0.5]),
    "not a number": np.array([1.0, math.nan, 1.0, 0.0, 0.0]),
    "infinite": np.array([1.0, math.inf, 1.0, 0.0, 0.0]),
    "bytes": np.array([b"no", b"yes", b"no", b"yes", b"yes"]),
    "many classes": np.arange(30),
    "many classes as floats": np.arange(30.0),
    "half as many": np.arange(30) // 2,
}


def raised_by(check):
    """What a check of labels raises and warns."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            check()
        except Exception as error:
            return type(error), str(error)
    return [str(each.message) for each in said]


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_judged_as_by_scikit_learn(kind):
    y = LABELS[kind]
    assert raised_by(lambda: classes_of(y)) == raised_by(lambda: check_classification_targets(y))
