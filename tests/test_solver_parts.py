"""The solver's parts against plain NumPy: balls for the gradient, Gram matrices, the intercept."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from solving import LOSSES, alike, target_of

import ascd
from ascd._core.threads import use_threads
from ascd.problem.samples import evaluate_samples
from ascd.problem.tuning import SAMPLES_A_PART
from ascd.solver.bounds import GradientBounds
from ascd.solver.tuning import SLOTS

pytestmark = pytest.mark.usefixtures("long_way")

SEEDS = st.integers(0, 10_000)


def design_of(rng, shape=(10, 7), storage="dense"):
    A = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    A[:, rng.integers(shape[1])] = 0.0
    A[:, 0] = A[:, -1] if rng.random() < 0.3 else A[:, 0]
    return A, (sp.csc_array(A) if storage == "sparse" else A)


# ------------------------------------------------------------------------------------- bounds


def balls_of(problem, intercept):
    """Bounds that make balls, where few columns in memory would be read instead."""
    bounds = GradientBounds(problem, intercept)
    bounds.reads_always = False
    return bounds


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS, intercept=st.booleans(), storage=st.sampled_from(["dense", "sparse"]), weighted=st.booleans(),
    sums=st.sampled_from(["to zero", "nearly to zero", "to anything"]),
)  # fmt: skip
def test_intervals_contain_the_exact_entries(seed, intercept, storage, weighted, sums):
    """Whatever the raw gradients were and sum to, and whichever columns were read at them."""
    rng = np.random.default_rng(seed)
    A, design = design_of(rng, storage=storage)
    weights = rng.random(10) * (rng.random(10) < 0.8) if weighted else None
    bounds = balls_of(ascd.Problem(design, np.ones(10), sample_weight=weights), intercept)
    gradient, read = rng.standard_normal((10, 1)) * 10.0 ** rng.integers(-8, 8), set()
    for _ in range(3 * SLOTS):
        gradient = rng.choice([0.5, 1.0, -2.0]) * gradient + 10.0 ** rng.integers(-9, 1) * rng.standard_normal((10, 1))
        kept = {"to zero": 0.0, "nearly to zero": 1e-3, "to anything": 1.0}[sums]
        gradient = gradient - (1.0 - kept) * gradient.mean() if intercept else gradient
        bounds.update(gradient)
        unread = [j for j in range(7) if j not in read]
        assert np.all(np.isinf(bounds.radius[unread]))
        columns = rng.choice(7, size=rng.integers(1, 8), replace=False)
        before = bounds.reads
        bounds.read(columns, gradient)
        assert len(columns) <= bounds.reads - before <= 7  # columns of a reference that is replaced are read too
        read |= set(map(int, columns))
        error = np.abs(A.T @ gradient - bounds.estimate)[:, 0] - bounds.radius
        allowed = 1e-14 * np.linalg.norm(A, axis=0) * np.linalg.norm(gradient)
        assert np.all((error <= allowed)[sorted(read)])
        assert np.all(bounds.radius[columns] == 0.0)


def test_a_multiple_of_a_reference_is_known_but_for_rounding():
    rng = np.random.default_rng(0)
    A, V = rng.standard_normal((40, 7)), rng.standard_normal((40, 1))
    bounds = balls_of(ascd.Problem(A, np.ones(40)), False)
    bounds.read_all(V)
    bounds.update(2.0 * V)
    np.testing.assert_allclose(bounds.estimate, 2.0 * A.T @ V, rtol=1e-12)
    assert np.all(bounds.radius > 0.0)


GROUPS = [3, 1, 4, 2, 5, 5]


def group_problem(outputs=1, penalty=None, d=30, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, 20)) + rng.standard_normal((d, 1))
    B = A[:, :3] @ rng.standard_normal((3, outputs)) + rng.standard_normal((d, outputs))
    return A, ascd.Problem(A, B, penalty=penalty or ascd.GroupL2(2.0, groups=GROUPS)), rng


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_balls_contain_the_gradients_of_blocks(outputs, intercept):
    A, problem, rng = group_problem(outputs)
    bounds, every = balls_of(problem, intercept), np.arange(len(GROUPS))
    gradient = rng.standard_normal((30, outputs))
    for turn in range(40):
        gradient = 0.9 * gradient + 0.2 * rng.standard_normal(gradient.shape)
        gradient -= gradient.mean(axis=0) * intercept
        bounds.update(gradient)
        error = np.add.reduceat(((A.T @ gradient - bounds.estimate) ** 2).sum(axis=1), problem.groups.starts[:-1])
        assert (np.sqrt(error) <= bounds.radius * (1.0 + 1e-12))[bounds.slot >= 0].all()
        bounds.read(every if turn == 0 else np.flatnonzero(rng.random(6) < 0.5 * rng.random()), gradient)
        assert bounds.used.tolist() == [int((bounds.slot == slot).sum()) for slot in range(SLOTS)]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_raw_gradient_of_zeros_tells_nothing_of_later_ones(intercept, outputs):
    """What lay across an earlier reference was kept: columns along it had intervals of almost no width."""
    rng = np.random.default_rng(3)
    first, later = rng.standard_normal((2, 12, outputs))
    first, later = first - first.mean(axis=0), later - later.mean(axis=0)
    A = np.asfortranarray(first[:, :1] + 1e-4 * rng.standard_normal((12, 6)))
    problem = ascd.Problem(A, rng.standard_normal((12, outputs)), penalty=ascd.L21(1.0))
    bounds = balls_of(problem, intercept)
    for gradient in (first, np.zeros_like(first)):
        bounds.read_all(gradient)
    bounds.update(later)
    assert np.all(np.linalg.norm(A.T @ later - bounds.estimate, axis=1) <= bounds.radius)


def test_blocks_that_moved_or_may_move_are_not_screened_out():
    _, problem, _ = group_problem()
    x, estimate = np.zeros((20, 1)), np.zeros((20, 1))
    starts = problem.groups.starts
    x[0], estimate[starts[[1, 2, 4, 5]], 0] = 1.0, [1.9, 1.9, 2.1, np.nan]
    radius = np.array([0.0, 0.05, 0.2, np.inf, 0.0, 0.0])
    assert problem.terms().screen(x, estimate, radius).tolist() == [0, 2, 3, 4, 5]


# --------------------------------------------------------------------------------- the intercept


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("far", [0.0, 1e3, -1e6])
def test_balance_makes_the_gradients_sum_to_zero(loss, far):
    rng = np.random.default_rng(1)
    A = alike((28, 5), rng)
    b, weights = target_of(loss, A, rng), rng.random(28) * (rng.random(28) < 0.8)
    far = float(np.clip(far, -500.0, 500.0)) if loss == "poisson" else far
    predictor = far + 0.1 * rng.standard_normal(28)
    total, gradient = balanced(loss, b, weights, predictor)
    assert abs(gradient.sum()) <= (1e-12 + 1e-14 * abs(far)) * np.abs(gradient).sum()  # z is rounded out there
    best = optimize.minimize_scalar(
        lambda c: weights @ LOSSES[loss][0](b, predictor + c), bracket=(-1.0, 1.0), tol=1e-12
    )
    assert total == pytest.approx(weights @ LOSSES[loss][0](b, predictor), rel=1e-12)
    assert total <= best.fun * (1.0 + 1e-12)


def balanced(loss, b, weights, predictor):
    parts = ascd.Problem(np.ones((len(b), 1)), b, loss, sample_weight=weights).parts
    gradient, before, most = np.empty(len(b)), predictor.copy(), parts.loss.curvature_bound() * weights.sum()
    total, shift = evaluate_samples(parts.sample, parts.loss, predictor, gradient, np.empty(len(b)), most)
    np.testing.assert_allclose(predictor, before + shift, rtol=1e-12)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(gradient, weights * LOSSES[loss][1](b, predictor), atol=1e-9)
    return total, gradient


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.usefixtures("compiled")
def test_many_samples_are_evaluated_in_parts(loss):
    """The same losses, gradients and intercept as one by one, and the same bits with any number of threads."""
    rng, size = np.random.default_rng(0), 2 * SAMPLES_A_PART + 1000
    targets = {"squared": rng.standard_normal, "logistic": lambda k: rng.choice([-1.0, 1.0], k)}
    b = targets.get(loss, lambda k: rng.poisson(3.0, k).astype(float))(size)
    problem, start = ascd.Problem(np.ones((size, 1)), b, loss), rng.standard_normal(size)
    parts = problem.parts
    found = []
    for n_jobs in (1, 3):
        predictor, (gradient, curvature) = start.copy(), np.empty((2, size))
        with use_threads(n_jobs):
            given = (parts.sample, parts.loss, predictor, gradient, curvature)
            total, shift = evaluate_samples(*given, problem.loss.most)
        assert abs(gradient.sum()) <= 1e-11 * np.abs(gradient).sum()
        assert total == pytest.approx(LOSSES[loss][0](b, start + shift).sum(), rel=1e-12)
        np.testing.assert_allclose(gradient, LOSSES[loss][1](b, start + shift), rtol=1e-9, atol=1e-12)
        found.append((total, shift, gradient))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_array_equal(found[0][2], found[1][2])
