"""Penalties: the separable part Σ_j Ψ_j(x_j), one coordinate at a time.

Each penalty is a NamedTuple whose compiled methods speak of one coordinate j:

====================  ==================================================================================
``cost``              Ψ_j(x)
``prox``              argmin_z ½(z − v)² + step·Ψ_j(z)
``subgradient``       the ends of the interval ∂Ψ_j(x); infinite at the ends of a box
``cost_conjugate``    Ψ_j*(u) = sup_x {u·x − Ψ_j(x)}, +inf outside its domain; for duality gaps
``dual_scale``        the largest s in [0, 1] with Ψ_j*(s·u) finite, −1 if there is none; 1 only where rounding cannot
                      have put u inside
``cost_size``         (optional) the sum of the sizes of the terms of Ψ_j(x), where they may cancel; for certificates
``piece``             (optional) where Ψ_j is quadratic around x: its curvature and the ends of that interval, which
                      is [x, x] at a kink; lets ``solve`` finish with Newton steps
``scaled``            (optional, uncompiled) the penalty times a factor, its linear term left alone; for paths
``check``             (optional, uncompiled) the penalty for n coordinates, after a look at its parameters
``is_smooth``         (optional, uncompiled) is Ψ differentiable?  Then "gs" and "gsl" may be used
``is_held``           (optional, uncompiled) do bounds or a square alone hold every coordinate?  For speed only
``with_free``         (optional, uncompiled) the penalty for n coordinates and one more without any
====================  ==================================================================================

Every parameter is one number for all coordinates or an array with one for each; ``at(parameter, j)`` reads both.
``weights`` multiply the penalty of a coordinate (0 leaves it unpenalised); ``linear`` adds c_j·x_j.

What else is needed follows from the first five methods, for a penalty of one's own as for ours: the allowed point
nearest to 0 from ``cost`` and ``prox`` (``nearest_allowed``), whether F can fall for ever from ``prox`` and
``subgradient`` far away (``ascd.problem.recession``).  Fields are never read by name.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import check_methods, is_ours
from ascd._core.jit import kernel
from ascd.problem.penalties.by_coordinate import L1, L1L2, L2, BoundedL1L2, Box, Zero
from ascd.problem.tuning import SHORT_STEPS
from ascd.protocols import Penalty

__all__ = ["L1", "L1L2", "L2", "BoundedL1L2", "Box", "Zero", "as_penalty", "is_held", "nearest_allowed"]


def as_penalty(penalty: Any, n: int) -> Any:
    """Return the penalty for n coordinates: the library's checked, the user's own with its methods checked."""
    if penalty is None:
        return Zero()
    check_methods(penalty, Penalty, "penalty")
    if not hasattr(penalty, "check"):
        _check_last(penalty, n)
        return penalty
    checked = penalty.check(n)
    _check_last(checked, n)
    if type(checked) is not type(penalty):
        check_methods(checked, Penalty, f"what {type(penalty).__name__}.check(n) returns as penalty")
    return checked


def _check_last(penalty: Any, n: int) -> None:
    """Evaluate a user's penalty at its last coordinate, uncompiled: compiled code would not see a missing entry."""
    kind: Any = type(penalty)
    if is_ours(kind) or not hasattr(type(penalty), "_fields"):
        return
    try:
        with suppress(ArithmeticError):  # zero may be outside its domain
            penalty.subgradient(0.0, n - 1), penalty.cost(0.0, n - 1)
    except IndexError as error:
        raise ValueError(
            f"penalty {type(penalty).__name__}: there is no coordinate {n - 1} ({error}); its arrays must have one "
            f"entry for each of the {n} coordinates"
        ) from error


def nearest_allowed(penalty: Any, n: int) -> Array:
    """The point nearest to 0 in every coordinate that the penalty allows: the default start."""
    x = np.zeros(n)
    lost = find_nearest(penalty, np.array(SHORT_STEPS), x)
    if lost >= 0:
        raise ValueError(
            f"penalty {type(penalty).__name__}: cost(0, {lost}) is not finite, nor is it at {x[lost]:g}, where "
            f"prox(0, step, {lost}) leads: either it overflows there, or its cost and its prox do not belong together"
        )
    return x


@kernel
def find_nearest(penalty: Any, steps: Array, x: Array) -> int:
    """Fill x; returns a coordinate for which no allowed point was found, or −1."""
    for j in range(x.size):
        trial = 0
        while not math.isfinite(penalty.cost(x[j], j)):
            if trial == steps.size:
                return j
            x[j] = penalty.prox(0.0, steps[trial], j)
            trial += 1
    return -1


def is_held(penalty: Any) -> bool:
    """Return True if bounds or a square alone limit every coordinate, without a kink at zero, as in duals of SVMs."""
    return bool(hasattr(penalty, "is_held") and penalty.is_held())
