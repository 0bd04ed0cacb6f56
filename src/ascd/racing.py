"""Races: several rules, oracles and steepnesses on one problem, as a table, a chart and a page.

Rules that do not look at bounds (uniform, cyclic, importance) run once, whatever oracles and steepnesses there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import as_number, unknown_name
from ascd._base.contracts import asked
from ascd.engine.minimize import minimize
from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.files import whole_folder, write_text
from ascd.plotting import suboptimality
from ascd.problem.penalties import L1, L1L2, L2
from ascd.problem.problem import Problem
from ascd.results.solution import Snapshot, Solution, Status
from ascd.solver import solve
from ascd.svm import DualSVM

CONTESTS = ("lasso", "ridge", "elastic-net", "logistic", "svm")
#: Seconds that the search for the minimum may take, compiling included.
LONGEST_SEARCH = 30.0
RECORDS = 100
#: The minimum's gap, relative to it.
PRECISION = 1e-10


class Entrant(NamedTuple):
    """A rule, an oracle and a steepness, by their names."""

    rule: str
    oracle: str
    steepness: str

    @property
    def blind(self) -> bool:
        """Do oracle and steepness not matter to the rule?"""
        return asked(named_part(self.rule, RULES, "rule"), "is_blind", False)

    def label(self, oracles: int, scores: int) -> str:
        """The shortest name that tells it from the others."""
        shown = [self.rule]
        if not self.blind:
            shown += [self.oracle] * (oracles > 1) + [self.steepness] * (scores > 1)
        return " ".join(shown)


def entrants(rules: Sequence[str], oracles: Sequence[str], scores: Sequence[str]) -> dict[str, Entrant]:
    """All combinations by their labels.

    Examples
    --------
    >>> from ascd.racing import entrants
    >>> list(entrants(["uniform", "ascd"], ["norm", "exact"], ["gs-s"]))
    ['uniform', 'ascd norm', 'ascd exact']
    """
    every = [Entrant(rule, oracle, score) for rule in rules for oracle in oracles for score in scores]
    return {entrant.label(len(oracles), len(scores)): entrant for entrant in every}


def make_problem(X: Any, y: Any, kind: str, strength: str = "") -> Problem:
    """A problem of a kind from data; ``strength`` is a number, or "max/20" for a part of the smallest λ with x* = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.racing import make_problem
    >>> make_problem(np.eye(3), [3.0, 1.0, -2.0], "lasso", "max/3").parts.penalty
    L1(strength=1.0, weights=1.0, linear=0.0)
    """
    if kind not in CONTESTS:
        raise unknown_name(kind, "problem", CONTESTS)
    if kind in ("logistic", "svm"):
        y = _signs(y)
    if kind == "svm":
        return DualSVM(X, y, C=_number(strength or "1"))
    if kind == "ridge":
        return Problem(X, y, penalty=L2(_number(strength or "1")))
    loss = "logistic" if kind == "logistic" else "squared"
    value = _strength(Problem(X, y, loss=loss), strength or "max/20")
    penalty = L1L2(value, value) if kind == "elastic-net" else L1(value)
    return Problem(X, y, loss=loss, penalty=penalty)


def _strength(problem: Problem, text: str) -> float:
    if not text.startswith("max/"):
        return _number(text)
    largest = float(np.abs(problem.gradient(np.zeros(problem.n_features))).max())
    return largest / _number(text, "max/")


def _number(text: str, prefix: str = "") -> float:
    """A positive number from text."""
    try:
        return as_number(float(text.removeprefix(prefix)), "strength", low=0.0, strict=True)
    except ValueError:
        allowed = "a positive number, or for an ℓ1 penalty max/20 (say) for a part of λ_max"
        raise ValueError(f"strength must be {allowed}; got {text!r}") from None


def _signs(y: Any) -> Any:
    values = np.unique(y)
    if values.size != 2:
        raise ValueError(f"the target must have two classes for this problem; it has {values.size} values")
    return np.where(np.asarray(y) == values[1], 1.0, -1.0)


def silently(text: str) -> AbstractContextManager[None]:
    """Show nothing."""
    return nullcontext()


class Outcome(NamedTuple):
    """The runs by label, and the minimum they are measured against."""

    problem: Problem
    runs: dict[str, Solution]
    best: float
    gap: float
    conditions: str

    def excess(self, label: str) -> float:
        """Relative suboptimality at the end."""
        return float(np.nan_to_num(suboptimality(self.runs[label].trace, self.best))[-1])

    def rows(self) -> list[tuple[str, ...]]:
        """A table for people."""
        n = self.problem.n_features
        return [
            (
                label,
                f"{self.excess(label):.2e}",
                f"{run.reads / n:.1f}",
                f"{run.seconds:.3f}",
                f"{run.trace.active[-1]:.0f}",
            )
            for label, run in self.runs.items()
        ]

    def plain(self) -> dict[str, Any]:
        """What a machine wants to know."""
        runs = {
            label: {
                "suboptimality": self.excess(label),
                "objective": run.objective,
                "gap": run.gap,
                "reads": run.reads,
                "seconds": run.seconds,
                "active": float(run.trace.active[-1]),
            }
            for label, run in self.runs.items()
        }
        return {"best": self.best, "gap": self.gap, "conditions": self.conditions, "runs": runs}

    def publish(self, folder: Path, title: str, pictures: bool = True) -> list[Path]:
        """Write a page, the numbers and pictures, all of them or none; returns their paths."""
        from ascd.report import Section, chart_of_traces, draw_charts, write_page

        traces = {label: run.trace for label, run in self.runs.items()}
        chart = chart_of_traces(traces, self.problem.n_features, "race", title, self.conditions, self.best)
        with whole_folder(folder) as drafts:
            made = [write_page(drafts / "race.html", title, [Section("race", "The race", "", (chart,))])]
            made.append(write_text(drafts / "race.json", json.dumps({**self.plain(), "chart": chart.plain()})))
            made += draw_charts([chart], drafts / "race") if pictures else []
        return [folder / path.name for path in made]


def race(
    problem: Problem,
    methods: dict[str, Entrant],
    step: str = "coordinate",
    init: str = "gradient",
    epochs: int = 20,
    seed: int = 0,
    show: Callable[[str], AbstractContextManager[Any]] = silently,
) -> Outcome:
    """Run every method for the same number of epochs, and find the minimum for comparison.

    ``show`` accompanies each run; what it yields, unless None, is called with the share that is done.

    Examples
    --------
    >>> from ascd.datasets import make_synthetic
    >>> from ascd.racing import entrants, make_problem, race
    >>> data = make_synthetic(50, 80, n_nonzero=5, rng=0)
    >>> problem = make_problem(data.A, data.b, "lasso")
    >>> outcome = race(problem, entrants(["uniform", "a-ascd"], ["norm"], ["gs-s"]), epochs=5)
    >>> outcome.excess("a-ascd") <= outcome.excess("uniform")
    True
    """
    steps = epochs * problem.n_features
    runs = {}
    for label, method in methods.items():
        with show(f"running {label}") as advance:
            runs[label] = minimize(
                problem,
                rule=named_part(method.rule, RULES, "rule"),
                oracle=named_part(method.oracle, ORACLES, "oracle"),
                steepness=method.steepness,
                step=step,
                init=init,
                max_iter=steps,
                tol=0.0,
                record=max(1, steps // RECORDS),
                rng=seed,
                callback=None if advance is None else partial(_told, advance, steps),
            )
        if runs[label].status is Status.INTERRUPTED:  # half a race compares nothing
            raise KeyboardInterrupt
    with show("searching the minimum"):
        reference = search_minimum(problem, LONGEST_SEARCH)
    best = min(reference.objective, *(float(run.trace.objective.min()) for run in runs.values()))
    gap = best - (reference.objective - reference.gap)
    conditions = (
        f"{problem!r}; step {step}, init {init}, {epochs} epochs, seed {seed}; oracle and steepness: "
        + "; ".join(
            f"{label}: {method.oracle}, {method.steepness}" for label, method in methods.items() if not method.blind
        )
        + f". F* ≤ {best:.8g}, certified within {gap:.2g}."
    )
    return Outcome(problem, runs, best, gap, conditions)


def _told(advance: Callable[[float], None], steps: int, now: Snapshot) -> None:
    advance(now.iteration / steps)


def search_minimum(problem: Problem, seconds: float) -> Solution:
    """The smallest objective that can be found in some seconds; its gap says how good it is.  Ctrl-C is not swallowed.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.racing import search_minimum
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> search_minimum(problem, 1.0).objective
    4.5
    """

    enough = False

    def close_enough(now: Snapshot) -> bool:
        """Where F(0) = 0, as in an SVM's dual, no tolerance relative to it can be met."""
        nonlocal enough
        enough = bool(now.trace.gap[-1] <= PRECISION * abs(now.objective))
        return enough

    solution = solve(problem, tol=PRECISION, max_time=seconds, callback=close_enough)
    if solution.status is Status.INTERRUPTED and not enough:
        raise KeyboardInterrupt
    return solution
