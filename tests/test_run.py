"""How a run ends, what it remembers of itself, and what can be seen of it on the way."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from copies import OTHERS, ended

import ascd
from ascd import Status
from ascd.engine import minimize as run

LAM, N = 4.0, 10
RNG = np.random.default_rng(5)
A = RNG.standard_normal((30, N)) + 0.3
B = RNG.standard_normal(30) + 3 * A[:, 0] - 2 * A[:, 4]


def problem():
    return ascd.Problem(A, B, penalty=ascd.L1(LAM))


def steepest(x):
    """The largest GS-s score, from scratch."""
    g = A.T @ (A @ x - B)
    return np.where(x != 0, np.abs(g + LAM * np.sign(x)), np.maximum(np.abs(g) - LAM, 0.0)).max()


def objective(x):
    return 0.5 * np.sum((A @ x - B) ** 2) + LAM * np.abs(x).sum()


@pytest.mark.parametrize("tol", [1e-1, 1e-8])
@pytest.mark.parametrize("rule", ["cyclic", "uniform", "a-ascd"])
def test_converged_is_true(rule, tol):
    solution = ascd.minimize(problem(), rule=rule, tol=tol, rng=0)
    assert solution.status is Status.CONVERGED
    assert solution.converged
    assert steepest(solution.x) <= tol
    assert solution.steepness == pytest.approx(steepest(solution.x), rel=1e-6, abs=1e-12)
    assert solution.objective == pytest.approx(objective(solution.x), rel=1e-13)


@pytest.mark.parametrize("max_iter", [0, 1, 7, 25])
def test_the_iteration_limit_is_exact(max_iter):
    solution = ascd.minimize(problem(), rule="cyclic", tol=0.0, max_iter=max_iter)
    assert (solution.status, solution.n_iter) == (Status.ITERATION_LIMIT, max_iter)
    assert solution.trace.iteration[-1] == max_iter
    x = np.zeros(N)
    for t in range(max_iter):
        j = t % N
        v = x[j] - A[:, j] @ (A @ x - B) / (A[:, j] @ A[:, j])
        x[j] = math.copysign(max(abs(v) - LAM / (A[:, j] @ A[:, j]), 0.0), v)
    np.testing.assert_allclose(solution.x, x, rtol=1e-12, atol=1e-13)


def test_a_true_answer_of_the_callback_stops_the_run():
    seen = []
    solution = ascd.minimize(
        problem(), rule="cyclic", tol=0.0, record=4, callback=lambda shot: seen.append(shot.iteration) or len(seen) == 3
    )
    assert (solution.status, solution.n_iter, seen) == (Status.INTERRUPTED, 12, [4, 8, 12])
    plain = ascd.minimize(problem(), rule="cyclic", tol=0.0, max_iter=12)
    np.testing.assert_array_equal(solution.x, plain.x)


def test_ctrl_c_inside_the_callback_returns_the_point():
    def press(shot):
        if shot.iteration == 20:
            raise KeyboardInterrupt

    solution = ascd.minimize(problem(), rule="cyclic", tol=0.0, callback=press)
    assert (solution.status, solution.n_iter) == (Status.INTERRUPTED, 20)
    assert solution.objective == pytest.approx(objective(solution.x), rel=1e-13)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_ctrl_c_inside_the_compiled_loop_counts_the_steps_it_finished(loss, monkeypatch):
    descend, calls = run.descend, []

    def interrupted(*arguments):
        summary = descend(*arguments)
        calls.append(arguments)
        if len(calls) == 6:  # a signal is handled when compiled code has returned
            raise KeyboardInterrupt
        return summary

    with monkeypatch.context() as patch:
        patch.setattr(run, "descend", interrupted)
        solution = ascd.minimize(ascd.Problem(A, B, loss, ascd.L1(LAM)), rule="cyclic", tol=0.0)
    plain = ascd.minimize(ascd.Problem(A, B, loss, ascd.L1(LAM)), rule="cyclic", tol=0.0, max_iter=solution.n_iter)
    assert (solution.status, solution.n_iter) == (Status.INTERRUPTED, 4 * N)  # two of the six calls take no step
    np.testing.assert_allclose(solution.x, plain.x, rtol=1e-13)
    assert solution.objective == solution.trace.objective[-1] == pytest.approx(plain.objective, rel=1e-13)


SIGNAL = """
import os, signal, threading
import numpy as np, ascd
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
A, b = rng.standard_normal((60, 200)), rng.standard_normal(60)
problem = ascd.Problem(A, b, penalty=ascd.L1(0.1))
def arm(shot):
    if shot.iteration == 1:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
s = ascd.minimize(problem, rule="cyclic", tol=0.0, max_iter=10**12, record="geometric", callback=arm)
error = abs(s.objective - 0.5 * np.sum((A @ s.x - b) ** 2) - 0.1 * np.abs(s.x).sum())
print(s.status, s.n_iter > 1, s.reads - 200 == s.n_iter == s.trace.iteration[-1], error < 1e-9 * s.objective)
"""


def test_a_real_signal_returns_the_point():
    environment = {**os.environ, "PYTHONPATH": str(Path(ascd.__file__).parents[1]), "NUMBA_DISABLE_JIT": "0"}
    _, out, error = ended(SIGNAL, environment, OTHERS)
    assert out.split() == ["interrupted", "True", "True", "True"], error


class Leap(NamedTuple):
    """A step that goes ``factor`` times too far."""

    factor: float

    def take(self, point, i, g):
        return point.x[i] - self.factor * g / point.problem.lipschitz[i], g, math.inf


@pytest.mark.parametrize("penalty", [ascd.L1(LAM), ascd.Zero(), ascd.L2(1.0), ascd.Box()])
@pytest.mark.parametrize(("loss", "factor"), [("squared", 5.0), ("squared", math.nan), ("huber", math.nan)])
def test_a_bad_step_diverges(loss, factor, penalty):
    with np.errstate(all="ignore"):
        solution = ascd.minimize(ascd.Problem(A, B, loss, penalty), rule="cyclic", step=Leap(factor), max_iter=4000)
    assert solution.status is Status.DIVERGED
    assert not math.isfinite(solution.objective)
    assert solution.gap == math.inf
    assert solution.steepness > 1.0 if math.isfinite(factor) else solution.steepness == math.inf
    assert solution.n_iter < 4000
