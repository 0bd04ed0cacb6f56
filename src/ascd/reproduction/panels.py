"""What ``ascd reproduce`` runs: one entry a panel, with what the paper says and what it leaves open, and their jobs.

The paper does not give λ, b, noise, epochs, ε of Fig. 2a–c nor the L of the fixed step (erratum E12).  Here: b as in
``make_synthetic`` (50 normal coefficients, unit noise) or the ±1 labels; λ = 1 for ridge, λ_max/20 for the Lasso;
L = max_j ‖a_j‖²; the rest is in the table.  SCD takes its gradient from exact products (g¹), which makes it affordable.

A panel at a size becomes jobs, each named by a digest of its parameters: panels share the runs that they have in
common, and a run that is on disk is not repeated.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ascd._core.checks import unknown_name
from ascd.reproduction.datasets import TextSource, text_source


class Method(NamedTuple):
    """A curve: a label and the parts that differ from its panel's."""

    label: str
    rule: str
    oracle: str = "norm"
    steepness: str = ""
    step: str = ""
    init: str = ""


class Size(NamedTuple):
    """Samples and features (0: all of the data set), epochs and seeds."""

    samples: int
    features: int
    epochs: int
    seeds: int


class Panel(NamedTuple):
    """The entry of one picture."""

    name: str
    title: str
    data: str
    problem: str
    strength: str
    methods: tuple[Method, ...]
    quick: Size
    full: Size
    step: str = "fixed"
    init: str = "gradient"
    steepness: str = "gs-s"


UCD = Method("UCD", "uniform")
SCD = Method("SCD", "steepest", "exact")


def four(oracle: str) -> tuple[Method, ...]:
    """Return the paper's four methods."""
    return UCD, SCD, Method("ASCD", "ascd", oracle), Method("a-ASCD", "a-ascd", oracle)


G2 = "simulated(0.01)"
G4 = "random(printed=True)"
RIDGE, LASSO = ("synthetic", "ridge", "1"), ("synthetic", "lasso", "max/20")
TEXT_RIDGE, TEXT_LASSO = ("text", "ridge", "1"), ("text", "lasso", "max/20")
RIDGE_SIZES = Size(400, 400, 20, 2), Size(1000, 1000, 30, 5)
LASSO_SIZES = Size(300, 1000, 12, 2), Size(1000, 5000, 20, 3)
EVERYTHING = Size(3000, 4000, 8, 1), Size(0, 0, 12, 1)
SOME_COLUMNS = Size(3000, 1000, 15, 2), Size(0, 5000, 20, 3)

STARTS = (
    UCD, SCD, Method("ASCD true", "ascd", G2), Method("ASCD none", "ascd", G2, init="none"),
    Method("a-ASCD true", "a-ascd", G2), Method("a-ASCD none", "a-ascd", G2, init="none"),
)  # fmt: skip
#: ASCD with simulated g² of several precisions.
PRECISIONS = tuple(Method(f"ASCD ε = {ε}", "ascd", f"simulated({ε})") for ε in ("0", "0.001", "0.01", "0.1", "1"))
PAPER = (
    Panel("2a", "Convergence for ℓ2", *RIDGE, four(G2), *RIDGE_SIZES),
    Panel("2b", "Convergence for ℓ1", *LASSO, four(G2), *LASSO_SIZES),
    Panel("2c", "True against no initialisation for ℓ2", *RIDGE, STARTS, *RIDGE_SIZES),
    Panel("2d", "Error variation (ASCD)", *RIDGE, PRECISIONS, *RIDGE_SIZES),
    Panel("3a", "Convergence for ℓ2", *TEXT_RIDGE, four(G4), *EVERYTHING, init="none"),
    Panel("3b", "Convergence for ℓ1", *TEXT_LASSO, four(G4), *EVERYTHING, init="none"),
    Panel(
        "3c", "Line search for ℓ1", *TEXT_LASSO, four(G4), Size(3000, 2000, 10, 1), Size(0, 10_000, 20, 2),
        step="line-search",
    ),
    Panel(
        "3d", "Error variation (ASCD)", *TEXT_LASSO,
        (PRECISIONS[0], *PRECISIONS[2:], Method("ASCD g⁴", "ascd", G4)), *SOME_COLUMNS,
    ),
)  # fmt: skip

