"""The trace's own plot, and the demo: what people look at shows what the trace holds."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ascd
from ascd.datasets import make_synthetic
from ascd.experiments import demo
from ascd.plotting import plot_traces
from ascd.report.page import as_html
from ascd.results.trace import Trace

matplotlib = pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
matplotlib.use("agg")
pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def problem():
    data = make_synthetic(n_samples=30, n_features=40, n_nonzero=5, rng=0)
    return ascd.Problem(data.A, data.b, penalty=ascd.L1(np.abs(data.A.T @ data.b).max() / 5))


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
    matplotlib.pyplot.close(ax.figure)


def test_an_unknown_axis_is_named(problem):
    trace = ascd.minimize(problem, max_iter=10, rng=0).trace
    with pytest.raises(ValueError, match=r"unknown x 'time'.*iteration, reads, seconds"):
        trace.plot(x="time")


def test_what_cannot_be_drawn_is_named(problem):
    with pytest.raises(ValueError, match=r"traces must have at least one run, .* got \{\}"):
        plot_traces({})
    with pytest.raises(ValueError, match=r"each at least one record; got \{'mine': Trace\(0 records\)\}"):
        Trace().plot(label="mine")
    with pytest.raises(AttributeError, match=r"unknown column of a trace 'objectiv'. Did you mean 'objective'"):
        _ = Trace().objectiv


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("objectives", [(1.0, 1e308, np.inf), (np.inf, np.inf), (1e308, -1e308)])
def test_runs_that_have_diverged_are_drawn_in_silence(objectives):
    trace = Trace()
    for t, objective in enumerate(objectives):
        trace.add(iteration=t, objective=objective, active=1, reads=t, seconds=t)
    ax = plot_traces({7: trace})
    assert ax.lines[0].get_label() == "7"
    assert isinstance(trace.to_svg(), str)
    matplotlib.pyplot.close(ax.figure)


def test_the_demo_races_its_methods_and_writes_a_page(problem, tmp_path):
    data = make_synthetic(n_samples=30, n_features=40, n_nonzero=5, rng=0)
    outcome = demo.contest(epochs=20, given=(data.A, problem))
    assert list(outcome.runs) == list(demo.METHODS)
    rows = [("0.5", "5 of 10", "0.45", "2152", "1e-3", "139")]
    files = demo.publish(outcome, rows, tmp_path / "out")
    assert [path.name for path in files] == ["report.html", "demo.png", "demo.svg"]
    page = files[0].read_text()
    assert all(label in page for label in demo.METHODS)
    assert "<td>5 of 10</td>" in page
    assert "<td>ascd.solve</td>" in page
    assert "<td>scikit-learn</td>" in page
    assert as_html(outcome.conclusion()) in page


def test_the_demo_fits_embedded_data_with_proof():
    pytest.importorskip("ascd.estimators", reason="this build has no estimators")
    rows = demo.fits()
    assert [row[0] for row in rows] == ["2", "0.5", "0.05"]
    shown = [re.fullmatch(r"≤ (\S+) \(proved\)", row[4]) for row in rows]
    assert all(0.0 < float(found[1]) <= 0.01 for found in shown), "never 0: what is proved"
