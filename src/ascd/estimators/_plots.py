"""Pictures of cross-validated paths (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.estimators._tuning import MOST_LINES


def plot_cross_validation(
    strengths: Array, errors: Array, coefs: Any, marks: Mapping[str, float], name: str, measure: str, axes: Any = None
) -> Any:
    """Errors of all folds with their mean and standard error above, coefficients below, on one logarithmic axis."""
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.figure(figsize=(7.0, 6.4), layout="constrained").subplots(2, 1, sharex=True)
    curve, lines = axes
    mean, folds = errors.mean(axis=1), errors.shape[1]
    spread = errors.std(axis=1, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros_like(mean)
    curve.plot(strengths, errors, color="C0", linewidth=0.7, alpha=0.35)
    curve.plot(strengths, mean, color="C0", label=f"mean of {folds} folds")
    curve.fill_between(strengths, mean - spread, mean + spread, color="C0", alpha=0.2, linewidth=0.0)
    largest = np.argsort(abs(coefs).max(axis=1).toarray().ravel())[::-1][:MOST_LINES]
    lines.plot(strengths, coefs.tocsr()[largest].toarray().T, linewidth=1.0)
    for number, (label, value) in enumerate(marks.items(), start=1):
        for ax in (curve, lines):
            ax.axvline(value, color=f"C{number}", linestyle="--", linewidth=1.2, label=label if ax is curve else None)
    curve.set(xscale="log", ylabel=measure)
    lines.set(xscale="log", xlabel=name, ylabel="coefficients, mean over the folds")
    curve.legend(loc="best", framealpha=0.8)
    return axes
