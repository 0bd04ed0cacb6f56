"""An intercept for the engine: one more coordinate, whose column is constant and which has no penalty.

``solve`` keeps the intercept where the slopes sum to zero, beside the coordinates.  The paper's rules know coordinates
alone, so here it is one of them: rules pick it as they pick others, and its gradient entry has its interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._core.checks import as_finite_vector
from ascd.engine.columns import with_local_columns
from ascd.problem.problem import Problem
from ascd.results.solution import Snapshot, Solution


def with_constant(problem: Problem) -> Problem:
    """The same problem on a copy of the data with a column of ones, which has no penalty."""
    problem = with_local_columns(problem)
    n, penalty, weight = problem.n_features, problem.parts.penalty, problem.parts.sample.weight
    if not hasattr(penalty, "with_free"):
        raise TypeError(
            "an intercept of the engine needs a penalty with a method with_free(self, n), which returns it for n "
            f"coordinates and one more without any; {type(penalty).__name__} has none: use ascd.solve or no intercept"
        )
    columns, ones = problem.parts.matrix.to_scipy(problem.n_samples, n), np.ones((problem.n_samples, 1))
    if isinstance(columns, np.ndarray):
        wider: Any = np.asfortranarray(np.hstack([columns, ones]))
    else:
        from scipy.sparse import hstack

        wider = hstack([columns, ones], format="csc")
    stated, weights = problem.stated, None if np.ndim(weight) == 0 else weight
    return Problem(wider, stated.target, stated.loss, penalty.with_free(n), weights, stated.offset)


def started(x0: Any, n: int) -> Any:
    """A starting point with a constant of zero."""
    return None if x0 is None else np.append(as_finite_vector(x0, "x0", n), 0.0)


def without_constant(solution: Solution) -> Solution:
    """The solution with the constant apart."""
    return replace(solution, x=solution.x[:-1].copy(), intercept=float(solution.x[-1]))


def seen_without(callback: Callable[[Snapshot], Any] | None) -> Callable[[Snapshot], Any] | None:
    """A callback that sees the coefficients alone."""
    return None if callback is None else lambda snapshot: callback(snapshot._replace(x=snapshot.x[:-1]))
