"""The numbers of a chart as a table: the values of each curve at some places of the horizontal axis.

Who has no script, or cannot see curves, reads these.
"""

from __future__ import annotations

import math

import numpy as np

from ascd.report.chart import Chart, Series

#: Places of the horizontal axis besides its beginning.
PLACES = 5
#: Rows of a chart that has thin curves only.
MOST_THIN = 6


def numbers_of(chart: Chart) -> tuple[list[str], list[list[str]]]:
    """Head and rows; a curve that has ended, or is not drawn against the first axis, shows a dash.

    Examples
    --------
    >>> from ascd.report import Axis, Chart, Series
    >>> from ascd.report.numbers import numbers_of
    >>> chart = Chart("c", "", "", (Axis("t", "time"),), (Series("s", {"t": [0, 5, 10]}, [1, 0.5, 0.25]),), "error")
    >>> numbers_of(chart)
    (['at time', '0', '2', '4', '6', '8', '10'], [['s', '1', '1', '1', '0.5', '0.5', '0.25']])
    """
    axis = chart.axes[0]
    shown = _shown(chart)
    drawn = [series for series in shown if len(series.x.get(axis.key, ()))]
    ends = [float(end) for series in drawn for end in (series.x[axis.key][0], series.x[axis.key][-1])]
    spaced = np.geomspace if chart.far and ends and min(ends) > 0.0 else np.linspace
    places = spaced(min(ends), max(ends), PLACES + 1).tolist() if drawn else []
    has_right = any(len(series.right) for series in chart.series)
    head = [f"at {axis.label}", *(f"{place:,.0f}" if place >= 1e3 else f"{place:.4g}" for place in places)]
    head += [f"{chart.right_label.partition(' (')[0]} at the end"] * has_right
    rows = []
    for series in shown:
        row = [series.name, *(_value(series, axis.key, place) for place in places)]
        rows.append(row + ([f"{series.right[-1]:.4g}"] if len(series.right) else ["–"] * has_right))
    return head, rows


def _shown(chart: Chart) -> list[Series]:
    """All curves but thin ones; where there are none but these, some of them, the first and the last among them."""
    thick = [series for series in chart.series if not series.thin]
    if thick or not chart.series:
        return thick
    chosen = np.unique(np.linspace(0, len(chart.series) - 1, MOST_THIN).round().astype(int))
    return [chart.series[number] for number in chosen]


def _value(series: Series, key: str, place: float) -> str:
    """The last value that was there at this place."""
    x = np.asarray(series.x.get(key, ()), dtype=float)
    if not x.size or place > x[-1] * (1.0 + 1e-9):
        return "–"
    value = float(series.y[max(0, int(np.searchsorted(x, place * (1.0 + 1e-12), side="right")) - 1)])
    return f"{value:.3g}" if math.isfinite(value) else "–"
