"""The problem as the engine needs it: columns in local memory, and an intercept as one more coordinate.

``solve`` keeps the intercept beside the coordinates.  The paper's rules know coordinates alone, so here the intercept
is one of them: a constant column without penalty, which rules pick as they pick others.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ascd.problem.problem import Problem


def with_local_columns(problem: Problem) -> Problem:
    """Return the problem with its columns in local memory; data stored by rows are copied."""
    if problem.parts.matrix is not None:
        return problem
    design: Any = problem.design
    local = None if design.is_dear else design.in_memory()
    if local is None:
        raise TypeError(
            f"minimize reads single columns, which must be in local memory; {type(design).__name__} keeps them: use "
            "ascd.solve"
        )
    other = copy(problem)
    other.design, other.parts = local, problem.parts._replace(matrix=local.matrix)
    return other


def with_constant(problem: Problem) -> Problem:
    """Return the problem on a copy of the data with an unpenalised column of ones."""
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
