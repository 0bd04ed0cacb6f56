"""The table of experiments: one entry a panel, with everything the paper says and everything it leaves open.

The paper does not give λ, b, noise, epochs, ε of Fig. 2a–c nor the L of the fixed step (erratum E12).  Here: b as in
``ascd.datasets.make_synthetic`` (50 normal coefficients, unit noise) or the ±1 labels; λ = 1 for ridge, λ_max/20 for
the Lasso; L = max_j ‖a_j‖²; the rest stands in the table.  SCD takes its gradient from exact products (g¹), so that it
ends.
"""

from __future__ import annotations

from typing import NamedTuple


class Method(NamedTuple):
    """A curve: a label and the parts that differ from its panel's."""

    label: str
    rule: str
    oracle: str = "norm"
    steepness: str = ""
    step: str = ""
    init: str = ""


class Size(NamedTuple):
    """Samples and features (0: all that the data have), epochs and seeds."""

    samples: int
    features: int
    epochs: int
    seeds: int


class Panel(NamedTuple):
    """One picture."""

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
    note: str = ""

    @property
    def figure(self) -> str:
        """The figure that the panel belongs to."""
        return self.name[0] if self.name[0].isdigit() else self.name.split("-")[0]


UCD = Method("UCD", "uniform")
SCD = Method("SCD", "steepest", "exact")


def four(oracle: str) -> tuple[Method, ...]:
    """The paper's four methods."""
    return UCD, SCD, Method("ASCD", "ascd", oracle), Method("a-ASCD", "a-ascd", oracle)


def precisions(rule: str, name: str, *epsilons: float) -> tuple[Method, ...]:
    """One method with simulated g² of several precisions."""
    return tuple(Method(f"{name} ε = {epsilon:g}", rule, f"simulated({epsilon:g})") for epsilon in epsilons)


G2 = "simulated(0.01)"
G4 = "random(printed=True)"
RIDGE, LASSO = ("synthetic", "ridge", "1"), ("synthetic", "lasso", "max/20")
TEXT_RIDGE, TEXT_LASSO = ("text", "ridge", "1"), ("text", "lasso", "max/20")
FEW_FEATURES, MIDDLE, LARGE = Size(400, 400, 20, 2), Size(300, 1500, 15, 2), Size(3000, 4000, 8, 1)
RIDGE_SIZES, LASSO_SIZES = (FEW_FEATURES, Size(1000, 1000, 30, 5)), (MIDDLE, Size(1000, 5000, 20, 3))
EVERYTHING = (LARGE, Size(0, 0, 12, 1))
SOME_COLUMNS = (Size(3000, 1000, 15, 2), Size(0, 5000, 20, 3))

PAPER = (
    Panel("2a", "Convergence for ℓ2", *RIDGE, four(G2), *RIDGE_SIZES),
    Panel("2b", "Convergence for ℓ1", *LASSO, four(G2), *LASSO_SIZES),
    Panel(
        "2c",
        "True against no initialisation for ℓ2",
        *RIDGE,
        (
            UCD,
            SCD,
            Method("ASCD true", "ascd", G2),
            Method("ASCD none", "ascd", G2, init="none"),
            Method("a-ASCD true", "a-ascd", G2),
            Method("a-ASCD none", "a-ascd", G2, init="none"),
        ),
        *RIDGE_SIZES,
    ),
    Panel("2d", "Error variation (ASCD)", *RIDGE, precisions("ascd", "ASCD", 0.0, 0.001, 0.01, 0.1, 1.0), *RIDGE_SIZES),
    Panel("3a", "Convergence for ℓ2", *TEXT_RIDGE, four(G4), *EVERYTHING, init="none"),
    Panel("3b", "Convergence for ℓ1", *TEXT_LASSO, four(G4), *EVERYTHING, init="none"),
    Panel(
        "3c", "Line search for ℓ1", *TEXT_LASSO, four(G4), Size(3000, 2000, 10, 1), Size(0, 10_000, 20, 2),
        step="line-search",
    ),
    Panel(
        "3d", "Error variation (ASCD)", *TEXT_LASSO,
        (*precisions("ascd", "ASCD", 0.0, 0.01, 0.1, 1.0), Method("ASCD g⁴", "ascd", G4)), *SOME_COLUMNS,
    ),
)  # fmt: skip

RULES_BESIDE = (
    Method("ASCD", "ascd", G2),
    Method("u-ASCD", "u-ascd", G2),
    Method("ℓ-ASCD", "l-ascd", G2),
    Method("a-ASCD", "a-ascd", G2),
    UCD,
    SCD,
)
ORACLES_BESIDE = (
    UCD,
    SCD,
    Method("g³ norm", "a-ascd", "norm"),
    Method("g³ with cached products", "a-ascd", "cached"),
    Method("g⁴ as printed", "a-ascd", G4),
    Method("g⁴ safe", "a-ascd", "random"),
    Method("reference", "a-ascd", "reference"),
    Method("g¹ exact", "a-ascd", "exact"),
)
SELECTIONS_BESIDE = (
    UCD,
    Method("cyclic", "cyclic"),
    Method("a-ASCD, every bound scanned", "a-ascd(scan=True)"),
    Method("a-ASCD, lazy", "a-ascd"),
    Method("look-ahead", "look-ahead"),
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
    Panel(
        "B-picks", "The printed pick stalls (erratum E3)", *RIDGE, PICKS_BESIDE, *RIDGE_SIZES, init="none",
    ),
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

#: figure → its title; the order of the report.
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

#: Fig. 1 and Fig. 4, and the runs that hold the theorems against numbers.
RATIO = {"n": 100, "s": 10, "c": 1.0}
ABSENCES = (50, 100, 400)
RATIO_STEPS = {"quick": 20_000, "full": 200_000}
LOWER_BOUND = {"n": 20, "alpha": 0.01, "n_iter": 100}
FAMILY = {"sizes": (3, 5, 10, 20, 50, 100), "alphas": (0.01, 0.1, 0.25, 0.5)}
SPEED_UP = {"n": 100, "sizes": [5, 10, 25, 50, 100], "alpha": 0.01, "n_iter": 400}
PROGRESS_RUNS = {"n": 12, "n_iter": 400, "seeds": 5}
GRADIENT_UPDATE = {"samples": 40, "features": 60, "steps": 200, "seed": 0}
RANDOM_STARTS = {"n": 20, "alpha": 0.01, "starts": 100, "late": 10, "seed": 0}
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
