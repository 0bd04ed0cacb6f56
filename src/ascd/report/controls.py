"""The buttons above the charts: groups that some chart answers to, each with a line that says what it does."""

from __future__ import annotations

from collections.abc import Sequence

from ascd.report.chart import Chart

NAMES = {"epochs": "epochs", "reads": "column reads", "seconds": "seconds"}
AGAINST = "The horizontal axis: steps in passes of n, columns read, or time."
SCALE = "Linear, or logarithmic: small values apart."
ERRORS = "Logarithmic shows every power of ten alike."
ACTIVE = "Dotted lines, right axis: how many coordinates may still be the steepest."
HINT = "Move over a chart to read values; press a name to hide its curve."


def toolbar(charts: Sequence[Chart]) -> str:
    """The toolbar as HTML; empty where there is nothing to choose.  It is shown by the script that it needs."""
    several = [chart for chart in charts if len(chart.axes) > 1]
    groups = []
    if several:
        groups.append(
            _group("x", "against", {axis.key: NAMES.get(axis.key, axis.label) for axis in several[0].axes}, AGAINST)
        )
        scales = ("log", "linear") if any(chart.far for chart in several) else ("linear", "log")
        groups.append(_group("xs", "horizontal", {scale: scale for scale in scales}, SCALE))
    if any(chart.log for chart in charts):
        groups.append(_group("y", "vertical", {"log": "log", "linear": "linear"}, ERRORS))
    if any(len(series.right) for chart in several for series in chart.series):
        groups.append(_group("right", "active set", {"on": "shown", "off": "hidden"}, ACTIVE))
    if not groups:
        return ""
    hint = f'<span class="hint">{HINT}</span>'
    return (
        f'<div id="toolbar" role="toolbar" aria-label="How the charts are drawn" hidden>{"".join(groups)}{hint}</div>'
    )


def _group(choice: str, title: str, values: dict[str, str], help: str) -> str:
    """One group; its first button is pressed."""
    buttons = "".join(
        f'<button type="button" data-value="{value}" aria-pressed="{"false" if number else "true"}"'
        f"{'' if number else ' class=on'}>{name}</button>"
        for number, (value, name) in enumerate(values.items())
    )
    return (
        f'<div class="group" data-choice="{choice}" role="group" aria-label="{title}">'
        f"<div><b>{title}</b>{buttons}</div><small>{help}</small></div>"
    )
