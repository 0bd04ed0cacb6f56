"""Oracles, and how the intervals follow a step."""

from __future__ import annotations

import numpy as np

# An oracle is a function (problem, i, rng) -> (p, e) with |p_j - <a_i, diag(s) a_j>| <= e_j.


def oracle_exact():
    return lambda problem, i, rng: (problem.gram[i].copy(), np.zeros(problem.n))


def oracle_sketch(E, eps):
    """g^2: p = <E_i, E_j> clipped to +-N_i N_j, e = eps N_i N_j (E embeds sqrt(diag(s)) A)."""

    def row(problem, i, rng):
        bound = problem.norms[i] * problem.norms
        return np.clip(E.T @ E[:, i], -bound, bound), eps * bound

    return row


def oracle_simulated(eps):
    """g^2 as in the experiments: a value u.a.r. from the allowed error interval."""

    def row(problem, i, rng):
        error = eps * problem.norms[i] * problem.norms
        return problem.gram[i] + error * (2.0 * rng.random(problem.n) - 1.0), error

    return row


def oracle_norm():
    """g^3: p = 0, e = N_i N_j."""
    return lambda problem, i, rng: (np.zeros(problem.n), problem.norms[i] * problem.norms)


def oracle_random(printed=False):
    """g^4: p u.a.r. in +-N_i N_j; e = N_i N_j + |p| (E4), printed: e = N_i N_j."""

    def row(problem, i, rng):
        bound = problem.norms[i] * problem.norms
        p = bound * (2.0 * rng.random(problem.n) - 1.0)
        return p, (bound if printed else bound + np.abs(p))

    return row


def gradient_oracle(problem, oracle, i, rng):
    """(g_i., delta_i.) from (p, e): with a Hessian diag(s h), 0 <= h <= M,

    quadratic loss: g = p, delta = e; else g = M/2 p, delta = M/2 (N_i N_j + e).
    """
    p, e = oracle(problem, i, rng)
    if problem.loss.quadratic:
        return p, e
    return 0.5 * problem.M * p, 0.5 * problem.M * (problem.norms[i] * problem.norms + e)


def with_entry(x, i, z):
    """x with its i-th entry replaced by z."""
    x = np.array(x, dtype=float)
    x[i] = z
    return x


def check_oracle_contract(problem, x, i, gamma, g, delta, tol=1e-9):
    """(E2) |grad_j f(x + gamma e_i) - grad_j f(x) - gamma g_j| <= |gamma| delta_j, j != i."""
    change = problem.gradient(with_entry(x, i, x[i] + gamma)) - problem.gradient(x)
    ok = np.abs(change - gamma * g) <= abs(gamma) * delta + tol
    return bool(np.all(np.delete(ok, i)))


def printed_oracle_contract(problem, x, i, gamma, g, delta, tol=1e-9):
    """(E2, printed) |grad_j f(x + gamma e_i) - gamma g_j| <= |gamma| delta_j, j != i."""
    ok = np.abs(problem.gradient(with_entry(x, i, x[i] + gamma)) - gamma * g) <= abs(gamma) * delta + tol
    return bool(np.all(np.delete(ok, i)))


def move_intervals(estimate, radius, i, gamma, g, delta):
    """(E1) estimate_j += gamma g_j, radius_j += |gamma| delta_j, for j != i."""
    others = np.arange(len(estimate)) != i
    return (np.where(others, estimate + gamma * g, estimate), np.where(others, radius + abs(gamma) * delta, radius))


def printed_move_intervals(estimate, radius, i, gamma, g, delta):
    """(E1, printed) radius_j += gamma delta_j."""
    estimate, _ = move_intervals(estimate, radius, i, gamma, g, delta)
    return estimate, np.where(np.arange(len(radius)) != i, radius + gamma * delta, radius)
