"""What a chart is: series over one of several horizontal axes, with a second set of curves on a right-hand axis.

Everything is plain numbers and text, so that a page can carry it as JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ascd.plotting import suboptimality
from ascd.results.trace import Trace

#: A letter with an index, as it is written in texts; longer names with underscores, such as x_1_2, stay as they are.
INDEX = re.compile(r"(?<!\w)(\w)_(∞|[^\W_]+)(?!\w)")
#: Colours that are told apart also by people who do not see red and green alike (Okabe and Ito, darkened).
COLORS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#2aa5d8", "#555555", "#7a4fbf", "#8c510a", "#5b7f00",
)  # fmt: skip
#: A method has the same colour on every page: the first word of its name in small letters → the colour.
METHODS = {
    "ucd": COLORS[0], "uniform": COLORS[0], "scd": COLORS[1], "steepest": COLORS[1], "ascd": COLORS[2],
    "a-ascd": COLORS[3], "ascd.solve": COLORS[7], "scikit-learn": COLORS[6], "cyclic": COLORS[5],
}  # fmt: skip
#: Points of a curve.
MOST_POINTS = 600
SHOWN_COLUMNS = ("iteration", "reads", "seconds", "objective", "active")
Numbers = Sequence[float]


class Axis(NamedTuple):
    """A horizontal axis: the name of the toggle, and its label."""

    key: str
    label: str


class Series(NamedTuple):
    """A curve: positions on each horizontal axis, values, their spread, and values on the right-hand axis.

    It is drawn against the axes that it has positions on.
    """

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
    far: bool = False  # begins with a logarithmic horizontal axis

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it: six digits, and None for what is not finite."""
        chart: dict[str, Any] = {**self._asdict(), "axes": [axis._asdict() for axis in self.axes]}
        colors = colors_of(self.series)
        chart["series"] = [_plain_series(one, color) for one, color in zip(self.series, colors, strict=True)]
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
    traces = {name: thinned(trace) for name, trace in traces.items()}
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


def thinned(trace: Trace) -> Any:
    """A trace with at most ``MOST_POINTS`` records, the first and the last among them: more cannot be seen."""
    if len(trace) <= MOST_POINTS:
        return trace
    kept = np.unique(np.geomspace(1, len(trace), MOST_POINTS).round().astype(int)) - 1
    return SimpleNamespace(**{name: getattr(trace, name)[kept] for name in SHOWN_COLUMNS})


def colors_of(series: Sequence[Series]) -> list[str]:
    """A colour for each series: its own, that of its method, or the next one that is free.

    Examples
    --------
    >>> from ascd.report.chart import COLORS, Series, colors_of
    >>> found = colors_of([Series(name, {}, []) for name in ("ASCD true", "ASCD none", "uniform")])
    >>> found[0] == COLORS[2], found[2] == COLORS[0], len(set(found))
    (True, True, 3)
    """
    found = [one.color for one in series]
    for number, one in enumerate(series):
        usual = METHODS.get(one.name.partition(" ")[0].lower(), "")
        if not found[number] and usual not in found:
            found[number] = usual
    free = [color for color in COLORS if color not in found] or list(COLORS)
    unnamed = [number for number, color in enumerate(found) if not color]
    for place, number in enumerate(unnamed):
        found[number] = free[place % len(free)]
    return found


def _plain_series(series: Series, color: str) -> dict[str, Any]:
    plain = series._asdict()
    for name in ("y", "low", "high", "right"):
        plain[name] = _rounded(plain[name])
    plain["x"] = {key: _rounded(values) for key, values in series.x.items()}
    plain["color"] = color
    return plain


def _rounded(values: Numbers) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
