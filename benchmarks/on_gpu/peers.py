"""FISTA with restart, written in torch, to the same duality gap."""

from __future__ import annotations

import math


def fista(X, y, strength, tol, most=20000):
    """½‖y − Xw‖² + strength·‖w‖₁ on the device of X, until the gap is ``tol`` times ½‖y‖²; gap and steps."""
    import torch

    z = torch.randn(X.shape[1], dtype=X.dtype, device=X.device)
    for _ in range(20):
        z = X.T @ (X @ z)
        z /= z.norm()
    lipschitz = 1.02 * float((X.T @ (X @ z)).norm())
    w = v = torch.zeros(X.shape[1], dtype=X.dtype, device=X.device)
    t, zero, gap = 1.0, 0.5 * float(y @ y), math.inf
    for step in range(1, most + 1):
        point = v - X.T @ (X @ v - y) / lipschitz
        new = torch.sign(point) * (point.abs() - strength / lipschitz).clamp(min=0)
        if float((v - new) @ (new - w)) > 0.0:
            t = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        v, w, t = new + (t - 1.0) / following * (new - w), new, following
        if step % 10 == 0:
            short = y - X @ w
            scale, r, wide = min(1.0, strength / float((X.T @ short).abs().max())), short.double(), y.double()
            primal = 0.5 * float(r @ r) + strength * float(w.double().abs().sum())
            dual = scale * float(r @ wide) - 0.5 * scale * scale * float(r @ r)
            gap = (primal - dual) / zero
            if gap <= tol:
                break
    return gap, step
