"""Pictures (extra ``plot``): convergence curves, with the size of the active set on a second axis, and paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ascd._core.checks import Array, unknown_name

#: Below this, relative to the start, differences of objectives are rounding.
SMALLEST_SHOWN = 1e-13
LABELS = {"iteration": "iteration", "reads": "columns read", "seconds": "seconds"}


class Curve(Protocol):
    """What is drawn of a run: the columns of an ``ascd.Trace``."""

    @property
    def objective(self) -> Array: ...
    @property
    def active(self) -> Array: ...


def plot_traces(
    traces: Mapping[str, Curve], x: str = "iteration", best: float | None = None, ax: Any = None, title: str = ""
) -> Any:
    """Suboptimality of several runs against iterations, column reads or seconds.

    Parameters
    ----------
    traces : name → trace
    x : {"iteration", "reads", "seconds"}
    best : the smallest objective; by default the smallest in the traces, so that the best run ends at the bottom
    ax : axes to draw on
    title : of the picture

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
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(7.0, 4.2), layout="constrained").add_subplot()
    ax.right = ax.twinx()
    bottom = min(trace.objective.min() for trace in traces.values()) if best is None else best
    for number, (name, trace) in enumerate(traces.items()):
        at, color = getattr(trace, x), f"C{number}"
        ax.plot(at, suboptimality(trace, bottom), color=color, label=as_label(name))
        if (trace.active != trace.active[0]).any():
            ax.right.plot(at, trace.active, color=color, linestyle=":", linewidth=1.2, alpha=0.8)
    ax.set(xlabel=LABELS[x], ylabel="F(x) − best, relative to the start", yscale="log", title=as_label(title))
    ax.right.set_ylabel("size of the active set (dotted)")
    ax.set_ylim(bottom=max(ax.get_ylim()[0], SMALLEST_SHOWN))
    ax.legend(loc="best", framealpha=0.8)
    return ax


def plot_coefficients(alphas: Array, coefs: Array, ax: Any = None, most: int = 50) -> Any:
    """Coefficients, one a row of ``coefs``, against falling alphas on a logarithmic axis; the ``most`` largest ones.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.path(problem, alphas=[3.0, 2.0, 1.0]).plot().get_xlabel()
    'alpha, from strong to weak'
    """
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(7.0, 4.2), layout="constrained").add_subplot()
    largest = np.argsort(-np.abs(coefs).max(axis=1, initial=0.0), kind="stable")[:most]
    ax.plot(alphas, coefs[largest].T, linewidth=1.2)
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    if np.min(alphas, initial=1.0) > 0.0:
        ax.set_xscale("log")
    if not ax.xaxis_inverted():
        ax.invert_xaxis()
    ax.set(xlabel="alpha, from strong to weak", ylabel="coefficients")
    return ax


def as_label(text: Any) -> str:
    """Somebody's text as matplotlib shows it unchanged: no formulas, and in the legend also with a leading underscore.

    Examples
    --------
    >>> from ascd.plotting import as_label
    >>> print(as_label(r"a$\\frac$"))
    a\\$\\frac\\$
    """
    shown = str(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def suboptimality(trace: Curve, best: float) -> Array:
    """(F(x) − best) / (F(x_0) − best), with zeros left out (nan) so that a logarithmic axis can show it.

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
