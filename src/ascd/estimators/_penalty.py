"""The penalty that an estimator's parameters describe.

There are two kinds, with and without bounds, whatever parts of the elastic net are zero: what is compiled for one
estimator then serves the others too.  ``scale`` holds the deviations of standardised features (``_deviations``): it
multiplies the L1 part, and its square the L2 part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd.problem.penalties import L1L2, BoundedL1L2

#: The share of the L1 penalty in those with a name.
RATIOS = {"l1": 1.0, "l2": 0.0}


def regulariser(
    l1: float,
    l2: float,
    n_features: int,
    *,
    weights: Any = None,
    bounds: Any = None,
    positive: bool = False,
    scale: Array | None = None,
) -> Any:
    """``weights_j·(l1·scale_j·|x| + ½·l2·scale_j²·x²)``, within the bounds where there are any."""
    weight: Any = 1.0 if weights is None else as_parameter(weights, "penalty_weights", n_features, low=0.0)
    strengths: tuple[Any, Any] = float(l1), float(l2)
    if scale is not None:
        weight = weight * (scale if l1 else scale**2)
        strengths = (float(l1), l2 * scale) if l1 and l2 else strengths
    if bounds is None and not positive:
        return L1L2(*strengths, weight)
    lower, upper = as_bounds((-math.inf, math.inf) if bounds is None else bounds, n_features)
    if positive:
        lower = np.maximum(lower, 0.0) if np.ndim(lower) else max(lower, 0.0)
    return BoundedL1L2(*strengths, lower, upper, weight)


def curvatures(penalty: Any) -> Any:
    """The μ_j of a penalty ½·Σ μ_j x_j², within bounds or not; None where it is not of this kind."""
    if not isinstance(penalty, L1L2 | BoundedL1L2) or np.any(penalty.l1):
        return None
    return penalty.l2 * penalty.weights


def as_bounds(bounds: Any, n_features: int) -> tuple[Any, Any]:
    """Lower and upper bounds, each one number or one a feature, with zero between them."""
    if len(bounds) != 2:
        raise ValueError(f"bounds must be a pair (lower, upper) of numbers or arrays; got {bounds!r}")
    lower = as_parameter(bounds[0], "bounds[0]", n_features, finite=False)
    upper = as_parameter(bounds[1], "bounds[1]", n_features, finite=False)
    if np.any(np.asarray(lower) > 0.0) or np.any(np.asarray(upper) < 0.0):
        raise ValueError(f"bounds must allow the coefficient 0: lower ≤ 0 ≤ upper; got {bounds!r}")
    return lower, upper


def finite_strength(strength: float) -> float:
    """A penalty's strength, which must be a number of float64."""
    if not math.isfinite(strength):
        raise ValueError(
            "alpha times the sum of sample_weight (1/C of classifiers) must be finite in float64: decrease alpha, or "
            "increase C"
        )
    return strength


def as_ratio(penalty: str | None, l1_ratio: float | None) -> float:
    """The share of the L1 penalty, from either way to state it."""
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    return RATIOS.get(penalty or "", 0.0 if l1_ratio is None else l1_ratio)
