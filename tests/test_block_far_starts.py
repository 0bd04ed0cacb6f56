"""Starts so far away that losses have no curvature there."""

from __future__ import annotations

import numpy as np
import pytest

import ascd


@pytest.mark.parametrize("start", [1e3, 1e8, 1e12])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_saturated_softmax_does_not_hold_the_solver(start: float, intercept: bool) -> None:
    """It once stalled a thousand times and more above F(0)."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 6))
    problem = ascd.Problem(A, np.arange(20) % 3, loss="softmax", penalty=ascd.GroupL2(1.0, groups=2))
    near = ascd.solve(problem, tol=1e-10, intercept=intercept)
    far = ascd.solve(problem, tol=1e-10, x0=start * rng.standard_normal((6, 3)), intercept=intercept)
    assert far.status == "converged"
    assert abs(far.objective - near.objective) <= far.gap + near.gap + 1e-12


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize("intercept", [False, True])
def test_steps_of_a_bounded_length_do_not_go_all_the_way(loss: str, intercept: bool) -> None:
    """From 10⁸ they would take millions: a thousand rounds ended far above F(0)."""
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((30, 8)), np.sign(rng.standard_normal(30))
    problem = ascd.Problem(A, b, loss=loss, penalty=ascd.GroupL2(1.0, groups=2))
    near = ascd.solve(problem, tol=1e-10, intercept=intercept)
    far = ascd.solve(problem, tol=1e-10, x0=1e8 * rng.standard_normal(8), intercept=intercept, max_iter=60)
    assert far.status == "converged"
    assert abs(far.objective - near.objective) <= far.gap + near.gap + 1e-12
