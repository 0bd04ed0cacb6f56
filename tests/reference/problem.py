"""The problem and its duality gap."""

from __future__ import annotations

import numpy as np

from reference.losses import make_loss
from reference.penalties import Zero


class Problem:
    """F, its gradient and its constants."""

    def __init__(self, A, b, loss="squared", penalty=None, sample_weight=None, huber_delta=1.35):
        self.A, self.b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
        self.d, self.n = self.A.shape
        self.s = np.ones(self.d) if sample_weight is None else np.asarray(sample_weight, float)
        self.loss = make_loss(loss, huber_delta) if isinstance(loss, str) else loss
        self.penalty = Zero(self.n) if penalty is None else penalty
        self.M = self.loss.bound
        self.gram = self.A.T @ (self.s[:, None] * self.A)  # <a_i, diag(s) a_j>
        self.norms = np.array([np.sqrt(np.sum(self.s * a**2)) for a in self.A.T])  # N_j
        lipschitz = self.M * self.norms**2
        smallest = min((v for v in lipschitz if v > 0), default=1.0)
        self.Lj = np.where(lipschitz > 0, lipschitz, smallest)
        self.L = self.Lj.max()

    def smooth_value(self, x):
        return float(np.sum(self.s * self.loss.value(self.b, self.A @ x)))

    def value(self, x):
        return self.smooth_value(x) + sum(self.penalty.value(x[j], j) for j in range(self.n))

    def gradient(self, x):
        """grad f(x) = A^T (s loss'(b, A x))."""
        return self.A.T @ (self.s * self.loss.derivative(self.b, self.A @ x))

    def duality_gap(self, x):
        """F(x) + sum_k (s_k loss)^*(theta_k) + sum_j Psi_j^*(-(A^T theta)_j).

        theta = scale * s * loss'(b, A x), with the largest feasible scale in [0, 1]; summed
        as nonnegative Fenchel-Young terms, where (s loss)^*(s q) = s loss^*(q).
        """
        z = self.A @ x
        slope = self.loss.derivative(self.b, z)
        scale = self.dual_scale(self.A.T @ (self.s * slope))
        if scale is None:
            return np.inf
        q = scale * slope
        u = self.A.T @ (self.s * q)
        gap = 0.0
        for k in range(self.d):
            pair = self.loss.value(self.b[k], z[k]) + self.loss.conjugate(self.b[k], q[k])
            gap += self.s[k] * (pair - q[k] * z[k]) if self.s[k] > 0 else 0.0
        for j in range(self.n):
            dual = np.clip(-u[j], *self.penalty.dual_domain(j))  # against rounding only
            gap += self.penalty.value(x[j], j) + self.penalty.conjugate(dual, j) + x[j] * u[j]
        return float(gap)

    def dual_scale(self, u):
        """The largest t in [0, 1] with -t u_j in the domain of Psi_j^* for all j, or None."""
        low, high = 0.0, 1.0
        for j in range(self.n):
            lo, hi = self.penalty.dual_domain(j)
            if u[j] == 0.0:
                if not lo <= 0.0 <= hi:
                    return None
                continue
            ends = sorted((-lo / u[j], -hi / u[j]))
            low, high = max(low, ends[0]), min(high, ends[1])
        return high if low <= high else None
