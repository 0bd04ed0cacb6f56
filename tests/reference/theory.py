"""The numbers of the theorems."""

from __future__ import annotations

import numpy as np


def tau_ascd(score, active, L):
    """Expected one-step progress: mean over I of score_i^2 / (2 L)."""
    return sum(score[i] ** 2 for i in active) / len(active) / (2.0 * L)


def tau_ucd(score, L):
    return tau_ascd(score, range(len(score)), L)


def tau_scd(score, L):
    return max(score) ** 2 / (2.0 * L)


def geometric_sum(c, n):
    """(E10) S_n(c) = sum_{i<n} c^i."""
    return sum(c**i for i in range(n))


def printed_geometric_sum(c, n):
    """(E10, printed) sum_{i<n} c^n."""
    return n * c**n


def lower_bound_problem(n, alpha):
    """(Q, x_0, c) on which SCD is no faster than UCD: c^(n-1) = (1 - alpha)/n S_n(c)."""
    lo, hi = 0.0, 1.0
    for _ in range(200):
        c = 0.5 * (lo + hi)
        too_small = c ** (n - 1) < (1.0 - alpha) / n * geometric_sum(c, n)
        lo, hi = (c, hi) if too_small else (lo, c)
    return np.eye(n) + (alpha - 1.0) / n * np.ones((n, n)), c ** np.arange(n), c


def competitive_ratio(n, s, c, T):
    """The lower bound on rho_infinity of the competitive-ratio theorem."""
    theta = n**2 + (c - 1) ** 2 * s**2 + 2 * n * ((c - 1) * s - T) + 2 * (1 + c) * s * T + T**2
    return 2.0 * c * s / (c * s + n - s - T + np.sqrt(theta))
