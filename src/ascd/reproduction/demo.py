"""``ascd demo`` and ``make demo``: a wide Lasso with its proof beside other libraries, a race of rules, and a page.

All data are generated.  The fit is a Lasso with thousands of correlated columns, where fast solvers differ most.  The
race is the paper's synthetic Lasso (Fig. 2b, with the parameters that the paper leaves open): how many columns does a
rule read, and how long does it take, to come within 1e-6 of the minimum?  The minimum is found and certified first.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from decimal import ROUND_CEILING, Context
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.timing import Stopwatch
from ascd.engine.minimize import minimize
from ascd.io import whole_folder
from ascd.plotting import suboptimality
from ascd.problem.penalties import L1
from ascd.problem.problem import Problem
from ascd.reproduction.datasets import make_problem, make_synthetic
from ascd.reproduction.measurements import search_minimum, uninterrupted
from ascd.reproduction.page import TRACE_AXES, Chart, Section, Series, draw_charts, write_page
from ascd.results import Snapshot, Solution
from ascd.solver import solve

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
#: Label → rule and oracle.  SCD takes its gradient from exact products, which makes it affordable.
METHODS = {
    "UCD (uniform)": ("uniform", "norm"),
    "SCD (steepest)": ("steepest", "exact"),
    "ASCD": ("ascd", "norm"),
    "a-ASCD": ("a-ascd", "norm"),
}
SOLVER = "ascd.solve"
#: The relative suboptimality (F(x) − F*)/(F(0) − F*) that ends a run, and seconds for the search of the minimum.
ACCURACY, LONGEST_SEARCH = 1e-6, 30.0
#: Records an epoch of n steps: more would take a part of the time that is compared.
RECORDS = 10
RACE_TITLE = "The paper's synthetic Lasso by four selection rules"
RACE_HEAD = ("method", f"columns read / n to {ACCURACY:.0e}", f"seconds to {ACCURACY:.0e}", "active set at the end")
RACE_NOTE = "n is the number of columns: reading n columns is one pass over the data. Seconds leave compiling out."
CURVES = (
    "All rules take the same steps of length 1/L and differ in which coordinate comes next. Solid: how far the "
    "objective is from its minimum. Dotted: the active set, the coordinates that may still be the steepest by what is "
    "known of their gradients; smaller is better informed."
)
Show = Callable[[str], AbstractContextManager[Any]]


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
    digit = Context(prec=1, rounding=ROUND_CEILING)  # a bound must not be rounded down
    for name, make in peers.items():
        model = make(alpha=alpha, fit_intercept=False)
        watch, began = Stopwatch(), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence: the gap tells
            model.fit(X, y)
        seconds = watch.seconds if name == "ascd" else time.perf_counter() - began
        coef = np.ravel(model.coef_)
        bound = f"{float(digit.create_decimal(problem.gap(coef) / unit)):.0e} (proved)"
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


# ---- the race


def contest(epochs: int = 200, problem: Problem | None = None, show: Show = nullcontext) -> RaceOutcome:
    """Run each rule with the paper's fixed step 1/L until it comes within the accuracy, or for so many epochs.

    ``show`` is a context around each run.
    """
    problem = synthetic_problem() if problem is None else problem
    total, n = len(METHODS) + 2, problem.n_features
    with show(f"1 of {total}: finding the minimum, to measure against"):
        reference = search_minimum(problem, LONGEST_SEARCH)
    start = problem.objective(np.zeros(n))
    goal = reference.objective + ACCURACY * (start - reference.objective)

    def is_there(now: Snapshot) -> bool:
        return now.objective <= goal

    def finished(run: Solution) -> Solution:
        return uninterrupted(run, run.trace.objective[-1] <= goal)

    runs = {}
    options: dict[str, Any] = {"steepness": "gs-s", "step": "fixed", "max_iter": epochs * n, "tol": 0.0, "rng": 0}
    options |= {"record": max(1, n // RECORDS), "callback": is_there}
    for number, (label, (rule, oracle)) in enumerate(METHODS.items(), start=2):
        with show(f"{number} of {total}: {label}"):
            runs[label] = finished(minimize(problem, rule, oracle=oracle, **options))
    with show(f"{total} of {total}: {SOLVER}"):
        runs[SOLVER] = finished(solve(problem, tol=0.1 * ACCURACY, callback=is_there))
    best = min(reference.objective, *(float(run.trace.objective.min()) for run in runs.values()))
    gap = best - (reference.objective - reference.gap)
    oracles = "; ".join(f"{label}: {oracle}" for label, (_, oracle) in METHODS.items())
    conditions = f"{problem!r}; step 1/L, GS-s, at most {epochs} epochs, seed 0; oracles — {oracles}"
    return RaceOutcome(problem, runs, best, gap, goal, f"{conditions}. F* ≤ {best:.8g}, certified within {gap:.2g}.")


class RaceOutcome(NamedTuple):
    """The runs by label (the last is ``ascd.solve``); the smallest objective known, within ``gap`` of the minimum; and
    the objective at which runs ended.
    """

    problem: Problem
    runs: dict[str, Solution]
    best: float
    gap: float
    goal: float
    conditions: str

    def arrival(self, label: str) -> tuple[float, float] | None:
        """Return columns read and seconds until the run came within the accuracy; None if it never did."""
        trace = self.runs[label].trace
        there = np.flatnonzero(trace.objective <= self.goal)
        return (float(trace.reads[there[0]]), float(trace.seconds[there[0]])) if there.size else None

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table of what it took to come within the accuracy."""
        rows: list[tuple[str, ...]] = []
        for label, run in self.runs.items():
            found = self.arrival(label)
            late, (reads, seconds) = ("", found) if found else ("not in ", (run.reads, run.seconds))
            active = "–" if label == SOLVER else f"{run.trace.active[-1]:,.0f}"
            rows.append((label, f"{late}{reads / self.problem.n_features:,.1f}", f"{late}{seconds:.3f}", active))
        return rows

    def conclusion(self) -> str:
        """Return what follows from the table, in two sentences."""
        n, goal = self.problem.n_features, f"{ACCURACY:.0e} of the minimum"
        found = {label: arrival for label in self.runs if (arrival := self.arrival(label)) is not None}
        late = [label for label in self.runs if label not in found]
        solved = found.pop(SOLVER, None)
        advice = "To fit a model use `ascd.solve`"
        advice += f": {solved[0] / n:.1f}·n columns, {solved[1]:.3f} s, with a proof." if solved else "."
        if not found:
            return f"No rule came within {goal}: more epochs are needed. {advice}"
        fewest, most = (choose(found, key=lambda label: found[label][0]) for choose in (min, max))
        fastest = min(found, key=lambda label: found[label][1])
        text = f"To come within {goal} {fewest} reads the fewest columns, {found[fewest][0] / n:.1f}·n"
        text += f", {found[most][0] / found[fewest][0]:.1f} times fewer than {most}" if most != fewest else ""
        text += f"; {fastest} takes the least time of the rules ({found[fastest][1]:.3f} s)."
        return f"{text}{' ' + ', '.join(late) + ' did not get there.' if late else ''} {advice}"

    def plain(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        runs = {}
        for label, run in self.runs.items():
            there = dict(zip(("reads", "seconds"), self.arrival(label) or (), strict=False)) or None
            numbers = {key: getattr(run, key) for key in ("objective", "gap", "reads", "seconds", "compile_seconds")}
            runs[label] = {"to_accuracy": there, **numbers}
        shared = {"best": self.best, "gap": self.gap, "accuracy": ACCURACY, "conditions": self.conditions}
        return {**shared, "solve": runs.pop(SOLVER), "runs": runs, "conclusion": self.conclusion()}

    def chart(self) -> Chart:
        """Return the curves of all runs."""
        # below the gap nothing is proved, and a logarithmic axis has no 0
        lowest = self.gap / max(float(self.runs[SOLVER].trace.objective[0]) - self.best, 1e-300)
        series = []
        for label, run in self.runs.items():
            trace = run.trace
            height = np.maximum(np.nan_to_num(suboptimality(trace, self.best)), lowest).tolist()
            x = {"reads": trace.reads.tolist(), "seconds": trace.seconds.tolist()}
            if label != SOLVER:  # its iterations are rounds, and it has no active set
                x["epochs"] = (trace.iteration / self.problem.n_features).tolist()
            series.append(Series(label, x, height, right=() if label == SOLVER else trace.active.tolist()))
        axes = {key: TRACE_AXES[key] for key in ("reads", "seconds", "epochs")}
        label = "F(x) − best, relative to the start"
        return Chart("race", RACE_TITLE, self.conditions, axes, tuple(series), label, "active set (dotted)", far=True)


def publish(outcome: RaceOutcome, rows: list[tuple[str, ...]], folder: Path) -> list[Path]:
    """Write the page, and pictures where matplotlib is installed; return their paths, the page first."""
    chart = outcome.chart()
    (_, seconds, _, bound), *others = rows
    slower = "".join(f"; {row[0]} takes {float(row[1]) / float(seconds):.1f} times as long" for row in others)
    proof = f"no point is better than its answer by more than {bound.split()[0]} of F(0)"
    text = f"ascd takes {seconds} s, and {proof}{slower}."
    arrival = f"What it takes to come within {ACCURACY:.0e} of the minimum"
    sections = [
        Section("fits", FIT_TITLE, text, head=FIT_HEAD, rows=rows, note=FIT_NOTE),
        Section("arrival", arrival, outcome.conclusion(), head=RACE_HEAD, rows=outcome.rows(), note=RACE_NOTE),
        Section("race", "The race", CURVES, (chart,)),
    ]
    with whole_folder(folder) as drafts:
        made = [write_page(drafts / "report.html", TITLE, sections, LEAD)]
        with suppress(ImportError):
            made += draw_charts([chart], drafts / "demo")
    return [folder / path.name for path in made]
