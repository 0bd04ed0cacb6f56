"""Timing iterations of the engine, in seconds of the processor, several methods in turn."""

from __future__ import annotations

import time

import numpy as np

from ascd.engine.descent import descend
from ascd.engine.minimize import _start
from ascd.engine.oracles import as_oracle
from ascd.engine.rules import as_rule
from ascd.engine.steps import as_step


def stepper(problem, rule, oracle="norm", steepness="gs-s", step="coordinate", init="gradient"):
    """A function that performs the next ``count`` iterations of a prepared run and returns the seconds each took."""
    rng = np.random.default_rng(0)
    point, unread = _start(problem, steepness, init, None)
    compiled_oracle = as_oracle(oracle, problem.parts, rng)
    if hasattr(compiled_oracle, "tightening"):
        point = point._replace(intervals=point.intervals._replace(extra=compiled_oracle.tightening()))
    compiled_rule = as_rule(rule, problem.parts, compiled_oracle, point.intervals.steepness)
    parts = (point, compiled_rule, compiled_oracle, as_step(step, problem.parts))
    descend(*parts, unread, 0, 0, rng)
    done = 0

    def advance(count):
        nonlocal done
        began = time.thread_time()
        descend(*parts, False, done, done + count, rng)
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
