"""One HTML file with everything in it: the charts as data, the script that draws them, the style, tables and captions.

No network is needed, now or later.  Without JavaScript the captions, tables and numbers of each chart are there.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ascd.io import write_text
from ascd.report.chart import INDEX, Chart, Section
from ascd.report.controls import toolbar
from ascd.report.numbers import numbers_of

Row = Sequence[str]
CODE = re.compile(r"`([^`]+)`")
#: 1e-06 in a heading is not broken after its e-.
POWER, UNBROKEN = re.compile(r"(\de)-(\d)"), "\\1\N{NON-BREAKING HYPHEN}\\2"
#: A table with cells longer than this is shown as a list on small screens.
WORDY = 60

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
{toolbar}
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


class Table:
    """A table under a heading; a cell may be (text, class) to be marked."""

    def __init__(
        self, key: str, title: str, head: Row, rows: Sequence[Sequence[Any]], text: str = "", note: str = ""
    ) -> None:
        self.key, self.title, self.head, self.rows, self.text, self.note = key, title, head, rows, text, note

    def to_html(self) -> str:
        text = f'<p class="told">{as_html(self.text)}</p>' if self.text else ""
        note = f'<p class="note">{as_html(self.note)}</p>' if self.note else ""
        title = as_html(self.title)
        return (
            f'<section id="{self.key}"><h2>{title}</h2>{text}{table_html(self.head, self.rows, title)}{note}</section>'
        )


class Drawing:
    """A picture as SVG under a heading, drawn before the page is opened: it needs no script."""

    def __init__(self, key: str, title: str, svg: str, text: str = "") -> None:
        self.key, self.title, self.svg, self.text = key, title, svg, text

    def to_html(self) -> str:
        text = f"<p>{as_html(self.text)}</p>" if self.text else ""
        return (
            f'<section id="{self.key}"><h2>{as_html(self.title)}</h2>{text}'
            f'<figure class="still"><div class="scroll">{self.svg}</div></figure></section>'
        )


def write_page(
    path: Any,
    title: str,
    sections: Sequence[Section | Table | Drawing],
    tables: Sequence[Table] = (),
    lead: Sequence[str] = (),
    footer: str = "",
) -> Path:
    """Write the page whole, sections in their order and ``tables`` after them; returns its path.

    Examples
    --------
    >>> import tempfile
    >>> from ascd.report import Axis, Chart, Section, Series, write_page
    >>> chart = Chart("c", "A chart", "Caption.", (Axis("t", "time"),), (Series("s", {"t": [0, 1]}, [1, 0]),), "error")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = write_page(f"{folder}/page.html", "Title", [Section("s", "Charts", "", (chart,))]).read_text()
    >>> "<h1>Title</h1>" in text, "http" in text.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    sections = [*sections, *tables]
    charts = [chart for section in sections if isinstance(section, Section) for chart in section.charts]
    page = PAGE.format(
        title=html.escape(title),
        lead="\n".join(f"<p>{as_html(line)}</p>" for line in lead),
        links=" ".join(f'<a href="#{section.key}">{as_html(section.title)}</a>' for section in sections),
        toolbar=toolbar(charts),
        body="\n".join(_section(one) if isinstance(one, Section) else one.to_html() for one in sections),
        footer=html.escape(footer),
        data=as_script({chart.key: chart.plain() for chart in charts}),
        style=_asset("page.css"),
        script=_asset("page.js"),
    )
    return write_text(path, page)


def as_script(data: Any) -> str:
    """JSON that a page can hold: no name in it can end the script or open a comment.

    Examples
    --------
    >>> from ascd.report.page import as_script
    >>> as_script(["<!--<script>"])
    '["\\\\u003c!--\\\\u003cscript\\\\u003e"]'
    """
    text = json.dumps(data, separators=(",", ":"))
    for mark in "<>&":  # in JSON they stand inside strings only
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def as_html(text: str) -> str:
    """Plain text as HTML: `code`, and what follows a letter and an underscore as an index.

    Examples
    --------
    >>> from ascd.report.page import as_html
    >>> as_html("`ascd fit` & T_∞ > 2n, but rcv1_sample")
    '<code>ascd fit</code> &amp; T<sub>∞</sub> &gt; 2n, but rcv1_sample'
    """
    return INDEX.sub(r"\1<sub>\2</sub>", CODE.sub(r"<code>\1</code>", html.escape(text)))


def environment_line(versions: Mapping[str, str]) -> str:
    """Versions in one line.

    Examples
    --------
    >>> from ascd.report.page import environment_line
    >>> environment_line({"python": "3.12", "numpy": "2.0"})
    'python 3.12 · numpy 2.0'
    """
    return " · ".join(f"{name} {version}" for name, version in versions.items())


def _asset(name: str) -> str:
    return resources.files("ascd.report").joinpath("assets", name).read_text(encoding="utf-8")


def _section(section: Section) -> str:
    text = f"<p>{as_html(section.text)}</p>" if section.text else ""
    charts = "\n".join(map(_figure, section.charts))
    title = as_html(section.title)
    return f'<section id="{section.key}"><h2>{title}</h2>{text}<div class="grid">{charts}</div></section>'


def _figure(chart: Chart) -> str:
    title, caption = as_html(chart.title), as_html(chart.caption)
    place = '<div class="plot"></div><div class="legend"></div>'
    head, rows = numbers_of(chart)
    # open without a script, which closes it: there the curves show the same
    about = f"<summary>Numbers: {as_html(chart.y_label)}</summary>"
    numbers = f'<details class="numbers" open>{about}{table_html(head, rows, title)}</details>'
    inside = f"<h3>{title}</h3>{place}<figcaption>{caption}</figcaption>{numbers}"
    return f'<figure id="chart-{chart.key}" data-chart="{chart.key}">{inside}</figure>'


def table_html(head: Row, rows: Sequence[Sequence[Any]], label: str) -> str:
    """A table that scrolls sideways where it is wider than the screen; one with long texts is a list on small ones."""
    top = "".join(f"<th>{POWER.sub(UNBROKEN, as_html(cell))}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    wordy = any(len(cell) > WORDY for row in rows for cell in row if isinstance(cell, str))
    kind = "scroll long" if wordy else "scroll"
    name = html.escape(re.sub(r"<[^>]*>", "", label), quote=True)
    return (
        f'<div class="{kind}" role="region" aria-label="{name}" tabindex="0"><table>'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(cell: Any) -> str:
    if isinstance(cell, tuple):
        return f'<td class="{cell[1]}"><span>{as_html(cell[0])}</span></td>'
    return f"<td>{as_html(str(cell))}</td>"
