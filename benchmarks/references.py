"""Do several references pay, and a refresh by what it is expected to save?  Column reads and processor seconds.

    python benchmarks/references.py [--data FOLDER] [--case NAME] [--limit SECONDS] [--patience]

Lasso to relative suboptimality 1e-4, λ_max/20 and λ_max/100; the parts are in ``choosing/references.py``.  "awake" is
the default rule with the angle measured where it looks, "block" follows the angle with every step; reads are in n.
With --patience: how often should one reference be refreshed, and does that depend on the rule?
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from choosing.contest import EPOCHS, best_objective
from choosing.data import FOLDER, SEED, cases
from choosing.references import References

import ascd
from ascd.engine import run

SCALED = {"steepness": "gsl-s", "init": "none"}
METHODS = {
    "awake, one": {"rule": "awake", "oracle": "measured"},
    "awake, two": {"rule": "awake", "oracle": References(2, measured=True)},
    "awake, four": {"rule": "awake", "oracle": References(4, measured=True)},
    "block, one": {"rule": "block", "oracle": "reference", **SCALED},
    "block, one, by saving": {"rule": "block", "oracle": References(1, by_saving=True), **SCALED},
    "block, two": {"rule": "block", "oracle": References(2), **SCALED},
    "block, two, by saving": {"rule": "block", "oracle": References(2, by_saving=True), **SCALED},
    "block, four": {"rule": "block", "oracle": References(4), **SCALED},
}

#: Rules that take what has the largest bound, and rules that draw at random.
PATIENT = {
    f"{rule}, {patience:g}": {"rule": rule, "oracle": ascd.Reference(patience), **SCALED}
    for rule in ("u-ascd", "block", "a-ascd", "look-ahead")
    for patience in (0.25, 0.5, 1.0, 2.0)
}


def reach(problem, options, best, limit):
    """Reads in n and seconds of the processor until the objective is within 1e-4 of the best; nan where it is not."""
    target, n = best + 1e-4 * abs(best), problem.n_features
    trace = ascd.minimize(
        problem, max_iter=EPOCHS * n, record=max(20, n // 20), tol=0.0, rng=SEED, max_time=limit,
        callback=lambda seen: seen.objective <= target, **options,
    ).trace  # fmt: skip
    hit = np.flatnonzero(trace.objective <= target)
    return (trace.reads[hit[0]] / n, trace.seconds[hit[0]]) if hit.size else (np.nan, np.nan)


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="folder with npz files")
    parser.add_argument("--case", default="", help="the cases whose name contains this")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds that a method is given")
    parser.add_argument("--patience", action="store_true", help="one reference, refreshed early or late")
    options = parser.parse_args(given)
    methods = PATIENT if options.patience else METHODS
    run.time = SimpleNamespace(perf_counter=time.process_time)
    print("| data, λ | " + " | ".join(methods) + " |")
    print("|---|" + "---|" * len(methods), flush=True)
    for name, (A, y) in cases(options.data, False, options.case, more=True):
        largest = np.abs(A.T @ y).max()
        for part in (20, 100):
            problem = ascd.Problem(A, y, penalty=ascd.L1(largest / part))
            best, _ = best_objective(problem)
            found = [reach(problem, method, best, options.limit) for method in methods.values()]
            cells = " | ".join(f"{reads:.2f} n, {seconds:.2f} s" for reads, seconds in found)
            print(f"| {name}, λ_max/{part} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