RULES_BESIDE = (*four(G2), Method("u-ASCD", "u-ascd", G2), Method("ℓ-ASCD", "l-ascd", G2))
ORACLES_BESIDE = (
    UCD,
    SCD,
    *(
        Method(label, "a-ascd", oracle)
        for label, oracle in (
            ("g³ norm", "norm"), ("g³ with cached products", "cached"), ("g⁴ as printed", G4), ("g⁴ safe", "random"),
            ("reference", "reference"), ("g¹ exact", "exact"),
        )
    ),
)  # fmt: skip
SELECTIONS_BESIDE = (
    UCD,
    Method("cyclic", "cyclic"),
    Method("a-ASCD, every bound scanned", "a-ascd(scan=True)"),
    Method("a-ASCD, lazy", "a-ascd"),
    Method("block, reference oracle", "block", "reference", init="none"),
)
SCORES_BESIDE = tuple(
    Method(f"{label} {score.upper()}", rule, oracle, steepness=score)
    for score in ("gs-s", "gs-r", "gs-q")
    for label, rule, oracle in (("SCD", "steepest", "exact"), ("ASCD", "ascd", G2))
)
PICKS_BESIDE = (
    UCD,
    Method("uniform pick", "ascd", "norm"),
    Method("printed pick", "ascd(pick='largest-lower')", "norm"),
)
OTHER_LOSSES = (
    UCD,
    Method("SCD", "steepest"),
    Method("ASCD", "ascd"),
    Method("a-ASCD", "a-ascd"),
    Method("a-ASCD reference", "a-ascd", "reference"),
)
BEYOND_PAPER = (
    Panel("B-rules", "u- and ℓ-ASCD beside ASCD and a-ASCD", *LASSO, RULES_BESIDE, *LASSO_SIZES),
    Panel("B-scores", "GS-s, GS-r and GS-q", *LASSO, SCORES_BESIDE, *LASSO_SIZES),
    Panel("B-oracles", "Oracles for a-ASCD", *TEXT_LASSO, ORACLES_BESIDE, *SOME_COLUMNS),
    Panel(
        "B-selection", "Fast selection beside the paper's", *TEXT_LASSO, SELECTIONS_BESIDE, *EVERYTHING,
        step="coordinate", steepness="gsl-s",
    ),
    Panel("B-logistic", "ℓ1-penalised logistic regression", "text", "logistic", "max/20", OTHER_LOSSES, *SOME_COLUMNS),
    Panel(
        "B-svm", "The SVM's dual (hinge loss, C = 1)", "text", "svm", "1", OTHER_LOSSES,
        Size(1000, 4000, 15, 2), Size(5000, 0, 20, 2), step="coordinate", steepness="gsl-s",
    ),
    Panel("B-picks", "The printed pick stalls (erratum E3)", *RIDGE, PICKS_BESIDE, *RIDGE_SIZES, init="none"),
    Panel("B-dense", "Cost of a step on dense data", "dense", "ridge", "1", four("norm"), Size(600, 600, 10, 1),
          Size(2000, 2000, 10, 1)),
    Panel("S-large", "Lasso, λ_max/5", "synthetic", "lasso", "max/5", four(G2), *LASSO_SIZES),
    Panel("S-small", "Lasso, λ_max/100", "synthetic", "lasso", "max/100", four(G2), *LASSO_SIZES),
    Panel("S-text", "Text Lasso, λ_max/100", "text", "lasso", "max/100", four(G4), *SOME_COLUMNS),
    Panel("S-ridge", "Ridge, λ = 1000", "synthetic", "ridge", "1000", four(G2), *RIDGE_SIZES),
    Panel("S-step", "Ridge, λ = 1, steps 1/L_j", *RIDGE, four(G2), *RIDGE_SIZES, step="coordinate"),
)  # fmt: skip

SAMPLED = (
    UCD,
    Method("SCD", "steepest(scan=True)"),
    Method("u-ASCD g³", "u-ascd"),
    Method("u-ASCD reference", "u-ascd", "reference"),
    Method("u-ASCD sampled", "u-ascd", "stochastic"),
    Method("u-ASCD sampled, δ = 1e-6", "u-ascd", "stochastic(failure=1e-6)"),
    Method("u-ASCD sampled, 2,000 rows", "u-ascd", "stochastic(rows=2000)"),
    Method("ASCD sampled", "ascd", "stochastic"),
)
TALL = (Size(20_000, 40, 20, 2), Size(1_000_000, 100, 5, 1))
STOCHASTIC = tuple(
    Panel(f"R-{name}", title, f"tall-{name}", "lasso", strength, SAMPLED, *TALL, step="coordinate")
    for name, title, strength in (
        ("plain", "Independent columns, λ_max/20", "max/20"),
        ("correlated", "Neighbours correlated by 0.9, λ_max/20", "max/20"),
        ("full", "All coefficients in use, λ_max/1000", "max/1000"),
        ("sparse", "One entry in a hundred, λ_max/20", "max/20"),
    )
)

