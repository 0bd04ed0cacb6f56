"""Charts and the pages that show them.

A chart is plain numbers and text: curves over one of several horizontal axes, and a second set of curves on a
right-hand axis.  It is drawn twice: by matplotlib (``draw_charts``, PNG and SVG files, extra ``plot``) and by the
script of one self-contained HTML file (``write_page``; script and style are in ``assets/``).  A page needs no network;
without JavaScript the captions, the tables and the numbers of each chart are shown.
"""

from __future__ import annotations

import html
import json
import math
import platform
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ascd
from ascd.io import whole_file, write_text
from ascd.plotting import as_label

#: A letter with an index, as in x_0; longer names with underscores, such as x_1_2, stay as they are.
INDEX = re.compile(r"(?<!\w)(\w)_(∞|[^\W_]+)(?!\w)")
#: Colours that colour-blind readers can tell apart (Okabe and Ito, darkened).
COLORS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#2aa5d8", "#555555", "#7a4fbf", "#8c510a", "#5b7f00",
)  # fmt: skip
#: Points of the horizontal axis in a table of numbers, besides its beginning, and rows where all curves are thin.
TABLE_POINTS, MOST_THIN = 5, 6
#: Values at or below this are not drawn on a logarithmic axis.
SMALLEST_DRAWN = 1e-14
PANELS_A_ROW = 4
Numbers = Sequence[float]
#: The horizontal axes of a run: the key of its button, and its label.
TRACE_AXES = {"epochs": "epochs (n steps)", "reads": "columns read", "seconds": "seconds"}


