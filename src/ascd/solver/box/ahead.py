"""The dual of a support vector machine for ``solve``: the descent in its box first, then the production solver.

The descent is made for such problems and ends at a point; the production solver goes on from there.  Where the point is
good enough that is one round: its certificate.  Where it is not, what the descent has found is its start.
"""

from __future__ import annotations

import math

import numpy as np

from ascd.problem.problem import Problem
from ascd.results.limits import Limits
from ascd.solver import tuning
from ascd.solver.box.descent import BoxDescent, Outcome
from ascd.solver.box.kinds import is_box_problem
from ascd.solver.loop import Solver


def is_for_descent(problem: Problem, tol: float, limits: Limits) -> bool:
    """Is it a quadratic function without a target in a box, large enough, and asked for a gap that is not rounding?"""
    is_asked = tol >= tuning.FINEST_IN_BOX and limits.max_iter > 1 and math.isinf(limits.max_time)
    return (
        is_asked
        and problem.is_by_coordinate
        and problem.n_features > tuning.FEW_IN_BOX
        and is_box_problem(problem)
        and not has_target(problem)
    )


def has_target(problem: Problem) -> bool:
    return bool(np.any(problem.parts.sample.target))


def solver_after_descent(problem: Problem, solver: Solver, enough: float, limits: Limits) -> tuple[Solver, Outcome]:
    """A solver at the point that the descent has found, in half of the rounds at most, with what it took counted."""
    x = solver.x[:, 0].copy()
    found = BoxDescent(problem, x).minimise(lambda slope: tuning.UNDER_GOAL * enough, limits.max_iter // 2)
    after = Solver(problem, found.x[:, None].copy(), False, np.zeros(1))
    after.n_iter = found.n_iter
    after.state.reads += solver.reads + found.reads
    return after, found
