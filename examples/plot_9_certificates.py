"""
Certificates
============

How good is an answer, when the optimum is unknown? The *duality gap* is an upper bound on F(x) − min F that needs no
knowledge of the optimum. Here the optimum is computed afterwards, to see how tight the bound was.
"""

import matplotlib.pyplot as plt
import numpy as np

import ascd

rng = np.random.default_rng(0)
A = rng.standard_normal((120, 600))
b = A[:, :8] @ rng.standard_normal(8) + 0.5 * rng.standard_normal(120)
problem = ascd.Problem(A, b, penalty=ascd.L1(0.1 * np.abs(A.T @ b).max()))

# %%
# ``record_gap=True`` computes the gap at every record; without it a run computes it once, at its end.

run = ascd.minimize(problem, rule="a-ascd", max_iter=12_000, tol=0.0, record=100, record_gap=True, rng=0)
exact = ascd.minimize(problem, tol=1e-13, rng=0)
print(f"stopped at F = {run.objective:.12f}, proved within {run.gap:.1e}")
print(f"the best known F = {exact.objective:.12f}, proved within {exact.gap:.1e}")

# %%
# A run also stops by itself: no coordinate's steepness can exceed ``tol``, and the intervals prove it without a further
# pass over the data.

short = ascd.minimize(problem, tol=1e-3, rng=0)
print(short.status, "-", short.message)

# %%
# The gap stays above the true distance, and follows it down.

epochs = run.trace.iteration / problem.n_features
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.semilogy(epochs, np.maximum(run.trace.gap, 1e-13), label="duality gap (known during the run)")
ax.semilogy(epochs, np.maximum(run.trace.objective - exact.objective, 1e-13), label="F(x) − min F (known afterwards)")
ax.semilogy(epochs, np.maximum(run.trace.bound, 1e-13), "--", color="0.6", label="largest upper bound on steepness")
ax.set(xlabel="epochs")
ax.legend()
