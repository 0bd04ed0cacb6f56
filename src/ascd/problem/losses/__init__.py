"""Losses: f(Z) = Σ_k s_k·loss(b_k, z_k) with Z = AX + 1cᵀ, of shape (n_samples, n_outputs).

**By sample and output** (least squares, logistic, Huber, ...; also users' own): a NamedTuple whose compiled methods
take one target y and one prediction z.

==================  =============================================================================
``value``           loss(y, z)
``derivative``      ∂loss/∂z
``curvature``       ∂²loss/∂z² (one side's where it jumps), used by line search only
``conjugate``       sup_z {u·z − loss(y, z)}, +inf outside its domain; for duality gaps
``is_quadratic``    True if the curvature is constant; then it must equal the curvature bound
``divergence``      (optional) value + conjugate(u) − u·z ≥ 0 without cancellation; for certificates
``weighted_value``  (optional) weight·loss(y, z), also where the loss alone is too small or large for float64
==================  =============================================================================

Uncompiled: ``curvature_bound`` (M, with 0 ≤ curvature ≤ M everywhere; inf where there is none, then ``solve`` accepts
the loss and ``minimize`` does not) and, for losses that do not accept every target, ``check_target``.

**Of all predictions**: what the solver sees, ``problem.loss``.  ``outputs.Outputs`` is the adaptor that adds up a loss
by sample over samples and outputs; ``softmax.Softmax`` couples the outputs of a sample.  A loss that couples samples
(Cox's partial likelihood) fits the same contract: no method below is called for a part of the samples.

===================  =====================================================================================
``n_outputs``        T
``is_flat``          True if b has one dimension: coefficients are then returned with shape (n_features,)
``is_quadratic``     True if the Hessian is constant
``is_coupled``       True if the Hessian has entries beside the diagonal
``bound``            M, an upper bound on the eigenvalues of the Hessian for weights of 1
``evaluate``         value, raw gradient V (d, T) and ``Curvature`` at Z, after adding the best intercepts to Z
``dual_fit``         what moves V to a dual point that has required products exactly, or None
``gap``              f(Z) + f*(s·θ) − s·⟨θ, Z⟩, the largest for θ near the dual point, rounding counted
``quick_gap``        the same for s·V, rounding not counted
``own_curvature``    the Hessian's diagonal for one output
===================  =====================================================================================
"""

from __future__ import annotations

from typing import Any

from ascd._core.checks import as_number, unknown_name
from ascd._core.contracts import check_methods
from ascd.problem.losses.by_sample import Huber, Logistic, Poisson, Squared, SquaredHinge
from ascd.problem.losses.curvature import Curvature
from ascd.protocols import Loss

__all__ = ["LOSSES", "SOFTMAX", "Curvature", "Huber", "Logistic", "Poisson", "Squared", "SquaredHinge", "as_loss"]

LOSSES: dict[str, Any] = {
    "squared": Squared,
    "logistic": Logistic,
    "huber": Huber,
    "squared_hinge": SquaredHinge,
    "poisson": Poisson,
}
#: The name of the loss of several classes, which has no formula for one prediction alone.
SOFTMAX = "softmax"


def as_loss(loss: Any) -> Any:
    """Return the loss for a name (``SOFTMAX`` itself for that), or the user's own after a check of its methods."""
    if isinstance(loss, str):
        if loss == SOFTMAX:
            return loss
        if loss not in LOSSES:
            raise unknown_name(loss, "loss", [*LOSSES, SOFTMAX])
        return LOSSES[loss]()
    check_methods(loss, Loss, "loss")
    if not hasattr(loss, "curvature_bound"):
        raise TypeError(f"loss {type(loss).__name__} lacks the method curvature_bound(self)")
    as_number(loss.curvature_bound(), f"{type(loss).__name__}.curvature_bound()", low=0.0, strict=True)
    return loss
