"""What notebooks show of results: small tables and pictures in plain HTML and SVG, without scripts.

Lines and text take the colour of the page around them, so that they are seen on light and on dark ground.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from ascd._core.checks import Array

WIDTH, HEIGHT, MARGIN = 360.0, 120.0, 6.0
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#ff9da6", "#9d755d")
#: Whole numbers below this are shown in full.
MOST_COUNTED = 1e15
#: Points of a line that are drawn at most.
MOST_POINTS = 200


def number(value: Any) -> str:
    """A number as people read it: few digits, counts in full, ∞ for what is not known to be bounded.

    Examples
    --------
    >>> number(12345), number(1725.0), number(1.23456e-9), number(float("inf"))
    ('12,345', '1,725', '1.23e-09', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0.0 else "−∞"
    if math.isnan(value):
        return "–"
    is_count = float(value).is_integer() and abs(value) < MOST_COUNTED
    return f"{int(value):,}" if is_count else f"{float(value):.3g}"


def facts(title: str, rows: Iterable[tuple[str, str]], picture: str = "") -> str:
    """A title, a table with a name and a value in each row, and a picture below."""
    cell = 'style="text-align: left; padding: 1px 12px 1px 0; background: none"'
    lines = "".join(f"<tr><td {cell}>{escape(name)}</td><td {cell}>{escape(value)}</td></tr>" for name, value in rows)
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table>{picture}</div>"


def grid(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], picture: str = "") -> str:
    """A title, a table with one row a record, and a picture below."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x: auto"><strong>{escape(title)}</strong>{table}{picture}</div>'


def picture(across: Array, lines: Sequence[Array], caption: str) -> str:
    """Lines over a common axis as SVG, scaled to fill it; nothing where there is nothing to draw."""
    lines = [np.asarray(line, dtype=float) for line in lines]
    heights = np.concatenate([line[np.isfinite(line)] for line in lines]) if lines else np.empty(0)
    if len(across) < 2 or heights.size < 2:
        return ""
    chosen = np.unique(np.linspace(0, len(across) - 1, min(len(across), MOST_POINTS)).astype(int))
    x = _spread(np.asarray(across, dtype=float)[chosen], WIDTH)
    low, high = float(heights.min()), float(heights.max())
    drawn = []
    for place, line in enumerate(lines):
        y = HEIGHT - _spread(line[chosen], HEIGHT, low, high)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if math.isfinite(b))
        colour = COLOURS[place % len(COLOURS)]
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    frame = f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="none" stroke="currentColor" stroke-opacity="0.3"/>'
    box = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" height="{HEIGHT:g}" role="img"'
    return (
        f'<svg {box} aria-label="{escape(caption)}" style="max-width: 100%">{frame}{"".join(drawn)}</svg>'
        f"<div><small>{escape(caption)}</small></div>"
    )


def _spread(values: Array, room: float, low: float | None = None, high: float | None = None) -> Array:
    """Values moved and scaled into (MARGIN, room − MARGIN)."""
    low = float(values.min()) if low is None else low
    high = float(values.max()) if high is None else high
    share = (values - low) / (high - low) if high > low else np.full(values.shape, 0.5)
    return np.asarray(MARGIN + share * (room - 2.0 * MARGIN))
