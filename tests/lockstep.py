"""Runs of the library that write down every step, and their replay by ``reference``.

The replay takes each recorded state, lets the reference make the same step, and compares: the pick, the new point,
the new intervals.  Bounds on scores are compared up to rounding; the pick is then asked to be the reference's for
exactly these bounds, since rounding may decide which of several equal coordinates is the largest.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import reference as ref

from ascd.engine.descent import DescentPoint, active_count, descend
from ascd.engine.minimize import Run
from ascd.engine.rules.scan import fill_bounds

#: Agreement is asked to this part of the size of the terms that a number is computed from.
ROUNDING = 1e-10
BOUNDED_RULES = ("ascd", "u-ascd", "l-ascd", "a-ascd")


class Recorder(NamedTuple):
    """A rule that writes down the state before each of its picks, and the pick."""

    rule: Any
    picks: np.ndarray
    x: np.ndarray
    estimate: np.ndarray
    radius: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def select(self, point: Any, t: int, rng: Any) -> int:
        for j in range(point.x.size):
            self.x[t, j] = point.x[j]
            self.estimate[t, j] = point.intervals.estimate[j]
            self.radius[t, j] = point.intervals.radius_at(j)
        fill_bounds(point.intervals, self.lower[t], self.upper[t])
        i = self.rule.select(point, t, rng)
        self.picks[t] = i
        return i

    def active_count(self, point: Any) -> int:
        return active_count(self.rule, point)


@dataclass
class Assembly:
    """The parts of a run, ready to descend by pieces."""

    point: DescentPoint
    rule: Any
    oracle: Any
    step: Any
    rng: np.random.Generator
    unread: bool

    def descend(self, first, last, kernel=descend, rule=None):
        unread, self.unread = self.unread, False
        rule = self.rule if rule is None else rule
        return kernel(self.point, rule, self.oracle, self.step, unread, first, last, self.rng)

    def state(self):
        """x, estimates, radii, lower and upper bounds on the scores."""
        intervals, n = self.point.intervals, self.point.x.size
        lower, upper = np.empty(n), np.empty(n)
        fill_bounds(intervals, lower, upper)
        radius = np.array([intervals.radius_at(j) for j in range(n)])
        return self.point.x.copy(), intervals.estimate.copy(), radius, lower, upper


def assemble(problem, rule, oracle="norm", steepness="gs-s", step="coordinate", init="gradient", x0=None, seed=0):
    """The parts of a run as ``minimize`` puts them together."""
    run = Run(problem, rule, oracle, steepness, step, init, x0, seed)
    return Assembly(run.point, run.rule, run.oracle, run.step, run.rng, run.unread)


@dataclass
class History:
    """``picks[t]`` leads from state t to state t + 1; ``summary`` is what ``descend`` says at the end."""

    picks: np.ndarray
    x: np.ndarray
    estimate: np.ndarray
    radius: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    summary: tuple
    rng: np.random.Generator  # as it was before the first pick
    assembly: Assembly  # as it is after the last step


def recorder_for(rule, n_iter, n):
    return Recorder(rule, np.empty(n_iter, dtype=np.int64), *(np.empty((n_iter + 1, n)) for _ in range(5)))


def record(assembly, n_iter):
    """Descend by ``n_iter`` steps in plain Python and return every state on the way."""
    recorder, rng = recorder_for(assembly.rule, n_iter, assembly.point.x.size), copy.deepcopy(assembly.rng)
    with np.errstate(over="ignore"):  # as in kernels: an unlimited length times a column is infinite
        summary = assembly.descend(0, n_iter, descend.py_func, recorder)
        for array, last in zip(recorder[2:], assembly.state(), strict=True):
            array[n_iter] = last
    return History(*recorder[1:], summary, rng, assembly)


# ------------------------------------------------------------------------------------------- replay


def gradient_scale(problem, x):
    """The size of the terms that gradient entry j is a sum of, for every j."""
    image = np.abs(problem.A) @ np.abs(x) + np.abs(problem.b) + 1.0
    return problem.M * problem.norms * np.sqrt(np.sum(problem.s * image**2))


def score_tolerance(problem, steepness, x, gradient):
    """How far rounding may move the score of each coordinate."""
    scale = gradient_scale(problem, x) + np.abs(gradient)
    pen = problem.penalty
    scale += pen.l1 + pen.l2 * np.abs(x) + np.abs(pen.linear)
    kappa = problem.Lj if steepness.startswith("gsl") else problem.L
    tolerance = ROUNDING * (scale + kappa * np.abs(x))
    if steepness.endswith("q"):  # the root of a difference of costs
        costs = np.abs(x) * (pen.l1 + pen.l2 * np.abs(x) + np.abs(pen.linear)) + scale**2 / kappa
        tolerance = tolerance + 1e-7 * np.sqrt(2.0 * kappa * costs)
    return tolerance / np.sqrt(problem.Lj) if steepness.startswith("gsl") else tolerance


def expected_pick(problem, rule, steepness, t, state, bounds, rng, pick, power):
    """The reference's pick; for rules that read bounds, from the library's bounds after a check of these."""
    if rule not in BOUNDED_RULES:
        return ref.select(problem, rule, t, *state, steepness, rng, pick, power)[1]
    lower, upper = bounds
    check_bounds(problem, steepness, state, bounds)
    active = ref.active_set(rule, upper, lower)
    return ref.uniform_pick(ref.argmax_set(lower, active) if pick != "uniform" else active, rng)


def check_bounds(problem, steepness, state, bounds):
    slack = score_tolerance(problem, steepness, *state[:2])
    for found, expected in zip(bounds, ref.bounds(problem, steepness, *state), strict=True):
        assert close(found, expected, slack), (found, expected)


def is_rounding(problem, rule, steepness, x, bounds, pick):
    """Is ``pick`` one of several coordinates that only rounding tells apart?"""
    if rule == "ascd":  # the library compares averages in floating point, and keeps what is close
        lower, upper = bounds
        return pick in ref.smallest_active_set((1.0 + ROUNDING) * upper, (1.0 - ROUNDING) * lower)
    if rule != "steepest":
        return False
    gradient = problem.gradient(x)
    scores, slack = ref.scores(problem, steepness, x, gradient), score_tolerance(problem, steepness, x, gradient)
    return scores[pick] + slack[pick] >= (scores - slack).max()


def close(found, expected, tolerance):
    """Equal up to the tolerance, infinities included."""
    same = np.asarray(found) == expected
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(found - expected) <= tolerance)))


def replay(case, history, rule, oracle, steepness, step, *, pick="uniform", power=0.5):
    """Check every recorded step against the reference; returns how many picks rounding decided."""
    problem, rng, undecided = case.reference(), copy.deepcopy(history.rng), 0
    for t, i in enumerate(history.picks):
        state = x, estimate, radius = history.x[t].copy(), history.estimate[t].copy(), history.radius[t].copy()
        bounds = history.lower[t], history.upper[t]
        expected = expected_pick(problem, rule, steepness, t, state, bounds, rng, pick, power)
        if i != expected:
            assert is_rounding(problem, rule, steepness, x, bounds, i), (t, i, expected)
            undecided += 1
        gradient, scale = problem.gradient(x), ROUNDING * gradient_scale(problem, history.x[t + 1])
        if rule == "steepest":
            estimate, radius = np.where(radius > 0.0, gradient, estimate), np.zeros(case.n)
        new, own, error = ref.take_step(problem, step, x, i, gradient[i])
        slow = 1e-3 if step == "line-search" and not problem.loss.quadratic else 1.0
        kappa = problem.L if step == "fixed" else problem.Lj[i]
        assert close(history.x[t + 1, i], new, scale[i] / (slow * kappa) + ROUNDING * abs(new)), (t, i)
        change = history.x[t + 1, i] - x[i]
        if change != 0.0:
            estimate, radius = ref.move_intervals(
                estimate, radius, i, change, *ref.gradient_oracle(problem, oracle, i, rng)
            )
        x[i], estimate[i], radius[i] = history.x[t + 1, i], own, error
        width = np.where(np.isfinite(radius), ROUNDING * radius, 0.0)
        assert np.array_equal(history.x[t + 1], x), (t, i)
        assert close(history.estimate[t + 1], estimate, scale / slow), (t, i)
        assert close(history.radius[t + 1], radius, scale / slow + width), (t, i)
    return undecided
