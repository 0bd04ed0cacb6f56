"""Penalties: the separable part Σ_j Ψ_j(x_j), one coordinate at a time.

Each penalty is a NamedTuple whose compiled methods speak of one coordinate j:

====================  ==================================================================================
``cost``              Ψ_j(x)
``prox``              argmin_z ½(z − v)² + step·Ψ_j(z)
``subgradient``       the ends of the interval ∂Ψ_j(x); infinite at the ends of a box
``cost_conjugate``    Ψ_j*(u) = sup_x {u·x − Ψ_j(x)}, +inf outside its domain; for duality gaps
``dual_scale``        the largest s in [0, 1] with Ψ_j*(s·u) finite, −1 if there is none
``piece``             (optional) where Ψ_j is quadratic around x: its curvature and the ends of that interval, which
                      is [x, x] at a kink; lets ``solve`` finish with Newton steps
``scaled``            (optional, uncompiled) the penalty times a factor, its linear term left alone; for paths
====================  ==================================================================================

Every parameter is one number for all coordinates or an array with one for each; ``at(parameter, j)`` reads both.
``weights`` multiply the penalty of a coordinate (0 leaves it unpenalised); ``linear`` adds c_j·x_j.
``check`` validates the parameters for n coordinates and returns the penalty with them in compiled form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._jit import check_methods
from ascd.penalties.bounded import BoundedL1L2
from ascd.penalties.box import Box
from ascd.penalties.norms import L1, L1L2, L2, Zero
from ascd.protocols import Penalty

__all__ = ["L1", "L1L2", "L2", "BoundedL1L2", "Box", "Zero", "as_penalty", "is_held", "nearest_allowed"]


def as_penalty(penalty: Any, n: int) -> Any:
    """The penalty in compiled form for n coordinates: ours checked, the user's own held to the protocol."""
    if penalty is None:
        return Zero()
    check_methods(penalty, Penalty, "penalty")
    return penalty.check(n) if hasattr(penalty, "check") else penalty


def nearest_allowed(penalty: Any, n: int) -> Any:
    """The point nearest to 0 in every coordinate that the penalty allows: the default start."""
    return np.clip(np.zeros(n), getattr(penalty, "lower", -math.inf), getattr(penalty, "upper", math.inf))


def is_held(penalty: Any) -> bool:
    """Are all coordinates held by bounds or a square alone, with no kink at zero?  So it is in the duals of SVMs."""
    if not hasattr(penalty, "upper") or np.any(getattr(penalty, "l1", 0.0)):
        return False
    return bool(np.all(np.isfinite(penalty.upper) | (np.asarray(getattr(penalty, "l2", 0.0)) > 0.0)))
