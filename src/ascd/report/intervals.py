"""Coefficients with their range as a picture: a row a feature, a dot for the value, a line for where most fits lie.

It is plain SVG, drawn before the page is opened, in the page's own colours: no script is needed.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from ascd.report.chart import COLORS

WIDTH, ROW, TOP, BOTTOM, LEFT, RIGHT = 760, 24, 8, 44, 210, 86
#: Characters of a name that fit.
LONGEST = 30


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
    edge = WIDTH - RIGHT

    def x(value: float) -> float:
        return LEFT + (value - low) / span * (edge - LEFT)

    bottom = height - BOTTOM
    parts = [f'<line class="axis" x1="{x(0.0):.1f}" x2="{x(0.0):.1f}" y1="{TOP}" y2="{bottom}"/>']
    for number, row in enumerate(rows):
        parts.append(_row(row, TOP + ROW * number + ROW / 2, x(row.low), x(row.high), x(row.value)))
    for tick in (low, 0.0, high) if low < 0.0 < high else (low, high):
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:.3g}</text>')
    parts.append(f'<text x="{(LEFT + edge) / 2:.0f}" y="{height - 8}" text-anchor="middle">{html.escape(label)}</text>')
    parts.append(f'<text x="{WIDTH - 4}" y="{height - 8}" text-anchor="end">same sign in</text>')
    size, name = f"0 0 {WIDTH} {height}", html.escape(label, quote=True)
    return f'<svg class="intervals" viewBox="{size}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _row(row: Interval, y: float, low: float, high: float, value: float) -> str:
    color = COLORS[2] if row.share >= 0.9 else COLORS[4] if row.share >= 0.6 else "#888888"
    name = row.name if len(row.name) <= LONGEST else f"{row.name[: LONGEST - 1]}…"
    place = f'y1="{y:.1f}" y2="{y:.1f}"'
    return (
        f'<text class="name" x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{html.escape(name)}</text>'
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" {place} class="rule"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" {place} stroke="{color}" stroke-width="4" opacity=".5"/>'
        f'<circle cx="{value:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
        f'<text x="{WIDTH - 4}" y="{y + 4:.1f}" text-anchor="end">{100.0 * row.share:.0f} %</text>'
    )
