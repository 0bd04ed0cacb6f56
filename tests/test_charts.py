"""What charts are before anybody draws them: colours by method, numbers as tables, intervals as SVG."""

from __future__ import annotations

import numpy as np
import pytest

import ascd
from ascd.experiments import demo, table
from ascd.report import Axis, Chart, Section, Series, chart_of_traces, write_page
from ascd.report.chart import COLORS, MOST_POINTS, colors_of, thinned
from ascd.report.controls import toolbar
from ascd.report.intervals import Interval, draw_intervals
from ascd.report.numbers import numbers_of

pytestmark = pytest.mark.usefixtures("interpreted")


def named(*names):
    return dict(zip(names, colors_of([Series(name, {}, []) for name in names]), strict=True))


def test_a_method_has_one_colour_on_all_pages():
    paper = named("UCD", "SCD", "ASCD", "a-ASCD")
    shown = named(*demo.METHODS, "ascd.solve", "scikit-learn")
    assert [shown[name] for name in demo.METHODS] == list(paper.values())
    raced = named("a-ascd", "steepest", "uniform", "ascd.solve")
    assert (raced["a-ascd"], raced["steepest"], raced["uniform"]) == (paper["a-ASCD"], paper["SCD"], paper["UCD"])
    assert raced["ascd.solve"] == shown["ascd.solve"]
    for panel in table.PANELS.values():
        found = named(*(method.label for method in panel.methods))
        assert len(set(found.values())) == len(found), panel.name
        assert all(found[name] == color for name, color in paper.items() if name in found)


def test_thin_curves_have_numbers_where_there_are_no_others():
    thin = tuple(Series(f"component {rank}", {"t": [0, 1]}, [1.0, 1.0 / rank], thin=True) for rank in range(1, 21))
    axes = (Axis("t", "time"),)
    _, rows = numbers_of(Chart("c", "", "", axes, thin, "share"))
    assert [row[0] for row in rows] == [f"component {rank}" for rank in (1, 5, 9, 12, 16, 20)]
    assert rows[-1][-1] == "0.05"
    _, rows = numbers_of(Chart("c", "", "", axes, (*thin, Series("bound", {"t": [0, 1]}, [1.0, 1.0])), "share"))
    assert [row[0] for row in rows] == ["bound"]
    assert numbers_of(Chart("c", "", "", axes, (), "share"))[1] == []


def test_more_curves_than_colours_and_own_colours():
    assert len(colors_of([Series(str(j), {}, []) for j in range(30)])) == 30
    assert colors_of([Series("UCD", {}, [], color="#123456"), Series("b", {}, [])]) == ["#123456", COLORS[0]]


def test_long_curves_are_thinned_and_keep_their_ends():
    problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    trace = ascd.minimize(problem, rule="cyclic", record=1, tol=0.0, max_iter=2000).trace
    short = thinned(trace)
    assert len(trace) == 2001
    assert len(short.objective) <= MOST_POINTS
    assert (short.iteration[0], short.iteration[-1]) == (0, 2000)
    assert len(chart_of_traces({"cyclic": trace}, 3, "c", "", "", 4.5).series[0].y) == len(short.objective)


def test_numbers_show_what_has_ended_as_a_dash():
    axes = (Axis("t", "t"),)
    long, short = Series("long", {"t": [0, 10]}, [1.0, 0.1]), Series("short", {"t": [0, 4]}, [1.0, 0.5], right=[7, 3])
    head, rows = numbers_of(Chart("c", "", "", axes, (long, short), "error", "active set (dotted)"))
    assert head == ["at t", "0", "2", "4", "6", "8", "10", "active set at the end"]
    assert rows == [["long", "1", "1", "1", "1", "1", "0.1", "–"], ["short", "1", "1", "0.5", "–", "–", "–", "3"]]


def test_there_are_buttons_only_for_what_can_be_chosen():
    flat = Chart("c", "", "", (Axis("t", "t"),), (Series("s", {"t": [0]}, [0.0]),), "y", log=False)
    assert toolbar([flat]) == ""
    assert 'data-choice="y"' in toolbar([flat._replace(log=True)])
    several = flat._replace(axes=(Axis("reads", "columns read"), Axis("seconds", "seconds")))
    assert 'data-choice="x"' in toolbar([several])
    assert 'data-choice="right"' not in toolbar([several])


def test_intervals_hold_every_row_and_stay_inside():
    rows = [Interval(f"<{j}>", j - 5.0, j - 6.0, j - 4.0, j / 10) for j in range(11)]
    picture = draw_intervals(rows, "effect")
    assert picture.count("<circle") == 11
    assert "&lt;3&gt;" in picture
    assert "<3>" not in picture
    assert draw_intervals([], "effect").startswith("<svg")


def test_a_page_without_charts_has_no_buttons(tmp_path):
    page = write_page(tmp_path / "p.html", "P", [Section("s", "S", "text", ())]).read_text()
    assert 'id="toolbar"' not in page
