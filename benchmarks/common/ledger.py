"""Results as JSON: every row is on disk as soon as it is measured, and a later run replaces only its own rows.

A file holds ``runs`` (when, with which command, on what kind of machine, with which versions) and ``tables`` (name →
rows, each naming its run).  The file is replaced whole, so a run that is cut short keeps what it has.  Numbers that are
not finite are stored as null.  Runs of which no row is left are forgotten.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from ascd.io.writing import json_ready, write_text
from ascd.reproduction.page import versions

RESULTS = Path(__file__).resolve().parents[1] / "results"
PLACES = ("--data", "--json")  # options that name a place on one machine: nobody else's business


def place_of(name, quick):
    """Where a benchmark's results go: quick runs have a file of their own, which is not published."""
    return RESULTS / (f"{name}-quick.json" if quick else f"{name}.json")


def read(path):
    """The content of a results file; an empty one where there is none."""
    path = Path(path)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": {}, "tables": {}}


def machine():
    """Kind of processor and number of cores; nothing that tells which machine it is."""
    return {"processor": _processor(), "architecture": platform.machine(), "cores": os.cpu_count()}


def _processor():
    try:
        told = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in told.splitlines() if line.startswith("Model name:")]
    return names[0] if names else "unknown"


def public(words):
    """A command's words without the places it was told.

    >>> public(["--only", "lasso", "--data", "/home/me", "--json=x.json"])
    ['--only', 'lasso']
    """
    kept, rest = [], iter(words)
    for word in rest:
        if word in PLACES:
            next(rest, None)
        elif word.split("=")[0] not in PLACES:
            kept.append(word)
    return kept


class Ledger:
    """The results file of one run of a benchmark."""

    def __init__(self, path, program, given=None, more_versions=None, **settings):
        self.path = Path(path)
        given = sys.argv[1:] if given is None else given
        self.run = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "command": f"python benchmarks/{program}" + "".join(f" {word}" for word in public(given)),
            "machine": machine(),
            "versions": versions() | (more_versions or {}),
            **settings,
        }
        self.number = None

    def put(self, table, key, rows):
        """Store rows now; each takes the place of the one that agrees with it in the fields of ``key``."""
        content = read(self.path)
        if self.number is None:
            self.number = str(1 + max(map(int, content["runs"]), default=0))
        content["runs"][self.number] = self.run
        held = {_identity(row, key): row for row in content["tables"].get(table, [])}
        for row in json_ready(list(rows)):
            held[_identity(row, key)] = {**row, "run": self.number}
        content["tables"][table] = list(held.values())
        used = {row["run"] for rows in content["tables"].values() for row in rows}
        content["runs"] = {number: run for number, run in content["runs"].items() if number in used}
        write_text(self.path, json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def _identity(row, key):
    return tuple(row[field] for field in key)
