"""
A path and cross-validation on gene expression
==============================================

Few samples, thousands of correlated features: expression data as in a microarray study, generated here so that the
example needs no network. Genes come in pathways that move together; five of them matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from ascd import LassoCV, lasso_path

rng = np.random.default_rng(0)
samples, pathways, genes = 90, 100, 20
activity = rng.standard_normal((samples, pathways))
X = 0.8 * np.repeat(activity, genes, axis=1) + 0.6 * rng.standard_normal((samples, pathways * genes))
y = activity[:, :5] @ [2.0, -1.5, 1.0, 1.0, -0.5] + 0.5 * rng.standard_normal(samples)

# %%
# The path: a hundred penalties, each started from its neighbour. The dual gap of every point is proved.

alphas, coefs, gaps = lasso_path(X, y - y.mean(), eps=0.02)
print(f"{X.shape[1]} genes, {len(alphas)} penalties, largest gap {gaps.max():.1e}")
print("genes in at the end:", np.count_nonzero(coefs[:, -1]))

# %%
# Cross-validation chooses the penalty; ``alpha_1se_`` is the strongest one within one standard error of the best.

model = LassoCV(cv=5, eps=0.02).fit(X, y)
chosen = np.flatnonzero(model.coef_)
print(f"alpha {model.alpha_:.4f} (one standard error: {model.alpha_1se_:.4f}), {chosen.size} genes")
print("pathways of the chosen genes:", np.unique(chosen // genes)[:12])

# %%
# Above the error of the folds, below the coefficients.

model.plot()
plt.gcf().set_size_inches(8, 6)
