"""``ascd reproduce``: do the jobs that are missing, and make pictures, report and claims from their results.

A job's result is one JSON file, written when the job is done, under the name of its parameters: an interrupted run
continues where it stopped.  ``results.json`` collects all of them; figures that are run later are added to it.  Jobs
that compile the same kernels are done by one process, so that nothing is compiled twice.  ``run`` writes
``results.json``, ``publish`` reads it; each can be called alone.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import ascd
from ascd.io.writing import json_ready, whole_folder, write_text
from ascd.reproduction import panels
from ascd.reproduction.claims import HOLDS, NOT, PART, UNTESTED, Claim, judge_all, to_markdown
from ascd.reproduction.figures import sections
from ascd.reproduction.measurements import measure
from ascd.reproduction.page import Section, draw_charts, versions, write_page
from ascd.reproduction.panels import Index, Job, parts_of

TITLE = "Approximate Steepest Coordinate Descent, reproduced"
#: verdict → its plural, and its class in the report's table
WORDS = {HOLDS: "hold", PART: "hold in part", NOT: "do not hold here", UNTESTED: "not tested"}
MARKS = {HOLDS: "holds", PART: "part", NOT: "not", UNTESTED: "untested"}
SIZES = {"quick": "reduced sizes (`--quick`)", "full": "the paper's sizes (`--full`)"}
CLAIMS_HEAD = ("where", "claim", "tested by", "measured", "verdict")
CLAIMS_TEXT = (
    "Computed from the results above. The height of a curve is the mean over the run of log10 of its relative "
    "suboptimality, cut off at 1e-6: lower is better, 1 is a factor of ten."
)
Log = Callable[[str], None]


def run(
    figures: Sequence[str], scale: str, folder: Path, data: str | None = None, workers: int = 2, log: Log | None = None
) -> Path:
    """Do the jobs that are not done yet; return the path of the results file, which keeps figures of earlier runs."""
    jobs, index = panels.plan(figures, scale, data)
    if log is not None and not folder.exists():
        log(f"creating the folder {folder}")
    conduct(jobs.values(), folder, workers, log)
    return gather(jobs, index, folder, scale)


def publish(results_path: Path, folder: Path, pictures: bool = True) -> dict[str, Any]:
    """Write pictures, report and claims from a results file, all of them or none; return the paths and the claims."""
    results = load(results_path)
    shown, claims = sections(results), judge_all(results)
    head = lead(results, claims)
    rows = [(*row[:4], (row.verdict, MARKS[row.verdict])) for row in claims]
    table = Section("claims", "The paper's claims, tested", CLAIMS_TEXT, head=CLAIMS_HEAD, rows=rows)
    footer = " · ".join(f"{name} {version}" for name, version in results["versions"].items())
    with whole_folder(folder) as drafts:
        drawn = [path for section in shown for path in _draw(section, drafts / "figures")] if pictures else []
        write_page(drafts / "report.html", TITLE, [*shown, table], head, footer)
        write_text(drafts / "claims.md", to_markdown(claims, lead="  \n".join(head)))
    figures = [folder / "figures" / path.name for path in drawn]
    paths = {"report": folder / "report.html", "claims_file": folder / "claims.md", "figures": figures}
    return {**paths, "claims": claims}


def _draw(section: Section, folder: Path) -> list[Path]:
    """Draw one picture for each horizontal axis, the first as SVG, too."""
    keys = {key for chart in section.charts for key in chart.axes}
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
    what = "Every figure" if set(results["index"]) >= set(parts_of([])) else "Figures"
    sizes = SIZES[results["scale"]]
    verdicts = ", ".join(f"{counts[verdict]} {words}" for verdict, words in WORDS.items() if counts[verdict])
    return [
        f"{what} of Stich, Raj and Jaggi (ICML 2017), run by `ascd reproduce` at {sizes}. Text data: {text}.",
        f"Of {len(claims)} claims {verdicts}.",
    ]


# ---- jobs and their results


def find(folder: Path, job: Job) -> dict[str, Any] | None:
    """Return the stored result of a job; None if there is none of this version that can be read."""
    try:
        found: dict[str, Any] = json.loads((folder / "runs" / f"{job.name}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if found["versions"]["ascd"] == ascd.__version__ else None


def conduct(jobs: Collection[Job], folder: Path, workers: int = 2, log: Log | None = None) -> int:
    """Do the jobs that have no result yet; return how many.  ``log`` gets a line for each finished group of jobs."""
    left = [job for job in jobs if find(folder, job) is None]
    total, tell = len(jobs), log or (lambda line: None)
    done = total - len(left)
    if done:
        tell(f"{done} of {total} runs are there already")
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in left:
        groups.setdefault(job.kernels, []).append(job)
    ordered = sorted(groups.values(), key=lambda group: -sum(job.cost for job in group))
    finished = map(partial(_do, folder), ordered) if workers <= 1 else _in_processes(ordered, folder, workers)
    for group in finished:
        done += len(group)
        what = "{problem} n = {features}, {rule} {oracle}" if group[0].kind == "descent" else group[0].kind
        count = f", {len(group)} runs" if len(group) > 1 else ""
        tell(f"[{done:{len(str(total))}d}/{total}] {what.format(**group[0].parameters)}{count}")
    return len(left)


def _do(folder: Path, group: list[Job]) -> list[Job]:
    """Do some jobs in order; store each result with its parameters and the versions of the packages."""
    for job in group:
        result = measure(job.kind, job.parameters)
        content = {"kind": job.kind, "parameters": job.parameters, "versions": versions(), "result": result}
        write_text(folder / "runs" / f"{job.name}.json", json.dumps(json_ready(content), allow_nan=False))
    return group


def _in_processes(groups: list[list[Job]], folder: Path, workers: int) -> Iterator[list[Job]]:
    """Do groups of jobs in several processes, which end at Ctrl-C at once: a stored result is complete."""
    context, to_end = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=signal.signal, initargs=to_end) as pool:
        try:
            for finished in as_completed([pool.submit(_do, folder, group) for group in groups]):
                yield finished.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():  # Ctrl-C reaches them too, `kill` does not
                worker.terminate()
            raise


def gather(jobs: Mapping[str, Job], index: Index, folder: Path, scale: str) -> Path:
    """Write the results of all jobs into ``results.json``, beside those of other figures of this scale and version."""
    runs: dict[str, Any] = {name: find(folder, job) for name, job in jobs.items()}
    missing = [name for name, run in runs.items() if run is None]
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(runs)} runs have no results: run the same command again")
    path, index = folder / "results.json", dict(index)
    with suppress(FileNotFoundError, ValueError):
        older = load(path)
        for part, curves in older["index"].items() if older["scale"] == scale else ():
            used = {name: older["runs"].get(name) for names in curves.values() for name in names}
            if part not in index and all(run and run["versions"]["ascd"] == ascd.__version__ for run in used.values()):
                index[part] = curves
                runs |= used
    ordered = {part: index[part] for part in parts_of([]) if part in index}
    results = {"scale": scale, "versions": versions(), "index": ordered, "runs": runs}
    return write_text(path, json.dumps(results, allow_nan=False))


def load(path: Any) -> dict[str, Any]:
    """Return the content of a results file."""
    found: Any = None
    with suppress(ValueError):  # damaged
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    if not (isinstance(found, dict) and {"scale", "index", "runs"} <= set(found)):
        raise ValueError(f"{path} is not a results file of `ascd reproduce`, or damaged: run the figures again")
    return found
