"""The competitive ratio: which share of the active set lies in the support, in the long run."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ascd._core.checks import as_count, as_generator, as_number, unknown_name
from ascd.theory.checks import Array, check_support, positive

# Iterations are counted in 64 bits; an absence drawn with the mean T may be 40 times as long.
_LONGEST = 1e17


def competitive_ratio_limit(n: int, s: int, T: float, c: float = 1.0) -> float:
    """``2cs / (cs + n - s - T + sqrt(theta))``, the equilibrium of the active set.

    The size of the active set is treated as if it did not fluctuate; as rho is convex
    in that size, the true mean of rho lies above the limit, usually by under 0.01.

    Examples
    --------
    >>> round(competitive_ratio_limit(100, 10, 400), 3)
    0.782
    """
    inside = check_support(n, s, c)
    b = inside + n - s - positive(T, "T")
    if b == -math.inf:  # who never returns
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
    check_support(n, s)
    return 1 - (n - s) / positive(T, "T")


def simulate_competitive_ratio(
    n: int,
    s: int,
    T: float,
    n_iter: int,
    c: float = 1.0,
    rng: np.random.Generator | int | None = None,
    returns: Literal["geometric", "deterministic"] = "geometric",
) -> Array:
    """Simulate ``rho_t``, the share of the active set in the support, from ``I_0 = [s]``.

    Every iteration picks uniformly from the active set.  A picked coordinate outside
    the support leaves; it is out for T iterations on average and then returns.  Only
    the mean of that time enters the equilibrium, so two distributions are offered:
    ``"geometric"`` has no memory (a return is equally likely in every iteration) and
    needs no more than T; ``"deterministic"`` is exactly T, an integer, every time.

    At the start all n - s coordinates are outside, each with the remaining time of an
    absence looked at in equilibrium (geometric again, or uniform on 1..T).  Absences
    that all began at once would, if deterministic, also end at once.

    Parameters
    ----------
    n, s : int
        Coordinates in all, and in the support.
    T : float
        Mean number of iterations outside, from 1 to 1e17.
    n_iter : int
        Number of iterations.
    c : float
        The active set always holds c * s coordinates of the support; c * s is used as
        a weight and need not be an integer.
    rng : Generator, int or None
        Source of randomness, or a seed for it.
    returns : {"geometric", "deterministic"}
        Distribution of the time outside.

    Returns
    -------
    ndarray of shape (n_iter,)

    Examples
    --------
    >>> rho = simulate_competitive_ratio(100, 10, 50, 2000, rng=0)
    >>> float(rho[0]), round(float(rho[500:].mean()), 2), round(competitive_ratio_limit(100, 10, 50), 2)
    (1.0, 0.17, 0.17)
    """
    inside, fixed = check_support(n, s, c), returns == "deterministic"
    if returns not in ("geometric", "deterministic"):
        raise unknown_name(returns, "returns", ("geometric", "deterministic"))
    if as_number(T, "T", low=1, high=_LONGEST) != int(T) and fixed:
        raise ValueError(f"T must be an integer for deterministic returns; got {T!r}")

    generator = as_generator(rng)
    back_at = generator.integers(1, int(T) + 1, n - s) if fixed else generator.geometric(1 / T, n - s)
    ratio = np.empty(as_count(n_iter, "n_iter", 0))
    for t in range(n_iter):
        (intruders,) = (back_at <= t).nonzero()
        ratio[t] = inside / (inside + intruders.size)
        if generator.random() >= ratio[t]:
            absence = int(T) if fixed else generator.geometric(1 / T)
            # Outside in iterations t + 1, ..., t + absence.
            back_at[intruders[generator.integers(intruders.size)]] = t + 1 + absence
    return ratio
