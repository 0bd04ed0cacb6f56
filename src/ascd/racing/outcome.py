"""What a race shows: who came how close, what it read and how long it took to get there, and what follows from that."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd.io import whole_folder, write_text
from ascd.plotting import suboptimality
from ascd.problem.problem import Problem
from ascd.racing.beside import NAME, Fits
from ascd.results.solution import Solution

SOLVER = "ascd.solve"
#: Of the accuracy: where the minimum is known so well, distances from it are those from the smallest objective.
SMALL_SHARE = 0.05


class Arrival(NamedTuple):
    """What it took to come within the accuracy for the first time."""

    reads: float
    seconds: float
    epochs: float


class Outcome(NamedTuple):
    """The runs by label, the minimum they are measured against, and what ran beside the rules.

    ``best`` is the smallest objective known and within ``gap`` of the minimum; ``accuracy`` is the relative
    suboptimality (F(x) − F*)/(F(x_0) − F*) that the runs were to reach, and ``goal`` the objective at which they
    ended, which is ``accuracy`` above the smallest that was known then; ``solved`` is a run of ``ascd.solve``, ``fits``
    are scikit-learn's.
    """

    problem: Problem
    runs: dict[str, Solution]
    best: float
    gap: float
    goal: float
    conditions: str
    accuracy: float = 1e-6
    solved: Solution | None = None
    fits: Fits | None = None

    @property
    def solutions(self) -> dict[str, Solution]:
        """The rules' runs, and the solver's."""
        return self.runs if self.solved is None else {**self.runs, SOLVER: self.solved}

    @property
    def compile_seconds(self) -> float:
        """What all runs spent compiling."""
        return sum(run.compile_seconds for run in self.solutions.values())

    def excess(self, label: str) -> float:
        """Relative suboptimality at the end."""
        return float(np.nan_to_num(suboptimality(self.solutions[label].trace, self.best))[-1])

    def arrival(self, label: str) -> Arrival | None:
        """When the run first came within the accuracy; None if it never did."""
        trace = self.solutions[label].trace
        there = np.flatnonzero(trace.objective <= self.goal)
        if not there.size:
            return None
        first = there[0]
        epochs = math.nan if label == SOLVER else float(trace.iteration[first]) / self.problem.n_features
        return Arrival(float(trace.reads[first]), float(trace.seconds[first]), epochs)

    def proved(self, label: str) -> float:
        """An upper bound on the suboptimality at the end, whatever the minimum is: nothing about it is assumed."""
        return self._bound(float(self.solutions[label].trace.objective[-1]))

    def _bound(self, objective: float) -> float:
        """The same for any objective; not below the precision of numbers."""
        return max(self._unit * (objective - self.best + self.gap), float(np.finfo(float).eps))

    @property
    def minimum(self) -> str:
        """What distances are measured from, in words: the minimum where it is known well enough for them."""
        is_known = self._unit * self.gap <= SMALL_SHARE * self.accuracy
        return "the minimum" if is_known else "the smallest objective that is known"

    @property
    def _unit(self) -> float:
        """1/(F(x_0) − F*), all runs start at the same point."""
        start = next(iter(self.solutions.values())).trace.objective[0]
        return 1.0 / max(float(start) - self.best, 1e-300)

    def end(self, label: str) -> str:
        """The suboptimality at the end in words: a number, or what is proved where it cannot be told from 0."""
        return self._ended(float(self.solutions[label].trace.objective[-1]))

    def _ended(self, objective: float) -> str:
        excess, bound = self._unit * (objective - self.best), self._bound(objective)
        if bound < math.inf:
            return f"≤ {rounded_up(bound)} (proved)" if bound >= 2.0 * excess else f"{excess:.1e}"
        return f"{excess:.1e} above the best known" if excess > 0.0 else "best known"

    @property
    def head(self) -> tuple[str, ...]:
        """The head of the table of ``rows``."""
        goal = f"to {self.accuracy:.0e}"
        return ("method", f"columns read / n {goal}", f"seconds {goal}", "accuracy at the end", "active set")

    def rows(self) -> list[tuple[str, ...]]:
        """A table for people: what it took to come within the accuracy, and where the run ended."""
        return [self._row(label) for label in self.solutions] + self._row_beside()

    def _row(self, label: str) -> tuple[str, ...]:
        run, found = self.solutions[label], self.arrival(label)
        active = "–" if label == SOLVER else f"{run.trace.active[-1]:,.0f}"
        if found is None:
            spent = f"{run.reads / self.problem.n_features:,.1f}"
            return label, f"not in {spent}", f"not in {run.seconds:.3f}", self.end(label), active
        return label, f"{found.reads / self.problem.n_features:,.1f}", f"{found.seconds:.3f}", self.end(label), active

    def _row_beside(self) -> list[tuple[str, ...]]:
        if self.fits is None:
            return []
        fits, there = self.fits, self.fits.objective[-1] <= self.goal
        number = fits.sweeps[-1]
        sweeps = "not counted" if math.isnan(number) else f"{number:,.0f} sweep" + "s" * (number != 1)
        seconds = f"{'' if there else 'not in '}{fits.seconds[-1]:.3f}"
        return [(NAME, sweeps if there else f"not in {sweeps}", seconds, self._ended(fits.objective[-1]), "–")]

    def conclusion(self) -> str:
        """What follows from the table, in one sentence or two."""
        n = self.problem.n_features
        found = {label: arrival for label in self.runs if (arrival := self.arrival(label)) is not None}
        if not found:
            goal = f"{self.accuracy:.0e} of {self.minimum}"
            return f"No rule came within {goal}: more epochs are needed. {self._advice()}"
        frugal, fastest = (min(found, key=lambda label: found[label][what]) for what in (0, 1))
        reads = found[frugal].reads
        text = (
            f"To come within {self.accuracy:.0e} of {self.minimum} {frugal} reads the fewest columns, {reads / n:.1f}·n"
        )
        late = [label for label in self.runs if label not in found]
        last = max(found, key=lambda label: found[label].reads)
        if last != frugal:
            text += f", {found[last].reads / reads:.1f} times fewer than {last}"
        text += f", and takes the least time of the rules ({found[frugal].seconds:.3f} s)." if fastest == frugal else (
            f"; {fastest} takes the least time of the rules ({found[fastest].seconds:.3f} s)."
        )  # fmt: skip
        text += f" {', '.join(late)} did not get there." if late else ""
        return f"{text} {self._advice()}"

    def _advice(self) -> str:
        solved = None if self.solved is None else self.arrival(SOLVER)
        if solved is None:
            return "To fit a model use `ascd.solve`."
        n = self.problem.n_features
        return (
            f"To fit a model use `ascd.solve`: {solved.reads / n:.1f}·n columns, {solved.seconds:.3f} s, with a proof."
        )

    def plain(self) -> dict[str, Any]:
        """What a machine wants to know."""
        runs = {label: self._plain_run(label) for label in self.solutions}
        beside = None if self.fits is None else self.fits._asdict()
        shared = {"best": self.best, "gap": self.gap, "accuracy": self.accuracy, "conditions": self.conditions}
        solved = runs.pop(SOLVER, None)
        return {**shared, "runs": runs, "solve": solved, NAME: beside, "conclusion": self.conclusion()}

    def _plain_run(self, label: str) -> dict[str, Any]:
        run, found = self.solutions[label], self.arrival(label)
        return {
            "suboptimality": self.excess(label),
            "suboptimality_proved": self.proved(label),
            "to_accuracy": None if found is None else found._asdict(),
            "objective": run.objective,
            "gap": run.gap,
            "reads": run.reads,
            "seconds": run.seconds,
            "compile_seconds": run.compile_seconds,
            "active": float(run.trace.active[-1]) if label != SOLVER else None,
        }

    def known(self) -> str:
        """What is known of the minimum, in words."""
        if self.gap < math.inf:
            return f"F* ≤ {self.best:.8g}, certified within {self.gap:.2g}"
        return f"F* ≤ {self.best:.8g}, the smallest objective that was found; how far it is from F* is not known"

    def chart(self, title: str) -> Any:
        """The curves of all runs; scikit-learn's fits are known by their seconds only."""
        from ascd.report import Series, chart_of_traces

        traces = {label: run.trace for label, run in self.runs.items()}
        made = chart_of_traces(traces, self.problem.n_features, "race", title, self.conditions, self.best)
        lowest = self._unit * self.gap  # below it nothing is proved, and 0 has no place on a logarithmic axis
        series = [one._replace(y=np.maximum(one.y, lowest).tolist()) for one in made.series]
        if self.solved is not None:
            trace = self.solved.trace
            x = {"reads": trace.reads.tolist(), "seconds": trace.seconds.tolist()}
            height = np.maximum(np.nan_to_num(suboptimality(trace, self.best)), lowest)
            series.append(Series(SOLVER, x, height.tolist()))
        if self.fits is not None:
            height = np.maximum(self._unit * (np.array(self.fits.objective) - self.best), lowest)
            series.append(Series(NAME, {"seconds": self.fits.seconds}, height.tolist(), dash=True))
        epochs, reads, seconds = made.axes
        return made._replace(series=tuple(series), axes=(reads, seconds, epochs), far=True)

    def table(self) -> Any:
        """The same table for a page."""
        from ascd.report.page import Table

        title = f"What it takes to come within {self.accuracy:.0e} of {self.minimum}"
        return Table("arrival", title, self.head, self.rows(), self.conclusion(), note=READING)

    def publish(self, folder: Path, title: str, pictures: bool = True) -> list[Path]:
        """Write a page, the numbers and pictures, all of them or none; returns their paths."""
        from ascd.report import Section, draw_charts, write_page

        chart = self.chart(title)
        with whole_folder(folder) as drafts:
            page = write_page(
                drafts / "race.html", title, [self.table(), Section("race", "The race", CURVES, (chart,))]
            )
            made = [page, write_text(drafts / "race.json", json.dumps({**self.plain(), "chart": chart.plain()}))]
            made += draw_charts([chart], drafts / "race") if pictures else []
        return [folder / path.name for path in made]


READING = (
    "n is the number of columns: reading n columns is one pass over the data. Seconds leave compiling out. Accuracy is "
    "(F(x) − F*)/(F(x_0) − F*); “≤ … (proved)” is an upper bound by the duality gap, where the run cannot be told from "
    "the minimum; “best known” is the smallest objective that any method found, where no bound is known. scikit-learn: "
    "the loosest tolerance that gets there; it counts sweeps instead of columns."
)
CURVES = (
    "Solid: how far the objective is from its minimum. Dotted: the active set, the coordinates that may still be the "
    "steepest by what is known of their gradients; smaller is better informed."
)


def rounded_up(value: float) -> str:
    """One digit, not below the value: what is proved must not be less than it is.

    Examples
    --------
    >>> from ascd.racing.outcome import rounded_up
    >>> rounded_up(5.2e-6), rounded_up(9.7e-6), rounded_up(6e-6)
    ('6e-06', '1e-05', '6e-06')
    """
    if not 0.0 < value < math.inf:
        return f"{value:.0e}"
    power = math.floor(math.log10(value))
    digit = math.ceil(value / 10.0**power * (1.0 - 1e-9))
    return f"{digit * 10.0**power:.0e}"
