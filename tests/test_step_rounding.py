"""The rounding of v grows by what a step can be wrong: a bound that is true, and not larger than it has to be."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from lockstep import assemble
from problems import CASES

import ascd
from ascd import Status
from ascd.engine.descent import descend, square_of_sums
from ascd.engine.minimize import Run

pytestmark = pytest.mark.usefixtures("interpreted")

LASSO = "squared, sparse, l1, weights"


def lasso(d=60, n=100, size=1.0, seed=2):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, n))
    b = size * (A[:, :5].sum(axis=1) + rng.standard_normal(d))
    return A, b, ascd.Problem(A, b, penalty=ascd.L1(0.05 * np.abs(A.T @ b).max()))


@pytest.mark.parametrize("pieces", [[700], [64, 636], [1] * 70 + [630], [333, 1, 366]])
def test_v_is_measured_at_steps_that_depend_on_the_problem_alone(pieces):
    """However the run is cut into pieces, which depends on the time they take."""
    runs = []
    for cuts in ([700], pieces):
        assembly, first = assemble(CASES[LASSO].library("sparse"), "a-ascd", seed=3), 0
        for piece in cuts:
            assembly.descend(first, first + piece, descend.py_func)
            first += piece
        runs.append((assembly.point.x.tolist(), assembly.point.intervals.lengths.tolist()))
    assert runs[0] == runs[1]


def test_the_rounding_of_v_is_bounded():
    """The exact v of the steps as they were taken, in fractions, beside the computed one."""
    A, b, problem = lasso(d=6, n=9, seed=4)
    assembly = assemble(problem, "uniform", seed=1)
    exact = [-Fraction(float(value)) for value in b]
    for t in range(300):
        old = assembly.point.x.copy()
        assembly.descend(t, t + 1, descend.py_func)
        for j in np.flatnonzero(assembly.point.x != old):
            change = Fraction(float(assembly.point.x[j])) - Fraction(float(old[j]))
            exact = [value + change * Fraction(float(entry)) for value, entry in zip(exact, A[:, j], strict=True)]
    wrong = np.linalg.norm(
        [float(Fraction(float(v)) - e) for v, e in zip(assembly.point.raw_gradient, exact, strict=True)]
    )
    assert 0.0 < wrong <= assembly.point.intervals.lengths[1]
    assert assembly.point.intervals.lengths[1] < 1e-11


def fractions(values):
    return [Fraction(float(value)) for value in values]


class ManyShortSteps(NamedTuple):
    """One long step, one read, and then short steps only."""

    def select(self, point, t, rng):
        return (0, 2)[t] if t < 2 else 1

    def active_count(self, point):
        return 1


@pytest.mark.parametrize("oracle", ["norm", "reference"])
def test_steps_too_short_to_be_seen_inflate_intervals(oracle):
    """Each is lost beside the long one; together they have moved an entry that nobody has read since."""
    A, b = np.array([[1.0, 0.0, 0.0], [0.0, 2.0**-10, 1.0]]), np.array([1.0, 1e-10])
    problem = ascd.Problem(A, b, penalty=ascd.L1(1.0, weights=[0.0, 0.0, 1.0]))
    assembly = assemble(problem, "cyclic", oracle, step="fixed")
    assembly.descend(0, 3000, descend.py_func, ManyShortSteps())
    intervals, x = assembly.point.intervals, fractions(assembly.point.x)
    entry = Fraction(A[1, 1]) * x[1] + x[2] - Fraction(b[1])
    middle, half = intervals.extra.tighten(2, intervals.estimate[2], intervals.width_at(2))
    assert abs(float(entry) + b[1]) > 2e-13
    assert abs(entry - Fraction(float(middle))) <= half


@pytest.mark.parametrize("rule", ["u-ascd", "working-set"])
def test_a_tolerance_below_the_rounding_of_bounds_is_found_at_once(rule, monkeypatch):
    """All columns are read when nothing but rounding is in the way, and not after ten epochs."""
    problem = lasso(d=400, n=40, size=100.0)[2]
    solution = ascd.minimize(problem, rule=rule, tol=1e-9, rng=0)
    assert solution.status is Status.CONVERGED
    assert solution.trace.bound[-1] > 1e-9 >= solution.steepness
    monkeypatch.setattr(Run, "_may_be_rounding", lambda *_: False)
    assert solution.n_iter < ascd.minimize(problem, rule=rule, tol=1e-9, rng=0).n_iter


def test_squares_out_of_range_of_weighted_samples_count():
    """Of a slope of 1e-165 and a weight of 1e-300 the square is lost, its quotient is not."""
    weight = np.array([1e-300, 1.0, 1.0])
    problem = ascd.Problem(np.eye(3), [1e135, 1e-3, 1e-3], penalty=ascd.L1(1e-6), sample_weight=weight)
    point = assemble(problem, "cyclic").point
    assert point.raw_gradient[0] ** 2 == pytest.approx(0.0, abs=1e-320)
    assert square_of_sums(point) == pytest.approx(1e-30 + 2e-6, rel=1e-12)
    point.raw_gradient[1:] = 1e-60
    assert square_of_sums(point) == pytest.approx(1e-30, rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("oracle", ["exact", "reference"])
def test_a_start_far_away_leaves_no_rounding_errors_in_what_is_said(loss, oracle):
    """The slope has followed x from there, and is off by the last digits of what it was."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 4))
    b = A[:, 0] + rng.standard_normal(30)
    problem = ascd.Problem(A, b if loss == "squared" else np.sign(b), loss, ascd.L1(1.0))
    far = 1e13 if loss == "squared" else 1e5
    run = {"rule": "cyclic", "oracle": oracle, "step": "line-search", "max_iter": 20_000, "rng": 0}
    found = ascd.minimize(problem, x0=far * rng.standard_normal(4), tol=1e-10, **run)
    there = ascd.minimize(problem, x0=found.x, tol=1e-10, max_iter=0)
    assert found.status is Status.CONVERGED
    assert (found.steepness, found.objective) == (there.steepness, there.objective)
    assert found.steepness <= 1e-10
