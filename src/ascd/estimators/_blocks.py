"""What estimators with blocks share: building the block problem, solving it, and what the solution becomes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.blocks import BlockProblem, BlockSolution, path_blocks, solve_blocks
from ascd.estimators._base import LinearRegressor
from ascd.estimators._fitting import Settings, certificate_of, check_finite, warn_unless_converged
from ascd.estimators._following import Followed, along, followed
from ascd.estimators._solving import in_float32
from ascd.matrix.arithmetic import UNIT
from ascd.results.solution import Status


class BlockRegressor(LinearRegressor):
    """A linear regression whose penalty couples coefficients."""

    def _block_problem(self, X: Any, y: Any, penalty: Any, weight: Array | None) -> BlockProblem:
        return self._built(X, partial(BlockProblem, X, y, "squared", penalty, None, weight))

    def _solved(self, problem: BlockProblem) -> BlockSolution:
        coef, constants = self._starts((problem.n_outputs, problem.n_features))
        has_start = coef[0] is not None
        return solve_block_problem(
            problem, self._settings(), intercept=self.fit_intercept,
            x0=_as_point(coef, problem) if has_start else None, constants=constants if has_start else None,
        )  # fmt: skip

    def _keep_rows(self, solution: BlockSolution, unit: float) -> None:
        """The fitted attributes for several targets."""
        coef, constants = np.asfortranarray(solution.x.T), np.asarray(solution.intercept)
        check_finite(type(self).__name__, coef, constants)
        self.coef_, self.intercept_ = coef, constants if self.fit_intercept else 0.0
        self.n_iter_, self.dual_gap_ = self._count(solution), unit * solution.gap
        self.certificate_ = certificate_of([solution], self.tol, unit)
        self.eps_ = self.certificate_.tolerance
        warn_unless_converged(self, self.certificate_)


def _as_point(coef: Array, problem: BlockProblem) -> Array:
    return coef[0] if problem.loss.is_flat else coef.T


def solve_block_problem(
    problem: BlockProblem, settings: Settings, *, intercept: bool, x0: Array | None = None, constants: Any = None
) -> BlockSolution:
    """A solution, with coefficients that float32 holds where these are asked for."""
    found = solve_blocks(
        problem, settings.tol, x0=x0, intercept=intercept, intercept0=constants if intercept else None,
        max_iter=settings.max_iter, n_jobs=settings.n_jobs,
    )  # fmt: skip
    return in_float32(rounded, problem, found, settings)


def rounded(problem: BlockProblem, found: BlockSolution, tol: float) -> BlockSolution:
    """The solution with coefficients and intercepts that float32 holds, and their own gap.

    F(x') − min F is F(x') − F(x), whose rounding errors are added, and the gap of x.
    """
    with np.errstate(over="ignore"):
        x, constant = (np.asarray(value).astype(np.float32).astype(np.float64) for value in (found.x, found.intercept))
    if not (np.isfinite(x).all() and np.isfinite(constant).all()):
        return found
    before, value = (problem.objective(*point) for point in ((found.x, found.intercept), (x, constant)))
    total = float(problem.weight.sum())
    rows = np.abs(problem.as_point(x, "x")).sum(axis=1) @ problem.norm[problem.groups.order]
    size = float(rows) + float(np.abs(constant).sum()) * math.sqrt(total)
    slope = math.sqrt(2.0 * max(value, before)) if problem.loss.is_quadratic else math.sqrt(2.0 * total)
    error = (problem.n_samples * problem.n_outputs + 16.0) * (abs(value) + abs(before))
    error += (problem.n_features + 4.0) * 2.0 * slope * size
    error += 0.0 if problem.loss.is_quadratic else 16.0 * math.sqrt(total) * (math.sqrt(total) + size)
    gap = found.gap + max(0.0, value - before) + 2.0 * UNIT * error
    status = found.status
    if gap > tol * found.zero_objective and status is Status.CONVERGED:
        status = Status.STALLED
    intercept: Any = float(constant) if problem.loss.is_flat else constant
    return replace(found, x=x, intercept=intercept, objective=value, gap=gap, status=status)


def follow_blocks(problem: BlockProblem, factors: Array, settings: Settings, *, intercept: bool) -> Followed:
    """The problem with its penalty times each of the falling factors, each fit started from the one before."""
    return followed(partial(along, path_blocks, problem, factors, settings, intercept=intercept), len(factors))
