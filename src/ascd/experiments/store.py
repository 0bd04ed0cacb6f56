"""Results on disk: one JSON file a job, and one that gathers them all.

A job's file is written whole when the job is done, under the name of its parameters; whoever finds it there need not do
the job again.  ``results.json`` holds everything that pictures, report and claims are made from.
"""

from __future__ import annotations

import json
import math
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from ascd.experiments.jobs import Job, Plan
from ascd.files import write_text

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
    for package in PACKAGES[1:]:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


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
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        import ascd

        return found if found["versions"]["ascd"] == ascd.__version__ else None

    def keep(self, job: Job, result: dict[str, Any]) -> None:
        """Store a result with its parameters (the seed among them) and the versions of what made it."""
        held = {"kind": job.kind, "parameters": job.parameters, "versions": versions(), "result": result}
        write_text(self.path(job), json.dumps(finite(held), allow_nan=False))


def gather(plan: Plan, store: Store, scale: str, path: Path) -> dict[str, Any]:
    """All results of a plan in one file."""
    runs = {name: store.find(job) for name, job in plan.jobs.items()}
    missing = [name for name, run in runs.items() if run is None]
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(runs)} runs have no results: run the same command again")
    results = {"scale": scale, "versions": versions(), "index": plan.curves, "runs": runs}
    write_text(path, json.dumps(results, allow_nan=False))
    return results


def load(path: Any) -> dict[str, Any]:
    """A results file."""
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    if not {"scale", "index", "runs"} <= set(found):
        raise ValueError(f"{path} is not a results file of `ascd reproduce`")
    return found
