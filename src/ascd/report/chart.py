"""What a chart is: series over one of several horizontal axes, with a second set of curves on a right-hand axis.

Everything is plain numbers and text, so that a page can carry it as JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd.plotting import suboptimality
from ascd.results.trace import Trace

#: A letter with an index, as it is written in texts; longer names with underscores, such as x_1_2, stay as they are.
INDEX = re.compile(r"(?<!\w)(\w)_(∞|[^\W_]+)(?!\w)")
#: Colours that are told apart also by people who do not see red and green alike (Okabe and Ito, darkened).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#2aa5d8", "#555555", "#7a4fbf")
Numbers = Sequence[float]


class Axis(NamedTuple):
    """A horizontal axis: the name of the toggle, and its label."""

    key: str
    label: str


class Series(NamedTuple):
    """A curve: positions on each horizontal axis, values, their spread, and values on the right-hand axis."""

    name: str
    x: Mapping[str, Numbers]
    y: Numbers
    low: Numbers = ()
    high: Numbers = ()
    right: Numbers = ()
    color: str = ""
    dash: bool = False
    thin: bool = False


class Chart(NamedTuple):
    """A picture with its caption."""

    key: str
    title: str
    caption: str
    axes: tuple[Axis, ...]
    series: tuple[Series, ...]
    y_label: str
    right_label: str = ""
    log: bool = True

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it: six digits, and None for what is not finite."""
        chart: dict[str, Any] = {**self._asdict(), "axes": [axis._asdict() for axis in self.axes]}
        chart["series"] = [_plain_series(series, number) for number, series in enumerate(self.series)]
        return chart


class Section(NamedTuple):
    """Charts under a heading."""

    key: str
    title: str
    text: str
    charts: tuple[Chart, ...]


TRACE_AXES = (Axis("epochs", "epochs (n steps)"), Axis("reads", "columns read"), Axis("seconds", "seconds"))


def chart_of_traces(
    traces: Mapping[str, Trace], n: int, key: str, title: str, caption: str, best: float | None = None
) -> Chart:
    """Suboptimality of several runs, with the active sets on the right-hand axis.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.report import chart_of_traces
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> trace = ascd.minimize(problem, rule="cyclic", record=1, tol=0.0, max_iter=3).trace
    >>> chart = chart_of_traces({"cyclic": trace}, 3, "race", "A race", "all parameters", best=4.5)
    >>> chart.series[0].y
    [1.0, 0.2, 0.2, 0.0]
    """
    bottom = min(float(trace.objective.min()) for trace in traces.values()) if best is None else best
    series = tuple(
        Series(
            name,
            {
                "epochs": (trace.iteration / n).tolist(),
                "reads": trace.reads.tolist(),
                "seconds": trace.seconds.tolist(),
            },
            np.nan_to_num(suboptimality(trace, bottom)).tolist(),
            right=trace.active.tolist(),
        )
        for name, trace in traces.items()
    )
    return Chart(key, title, caption, TRACE_AXES, series, "F(x) − best, relative to the start", "active set (dotted)")


def color_of(series: Series, number: int) -> str:
    """The colour of the series with this number."""
    return series.color or COLORS[number % len(COLORS)]


def _plain_series(series: Series, number: int) -> dict[str, Any]:
    plain = series._asdict()
    for name in ("y", "low", "high", "right"):
        plain[name] = _rounded(plain[name])
    plain["x"] = {key: _rounded(values) for key, values in series.x.items()}
    plain["color"] = color_of(series, number)
    return plain


def _rounded(values: Numbers) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
