"""Results → charts with captions: every parameter that a reader needs stands beneath its picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascd.experiments import table
from ascd.experiments.curves import Curve, Panel, panel_of
from ascd.experiments.data import DATA_SEED
from ascd.report.chart import COLORS, TRACE_AXES, Axis, Chart, Section, Series

Results = Mapping[str, Any]

SECTION_TEXTS = {
    "1": "The share of the active set that lies in the support, simulated, against its limit and the paper's bound.",
    "2": "The paper's generator: sparse, dependent columns of very different lengths. Oracle g² is simulated.",
    "3": "Text with all values set to 1. Oracle g⁴ with the radius as printed, which is too small (erratum E4).",
    "4": "Steepest descent from x₀ = (1, …, 1), which is not the worst start, soon meets the bound's regime.",
    "B": "The same measurements for parts that the paper names but does not show, and for this library's own.",
    "S": "The paper does not give λ nor L of the fixed step: the same curves for other choices.",
    "R": "The paper's last question: gradient entries from sampled rows, with intervals that hold with a probability.",
    "T": "Runs watched step by step, and quadratics on which everything can be computed.",
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


def sections(results: Results) -> list[Section]:
    """All charts of a results file, in the report's order; the theorems have no chart."""
    made = []
    for figure, title in table.FIGURES.items():
        charts = [_chart(results, part) for part in results["index"] if figure_of(part) == figure and part != "T"]
        flat = tuple(chart for group in charts for chart in group)
        if flat:
            made.append(Section(f"figure-{figure}", title, SECTION_TEXTS[figure], flat))
    return made


def figure_of(part: str) -> str:
    """The figure that a part of the results belongs to."""
    return table.PANELS[part].figure if part in table.PANELS else part


def _chart(results: Results, part: str) -> tuple[Chart, ...]:
    if part == "1":
        return _ratio_charts(results)
    if part == "4":
        return _lower_bound_charts(results)
    panel = panel_of(results, part)
    return (_panel_chart(table.PANELS[part], panel),)


def _panel_chart(entry: table.Panel, panel: Panel) -> Chart:
    series = tuple(_series(curve) for curve in panel.curves.values())
    title = f"{entry.name}  {entry.title}" if entry.name[0].isdigit() else entry.title
    label = "(F(x) − F*) / (F(x₀) − F*)"
    return Chart(entry.name, title, caption(entry, panel), TRACE_AXES, series, label, "active set (dotted)")


def _series(curve: Curve) -> Series:
    low, high = (curve.low.tolist(), curve.high.tolist()) if curve.seeds > 1 else ((), ())
    x = {"epochs": curve.epochs.tolist(), "reads": curve.reads.tolist(), "seconds": curve.seconds.tolist()}
    return Series(curve.label, x, curve.excess.tolist(), low, high, curve.active.tolist())


def caption(entry: table.Panel, panel: Panel) -> str:
    """All parameters of a panel in sentences."""
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
    epochs = f"{some['epochs']} epochs"
    return f"{shape}; {problem}; {parts}; {epochs}; {spread}. Rules and oracles — {oracles}. {minimum}."


def _parts_text(curve: Curve, entry: table.Panel) -> str:
    parameters = curve.parameters
    text = f"{parameters['rule']} with {parameters['oracle']}"
    changed = [parameters[key] for key in ("steepness", "step", "init") if parameters[key] != getattr(entry, key)]
    violated = f", {curve.violations:.0f} bound violations seen" if curve.violations == curve.violations else ""
    return text + "".join(f", {value}" for value in changed) + violated


def _ratio_charts(results: Results) -> tuple[Chart, ...]:
    charts = []
    for job in (names[0] for names in results["index"]["1"].values()):
        run = results["runs"][job]
        parameters, found = run["parameters"], run["result"]
        t = list(range(len(found["rho"])))
        ends = {"t": [t[0], t[-1]]}
        series = [Series("ρ_t", {"t": t}, found["rho"], color=COLORS[0])]
        series.append(Series("ρ_∞ (equilibrium)", ends, [found["limit"]] * 2, color="#c0392b"))
        if found["bound"] > 0:
            series.append(Series("bound 1 − (n − s)/T_∞", ends, [found["bound"]] * 2, color="#222222", dash=True))
        T = parameters["T"]
        text = (
            f"n = {parameters['n']}, s = {parameters['s']}, c = {parameters['c']:g}, T_∞ = {T}, I_0 = [s], geometric "
            f"absences, seed {parameters['seed']}; mean of ρ_t over {parameters['n_iter']:,} iterations without the "
            "first quarter "
            f"{found['mean']:.4f}, equilibrium {found['limit']:.4f}, bound {found['bound']:.3f}"
            + (" (empty, not drawn)." if found["bound"] <= 0 else ".")
        )
        axes = (Axis("t", "iteration t"),)
        charts.append(Chart(f"1-{T}", f"T_∞ = {T}", text, axes, tuple(series), "competitive ratio ρ", log=False))
    return tuple(charts)


def _lower_bound_charts(results: Results) -> tuple[Chart, ...]:
    run = results["runs"][results["index"]["4"]["SCD"][0]]
    parameters, found = run["parameters"], run["result"]
    t = list(range(len(found["objective"])))
    axes = (Axis("t", "iteration t"),)
    text = f"n = {parameters['n']}, α = {parameters['alpha']}, x₀ = (1, …, 1), exact line search."
    objective = Chart("4-f", "Objective", text, axes, (Series("q(x_t)", {"t": t}, found["objective"]),), "q(x_t)")
    ends = {"t": [t[0], t[-1]]}
    ratio = (
        Series("n·max|g|²/Σ|g|²", {"t": t}, found["ratio"]),
        Series("bound 3 + 3α", ends, [found["bound"]] * 2, color="#222222", dash=True),
    )
    shares = list(zip(*found["sorted"], strict=True))
    components = tuple(
        Series(f"component {rank + 1}", {"t": t}, list(values), color=_shade(rank, len(shares)), thin=True)
        for rank, values in enumerate(shares)
    )
    sorted_text = text + " The n absolute gradient entries, sorted, divided by their 2-norm; dark is the largest."
    return (
        objective,
        Chart("4-components", "Sorted gradient components", sorted_text, axes, components, "|g|/‖g‖", log=False),
        Chart("4-ratio", "How much SCD can gain over UCD", text, axes, ratio, "τ_SCD/τ_UCD", log=False),
    )


def _shade(rank: int, count: int) -> str:
    """From dark blue to light."""
    share = rank / max(1, count - 1)
    red, green, blue = (round(dark + share * (light - dark)) for dark, light in ((8, 186), (48, 214), (107, 235)))
    return f"#{red:02x}{green:02x}{blue:02x}"
