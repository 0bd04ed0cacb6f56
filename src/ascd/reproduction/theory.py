r"""The paper's theorems as functions: bounds and rates that a run can be compared with.

* **Gain of steepest over uniform selection**: between 1 and n.  On ``q(x) = <Qx, x>/2`` with
  ``Q = I - (1 - alpha)/n * J`` (J all ones, 0 < alpha <= 1/2), steepest descent from ``[x0]_i = c^(i-1)`` visits the
  coordinates in turn and gains at most a factor ``3 + 3 alpha``; a function of s of the n coordinates gains about n/s.
* **Rates**: ``2 L R1^2 / t`` for steepest and ``2 n L R2^2 / t`` for uniform selection; under strong convexity mu1
  (mu2) in the 1-norm (2-norm) ``(1 - mu1/L)^t`` and ``(1 - mu2/(nL))^t``.  L is the largest ``Q_ii``.
* **Approximate selection**: a coordinate outside the support stays out of the active set for T iterations on average.
  In equilibrium as many leave as return, ``(1 - a)(n - s)/T = 1 - rho = a(n - s)/(a(n - s) + cs)``, which fixes rho,
  the share of the active set that lies in the support (a share c of which is always in the set).

Reference: S. U. Stich, A. Raj, M. Jaggi, "Approximate Steepest Coordinate Descent", ICML 2017, Sections 2 and 6,
Appendices A and C.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ascd._core.checks import Array, as_count, as_finite_vector, as_generator, as_number

#: Coordinates up to which all 2^(n-1) sign vectors are tried; each one more doubles the time, milliseconds at 16.
_MAX_SIGNS = 16


# ---- the lower-bound family


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
    """Matrix of ``q(pi_s(x))``: the s x s family in one corner, zeros in the rest.

    Examples
    --------
    >>> low_dimensional_matrix(3, 2, alpha=0.5) * 4
    array([[ 3., -1.,  0.],
           [-1.,  3.,  0.],
           [ 0.,  0.,  0.]])
    """
    _check_support(n, s)
    matrix = np.zeros((n, n))
    matrix[:s, :s] = lower_bound_matrix(s, alpha)
    return matrix


def cycling_constant(n: int, alpha: float = 0.01) -> float:
    """The c in (0, 1) with ``c^(n-1) = (1 - alpha)/n * sum_{i<n} c^i``.

    With ``c = exp(-u)`` and ``sinh(z)/z = exp(h(z))`` the equation reads ``(n - 1) u / 2 = -log(1 - alpha) + h(u/2) -
    h(nu/2)``.  As nu stays below 2.1, fixed-point iteration for u at least halves the error in every pass.

    Examples
    --------
    >>> round(cycling_constant(20, alpha=0.01), 6)
    0.998945
    """

    def h(z: float) -> float:
        return math.log(math.sinh(z) / z) if z > 0 else 0.0

    n, target, u = as_count(n, "n", 3), -math.log1p(-_alpha(alpha)), 0.0
    for _ in range(64):  # 2^-64 is below one rounding error
        u = 2 / (n - 1) * (target + h(u / 2) - h(n * u / 2))
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
    matrix = _semidefinite(Q)
    used = np.flatnonzero(np.diag(matrix) > 0)  # other columns are exactly 0: rounding would leave norms of 1e-17
    values, vectors = np.linalg.eigh(matrix[np.ix_(used, used)])
    root, factor = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T, np.zeros_like(matrix)
    factor[np.ix_(used, used)] = (root + root.T) / 2
    return factor


def steepest_descent_on(Q: ArrayLike, x0: ArrayLike, n_iter: int) -> Array:
    """Iterates ``x_0, ..., x_{n_iter}`` of steepest descent with exact line search.

    An iteration is ``x_i -= (Qx)_i / Q_ii``, ``i = argmax |Qx|`` (the first one among equals).  The gradient is
    recomputed in every step: updates would keep rounding errors of the size it had at the start.

    Examples
    --------
    >>> steepest_descent_on([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0], 2)
    array([[1., 1.],
           [1., 0.],
           [0., 0.]])
    """
    matrix = _semidefinite(Q)
    iterates = np.tile(as_finite_vector(x0, "x0", len(matrix)), (as_count(n_iter, "n_iter", 0) + 1, 1))
    for x, new in pairwise(iterates):
        gradient = matrix @ x
        i = int(np.argmax(np.abs(gradient)))
        new[:] = x
        if gradient[i] != 0:  # at a minimum Q_ii may be 0 as well
            new[i] -= gradient[i] / matrix[i, i]
    return iterates


# ---- progress of one step, and rates


def progress_uniform(gradient: ArrayLike, L: float) -> float:
    """``|g|_2^2 / (2nL)``: what one step at a uniform coordinate gains at least.

    Examples
    --------
    >>> progress_uniform([3.0, 1.0], L=1.0)
    2.5
    """
    return float(np.mean(as_finite_vector(gradient, "gradient") ** 2) / (2 * _positive(L, "L")))


def progress_steepest(gradient: ArrayLike, L: float) -> float:
    """``max_i |g_i|^2 / (2L)``: what one step at the steepest coordinate gains at least.

    Examples
    --------
    >>> progress_steepest([-3.0, 1.0], L=1.0)
    4.5
    """
    return float(np.max(as_finite_vector(gradient, "gradient") ** 2) / (2 * _positive(L, "L")))


def progress_active(gradient: ArrayLike, active: ArrayLike, L: float) -> float:
    """Mean of ``|g_i|^2 / (2L)`` over the active set, given as a mask or as indices.

    Examples
    --------
    >>> progress_active([3.0, 1.0, 0.0], [0, 1], L=1.0)
    2.5
    """
    g = as_finite_vector(gradient, "gradient")
    inside = np.zeros(g.size, dtype=bool)
    inside[np.asarray(active)] = True
    if not inside.any():
        raise ValueError(f"active must be a non-empty mask or indices; got {active!r}")
    return progress_uniform(g[inside], L)


def smooth_rate_steepest(L: float, R1: float, t: ArrayLike) -> float | Array:
    """``2 L R1^2 / t``, R1 the radius of the first level set in the 1-norm.

    Examples
    --------
    >>> float(smooth_rate_steepest(L=1.0, R1=3.0, t=9))
    2.0
    """
    return 2 * _positive(L, "L") * as_number(R1, "R1", low=0) ** 2 / _iterations(t, 1)


def smooth_rate_uniform(n: int, L: float, R2: float, t: ArrayLike) -> float | Array:
    """``2 n L R2^2 / t``, R2 the radius of the first level set in the 2-norm.

    Examples
    --------
    >>> smooth_rate_uniform(2, L=1.0, R2=3.0, t=[9, 36])
    array([4., 1.])
    """
    return 2 * as_count(n, "n") * _positive(L, "L") * as_number(R2, "R2", low=0) ** 2 / _iterations(t, 1)


def strong_rate_steepest(mu1: float, L: float, gap: float, t: ArrayLike) -> float | Array:
    """``(1 - mu1/L)^t * gap``, the gap being ``f(x_0) - f*``.

    Examples
    --------
    >>> strong_rate_steepest(mu1=0.5, L=1.0, gap=8.0, t=[0, 1, 3])
    array([8., 4., 1.])
    """
    shrink = 1 - as_number(mu1, "mu1", low=0, high=_positive(L, "L")) / L
    return as_number(gap, "gap", low=0) * shrink ** _iterations(t, 0)


def strong_rate_uniform(n: int, mu2: float, L: float, gap: float, t: ArrayLike) -> float | Array:
    """``(1 - mu2/(nL))^t * gap``, a bound on the expectation over the random picks.

    Examples
    --------
    >>> strong_rate_uniform(2, mu2=1.0, L=1.0, gap=8.0, t=[0, 1, 3])
    array([8., 4., 1.])
    """
    shrink = 1 - as_number(mu2, "mu2", low=0, high=_positive(L, "L")) / (as_count(n, "n") * L)
    return as_number(gap, "gap", low=0) * shrink ** _iterations(t, 0)


def one_norm_strong_convexity(Q: ArrayLike) -> float:
    """``mu1 = min { <Qx, x> : |x|_1 = 1 }``, exactly, for at most 16 coordinates.

    By duality ``1/mu1`` is the largest value of ``<inv(Q) y, y>`` over the cube ``|y|_inf <= 1``; convex, it is
    attained at a corner, and all corners (up to sign) are tried.  Zero for a singular Q.

    Examples
    --------
    >>> round(one_norm_strong_convexity([[1.0, 0.0], [0.0, 1.0]]), 12)
    0.5
    """
    matrix = _semidefinite(Q)
    n = len(matrix)
    if n > _MAX_SIGNS:
        raise ValueError(f"Q must be at most {_MAX_SIGNS} x {_MAX_SIGNS} (all sign vectors are tried); got {n} x {n}")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] <= n * np.finfo(np.float64).eps * values[-1]:
        return 0.0
    bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1
    corners = 1.0 - 2.0 * bits  # the last sign stays +1: y and -y are equally good
    return float(1 / np.max((corners @ vectors) ** 2 @ (1 / values)))


# ---- the competitive ratio


def competitive_ratio_limit(n: int, s: int, T: float, c: float = 1.0) -> float:
    """``2cs / (cs + n - s - T + sqrt(theta))``, the equilibrium of the active set.

    The mean of rho lies above the limit, usually by under 0.01: the active set's size is treated as constant.

    Examples
    --------
    >>> round(competitive_ratio_limit(100, 10, 400), 3)
    0.782
    """
    inside = _check_support(n, s, c)
    b = inside + n - s - _positive(T, "T")
    if b == -math.inf:  # T is infinite: nothing returns
        return 1.0
    root = math.hypot(b, 2 * math.sqrt(inside) * math.sqrt(T))  # of the paper's theta, which may overflow
    # Two equal forms; each is free of cancellation on its side of b = 0.
    return 2 * inside / (b + root) if b > 0 else (root / T - b / T) / 2


def competitive_ratio_bound(n: int, s: int, T: float) -> float:
    """``1 - (n - s)/T``, below the limit; negative, and so empty, for T < n - s.

    Examples
    --------
    >>> competitive_ratio_bound(100, 10, 400)
    0.775
    """
    _check_support(n, s)
    return 1 - (n - s) / _positive(T, "T")


def simulate_competitive_ratio(
    n: int, s: int, T: float, n_iter: int, c: float = 1.0, rng: np.random.Generator | int | None = None
) -> Array:
    """Simulate ``rho_t``, the share of the active set in the support, from ``I_0 = [s]``.

    Every iteration picks uniformly from the active set, which always contains c * s coordinates of the support.  A
    picked coordinate outside the support leaves and returns after a geometric time, T iterations on average (from 1 to
    1e17).  At the start all n - s are outside, with remaining times drawn from the equilibrium.  Returned are all
    ``n_iter`` shares.

    Examples
    --------
    >>> rho = simulate_competitive_ratio(100, 10, 50, 2000, rng=0)
    >>> float(rho[0]), round(float(rho[500:].mean()), 2), round(competitive_ratio_limit(100, 10, 50), 2)
    (1.0, 0.17, 0.17)
    """
    inside, chance = _check_support(n, s, c), 1 / as_number(T, "T", low=1, high=1e17)  # an absence may be 40 T
    generator = as_generator(rng)
    back_at = generator.geometric(chance, n - s)
    ratio = np.empty(as_count(n_iter, "n_iter", 0))
    for t in range(n_iter):
        (intruders,) = (back_at <= t).nonzero()
        ratio[t] = inside / (inside + intruders.size)
        if generator.random() >= ratio[t]:
            absence = generator.geometric(chance)  # outside in iterations t + 1, ..., t + absence
            back_at[intruders[generator.integers(intruders.size)]] = t + 1 + absence
    return ratio


# ---- validation


def _positive(value: float, name: str) -> float:
    return as_number(value, name, low=0, strict=True)


def _check_support(n: int, s: int, c: float = 1.0) -> float:
    """Return c * s, the number of coordinates of the support in the active set."""
    if as_count(s, "s") > as_count(n, "n"):
        raise ValueError(f"s must be at most n = {n}; got {s}")
    return s * as_number(c, "c", low=0, high=1, strict=True)


def _semidefinite(Q: ArrayLike) -> Array:
    """Return Q as a float array; raise ValueError unless it is square, symmetric and semidefinite."""
    matrix = np.asarray(Q, dtype=np.float64)
    if matrix.ndim != 2 or not 0 < matrix.shape[0] == matrix.shape[1]:
        raise ValueError(f"Q must be a square matrix; got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
        raise ValueError(f"Q must be finite and symmetric; got {Q!r}")
    values = np.linalg.eigvalsh(matrix)
    if values[0] < -1e-10 * np.abs(values).max():
        raise ValueError(f"Q must be positive semidefinite; got one with the eigenvalue {values[0]:g}")
    return matrix


def _iterations(t: ArrayLike, low: int) -> Array:
    counts = np.asarray(t, dtype=np.float64)
    if not (counts >= low).all():
        raise ValueError(f"t must be at least {low}; got {t!r}")
    return counts


def _alpha(alpha: float) -> float:
    return as_number(alpha, "alpha", low=0, high=0.5, strict=True)
