"""
A first Lasso
=============

``ascd.Lasso`` takes scikit-learn's parameters and gives its attributes, and adds a *certificate*: how far from optimal
the answer can be, at most. Here it chooses among the ten measurements of scikit-learn's diabetes data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from ascd import Lasso

data = load_diabetes()
model = Lasso(alpha=0.5).fit(data.data, data.target)

# %%
# The certificate is in the units of the Lasso's objective, 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁. ``gap`` bounds the distance
# to the optimum; ``columns_read`` counts how often a column of the data was looked at.

print(model.certificate_)
print("R² =", round(model.score(data.data, data.target), 3))

# %%
# A weaker penalty lets more measurements in.

alphas = (2.0, 0.5, 0.1, 0.01)
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
width = 0.8 / len(alphas)
for number, alpha in enumerate(alphas):
    fitted = Lasso(alpha=alpha).fit(data.data, data.target)
    gap = fitted.certificate_.gap
    ax.bar(np.arange(10) + number * width, fitted.coef_, width, label=f"alpha = {alpha:g}, gap ≤ {gap:.0e}")
ax.set_xticks(np.arange(10) + 0.3, data.feature_names)
ax.set_ylabel("coefficient")
ax.legend()
