"""
Your own penalty
================

A penalty is one ``NamedTuple`` with plain Python methods; it runs compiled beside the library's own. This one charges
positive coefficients more than negative ones: Ψ(x) = right·max(x, 0) + left·max(−x, 0).
"""

import math
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import ascd
from ascd import at


class Pinball(NamedTuple):
    """Each parameter is one number, or one for every coordinate."""

    right: Any
    left: Any

    def cost(self, x, j):
        return at(self.right, j) * max(x, 0.0) + at(self.left, j) * max(-x, 0.0)

    def prox(self, v, step, j):
        return max(v - step * at(self.right, j), 0.0) + min(v + step * at(self.left, j), 0.0)

    def subgradient(self, x, j):
        low = at(self.right, j) if x > 0.0 else -at(self.left, j)
        high = -at(self.left, j) if x < 0.0 else at(self.right, j)
        return low, high

    def cost_conjugate(self, u, j):
        return 0.0 if -at(self.left, j) <= u <= at(self.right, j) else math.inf

    def dual_scale(self, u, j):
        if u > at(self.right, j):
            return at(self.right, j) / u
        return -at(self.left, j) / u if u < -at(self.left, j) else 1.0


# %%
# ``cost_conjugate`` and ``dual_scale`` are what the certificate needs: the gap works for your penalty, too.

rng = np.random.default_rng(0)
A = rng.standard_normal((80, 40))
truth = np.where(np.arange(40) < 12, (-1.0) ** np.arange(40) * np.linspace(2.5, -3.0, 40), 0.0)
b = A @ truth + rng.standard_normal(80)
penalties = {"L1(20)": ascd.L1(20.0), "Pinball(right=60, left=5)": Pinball(60.0, 5.0)}

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(truth, "k_", markersize=12, label="truth")
for shift, (name, penalty) in zip((-0.15, 0.15), penalties.items(), strict=True):
    solution = ascd.minimize(ascd.Problem(A, b, penalty=penalty), tol=1e-8, rng=0)
    print(f"{name}: {solution.status}, gap {solution.gap:.1e}")
    ax.plot(np.arange(40) + shift, solution.x, "o", markersize=4, label=name)
ax.set(xlabel="coordinate", ylabel="coefficient")
ax.legend()
