"""Compiling is timed apart from work, in solutions, certificates and the command line, and announced on a terminal."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from copies import OTHERS, ended

import ascd
from ascd._core.timing import compiling

A = np.random.default_rng(0).standard_normal((30, 4))


FIRST_CALL = """
import time
began = time.perf_counter()
import numpy as np, ascd, ascd.estimators
from ascd._core.jit import is_interpreted
A = np.random.default_rng(0).standard_normal((30, 4))
model = ascd.estimators.Lasso(0.1)
model.fit(A, 2.0 * A[:, 0])
first = model.certificate_
model.fit(A, 2.0 * A[:, 0])
second = model.certificate_
assert is_interpreted or first.compile_seconds > 0.0, first
assert second.compile_seconds == 0.0, second
assert first.seconds + first.compile_seconds < time.perf_counter() - began
solution = ascd.solve(ascd.Problem(A, A[:, 0], penalty=ascd.L1(0.1)))
assert solution.trace.seconds[-1] <= solution.seconds
"""


def test_the_first_fit_of_a_process_tells_compiling_from_work():
    """Kernels are compiled, or loaded from disk, in the first fit and never again."""
    search = {"PYTHONPATH": str(Path(ascd.__file__).parents[1])}
    exit_code, _, error = ended(FIRST_CALL, {**os.environ, **search}, OTHERS)
    assert exit_code == 0, error


def test_the_time_limit_does_not_count_compiling(monkeypatch):
    """A first call compiles for seconds; that was counted, and the run ended at its limit before its first round."""
    from ascd.solver.check import OptimalityCheck

    evaluate = OptimalityCheck.evaluate

    def compiled_first(this):
        with compiling():
            time.sleep(0.5)
        return evaluate(this)

    monkeypatch.setattr(OptimalityCheck, "evaluate", compiled_first)
    problem = ascd.Problem(A, A[:, 0], penalty=ascd.L1(0.1))
    assert ascd.solve(problem, max_time=0.45).converged
    assert ascd.path(problem, alphas=[1.0, 0.5], max_time=0.45).status is ascd.Status.CONVERGED
