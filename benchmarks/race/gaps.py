"""How good an answer is: duality gaps in plain NumPy, recomputed for everybody from the coefficients alone.

    F(x) = f(Xx) + l1·|x|₁ + l2/2·‖x‖²,      f(z) = ½‖z − y‖²   or   Σ_k log(1 + exp(−y_k z_k))

For every θ, F(x) − min F ≤ [f(z) + f*(θ) − ⟨θ, z⟩] + Σ_j [Ψ(x_j) + Ψ*(−u_j) + x_j u_j], z = Xx, u = Xᵀθ.  The dual
point is θ = s·∇f(z); with l2 = 0, s is the largest number in [0, 1] that keeps |u_j| ≤ l1; with l2 > 0 every u is
allowed and s = 1.  All terms are non-negative, so nothing cancels and gaps of 1e-12 are still true.  Nothing here uses
ascd.

Gaps are given relative to F(0).  With an intercept, Fenchel's inequality holds for centred data (squared loss only).
"""

from __future__ import annotations

import numpy as np


def zero_objective(loss, y):
    """F(0), the unit of every gap."""
    return 0.5 * float(y @ y) if loss == "squared" else len(y) * float(np.log(2.0))


def objective(X, y, loss, l1, l2, x):
    z = X @ x
    return float(_losses(loss, y, z).sum() + l1 * np.abs(x).sum() + 0.5 * l2 * (x @ x))


def relative_gap(X, y, loss, l1, l2, x):
    """The duality gap at x, divided by F(0); inf where x is not finite."""
    if not np.isfinite(x).all():
        return float("inf")
    z = X @ x
    slope = _slope(loss, y, z)
    return _gap(X.T @ slope, y, loss, z, slope, l1, l2, x) / zero_objective(loss, y)


def path_gaps(X, y, strengths, coefs):
    """Relative gaps of Lasso coefficients, one column a strength l1; inf for a path that ended early or overflowed."""
    if coefs.shape[1] < len(strengths) or not np.isfinite(coefs).all():
        return np.full(len(strengths), np.inf)
    images = np.asarray(X @ coefs)
    slopes = images - y[:, None]
    products = np.asarray(X.T @ slopes)
    unit = zero_objective("squared", y)
    return np.array(
        [
            _gap(products[:, t], y, "squared", images[:, t], slopes[:, t], l1, 0.0, coefs[:, t]) / unit
            for t, l1 in enumerate(strengths)
        ]
    )


def centred_gap(X, y, l1, x):
    """The relative gap of a Lasso with its best intercept: that of the same problem with centred columns and target.

    X stays as it is: z = Xx − mean(Xx) and ⟨a_j − mean, θ⟩ = ⟨a_j, θ⟩ for every θ that sums to 0.
    """
    target = y - y.mean()
    z = X @ x
    z = z - z.mean()
    slope = z - target
    slope = slope - slope.mean()  # rounding only
    return _gap(X.T @ slope, target, "squared", z, slope, l1, 0.0, x) / zero_objective("squared", target)


def svm_primal(X, y, C, w):
    """½‖w‖² + C·Σ max(0, 1 − y_k⟨w, x_k⟩)."""
    return 0.5 * float(w @ w) + C * float(np.maximum(0.0, 1.0 - y * (X @ w)).sum())


def svm_dual(X, y, C, alpha):
    """The dual value of the nearest feasible α: a lower bound on every primal value."""
    alpha = np.clip(alpha, 0.0, C)
    w = X.T @ (y * alpha)
    return float(alpha.sum() - 0.5 * (w @ w))


def _gap(product, y, loss, z, slope, l1, l2, x):
    size = np.abs(product)
    scale = 1.0 if l2 > 0.0 or size.max() <= l1 else l1 / size.max()
    penalty = l1 * np.abs(x) + scale * x * product
    if l2 > 0.0:
        penalty += 0.5 * l2 * x * x + np.maximum(0.0, size - l1) ** 2 / (2.0 * l2)
    return float(_fit_terms(loss, y, z, slope, scale).sum() + np.maximum(0.0, penalty).sum())


def _fit_terms(loss, y, z, slope, scale):
    """f_k(z_k) + f_k*(s·v_k) − s·v_k·z_k with v = ∇f(z); zero for s = 1."""
    if loss == "squared":
        return 0.5 * (1.0 - scale) ** 2 * slope**2
    p = -scale * slope * y  # in [0, 1]: f* is p·log p + (1 − p)·log(1 − p)
    entropy = _xlogx(p) + _xlogx(1.0 - p)
    return np.maximum(0.0, _losses(loss, y, z) + entropy + p * y * z)


def _losses(loss, y, z):
    return 0.5 * (z - y) ** 2 if loss == "squared" else np.logaddexp(0.0, -y * z)


def _slope(loss, y, z):
    return z - y if loss == "squared" else -y * np.exp(-np.logaddexp(0.0, y * z))


def _xlogx(p):
    return p * np.log(np.where(p > 0.0, p, 1.0))
