"""Timing iterations of the engine, in seconds of the processor, several methods in turn."""

from __future__ import annotations

import time

import numpy as np

from ascd.engine.descent import descend
from ascd.engine.minimize import Run


def stepper(problem, rule, oracle="norm", steepness="gs-s", step="coordinate", init="gradient"):
    """A function that performs the next ``count`` iterations of a prepared run and returns the seconds each took."""
    run = Run(problem, rule, oracle, steepness, step, init, rng=0)
    parts = (run.point, run.rule, run.oracle, run.step)
    descend(*parts, run.unread, 0, 0, run.rng)
    done = 0

    def advance(count):
        nonlocal done
        began = time.thread_time()
        descend(*parts, False, done, done + count, run.rng)
        done += count
        return (time.thread_time() - began) / count

    return advance


def interleaved(functions, repeats):
    """The minimum of each function's answers over interleaved repeats."""
    best = dict.fromkeys(functions, np.inf)
    for _ in range(repeats):
        for name, function in functions.items():
            best[name] = min(best[name], function())
    return best