class Series(NamedTuple):
    """A curve: positions on each horizontal axis, values, their range, and values on the right-hand axis.

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

    def plain(self, color: str) -> dict[str, Any]:
        """Return a form for JSON, with the colour filled in: six digits, and None for values that are not finite."""
        values = {name: _rounded(getattr(self, name)) for name in ("y", "low", "high", "right")}
        return {**self._asdict(), **values, "x": {key: _rounded(x) for key, x in self.x.items()}, "color": color}


class Chart(NamedTuple):
    """A set of curves with title, caption and labels."""

    key: str
    title: str
    caption: str
    axes: Mapping[str, str]  # key → label; the first one is shown first
    series: tuple[Series, ...]
    y_label: str
    right_label: str = ""
    log: bool = True
    far: bool = False  # the horizontal axis is logarithmic at first

    def plain(self) -> dict[str, Any]:
        """Return a form for JSON."""
        series = [one.plain(color) for one, color in zip(self.series, colors_of(self.series), strict=True)]
        axes = [{"key": key, "label": label} for key, label in self.axes.items()]
        return {**self._asdict(), "axes": axes, "series": series}


def colors_of(series: Sequence[Series]) -> list[str]:
    """Return a colour for each series: its own, or that of its place."""
    return [one.color or COLORS[place % len(COLORS)] for place, one in enumerate(series)]


def _rounded(values: Numbers) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


def numbers_of(chart: Chart) -> tuple[list[str], list[list[str]]]:
    """Return the chart as a table, head and rows, for readers without script or sight of the curves.

    A curve that has ended, or is not drawn against the first axis, shows a dash.
    """
    (key, label), *_ = chart.axes.items()
    shown = [series for series in chart.series if not series.thin]
    if not shown and chart.series:
        chosen = np.linspace(0, len(chart.series) - 1, MOST_THIN).round().astype(int)
        shown = [chart.series[number] for number in np.unique(chosen)]
    ends = [float(x[end]) for series in shown if len(x := series.x.get(key, ())) for end in (0, -1)]
    spaced = np.geomspace if chart.far and ends and min(ends) > 0.0 else np.linspace
    places = spaced(min(ends), max(ends), TABLE_POINTS + 1).tolist() if ends else []
    has_right = any(len(series.right) for series in chart.series)
    head = [f"at {label}", *(f"{place:,.0f}" if place >= 1e3 else f"{place:.4g}" for place in places)]
    head += [f"{chart.right_label.partition(' (')[0]} at the end"] * has_right
    rows = []
    for series in shown:
        row = [series.name, *(_value(series, key, place) for place in places)]
        rows.append(row + ([f"{series.right[-1]:.4g}"] if len(series.right) else ["–"] * has_right))
    return head, rows


def _value(series: Series, key: str, place: float) -> str:
    """Return the last value at or before a position of the horizontal axis."""
    x = np.asarray(series.x.get(key, ()), dtype=float)
    if not x.size or place > x[-1] * (1.0 + 1e-9):
        return "–"
    value = float(series.y[max(0, int(np.searchsorted(x, place * (1.0 + 1e-12), side="right")) - 1)])
    return f"{value:.3g}" if math.isfinite(value) else "–"


# ---- pictures by matplotlib


def draw_charts(
    charts: Sequence[Chart], path: Any, axis: str = "", title: str = "", endings: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draw charts side by side with matplotlib, against one axis (their first, where they lack it); return the files.

    ``path`` has no ending: there is a file for each of ``endings``.
    """
    from matplotlib.figure import Figure

    columns = min(PANELS_A_ROW, len(charts))
    rows = -(-len(charts) // columns)
    height, side = 3.9 * rows, 0.16 / columns
    figure = Figure(figsize=(4.8 * columns if columns > 1 else 7.0, height))
    # set by hand: an automatic layout of many panels takes longer than drawing them
    vertical = {"bottom": 0.5 / height, "top": 1.0 - 0.75 / height, "hspace": 0.4}
    figure.subplots_adjust(left=side, right=1.0 - side, wspace=0.55, **vertical)
    for number, chart in enumerate(charts):
        _draw(chart, figure.add_subplot(rows, columns, number + 1), axis)
    if title:
        figure.suptitle(indexed(title))
    targets = [Path(f"{path}.{ending}") for ending in endings]
    for target, ending in zip(targets, endings, strict=True):
        with whole_file(target) as draft, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # a name may be in any script
            figure.savefig(draft, dpi=130, format=ending, metadata={"Date": None} if ending == "svg" else None)
    return targets


def indexed(text: str) -> str:
    """Return text for matplotlib with what follows a letter and an underscore as an index, and all else unchanged."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return INDEX.sub(r"\1$_{\\mathregular{\2}}$", as_label(plain))


def _draw(chart: Chart, ax: Any, axis: str) -> None:
    """Draw one chart on matplotlib axes."""
    key = axis if axis in chart.axes else next(iter(chart.axes))
    right = ax.twinx() if any(len(series.right) for series in chart.series) else None
    for series, color in zip(chart.series, colors_of(chart.series), strict=True):
        if key not in series.x:
            continue
        x, y = np.asarray(series.x[key]), np.asarray(series.y, dtype=float)
        shown = np.where(y > SMALLEST_DRAWN, y, np.nan) if chart.log else y
        label = None if series.thin or np.isnan(y).all() else indexed(series.name)
        style = {"color": color, "linestyle": "--" if series.dash else "-", "linewidth": 0.8 if series.thin else 1.6}
        ax.plot(x, shown, label=label, **style)
        if len(series.low):
            low = np.maximum(series.low, SMALLEST_DRAWN if chart.log else -np.inf)
            high = np.maximum(low, np.asarray(series.high, dtype=float))
            ax.fill_between(x, low, high, where=np.isfinite(shown), color=color, alpha=0.15, linewidth=0)
        if right is not None and len(series.right):
            right.plot(x, series.right, linestyle=":", linewidth=1.1, alpha=0.8, color=color)
    ax.set_title(indexed(chart.title), fontsize=10)
    ax.set_xlabel(indexed(chart.axes[key]))
    ax.set_ylabel(indexed(chart.y_label), fontsize=9)
    if chart.far and len(chart.axes) > 1:
        ax.set_xscale("log")
    if chart.log:
        ax.set_yscale("log")
        ax.minorticks_off()  # laying out their labels would cost most of the time
    if right is not None:
        right.set_ylabel(indexed(chart.right_label), fontsize=9)
        right.set_ylim(bottom=0)
        right.yaxis.get_major_locator().set_params(integer=True)
        ax.set_zorder(right.get_zorder() + 1)  # the legend is not crossed by dotted lines
        ax.patch.set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    if any(not series.thin for series in chart.series):
        ax.legend(fontsize=7, framealpha=0.8)


# ---- the page

CODE = re.compile(r"`([^`]+)`")
#: 1e-06 in a heading is not broken after its e-.
POWER, UNBROKEN = re.compile(r"(\de)-(\d)"), "\\1\N{NON-BREAKING HYPHEN}\\2"
#: A table with cells longer than this is shown as a list on small screens.
WORDY = 60
#: Packages whose versions a results file keeps.
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")
#: The script of the page fills it with switches, and shows it.
TOOLBAR = '<div id="toolbar" role="toolbar" aria-label="How the charts are drawn" hidden></div>'


class Section(NamedTuple):
    """Charts, a table or an SVG element under a heading of a page; a cell may be (text, CSS class)."""

    key: str
    title: str
    text: str = ""
    charts: tuple[Chart, ...] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    svg: str = ""
    note: str = ""

    def content(self) -> str:
        shown = _paragraph(self.text, "result" if self.head else "text")
        if self.charts:
            shown += f'<div class="grid">{"".join(map(_figure, self.charts))}</div>'
        if self.head:
            shown += table_html(self.head, self.rows, as_html(self.title))
        if self.svg:
            shown += f'<figure class="still"><div class="scroll">{self.svg}</div></figure>'
        return shown + _paragraph(self.note, "note")


def _paragraph(text: str, kind: str = "text") -> str:
    return f'<p class="{kind}">{as_html(text)}</p>' if text else ""


def write_page(path: Any, title: str, sections: Sequence[Section], lead: Sequence[str] = (), footer: str = "") -> Path:
    """Write the page, sections in their order, with the switches above the first chart; return its path."""
    charts: dict[str, Any] = {}
    body = []
    for section in sections:
        body += [TOOLBAR] if section.charts and not charts else []
        charts |= {chart.key: chart.plain() for chart in section.charts}
        body.append(f'<section id="{section.key}"><h2>{as_html(section.title)}</h2>{section.content()}</section>')
    page = _asset("page.html").format(
        title=html.escape(title),
        lead="\n".join(map(_paragraph, lead)),
        links=" ".join(f'<a href="#{section.key}">{as_html(section.title)}</a>' for section in sections),
        body="\n".join(body),
        footer=html.escape(footer),
        data=as_script(charts),
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
    opening = f'<div class="scroll{" long" * wordy}" role="region" aria-label="{name}" tabindex="0">'
    return f"{opening}<table><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"


def _cell(cell: Any) -> str:
    if isinstance(cell, tuple):
        return f'<td class="{cell[1]}"><span>{as_html(cell[0])}</span></td>'
    return f"<td>{as_html(str(cell))}</td>"


def _asset(name: str) -> str:
    return resources.files("ascd.reproduction").joinpath("assets", name).read_text(encoding="utf-8")


def _figure(chart: Chart) -> str:
    title, caption = as_html(chart.title), as_html(chart.caption)
    head, rows = numbers_of(chart)
    # the numbers are unfolded without a script; the script, which draws the curves, folds them
    about = f"<summary>Numbers: {as_html(chart.y_label)}</summary>"
    numbers = f'<details class="numbers" open>{about}{table_html(head, rows, title)}</details>'
    inside = f'<div class="plot"></div><div class="legend"></div><figcaption>{caption}</figcaption>{numbers}'
    return f'<figure id="chart-{chart.key}" data-chart="{chart.key}"><h3>{title}</h3>{inside}</figure>'


# ---- coefficients with their range


def draw_intervals(rows: Sequence[Any], label: str) -> str:
    """Return effects with their ranges (``name``, ``effect``, ``low``, ``high``, ``share``) as an SVG element."""
    ends = [0.0, *(end for row in rows for end in (row.effect, row.low, row.high))]
    low, wide, bottom = min(ends), (max(ends) - min(ends)) or 1.0, 24 * len(rows)

    def x(value: float) -> float:
        return 240.0 + 310.0 * (value - low) / wide

    def text(at: float, y: float, content: str, anchor: str = "end") -> str:
        return f'<text x="{at:.1f}" y="{y}" text-anchor="{anchor}">{html.escape(content)}</text>'

    parts = [f'<line class="axis" x1="{x(0.0):.1f}" x2="{x(0.0):.1f}" y1="0" y2="{bottom}"/>']
    for number, row in enumerate(rows):
        y, name = 24 * number + 12, row.name if len(row.name) <= 30 else f"{row.name[:29]}…"
        color = COLORS[2] if row.share >= 0.9 else COLORS[4] if row.share >= 0.6 else "#888888"
        bar = f'y1="{y}" y2="{y}" stroke="{color}" stroke-width="4" opacity=".5"'
        parts += [
            text(230, y + 4, name),
            f'<line x1="{x(row.low):.1f}" x2="{x(row.high):.1f}" {bar}/>',
            f'<circle cx="{x(row.effect):.1f}" cy="{y}" r="5" fill="{color}"/>',
            text(636, y + 4, f"{100.0 * row.share:.0f} %"),
        ]
    parts += [text(x(end), bottom + 16, f"{end:.3g}", "middle") for end in sorted({low, low + wide})]
    parts += [text(395, bottom + 36, label, "middle"), text(636, bottom + 36, "same sign in")]
    about = f'viewBox="0 0 640 {bottom + 44}" role="img" aria-label="{html.escape(label, quote=True)}"'
    return f'<svg class="intervals" {about}>{"".join(parts)}</svg>'
