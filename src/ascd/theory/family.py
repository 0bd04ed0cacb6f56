"""The lower-bound family: functions on which everything about steepest descent can be computed.

``q(x) = <Qx, x>/2`` with ``Q = I - (1 - alpha)/n * J``, its worst start, and its composition with a projection.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ascd._core.checks import as_count, as_finite_vector, as_number
from ascd.theory.checks import Array, check_support, semidefinite


def lower_bound_matrix(n: int, alpha: float = 0.01) -> Array:
    """``Q = (alpha - 1)/n * J + I``, on which steepest descent gains little.

    Examples
    --------
    >>> lower_bound_matrix(2, alpha=0.5) * 4
    array([[ 3., -1.],
           [-1.,  3.]])
    """
    return np.eye(as_count(n, "n")) + (_alpha(alpha) - 1) / n


def low_dimensional_matrix(n: int, s: int, alpha: float = 0.01) -> Array:
    """Matrix of ``q(pi_s(x))``: the s x s family in one corner, zero elsewhere.

    Examples
    --------
    >>> low_dimensional_matrix(3, 2, alpha=0.5) * 4
    array([[ 3., -1.,  0.],
           [-1.,  3.,  0.],
           [ 0.,  0.,  0.]])
    """
    check_support(n, s)
    matrix = np.zeros((n, n))
    matrix[:s, :s] = lower_bound_matrix(s, alpha)
    return matrix


def cycling_constant(n: int, alpha: float = 0.01) -> float:
    """The c in (0, 1) with ``c^(n-1) = (1 - alpha)/n * sum_{i<n} c^i``.

    With ``c = exp(-u)`` and ``sinh(z)/z = exp(h(z))`` the equation reads
    ``(n - 1) u / 2 = -log(1 - alpha) + h(u/2) - h(nu/2)``.  As nu stays below 2.1, every
    pass of the plain iteration for u at least halves the error, whatever n.  A root search
    on the equation as it stands was rejected: near c = 1 its sign is rounding noise.

    Examples
    --------
    >>> round(cycling_constant(20, alpha=0.01), 6)
    0.998945
    """
    n, target = as_count(n, "n", 3), -math.log1p(-_alpha(alpha))
    u = 0.0
    for _ in range(64):  # 2^-64 is below one rounding error
        h = _log_sinhc(u / 2) - _log_sinhc(n * u / 2)
        u = 2 / (n - 1) * (target + h)
    return math.exp(-u)


def cycling_constant_bound(n: int, alpha: float = 0.01) -> float:
    """``1 - 3 alpha / n``, below which the cycling constant cannot lie.

    Examples
    --------
    >>> cycling_constant_bound(10, alpha=0.25)
    0.925
    """
    return 1 - 3 * _alpha(alpha) / as_count(n, "n", 3)


def worst_start(n: int, alpha: float = 0.01) -> Array:
    """``[x0]_i = c^(i-1)``, from which steepest descent cycles through 1, 2, ..., n.

    Examples
    --------
    >>> worst_start(3, alpha=0.01).round(3)
    array([1.  , 0.99, 0.98])
    """
    return np.asarray(cycling_constant(n, alpha) ** np.arange(n), dtype=np.float64)


def gradient_ratio_bound(n: int, alpha: float = 0.01) -> float:
    """``(3 + 3 alpha)/n``, an upper bound on ``max_i |g_i|^2 / sum_i |g_i|^2``.

    Examples
    --------
    >>> gradient_ratio_bound(3, alpha=0.25)
    1.25
    """
    return (3 + 3 * _alpha(alpha)) / as_count(n, "n", 3)


def as_least_squares(Q: ArrayLike) -> Array:
    """The symmetric A with ``A.T @ A = Q``, so that ``<Qx, x>/2 = |Ax|^2/2``.

    Examples
    --------
    >>> as_least_squares([[4.0, 0.0], [0.0, 0.0]])
    array([[2., 0.],
           [0., 0.]])
    """
    matrix = semidefinite(Q)
    # Only on the support: rounding must not leave columns of norm 1e-17 behind,
    # a solver would divide by their squares.
    used = np.flatnonzero(np.diag(matrix) > 0)
    values, vectors = np.linalg.eigh(matrix[np.ix_(used, used)])
    factor = np.zeros_like(matrix)
    root = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T
    factor[np.ix_(used, used)] = (root + root.T) / 2
    return factor


def steepest_descent_on(Q: ArrayLike, x0: ArrayLike, n_iter: int) -> Array:
    """Iterates ``x_0, ..., x_{n_iter}`` of steepest descent with exact line search.

    Rows of the result are iterates of ``x_i -= (Qx)_i / Q_ii``, ``i = argmax |Qx|``
    (the first one where several are equal).  The gradient is computed afresh in every
    step: iterates shrink by many orders, and an updated gradient would keep rounding
    errors of the size it had at the start.

    Examples
    --------
    >>> steepest_descent_on([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0], 2)
    array([[1., 1.],
           [1., 0.],
           [0., 0.]])
    """
    matrix = semidefinite(Q)
    iterates = np.tile(as_finite_vector(x0, "x0", len(matrix)), (as_count(n_iter, "n_iter", 0) + 1, 1))
    diagonal = np.diag(matrix)
    for t in range(n_iter):
        gradient = matrix @ iterates[t]
        i = int(np.argmax(np.abs(gradient)))
        iterates[t + 1] = iterates[t]
        if gradient[i] != 0:  # at a minimum Q_ii may be 0 as well
            iterates[t + 1, i] -= gradient[i] / diagonal[i]
    return iterates


def _log_sinhc(z: float) -> float:
    """``log(sinh(z) / z)``, continued by 0."""
    return math.log(math.sinh(z) / z) if z > 0 else 0.0


def _alpha(alpha: float) -> float:
    return as_number(alpha, "alpha", low=0, high=0.5, strict=True)
