"""
The SVM's dual
==============

In the dual of a linear SVM the coordinates are the *samples*: 0 ≤ α_k ≤ C, and most of them end at a bound. Samples far
from the margin stay at 0: it pays to know which ones need not be looked at.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import ascd

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X), np.where(y == 1, 1.0, -1.0)
svm = ascd.DualSVM(X, y, C=0.1)

# %%
# The same engine, another problem: rules, oracles and certificates are those of the Lasso. With norms alone the
# intervals are too wide to tell samples apart, and a-ASCD runs like uniform selection; an angle to a reference vector
# is enough to come close to steepest descent.

options = {
    "steepness": "gsl-s",
    "max_iter": 40 * len(y),
    "tol": 0.0,
    "record": len(y) // 4,
    "record_gap": True,
    "rng": 0,
}
rules = {"uniform": "norm", "a-ascd": "norm", "block": "reference", "steepest": "exact"}
runs = {rule: ascd.minimize(svm, rule=rule, oracle=oracle, **options) for rule, oracle in rules.items()}
alpha = runs["steepest"].x
weights = svm.weights(alpha)
print("gap:", {rule: f"{run.gap:.1e}" for rule, run in runs.items()})
print("accuracy:", np.mean(np.sign(X @ weights) == y))

# %%
# On the left the duality gap, a proof at every moment; on the right the samples by their margin: those beyond 1 have
# α = 0 and could be left out.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for rule, run in runs.items():
    left.semilogy(run.trace.iteration / len(y), np.maximum(run.trace.gap, 1e-14), label=rule)
left.set(xlabel="epochs", ylabel="duality gap")
left.legend()
right.plot(y * (X @ weights), alpha, ".", markersize=4)
right.axvline(1.0, color="0.6", linewidth=1)
right.set(xlabel="margin y·⟨w, x⟩", ylabel="α")
