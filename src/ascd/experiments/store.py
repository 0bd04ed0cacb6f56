"""Results on disk: one JSON file a job, and one that gathers them all.

A job's file is written whole when the job is done, under the name of its parameters; whoever finds it there need not do
the job again.  ``results.json`` holds everything that pictures, report and claims are made from; figures that are run
later join those that are there.
"""

from __future__ import annotations

import json
import math
import platform
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ascd.experiments.jobs import Job, Plan, parts_of
from ascd.io import write_text

PACKAGES = ("ascd", "numpy", "scipy", "numba", "scikit-learn", "matplotlib")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that matter; absent ones are left out.

    Examples
    --------
    >>> from ascd.experiments.store import versions
    >>> {"python", "numpy", "numba"} <= set(versions())
    True
    """
    import ascd

    found = {"python": platform.python_version(), "ascd": ascd.__version__}
    return found | {package: version for package in PACKAGES[1:] if (version := _installed(package))}


@cache
def _installed(package: str) -> str | None:
    """The version of a package; its description is read once, and not for each of hundreds of results."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def finite(value: Any) -> Any:
    """The same with None for numbers that are not finite, which JSON cannot hold.

    Examples
    --------
    >>> from ascd.experiments.store import finite
    >>> finite({"bound": [float("inf"), 1.0]})
    {'bound': [None, 1.0]}
    """
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Store:
    """The results of one output folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"

    def path(self, job: Job) -> Path:
        return self.folder / f"{job.name}.json"

    def find(self, job: Job) -> dict[str, Any] | None:
        """The stored result of a job; None where there is none that can be read."""
        try:
            found = json.loads(self.path(job).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # not there, or damaged
            return None
        import ascd

        return found if found["versions"]["ascd"] == ascd.__version__ else None

    def keep(self, job: Job, result: dict[str, Any]) -> None:
        """Store a result with its parameters (the seed among them) and the versions of what made it."""
        held = {"kind": job.kind, "parameters": job.parameters, "versions": versions(), "result": result}
        write_text(self.path(job), json.dumps(finite(held), allow_nan=False))


def gather(plan: Plan, store: Store, scale: str, path: Path) -> dict[str, Any]:
    """All results of a plan in one file, beside those of other figures that the file holds already."""
    runs = {name: store.find(job) for name, job in plan.jobs.items()}
    missing = [name for name, run in runs.items() if run is None]
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(runs)} runs have no results: run the same command again")
    older = _others(path, scale, plan)
    index = {**older["index"], **plan.curves}
    results = {
        "scale": scale,
        "versions": versions(),
        "index": {part: index[part] for part in parts_of([]) if part in index},
        "runs": {**older["runs"], **runs},
    }
    write_text(path, json.dumps(results, allow_nan=False))
    return results


def _others(path: Path, scale: str, plan: Plan) -> dict[str, Any]:
    """Figures of a results file that the plan does not make anew, if they are of this scale and this version."""
    try:
        held = load(path)
    except (FileNotFoundError, ValueError):
        return {"index": {}, "runs": {}}
    import ascd

    def is_current(curves: dict[str, list[str]]) -> bool:
        runs = [held["runs"].get(name) for names in curves.values() for name in names]
        return all(run is not None and run["versions"]["ascd"] == ascd.__version__ for run in runs)

    known = held["index"] if held["scale"] == scale else {}
    index = {part: curves for part, curves in known.items() if part not in plan.curves and is_current(curves)}
    used = {name for curves in index.values() for names in curves.values() for name in names}
    return {"index": index, "runs": {name: held["runs"][name] for name in used}}


def load(path: Any) -> dict[str, Any]:
    """A results file."""
    found: Any = None
    with suppress(ValueError):  # damaged
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    if not (isinstance(found, dict) and {"scale", "index", "runs"} <= set(found)):
        raise ValueError(f"{path} is not a results file of `ascd reproduce`, or damaged: run the figures again")
    return found
