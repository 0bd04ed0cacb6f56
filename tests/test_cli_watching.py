"""Long commands on a terminal: how far they are, and the time that is left."""

from __future__ import annotations

import math
import os
import re

import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import on_a_terminal, run

from ascd.cli.console import Forecast
from ascd.results.progress import Round

has_terminals = pytest.mark.skipif(not hasattr(os, "fork"), reason="terminals are opened as POSIX has them")


@has_terminals
@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["fit", "houses.csv", "--cv", "2"], r"\d+%"), (["path", "houses.csv", "--points", "30"], r"\d+%")],
)
def test_a_terminal_shows_progress_with_the_time_that_is_left(tmp_path, houses, arguments, told):
    code, shown = on_a_terminal(*arguments, folder=tmp_path)
    assert code == 0, shown
    assert re.search(told, shown)
    assert re.search(r"\d:\d\d:\d\d|-:--:--", shown), "the time that is left"


@has_terminals
def test_a_fit_from_a_disk_shows_passes_and_gap(tmp_path, houses, capsys):
    assert run(capsys, "convert", houses, tmp_path / "houses.parquet", "--target", "price")[0] == 0
    code, shown = on_a_terminal("fit", "houses.parquet", "--memory", "2MB", "--tol", "1e-9", folder=tmp_path)
    assert code == 0, shown
    assert re.search(r"fitting lasso: [\d.]+ times the data read, (gap [\d.e+-]+|no gap known yet)", shown)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def after(clock, seconds, *round_):
    clock.now = seconds
    return Round(*round_)


def test_the_time_left_follows_from_the_gaps_fall():
    clock = Clock()
    forecast = Forecast(now=clock)
    assert forecast.words() == "no gap known yet, 0 s"
    forecast(after(clock, 1.0, 1, 0, 5.0, math.inf, 1e-6))
    assert math.isnan(forecast.left())
    forecast(after(clock, 2.0, 2, 0, 5.0, 1.0, 1e-6))
    assert math.isnan(forecast.left()), "one gap says nothing of its fall"
    assert forecast.words() == "gap 1.0e+00 (1.0e-06 is wanted), 2 s"
    forecast(after(clock, 4.0, 3, 0, 4.0, 1e-2, 1e-6))
    assert forecast.left() == pytest.approx(4.0), "two decades in two seconds, four are left"
    forecast(after(clock, 6.0, 4, 0, 4.0, 1e-1, 1e-6))
    assert forecast.left() == pytest.approx(8.0), "the smallest gap counts"
    assert forecast.words() == ("gap 1.0e-02 (1.0e-06 is wanted), 6 s, perhaps 8 s left, as the gap has fallen so far")
    forecast(after(clock, 7.0, 5, 0, 4.0, 1e-7, 1e-6))
    assert forecast.left() == 0.0


def test_another_run_is_counted_anew():
    clock = Clock()
    forecast = Forecast(now=clock)
    for seconds, gap in ((1.0, 1.0), (2.0, 1e-9)):
        forecast(after(clock, seconds, int(seconds), 0, 1.0, gap, 1e-8))
    forecast(after(clock, 3.0, 1, 0, 1.0, 2.0, 1e-8))
    assert math.isnan(forecast.left())
    forecast(after(clock, 4.0, 2, 0, 1.0, 2e-4, 1e-8))
    assert forecast.left() == pytest.approx(math.log(2e4) / math.log(1e4))


def test_a_run_whose_end_is_not_known_has_no_guess():
    forecast = Forecast(now=Clock())
    forecast(Round(1, 3, 5.0, 1e-3))
    assert forecast.words() == "gap 1.0e-03, 0 s"
