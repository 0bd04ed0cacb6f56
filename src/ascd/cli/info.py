"""``ascd info``: versions, compiled-code cache, threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ascd.cli.console import answer, common, say

OPTIONAL = ("click", "rich", "matplotlib", "pandas", "pyarrow", "celer", "skglm", "libsvmdata")


def facts() -> dict[str, Any]:
    """What there is to tell."""
    from importlib import metadata

    from ascd.reproduction.page import versions

    found = {}
    for package in OPTIONAL:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return {"versions": versions(), "optional": found, "cache": _cache(), "threads": _threads()}


def _cache() -> dict[str, Any]:
    """Where compiled kernels are kept, as numba itself says, and how much of it; or why they are not kept."""
    import ascd
    from ascd._core.jit import cache_folders

    for name in ascd.__all__:  # kernels are known once the files that they stand in are imported
        getattr(ascd, name)
    folders, reason = cache_folders()
    files = [path for folder in folders for path in Path(folder).glob("*.nb[ic]")]
    return {
        "kept": "on disk" if folders else f"not on disk: {reason}",
        "folder": os.path.commonpath(folders) if folders else None,
        "files": len(files),
        "megabytes": round(sum(file.stat().st_size for file in files) / 2**20, 1),
    }


def _threads() -> dict[str, Any]:
    """Processors, and the threads that linear algebra would use."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found: dict[str, Any] = {"processors": available}
    from threadpoolctl import threadpool_info

    for pool in threadpool_info():
        found[f"{pool['user_api']} ({pool['internal_api']})"] = pool["num_threads"]
    return found


@click.command()
@common
def command() -> None:
    """Versions, compiled-code cache and threads."""
    found = facts()
    for title, rows in found.items():
        say(title)
        for name, value in rows.items():
            say(f"  {name:<24} {value}")
    answer(found)
