"""Least squares that are smooth everywhere: exact coefficients by linear algebra, with the gap computed where they lie.

The gap is never assumed: it is what ``ascd.solve`` finds at the coefficients, without a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_design
from ascd._core.clock import Stopwatch
from ascd._core.threads import blas_threads
from ascd.estimators._fitting import Settings
from ascd.estimators._normal_equations import ridge_coefficients
from ascd.estimators._penalty import curvatures
from ascd.estimators._rounding import rounded
from ascd.estimators._solving import solve_problem
from ascd.problem.problem import Problem
from ascd.results.solution import Solution, Status
from ascd.solver import solve


def solve_smooth(problems: Sequence[Problem], X: Any, settings: Settings, *, intercept: bool) -> list[Solution]:
    """The solutions of least squares with L2 penalties by linear algebra, with the gap that is found there.

    The problems differ in their targets and, perhaps, in the strength of their penalties.
    """
    n_features = problems[0].n_features
    sample = problems[0].parts.sample
    weight = None if np.ndim(sample.weight) == 0 else sample.weight
    mus = [np.broadcast_to(curvatures(one.parts.penalty), n_features).astype(float) for one in problems]
    solutions: dict[int, Solution] = {}
    for members in _alike(mus):
        clock = Stopwatch()
        Y = np.stack([problems[k].parts.sample.target for k in members], axis=1)
        with blas_threads(settings.n_jobs, X.shape[0] * X.shape[1]):
            answer = ridge_coefficients(as_design(X), Y, weight, mus[members[0]], intercept)
        share, reads = clock.seconds / len(members), answer.passes * n_features
        for k, x, constant in zip(members, answer.coefs, answer.intercepts, strict=True):
            start = {"x0": x, "intercept0": float(constant) if intercept else None}
            found = certify(problems[k], settings, start, intercept, answer.is_exact)
            solutions[k] = replace(found, seconds=found.seconds + share, reads=found.reads + reads)
    return [solutions[k] for k in range(len(problems))]


def certify(problem: Problem, settings: Settings, start: dict[str, Any], intercept: bool, is_exact: bool) -> Solution:
    """The gap at a point that linear algebra has found; where it does not prove enough, the solver goes on from there.

    Exact coefficients stay as they are unless the solver proves better ones.
    """
    if not (np.isfinite(start["x0"]).all() and math.isfinite(problem.objective(start["x0"]))):  # overflow
        return solve_problem(problem, settings, intercept=intercept)
    if not is_exact:
        return solve_problem(problem, settings, intercept=intercept, **start)
    at_once = solve(problem, settings.tol, intercept=intercept, max_iter=0, n_jobs=settings.n_jobs, **start)
    if not at_once.converged:
        later = solve_problem(problem, settings, intercept=intercept, **start)
        if later.converged:
            return later
        at_once = replace(at_once, status=later.status if later.status.is_answer else Status.STALLED)
    return rounded(problem, at_once, settings.tol) if settings.to_float32 else at_once


def _alike(vectors: list[Array]) -> list[list[int]]:
    """The numbers of equal vectors, together."""
    groups: dict[bytes, list[int]] = {}
    for k, vector in enumerate(vectors):
        groups.setdefault(vector.tobytes(), []).append(k)
    return list(groups.values())
