"""The signed dual of the support vector machine is the dual with other names for its variables; labels; faces."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.utils.multiclass import check_classification_targets

import ascd
from ascd.estimators._base import classes_of
from ascd.solver import tuning
from ascd.solver.box.descent import BoxDescent
from ascd.svm import Met, primal_value, products_met, signed_box

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


def told_by(check):
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
    assert told_by(lambda: classes_of(y)) == told_by(lambda: check_classification_targets(y))


def small_boxes(C=1e-3):
    X = RNG.standard_normal((80, 30))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    return X, y, ascd.Problem(X.T, np.zeros(30), penalty=signed_box(y, C, "hinge"))


def test_a_look_follows_the_first_sweep_where_it_decides():
    X, y, problem = small_boxes()
    outcome = BoxDescent(problem, np.zeros(80)).minimise(lambda slope: 1e-9, 100)
    assert (outcome.n_iter, outcome.reads, outcome.is_sum) == (1, 160, True)
    np.testing.assert_array_equal(outcome.x, 1e-3 * y)
    np.testing.assert_allclose(outcome.slope, X.T @ outcome.x, rtol=1e-12)
    np.testing.assert_allclose(outcome.products, X @ outcome.slope, rtol=1e-9)
    fitted = ascd.LinearSVC(loss="hinge", C=1e-3, fit_intercept=False, tol=1e-8).fit(X, y)
    assert fitted.certificate_.columns_read == 160
    assert fitted.certificate_.converged


def test_sweeps_go_on_where_the_look_shows_that_it_does_not():
    _, _, problem = small_boxes(0.1)
    descent = BoxDescent(problem, np.zeros(80))
    descent._is_decided = lambda: True
    outcome = descent.minimise(lambda slope: 1e-9, 100)
    assert outcome.n_iter > 1
    assert not outcome.is_sum
    assert problem.gap(outcome.x) <= 2e-9


def test_products_met_with_another_slope_widen_the_gap_by_what_they_may_be_off():
    X, y, problem = small_boxes(0.1)
    x = 0.1 * y * RNG.random(80)
    objective, _, weights = problem.evaluate(x)
    value, gap = primal_value(problem, x, weights, objective)
    assert primal_value(problem, x, weights, objective, Met(X @ weights, 0.0)) == pytest.approx((value, gap))
    for size in (1e-12, 1e-6, 1e-2):
        slope = weights + size * RNG.standard_normal(30)
        away = float(np.linalg.norm(slope - weights))
        _, wider = primal_value(problem, x, weights, objective, Met(X @ slope, away))
        assert gap - 1e-12 <= wider <= gap + 0.2 * away * float(np.linalg.norm(X, axis=1).sum()) + 1e-9


def test_products_of_a_slope_that_is_further_away_than_rounding_are_not_used():
    X, y, problem = small_boxes(0.1)
    weights = problem.image(0.1 * y)
    near, far = weights * (1.0 + 1e-15), weights * (1.0 + 1e-12)
    assert products_met(problem, weights, near, X @ near).away <= 2e-15 * np.linalg.norm(weights)
    assert products_met(problem, weights, far, X @ far) is None


def test_few_awake_are_solved_for_on_their_face(monkeypatch):
    """Separable samples with a large C; every round of sweeps counts as slow."""
    monkeypatch.setattr(tuning, "FAST_ROUND", 0.0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(60) > 0.0, 1.0, -1.0)
    problem = ascd.Problem(X.T, np.zeros(30), penalty=signed_box(y, 100.0, "hinge"))
    descent, faces = BoxDescent(problem, np.zeros(60)), []
    plain = descent._descend
    descent._descend = lambda free, budget: faces.append(free.size) or plain(free, budget)
    outcome = descent.minimise(lambda slope: 1e-6 * float(slope @ slope), 100)
    assert outcome.gap <= outcome.goal
    assert faces
    assert max(faces) <= 30


def test_no_step_on_a_face_follows_a_round_that_did_well(monkeypatch):
    _, _, problem = small_boxes(0.1)
    faces = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(tuning, "FAST_ROUND", share)
        monkeypatch.setattr(tuning, "FACE_WAIT", 0)
        descent = BoxDescent(problem, np.zeros(80))
        descent.has_barrier, descent._settle = False, lambda: None
        plain, calls = descent._faces, []
        descent._faces = lambda plain=plain, calls=calls: calls.append(1) or plain()
        outcome = descent.minimise(lambda slope: 1e-9, 1000)
        assert outcome.gap <= 1e-9
        faces.append(len(calls))
    assert faces[1] < faces[0]
