"""
Choosing a rule
===============

Which coordinate next? ``ascd.racing`` runs several rules on one problem and measures all of them against the same
certified minimum. A rule can be cheap and wasteful (uniform), exact and dear (steepest), or in between: the bounds tell
which coordinates cannot be the steepest, and only the others are looked at.
"""

import matplotlib.pyplot as plt

from ascd.reproduction.datasets import make_text_like
from ascd.plotting import suboptimality
from ascd.racing import entrants, make_problem, race

data = make_text_like(n_samples=2000, n_features=6000, rng=0)
problem = make_problem(data.A, data.b, "lasso", "max/20")

# %%
# Rules by name; ``norm`` knows only the columns' norms, ``reference`` an angle besides.

methods = entrants(["uniform", "cyclic", "a-ascd"], ["norm"], ["gsl-s"])
methods["block, reference"] = entrants(["block"], ["reference"], ["gsl-s"])["block"]
outcome = race(problem, methods, epochs=15)
for row in outcome.rows():
    print(*(cell.rjust(18) for cell in row))

# %%
# An epoch is n steps. Column reads say what the rule looked at besides; seconds, what it all cost.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, what in zip(axes, ("iteration", "reads", "seconds"), strict=True):
    for label, run in outcome.runs.items():
        height = suboptimality(run.trace, outcome.best)
        shown = height > 1e-12  # what follows is rounding
        ax.semilogy(getattr(run.trace, what)[shown], height[shown], label=label)
    ax.set_xlabel({"iteration": "step", "reads": "columns read", "seconds": "seconds"}[what])
axes[0].set_ylabel("F(x) − F*, relative")
axes[0].legend()
