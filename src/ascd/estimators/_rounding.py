"""Coefficients in float32, with the certificate that they have.

Data in float32 give coefficients in float32, as scikit-learn's do.  The fit runs in float64; what is proved of its
coefficients is not proved of the rounded ones.  Their gap is found where they lie: with (x, c) rounded and c* the best
intercept for x,

    F(x, c) − min F  =  [F(x, c) − F(x, c*)] + [F(x, c*) − min F],

a difference of two sums, with their rounding errors, and the duality gap at (x, c*).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._checks import Array
from ascd.careful import UNIT
from ascd.problem import Problem
from ascd.solution import Solution, Status
from ascd.solver import solve
from ascd.solver.samples import cost_of, look


def rounded(problem: Problem, found: Any, tol: float, intercept: bool) -> Any:
    """The solution with coefficients and intercept that float32 holds, and their own gap."""
    x, constant = as_float32(problem, found.x), float(np.float32(found.intercept))
    if np.array_equal(x, found.x) and constant == found.intercept:
        return found
    start = {"x0": x, "intercept0": constant} if intercept else {"x0": x}
    there = solve(problem, tol, intercept=intercept, max_iter=0, **start)
    value = objective_at(problem, x, constant)
    off = (problem.n_samples + 16.0) * UNIT * (abs(value) + abs(there.objective))
    gap = there.gap + max(0.0, value - there.objective) + off
    status = found.status
    if gap > tol * found.zero_objective and status is Status.CONVERGED:
        status = Status.STALLED
    facts = {"x": x, "intercept": constant, "objective": value, "gap": gap, "status": status}
    return replace(found, **facts) if isinstance(found, Solution) else found._replace(**facts)


def as_float32(problem: Problem, x: Array) -> Array:
    """The nearest coefficients that float32 holds and the penalty allows; zeros stay zeros."""
    nearest = x.astype(np.float32)
    inside = np.nextafter(nearest, np.float32(0.0))
    everything = np.arange(x.size)
    if math.isfinite(cost_of(problem.parts.penalty, everything, nearest.astype(np.float64))):
        return nearest.astype(np.float64)
    wide = nearest.astype(np.float64)
    costs = [cost_of(problem.parts.penalty, everything[j : j + 1], wide[j : j + 1]) for j in everything]
    return np.where(np.isfinite(costs), nearest, inside).astype(np.float64)


def objective_at(problem: Problem, x: Array, constant: float) -> float:
    """F(x, c)."""
    parts, image = problem.parts, problem.image(x) + constant
    loss = look(parts.sample, parts.loss, image, np.empty(image.size), np.empty(image.size))
    return float(loss + cost_of(parts.penalty, np.arange(x.size), x))
