"""Losses: one sample's share of f(Ax) = Σ_k s_k · loss(b_k, (Ax)_k).

Each loss is a NamedTuple whose compiled methods speak of one sample, with target y and prediction z:

==================  =============================================================================
``value``           loss(y, z)
``derivative``      ∂loss/∂z
``curvature``       ∂²loss/∂z² (one side's where it jumps), used by line search only
``conjugate``       sup_z {u·z − loss(y, z)}, +inf outside its domain; for duality gaps
``is_quadratic``    is the curvature constant?  Then it must be the curvature bound
``divergence``      (optional) value + conjugate(u) − u·z ≥ 0 without cancellation; for certificates
``weighted_value``  (optional) weight·loss(y, z), also where the loss alone is too small or large for float64
==================  =============================================================================

Plain Python methods tell the rest: ``curvature_bound`` (M, with 0 ≤ curvature ≤ M everywhere; inf where there is none,
then ``solve`` takes the loss and ``minimize`` does not) and, if the loss cannot take every target, ``check_target``.
"""

from __future__ import annotations

from typing import Any

from ascd._core.checks import as_number, unknown_name
from ascd._core.contracts import check_methods
from ascd.problem.losses.huber import Huber
from ascd.problem.losses.logistic import Logistic
from ascd.problem.losses.poisson import Poisson
from ascd.problem.losses.squared import Squared
from ascd.problem.losses.squared_hinge import SquaredHinge
from ascd.protocols import Loss

__all__ = ["LOSSES", "Huber", "Logistic", "Poisson", "Squared", "SquaredHinge", "as_loss"]

LOSSES: dict[str, Any] = {
    "squared": Squared,
    "logistic": Logistic,
    "huber": Huber,
    "squared_hinge": SquaredHinge,
    "poisson": Poisson,
}


def as_loss(loss: Any) -> Any:
    """The loss for a name, or the user's own after a check of its methods."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise unknown_name(loss, "loss", LOSSES)
        return LOSSES[loss]()
    check_methods(loss, Loss, "loss")
    if not hasattr(loss, "curvature_bound"):
        raise TypeError(f"loss {type(loss).__name__} lacks the method curvature_bound(self)")
    as_number(loss.curvature_bound(), f"{type(loss).__name__}.curvature_bound()", low=0.0, strict=True)
    return loss
