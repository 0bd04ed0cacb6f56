"""What a run records, how much it says it has read, and who may watch."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from test_run import N, problem

import ascd
from ascd.results import COLUMNS

GEOMETRIC = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 51, 60]


@pytest.mark.parametrize(
    ("record", "iterations"),
    [
        (1, list(range(61))),
        (7, [0, 7, 14, 21, 28, 35, 42, 49, 56, 60]),
        (20, [0, 20, 40, 60]),
        (np.int64(60), [0, 60]),
        (1000, [0, 60]),
        ("epoch", [0, 10, 20, 30, 40, 50, 60]),
        ("geometric", GEOMETRIC),
        (None, [0, 60]),
    ],
)
def test_when_a_run_records(record, iterations):
    solution = ascd.minimize(problem(), rule="cyclic", tol=0.0, max_iter=60, record=record)
    assert solution.trace.iteration.tolist() == iterations
    assert len(solution.trace) == len(iterations)
    assert solution.trace.objective[-1] == solution.objective
    assert (np.diff(solution.trace.objective) <= 1e-12).all()
    assert (np.diff(solution.trace.seconds) >= 0).all()


def test_the_columns():
    trace = ascd.minimize(problem(), rule="cyclic", max_iter=30).trace
    frame = trace.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert tuple(frame.columns) == COLUMNS
    for column in COLUMNS:
        np.testing.assert_array_equal(frame[column], getattr(trace, column))
        assert frame[column].dtype == np.float64
    assert repr(trace) == f"Trace({len(trace)} records)"
    with pytest.raises(AttributeError, match="objektive"):
        _ = trace.objektive


@pytest.mark.parametrize(
    ("rule", "init", "reads"),
    [
        ("cyclic", "gradient", [N, N + 1, N + 2, N + 3]),
        ("uniform", "gradient", [N, N + 1, N + 2, N + 3]),
        ("cyclic", "none", [0, 1, 2, 3]),
        (ascd.Steepest(scan=True), "gradient", [N, N + 1, 2 * N + 1, 3 * N + 1]),
        (ascd.Steepest(scan=True), "none", [0, N + 1, 2 * N + 1, 3 * N + 1]),
    ],
)
def test_reads_are_counted(rule, init, reads):
    solution = ascd.minimize(problem(), rule=rule, oracle="norm", init=init, rng=0, max_iter=3, record=1, tol=0.0)
    assert solution.trace.reads.tolist() == reads
    assert solution.reads == reads[-1]


def test_given_intervals_replace_the_first_pass():
    options = {"rule": "a-ascd", "rng": 0, "tol": 1e-8}
    gradient = problem().gradient(np.zeros(N))
    plain = ascd.minimize(problem(), **options)
    given = ascd.minimize(problem(), init=(gradient, np.zeros(N)), **options)
    np.testing.assert_array_equal(given.x, plain.x)
    assert given.reads == plain.reads - N
    unknown = ascd.minimize(problem(), init=(np.zeros(N), np.full(N, math.inf)), **options)
    none = ascd.minimize(problem(), init="none", **options)
    np.testing.assert_array_equal(unknown.x, none.x)
    loose = ascd.minimize(problem(), init=(gradient + 0.5, np.full(N, 0.5)), **options)
    assert loose.converged
    np.testing.assert_array_equal(gradient, problem().gradient(np.zeros(N)))  # the user's arrays are not written to


@pytest.mark.parametrize("rule", ["working-set", "a-ascd", "uniform"])
def test_given_intervals_that_do_not_hold_are_named(rule):
    """Such a run once was "stationary" where it began; those that are wrong by rounding are as good as exact ones."""
    stated, gradient = problem(), problem().gradient(np.zeros(N))
    with pytest.raises(ValueError, match=rf"init must hold the gradient at x0; after 0 steps \d+ of {N} entries"):
        ascd.minimize(stated, rule, init=(np.zeros(N), np.zeros(N)), rng=0)
    assert ascd.minimize(stated, rule, init=(gradient * (1.0 + 4e-16), np.zeros(N)), tol=1e-8, rng=0).converged


def test_the_callback_sees_the_run():
    shots, points = [], []

    def watch(shot):
        shots.append(shot)
        points.append(shot.x.copy())
        assert shot.objective == shot.trace.objective[-1]
        assert shot.iteration == shot.trace.iteration[-1]

    solution = ascd.minimize(problem(), rule="cyclic", max_iter=50, tol=0.0, callback=watch)
    assert [shot.iteration for shot in shots] == [10, 20, 30, 40, 50]
    assert all(isinstance(shot, ascd.Snapshot) for shot in shots)
    assert all(shot.objective == pytest.approx(problem().objective(x)) for shot, x in zip(shots, points, strict=True))
    assert np.shares_memory(shots[0].x, shots[-1].x)
    assert not np.shares_memory(solution.x, shots[0].x)
