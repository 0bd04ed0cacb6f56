"""The cost of an iteration, and the Lasso to relative suboptimality 1e-4 with coordinate steps, reading the start
gradient and refreshing included."""

from __future__ import annotations

from functools import partial

import numpy as np
from common.stepping import interleaved, stepper

import ascd
from ascd.matrix.dense import Dense
from choosing.data import SEED, cases

LIMIT, LONG = 30.0, 5.0  # seconds that a method is given, and after which its first time stands
EPOCHS = 1000  # at most
TIMED_RULES = ("a-ascd", "u-ascd", "block")
BASELINES = {"uniform": {"rule": "uniform"}, "cyclic": {"rule": "cyclic"}}
SCALED = {"steepness": "gsl-s"}
REFERENCE = {"oracle": "reference", "init": "none", **SCALED}
CONTENDERS = {
    "a-ascd norm": {"rule": "a-ascd", **SCALED},
    "u-ascd norm": {"rule": "u-ascd", **SCALED},
    "block norm": {"rule": "block", **SCALED},
    "block reference": {"rule": "block", **REFERENCE},
}


def iteration(folder, quick, wanted=""):
    """Seconds of a step over the first 3n steps of each rule, with the oracle "norm" and scores GSL-s."""
    for name, (A, y) in cases(folder, quick, wanted):
        largest = np.abs(A.T @ y).max()
        for part in (20, 100):
            problem = ascd.Problem(A, y, penalty=ascd.L1(largest / part))
            runs = {rule: partial(first_steps, problem, rule) for rule in ("uniform", *TIMED_RULES)}
            best = interleaved(runs, 2 if quick else 5)
            for rule in TIMED_RULES:
                yield {"case": name, "part": part, "rule": rule, "seconds": best[rule], "uniform": best["uniform"]}


def first_steps(problem, rule):
    """Seconds of a step, a mean over the first 3n."""
    return stepper(problem, rule, "norm", steepness="gsl-s")(3 * problem.n_features)


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
    """Fewest seconds and the column reads until the objective is within 1e-4 of the best, or how near it came.

    A run with so many records an epoch finds out when; looking takes time, so a run without records is timed.
    """
    target, n = best + 1e-4 * abs(best), problem.n_features
    shared = {"tol": 0.0, "rng": SEED, "max_time": limit, **options}
    found = {"seconds": None, "reads": None, "epochs": None}
    trace = ascd.minimize(
        problem,
        max_iter=EPOCHS * n,
        record=max(20, n // records),
        callback=lambda seen: seen.objective <= target,
        **shared,
    ).trace
    hit = np.flatnonzero(trace.objective <= target)
    if hit.size == 0:
        left = (trace.objective[-1] - best) / abs(best)
        return found | {"left": left, "spent": trace.seconds[-1], "read": trace.reads[-1] / n}
    steps, first = int(trace.iteration[hit[0]]), trace.seconds[hit[0]]
    once = quick or first > min(LONG, limit / 4.0)  # long runs need no second one to be sure
    times = [ascd.minimize(problem, max_iter=steps, record=None, **shared).seconds for _ in range(1 if once else 2)]
    return {"seconds": min(first, *times), "reads": trace.reads[hit[0]] / n, "epochs": steps / n}
