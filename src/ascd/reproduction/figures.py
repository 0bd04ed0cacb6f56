"""From results to figures: curves as means over the seeds, and charts whose captions name every parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.reproduction import panels
from ascd.reproduction.datasets import DATA_SEED
from ascd.reproduction.page import COLORS, TRACE_AXES, Chart, Section, Series

Results = Mapping[str, Any]
#: Relative suboptimality below which heights of curves are cut off: one curve that reaches rounding would outweigh all.
SMALLEST_EXCESS = 1e-6


class MeanCurve(NamedTuple):
    """A method in a panel; arrays have an entry a record, means over the seeds."""

    label: str
    epochs: Array
    reads: Array
    seconds: Array
    excess: Array  # (F(x) − best)/(F(x_0) − best)
    low: Array  # the smallest over the seeds
    high: Array
    active: Array  # size of the active set
    end: float  # the excess at the end
    height: float  # mean of log10 of the excess, cut off at SMALLEST_EXCESS
    duration: float  # seconds of all steps, without the initialisation
    n: int
    violations: float  # gradient entries outside their interval, summed over the records (nan for safe oracles)
    unknown_until: float  # epochs until every coordinate has been visited (nan if never)
    parameters: dict[str, Any]
    seeds: int

    def first(self, column: Array, target: float) -> float:
        """Return the entry of a column where the excess is first at most ``target``; infinity if it never is."""
        reached = np.flatnonzero(self.excess <= target)
        return float(column[reached[0]]) if reached.size else float("inf")

    def series(self) -> Series:
        """Return the curve as a chart's, with the range over the seeds."""
        x = {key: getattr(self, key).tolist() for key in TRACE_AXES}
        low, high = (self.low.tolist(), self.high.tolist()) if self.seeds > 1 else ((), ())
        return Series(self.label, x, self.excess.tolist(), low, high, self.active.tolist())


class PanelCurves(NamedTuple):
    """The curves of a panel, and the minimum they are measured against."""

    name: str
    curves: dict[str, MeanCurve]
    best: float
    gap: float
    support: int
    n: int


def panel_of(results: Results, name: str) -> PanelCurves:
    """Return the curves of one panel."""
    runs, index = results["runs"], results["index"][name]
    minimum = runs[index["minimum"][0]]["result"]
    groups = {label: [runs[job] for job in jobs] for label, jobs in index.items() if label != "minimum"}
    smallest = min(min(run["result"]["trace"]["objective"]) for group in groups.values() for run in group)
    best = min(minimum["objective"], smallest)
    curves = {label: _curve(label, group, best) for label, group in groups.items()}
    gap = float("inf") if minimum["gap"] is None else minimum["gap"]
    return PanelCurves(name, curves, best, gap, minimum["support"], minimum["n"])


def _curve(label: str, group: list[dict[str, Any]], best: float) -> MeanCurve:
    traces = [run["result"]["trace"] for run in group]
    n = group[0]["result"]["n"]

    def column(name: str) -> Array:
        return np.array([trace[name] for trace in traces], dtype=float)

    objective = column("objective")
    start = max(float(objective[0, 0]) - best, np.finfo(float).tiny)
    excess = np.maximum(objective - best, 0.0) / start
    epochs, seconds, mean = column("iteration")[0] / n, column("seconds").mean(axis=0), excess.mean(axis=0)
    known = np.flatnonzero(np.isfinite(column("bound")).all(axis=0))
    return MeanCurve(
        label=label,
        epochs=epochs,
        reads=column("reads").mean(axis=0),
        seconds=seconds,
        excess=mean,
        low=excess.min(axis=0),
        high=excess.max(axis=0),
        active=column("active").mean(axis=0),
        end=float(mean[-1]),
        height=float(np.log10(np.maximum(mean, SMALLEST_EXCESS)).mean()),
        duration=float(seconds[-1] - seconds[0]),
        n=n,
        violations=float(column("violations").sum()) if "violations" in traces[0] else float("nan"),
        unknown_until=float(epochs[known[0]]) if known.size else float("nan"),
        parameters=group[0]["parameters"],
        seeds=len(group),
    )


