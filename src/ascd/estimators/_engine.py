"""Fitting with the paper's parts instead of the production solver, for research.

``minimize`` stops on steepness where the estimators promise a duality gap: it is run with falling tolerances until the
gap is small enough.  An intercept is one more coordinate without penalty (``engine.constant``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd._core.clock import Stopwatch
from ascd.engine.constant import with_constant
from ascd.engine.minimize import minimize
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.estimators._tuning import FALLING
from ascd.problem.problem import Problem
from ascd.results.solution import Solution, Status
from ascd.solver.fit import Fit
from ascd.solver.solve import as_reference

PARTS = ("rule", "oracle", "steepness", "step", "init")


def as_parts(solver: Any) -> dict[str, Any]:
    """``"ascd"``-like rule names and dictionaries of parts as the arguments of ``minimize``."""
    parts = {"rule": solver} if isinstance(solver, str) else dict(solver)
    for name in parts:
        if name not in PARTS:
            raise unknown_name(name, "part in solver", PARTS)
    if isinstance(parts.get("rule"), str) and parts["rule"] not in RULES:
        raise unknown_name(parts["rule"], "solver", RULES)
    if isinstance(parts.get("oracle"), str) and parts["oracle"] not in ORACLES:
        raise unknown_name(parts["oracle"], "oracle", ORACLES)
    return parts


def minimize_problem(
    problem: Problem,
    solver: Any,
    *,
    tol: float,
    max_iter: int,
    intercept: bool,
    x0: Array | None,
    intercept0: float,
    random_state: Any,
) -> Solution:
    """The problem's minimum by the engine, with ``max_iter`` epochs at most."""
    parts, seed, clock = as_parts(solver), _seed(random_state), Stopwatch()
    if math.isinf(problem.parts.loss.curvature_bound()):
        loss = type(problem.stated.loss).__name__
        raise ValueError(f"solver must be 'ascd' for the {loss} loss, whose curvature has no bound; got {solver!r}")
    extended = with_constant(problem) if intercept else problem
    zero = as_reference(problem, Fit(problem, np.zeros(problem.n_features), intercept, 0.0))
    target = tol * zero
    start = None if x0 is None else np.append(x0, intercept0) if intercept else np.asarray(x0, dtype=float)
    initial = _initial_steepness(extended, start, parts)
    steps, reads, seconds = 0, 0, 0.0
    for share in FALLING:
        left = max_iter * extended.n_features - steps
        solution = minimize(extended, x0=start, tol=share * initial, max_iter=left, rng=seed, record=None, **parts)
        steps, reads, seconds = steps + solution.n_iter, reads + solution.reads, seconds + solution.seconds
        start = solution.x
        if not solution.status.is_answer or solution.gap <= target or math.isinf(solution.gap):
            break
    epochs = max(1, math.ceil(steps / extended.n_features))
    return replace(
        _proved(solution, intercept, target), zero_objective=zero, n_iter=epochs, reads=reads, seconds=seconds,
        compile_seconds=clock.compile_seconds,
    )  # fmt: skip


def _proved(solution: Solution, intercept: bool, target: float) -> Solution:
    """The solution without the column of ones; its status says what its gap proves."""
    x, constant = (solution.x[:-1], float(solution.x[-1])) if intercept else (solution.x, 0.0)
    status = solution.status
    if solution.gap <= target:
        status = Status.CONVERGED
    elif solution.status.is_answer:
        status = Status.STATIONARY  # as flat as float64 can tell, but not proved good enough
    return replace(solution, x=x, intercept=constant, status=status)


def _initial_steepness(problem: Problem, start: Array | None, parts: dict[str, Any]) -> float:
    steepness = parts.get("steepness", "gs-s")
    return max(minimize(problem, "cyclic", steepness=steepness, x0=start, max_iter=0, record=None).steepness, 1e-300)


def _seed(random_state: Any) -> Any:
    """scikit-learn's random_state as a seed for NumPy's generators."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(np.iinfo(np.int32).max)
    return random_state
