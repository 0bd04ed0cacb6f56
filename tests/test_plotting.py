"""Plots of traces and paths show what the run recorded."""

from __future__ import annotations

import numpy as np
import pytest

import ascd
from ascd.plotting import plot_traces
from ascd.reproduction.datasets import make_problem, make_synthetic
from ascd.results import Trace

matplotlib = pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def problem():
    data = make_synthetic(n_samples=30, n_features=40, n_nonzero=5, rng=0)
    return make_problem(data.A, data.b, "lasso", "max/5")


@pytest.mark.parametrize(
    ("x", "label"), [("iteration", "iteration"), ("reads", "columns read"), ("seconds", "seconds")]
)
def test_a_trace_plots_its_objective_and_its_active_set(problem, x, label):
    trace = ascd.minimize(problem, rule="ascd", step="fixed", record=20, max_iter=200, tol=0.0, rng=0).trace
    ax = trace.plot(x=x, label="mine", best=0.0)
    curve, active = ax.lines[0], ax.right.lines[0]
    np.testing.assert_array_equal(curve.get_xdata(), getattr(trace, x))
    np.testing.assert_allclose(curve.get_ydata(), trace.objective / trace.objective[0])
    np.testing.assert_array_equal(active.get_ydata(), trace.active)
    assert (ax.get_xlabel(), curve.get_label(), ax.get_yscale()) == (label, "mine", "log")


def test_what_cannot_be_drawn_is_named(problem):
    with pytest.raises(ValueError, match=r"unknown x 'time'.*iteration, reads, seconds"):
        ascd.minimize(problem, max_iter=10, rng=0).trace.plot(x="time")
    with pytest.raises(ValueError, match=r"traces must have at least one run, .* got \{\}"):
        plot_traces({})
    with pytest.raises(ValueError, match=r"each at least one record; got \{'mine': Trace\(0 records\)\}"):
        Trace().plot(label="mine")
    with pytest.raises(AttributeError, match=r"unknown column of a trace 'objectiv'. Did you mean 'objective'"):
        _ = Trace().objectiv
