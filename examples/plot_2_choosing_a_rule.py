"""
Choosing a rule
===============

Which coordinate next? A rule can be cheap and wasteful (uniform), exact and expensive (steepest), or in between: the
bounds show which coordinates cannot be the steepest, and only the others are read. Here several rules run on one
problem, measured from the same certified minimum.
"""

import matplotlib.pyplot as plt

import ascd
from ascd.plotting import plot_traces
from ascd.reproduction.datasets import make_text_like

data = make_text_like(n_samples=2000, n_features=6000, rng=0)
problem = ascd.Problem(data.A, data.b, penalty=ascd.L1(abs(data.A.T @ data.b).max() / 20))
best = ascd.solve(problem, tol=1e-12).objective

# %%
# Rules by name; ``norm`` knows only the columns' norms, ``reference`` an angle besides.

parts = {"uniform": "norm", "cyclic": "norm", "a-ascd": "norm", "block": "reference"}
options = {"steepness": "gsl-s", "max_iter": 15 * problem.n_features, "tol": 0.0, "record": 600, "rng": 0}
runs = {rule: ascd.minimize(problem, rule=rule, oracle=oracle, **options) for rule, oracle in parts.items()}
for rule, run in runs.items():
    print(
        f"{rule:10} {run.reads / problem.n_features:6.1f} n columns read, {run.objective - best:.1e} above the minimum"
    )

# %%
# An epoch is n steps. Column reads count what the rule read besides; seconds, what it all cost.

figure, axes = plt.subplots(1, 3, figsize=(14, 3.8), layout="constrained")
for ax, x in zip(axes, ("iteration", "reads", "seconds"), strict=True):
    plot_traces({rule: run.trace for rule, run in runs.items()}, x=x, best=best, ax=ax)
