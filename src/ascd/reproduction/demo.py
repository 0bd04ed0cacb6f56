"""``ascd demo`` and ``make demo``: a wide Lasso with its proof beside other libraries, a race of rules, and a page.

All data are generated.  The fit is a Lasso with thousands of correlated columns, where fast solvers differ most.  The
race is the paper's synthetic Lasso (Fig. 2b, with the parameters that the paper leaves open): how many columns does a
rule read, and how long does it take, to come within 1e-6 of the minimum?
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.timing import Stopwatch
from ascd.io import whole_folder
from ascd.problem.penalties import L1
from ascd.problem.problem import Problem
from ascd.reproduction.charts import Section, draw_charts
from ascd.reproduction.datasets import make_problem, make_synthetic
from ascd.reproduction.page import TableSection, write_page
from ascd.reproduction.race import Entrant, RaceOutcome, race, rounded_up, silently

TITLE = "ascd: sparse linear models, with proof"
LEAD = (
    "ascd fits sparse linear models (Lasso, elastic net, logistic regression, support vector machines, groups, several "
    "targets) on data in memory, on disk, on a cluster or a GPU, and proves how far each answer is from the best one. "
    "Its estimators take the place of scikit-learn's.",
)
FIT_TITLE = "A Lasso on 300 samples of 20,000 correlated columns, λ = λ_max/20"
FIT_HEAD = ("library", "seconds", "nonzero", "above the minimum by at most")
FIT_NOTE = (
    "Each library with its default settings. The last column is the duality gap at its answer, divided by F(0): no "
    "point is better than the answer by more. Seconds leave compiling out."
)
#: Libraries whose ``Lasso`` runs beside ours where they are installed: name → module.
PEERS = {"scikit-learn": "sklearn.linear_model", "celer": "celer"}
#: SCD takes its gradient from exact products, which makes it affordable.
METHODS = {
    "UCD (uniform)": Entrant("uniform", "norm"),
    "SCD (steepest)": Entrant("steepest", "exact"),
    "ASCD": Entrant("ascd", "norm"),
    "a-ASCD": Entrant("a-ascd", "norm"),
}
RACE_TITLE = "The paper's synthetic Lasso by four selection rules"
CURVES = (
    "All rules take the same steps of length 1/L and differ in which coordinate comes next. Solid: how far the "
    "objective is from its minimum. Dotted: the active set, the coordinates that may still be the steepest by what is "
    "known of their gradients; smaller is better informed."
)


def fits(n_samples: int = 300, n_features: int = 20_000) -> list[tuple[str, ...]]:
    """Return a row for each library's Lasso on wide data: seconds, nonzero coefficients, and a proved accuracy."""
    from ascd.estimators import Lasso

    X, y = wide_data(n_samples, n_features)
    alpha = float(np.abs(X.T @ y).max()) / n_samples / 20.0
    problem = Problem(X, y, penalty=L1(alpha * n_samples))
    unit = problem.objective(np.zeros(n_features))
    peers: dict[str, Callable[..., Any]] = {"ascd": Lasso}
    for name, module in PEERS.items():
        with suppress(ImportError):
            peers[name] = import_module(module).Lasso
    rows: list[tuple[str, ...]] = []
    for name, make in peers.items():
        model = make(alpha=alpha, fit_intercept=False)
        watch, began = Stopwatch(), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence: the gap tells
            model.fit(X, y)
        seconds = watch.seconds if name == "ascd" else time.perf_counter() - began
        coef = np.ravel(model.coef_)
        bound = f"{rounded_up(problem.gap(coef) / unit)} (proved)"
        rows.append((name, f"{seconds:.3f}", f"{np.count_nonzero(coef)}", bound))
    return rows


def wide_data(n_samples: int, n_features: int) -> tuple[Any, Any]:
    """Return centred normal columns in groups of 20 that are correlated by 0.81, and a target of 30 of them."""
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.standard_normal((n_samples, -(-n_features // 20))), 20, axis=1)[:, :n_features]
    X = np.asfortranarray(0.9 * shared + np.sqrt(1.0 - 0.9**2) * rng.standard_normal((n_samples, n_features)))
    X -= X.mean(axis=0)
    used = rng.choice(n_features, min(30, n_features), replace=False)
    y = X[:, used] @ rng.standard_normal(used.size) + rng.standard_normal(n_samples)
    return X, y - y.mean()


def synthetic_problem() -> Problem:
    """Return the problem of the paper's Fig. 2b."""
    data = make_synthetic(1000, 5000, n_nonzero=50, noise=1.0, rng=0)
    return make_problem(data.A, data.b, "lasso", "max/20")


def contest(epochs: int = 200, problem: Problem | None = None, show: Any = silently) -> RaceOutcome:
    """Race the paper's rules with its fixed step 1/L from the true gradient; ``show`` as in ``race``."""
    problem = synthetic_problem() if problem is None else problem
    return race(problem, METHODS, "fixed", epochs, show)


def publish(outcome: RaceOutcome, rows: list[tuple[str, ...]], folder: Path) -> list[Path]:
    """Write the page, and pictures where matplotlib is installed; return their paths, the page first."""
    chart = outcome.chart(RACE_TITLE)
    (_, seconds, _, bound), *others = rows
    slower = "".join(f"; {row[0]} takes {float(row[1]) / float(seconds):.1f} times as long" for row in others)
    proof = f"no point is better than its answer by more than {bound.split()[0]} of F(0)"
    text = f"ascd takes {seconds} s, and {proof}{slower}."
    table = TableSection("fits", FIT_TITLE, FIT_HEAD, rows, text, FIT_NOTE)
    sections: list[Section | TableSection] = [table, outcome.table(), Section("race", "The race", CURVES, (chart,))]
    with whole_folder(folder) as drafts:
        made = [write_page(drafts / "report.html", TITLE, sections, LEAD)]
        with suppress(ImportError):
            made += draw_charts([chart], drafts / "demo")
    return [folder / path.name for path in made]
