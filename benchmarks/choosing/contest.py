"""Lasso to relative suboptimality 1e-4 with coordinate steps, reading the start gradient and refreshing included."""

from __future__ import annotations

import math

import numpy as np

import ascd
from ascd.data.dense import Dense
from choosing.data import SEED, cases

LIMIT, LONG = 30.0, 5.0  # seconds that a method is given, and after which its first time stands
EPOCHS = 1000  # at most
BASELINES = {"uniform": {"rule": "uniform"}, "cyclic": {"rule": "cyclic"}}
SCALED = {"steepness": "gsl-s"}
REFERENCE = {"oracle": "reference", "init": "none", **SCALED}
CONTENDERS = {
    "a-ascd norm": {"rule": "a-ascd", **SCALED},
    "u-ascd norm": {"rule": "u-ascd", **SCALED},
    "look-ahead norm": {"rule": "look-ahead", **SCALED},
    "look-ahead reference": {"rule": "look-ahead", **REFERENCE},
    "block norm": {"rule": "block", **SCALED},
    "block reference": {"rule": "block", **REFERENCE},
}


def best_objective(problem):
    """The minimum, by the production solver, and how far from it that may be."""
    solution = ascd.solve(problem, tol=1e-12, max_time=60.0)
    return solution.objective, solution.gap


def contest(folder, quick, wanted=""):
    """One row a data set and λ: the minimum, and how every method fared."""
    for name, (A, y) in cases(folder, quick, wanted):
        largest = np.abs(A.T @ y).max()
        for part in (20, 100):
            problem = ascd.Problem(A, y, penalty=ascd.L1(largest / part))
            best, gap = best_objective(problem)
            records = 1 if isinstance(problem.parts.matrix, Dense) else 20
            methods = {
                method: reach(problem, options, best, quick, records=records)
                for method, options in (BASELINES | CONTENDERS).items()
            }
            size = {"samples": problem.n_samples, "features": problem.n_features}
            yield {"case": name, "part": part, **size, "best": best, "gap": gap, "methods": methods}


def reach(problem, options, best, quick, limit=LIMIT, records=20):
    """Fewest seconds and the column reads until the objective is within 1e-4 of the best, or how near it came."""
    target, n = best + 1e-4 * abs(best), problem.n_features
    found = {"seconds": None, "reads": None, "epochs": None}
    while True:
        solution = ascd.minimize(
            problem,
            max_iter=EPOCHS * n,
            tol=0.0,
            rng=SEED,
            record=max(20, n // records),  # not counted, but takes time
            max_time=limit,
            callback=lambda seen: seen.objective <= target,
            **options,
        )
        trace = solution.trace
        hit = np.flatnonzero(trace.objective <= target)
        if hit.size == 0:
            left = (trace.objective[-1] - best) / abs(best)
            return found | {"left": left, "spent": trace.seconds[-1], "read": trace.reads[-1] / n}
        first = trace.seconds[hit[0]]
        found["reads"], found["epochs"] = trace.reads[hit[0]] / n, trace.iteration[hit[0]] / n
        is_long = first > min(LONG, limit / 4.0)  # such a run needs no second one to be sure
        if quick or found["seconds"] is not None or is_long:
            return found | {"seconds": min(found["seconds"] or math.inf, first)}
        found["seconds"] = first
