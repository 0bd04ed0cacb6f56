"""The picture of the README and the front page: ``python docs/picture.py`` draws ``docs/_static/reading.png``.

How much of the data each method reads until it is near the minimum, on the paper's synthetic Lasso.  Reads are counted,
not timed: the picture is the same on every machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

import ascd
from ascd.reproduction.datasets import make_synthetic

TARGET = Path(__file__).parent / "_static" / "reading.png"
EPOCHS, SMALLEST = 16, 1e-9


class Look(NamedTuple):
    """How a curve is drawn: its colour, and where its name stands, from which a thin line leads to the curve."""

    colour: str
    where: tuple[float, float]
    parts: dict[str, Any] | None


CURVES = {
    "uniform coordinate descent": Look("#5f6a72", (7.6, 1e-4), {"rule": "uniform"}),
    "ASCD, as in the paper": Look("#0072b2", (4.6, 1e-6), {"rule": "ascd", "oracle": "norm", "steepness": "gs-s"}),
    "ascd.minimize(problem)": Look("#009e73", (4.6, 4e-9), {}),
    "ascd.solve(problem)": Look("#d55e00", (4.6, 6e-8), None),
}


def synthetic_lasso() -> ascd.Problem:
    """The problem of the paper's Fig. 2b, with a penalty of λ_max/20."""
    data = make_synthetic(n_samples=1000, n_features=5000, n_nonzero=50, noise=1.0, rng=0)
    return ascd.Problem(data.A, data.b, penalty=ascd.L1(np.abs(data.A.T @ data.b).max() / 20.0))


def trace_of(problem: ascd.Problem, parts: dict[str, Any] | None) -> ascd.Trace:
    """The history of a run with these parts of the engine, or of the solver."""
    if parts is None:
        return ascd.solve(problem, tol=1e-12).trace
    n = problem.n_features
    return ascd.minimize(problem, max_iter=EPOCHS * n, tol=0.0, record=n // 50, rng=0, step="coordinate", **parts).trace


def draw(problem: ascd.Problem, target: Path) -> None:
    """Draw all curves, each with its name beside it."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    traces = {name: trace_of(problem, look.parts) for name, look in CURVES.items()}
    best = min(trace.objective.min() for trace in traces.values())
    zero = problem.objective(np.zeros(problem.n_features))
    figure = plt.figure(figsize=(8.0, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for name, trace in traces.items():
        passes, left = trace.reads / problem.n_features, np.maximum((trace.objective - best) / (zero - best), 1e-30)
        end = int(np.argmax(left < SMALLEST)) + 1 if (left < SMALLEST).any() else left.size
        look = CURVES[name]
        ax.plot(passes[:end], left[:end], color=look.colour, linewidth=2.4)
        there = np.interp(-np.log10(look.where[1]), -np.log10(left[:end]), passes[:end])
        thin = {"arrowstyle": "-", "color": look.colour, "linewidth": 0.8}
        style: dict[str, Any] = {"color": look.colour, "weight": "bold", "va": "center", "arrowprops": thin}
        ax.annotate(name, (there, look.where[1]), look.where, **style)
    ax.set(yscale="log", ylim=(SMALLEST, 2.0), xlim=(0.0, EPOCHS))
    ax.set_xlabel("how many times the data were read  (columns read / number of columns)")
    ax.set_ylabel("F(x) above its minimum\n(1 at x = 0)")
    size = f"{problem.n_samples:,} samples, {problem.n_features:,} features"
    ax.set_title(f"A Lasso with {size}: further left is better", fontsize=11)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(target, dpi=170)


if __name__ == "__main__":
    draw(synthetic_lasso(), TARGET)
