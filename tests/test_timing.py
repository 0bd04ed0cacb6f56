"""Compiling is timed apart from work, in solutions, certificates and the command line, and announced on a terminal."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from copies import OTHERS, ended

import ascd
from ascd._core.timing import NOTICE, Stopwatch, announcing, compiling

A = np.random.default_rng(0).standard_normal((30, 4))


class FakeTime:
    """A clock that is set by hand."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("ascd._core.timing.time.perf_counter", lambda: self.now)


def test_compiling_counts_apart_and_once(monkeypatch):
    clock = FakeTime(monkeypatch)
    watch = Stopwatch()
    clock.now = 2.0
    with compiling():
        clock.now = 5.0
        with compiling():
            clock.now = 9.0
    clock.now = 10.0
    assert (watch.seconds, watch.compile_seconds, watch.elapsed) == (3.0, 7.0, 10.0)
    with suppress(ZeroDivisionError), compiling():
        clock.now = 11.0
        raise ZeroDivisionError
    assert watch.compile_seconds == 8.0
    assert Stopwatch().compile_seconds == 0.0


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


@pytest.mark.parametrize("moment", [0.0, 60.0])
def test_long_compiling_is_announced_once(moment, monkeypatch):
    monkeypatch.setattr("ascd._core.timing.A_MOMENT", moment)
    said = []
    with announcing(said.append):
        for _ in range(2):
            with compiling():
                for _ in range(500 if moment == 0.0 else 1):
                    if said:
                        break
                    time.sleep(0.01)
    with compiling():
        time.sleep(0.05)
    assert said == ([NOTICE] if moment == 0.0 else [])


def test_the_notice_is_for_terminals(monkeypatch):
    """A spinner or a progress bar announces on a terminal only."""
    from ascd.results import progress

    pytest.importorskip("rich")
    heard = []
    monkeypatch.setattr(progress, "announcing", lambda say: heard.append(say) or announcing(say))
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        with progress.progress_bar(True, 3):
            pass
        assert len(heard) == is_terminal


@pytest.mark.usefixtures("interpreted")
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
