"""Which problems are solved in their box, and which of them begin at nothing."""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.local import Local
from ascd.problem.losses import Squared
from ascd.problem.penalties import Box
from ascd.problem.problem import Problem


def is_box_problem(problem: Problem) -> bool:
    """Is the loss quadratic, the penalty a box that holds every coordinate, and are the columns in memory?"""
    penalty, parts = problem.parts.penalty, problem.parts
    if not (isinstance(penalty, Box) and isinstance(problem.design, Local) and parts.loss.is_quadratic()):
        return False
    is_finite = np.isfinite(penalty.lower) & np.isfinite(penalty.upper)
    return bool(np.all(is_finite | (np.asarray(penalty.l2) > 0.0)) and np.all(np.asarray(parts.sample.weight) > 0.0))


def begins_at_nothing(problem: Problem, x: Array) -> bool:
    """Is v = 0 at x, which is 0?  So the dual of a support vector machine begins."""
    return isinstance(problem.parts.loss, Squared) and not (x.any() or problem.parts.sample.target.any())
