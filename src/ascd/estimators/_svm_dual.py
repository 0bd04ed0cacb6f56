"""The dual of a support vector machine, solved and returned as a solution of the primal problem.

The raw gradient of the dual's loss is the primal weight vector, and the gap between both problems is the certificate of
either (``ascd.svm.primal_value``).  All but a few samples in memory are solved for by ``ascd.solver.svm``, made for
boxes; where that does not reach the tolerance, and for all other problems, the production solver continues from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import quiet
from ascd._core.timing import Stopwatch
from ascd.estimators._solving import Settings, added, solve_problem
from ascd.estimators._tuning import FINEST
from ascd.problem.problem import Problem
from ascd.results.solution import Solution, Status
from ascd.solver import tuning
from ascd.solver.svm import BoxDescent, BoxResult, is_box_problem
from ascd.svm import primal_value


def solve_dual(problem: Problem, zero_objective: float, settings: Settings) -> Solution:
    """Return the weights, their primal objective and its gap; ``zero_objective`` is that of zero weights."""
    found, x0 = None, None
    is_for_boxes = settings.is_auto and problem.n_features > tuning.FEW_IN_BOX and settings.max_iter > 0
    if is_for_boxes and is_box_problem(problem):
        found, outcome = _by_descent(problem, settings, zero_objective)
        is_over = outcome.is_interrupted or outcome.n_iter >= settings.max_iter
        if is_over or (found.converged and outcome.gap <= outcome.goal):
            return found
        x0, settings = outcome.x, replace(settings, max_iter=settings.max_iter - outcome.n_iter)
    further = _by_solver(problem, settings, zero_objective, x0)
    if found is None:
        return further
    best = further if further.gap <= found.gap else found
    if further.status is Status.INTERRUPTED:
        best = replace(best, status=Status.INTERRUPTED)
    return added(found, further, best)


def _by_descent(problem: Problem, settings: Settings, zero_objective: float) -> tuple[Solution, BoxResult]:
    stopwatch = Stopwatch()
    goal = goal_of(settings.tol, zero_objective, problem.parts.sample.weight)
    with quiet(settings.n_jobs, problem.n_samples * problem.n_features, library=settings.n_jobs):
        outcome = BoxDescent(problem, np.zeros(problem.n_features)).minimise(goal, settings.max_iter)
        status = Status.INTERRUPTED if outcome.is_interrupted else Status.ITERATION_LIMIT
        found = _proved(problem, outcome, settings.tol, zero_objective, status)
    return replace(found, seconds=stopwatch.seconds, compile_seconds=stopwatch.compile_seconds), outcome


def _proved(problem: Problem, outcome: BoxResult, tol: float, zero_objective: float, status: Status) -> Solution:
    """Return the solution with the weights where the descent has ended."""
    objective, _, weights = problem.evaluate(outcome.x)
    value, gap = primal_value(problem, outcome.x, weights, objective)
    taken = {"n_iter": outcome.n_iter, "reads": outcome.reads + 2 * problem.n_features, "seconds": 0.0}
    return _as_solution(weights, value, gap, tol, zero_objective, status, taken)


def _as_solution(
    weights: Array, objective: float, gap: float, tol: float, zero_objective: float, status: Status,
    taken: dict[str, Any],
) -> Solution:  # fmt: skip
    """Make a solution; ``taken`` holds its iterations, reads and times."""
    is_met = gap <= tol * zero_objective and status is not Status.INTERRUPTED
    return Solution(
        x=weights, intercept=0.0, objective=objective, zero_objective=zero_objective, gap=gap,
        status=Status.CONVERGED if is_met else status, **taken,
    )  # fmt: skip


def goal_of(tol: float, zero_objective: float, scale: Any) -> Callable[[Array], float]:
    """Return the gap to reach as a function of the weights: see ``_solving`` for what it says of their error."""

    def goal(weights: Array) -> float:
        energy = 0.5 * energy_of(weights, scale)
        return tuning.UNDER_GOAL * min(tol * zero_objective, max(tol * energy, FINEST * zero_objective))

    return goal


def energy_of(weights: Array, scale: Any) -> float:
    """Return Σ w²/scale, for one scale or one for each weight."""
    return float(weights @ weights) / float(scale) if np.ndim(scale) == 0 else float(np.sum(weights * weights / scale))


def _by_solver(problem: Problem, settings: Settings, zero_objective: float, x0: Array | None) -> Solution:
    scale = problem.parts.sample.weight

    def energy(x: Array) -> float:
        return 0.5 * energy_of(problem.evaluate(x)[2], scale)

    dual = solve_problem(problem, settings, intercept=False, x0=x0, energy=energy)
    status = Status.STALLED if dual.converged else dual.status
    taken = {name: getattr(dual, name) for name in ("n_iter", "reads", "seconds", "compile_seconds")}
    objective, _, weights = problem.evaluate(dual.x)
    value, gap = primal_value(problem, dual.x, weights, objective)
    return _as_solution(weights, value, gap, settings.tol, zero_objective, status, taken)
