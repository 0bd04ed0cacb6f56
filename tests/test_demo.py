"""The demo and its race: runs end at the accuracy, the table shows what it took, the page leads with a proved fit."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ascd import solve
from ascd.reproduction import demo, race
from ascd.reproduction.datasets import make_problem, make_synthetic
from ascd.reproduction.page import as_html
from ascd.results.solution import Status

pytestmark = pytest.mark.usefixtures("plain_python")
METHODS = {rule: race.Entrant(rule, "norm") for rule in ("uniform", "a-ascd")}


@pytest.fixture(scope="module")
def problem():
    data = make_synthetic(24, 30, n_nonzero=4, rng=0)
    return make_problem(data.A, data.b, "lasso", "max/10")


@pytest.fixture(scope="module")
def outcome(plain_python, problem):
    return race.race(problem, METHODS, epochs=60)


def test_runs_end_where_they_come_within_the_accuracy(outcome):
    for label in METHODS:
        run, found = outcome.runs[label], outcome.arrival(label)
        excess = (run.trace.objective - outcome.best) / (run.trace.objective[0] - outcome.best)
        assert run.status is Status.INTERRUPTED, "the goal ends a run, not the epochs"
        assert excess[-1] <= outcome.accuracy < excess[-2]
        assert found.reads == run.trace.reads[-1]
        assert 0.0 <= found.seconds <= run.seconds


def test_a_short_run_and_a_long_one_have_as_many_records(problem, monkeypatch):
    """Records take time: else a rule of many cheap steps would look slow for being recorded."""
    monkeypatch.setattr(race, "SMALL_SHARE", 0.0)
    runs = race.race(problem, METHODS, epochs=60).runs
    assert runs["uniform"].n_iter > 1.5 * runs["a-ascd"].n_iter
    assert all(60 <= len(runs[label].trace) <= 122 for label in METHODS)
    monkeypatch.setattr(race, "SMALL_SHARE", float("inf"))
    once = race.race(problem, {"uniform": METHODS["uniform"]}, epochs=60).runs["uniform"]
    assert len(once.trace) > 122, "a run that records do not disturb is not repeated"


def test_the_minimum_is_certified(outcome):
    assert outcome.best - outcome.gap <= solve(outcome.problem, tol=1e-14).objective


def test_the_table_and_its_conclusion(outcome):
    assert outcome.head[1:3] == ("columns read / n to 1e-06", "seconds to 1e-06")
    rows = {row[0]: row for row in outcome.rows()}
    assert list(rows) == ["uniform", "a-ascd", "ascd.solve"]
    assert float(rows["a-ascd"][1]) == pytest.approx(outcome.arrival("a-ascd").reads / 30, abs=0.06)
    factor = outcome.arrival("uniform").reads / outcome.arrival("a-ascd").reads
    assert f"a-ascd reads the fewest columns, {rows['a-ascd'][1]}·n, {factor:.1f} times fewer" in outcome.conclusion()
    assert "To fit a model use `ascd.solve`" in outcome.conclusion()
    numbers = outcome.plain()
    assert numbers["runs"]["a-ascd"]["to_accuracy"]["reads"] == outcome.arrival("a-ascd").reads
    assert numbers["conclusion"] == outcome.conclusion()


def test_rules_that_do_not_get_there_are_named(problem):
    outcome = race.race(problem, {**METHODS, "steepest": race.Entrant("steepest", "norm")}, epochs=2)
    assert outcome.arrival("uniform") is None
    assert {row[0]: row for row in outcome.rows()}["uniform"][1] == "not in 3.0"
    assert "uniform, a-ascd did not get there" in outcome.conclusion()
    none = outcome._replace(runs={label: outcome.runs[label] for label in ("uniform", "ascd.solve")})
    assert none.conclusion().startswith("No rule came within 1e-06 of the minimum: more epochs are needed.")


@pytest.mark.parametrize(("value", "text"), [(5.01e-6, "6e-06"), (9.3e-6, "1e-05"), (2e-10, "2e-10"), (1.0, "1e+00")])
def test_bounds_are_rounded_up(value, text):
    assert race.rounded_up(value) == text


@pytest.mark.parametrize("where", ["minimize", "solve"])
def test_ctrl_c_in_a_run_is_passed_on(problem, monkeypatch, where):
    def pressed(*arguments, callback, **options):
        def interrupting(now):
            raise KeyboardInterrupt

        return whole(*arguments, callback=interrupting, **options)

    whole = getattr(race, where)
    monkeypatch.setattr(race, where, pressed)
    with pytest.raises(KeyboardInterrupt):
        race.race(problem, METHODS)


def test_the_page_leads_with_a_proved_fit_then_the_race_then_the_switches(problem, tmp_path):
    outcome = demo.contest(epochs=20, problem=problem)
    assert list(outcome.runs) == [*demo.METHODS, "ascd.solve"]
    rows = [("ascd", "0.1", "5", "1e-10 (proved)"), ("scikit-learn", "0.3", "5", "1e-04 (proved)")]
    files = demo.publish(outcome, rows, tmp_path / "out")
    assert files[0].name == "report.html"
    page = files[0].read_text()
    marks = ("<h1>", "proves how far", 'id="fits"', 'id="arrival"', 'id="toolbar"', "<figure")
    assert sorted(marks, key=page.index) == list(marks)
    assert "<td>1e-10 (proved)</td>" in page
    assert "more than 1e-10 of F(0); scikit-learn takes 3.0 times as long." in page
    assert all(f"<td>{cell}</td>" in page for row in outcome.rows() for cell in row)
    assert as_html(outcome.conclusion()) in page


def test_the_fits_of_all_libraries_are_proved():
    rows = demo.fits(n_samples=40, n_features=60)
    assert [row[0] for row in rows][:2] == ["ascd", "scikit-learn"]
    bounds = [float(re.fullmatch(r"(\S+) \(proved\)", row[3])[1]) for row in rows]
    assert all(0.0 < bound <= 0.01 for bound in bounds), "never 0: what is proved"
    X, y = demo.wide_data(40, 60)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    assert (X.shape, y.shape) == ((40, 60), (40,))
