"""The quadratic model on the working set: its two forms find the minimum that a long coordinate descent finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import in_pairs

import ascd
from ascd.solver.column_model import ColumnModel
from ascd.solver.gram import Gram
from ascd.solver.gram_model import GramModel, cut_step, find_free, take_newton_step

pytestmark = pytest.mark.usefixtures("plain_python")


MODELS = {
    "l1": ascd.L1(0.7),
    "elastic net": ascd.L1L2(0.4, 0.3),
    "l1 weighted": ascd.L1(0.5, np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0])),
    "box": ascd.Box(-0.2, 0.3),
    "non-negative": ascd.Box(0.0, math.inf, linear=0.2),
    "l2": ascd.L2(0.4),
    "none": ascd.Zero(),
}


def model_value(G, g, penalty, start, x):
    change = x - start
    return g @ change + 0.5 * change @ G @ change + sum(penalty.cost(float(x[j]), j) for j in range(x.size))


def long_descent(G, g, penalty, start, sweeps=4000):
    """Coordinate descent on Q, for long."""
    x = start.copy()
    for _ in range(sweeps):
        for j in range(x.size):
            bend = G[j, j] or 1.0
            x[j] = penalty.prox(x[j] - (g + G @ (x - start))[j] / bend, 1.0 / bend, j)
    return x


def both_models(penalty, intercept, storage, seed):
    """Q at a random point: its matrix, its slope, and the library's two ways to minimise it."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((15, 6)) + 0.8 * rng.standard_normal((15, 1))
    problem = ascd.Problem(sp.csc_array(A) if storage == "sparse" else A, np.ones(15), penalty=penalty)
    parts, design = problem.parts, problem.design
    weight, slope = 0.2 + rng.random(15), rng.standard_normal(15)
    slope -= slope.mean() if intercept else 0.0
    means = weight @ A / weight.sum() if intercept else np.zeros(6)
    start = np.clip(rng.standard_normal(6) * (rng.random(6) < 0.5), *bounds_of(penalty))
    gram = Gram(design, intercept, keeps=False)
    gram.admit(rng.permutation(6), weight, means)
    by_gram = GramModel(parts.penalty, gram, (A.T @ slope)[gram.columns], start.copy())
    by_columns = ColumnModel(parts.penalty, design, np.arange(6), weight, means, slope, start.copy())
    G = (A - means).T @ (weight[:, None] * (A - means))
    return G, A.T @ slope, parts.penalty, start, (by_gram, by_columns)


def bounds_of(penalty):
    return getattr(penalty, "lower", -math.inf), getattr(penalty, "upper", math.inf)


@in_pairs(name=MODELS, intercept=[False, True], storage=["dense", "sparse"])
def test_both_models_find_the_minimum_of_a_long_descent(name, intercept, storage):
    G, g, penalty, start, models = both_models(MODELS[name], intercept, storage, 3)
    best = model_value(G, g, penalty, start, long_descent(G, g, penalty, start, 1500))
    for model in models:
        outcome = model.minimise(1e-11, 1000)
        assert outcome.violation <= 1e-11
        assert model_value(G, g, penalty, start, model.x) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(8))
def test_a_newton_step_never_raises_the_model(name, seed):
    G, g, penalty, start, models = both_models(MODELS[name], False, "dense", seed)
    for model in models:
        if isinstance(model, GramModel):
            model.gram.learn(np.arange(6))
        before = model_value(G, g, penalty, start, model.x)
        for _ in range(3):
            model._newton_step()
            after = model_value(G, g, penalty, start, model.x)
            assert after <= before + 1e-12
            before = after
        if isinstance(model, GramModel):  # the gradient follows
            expected = (g + G @ (model.x - start))[model.columns]
            np.testing.assert_allclose(model.gradient, expected, atol=1e-10)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_steps_are_cut_at_the_ends(seed):
    rng = np.random.default_rng(seed)
    low, high = -rng.random(5), rng.random(5)
    here, direction = low + (high - low) * rng.random(5), rng.standard_normal(5)
    whole, straight = np.empty(5), np.empty(5)
    cut = cut_step(here, direction, low, high, whole, straight)
    there = here + direction
    np.testing.assert_allclose(here + whole, np.clip(there, low, high))
    assert cut == bool(np.any((there < low) | (there > high)))
    first = min(1.0, (np.where(direction > 0.0, high - here, low - here) / direction).min())
    np.testing.assert_allclose(straight, first * direction, atol=1e-15)


def test_coordinates_at_a_kink_are_not_free():
    x, work, free = np.array([0.0, 1.0, -2.0, 0.0]), np.empty((8, 4)), np.empty(4, dtype=np.int64)
    penalty = ascd.L1(1.0, np.array([1.0, 1.0, 1.0, 0.0])).check(4)
    count = find_free(penalty, np.arange(4), np.ones(4, dtype=bool), np.zeros(4), x, free, work)
    assert free[:count].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(work[2, :3], [0.0, -math.inf, -math.inf])
    np.testing.assert_array_equal(work[3, :3], [math.inf, 0.0, math.inf])


def test_a_step_that_would_rise_is_not_taken():
    x, work = np.array([1.0]), np.array([[1.0], [0.0], [-9.0], [9.0], [0.0], [0.0], [0.0], [0.0]])
    uphill = take_newton_step(np.eye(1), np.array([0]), np.array([0]), np.array([1.0]), work, np.array([1.0]), x)
    assert uphill == 2
    assert x[0] == 1.0
