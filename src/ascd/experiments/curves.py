"""Results → curves: suboptimality against epochs, column reads and seconds, as means over the seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.experiments.tuning import SMALLEST_EXCESS


class Curve(NamedTuple):
    """A method in a panel; every array has an entry a record, means over the seeds."""

    label: str
    epochs: Array
    reads: Array
    seconds: Array
    excess: Array  # (F(x) − best)/(F(x_0) − best)
    low: Array  # the smallest over the seeds
    high: Array
    active: Array  # size of the active set
    n: int
    violations: float  # gradient entries outside their interval, summed over the records (nan for safe oracles)
    unknown_until: float  # epochs until every coordinate has been visited (nan if never)
    parameters: dict[str, Any]
    seeds: int

    def epochs_to(self, target: float) -> float:
        """Epochs until the excess is at most ``target``; infinite if it never is."""
        reached = np.flatnonzero(self.excess <= target)
        return float(self.epochs[reached[0]]) if reached.size else float("inf")

    def reads_to(self, target: float) -> float:
        """Columns read until the excess is at most ``target``; infinite if it never is."""
        reached = np.flatnonzero(self.excess <= target)
        return float(self.reads[reached[0]]) if reached.size else float("inf")

    @property
    def end(self) -> float:
        """The excess at the end."""
        return float(self.excess[-1])

    @property
    def mean_log(self) -> float:
        """Mean of log10 of the excess, cut off at 1e-6: the height of the curve in a logarithmic picture."""
        return float(np.log10(np.maximum(self.excess, SMALLEST_EXCESS)).mean())


class Panel(NamedTuple):
    """The curves of a picture, and the minimum they are measured against."""

    name: str
    curves: dict[str, Curve]
    best: float
    gap: float
    support: int
    n: int


def panel_of(results: Mapping[str, Any], name: str) -> Panel:
    """The curves of one panel."""
    runs, index = results["runs"], results["index"][name]
    minimum = runs[index["minimum"][0]]["result"]
    groups = {label: [runs[job] for job in jobs] for label, jobs in index.items() if label != "minimum"}
    smallest = min(min(run["result"]["trace"]["objective"]) for group in groups.values() for run in group)
    best = min(minimum["objective"], smallest)
    curves = {label: _curve(label, group, best) for label, group in groups.items()}
    gap = float("inf") if minimum["gap"] is None else minimum["gap"]
    return Panel(name, curves, best, gap, minimum["support"], minimum["n"])


def _curve(label: str, group: list[dict[str, Any]], best: float) -> Curve:
    traces = [run["result"]["trace"] for run in group]
    n = group[0]["result"]["n"]

    def column(name: str) -> Array:
        return np.array([trace[name] for trace in traces], dtype=float)

    objective = column("objective")
    start = max(float(objective[0, 0]) - best, np.finfo(float).tiny)
    excess = np.maximum(objective - best, 0.0) / start
    epochs = column("iteration")[0] / n
    known = np.flatnonzero(np.isfinite(column("bound")).all(axis=0))
    return Curve(
        label=label,
        epochs=epochs,
        reads=column("reads").mean(axis=0),
        seconds=column("seconds").mean(axis=0),
        excess=excess.mean(axis=0),
        low=excess.min(axis=0),
        high=excess.max(axis=0),
        active=column("active").mean(axis=0),
        n=n,
        violations=float(column("violations").sum()) if "violations" in traces[0] else float("nan"),
        unknown_until=float(epochs[known[0]]) if known.size else float("nan"),
        parameters=group[0]["parameters"],
        seeds=len(group),
    )
