"""
Relaxed and adaptive Lasso
==========================

The Lasso chooses features and shrinks the coefficients of those it chooses. Two ways to shrink less: fit the chosen
features once more without a penalty (relaxed), or penalise less what a first fit finds large (adaptive). Each is two
lines.
"""

import matplotlib.pyplot as plt
import numpy as np

from ascd import Lasso, LassoCV, Ridge

rng = np.random.default_rng(0)
n, p = 120, 40
X = rng.standard_normal((n, p)) * np.geomspace(0.2, 5.0, p)  # features of very different sizes
truth = np.zeros(p)
truth[[0, 10, 20, 30, 39]] = np.array([2.0, -2.0, 1.5, -1.0, 1.0]) / X.std(axis=0)[[0, 10, 20, 30, 39]]
y = X @ truth + rng.standard_normal(n)

# %%
# ``standardize=True`` makes the penalty independent of the features' units; ``choose="1se"`` takes the strongest
# penalty whose error is within one standard error of the best.

lasso = LassoCV(standardize=True, choose="1se").fit(X, y)
print(f"alpha: best {lasso.alpha_best_:.3f}, within one standard error {lasso.alpha_1se_:.3f}")

# %%
# The relaxed Lasso:

kept = np.flatnonzero(lasso.coef_)
relaxed = Ridge(alpha=0.0).fit(X[:, kept], y)

# %%
# The adaptive Lasso:

first = Ridge(alpha=1.0, standardize=True).fit(X, y)
weights = 1.0 / np.abs(first.coef_ * X.std(axis=0))
adaptive = Lasso(alpha=0.05, standardize=True, penalty_weights=weights).fit(X, y)

# %%
# Coefficients times the deviations of their features, so that they can be compared:

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
scale = X.std(axis=0)
shown = np.zeros(p)
shown[kept] = relaxed.coef_
ax.plot(truth * scale, "k_", markersize=12, label="truth")
fits = {"Lasso": lasso.coef_, "relaxed": shown, "adaptive": adaptive.coef_}
for shift, (name, coef) in zip((-0.25, 0.0, 0.25), fits.items(), strict=True):
    ax.plot(np.arange(p) + shift, coef * scale, "o", markersize=4, label=name)
ax.set(xlabel="feature", ylabel="coefficient × deviation")
ax.legend()
