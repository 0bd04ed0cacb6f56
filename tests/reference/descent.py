"""Coordinate steps and the method."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from reference.losses import Logistic
from reference.oracles import gradient_oracle, move_intervals, oracle_exact, with_entry
from reference.problem import Problem
from reference.rules import select


def take_step(problem, step, x, i, g):
    """(new x_i, estimate of grad_i f at the new point, its error), given g = grad_i f(x)."""
    if step == "line-search" and not problem.loss.quadratic:
        z = line_minimiser(problem, x, i)
        return z, problem.gradient(with_entry(x, i, z))[i], 0.0
    kappa = problem.L if step == "fixed" else problem.Lj[i]
    if step == "local" and isinstance(problem.loss, Logistic):
        kappa = local_curvature(problem, x, i, g)
    z = problem.penalty.prox(x[i] - g / kappa, 1.0 / kappa, i)
    gamma, curvature = z - x[i], problem.M * problem.norms[i] ** 2
    if problem.loss.quadratic:
        return z, g + gamma * curvature, 0.0
    return z, g + gamma * curvature / 2, abs(gamma) * curvature / 2


def local_curvature(problem, x, i, g):
    """The curvature h along a_i at x, with its growth over the step that h alone would make; at most L_i.

    growth(t) = 2 (exp(t) - t - 1) / t^2 = sum_k 2 t^k / (k + 2)!
    """
    a = problem.A[:, i]
    h = np.sum(problem.s * a**2 * problem.loss.curvature(problem.b, problem.A @ x))
    h = max(h, 1e-3 * problem.Lj[i])
    t = np.max(np.abs(a[problem.s > 0])) * abs(problem.penalty.prox(x[i] - g / h, 1.0 / h, i) - x[i])
    if t >= 30.0:  # h is at least a thousandth of L_i, and the growth more than that
        return problem.Lj[i]
    return min(h * sum(2.0 * t**k / math.factorial(k + 2) for k in range(150)), problem.Lj[i])


def line_minimiser(problem, x, i):
    """A minimiser of z -> F(x with x_i = z), by bisection on its monotone subgradient."""

    def side(z):
        """0 at a minimiser, -1 to the left of all minimisers, +1 to the right."""
        g = problem.gradient(with_entry(x, i, z))[i]
        lo, hi = problem.penalty.subgradient(z, i)
        return 1 if g + lo > 0 else (-1 if g + hi < 0 else 0)

    start = side(x[i])
    if start == 0:
        return x[i]
    lower, upper = problem.penalty.lower[i], problem.penalty.upper[i]
    kinks = [lower, upper] + ([0.0] if problem.penalty.l1[i] > 0 else [])
    for kink in kinks:
        if lower <= kink <= upper and np.isfinite(kink) and side(kink) == 0:
            return kink
    near, width = x[i], 1.0
    far = min(max(near - start * width, lower), upper)
    while side(far) == start:
        near, width = far, 2.0 * width
        if width > 1e30:
            raise ValueError("the objective has no minimiser along this coordinate")
        far = min(max(x[i] - start * width, lower), upper)
    for _ in range(200):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if side(middle) == start else (near, middle)
    return far


@dataclass
class Result:
    """One entry per iteration, each as it is after that iteration's step."""

    problem: Problem
    picks: list = field(default_factory=list)
    active_sets: list = field(default_factory=list)
    x: list = field(default_factory=list)
    estimate: list = field(default_factory=list)
    radius: list = field(default_factory=list)
    objectives: list = field(default_factory=list)


def initial_intervals(problem, init, x):
    """ "gradient": exact; "none": 0 with radius inf; or a pair (estimate, radius)."""
    if isinstance(init, str) and init == "gradient":
        return problem.gradient(x), np.zeros(problem.n)
    if isinstance(init, str) and init == "none":
        return np.zeros(problem.n), np.full(problem.n, np.inf)
    return tuple(np.array(np.broadcast_to(v, problem.n), dtype=float) for v in init)


def start_size(problem, x):
    """||v|| with |grad_j f| <= N_j ||v||: v divided by the roots of the weights."""
    v = problem.loss.derivative(problem.b, problem.A @ x)
    return np.linalg.norm(np.sqrt(problem.s) * v)


def descend(
    A, b, *, loss="squared", penalty=None, sample_weight=None, rule="ascd", oracle=None,
    steepness="gs-s", step="coordinate", init="gradient", x0=None, n_iter=100, rng=None,
    pick="uniform", power=1.0, huber_delta=1.35, move=move_intervals, rounding=0.0,
):  # fmt: skip
    """Algorithm 1: select (draws), exact g_i, step, oracle (draws, only if x_i moved), pin.

    With ``rounding`` > 0 the bounds are taken over radii wider by rounding * N_j (||v_0|| + path + max_i M N_i |x_i|),
    where path sums M |gamma| N_i and the maximum is over all visits: a definition of the library's, for oracles whose
    errors contain the path; the paper computes exactly.
    """
    problem = Problem(A, b, loss, penalty, sample_weight, huber_delta)
    rng = np.random.default_rng(0) if rng is None else rng
    oracle = oracle_exact() if oracle is None else oracle
    x = np.zeros(problem.n) if x0 is None else np.array(x0, dtype=float)
    estimate, radius = initial_intervals(problem, init, x)
    result = Result(problem)
    size, path, largest = start_size(problem, x), 0.0, np.max(problem.M * problem.norms * np.abs(x))
    for t in range(n_iter):
        width = radius + rounding * problem.norms * (size + path + largest)
        active, i = select(problem, rule, t, x, estimate, width, steepness, rng, pick, power)
        gradient = problem.gradient(x)
        if rule == "steepest":  # the exact scores needed all the gradient
            estimate = np.where(radius > 0, gradient, estimate)
            radius = np.zeros(problem.n)
        new, g_new, r_new = take_step(problem, step, x, i, gradient[i])
        gamma = new - x[i]
        if gamma != 0.0:
            g, delta = gradient_oracle(problem, oracle, i, rng)
            estimate, radius = move(estimate, radius, i, gamma, g, delta)
        x[i], estimate[i], radius[i] = new, g_new, r_new
        path += problem.M * abs(gamma) * problem.norms[i]
        largest = max(largest, problem.M * problem.norms[i] * abs(new))
        result.picks.append(i)
        result.active_sets.append(active)
        result.x.append(x.copy())
        result.estimate.append(estimate.copy())
        result.radius.append(radius.copy())
        result.objectives.append(problem.value(x))
    return result