PANELS = {panel.name: panel for panel in (*PAPER, *BEYOND_PAPER, *STOCHASTIC)}

#: Figures that are not made of panels: Fig. 1, Fig. 4, and the theorems against numbers.
RATIO = {"n": 100, "s": 10, "c": 1.0, "seed": 0}
ABSENCES = (50, 100, 400)
RATIO_STEPS = {"quick": 20_000, "full": 200_000}
LOWER_BOUND = {"n": 20, "alpha": 0.01, "n_iter": 100}
THEOREMS: dict[str, tuple[str, dict[str, Any]]] = {
    "family": ("family", {"sizes": [3, 5, 10, 20, 50, 100], "alphas": [0.01, 0.1, 0.25, 0.5]}),
    "rates": ("rates", {"n": 12, "n_iter": 400, "seeds": 5}),
    "speed-up": ("speed-up", {"n": 100, "sizes": [5, 10, 25, 50, 100], "alpha": 0.01, "n_iter": 400}),
    "progress": ("progress", {"n": 12, "n_iter": 400, "seeds": 5}),
    "gradient update": ("gradient-update", {"samples": 40, "features": 60, "steps": 200, "seed": 0}),
    "random starts": ("random-starts", {"n": 20, "alpha": 0.01, "starts": 100, "late": 10, "seed": 0}),
}
WATCHED_SIZES = {"quick": Size(150, 200, 10, 1), "full": Size(300, 400, 20, 1)}
#: Scores below this share of the first one, some ten ulps, are rounding.
RESOLUTION = 1e-14
WATCHED = (
    ("ridge", "gs-s", "norm"),
    ("ridge", "gs-s", "random"),
    ("ridge", "gs-s", "simulated(0.1)"),
    ("ridge", "gs-s", "reference"),
    ("lasso", "gs-q", "norm"),
    ("lasso", "gs-q", "simulated(0.1)"),
)
#: Rules that use no bounds, and what a run has several seeds for: other rules than these, or these oracles.
BLIND, SEEDLESS_RULES = ("cyclic", "uniform", "importance"), ("cyclic", "steepest", "block")
RANDOM_ORACLES = ("sketch", "simulated", "random", "stochastic")
#: Records a run: points of a curve.
RECORDS_A_RUN = 120
#: Seconds after which the search for the minimum ends, compiling included; its gap says how good it is.
SEARCH_SECONDS = {"quick": 30.0, "full": 120.0}

#: figure → title, in the order of the report
FIGURES = {
    "1": "Figure 1 — the competitive ratio",
    "2": "Figure 2 — synthetic data",
    "3": "Figure 3 — text (RCV1)",
    "4": "Figure 4 — steepest descent on the lower-bound function",
    "B": "Beyond the paper",
    "S": "What the open parameters change",
    "R": "Rows sampled — stochastic ASCD on tall data",
    "T": "The theorems in numbers",
}


