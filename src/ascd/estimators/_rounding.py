"""Coefficients in float32, with the certificate that they have.

Data in float32 give coefficients in float32, as scikit-learn's do.  The fit runs in float64; what is proved of its
coefficients is not proved of the rounded ones.  With x the first and x' the second (and their intercepts)

    F(x') − min F  =  [F(x') − F(x)] + [F(x) − min F],

a difference of two sums, whose rounding errors are added, and the gap of the fit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.arithmetic import UNIT
from ascd.problem.at_samples import evaluate_samples
from ascd.problem.problem import Problem
from ascd.results.solution import Solution, Status
from ascd.solver.samples import cost_of


def rounded(problem: Problem, found: Solution, tol: float) -> Solution:
    """The solution with coefficients and intercept that float32 holds, and their own gap."""
    with np.errstate(over="ignore"):
        x, constant = as_float32(problem, found.x), float(np.float32(found.intercept))
    is_beyond = not (np.isfinite(x).all() and math.isfinite(constant))  # float32's range: float64 stays
    if is_beyond or (np.array_equal(x, found.x) and constant == found.intercept):
        return found
    (before, error), (value, off) = (
        objective_at(problem, *point) for point in ((found.x, found.intercept), (x, constant))
    )
    gap = found.gap + max(0.0, value - before) + error + off
    status = found.status
    if gap > tol * found.zero_objective and status is Status.CONVERGED:
        status = Status.STALLED
    return replace(found, x=x, intercept=constant, objective=value, gap=gap, status=status)


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


def objective_at(problem: Problem, x: Array, constant: float) -> tuple[float, float]:
    """F(x, c), and how far it can be off: as a sum, and because Ax + c is one."""
    parts, image, slope = problem.parts, problem.image(x) + constant, np.empty(problem.n_samples)
    loss, _ = evaluate_samples(parts.sample, parts.loss, image, slope, np.empty(image.size), None)
    cost = cost_of(parts.penalty, np.arange(x.size), x)
    weights = np.sqrt(np.broadcast_to(parts.sample.weight, image.shape))
    scaled = np.divide(slope, weights, out=np.zeros(image.size), where=weights > 0.0)
    size = float(np.abs(x) @ parts.norm) + abs(constant) * float(np.linalg.norm(weights))
    error = (problem.n_samples + 16.0) * (abs(loss) + abs(cost)) + (x.size + 4.0) * float(np.linalg.norm(scaled)) * size
    if not parts.loss.is_quadratic():  # a loss is itself a difference: exp(z) − y·z, say
        targets, predictions = problem.stated.sizes(image)
        error += 16.0 * float(weights**2 @ ((1.0 + targets) * (1.0 + predictions)))
    return float(loss + cost), 2.0 * UNIT * error
