"""One self-contained HTML file: charts as data with the script that draws them, style, tables, captions.

It needs no network.  Without JavaScript the captions, the tables and the numbers of each chart are shown.
"""

from __future__ import annotations

import html
import json
import platform
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

import ascd
from ascd.io import write_text
from ascd.reproduction.charts import COLORS, INDEX, Chart, Section, numbers_of

CODE = re.compile(r"`([^`]+)`")
#: 1e-06 in a heading is not broken after its e-.
POWER, UNBROKEN = re.compile(r"(\de)-(\d)"), "\\1\N{NON-BREAKING HYPHEN}\\2"
#: A table with cells longer than this is shown as a list on small screens.
WORDY = 60
#: Packages whose versions a results file keeps.
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}
</style>
</head>
<body>
<header>
<h1>{title}</h1>
{lead}
<nav>{links}</nav>
</header>
<main>
{body}
</main>
<footer>{footer}</footer>
<script type="application/json" id="charts">{data}</script>
<script>
{script}
</script>
</body>
</html>
"""


class TableSection(NamedTuple):
    """A table under a heading; a cell may be (text, CSS class)."""

    key: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    text: str = ""
    note: str = ""

    def to_html(self) -> str:
        text = f'<p class="result">{as_html(self.text)}</p>' if self.text else ""
        note = f'<p class="note">{as_html(self.note)}</p>' if self.note else ""
        title = as_html(self.title)
        table = table_html(self.head, self.rows, title)
        return f'<section id="{self.key}"><h2>{title}</h2>{text}{table}{note}</section>'


class Drawing(NamedTuple):
    """An SVG element under a heading; it needs no script."""

    key: str
    title: str
    svg: str
    text: str = ""

    def to_html(self) -> str:
        text = f"<p>{as_html(self.text)}</p>" if self.text else ""
        figure = f'<figure class="still"><div class="scroll">{self.svg}</div></figure>'
        return f'<section id="{self.key}"><h2>{as_html(self.title)}</h2>{text}{figure}</section>'


def write_page(
    path: Any,
    title: str,
    sections: Sequence[Section | TableSection | Drawing],
    lead: Sequence[str] = (),
    footer: str = "",
) -> Path:
    """Write the page, sections in their order, with the switches above the first chart; return its path."""
    charts = [chart for section in sections if isinstance(section, Section) for chart in section.charts]
    first = next((number for number, section in enumerate(sections) if isinstance(section, Section)), 0)
    body = [_section(one) if isinstance(one, Section) else one.to_html() for one in sections]
    body.insert(first, toolbar(charts))
    page = PAGE.format(
        title=html.escape(title),
        lead="\n".join(f"<p>{as_html(line)}</p>" for line in lead),
        links=" ".join(f'<a href="#{section.key}">{as_html(section.title)}</a>' for section in sections),
        body="\n".join(body),
        footer=html.escape(footer),
        data=as_script({chart.key: chart.plain() for chart in charts}),
        style=_asset("page.css"),
        script=_asset("page.js"),
    )
    return write_text(path, page)


def as_script(data: Any) -> str:
    """Return JSON that a page can contain: no name in it can end the script or open a comment."""
    text = json.dumps(data, separators=(",", ":"))
    for mark in "<>&":  # in JSON they occur inside strings only
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def as_html(text: str) -> str:
    """Return plain text as HTML: `code`, and what follows a letter and an underscore as an index."""
    return INDEX.sub(r"\1<sub>\2</sub>", CODE.sub(r"<code>\1</code>", html.escape(text)))


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter and are installed."""
    found = {"python": platform.python_version(), "ascd": ascd.__version__}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def table_html(head: Sequence[str], rows: Sequence[Sequence[Any]], label: str) -> str:
    """Return a table that scrolls sideways on narrow screens; one with long texts becomes a list there."""
    top = "".join(f"<th>{POWER.sub(UNBROKEN, as_html(cell))}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    wordy = any(len(cell) > WORDY for row in rows for cell in row if isinstance(cell, str))
    name = html.escape(re.sub(r"<[^>]*>", "", label), quote=True)
    return (
        f'<div class="scroll{" long" * wordy}" role="region" aria-label="{name}" tabindex="0"><table>'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(cell: Any) -> str:
    if isinstance(cell, tuple):
        return f'<td class="{cell[1]}"><span>{as_html(cell[0])}</span></td>'
    return f"<td>{as_html(str(cell))}</td>"


def _asset(name: str) -> str:
    return resources.files("ascd.reproduction").joinpath("assets", name).read_text(encoding="utf-8")


def _section(section: Section) -> str:
    text = f"<p>{as_html(section.text)}</p>" if section.text else ""
    charts = "\n".join(map(_figure, section.charts))
    title = as_html(section.title)
    return f'<section id="{section.key}"><h2>{title}</h2>{text}<div class="grid">{charts}</div></section>'


def _figure(chart: Chart) -> str:
    title, caption = as_html(chart.title), as_html(chart.caption)
    head, rows = numbers_of(chart)
    # the numbers are unfolded without a script; the script, which draws the curves, folds them
    about = f"<summary>Numbers: {as_html(chart.y_label)}</summary>"
    numbers = f'<details class="numbers" open>{about}{table_html(head, rows, title)}</details>'
    inside = f'<div class="plot"></div><div class="legend"></div><figcaption>{caption}</figcaption>{numbers}'
    return f'<figure id="chart-{chart.key}" data-chart="{chart.key}"><h3>{title}</h3>{inside}</figure>'


# ---- the switches

AXIS_NAMES = {"epochs": "epochs", "reads": "column reads", "seconds": "seconds"}
HELP = {
    "x": ("against", "The horizontal axis: steps in passes of n, columns read, or time."),
    "xs": ("horizontal", "Scale of the horizontal axis; logarithmic spreads small values."),
    "y": ("vertical", "Scale of the vertical axis; logarithmic gives every power of ten the same height."),
    "right": ("active set", "Dotted lines, right axis: how many coordinates may still be the steepest."),
}
HINT = "Move over a chart to read values; press a name to hide its curve."


def toolbar(charts: Sequence[Chart]) -> str:
    """Return the switches that some chart reacts to, as HTML; empty if there is nothing to choose.

    The script of the page makes the toolbar visible.
    """
    several = [chart for chart in charts if len(chart.axes) > 1]
    groups = {}
    if several:
        groups["x"] = {axis.key: AXIS_NAMES.get(axis.key, axis.label) for axis in several[0].axes}
        scales = ("log", "linear") if any(chart.far for chart in several) else ("linear", "log")
        groups["xs"] = {scale: scale for scale in scales}
    if any(chart.log for chart in charts):
        groups["y"] = {"log": "log", "linear": "linear"}
    if any(len(series.right) for chart in several for series in chart.series):
        groups["right"] = {"on": "shown", "off": "hidden"}
    if not groups:
        return ""
    inside = "".join(_group(choice, values) for choice, values in groups.items()) + f'<span class="hint">{HINT}</span>'
    return f'<div id="toolbar" role="toolbar" aria-label="How the charts are drawn" hidden>{inside}</div>'


def _group(choice: str, values: dict[str, str]) -> str:
    """Return one group of buttons; its first button is pressed."""
    title, text = HELP[choice]
    buttons = "".join(
        f'<button type="button" data-value="{value}" aria-pressed="{"false" if number else "true"}"'
        f"{'' if number else ' class=on'}>{name}</button>"
        for number, (value, name) in enumerate(values.items())
    )
    return (
        f'<div class="group" data-choice="{choice}" role="group" aria-label="{title}">'
        f"<div><b>{title}</b>{buttons}</div><small>{text}</small></div>"
    )


# ---- coefficients with their range

WIDTH, ROW, TOP, BOTTOM, RIGHT = 640, 24, 8, 44, 86
#: Characters of a name that are shown, and the width of one.
LONGEST, LETTER = 30, 7.0
#: Labels of the axis that are nearer to 0 than this would cover it.
APART = 48.0


class Interval(NamedTuple):
    """A coefficient with the range of its resampled values and the share of those with the same sign."""

    name: str
    value: float
    low: float
    high: float
    share: float


def draw_intervals(rows: Sequence[Interval], label: str) -> str:
    """Return coefficients with their ranges as an SVG element, one a row."""
    ends = [end for row in rows for end in (row.value, row.low, row.high)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    names = [row.name if len(row.name) <= LONGEST else f"{row.name[: LONGEST - 1]}…" for row in rows]
    left, edge, bottom = 24.0 + LETTER * max(map(len, names), default=0), float(WIDTH - RIGHT), TOP + ROW * len(rows)

    def x(value: float) -> float:
        return left + (value - low) / ((high - low) or 1.0) * (edge - left)

    def text(at: float, y: float, anchor: str, content: str, kind: str = "") -> str:
        return f'<text{kind} x="{at:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(content)}</text>'

    parts = [f'<line class="axis" x1="{x(0.0):.1f}" x2="{x(0.0):.1f}" y1="{TOP}" y2="{bottom}"/>']
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        color = COLORS[2] if row.share >= 0.9 else COLORS[4] if row.share >= 0.6 else "#888888"
        place, bar = f'y1="{y:.1f}" y2="{y:.1f}"', f'stroke="{color}" stroke-width="4" opacity=".5"'
        parts += [
            f'<line x1="{left:.1f}" x2="{edge:.1f}" {place} class="rule"/>',
            text(left - 10, y + 4, "end", names[number], ' class="name"'),
            f'<line x1="{x(row.low):.1f}" x2="{x(row.high):.1f}" {place} {bar}/>',
            f'<circle cx="{x(row.value):.1f}" cy="{y:.1f}" r="5" fill="{color}"/>',
            text(WIDTH - 4, y + 4, "end", f"{100.0 * row.share:.0f} %"),
        ]
    ticks = [0.0, *(end for end in (low, high) if abs(x(end) - x(0.0)) > APART)]
    parts += [text(x(tick), bottom + 16, "middle", f"{tick:.3g}") for tick in ticks]
    parts += [
        text((left + edge) / 2, bottom + 36, "middle", label),
        text(WIDTH - 4, bottom + 36, "end", "same sign in"),
    ]
    name = html.escape(label, quote=True)
    size = f"0 0 {WIDTH} {bottom + BOTTOM}"
    return f'<svg class="intervals" viewBox="{size}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
