"""Scores and their bounds over an interval."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def _words(steepness):
    """("gs" or "gsl"; "s", "r" or "q")."""
    rule, _, family = steepness.partition("-")
    family = family or "s"
    if rule not in ("gs", "gsl") or family not in ("s", "r", "q"):
        raise ValueError(steepness)
    return rule, family


def _family(problem, steepness, j):
    """("s", "r" or "q"; the model's curvature kappa; a factor: 1/sqrt(L_j) for gsl, else 1)."""
    rule, family = _words(steepness)
    if rule == "gsl":
        return family, problem.Lj[j], 1.0 / np.sqrt(problem.Lj[j])
    return family, problem.L, 1.0


def model_minimiser(problem, x, g, kappa, j):
    """argmin_z g (z - x) + kappa/2 (z - x)^2 + Psi_j(z) = prox(x - g/kappa, 1/kappa)."""
    return problem.penalty.prox(x - g / kappa, 1.0 / kappa, j)


def model(problem, x, z, g, kappa, j):
    """(E7) V = g y + kappa/2 y^2 + Psi_j(x + y) - Psi_j(x), with z = x + y feasible.

    Psi_j(z) - Psi_j(x) is expanded in y, so that tiny steps are not lost to cancellation.
    """
    y, pen = z - x, problem.penalty
    slope = g + 0.5 * kappa * y + 0.5 * pen.l2[j] * (z + x) + pen.linear[j]
    return slope * y + pen.l1[j] * (abs(z) - abs(x))


def printed_model(problem, x, z, g, kappa, j):
    """(E7, printed) V = g y + kappa/2 y^2 + Psi_j(x + y)."""
    y = z - x
    return g * y + 0.5 * kappa * y**2 + problem.penalty.value(z, j)


def model_progress(problem, x, g, kappa, j):
    """-min_z V >= 0; an infinite g gives inf, unless the box forbids to move."""
    z = model_minimiser(problem, x, g, kappa, j)
    if np.isinf(g):
        return 0.0 if z == x else np.inf
    return max(0.0, -model(problem, x, z, g, kappa, j))


def score_one(problem, steepness, x, g, j):
    """How steep coordinate j is at x_j = x where grad_j f = g, in units of the gradient.

    s: dist(-g, subgradients); r: kappa |y*|; q: sqrt(2 kappa progress); gsl: over sqrt(L_j).
    """
    family, kappa, factor = _family(problem, steepness, j)
    if family == "s":
        a, b = problem.penalty.subgradient(x, j)
        return factor * max(0.0, a + g, -g - b)
    if family == "r":
        return factor * kappa * abs(model_minimiser(problem, x, g, kappa, j) - x)
    return factor * np.sqrt(2.0 * kappa * model_progress(problem, x, g, kappa, j))


def _bounds_s(problem, x, lo, hi, kappa, j):
    """The distance max(0, a + g, -g - b) is convex in g; a = -inf or b = inf drop a term."""
    a, b = problem.penalty.subgradient(x, j)
    lower = max(0.0, a + lo, -hi - b)
    upper = max(0.0, a + hi if a > -np.inf else 0.0, -lo - b if b < np.inf else 0.0)
    return lower, upper


def _bounds_r(problem, x, lo, hi, kappa, j):
    """(E6) y* lies between u* and l*: the extreme values of |y| on that segment."""
    u_star = model_minimiser(problem, x, hi, kappa, j) - x
    l_star = model_minimiser(problem, x, lo, kappa, j) - x
    ends = abs(u_star), abs(l_star)
    return (0.0 if u_star <= 0.0 <= l_star else kappa * min(ends)), kappa * max(ends)


def _bounds_q(problem, x, lo, hi, kappa, j):
    """Algorithm 2: v <= min_y V <= w, with w = min{omega_u, omega_l, 0} (E7)."""
    if np.isinf(lo) or np.isinf(hi):
        best = max(model_progress(problem, x, g, kappa, j) for g in (lo, hi))
        return 0.0, np.sqrt(2.0 * kappa * best)
    u, ell = hi, lo
    z_u, z_ell = (model_minimiser(problem, x, g, kappa, j) for g in (u, ell))
    V_u, V_ell = model(problem, x, z_u, u, kappa, j), model(problem, x, z_ell, ell, kappa, j)
    omega_u = V_u + max(0.0, (z_u - x) * (ell - u))
    omega_ell = V_ell + max(0.0, (z_ell - x) * (u - ell))
    v = min(V_u, V_ell)
    w = min(omega_u, omega_ell, 0.0)
    return np.sqrt(2.0 * kappa * -w), np.sqrt(2.0 * kappa * max(0.0, -v))


def bounds_one(problem, steepness, x, lo, hi, j):
    """(lower, upper) on score_one over all g in [lo, hi]; lo, hi may be infinite."""
    family, kappa, factor = _family(problem, steepness, j)
    bounds = {"s": _bounds_s, "r": _bounds_r, "q": _bounds_q}[family]
    lower, upper = bounds(problem, x, lo, hi, kappa, j)
    return factor * lower, factor * upper


def scores(problem, steepness, x, gradient):
    return np.array([score_one(problem, steepness, x[j], gradient[j], j) for j in range(len(x))])


def bounds(problem, steepness, x, estimate, radius):
    """(lower, upper), each of length n, for grad_j f in [estimate_j - r_j, estimate_j + r_j]."""
    lo, hi = estimate - radius, estimate + radius
    pairs = [bounds_one(problem, steepness, x[j], lo[j], hi[j], j) for j in range(len(x))]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


def printed_gs_r_bounds(problem, x, lo, hi, j):
    """(E6, printed) (min, max) of y on the segment between l* and u*, without |.|, times L."""
    ends = [problem.L * (model_minimiser(problem, x, g, problem.L, j) - x) for g in (lo, hi)]
    return min(ends), max(ends)


def printed_gs_q_rule(problem, x):
    """(E7, printed) argmin_j min_y g y + L/2 y^2 + Psi_j(x_j + y), without - Psi_j(x_j)."""
    g, L, values = problem.gradient(x), problem.L, []
    for j in range(problem.n):
        z = model_minimiser(problem, x[j], g[j], L, j)
        values.append(printed_model(problem, x[j], z, g[j], L, j))
    return int(np.argmin(values))


def printed_gs_rule(problem, x):
    """(E8, printed) argmax_i grad_i |f(x)| = argmax_i sign(f(x)) grad_i f(x)."""
    return int(np.argmax(np.sign(problem.smooth_value(x)) * problem.gradient(x)))