# ---- charts

SECTION_TEXTS = {
    "1": "The share of the active set that lies in the support, simulated, against its limit and the paper's bound.",
    "2": "The paper's generator: sparse, dependent columns of very different lengths. Oracle g² is simulated.",
    "3": "Text with all values set to 1. Oracle g⁴ with the radius as printed, which is too small (erratum E4).",
    "4": "Steepest descent from x₀ = (1, …, 1), which is not the worst start, soon meets the bound's regime.",
    "B": "The same measurements for parts that the paper names but does not show, and for this library's own.",
    "S": "The paper does not give λ nor L of the fixed step: the same curves for other choices.",
    "R": "The paper's last question: gradient entries from sampled rows, with intervals that hold with a probability.",
}
PROBLEMS = {
    "ridge": "½‖Ax − b‖² + λ/2·‖x‖², λ = {strength}",
    "lasso": "½‖Ax − b‖² + λ‖x‖₁, λ = λ_{strength}",
    "logistic": "Σ log(1 + exp(−b_k (Ax)_k)) + λ‖x‖₁, λ = λ_{strength}",
    "svm": "dual of the linear SVM with hinge loss, C = {strength}",
}
TARGETS = {
    "synthetic": f"b = Ax̂ + unit noise, x̂ with 50 normal entries, data seed {DATA_SEED}",
    "dense": f"normal entries, b = Ax̂ + unit noise, x̂ normal, data seed {DATA_SEED}",
    "tall-plain": f"independent normal columns, b = Ax̂ + unit noise, x̂ with 10 normal entries, data seed {DATA_SEED}",
    "tall-correlated": f"normal columns, neighbours correlated by 0.9, b and x̂ likewise, data seed {DATA_SEED}",
    "tall-full": f"independent normal columns, b = Ax̂ + unit noise, x̂ normal, data seed {DATA_SEED}",
    "tall-sparse": f"one normal entry in a hundred, b = Ax̂ + unit noise, x̂ with 10 of them, data seed {DATA_SEED}",
    "text": f"all values 1, b the labels ±1, rows and columns drawn with seed {DATA_SEED} where not all are used",
}
STEPS = {"fixed": "step 1/L, L = max L_j", "coordinate": "steps 1/L_j", "line-search": "exact line search"}
STARTS = {"gradient": "started from the true gradient", "none": "started with unknown gradient (radius ∞)"}
ITERATIONS = {"t": "iteration t"}


def sections(results: Results) -> list[Section]:
    """Return all charts of a results file, in the report's order; the theorems have no chart."""
    made = []
    for figure, text in SECTION_TEXTS.items():
        parts = [part for part in results["index"] if panels.figure_of(part) == figure]
        charts = tuple(chart for part in parts for chart in _charts(results, part))
        if charts:
            made.append(Section(f"figure-{figure}", panels.FIGURES[figure], text, charts))
    return made


def _charts(results: Results, part: str) -> tuple[Chart, ...]:
    if part == "1":
        return tuple(_ratio_chart(results["runs"][names[0]]) for names in results["index"]["1"].values())
    if part == "4":
        return _lower_bound_charts(results["runs"][results["index"]["4"]["SCD"][0]])
    entry, panel = panels.PANELS[part], panel_of(results, part)
    series = tuple(curve.series() for curve in panel.curves.values())
    title = f"{entry.name}  {entry.title}" if entry.name[0].isdigit() else entry.title
    label = "(F(x) − F*) / (F(x₀) − F*)"
    return (Chart(entry.name, title, caption(entry, panel), TRACE_AXES, series, label, "active set (dotted)"),)


