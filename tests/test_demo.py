"""The demo and its race: runs end at the accuracy, the table shows what it took, the page leads with a proved fit."""

from __future__ import annotations

import pytest

from ascd import solve
from ascd.reproduction import demo
from ascd.reproduction.datasets import make_problem, make_synthetic
from ascd.reproduction.page import as_html
from ascd.results import Status

UCD, SCD, ASCD, HEURISTIC = demo.METHODS


@pytest.fixture(scope="module")
def problem():
    data = make_synthetic(24, 30, n_nonzero=4, rng=0)
    return make_problem(data.A, data.b, "lasso", "max/10")


@pytest.fixture(scope="module")
def outcome(problem):
    return demo.contest(epochs=600, problem=problem)


def test_runs_end_where_they_come_within_the_accuracy_of_a_certified_minimum(outcome):
    assert outcome.best - outcome.gap <= solve(outcome.problem, tol=1e-14).objective
    for label in demo.METHODS:
        run, (reads, seconds) = outcome.runs[label], outcome.arrival(label)
        excess = (run.trace.objective - outcome.best) / (run.trace.objective[0] - outcome.best)
        assert run.status is Status.INTERRUPTED, "the goal ends a run, not the epochs"
        assert excess[-1] <= demo.ACCURACY < excess[-2]
        assert reads == run.trace.reads[-1]
        assert 0.0 <= seconds <= run.seconds


def test_the_table_and_its_conclusion(outcome):
    assert demo.RACE_HEAD[1:3] == ("columns read / n to 1e-06", "seconds to 1e-06")
    rows = {row[0]: row for row in outcome.rows()}
    assert list(rows) == [*demo.METHODS, "ascd.solve"]
    reads = {label: outcome.arrival(label)[0] for label in demo.METHODS}
    fewest, most = min(reads, key=reads.get), max(reads, key=reads.get)
    factor = f"{reads[most] / reads[fewest]:.1f} times fewer than {most}"
    assert f"{fewest} reads the fewest columns, {rows[fewest][1]}·n, {factor}" in outcome.conclusion()
    assert "To fit a model use `ascd.solve`" in outcome.conclusion()
    numbers = outcome.plain()
    assert numbers["runs"][ASCD]["to_accuracy"]["reads"] == reads[ASCD]
    assert numbers["conclusion"] == outcome.conclusion()


def test_the_page_leads_with_a_proved_fit_then_the_race_then_the_switches(outcome, tmp_path):
    rows = [("ascd", "0.1", "5", "1e-10 (proved)"), ("scikit-learn", "0.3", "5", "1e-04 (proved)")]
    files = demo.publish(outcome, rows, tmp_path / "out")
    assert files[0].name == "report.html"
    page = files[0].read_text()
    marks = ("<h1>", "proves how far", 'id="fits"', 'id="arrival"', 'id="toolbar"', "<figure")
    assert sorted(marks, key=page.index) == list(marks)
    assert "more than 1e-10 of F(0); scikit-learn takes 3.0 times as long." in page
    assert all(f"<td>{cell}</td>" in page for row in (*rows, *outcome.rows()) for cell in row)
    assert as_html(outcome.conclusion()) in page