class Job(NamedTuple):
    """A kind of measurement, its parameters (JSON) and an estimate of its seconds."""

    kind: str
    parameters: dict[str, Any]
    cost: float = 1.0

    @property
    def name(self) -> str:
        """Equal for equal parameters."""
        text = json.dumps([self.kind, self.parameters], sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def kernels(self) -> tuple[str, ...]:
        """Equal for jobs that compile the same kernels."""
        parts = [str(self.parameters.get(key)) for key in ("data", "problem", "rule", "oracle", "step", "steepness")]
        return (self.kind, *(part.partition("(")[0] for part in parts))


#: The jobs of every curve: part of a figure → curve → names of jobs.
Index = dict[str, dict[str, list[str]]]


def named_part(text: str, table: Mapping[str, Any]) -> Any:
    """Return the part that a text names, with literal arguments in parentheses: ``random(printed=True)``."""
    name, _, arguments = text.partition("(")
    call: Any = ast.parse(f"part({arguments or ')'}", mode="eval").body
    values = [ast.literal_eval(value) for value in call.args]
    return table[name](*values, **{each.arg: ast.literal_eval(each.value) for each in call.keywords})


def figure_of(part: str) -> str:
    """Return the figure that a part of the results belongs to: "2" for "2a", "B" for "B-rules"."""
    return part[0] if part[0].isdigit() else part.partition("-")[0]


def parts_of(figures: Iterable[str]) -> list[str]:
    """Return the panels of some figures, or single panels, in the report's order; all for none."""
    wanted, known = list(figures), ["1", *PANELS, "4", "T"]
    for name in wanted:
        if name not in known and name not in FIGURES:
            raise unknown_name(name, "figure", [*FIGURES, *PANELS])
    chosen = [name for name in known if not wanted or name in wanted or figure_of(name) in wanted]
    return sorted(chosen, key=lambda name: list(FIGURES).index(figure_of(name)))


def plan(figures: Iterable[str], scale: str, data: str | None = None) -> tuple[dict[str, Job], Index]:
    """Return all jobs of the figures at a scale ("quick" or "full"), by name and by curve; ``data`` is the text."""
    jobs: dict[str, Job] = {}
    index: Index = {}
    parts = parts_of(figures)
    needs_text = any(part in PANELS and PANELS[part].data == "text" for part in parts)
    text = text_source(data, scale) if needs_text else None
    for part in parts:
        for curve, job in _jobs_of(part, scale, text):
            jobs[job.name] = job
            index.setdefault(part, {}).setdefault(curve, []).append(job.name)
    return jobs, index


def _jobs_of(part: str, scale: str, text: TextSource | None) -> Iterable[tuple[str, Job]]:
    """Return the jobs of a panel, or of another part of a figure, each with its curve."""
    if part == "1":
        return [(f"T = {T}", _ratio_job(T, scale)) for T in ABSENCES]
    if part == "4":
        return [("SCD", Job("lower-bound", LOWER_BOUND))]
    return _theorem_jobs(scale) if part == "T" else _panel_jobs(PANELS[part], scale, text)


def _ratio_job(absence: int, scale: str) -> Job:
    return Job("ratio", {**RATIO, "T": absence, "n_iter": RATIO_STEPS[scale]})


def _panel_jobs(panel: Panel, scale: str, text: TextSource | None) -> Iterator[tuple[str, Job]]:
    size: Size = getattr(panel, scale)
    problem = _problem_parameters(panel.data, panel.problem, panel.strength, size, text)
    n = problem["samples"] if panel.problem == "svm" else problem["features"]
    for method in panel.methods:
        rule, oracle = (text.partition("(")[0] for text in (method.rule, method.oracle))
        is_random = rule not in SEEDLESS_RULES or oracle in RANDOM_ORACLES
        cost = 2.0 + size.epochs * n * (2e-7 if rule in BLIND else 1e-8 * n)
        parts = {key: getattr(method, key) or getattr(panel, key) for key in ("steepness", "step", "init")}
        run = {**problem, **parts, "rule": method.rule, "oracle": method.oracle, "epochs": size.epochs}
        run["record"] = max(1, n * size.epochs // RECORDS_A_RUN)
        for seed in range(size.seeds if is_random else 1):
            yield method.label, Job("descent", {**run, "seed": seed}, cost)
    yield "minimum", Job("minimum", {**problem, "longest": SEARCH_SECONDS[scale]}, 5.0)


def _problem_parameters(data: str, problem: str, strength: str, size: Size, text: TextSource | None) -> dict[str, Any]:
    shape, origin, label = {"samples": size.samples, "features": size.features}, "", f"{data} data"
    if data == "text":
        assert text is not None
        whole = {"samples": text.samples, "features": text.features}
        shape = {key: min(shape[key] or whole[key], whole[key]) for key in shape}
        origin, label = text.origin, text.label
    return {"data": data, "origin": origin, "label": label, **shape, "problem": problem, "strength": strength}


def _theorem_jobs(scale: str) -> Iterator[tuple[str, Job]]:
    small, problems = WATCHED_SIZES[scale], {}
    for name, strength in (("ridge", "1"), ("lasso", "max/20")):
        parameters = _problem_parameters("synthetic", name, strength, small, None)
        problems[name] = {**parameters, "epochs": small.epochs}
    for name, steepness, oracle in WATCHED:
        run = {**problems[name], "steepness": steepness, "oracle": oracle, "seed": 0, "resolution": RESOLUTION}
        yield f"{name} {steepness} {oracle}", Job("watched", run, 4.0)
    yield "exact", Job("exact-is-steepest", problems["ridge"], 6.0)
    yield from ((curve, Job(kind, parameters)) for curve, (kind, parameters) in THEOREMS.items())
    yield "T = 5n", _ratio_job(5 * int(RATIO["n"]), scale)
