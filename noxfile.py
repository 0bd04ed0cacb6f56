"""The version matrix: a slice of the tests on every Python that is there, with the oldest and the newest versions.

``make matrix``, or ``nox``; ``nox -s newest-3.12`` runs one row.  A Python that is not installed is skipped, and nox
says so.  *Oldest* is what pyproject.toml allows at least: those bounds are true because this runs.  The last session
prints the table of CONTRIBUTING.md.  ``make next`` runs the slice with pre-releases.

The slice is one file for each thing that the versions can break; everything else does the same whatever their number.
Of the extras only pandas is installed, whose tables the tests pass in: all else is seen to work without them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]

OWN = "test_compiled_is_interpreted_and_dense_is_sparse"
KEPT = "test_the_second_process_loads_and_types_of_a_user_are_not_stored"
SLICE = [
    "tests/test_package.py",  # Python: lazy imports, threads
    f"tests/test_compiled.py::{OWN}",  # numba: compiled code takes the steps of plain Python, without a warning
    f"tests/test_cache.py::{KEPT}",  # numba: what is kept on disk is found again
    "tests/test_matrices.py",  # NumPy and SciPy: every way to store a matrix
    "tests/test_inputs.py",  # NumPy: conversions, and errors in words
    "tests/test_solver_peers.py",  # SciPy: its minimizers find the same
    "tests/test_estimator_checks.py",  # scikit-learn: its checks of estimators
]
#: What the newest pytest says about the checks of a scikit-learn that is not the newest.
OF_PEERS = "Passing a non-Collection iterable to parametrize"
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "pandas")
SHOWN = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "threadpoolctl")
ROWS = Path(".nox/matrix")

nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["oldest", "newest", "table"]


def requirements() -> list[str]:
    """What the library and its tests need, with the least versions."""
    project = nox.project.load_toml("pyproject.toml")
    offered = [*project["dependency-groups"]["test"], *project["project"]["optional-dependencies"]["plot"]]
    tools = [need for need in offered if re.split("[>=]", need)[0] in TOOLS]
    return [*project["project"]["dependencies"], *tools]


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """The least versions that pyproject.toml allows."""
    check(session, [need.replace(">=", "==") for need in requirements()])


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """The newest versions that there are for this Python."""
    check(session, requirements())


@nox.session(name="next")
def pre_releases(session: nox.Session) -> None:
    """The newest pre-releases of NumPy, SciPy and scikit-learn where they exist, on the Python that runs nox.

    numba allows NumPy up to a version: where a pre-release is beyond it, numba cannot be installed beside it, and the
    session ends with pip's own words.
    """
    check(session, requirements(), "--pre")


def check(session: nox.Session, needs: list[str], *how: str) -> None:
    """Install, run the slice, note versions and counts in a row of the table."""
    ROWS.mkdir(parents=True, exist_ok=True)
    row, report = ROWS / f"{session.name}.json", ROWS.absolute() / f"{session.name}.xml"
    row.unlink(missing_ok=True)
    report.unlink(missing_ok=True)
    session.install("--only-binary", ":all:", "--upgrade", *how, *needs)
    session.install("--no-deps", ".")
    asked = f"import json; from importlib.metadata import version; print(json.dumps([*map(version, {SHOWN})]))"
    found = json.loads(session.run("python", "-c", asked, silent=True) or "[]")
    told = ["-p", "no:cacheprovider", "-n", "2", "-q", "-W", f"ignore:{OF_PEERS}", f"--junitxml={report}"]
    told += session.posargs or SLICE
    session.run("python", "-m", "pytest", *told, success_codes=range(6))
    counts = ElementTree.parse(report).getroot()[0].attrib if report.exists() else {}
    failed = sum(int(counts.get(kind, 1)) for kind in ("failures", "errors"))
    skipped = int(counts.get("skipped", 0))
    passed = int(counts.get("tests", 0)) - failed - skipped
    row.write_text(json.dumps([session.name, *found, passed, failed, skipped]))
    if failed:
        session.error(f"{failed} tests failed")


@nox.session(venv_backend="none")
def table(session: nox.Session) -> None:
    """Print the rows that the other sessions left."""
    head = ("", *SHOWN, "passed", "failed", "skipped")
    rows = [head, ["---"] * len(head), *(json.loads(path.read_text()) for path in sorted(ROWS.glob("*.json")))]
    print("\n".join(f"| {' | '.join(map(str, row))} |" for row in rows))
