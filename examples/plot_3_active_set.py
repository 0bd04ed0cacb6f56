"""
What the active set does
========================

For every coordinate the library keeps an interval that contains the size of its gradient entry. A coordinate whose
upper bound is below the mean of the squared lower bounds cannot be worth a step and leaves the *active set*. In
this example a rule of our own writes down the bounds at every step, and leaves the choice to ASCD.
"""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import ascd

STEPS, n = 80, 25


class Notebook(NamedTuple):
    """ASCD that writes down all bounds and who is active."""

    lower: Any
    upper: Any
    active: Any
    inner: Any

    def select(self, point, t, rng):
        threshold = self.inner.find_threshold(point)
        for j in range(point.x.size):
            self.lower[t, j], self.upper[t, j] = point.intervals.bounds_at(j)
            self.active[t, j] = self.upper[t, j] >= threshold
        return self.inner.select(point, t, rng)


rng = np.random.default_rng(1)
A = rng.standard_normal((60, n)) * np.geomspace(1.0, 0.15, n)
problem = ascd.Problem(A, A[:, :4] @ [3.0, -2.0, 2.0, 1.0] + 0.1 * rng.standard_normal(60), penalty=ascd.L2(1.0))

# %%
# Nothing is known at the start (``init="none"``): every upper bound is infinite, every coordinate active. Each visit
# pins one interval; each step widens all the others a little.

pages = np.zeros((STEPS, n)), np.zeros((STEPS, n)), np.zeros((STEPS, n))
notebook = Notebook(*pages, ascd.ASCD().prepare(problem.parts, None, None))
ascd.minimize(problem, rule=notebook, oracle=ascd.Simulated(0.05), init="none", max_iter=STEPS, tol=0.0, rng=0)

# %%
# Blue intervals are active, grey ones are out: they *provably* hold no steeper coordinate than the active ones on
# average.

lower, upper, active = pages
top = 1.1 * upper[np.isfinite(upper)].max()
figure, axes = plt.subplots(2, 3, figsize=(12, 6), sharex=True, sharey=True, layout="constrained")
for ax, t in zip(axes.flat, (0, 10, 30, 40, 60, 79), strict=True):
    high = np.minimum(upper[t], top)
    color = np.where(active[t] > 0, "C0", "0.7")
    ax.bar(np.arange(n), np.maximum(high - lower[t], 0.004 * top), bottom=lower[t], color=color)
    ax.set_title(f"after {t} steps: {int(active[t].sum())} of {n} active", fontsize=10)
for ax in axes[:, 0]:
    ax.set_ylabel("interval of |gradient entry|")
for color, label in (("C0", "active"), ("0.7", "left out")):
    axes[1, 2].bar(0, 0, color=color, label=label)
axes[1, 2].legend(loc="upper right")
for ax in axes[1]:
    ax.set_xlabel("coordinate")
