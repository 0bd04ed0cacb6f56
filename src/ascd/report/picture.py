"""Charts by matplotlib: the panels of a figure side by side, as PNG and SVG (extra ``plot``)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ascd.io import whole_file
from ascd.plotting import as_label
from ascd.report.chart import INDEX, Chart, colors_of

#: Values at or below this are not drawn on a logarithmic axis.
SMALLEST_DRAWN = 1e-14
COLUMNS_A_ROW = 4
#: Characters that are drawn of a name, which a file can make as long as it likes.
LONGEST_NAME = 120


def draw_charts(
    charts: Sequence[Chart], path: Any, axis: str = "", title: str = "", endings: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draw charts side by side; returns the paths of the files.

    Parameters
    ----------
    charts : what to draw
    path : where, without an ending
    axis : key of the horizontal axis; the first of each chart where it has no such axis
    title : above all
    endings : the files' formats

    Examples
    --------
    >>> import matplotlib, tempfile
    >>> matplotlib.use("agg")
    >>> from ascd.report import Axis, Chart, Series, draw_charts
    >>> chart = Chart("c", "A chart", "", (Axis("t", "time"),), (Series("s", {"t": [0, 1]}, [1.0, 0.1]),), "error")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in draw_charts([chart], f"{folder}/c")]
    ['c.png', 'c.svg']
    """
    from matplotlib.figure import Figure

    columns = min(COLUMNS_A_ROW, len(charts))
    rows = -(-len(charts) // columns)
    figure = Figure(figsize=(4.8 * columns if columns > 1 else 7.0, 3.9 * rows))
    # set by hand: an automatic layout of many panels takes longer than drawing them
    height = 3.9 * rows
    figure.subplots_adjust(
        left=0.16 / columns,
        right=1.0 - 0.16 / columns,
        bottom=0.5 / height,
        top=1.0 - 0.75 / height,
        wspace=0.55,
        hspace=0.4,
    )
    for number, chart in enumerate(charts):
        _draw(chart, figure.add_subplot(rows, columns, number + 1), axis)
    if title:
        figure.suptitle(indexed(title))
    written = []
    for ending in endings:
        target = Path(f"{path}.{ending}")
        with whole_file(target) as draft:
            metadata = {"Date": None} if ending == "svg" else None
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Glyph .* missing from")  # a name may be in any script
                figure.savefig(draft, dpi=130, format=ending, metadata=metadata)
        written.append(target)
    return written


def indexed(text: str) -> str:
    """What follows a letter and an underscore as an index, in matplotlib's words; all else stays as it is.

    Examples
    --------
    >>> from ascd.report.picture import indexed
    >>> print(indexed("τ_SCD on rcv1_sample"))
    τ$_{\\mathregular{SCD}}$ on rcv1_sample
    >>> print(indexed("a$b$c"))
    a\\$b\\$c
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    shown = plain if len(plain) <= LONGEST_NAME else f"{plain[:LONGEST_NAME]}…"
    return INDEX.sub(r"\1$_{\\mathregular{\2}}$", as_label(shown))


def _draw(chart: Chart, ax: Any, axis: str) -> None:
    known = {each.key: each.label for each in chart.axes}
    key = axis if axis in known else chart.axes[0].key
    right = ax.twinx() if any(len(series.right) for series in chart.series) else None
    for series, color in zip(chart.series, colors_of(chart.series), strict=True):
        if key not in series.x:
            continue
        x, y = np.asarray(series.x[key]), np.asarray(series.y, dtype=float)
        shown = np.where(y > SMALLEST_DRAWN, y, np.nan) if chart.log else y
        style = {"color": color, "linestyle": "--" if series.dash else "-"}
        ax.plot(
            x,
            shown,
            linewidth=0.8 if series.thin else 1.6,
            label=None if series.thin or np.isnan(y).all() else indexed(series.name),
            **style,
        )
        if len(series.low):
            low = np.maximum(series.low, SMALLEST_DRAWN if chart.log else -np.inf)
            high = np.asarray(series.high, dtype=float)
            ax.fill_between(
                x, low, np.maximum(low, high), where=np.isfinite(shown), color=style["color"], alpha=0.15, linewidth=0
            )
        if right is not None and len(series.right):
            right.plot(x, series.right, linestyle=":", linewidth=1.1, alpha=0.8, color=style["color"])
    ax.set_title(indexed(chart.title), fontsize=10)
    ax.set_xlabel(indexed(known[key]))
    ax.set_ylabel(indexed(chart.y_label), fontsize=9)
    if chart.far and len(chart.axes) > 1:
        ax.set_xscale("log")
    if chart.log:
        ax.set_yscale("log")
        ax.minorticks_off()  # laying out their labels would cost most of the time
    if right is not None:
        right.set_ylabel(indexed(chart.right_label), fontsize=9)
        right.set_ylim(bottom=0)
        right.yaxis.get_major_locator().set_params(integer=True)  # a set has no half members
        ax.set_zorder(right.get_zorder() + 1)  # the legend is not crossed by dotted lines
        ax.patch.set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    if any(not series.thin for series in chart.series):
        ax.legend(fontsize=7, framealpha=0.8)
