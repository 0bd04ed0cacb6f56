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
