r"""What the theory predicts, in numbers one can hold a run against.

Three questions, each answered on functions where everything can be computed:

*How much can steepest selection gain over uniform selection?*  Between nothing
and a factor n.  On ``q(x) = <Qx, x>/2`` with ``Q = I - (1 - alpha)/n * J`` (J all
ones) steepest descent started at ``[x0]_i = c^(i-1)`` visits the coordinates in
turn and gains at most a factor ``3 + 3 alpha``; composed with the projection on the
first s of n coordinates the same function gives a speed-up of about n/s.

*How fast is either?*  ``2 L R1^2 / t`` against ``2 n L R2^2 / t``, and
``(1 - mu1/L)^t`` against ``(1 - mu2/(nL))^t`` under strong convexity.

*How near does approximate selection come?*  A coordinate outside the support stays
out of the active set for T iterations on average; in equilibrium as many leave as
return, ``(1 - a)(n - s)/T = 1 - rho = a(n - s)/(a(n - s) + cs)``, which fixes rho,
the share of the active set that lies in the support.

======  ===========================================================================
symbol  meaning
======  ===========================================================================
n, s    coordinates in all; coordinates the function depends on
alpha   conditioning of the lower-bound family, 0 < alpha <= 1/2
L       coordinate-wise smoothness: the largest ``Q_ii``
mu1/2   strong convexity in the 1-norm and in the 2-norm
T, c    mean iterations outside the active set; share of the support always in it
======  ===========================================================================

Reference: S. U. Stich, A. Raj, M. Jaggi, "Approximate Steepest Coordinate Descent",
ICML 2017, Sections 2 and 6 and Appendices A and C.
"""

from __future__ import annotations

from ascd.theory.family import (
    as_least_squares,
    cycling_constant,
    cycling_constant_bound,
    gradient_ratio_bound,
    low_dimensional_matrix,
    lower_bound_matrix,
    steepest_descent_on,
    worst_start,
)
from ascd.theory.rates import (
    one_norm_strong_convexity,
    progress_active,
    progress_steepest,
    progress_uniform,
    smooth_rate_steepest,
    smooth_rate_uniform,
    strong_rate_steepest,
    strong_rate_uniform,
)
from ascd.theory.ratio import competitive_ratio_bound, competitive_ratio_limit, simulate_competitive_ratio

__all__ = [
    "as_least_squares",
    "competitive_ratio_bound",
    "competitive_ratio_limit",
    "cycling_constant",
    "cycling_constant_bound",
    "gradient_ratio_bound",
    "low_dimensional_matrix",
    "lower_bound_matrix",
    "one_norm_strong_convexity",
    "progress_active",
    "progress_steepest",
    "progress_uniform",
    "simulate_competitive_ratio",
    "smooth_rate_steepest",
    "smooth_rate_uniform",
    "steepest_descent_on",
    "strong_rate_steepest",
    "strong_rate_uniform",
    "worst_start",
]
