"""A race: several rules, and ``ascd.solve``, on one problem until each is close enough to the minimum.

The minimum is found and certified first.  What counts is how many columns a method reads, and how long it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ascd.engine.minimize import minimize
from ascd.plotting import suboptimality
from ascd.problem.problem import Problem
from ascd.reproduction.charts import TRACE_AXES, Chart, Series
from ascd.reproduction.page import TableSection
from ascd.results.solution import Snapshot, Solution, Status
from ascd.solver import solve

SOLVER = "ascd.solve"
#: Seconds that the search for the minimum may take, compiling included, and its gap relative to the objective.
LONGEST_SEARCH, PRECISION = 30.0, 1e-10
#: Records a run: the resolution of the moment at which the accuracy is reached.
RECORDS = 60
#: Records an epoch of a first run.  A record takes about so many seconds: where all records take more than a small
#: share of the run, it is run again with fewer.
FIRST_RECORDS, SECONDS_A_RECORD, SMALL_SHARE = 50, 2e-4, 0.05
NOTE = "n is the number of columns: reading n columns is one pass over the data. Seconds leave compiling out."
Show = Callable[[str], AbstractContextManager[Any]]


class Entrant(NamedTuple):
    """A rule and an oracle, by their names."""

    rule: str
    oracle: str


class Arrival(NamedTuple):
    """What it took to come within the accuracy for the first time."""

    reads: float
    seconds: float


def silently(text: str) -> AbstractContextManager[None]:
    """Show nothing."""
    return nullcontext()


class Goal:
    """A callback that ends a run close enough to the minimum, and reports the share of the steps that is done."""

    def __init__(self, is_close: Callable[[Snapshot], bool], steps: int = 1, advance: Any = None) -> None:
        self.is_close, self.steps, self.advance = is_close, steps, advance
        self.reached = False

    def __call__(self, now: Snapshot) -> bool:
        if self.advance is not None:
            self.advance(now.iteration / self.steps)
        self.reached = self.reached or bool(self.is_close(now))
        return self.reached

    def check(self, run: Solution) -> Solution:
        """Return the run; raise KeyboardInterrupt if it was interrupted before the goal."""
        if run.status is Status.INTERRUPTED and not self.reached:
            raise KeyboardInterrupt
        return run


def search_minimum(problem: Problem, seconds: float) -> Solution:
    """Return the smallest objective found in some seconds; its gap says how good it is."""
    # where F(0) = 0, as in an SVM's dual, no tolerance relative to it can be met
    stop = Goal(lambda now: now.trace.gap[-1] <= PRECISION * abs(now.objective))
    return stop.check(solve(problem, tol=PRECISION, max_time=seconds, callback=stop))


def race(
    problem: Problem,
    methods: dict[str, Entrant],
    step: str = "coordinate",
    epochs: int = 20,
    show: Show = silently,
    accuracy: float = 1e-6,
) -> RaceOutcome:
    """Run every method until it comes within ``accuracy`` of the minimum, or for so many epochs.

    Parameters
    ----------
    problem : what is minimised, from x = 0
    methods : label → rule and oracle
    step : as in ``minimize``
    epochs : the most passes of n steps
    show : context around each run; what it yields, unless None, is called with the share that is done
    accuracy : relative suboptimality (F(x) − F*)/(F(x_0) − F*) that ends a run
    """
    total = len(methods) + 2
    with show(f"1 of {total}: finding the minimum, to measure against"):
        reference = search_minimum(problem, LONGEST_SEARCH)
    start = problem.objective(np.zeros(problem.n_features))
    goal = reference.objective + accuracy * (start - reference.objective)
    runs = {}
    for number, (label, method) in enumerate(methods.items(), start=2):
        with show(f"{number} of {total}: {label}") as advance:
            runs[label] = _descend(problem, method, step, epochs, goal, advance)
    with show(f"{total} of {total}: {SOLVER}"):
        stop = Goal(lambda now: now.objective <= goal)
        solved = stop.check(solve(problem, tol=0.1 * accuracy, callback=stop))
    best = min(float(run.trace.objective.min()) for run in (solved, *runs.values()))
    best = min(best, reference.objective)
    gap = best - (reference.objective - reference.gap)
    oracles = "; ".join(f"{label}: {one.oracle}" for label, one in methods.items())
    conditions = f"{problem!r}; step {step}, GS-s, at most {epochs} epochs, seed 0; oracles — {oracles}"
    conditions += f". F* ≤ {best:.8g}, certified within {gap:.2g}."
    return RaceOutcome(problem, {**runs, SOLVER: solved}, best, gap, goal, conditions, accuracy)


def _descend(problem: Problem, method: Entrant, step: str, epochs: int, goal: float, advance: Any) -> Solution:
    """Run a rule to the goal, with about as many records in a short run as in a long one."""

    def attempt(record: int) -> Solution:
        stop = Goal(lambda now: now.objective <= goal, epochs * problem.n_features, advance)
        limits: dict[str, Any] = {"max_iter": stop.steps, "tol": 0.0, "record": max(1, record), "rng": 0}
        return stop.check(
            minimize(problem, method.rule, oracle=method.oracle, steepness="gs-s", step=step, callback=stop, **limits)
        )

    run = attempt(problem.n_features // FIRST_RECORDS)
    is_disturbed = len(run.trace) * SECONDS_A_RECORD > SMALL_SHARE * run.seconds
    return attempt(run.n_iter // RECORDS) if is_disturbed else run


class RaceOutcome(NamedTuple):
    """The runs by label (the last is ``ascd.solve``), and the minimum they are measured against.

    ``best`` is the smallest objective known and within ``gap`` of the minimum; ``goal`` is the objective at which runs
    ended, ``accuracy`` (relative to the start) above the smallest that was known then.
    """

    problem: Problem
    runs: dict[str, Solution]
    best: float
    gap: float
    goal: float
    conditions: str
    accuracy: float

    @property
    def head(self) -> tuple[str, ...]:
        """The head of the table of ``rows``."""
        goal = f"to {self.accuracy:.0e}"
        return ("method", f"columns read / n {goal}", f"seconds {goal}", "active set at the end")

    def arrival(self, label: str) -> Arrival | None:
        """Return what the run took to come within the accuracy; None if it never did."""
        trace = self.runs[label].trace
        there = np.flatnonzero(trace.objective <= self.goal)
        return Arrival(float(trace.reads[there[0]]), float(trace.seconds[there[0]])) if there.size else None

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
        n, goal = self.problem.n_features, f"{self.accuracy:.0e} of the minimum"
        found = {label: arrival for label in self.runs if (arrival := self.arrival(label)) is not None}
        late = [label for label in self.runs if label not in found]
        solved = found.pop(SOLVER, None)
        advice = "To fit a model use `ascd.solve`"
        advice += f": {solved.reads / n:.1f}·n columns, {solved.seconds:.3f} s, with a proof." if solved else "."
        if not found:
            return f"No rule came within {goal}: more epochs are needed. {advice}"
        frugal, last = (choose(found, key=lambda label: found[label].reads) for choose in (min, max))
        fastest = min(found, key=lambda label: found[label].seconds)
        text = f"To come within {goal} {frugal} reads the fewest columns, {found[frugal].reads / n:.1f}·n"
        text += f", {found[last].reads / found[frugal].reads:.1f} times fewer than {last}" if last != frugal else ""
        text += f"; {fastest} takes the least time of the rules ({found[fastest].seconds:.3f} s)."
        return f"{text}{' ' + ', '.join(late) + ' did not get there.' if late else ''} {advice}"

    def plain(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        runs = {}
        for label, run in self.runs.items():
            found = self.arrival(label)
            numbers = {key: getattr(run, key) for key in ("objective", "gap", "reads", "seconds", "compile_seconds")}
            runs[label] = {"to_accuracy": found._asdict() if found else None, **numbers}
        shared = {"best": self.best, "gap": self.gap, "accuracy": self.accuracy, "conditions": self.conditions}
        return {**shared, "solve": runs.pop(SOLVER), "runs": runs, "conclusion": self.conclusion()}

    def chart(self, title: str) -> Chart:
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
        epochs, reads, seconds = TRACE_AXES
        axes, label = (reads, seconds, epochs), "F(x) − best, relative to the start"
        return Chart("race", title, self.conditions, axes, tuple(series), label, "active set (dotted)", far=True)

    def table(self) -> TableSection:
        """Return the table for a page."""
        title = f"What it takes to come within {self.accuracy:.0e} of the minimum"
        return TableSection("arrival", title, self.head, self.rows(), self.conclusion(), NOTE)


def rounded_up(value: float) -> str:
    """Return one digit, not below the value: a bound must not be rounded down."""
    if not 0.0 < value < math.inf:
        return f"{value:.0e}"
    power = math.floor(math.log10(value))
    digit = math.ceil(value / 10.0**power * (1.0 - 1e-9))
    return f"{digit * 10.0**power:.0e}"
