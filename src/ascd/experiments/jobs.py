"""From the table to jobs: an entry at a size and with its data becomes jobs that a worker can do alone.

A job is named by its parameters alone (a digest), so that panels share the runs they have in common and a run that is
on disk is not repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from ascd._core.contracts import asked
from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.experiments import table, tuning
from ascd.experiments.data import Source
from ascd.experiments.table import Method, Panel, Size


class Job(NamedTuple):
    """A kind of measurement, its parameters (what JSON can hold) and a guess of its cost for the progress bar."""

    kind: str
    parameters: dict[str, Any]
    cost: float = 1.0

    @property
    def name(self) -> str:
        """Equal for equal parameters."""
        text = json.dumps([self.kind, self.parameters], sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class Plan(NamedTuple):
    """The jobs to do, and which of them every curve is made of: figure part → curve → names of jobs."""

    jobs: dict[str, Job]
    curves: dict[str, dict[str, list[str]]]

    def add(self, part: str, curve: str, job: Job) -> None:
        self.jobs[job.name] = job
        self.curves.setdefault(part, {}).setdefault(curve, []).append(job.name)


def parts_of(figures: Iterable[str]) -> list[str]:
    """The panels of some figures, or single panels, in the table's order; all for none."""
    wanted = list(figures)
    known = ["1", *table.PANELS, "4", "T"]
    for name in wanted:
        if name not in known and name not in table.FIGURES:
            from ascd._core.checks import unknown_name

            raise unknown_name(name, "figure", [*table.FIGURES, *table.PANELS])
    figure_of = {name: table.PANELS[name].figure if name in table.PANELS else name for name in known}
    chosen = [name for name in known if not wanted or name in wanted or figure_of[name] in wanted]
    return sorted(chosen, key=lambda name: (list(table.FIGURES).index(figure_of[name]), known.index(name)))


def plan(figures: Iterable[str], scale: str, text: Source | None) -> Plan:
    """All jobs of the figures at a scale ("quick" or "full")."""
    made = Plan({}, {})
    for part in parts_of(figures):
        if part in table.PANELS:
            _plan_panel(made, table.PANELS[part], scale, text)
        else:
            {"1": _plan_ratio, "4": _plan_lower_bound, "T": _plan_theorems}[part](made, scale)
    return made


def needs_text(figures: Iterable[str]) -> bool:
    """Do these figures use text data?"""
    return any(part in table.PANELS and table.PANELS[part].data == "text" for part in parts_of(figures))


def _plan_panel(made: Plan, panel: Panel, scale: str, text: Source | None) -> None:
    size: Size = getattr(panel, scale)
    problem = _problem_parameters(panel, size, text)
    cells = problem["samples"] if panel.problem == "svm" else problem["features"]
    for method in panel.methods:
        shared = {
            **problem,
            "rule": method.rule,
            "oracle": method.oracle,
            "steepness": method.steepness or panel.steepness,
            "step": method.step or panel.step,
            "init": method.init or panel.init,
            "epochs": size.epochs,
            "record": max(1, cells * size.epochs // tuning.RECORDS_A_RUN),
        }
        for seed in range(size.seeds if _is_random(method) else 1):
            made.add(
                panel.name, method.label, Job("descent", {**shared, "seed": seed}, _cost(method, cells, size.epochs))
            )
    made.add(panel.name, "minimum", Job("minimum", {**problem, "longest": tuning.SEARCH_SECONDS[scale]}, 5.0))


def _is_random(method: Method) -> bool:
    """Does the seed change anything?"""
    rule, oracle = named_part(method.rule, RULES, "rule"), named_part(method.oracle, ORACLES, "oracle")
    return asked(rule, "is_random", True) or asked(oracle, "is_random", False)


def _problem_parameters(panel: Panel, size: Size, text: Source | None) -> dict[str, Any]:
    samples, features, origin, label = size.samples, size.features, "", f"{panel.data} data"
    if panel.data == "text":
        assert text is not None
        samples = min(size.samples or text.samples, text.samples)
        features = min(size.features or text.features, text.features)
        origin, label = text.origin, text.label
    return {
        "data": panel.data,
        "origin": origin,
        "label": label,
        "samples": samples,
        "features": features,
        "problem": panel.problem,
        "strength": panel.strength,
    }


def _cost(method: Method, n: int, epochs: int) -> float:
    """Seconds, roughly: a compilation, and what a step costs."""
    slow = {"exact": 2e-9, "norm": 5e-9, "reference": 6e-9, "random": 1.1e-8}.get(method.oracle.partition("(")[0], 3e-8)
    cheap = method.rule in ("uniform", "cyclic")
    return 2.0 + epochs * n * (2e-7 if cheap else n * slow)


def _plan_ratio(made: Plan, scale: str) -> None:
    for absence in table.ABSENCES:
        made.add("1", f"T = {absence}", _ratio_job(absence, scale))


def _ratio_job(absence: int, scale: str) -> Job:
    return Job("ratio", {**table.RATIO, "T": absence, "n_iter": table.RATIO_STEPS[scale], "seed": 0})


def _plan_lower_bound(made: Plan, scale: str) -> None:
    made.add("4", "SCD", Job("lower-bound", dict(table.LOWER_BOUND)))


def _plan_theorems(made: Plan, scale: str) -> None:
    small = table.WATCHED_SIZES[scale]

    def problem(name: str) -> dict[str, Any]:
        panel = Panel("T", "", "synthetic", name, "1" if name == "ridge" else "max/20", (), small, small)
        return {**_problem_parameters(panel, small, None), "epochs": small.epochs}

    for name, steepness, oracle in table.WATCHED:
        watched = {**problem(name), "steepness": steepness, "oracle": oracle, "seed": 0}
        watched["resolution"] = table.RESOLUTION
        made.add("T", f"{name} {steepness} {oracle}", Job("watched", watched, 4.0))
    made.add("T", "exact", Job("exact-is-steepest", problem("ridge"), 6.0))
    made.add("T", "family", Job("family", {key: list(value) for key, value in table.FAMILY.items()}))
    made.add("T", "rates", Job("rates", {"n": 12, "n_iter": 400, "seeds": 5}))
    made.add("T", "speed-up", Job("speed-up", dict(table.SPEED_UP)))
    made.add("T", "progress", Job("progress", dict(table.PROGRESS_RUNS)))
    made.add("T", "gradient update", Job("gradient-update", dict(table.GRADIENT_UPDATE)))
    made.add("T", "random starts", Job("random-starts", dict(table.RANDOM_STARTS)))
    made.add("T", "T = 5n", _ratio_job(5 * int(table.RATIO["n"]), scale))
