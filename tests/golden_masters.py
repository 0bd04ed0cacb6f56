"""Golden masters: what ``solve`` and ``minimize`` find on the table of problems, stored in ``golden/*.json``.

    make golden          write them anew, and print what has changed

A change of objective, support, status or reads must be deliberate: the test compares, this command renews.  Runs are
interpreted, so that sums are taken in the order of the source and the numbers do not depend on the processor's vector
registers.  What still may differ between machines: exp and log in the last digit, and the linear algebra behind
``solve``.  So objectives are compared to 1e-9, and ``solve`` may read each column once more or less; ``minimize`` must
make the same reads, step for step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from problems import CASES

import ascd

FOLDER = Path(__file__).parent / "golden"
OBJECTIVE_TOLERANCE = 1e-9
STORAGES = ("dense", "sparse")
#: rule, oracle, steepness
RUNS = (
    ("cyclic", "norm", "gs-s"),
    ("uniform", "norm", "gs-s"),
    ("steepest", "norm", "gsl-r"),
    ("ascd", "exact", "gs-s"),
    ("ascd", "norm", "gs-q"),
    ("a-ascd", "norm", "gsl-s"),
    ("a-ascd", "exact", "gsl-q"),
    ("l-ascd", "exact", "gs-r"),
    ("ascd", "cached", "gs-s"),
    ("block", "reference", "gs-s"),
)
EPOCHS = 20


def facts(solution):
    return {
        "objective": float(solution.objective),
        "support": np.flatnonzero(solution.x).tolist(),
        "reads": solution.reads,
        "status": solution.status.value,
    }


def build(case, storage="dense"):
    """The problem made here and now: tests share theirs, which may have been made by compiled code."""
    return type(case).library.__wrapped__(case, storage)


def solved(case):
    """What ``solve`` finds, by storage and intercept."""
    return {
        f"{storage}{', intercept' * intercept}": facts(
            ascd.solve(build(case, storage), tol=1e-9, x0=case.x0, intercept=intercept)
        )
        for storage in STORAGES
        for intercept in (False, True)
    }


def minimized(case):
    """What ``minimize`` finds, by its parts."""
    problem = build(case)
    return {
        f"{rule}, {oracle}, {steepness}": facts(
            ascd.minimize(
                problem, rule, oracle, steepness, x0=case.x0, tol=1e-7, rng=0, record=None,
                max_iter=EPOCHS * case.n,
            )
        )
        for rule, oracle, steepness in RUNS
    }  # fmt: skip


MASTERS = {"solve": solved, "minimize": minimized}


def stored(master):
    return json.loads((FOLDER / f"{master}.json").read_text())


def differences(old, new, columns, slack) -> Iterator[str]:
    """What has changed in the runs of one problem, in words; reads may differ by ``slack`` times the columns."""
    for run in old.keys() | new.keys():
        if run not in old or run not in new:
            yield f"{run}: {'is new' if run in new else 'is gone'}"
            continue
        before, after = old[run], new[run]
        for key in ("support", "status"):
            if before[key] != after[key]:
                yield f"{run}: {key} {before[key]} → {after[key]}"
        if not math.isclose(before["objective"], after["objective"], rel_tol=OBJECTIVE_TOLERANCE, abs_tol=1e-15):
            yield f"{run}: objective {before['objective']!r} → {after['objective']!r}"
        if abs(before["reads"] - after["reads"]) > slack * columns:
            yield f"{run}: reads {before['reads']} → {after['reads']}"


def renew():
    """Write all masters and print what has changed."""
    FOLDER.mkdir(exist_ok=True)
    for master, compute in MASTERS.items():
        path = FOLDER / f"{master}.json"
        old = stored(master) if path.is_file() else {}
        new = {name: compute(case) for name, case in CASES.items()}
        lines = [
            f"{master}: {name}: {line}"
            for name, runs in new.items()
            for line in sorted(differences(old.get(name, {}), runs, CASES[name].n, 0))
        ]
        gone = [f"{master}: {name}: is gone" for name in old if name not in new]
        print("\n".join([*gone, *lines]) or f"{master}: nothing has changed")
        rows = (f"{json.dumps(name)}: {as_lines(runs)}" for name, runs in new.items())
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def as_lines(runs):
    """One line a run, so that a change is seen in a diff."""
    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(run)}" for name, run in runs.items()) + "\n}"


if __name__ == "__main__":
    from ascd._core.jit import debugging
    from ascd.solver import tuning

    tuning.SMALL_ENTRIES = 0  # every solve by the loop

    with debugging(True):
        renew()
