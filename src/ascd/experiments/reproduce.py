"""``reproduce``: run what is missing, gather the results, and make pictures, report and claims from them.

Each step can be called alone: ``run`` writes ``results.json``, ``publish`` reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascd.experiments import charts, jobs, store
from ascd.experiments.claims import judge_all, to_markdown
from ascd.experiments.claims.register import MARKS, PLURALS, Claim
from ascd.experiments.conduct import Log, conduct
from ascd.experiments.data import Source, text_source
from ascd.io import whole_folder, write_text
from ascd.report.page import Table, environment_line, write_page
from ascd.report.picture import draw_charts

TITLE = "Approximate Steepest Coordinate Descent, reproduced"


def run(
    figures: Sequence[str], scale: str, folder: Path, data: str | None = None, workers: int = 2, log: Log | None = None
) -> Path:
    """Do the jobs that are not done yet; returns the path of the results file, which keeps figures of former runs."""
    text: Source | None = text_source(data, scale) if jobs.needs_text(figures) else None
    plan = jobs.plan(figures, scale, text)
    if log is not None and not folder.exists():
        log(f"creating the folder {folder}")
    conduct(plan, folder, workers, log)
    path = folder / "results.json"
    store.gather(plan, store.Store(folder), scale, path)
    return path


def publish(results_path: Path, folder: Path, pictures: bool = True) -> dict[str, Any]:
    """Pictures, report and claims from a results file, all of them or none; returns the paths and the claims."""
    results = store.load(results_path)
    sections = charts.sections(results)
    claims = judge_all(results)
    head = lead(results, claims)
    with whole_folder(folder) as drafts:
        drawn = [path for section in sections for path in _draw(section, drafts / "figures")] if pictures else []
        footer = environment_line(results["versions"])
        report = write_page(drafts / "report.html", TITLE, [*sections, claims_table(claims)], lead=head, footer=footer)
        table = write_text(drafts / "claims.md", to_markdown(claims, lead="  \n".join(head)))
    figures = [folder / "figures" / path.name for path in drawn]
    return {"report": folder / report.name, "claims_file": folder / table.name, "figures": figures, "claims": claims}


def _draw(section: Any, folder: Path) -> list[Path]:
    """One picture a horizontal axis; as SVG, too, for the first."""
    keys = {axis.key for chart in section.charts for axis in chart.axes}
    axes = [key for key in ("epochs", "reads", "seconds") if key in keys] or [""]
    drawn = []
    for key in axes:
        suffix = f"-{key}" if key not in ("", "epochs") else ""
        endings = ("png",) if suffix else ("png", "svg")
        drawn += draw_charts(section.charts, folder / f"{section.key}{suffix}", key, section.title, endings)
    return drawn


def lead(results: Mapping[str, Any], claims: Sequence[Claim]) -> list[str]:
    """What was run, on which data, and how the claims fared."""
    parameters = [run["parameters"] for run in results["runs"].values()]
    text = "; ".join(sorted({each["label"] for each in parameters if each.get("data") == "text"}))
    counts = Counter(PLURALS[claim.verdict] for claim in claims)
    what = "Every figure" if set(results["index"]) >= set(jobs.parts_of([])) else "Figures"
    sizes = {"quick": "reduced sizes (`--quick`)", "full": "the paper's sizes (`--full`)"}[results["scale"]]
    return [
        f"{what} of Stich, Raj and Jaggi (ICML 2017), run by `ascd reproduce` at {sizes}. Text data: {text or 'none'}.",
        f"Of {len(claims)} claims "
        + ", ".join(f"{counts[word]} {word}" for word in PLURALS.values() if counts[word])
        + ".",
    ]


def claims_table(claims: Sequence[Claim]) -> Table:
    """The claims as the report's table."""
    rows = [(row.where, row.claim, row.test, row.measured, (row.verdict, MARKS[row.verdict])) for row in claims]
    text = (
        "Computed from the results above. The height of a curve is the mean over the run of log10 of its relative "
        "suboptimality, cut off at 1e-6: lower is better, 1 is a factor of ten."
    )
    return Table(
        "claims", "The paper's claims, tested", ("where", "claim", "tested by", "measured", "verdict"), rows, text
    )