def caption(entry: panels.Panel, panel: PanelCurves) -> str:
    """Return all parameters of a panel in sentences."""
    some = next(iter(panel.curves.values())).parameters
    shape = f"{some['label']}, {some['samples']:,} samples × {some['features']:,} features ({TARGETS[some['data']]})"
    problem = PROBLEMS[some["problem"]].format(strength=some["strength"])
    parts = f"{STEPS[entry.step]}; {entry.steepness.upper()}; {STARTS[entry.init]} unless the name says otherwise"
    oracles = "; ".join(f"{curve.label}: {_parts_text(curve, entry)}" for curve in panel.curves.values())
    seeds = max(curve.seeds for curve in panel.curves.values())
    spread = f"means of seeds 0 to {seeds - 1}, the band is their range" if seeds > 1 else "seed 0"
    minimum = (
        f"F* = {panel.best:.8g} with a certified gap of {panel.gap:.1e}; {panel.support:,} nonzero coefficients there"
    )
    return f"{shape}; {problem}; {parts}; {some['epochs']} epochs; {spread}. Rules and oracles — {oracles}. {minimum}."


def _parts_text(curve: MeanCurve, entry: panels.Panel) -> str:
    parameters = curve.parameters
    changed = [parameters[key] for key in ("steepness", "step", "init") if parameters[key] != getattr(entry, key)]
    violated = [] if np.isnan(curve.violations) else [f"{curve.violations:.0f} bound violations seen"]
    return ", ".join([f"{parameters['rule']} with {parameters['oracle']}", *changed, *violated])


def _level(name: str, t: list[int], value: float, color: str) -> Series:
    return Series(name, {"t": [t[0], t[-1]]}, [value] * 2, color=color, dash=True)


def _ratio_chart(run: dict[str, Any]) -> Chart:
    parameters, found = run["parameters"], run["result"]
    t, T = list(range(len(found["rho"]))), parameters["T"]
    series = [
        Series("ρ_t", {"t": t}, found["rho"], color=COLORS[0]),
        _level("ρ_∞ (equilibrium)", t, found["limit"], "#c0392b"),
    ]
    if found["bound"] > 0:
        series.append(_level("bound 1 − (n − s)/T_∞", t, found["bound"], "#222222"))
    text = (
        f"n = {parameters['n']}, s = {parameters['s']}, c = {parameters['c']:g}, T_∞ = {T}, I_0 = [s], geometric "
        f"absences, seed {parameters['seed']}; mean of ρ_t over {parameters['n_iter']:,} iterations without the first "
        f"quarter {found['mean']:.4f}, equilibrium {found['limit']:.4f}, bound {found['bound']:.3f}"
        f"{' (empty, not drawn)' if found['bound'] <= 0 else ''}."
    )
    return Chart(f"1-{T}", f"T_∞ = {T}", text, ITERATIONS, tuple(series), "competitive ratio ρ", log=False)


def _lower_bound_charts(run: dict[str, Any]) -> tuple[Chart, ...]:
    parameters, found = run["parameters"], run["result"]
    t = list(range(len(found["objective"])))
    text = f"n = {parameters['n']}, α = {parameters['alpha']}, x₀ = (1, …, 1), exact line search."
    ratio = (Series("n·max|g|²/Σ|g|²", {"t": t}, found["ratio"]), _level("bound 3 + 3α", t, found["bound"], "#222222"))
    shares = list(zip(*found["sorted"], strict=True))
    shades = [f"#{red:02x}{red + 40:02x}b0" for red in np.linspace(8, 186, len(shares)).astype(int)]
    components = tuple(
        Series(f"component {rank}", {"t": t}, list(values), color=color, thin=True)
        for rank, (values, color) in enumerate(zip(shares, shades, strict=True), start=1)
    )
    about = text + " The n absolute gradient entries, sorted, divided by their 2-norm; dark is the largest."
    return (
        Chart("4-f", "Objective", text, ITERATIONS, (Series("q(x_t)", {"t": t}, found["objective"]),), "q(x_t)"),
        Chart("4-components", "Sorted gradient components", about, ITERATIONS, components, "|g|/‖g‖", log=False),
        Chart("4-ratio", "How much SCD can gain over UCD", text, ITERATIONS, ratio, "τ_SCD/τ_UCD", log=False),
    )
