"""The solver's parts against plain NumPy: intervals, products of columns, the intercept."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from solving import LOSSES, alike, target_of

import ascd
from ascd._core.threads import crew
from ascd.problem.at_samples import evaluate_samples, most_curvature
from ascd.problem.tuning import SAMPLES_A_PART
from ascd.solver.gradient_bounds import GradientBounds
from ascd.solver.gram import Gram
from ascd.solver.samples import Samples, raise_to_secants
from ascd.solver.tuning import SLOTS

pytestmark = pytest.mark.usefixtures("plain_python")

SEEDS = st.integers(0, 10_000)


def design_of(rng, shape=(10, 7), storage="dense"):
    A = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    A[:, rng.integers(shape[1])] = 0.0
    A[:, 0] = A[:, -1] if rng.random() < 0.3 else A[:, 0]
    return A, (sp.csc_array(A) if storage == "sparse" else A)


# ------------------------------------------------------------------------------------- intervals


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, intercept=st.booleans(), storage=st.sampled_from(["dense", "sparse"]), weighted=st.booleans())
def test_intervals_contain_the_exact_entries(seed, intercept, storage, weighted):
    """Whatever the slopes were, and whichever columns were read at them."""
    rng = np.random.default_rng(seed)
    A, design = design_of(rng, storage=storage)
    weights = rng.random(10) * (rng.random(10) < 0.8) if weighted else None
    know = bounds_of(ascd.Problem(design, np.ones(10), sample_weight=weights), intercept)
    slope, read = rng.standard_normal(10) * 10.0 ** rng.integers(-8, 8), set()
    for _ in range(3 * SLOTS):
        slope = rng.choice([0.5, 1.0, -2.0]) * slope + 10.0 ** rng.integers(-9, 1) * rng.standard_normal(10)
        slope = slope - slope.mean() if intercept else slope
        know.locate(slope)
        unread = [j for j in range(7) if j not in read]
        assert np.all(np.isinf(know.radius[unread]))
        columns = rng.choice(7, size=rng.integers(1, 8), replace=False)
        before = know.reads
        know.read(columns, slope)
        assert len(columns) <= know.reads - before <= 7  # columns that refer to a forgotten slope are read too
        read |= set(map(int, columns))
        exact = A.T @ slope
        assert np.all(np.abs(exact - know.estimate)[sorted(read)] <= (know.radius + rounding(A, slope))[sorted(read)])
        assert np.all(know.radius[columns] == 0.0)


def bounds_of(problem, intercept):
    return GradientBounds(problem.design, Samples(problem.parts, intercept), problem.first)


def rounding(A, slope):
    return 1e-14 * np.linalg.norm(A, axis=0) * np.linalg.norm(slope)


def test_an_interval_is_as_narrow_as_cauchy_and_schwarz_allow():
    a, v = np.array([3.0, 1.0]), np.array([1.0, 0.0])
    know = bounds_of(ascd.Problem(a[:, None], [1.0, 1.0]), False)
    know.read(np.array([0]), v)
    know.locate(np.array([2.0, 0.5]))  # 2·v + 0.5 across it; across v the column is 1 long
    assert know.estimate[0] == pytest.approx(6.0)
    assert know.radius[0] == pytest.approx(0.5, rel=1e-6)


# ------------------------------------------------------------------------------ products of columns


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_products_in_any_order_are_the_gram_matrix(storage, intercept, seed, monkeypatch):
    monkeypatch.setattr("ascd.matrix.prices.CHEAP", 0 if seed % 2 else 1000)
    rng = np.random.default_rng(seed)
    A, design = design_of(rng, (12, 20), storage)
    weight = rng.random(12) * (rng.random(12) < 0.8)
    means = weight @ A / weight.sum() if intercept else np.zeros(20)
    gram = Gram(ascd.Problem(design, np.ones(12)).design, intercept, keeps=seed % 3 == 0)
    centred = A - means

    def check(weight, centred):
        known = np.flatnonzero(gram.known[: gram.columns.size])
        expected = centred[:, gram.columns].T @ (weight[:, None] * centred[:, gram.columns[known]])
        np.testing.assert_allclose(gram.store[: gram.columns.size][:, known], expected, atol=1e-12)

    for turn in range(2):
        order = rng.permutation(20)
        for part in np.array_split(order, 4):
            gram.admit(part, weight, means)
            unknown = np.flatnonzero(~gram.known[: gram.columns.size])
            if unknown.size:
                gram.learn(np.sort(rng.permutation(unknown)[: rng.integers(1, unknown.size + 1)]))
            check(weight, centred)
        for other in (rng.random(12), weight):
            means = other @ A / other.sum() if intercept else np.zeros(20)
            gram.reweigh(other, means)
            check(other, A - means)
        assert sorted(gram.columns) == list(range(20))
        assert np.array_equal(gram.position[gram.columns], np.arange(20))
        kept = gram.columns[:: 2 + turn]
        gram.keep(kept)
        known = np.flatnonzero(gram.known)
        expected = centred[:, kept].T @ (weight[:, None] * centred[:, kept[known]])
        np.testing.assert_allclose(gram.store[:, known], expected, atol=1e-12)
        gram.clear()
        assert gram.columns.size == 0
        assert np.all(gram.position == -1)


# --------------------------------------------------------------------------------- the intercept


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("far", [0.0, 1e3, -1e6])
def test_balance_makes_the_slopes_sum_to_zero(loss, far):
    rng = np.random.default_rng(1)
    A = alike((28, 5), rng)
    b, weights = target_of(loss, A, rng), rng.random(28) * (rng.random(28) < 0.8)
    far = float(np.clip(far, -500.0, 500.0)) if loss == "poisson" else far
    image = far + 0.1 * rng.standard_normal(28)
    total, slope = balanced(loss, b, weights, image)
    assert abs(slope.sum()) <= (1e-12 + 1e-14 * abs(far)) * np.abs(slope).sum()  # z is rounded out there
    best = optimize.minimize_scalar(lambda c: weights @ LOSSES[loss][0](b, image + c), bracket=(-1.0, 1.0), tol=1e-12)
    assert total == pytest.approx(weights @ LOSSES[loss][0](b, image), rel=1e-12)
    assert total <= best.fun * (1.0 + 1e-12)


def balanced(loss, b, weights, image):
    parts = ascd.Problem(np.ones((len(b), 1)), b, loss, sample_weight=weights).parts
    slope, before, most = np.empty(len(b)), image.copy(), parts.loss.curvature_bound() * weights.sum()
    total, shift = evaluate_samples(parts.sample, parts.loss, image, slope, np.empty(len(b)), most)
    np.testing.assert_allclose(image, before + shift, rtol=1e-12)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(slope, weights * LOSSES[loss][1](b, image), atol=1e-9)
    return total, slope


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("unit", [1e-60, 1e-17, 1e12, 1e60])
def test_balance_knows_no_unit_of_the_target(loss, unit):
    """Slopes and curvatures of a squared loss have different units: they must not be compared."""
    b, parts = unit * np.array([1.0, 2.0, 4.0, 9.0, 9.5]), ascd.problem.losses
    chosen = parts.Squared() if loss == "squared" else parts.Huber(0.3 * unit)
    sample = ascd.Problem(np.ones((5, 1)), b, chosen).parts.sample
    image, slope = np.zeros(5), np.empty(5)
    evaluate_samples(sample, chosen, image, slope, np.empty(5), 5.0)
    assert abs(slope.sum()) <= 1e-14 * np.abs(slope).sum()
    assert image[0] / unit == pytest.approx(5.1 if loss == "squared" else 4.0, abs=0.3)


@pytest.mark.parametrize("mean", [50.0, 800.0, 1e6, 1e15])
def test_balance_finds_large_counts(mean):
    """exp overflows on Newton's way from 0 to log(mean)."""
    b, image = mean * np.linspace(0.5, 1.5, 11), np.zeros(11)
    balanced("poisson", b, np.ones(11), image)
    np.testing.assert_allclose(image, math.log(mean), rtol=1e-13)


