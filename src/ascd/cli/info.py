"""``ascd info``: versions, compiled-code cache, threads."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from ascd.cli.console import answer, common, say

OPTIONAL = ("click", "rich", "matplotlib", "pandas", "pyarrow", "celer", "skglm", "libsvmdata")


def facts() -> dict[str, Any]:
    """Return versions, the place of compiled kernels, and threads."""
    from threadpoolctl import threadpool_info

    from ascd.reproduction.page import versions

    there = {found.metadata["Name"] for found in metadata.distributions()}
    optional = {name: metadata.version(name) if name in there else "not installed" for name in OPTIONAL}
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pools = {f"{pool['user_api']} ({pool['internal_api']})": pool["num_threads"] for pool in threadpool_info()}
    threads = {"processors": processors, **pools}
    return {"versions": versions(), "optional": optional, "cache": _cache(), "threads": threads}


def _cache() -> dict[str, Any]:
    """Return where compiled kernels are kept, as numba itself says, and how much; or why they are not kept."""
    import ascd
    from ascd._core.jit import cache_folders

    for name in ascd.__all__:  # kernels are known once the files that define them are imported
        getattr(ascd, name)
    folders, reason = cache_folders()
    files = [path for folder in folders for path in Path(folder).glob("*.nb[ic]")]
    return {
        "kept": "on disk" if folders else f"not on disk: {reason}",
        "folder": os.path.commonpath(folders) if folders else None,
        "files": len(files),
        "megabytes": round(sum(file.stat().st_size for file in files) / 2**20, 1),
    }


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
