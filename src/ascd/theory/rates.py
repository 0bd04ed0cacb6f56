"""Progress of one step and rates of convergence, for uniform, steepest and approximate steepest selection."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ascd._core.checks import as_count, as_finite_vector, as_number
from ascd.theory.checks import Array, as_floats, positive, semidefinite

# Beyond this, 2^(n-1) sign vectors stop being a matter of milliseconds.
_MAX_SIGNS = 16


def progress_uniform(gradient: ArrayLike, L: float) -> float:
    """``|g|_2^2 / (2nL)``: what one step at a uniform coordinate gains at least.

    Examples
    --------
    >>> progress_uniform([3.0, 1.0], L=1.0)
    2.5
    """
    return float(np.mean(_gradient(gradient) ** 2) / (2 * positive(L, "L")))


def progress_steepest(gradient: ArrayLike, L: float) -> float:
    """``max_i |g_i|^2 / (2L)``: what one step at the steepest coordinate gains at least.

    Examples
    --------
    >>> progress_steepest([-3.0, 1.0], L=1.0)
    4.5
    """
    return float(np.max(_gradient(gradient) ** 2) / (2 * positive(L, "L")))


def progress_active(gradient: ArrayLike, active: ArrayLike, L: float) -> float:
    """Mean of ``|g_i|^2 / (2L)`` over the active set, given as a mask or as indices.

    Examples
    --------
    >>> progress_active([3.0, 1.0, 0.0], [0, 1], L=1.0)
    2.5
    """
    g, chosen = _gradient(gradient), np.asarray(active)
    is_mask = chosen.dtype == np.bool_ and chosen.shape == g.shape
    is_index = chosen.dtype.kind in "iu" and np.isin(chosen, np.arange(g.size)).all()
    if not (is_mask or is_index) or not (chosen.any() if is_mask else chosen.size):
        raise ValueError(f"active must be a non-empty mask of length {g.size} or indices below it; got {active!r}")
    # A set: an index given twice counts once.
    return progress_uniform(g[chosen if is_mask else np.unique(chosen)], L)


def smooth_rate_steepest(L: float, R1: float, t: ArrayLike) -> float | Array:
    """``2 L R1^2 / t``, R1 the radius of the first level set in the 1-norm.

    Examples
    --------
    >>> float(smooth_rate_steepest(L=1.0, R1=3.0, t=9))
    2.0
    """
    return 2 * positive(L, "L") * _square(R1, "R1") / _iterations(t, 1)


def smooth_rate_uniform(n: int, L: float, R2: float, t: ArrayLike) -> float | Array:
    """``2 n L R2^2 / t``, R2 the radius of the first level set in the 2-norm.

    Examples
    --------
    >>> smooth_rate_uniform(2, L=1.0, R2=3.0, t=[9, 36])
    array([4., 1.])
    """
    return 2 * as_count(n, "n") * positive(L, "L") * _square(R2, "R2") / _iterations(t, 1)


def strong_rate_steepest(mu1: float, L: float, gap: float, t: ArrayLike) -> float | Array:
    """``(1 - mu1/L)^t * gap``, the gap being ``f(x_0) - f*``.

    Examples
    --------
    >>> strong_rate_steepest(mu1=0.5, L=1.0, gap=8.0, t=[0, 1, 3])
    array([8., 4., 1.])
    """
    # |e_i|_1 = 1, so mu1 <= Q_ii <= L.
    shrink = 1 - as_number(mu1, "mu1", low=0, high=positive(L, "L")) / L
    return as_number(gap, "gap", low=0) * shrink ** _iterations(t, 0)


def strong_rate_uniform(n: int, mu2: float, L: float, gap: float, t: ArrayLike) -> float | Array:
    """``(1 - mu2/(nL))^t * gap``, a bound on the expectation over the random picks.

    Examples
    --------
    >>> strong_rate_uniform(2, mu2=1.0, L=1.0, gap=8.0, t=[0, 1, 3])
    array([8., 4., 1.])
    """
    shrink = 1 - as_number(mu2, "mu2", low=0, high=positive(L, "L")) / (as_count(n, "n") * L)
    return as_number(gap, "gap", low=0) * shrink ** _iterations(t, 0)


def one_norm_strong_convexity(Q: ArrayLike) -> float:
    """``mu1 = min { <Qx, x> : |x|_1 = 1 }``, exactly, for at most 16 coordinates.

    By duality ``1/mu1`` is the largest value of ``<inv(Q) y, y>`` over the cube
    ``|y|_inf <= 1``; convex, it is attained at a corner, and all of them (up to sign)
    are tried.  Zero for a singular Q.

    Examples
    --------
    >>> round(one_norm_strong_convexity([[1.0, 0.0], [0.0, 1.0]]), 12)
    0.5
    """
    matrix = semidefinite(Q)
    n = len(matrix)
    if n > _MAX_SIGNS:
        raise ValueError(f"Q must be at most {_MAX_SIGNS} x {_MAX_SIGNS} (all sign vectors are tried); got {n} x {n}")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] <= n * np.finfo(np.float64).eps * values[-1]:
        return 0.0
    bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1
    corners = 1.0 - 2.0 * bits  # the last sign stays +1: y and -y are equally good
    return float(1 / np.max((corners @ vectors) ** 2 @ (1 / values)))


def _gradient(gradient: ArrayLike) -> Array:
    vector: Array = as_finite_vector(gradient, "gradient")
    if not vector.size:
        raise ValueError("gradient must have at least one entry; got none")
    return vector


def _square(radius: float, name: str) -> float:
    value = as_number(radius, name, low=0)
    return value * value  # no power: one that overflows is an error in Python


def _iterations(t: ArrayLike, low: int) -> Array:
    counts = as_floats(t, "t")
    if not (counts >= low).all():
        raise ValueError(f"t must be at least {low}; got {t!r}")
    return counts
