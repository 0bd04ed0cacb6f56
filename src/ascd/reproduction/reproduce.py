"""``ascd reproduce``: run what is missing, collect the results, and make pictures, report and claims from them.

Each step can be called alone: ``run`` writes ``results.json``, ``publish`` reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascd.files import whole_folder, write_text
from ascd.reproduction import panels, runs
from ascd.reproduction.charts import Section, draw_charts
from ascd.reproduction.claims import HOLDS, NOT, PART, UNTESTED, Claim, judge_all, to_markdown
from ascd.reproduction.datasets import text_source
from ascd.reproduction.figures import sections
from ascd.reproduction.page import TableSection, write_page

TITLE = "Approximate Steepest Coordinate Descent, reproduced"
#: verdict → its plural, and its class in the report's table
WORDS = {HOLDS: "hold", PART: "hold in part", NOT: "do not hold here", UNTESTED: "not tested"}
MARKS = {HOLDS: "holds", PART: "part", NOT: "not", UNTESTED: "untested"}
SIZES = {"quick": "reduced sizes (`--quick`)", "full": "the paper's sizes (`--full`)"}


def run(
    figures: Sequence[str],
    scale: str,
    folder: Path,
    data: str | None = None,
    workers: int = 2,
    log: runs.Log | None = None,
) -> Path:
    """Do the jobs that are not done yet; return the path of the results file, which keeps figures of earlier runs."""
    plan = panels.plan(figures, scale, text_source(data, scale) if panels.needs_text(figures) else None)
    if log is not None and not folder.exists():
        log(f"creating the folder {folder}")
    runs.conduct(plan, folder, workers, log)
    return runs.gather(plan, folder, scale)


def publish(results_path: Path, folder: Path, pictures: bool = True) -> dict[str, Any]:
    """Write pictures, report and claims from a results file, all of them or none; return the paths and the claims."""
    results = runs.load(results_path)
    shown, claims = sections(results), judge_all(results)
    head = lead(results, claims)
    footer = " · ".join(f"{name} {version}" for name, version in results["versions"].items())
    with whole_folder(folder) as drafts:
        drawn = [path for section in shown for path in _draw(section, drafts / "figures")] if pictures else []
        write_page(drafts / "report.html", TITLE, [*shown, claims_table(claims)], head, footer)
        write_text(drafts / "claims.md", to_markdown(claims, lead="  \n".join(head)))
    figures = [folder / "figures" / path.name for path in drawn]
    paths = {"report": folder / "report.html", "claims_file": folder / "claims.md", "figures": figures}
    return {**paths, "claims": claims}


def _draw(section: Section, folder: Path) -> list[Path]:
    """Draw one picture for each horizontal axis, the first as SVG, too."""
    keys = {axis.key for chart in section.charts for axis in chart.axes}
    drawn = draw_charts(section.charts, folder / section.key, "epochs", section.title)
    for key in ("reads", "seconds"):
        if key in keys:
            drawn += draw_charts(section.charts, folder / f"{section.key}-{key}", key, section.title, ("png",))
    return drawn


def lead(results: Mapping[str, Any], claims: Sequence[Claim]) -> list[str]:
    """Return what was run, on which data, and how many claims hold."""
    parameters = [one["parameters"] for one in results["runs"].values()]
    text = "; ".join(sorted({each["label"] for each in parameters if each.get("data") == "text"})) or "none"
    counts = Counter(claim.verdict for claim in claims)
    what = "Every figure" if set(results["index"]) >= set(panels.parts_of([])) else "Figures"
    sizes = SIZES[results["scale"]]
    verdicts = ", ".join(f"{counts[verdict]} {words}" for verdict, words in WORDS.items() if counts[verdict])
    return [
        f"{what} of Stich, Raj and Jaggi (ICML 2017), run by `ascd reproduce` at {sizes}. Text data: {text}.",
        f"Of {len(claims)} claims {verdicts}.",
    ]


def claims_table(claims: Sequence[Claim]) -> TableSection:
    """Return the claims as the report's table."""
    rows = [(*row[:4], (row.verdict, MARKS[row.verdict])) for row in claims]
    text = (
        "Computed from the results above. The height of a curve is the mean over the run of log10 of its relative "
        "suboptimality, cut off at 1e-6: lower is better, 1 is a factor of ten."
    )
    return TableSection(
        "claims", "The paper's claims, tested", ("where", "claim", "tested by", "measured", "verdict"), rows, text
    )
