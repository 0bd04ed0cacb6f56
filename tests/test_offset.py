"""Problems with an offset: as if a column had its coefficient held at 1, for every loss, with a gap that bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from pairs import in_pairs
from scipy import sparse

import ascd

N, P = 30, 6
LOSSES = {
    "squared": ascd.Squared(),
    "huber": ascd.Huber(0.7),
    "logistic": ascd.Logistic(),
    "squared_hinge": ascd.SquaredHinge(),
    "poisson": ascd.Poisson(),
}


def data(name):
    rng = np.random.default_rng(3)
    A, offset = rng.standard_normal((N, P)), 0.5 * rng.standard_normal(N)
    signal = A[:, 0] - A[:, 1] + offset + 0.5 * rng.standard_normal(N)
    target = {"logistic": np.sign(signal), "squared_hinge": np.sign(signal), "poisson": np.floor(np.exp(signal))}
    return A, target.get(name, signal), offset


def held(strength):
    """An L1 penalty, and one more coefficient that is 1."""
    lower, upper = np.full(P + 1, -math.inf), np.full(P + 1, math.inf)
    lower[-1] = upper[-1] = 1.0
    weights = np.append(np.ones(P), 0.0)
    return ascd.BoundedL1L2(strength, 0.0, lower, upper, weights)


@in_pairs(name=LOSSES, stored=[np.asarray, sparse.csc_array], intercept=[False, True])
def test_an_offset_is_a_column_with_coefficient_one(name, stored, intercept):
    A, b, offset = data(name)
    ours = ascd.solve(
        ascd.Problem(stored(A), b, LOSSES[name], ascd.L1(1.0), offset=offset), tol=1e-10, intercept=intercept
    )
    wider = ascd.Problem(stored(np.c_[A, offset]), b, LOSSES[name], held(1.0))
    theirs = ascd.solve(wider, tol=1e-10, intercept=intercept)
    assert ours.converged
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
    assert ours.x == pytest.approx(theirs.x[:-1], abs=1e-4)
    assert ours.objective - ours.gap <= theirs.objective + 1e-12


@pytest.mark.parametrize("name", LOSSES)
def test_objective_gradient_and_gap_are_those_of_the_shifted_predictions(name):
    A, b, offset = data(name)
    problem = ascd.Problem(A, b, LOSSES[name], ascd.L1(1.0), offset=offset)
    x = 0.1 * np.arange(P)
    by_hand = sum(LOSSES[name].value(y, z) for y, z in zip(b, A @ x + offset, strict=True)) + np.abs(x).sum()
    assert problem.objective(x) == pytest.approx(by_hand, rel=1e-12)
    slopes = [LOSSES[name].derivative(y, z) for y, z in zip(b, A @ x + offset, strict=True)]
    assert problem.gradient(x) == pytest.approx(A.T @ slopes, rel=1e-10)
    assert problem.linear_predictor(x) == pytest.approx(A @ x)
    best = ascd.solve(problem, tol=1e-12).objective
    assert problem.objective(x) - problem.gap(x) <= best <= problem.objective(x)


@pytest.mark.parametrize("rule", ["cyclic", "working-set", "a-ascd", "steepest"])
def test_the_engine_takes_offsets(rule):
    A, b, offset = data("logistic")
    problem = ascd.Problem(A, b, "logistic", ascd.L1(1.0), offset=offset)
    found = ascd.minimize(problem, rule=rule, tol=1e-8, rng=0)
    assert found.status.is_answer
    assert found.objective == pytest.approx(ascd.solve(problem, tol=1e-12).objective, rel=1e-8)


def test_a_path_starts_where_all_coefficients_are_zero():
    A, b, offset = data("logistic")
    found = ascd.path(ascd.Problem(A, b, "logistic", ascd.L1(1.0), offset=offset), n_alphas=6, eps=0.05)
    assert found.status.is_answer
    assert not found.coefs[:, 0].any()
    assert found.coefs[:, 1].any()
    slope = -b / (1.0 + np.exp(b * offset))
    assert found.alphas[0] == pytest.approx(np.abs(A.T @ slope).max())


def exact_deficit(b, offset, threshold, found):
    """F(x, c) − min F over c in exact arithmetic, at x = 0, for Huber's loss (least squares where it is None)."""
    targets = [Fraction(float(one)) - Fraction(float(o)) for one, o in zip(b, offset, strict=True)]

    def objective(constant):
        away = [abs(target - constant) for target in targets]
        if threshold is None:
            return sum(each**2 for each in away) / 2
        return sum(e**2 / 2 if e <= threshold else threshold * (e - threshold / 2) for e in away)

    mean = sum(targets) / len(targets)  # the best constant, for Huber's loss too while all are near
    return objective(Fraction(found.intercept)) - objective(mean)


@pytest.mark.parametrize("name", ["squared", "huber"])
@pytest.mark.parametrize("far", [1e4, 1e8, 1e13, 1e14, 1e17])
def test_what_rounding_takes_from_a_target_is_counted(name, far):
    b, offset = np.array([0.5, 0.4, 0.4]), np.full(3, -far)
    problem = ascd.Problem([[0.6], [-0.5], [0.2]], b, name, ascd.L1(1e6 * far), offset=offset)
    for tol in (0.0, 1e-6):
        found = ascd.solve(problem, intercept=True, tol=tol)
        assert not found.x.any()
        assert found.gap >= exact_deficit(b, offset, None if name == "squared" else Fraction(1.35), found)


def test_a_margin_that_rounding_makes_one_has_a_gap():
    """o + c is 1 - 3.5e-17, which is rounded to 1: the loss has no curvature there, and on its other side 2."""
    offset = -6.844218875699996e-10
    found = ascd.solve(ascd.Problem([[0.0]], [1.0], "squared_hinge", offset=[offset]), intercept=True)
    missing = 1 - Fraction(offset) - Fraction(found.intercept)
    assert found.gap >= max(missing, 0) ** 2 > 0


@pytest.mark.parametrize("offset", [np.zeros(N - 1), np.full(N, np.inf), 3.0])
def test_wrong_offsets_are_named(offset):
    A, b, _ = data("squared")
    with pytest.raises((ValueError, TypeError), match="offset must"):
        ascd.Problem(A, b, offset=offset)
