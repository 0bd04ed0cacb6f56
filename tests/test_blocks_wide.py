"""Working sets of blocks that are wide: Newton's step by a matrix of the samples, and how much is read."""

from __future__ import annotations

import numpy as np
import pytest
from ascd.blocks import tuning
from ascd.blocks.gram_model import kronecker_newton
from ascd.blocks.newton import wide_newton
from ascd.blocks.pieces import Free
from blocks import A, Y

import ascd


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("kinks", ["all", "some", "none"])
def test_the_step_from_the_samples_is_the_one_from_the_columns(outputs, size, kinks):
    rng = np.random.default_rng(outputs + size)
    block, weight = rng.standard_normal((12, 40)), rng.random(12) + 0.1
    starts = np.arange(0, 40, size)
    kink = rng.random(starts.size) + 0.5
    kink[{"all": slice(0), "some": slice(None, None, 2), "none": slice(None)}[kinks]] = 0.0
    kappa, ridge = np.repeat(kink, size), rng.random(40) + 0.2
    unit = rng.standard_normal((40, outputs))
    lengths = np.sqrt(np.add.reduceat((unit**2).sum(axis=1), starts))
    unit /= np.repeat(lengths, size)[:, None]
    right = rng.standard_normal((40, outputs))
    found = Free(np.arange(40), starts, np.zeros(unit.shape), unit, kappa, ridge)
    gram = block.T @ (weight[:, None] * block)
    expected = kronecker_newton(gram, kappa, ridge, unit, starts, right)
    np.testing.assert_allclose(wide_newton(block, weight, found, right), expected, rtol=1e-8, atol=1e-10)
    whole = np.kron(gram + np.diag(kappa + ridge), np.eye(outputs))
    for b, first in enumerate(starts):
        along = np.zeros((40, outputs))
        along[first : first + size] = unit[first : first + size]
        whole -= kink[b] * np.outer(along.ravel(), along.ravel())
    np.testing.assert_allclose(np.linalg.solve(whole, right.ravel()).reshape(right.shape), expected, atol=1e-8)


def test_a_penalty_without_curvature_still_gives_a_direction():
    rng = np.random.default_rng(0)
    block = np.c_[rng.standard_normal((5, 8)), np.zeros(5)]
    zero = np.zeros(9)
    found = Free(np.arange(9), np.arange(9), np.zeros((9, 1)), np.ones((9, 1)), zero, zero)
    step = wide_newton(block, np.ones(5), found, block.T @ rng.standard_normal((5, 1)))
    assert np.isfinite(step).all()
    assert step[8] == 0.0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "penalty", [ascd.GroupL2(0.05, 4), ascd.L21(0.05), ascd.SparseGroup(0.01, 0.05, 4)], ids=["group", "rows", "sparse"]
)
def test_large_working_sets_reach_the_same_optimum(monkeypatch, penalty, intercept):
    """More free columns than samples, read from the columns: the same optimum, with few passes over the data."""
    X, target = A[:15], Y[:15] if isinstance(penalty, ascd.L21) else Y[:15, 0]
    problem = ascd.Problem(X, target, penalty=penalty)
    expected = ascd.solve(problem, tol=1e-12, intercept=intercept)
    monkeypatch.setattr(tuning, "LARGEST_GRAM", 2)
    found = ascd.solve(problem, tol=1e-12, intercept=intercept)
    assert found.status is ascd.Status.CONVERGED
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.reads <= 1000 * problem.n_features


def test_the_first_working_set_has_few_columns_where_blocks_are_wide():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1200))
    widths = []

    def watch(snapshot):
        widths.append(int(np.count_nonzero(snapshot.x)))

    problem = ascd.Problem(X, X[:, 0], penalty=ascd.GroupL2(2.0, 60))
    ascd.solve(problem, tol=1e-8, callback=watch)
    assert max(widths[:2]) <= tuning.FEWEST_FIRST * 60


@pytest.mark.parametrize(("groups", "outputs"), [(1, 1), (10, 1), (1, 2)])
def test_columns_far_from_zero_are_no_harder_with_an_intercept(groups, outputs):
    """Few samples of many columns, far off their centre: sweeps took turns with the intercept, and hardly moved."""
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((5, 200))
    target = columns[:, :outputs] + columns[:, 2:3]
    runs = [
        ascd.solve(
            ascd.Problem(columns + far, target, penalty=ascd.GroupL2(0.25, groups=groups)), intercept=True, max_iter=40
        )
        for far in (0.0, 1e3, 1e5)
    ]
    assert [run.status.value for run in runs] == ["converged"] * 3
    for run in runs[1:]:
        assert abs(run.objective - runs[0].objective) <= run.gap + runs[0].gap + 1e-9 * runs[0].zero_objective
