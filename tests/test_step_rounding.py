"""The rounding of v grows by what a step can be wrong: a bound that is true, and not larger than it has to be."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from lockstep import assemble
from reference.descent import local_curvature
from selection import regression, watch

import ascd
from ascd import Status
from ascd.engine.descent import descend


def lasso(d=60, n=100, size=1.0, seed=2):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, n))
    b = size * (A[:, :5].sum(axis=1) + rng.standard_normal(d))
    return A, b, ascd.Problem(A, b, penalty=ascd.L1(0.05 * np.abs(A.T @ b).max()))


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


# --- Steps by the local curvature: below their model everywhere on the way, never shorter than 1/L_j's


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("weights", [None, np.arange(15.0) % 3])
def test_a_local_step_stays_below_its_model(scale, weights):
    """F on the whole way from x_j to the new x_j is at most the model with the curvature that the step was made by."""
    for seed in range(3):
        case = regression(15, 20, "logistic", seed=seed, weights=weights)
        problem, rng = case.reference(), np.random.default_rng(seed)
        for j in range(case.n):
            x = scale * rng.standard_normal(case.n)
            g = problem.gradient(x)[j]
            curvature = local_curvature(problem, x, j, g)
            new = problem.penalty.prox(x[j] - g / curvature, 1.0 / curvature, j)
            usual = problem.penalty.prox(x[j] - g / problem.Lj[j], 1.0 / problem.Lj[j], j)
            assert abs(new - x[j]) >= abs(usual - x[j]) * (1.0 - 1e-12)
            smooth = [problem.smooth_value(with_value(x, j, x[j] + t)) for t in np.linspace(0.0, new - x[j], 9)]
            for t, value in zip(np.linspace(0.0, new - x[j], 9), smooth, strict=True):
                assert value <= smooth[0] + g * t + curvature / 2 * t**2 + 1e-12 * abs(smooth[0])


def with_value(x, j, value):
    x = x.copy()
    x[j] = value
    return x


@pytest.mark.parametrize("rule", ["cyclic", "working-set"])
def test_every_local_step_descends_and_they_lead_further(rule, compiled):
    problem = regression(30, 40, "logistic", share=0.02, seed=4).library()
    reached = {}
    for step in ("coordinate", "local"):
        assembly, seen = assemble(problem, rule, "reference" if rule == "working-set" else "norm", step=step), []
        watch(assembly, 130, lambda point, pick, seen=seen: seen.append(problem.objective(point.x)))
        assert np.all(np.diff(seen) <= 1e-12 * seen[0])
        reached[step] = seen[-1]
    best = ascd.solve(problem, tol=1e-12).objective
    assert reached["local"] - best < 0.5 * (reached["coordinate"] - best)
