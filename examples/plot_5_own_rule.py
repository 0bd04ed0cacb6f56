"""
Your own rule
=============

A rule sees the point and returns a coordinate. This one draws a few coordinates at random and takes the one whose upper
bound on steepness is the largest: cheaper than a scan of all bounds, better than a blind draw.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import ascd
from ascd.plotting import suboptimality
from ascd.reproduction.datasets import make_synthetic


class BestOfSome(NamedTuple):
    """The best of ``draws`` random coordinates by their upper bounds."""

    draws: int = 3

    def select(self, point, t, rng):
        best, pick = -1.0, 0
        for _ in range(self.draws):
            j = int(rng.random() * point.x.size)
            upper = point.intervals.bounds_at(j)[1]
            if upper > best:
                best, pick = upper, j
        return pick


# %%
# It runs compiled, with every oracle, step and steepness that the library has.

data = make_synthetic(n_samples=300, n_features=1500, rng=0)
strength = np.abs(data.A.T @ data.b).max() / 20.0
problem = ascd.Problem(data.A, data.b, penalty=ascd.L1(strength))
options = {"oracle": "norm", "steepness": "gsl-s", "max_iter": 15_000, "tol": 0.0, "record": 150, "rng": 0}
rules = {"uniform": "uniform", "best of 3": BestOfSome(3), "best of 10": BestOfSome(10), "a-ascd": "a-ascd"}
traces = {name: ascd.minimize(problem, rule=rule, **options).trace for name, rule in rules.items()}

# %%
# More draws, more of the steepest rule's progress.

best = min(trace.objective.min() for trace in traces.values())
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, trace in traces.items():
    ax.semilogy(trace.iteration / problem.n_features, suboptimality(trace, best), label=name)
ax.set(xlabel="epochs", ylabel="F(x) − best, relative", ylim=(1e-10, 2.0))
ax.legend()
