"""P of Huber's "proposal 2" in parts: its slope and its minimum in σ, its value, its dual and their rounding errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.arithmetic import UNIT
from ascd.problem.duality import penalty_conjugates
from ascd.problem.losses import Huber
from ascd.problem.problem import Problem
from ascd.solver.samples import cost_of


def slope_in_scale(residuals: Array, weight: Array, sigma: float, epsilon: float) -> float:
    """G'(σ) for these residuals."""
    clipped = np.minimum(np.abs(residuals) / sigma, epsilon)
    return float(weight.sum() - weight @ clipped**2)


def scale_of(residuals: Array, weight: Array, epsilon: float) -> float:
    """The σ that minimises P for fixed residuals: the zero of ``slope_in_scale``, 0 if there is none above 0."""
    size = np.abs(residuals)
    order = np.argsort(size)
    size, weight = size[order], weight[order]
    inner = np.cumsum(weight * size**2)
    outer = weight.sum() - np.cumsum(weight)  # the weight of those beyond the k-th
    room = weight.sum() - epsilon**2 * outer
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(np.where(room > 0.0, inner / room, np.inf))
    following = np.append(size[1:], np.inf)
    fits = np.flatnonzero((size <= epsilon * sigma) & (epsilon * sigma < following))
    return float(sigma[fits[0]]) if fits.size else 0.0


def primal(problem: Problem, solution: Any, residuals: Array, weight: Array, sigma: float, scale: float) -> float:
    """P with the best scale for these residuals, from F at the scale σ of the problem."""
    at_scale = Huber(problem.parts.loss.threshold * scale / sigma)
    penalty = 2.0 / sigma * float(cost_of(problem.parts.penalty, np.arange(problem.n_features), solution.x))
    return float(scale * weight.sum() + 2.0 / scale * _loss_sum(at_scale, residuals, weight) + penalty)


def _loss_sum(huber: Huber, residuals: Array, weight: Array) -> float:
    size, threshold = np.abs(residuals), huber.threshold
    return float(weight @ np.where(size <= threshold, 0.5 * size**2, threshold * (size - 0.5 * threshold)))


def dual(
    problem: Problem, residuals: Array, weight: Array, sigma: float, epsilon: float, intercept: bool, origin: float
) -> tuple[float, float]:
    """The value of the dual point that belongs to these residuals (−inf where none is allowed), and its error."""
    total, parts = float(weight.sum()), problem.parts
    rounding = rounding_of(weight.size)
    u = 2.0 * np.clip(residuals / sigma, -epsilon, epsilon)
    if intercept:
        u = u - weight @ u / total
    norm, largest = float(np.sqrt(weight @ u**2)), float(np.abs(u[weight > 0.0]).max(initial=0.0))
    missing = 0.0
    if norm > 0.0:
        u = u * (min(1.0, 2.0 * math.sqrt(total) / norm, 2.0 * epsilon / largest) * (1.0 - 4.0 * rounding))
        if intercept:
            missing = abs(float(weight @ u)) + rounding * float(weight @ np.abs(u))
    conjugates, others = np.empty((2, problem.n_features))
    products = problem.design.dots(np.arange(problem.n_features), weight * u)
    off = (rounding * math.sqrt(float(weight @ u**2)) + missing / math.sqrt(total)) * parts.norm
    penalty_conjugates(parts.penalty, 0.5 * sigma * (products - off), conjugates)
    penalty_conjugates(parts.penalty, 0.5 * sigma * (products + off), others)
    penalty = 2.0 / sigma * float(np.maximum(conjugates, others).sum())
    terms = weight * u * (parts.sample.target - origin)
    size = float(np.abs(terms).sum()) + (abs(penalty) if math.isfinite(penalty) else 0.0)
    shifted = missing * float(np.abs(parts.sample.target - origin) @ weight) / total
    return float(terms.sum()) - penalty, rounding * size + shifted


def rounding_of(count: int) -> float:
    """The relative error of a sum of so many products."""
    return (count + 16.0) * UNIT