@pytest.mark.parametrize(("loss", "target"), [("logistic", 1.0), ("logistic", -1.0), ("poisson", 0.0)])
def test_balance_ends_where_there_is_no_finite_intercept(loss, target):
    image = np.zeros(5)
    total, slope = balanced(loss, np.full(5, target), np.ones(5), image)
    assert np.isfinite(image).all()
    assert total == 0.0
    assert not slope.any()


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.usefixtures("compiled")
def test_many_samples_are_looked_at_in_parts(loss):
    """The same losses, slopes and intercept as a sample alone gives them, and the same bits with every crew."""
    rng, size = np.random.default_rng(0), 2 * SAMPLES_A_PART + 1000
    targets = {"squared": rng.standard_normal, "logistic": lambda k: rng.choice([-1.0, 1.0], k)}
    b = targets.get(loss, lambda k: rng.poisson(3.0, k).astype(float))(size)
    parts, start = ascd.Problem(np.ones((size, 1)), b, loss).parts, rng.standard_normal(size)
    found = []
    for n_jobs in (1, 3):
        image, (slope, curvature) = start.copy(), np.empty((2, size))
        with crew(n_jobs):
            given = (parts.sample, parts.loss, image, slope, curvature)
            total, shift = evaluate_samples(*given, most_curvature(parts.sample, parts.loss))
        assert abs(slope.sum()) <= 1e-11 * np.abs(slope).sum()
        assert total == pytest.approx(LOSSES[loss][0](b, start + shift).sum(), rel=1e-12)
        np.testing.assert_allclose(slope, LOSSES[loss][1](b, start + shift), rtol=1e-9, atol=1e-12)
        found.append((total, shift, slope))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_array_equal(found[0][2], found[1][2])


