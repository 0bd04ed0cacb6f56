"""Plots of runs and paths with matplotlib (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascd._core.checks import Array, unknown_name

#: Smallest suboptimality shown, relative to the start; differences of objectives below it are rounding.
SMALLEST_SHOWN = 1e-13
#: A curve with fewer points than this gets markers: a single point has no line.
FEW_POINTS = 10
#: Coefficients that are named in the legend, the largest ones.
NAMED_LINES = 10
LABELS = {"iteration": "iteration", "reads": "columns read", "seconds": "seconds"}


def plot_traces(
    traces: Mapping[str, Any], x: str = "iteration", best: float | None = None, ax: Any = None, title: str = ""
) -> Any:
    """Plot the suboptimality of several runs against iterations, column reads or seconds.

    Further calls on the same axes add runs: each has a colour of its own; ``best`` measures them alike.

    Parameters
    ----------
    traces : name → ``ascd.Trace``
    x : {"iteration", "reads", "seconds"}
    best : the smallest objective; by default the smallest in the traces, so that the best run ends at the bottom
    ax : axes to draw on
    title : of the plot

    Returns
    -------
    The axes; the active set's axis is ``ax.right``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np, ascd
    >>> from ascd.plotting import plot_traces
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> runs = {rule: ascd.minimize(problem, rule=rule, rng=0).trace for rule in ("cyclic", "ascd")}
    >>> plot_traces(runs, x="reads").get_xlabel()
    'columns read'
    """
    if x not in LABELS:
        raise unknown_name(x, "x", LABELS)
    if not traces or any(trace.objective.size == 0 for trace in traces.values()):
        raise ValueError(f"traces must have at least one run, and each at least one record; got {traces!r}")
    if ax is None:
        ax = _new_axes()
    if not hasattr(ax, "right"):
        ax.right = ax.twinx()
    bottom = min(trace.objective.min() for trace in traces.values()) if best is None else best
    first = len(ax.get_legend_handles_labels()[1])
    for number, (name, trace) in enumerate(traces.items(), start=first):
        height, color = suboptimality(trace, bottom), f"C{number}"
        marker = "o" if np.isfinite(height).sum() < FEW_POINTS else None
        ax.plot(getattr(trace, x), height, color=color, label=as_label(name), marker=marker, markersize=3.5)
        if (trace.active != trace.active[0]).any():
            ax.right.plot(getattr(trace, x), trace.active, color=color, linestyle=":", linewidth=1.2, alpha=0.8)
    ax.set(xlabel=LABELS[x], ylabel="F(x) − best, relative to the start", yscale="log", title=as_label(title))
    ax.right.set_ylabel("size of the active set (dotted)")
    ax.set_ylim(bottom=max(ax.get_ylim()[0], SMALLEST_SHOWN))
    ax.legend(loc="best", framealpha=0.8)
    return ax


def plot_coefficients(
    alphas: Array, coefs: Array, ax: Any = None, most: int = 50, names: Sequence[str] | None = None
) -> Any:
    """Plot coefficients, one a row of ``coefs``, against falling alphas on a logarithmic axis; the ``most`` largest.

    With ``names`` (one a row) the largest coefficients are named in a legend.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ax = ascd.path(problem, alphas=[3.0, 2.0, 1.0]).plot(names=["age", "income", "height"])
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('alpha, from strong to weak', ['age', 'height'])
    """
    if names is not None and len(names) != len(coefs):
        raise ValueError(f"names must have one entry for each of {len(coefs)} coefficients; got {len(names)}")
    ax = _new_axes() if ax is None else ax
    sizes = np.abs(coefs).max(axis=1, initial=0.0)
    largest = np.argsort(-sizes, kind="stable")[:most]
    lines = ax.plot(alphas, coefs[largest].T, linewidth=1.2)
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    if names is not None:
        shown = [(line, as_label(names[j])) for line, j in zip(lines, largest, strict=True) if sizes[j] > 0.0]
        ax.legend(*zip(*shown[:NAMED_LINES], strict=True), loc="best", framealpha=0.8) if shown else None
    if np.min(alphas, initial=1.0) > 0.0:
        ax.set_xscale("log")
    if not ax.xaxis_inverted():
        ax.invert_xaxis()
    ax.set(xlabel="alpha, from strong to weak", ylabel="coefficients")
    return ax


def _new_axes() -> Any:
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(7.0, 4.2), layout="constrained").add_subplot()


def as_label(text: Any) -> str:
    """Return text as matplotlib shows it unchanged: no formulas, and a leading underscore does not hide it."""
    shown = str(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def suboptimality(trace: Any, best: float) -> Array:
    """Return (F(x) − best) / (F(x_0) − best), with nan for zeros, which a logarithmic axis cannot show.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.plotting import suboptimality
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> trace = ascd.minimize(problem, rule="cyclic", record=1, max_iter=2, tol=0.0).trace
    >>> suboptimality(trace, best=4.5)
    array([1. , 0.2, 0.2])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of runs that have diverged
        excess = trace.objective - best
        return np.where(excess > 0.0, excess / max(excess[0], np.finfo(float).tiny), np.nan)
