"""Solving an estimator's problem, by the production solver or by the engine's parts, for its coefficients too.

A gap bounds what is left of the objective.  With a penalty ½·Σ μ_j x_j² it bounds the coefficients' error too, since

    ½·Σ μ_j (x_j − x*_j)² ≤ F(x) − F(x*) ≤ gap:

a gap of at most tol·½·Σ μ_j x_j² makes the relative error of the coefficients, in the penalty's norm, at most √tol.
``solve_problem`` asks for that as well, as far as float64 can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.estimators._engine import minimize_problem
from ascd.estimators._fitting import Settings
from ascd.estimators._penalty import curvatures
from ascd.estimators._rounding import rounded
from ascd.estimators._tuning import FALL, FINEST, LAST_DIGITS, ROUNDS
from ascd.matrix.base import DataGone
from ascd.problem.problem import Problem
from ascd.results.lost import tell_of_loss
from ascd.results.solution import Solution, Status
from ascd.solver import solve
from ascd.solver.samples import cost_of

Energy = Callable[[Array], float]


def solve_problem(
    problem: Problem,
    settings: Settings,
    *,
    intercept: bool,
    x0: Array | None = None,
    intercept0: float | None = None,
    energy: Energy | None = None,
    closely: bool = True,
) -> Solution:
    """A solution by the production solver or by the engine's parts.

    ``energy`` is ½·Σ μ_j w_j² of the coefficients w that a point x stands for, by default x itself; without
    ``closely`` the gap need not bound their error.
    """
    if x0 is not None and not math.isfinite(cost_of(problem.parts.penalty, np.arange(x0.size), x0)):
        x0 = None  # a warm start that other bounds do not allow
    limits: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "intercept": intercept, "x0": x0}
    if settings.solver != "ascd" and problem.design.is_dear:
        raise ValueError(f"solver must be 'ascd' for data that are not in memory; got {settings.solver!r}")
    if settings.solver != "ascd":
        found = minimize_problem(
            problem, settings.solver, intercept0=intercept0 or 0.0, random_state=settings.random_state, **limits
        )
    else:
        found = solve(problem, intercept0=intercept0, n_jobs=settings.n_jobs, **limits)
        energy = energy or energy_of(problem.parts.penalty)
        if energy is not None and closely:
            found = refined(solve, problem, settings, intercept, found, energy)
    return in_float32(rounded, problem, found, settings)


def in_turn(solvers: Iterable[Callable[[Settings], Solution]], settings: Settings) -> list[Solution]:
    """Several problems, one after the other; after Ctrl-C in one of them the others stay where they begin."""
    solutions: list[Solution] = []
    is_over = False
    for solve_one in solvers:
        found = solve_one(replace(settings, max_iter=0) if is_over else settings)
        if is_over and not found.status.is_answer:
            found = replace(found, status=Status.INTERRUPTED)
        is_over = is_over or found.status is Status.INTERRUPTED
        solutions.append(found)
    return solutions


def in_float32(round_off: Callable[..., Any], problem: Any, found: Any, settings: Settings) -> Any:
    """The solution in float32, if that is asked for; nothing is proved of it where the data cannot be read for that."""
    if not settings.to_float32:
        return found
    status = found.status
    try:
        if status is not Status.UNREACHABLE:
            return round_off(problem, found, settings.tol)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except DataGone as error:
        tell_of_loss(error)
        status = Status.UNREACHABLE
    return replace(found, status=status, gap=math.inf)


def energy_of(penalty: Any) -> Energy | None:
    """½·Σ μ_j x_j² as a function of x; None where the penalty has kinks or nothing is penalised."""
    mu = curvatures(penalty)
    return None if mu is None or not np.any(mu) else lambda x: 0.5 * float(np.sum(mu * x**2))


def refined(
    solver: Callable[..., Any], problem: Any, settings: Settings, intercept: bool, found: Any, energy: Energy
) -> Any:
    """Go on until the gap bounds the coefficients' error too.  That this may fail is no failure of the fit."""
    tol, zero = settings.tol, found.zero_objective
    while found.converged and tol > FINEST and found.n_iter < settings.max_iter:
        wanted = settings.tol * energy(found.x)
        if found.gap <= max(wanted, FINEST * zero):
            break
        tol = max(FINEST, min(FALL * tol, wanted / zero))
        start = {"x0": found.x, "intercept0": found.intercept if intercept else None}
        limits = {"max_iter": min(ROUNDS, settings.max_iter - found.n_iter), "n_jobs": settings.n_jobs}
        try:
            finer = solver(problem, tol, intercept=intercept, **start, **limits)
        except (KeyboardInterrupt, DataGone):  # before it has looked at its start: that is known already
            break
        found = _joined(found, finer)
        if not finer.converged:
            break
    return found


def polished(
    problem: Problem, settings: Settings, *, intercept: bool, x0: Array | None, intercept0: float | None
) -> Solution:
    """All the precision there is: one round at a time, until one leaves every coefficient where it was.

    A tolerance below the rounding errors is never met, and the solver would go on to its last round.
    """
    if settings.solver != "ascd":
        return solve_problem(problem, settings, intercept=intercept, x0=x0, intercept0=intercept0, closely=False)
    limited = replace(settings, max_iter=min(1, settings.max_iter))
    one_round = partial(solve_problem, problem, limited, intercept=intercept, closely=False)
    found = one_round(x0=x0, intercept0=intercept0)
    while found.status is Status.ITERATION_LIMIT and found.n_iter < settings.max_iter:
        try:
            finer = one_round(x0=found.x, intercept0=found.intercept)
        except (KeyboardInterrupt, DataGone):  # before it has looked at its start: that is known already
            return replace(found, status=Status.INTERRUPTED)
        stays = _is_same(found, finer)
        found = added(found, finer, finer)
        if stays:
            break
    return found


def _is_same(first: Solution, second: Solution) -> bool:
    """Are they one point, but for the last digits?"""
    before, after = np.append(first.x, first.intercept), np.append(second.x, second.intercept)
    return bool(np.all(np.abs(after - before) <= LAST_DIGITS * np.abs(before)))


def _joined(first: Any, second: Any) -> Any:
    """The one with the smaller gap, and what both took."""
    best = second if second.gap <= first.gap else first
    return added(first, second, replace(best, status=first.status))


def added(first: Any, second: Any, best: Any) -> Any:
    """The best one with what both took."""
    return replace(
        best,
        n_iter=first.n_iter + second.n_iter,
        reads=first.reads + second.reads,
        seconds=first.seconds + second.seconds,
        compile_seconds=first.compile_seconds + second.compile_seconds,
    )