@pytest.mark.parametrize("loss", LOSSES)
def test_looking(loss):
    parts, b, weights, image = samples(loss)
    slope, curvature = np.empty(28), np.empty(28)
    total, _ = evaluate_samples(parts.sample, parts.loss, image, slope, curvature, None)
    assert total == pytest.approx(weights @ LOSSES[loss][0](b, image))
    np.testing.assert_allclose(slope, weights * LOSSES[loss][1](b, image), atol=1e-12)
    near = weights * (LOSSES[loss][1](b, image + 1e-6) - LOSSES[loss][1](b, image - 1e-6)) / 2e-6
    np.testing.assert_allclose(curvature, near, atol=1e-4)


@pytest.mark.parametrize("length", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_stiffness_is_the_parabola_between_two_tangents(loss, length):
    """It touches the loss where the step began, and the tangent where it ended; a bound of f'' bounds it too."""
    parts, b, weights, image = samples(loss)
    there = image + length * np.random.default_rng(3).standard_normal(28)
    value, end_value = weights * LOSSES[loss][0](b, image), weights * LOSSES[loss][0](b, there)
    slope, end = weights * LOSSES[loss][1](b, image), weights * LOSSES[loss][1](b, there)
    stiffness = np.zeros(28)
    raise_to_secants(parts.sample, parts.loss, image, there, slope, end, stiffness, 0, 28)
    assert (stiffness <= weights * parts.loss.curvature_bound() * (1.0 + 1e-6)).all()
    bent = np.flatnonzero(stiffness)
    assert bent.size
    touching = (end - slope)[bent] / stiffness[bent]  # where the parabola's slope is the tangent's
    parabola = value[bent] + slope[bent] * touching + 0.5 * stiffness[bent] * touching**2
    tangent = end_value[bent] + end[bent] * (image[bent] + touching - there[bent])
    np.testing.assert_allclose(parabola, tangent, rtol=1e-6, atol=1e-9)


def samples(loss):
    rng = np.random.default_rng(2)
    A = alike((28, 5), rng)
    b, weights = target_of(loss, A, rng), rng.random(28)
    return ascd.Problem(A, b, loss, sample_weight=weights).parts, b, weights, rng.standard_normal(28)
