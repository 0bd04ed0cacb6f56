"""Fits that were false or slow before there was one solver."""

from __future__ import annotations

import numpy as np
import pytest

import ascd

ZERO_TARGETS = {
    "lasso": (ascd.L1(1.0), 1),
    "groups": (ascd.GroupL2(1.0, groups=2), 1),
    "rows": (ascd.L21(1.0), 2),
    "rows of groups": (ascd.SparseGroup(0.5, 0.5, groups=2), 3),
    "weak": (ascd.L21(1e-9), 2),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ZERO_TARGETS)
def test_targets_of_zero_are_not_converged_at_a_start_of_ones(name, intercept):
    """F(0) = 0, and the tolerance was a share of 1 instead."""
    penalty, outputs = ZERO_TARGETS[name]
    A = np.random.default_rng(0).standard_normal((10, 4))
    shape = (outputs,) if outputs > 1 else ()
    problem = ascd.Problem(A, np.zeros((10, *shape)), penalty=penalty)
    solution = ascd.solve(problem, x0=np.ones((4, *shape)), intercept=intercept)
    if solution.converged:
        assert np.abs(solution.x).max() <= 1e-12
        assert solution.gap <= 1e-6 * solution.zero_objective
    assert problem.objective(solution.x, solution.intercept) <= solution.gap


def test_separable_classes_with_a_weak_penalty_end_in_few_rounds():
    """All classes of a column may move by one number: cut there, Newton's steps crept for 112 s to the limit."""
    A, classes = np.array([[-5.0], [1.0], [-1.0]]), np.array([0, 1, 2])
    solution = ascd.solve(ascd.Problem(A, classes, "softmax", ascd.SparseGroup(1e-8, 0.0)), tol=1e-6)
    assert solution.converged
    assert solution.n_iter <= 30


@pytest.mark.parametrize("strength", [1.0, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_of_large_numbers_ends_where_the_tolerance_is_met(seed, strength):
    """8 × 92 numbers around 1e3: the gap was small enough after 0.6 s, and the run went on to 14.7 s."""
    rng = np.random.default_rng(seed)
    A = 1e3 * (1.0 + 0.3 * rng.standard_normal((8, 92)))
    problem = ascd.Problem(A, rng.permutation(8) % 3, "softmax", ascd.SparseGroup(strength, 0.0))
    solution = ascd.solve(problem, tol=1e-4, intercept=True)
    assert solution.converged
    assert solution.n_iter <= 20
    met = np.flatnonzero(np.array(solution.trace.gap) <= 1e-4 * solution.zero_objective)
    assert solution.trace.iteration[met[0]] == solution.n_iter
