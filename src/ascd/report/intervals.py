"""Coefficients with their range as a picture: a row a feature, a dot for the value, a line for where most fits lie.

It is plain SVG, drawn before the page is opened, in the page's own colours: no script is needed.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from ascd.report.chart import COLORS

WIDTH, ROW, TOP, BOTTOM, RIGHT = 640, 24, 8, 44, 86
#: Characters of a name that are shown, and units that one needs.
LONGEST, LETTER = 30, 7.0
#: Labels of the axis that are nearer to 0 than this would cover it.
APART = 48.0


class Interval(NamedTuple):
    """A name, a value, where most others lie, and the share of those with the same sign."""

    name: str
    value: float
    low: float
    high: float
    share: float


def draw_intervals(rows: Sequence[Interval], label: str) -> str:
    """The picture as an SVG element.

    Examples
    --------
    >>> from ascd.report.intervals import Interval, draw_intervals
    >>> picture = draw_intervals([Interval("age", 2.0, 1.0, 3.0, 0.98)], "effect")
    >>> picture.startswith("<svg"), ">age<" in picture, ">98 %<" in picture
    (True, True, True)
    """
    ends = [end for row in rows for end in (row.value, row.low, row.high)] or [0.0]
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = (high - low) or 1.0
    height = TOP + ROW * len(rows) + BOTTOM
    left, edge = 24.0 + LETTER * max((len(_short(row.name)) for row in rows), default=0), float(WIDTH - RIGHT)

    def x(value: float) -> float:
        return left + (value - low) / span * (edge - left)

    bottom = height - BOTTOM
    parts = [f'<line class="axis" x1="{x(0.0):.1f}" x2="{x(0.0):.1f}" y1="{TOP}" y2="{bottom}"/>']
    for number, row in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        parts.append(f'<line x1="{left:.1f}" x2="{edge:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="rule"/>')
        parts.append(_row(row, left, y, x(row.low), x(row.high), x(row.value)))
    for tick in (0.0, *(end for end in (low, high) if abs(x(end) - x(0.0)) > APART)):
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:.3g}</text>')
    parts.append(f'<text x="{(left + edge) / 2:.0f}" y="{height - 8}" text-anchor="middle">{html.escape(label)}</text>')
    parts.append(f'<text x="{WIDTH - 4}" y="{height - 8}" text-anchor="end">same sign in</text>')
    size, name = f"0 0 {WIDTH} {height}", html.escape(label, quote=True)
    return f'<svg class="intervals" viewBox="{size}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _row(row: Interval, left: float, y: float, low: float, high: float, value: float) -> str:
    color = COLORS[2] if row.share >= 0.9 else COLORS[4] if row.share >= 0.6 else "#888888"
    place, name = f'y1="{y:.1f}" y2="{y:.1f}"', html.escape(_short(row.name))
    return (
        f'<text class="name" x="{left - 10:.1f}" y="{y + 4:.1f}" text-anchor="end">{name}</text>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" {place} stroke="{color}" stroke-width="4" opacity=".5"/>'
        f'<circle cx="{value:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
        f'<text x="{WIDTH - 4}" y="{y + 4:.1f}" text-anchor="end">{100.0 * row.share:.0f} %</text>'
    )
