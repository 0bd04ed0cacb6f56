"""Quadratics ½xᵀQx for the tests of the theorems."""

from __future__ import annotations

import numpy as np


def random_quadratic(seed: int, n: int, rank: int) -> np.ndarray:
    """Semidefinite, with diagonal entries of different sizes."""
    factor = np.random.default_rng(seed).standard_normal((rank, n)) * np.linspace(0.3, 2.0, n)
    return factor.T @ factor


def values_of(Q: np.ndarray, iterates: np.ndarray) -> np.ndarray:
    return 0.5 * np.einsum("ti,ij,tj->t", iterates, Q, iterates)


def gradient_ratios(Q: np.ndarray, iterates: np.ndarray) -> np.ndarray:
    squares = (iterates @ Q) ** 2
    return squares.max(axis=1) / squares.sum(axis=1)


def uniform_expected_values(Q: np.ndarray, x0: np.ndarray, n_iter: int) -> np.ndarray:
    """E f(x_t) for uniform picks and steps 1/L, exactly: a recursion for M = E[x x^T]."""
    n, L = len(Q), Q.diagonal().max()
    moment, values = np.outer(x0, x0), []
    for _ in range(n_iter + 1):
        values.append(0.5 * np.trace(Q @ moment))
        drift = Q @ moment
        jump = np.diag(np.diag(Q @ moment @ Q))
        moment = moment - (drift + drift.T) / (n * L) + jump / (n * L**2)
    return np.array(values)
