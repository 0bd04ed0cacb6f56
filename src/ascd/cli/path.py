"""``ascd path``: coefficients against the strength of the penalty."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli import UNCONVERGED, options
from ascd.cli.console import answer, bar_or_spinner, common, say, show_table
from ascd.cli.options import check_numeric, read_data, report_reading
from ascd.io.tables import LabeledData
from ascd.io.writing import whole_folder

#: Coefficients that are drawn, the largest ones; rows that are printed.
MOST_CURVES, ROWS = 24, 12
READING = (
    "To the left the penalty is strong and all coefficients are 0; to the right it is weak. Solid: coefficients. "
    "Dotted: how many are not 0."
)


of_path = partial(options.option, heading="The path")
SHARE, EPS = (click.FloatRange(0, 1, min_open=True, max_open=is_open) for is_open in (False, True))


@click.command(cls=options.GroupedCommand)
@options.data_options(*options.FILE, options.MEMORY, options.TARGET, *options.COLUMNS)
@of_path("--model", type=click.Choice(["lasso", "elastic-net", "logistic"]), default="lasso", show_default=True)
@of_path("--l1-ratio", type=SHARE, default=0.5, show_default=True, help="Of the elastic net.")
@of_path("--standardize", is_flag=True, help="Penalise coefficients of standardised features.")
@of_path("--points", type=click.IntRange(2), default=100, show_default=True, help="How many penalties.")
@of_path("--eps", type=EPS, default=1e-2, show_default=True, help="The smallest, relative to the largest.")
@of_path(
    "--tol", type=click.FloatRange(0), default=1e-6, show_default=True, help="Duality gap relative to that at zero."
)
@options.folder_option("path")
@common
def path(
    source: options.DataOptions, model: str, l1_ratio: float, standardize: bool, points: int, eps: float, tol: float,
    out: Path,
) -> int:  # fmt: skip
    """Coefficients along a path of penalties, as a table and a picture.

    An intercept is fitted.  Penalties are scikit-learn's alpha, for logistic regression 1/C.
    """
    options.check_folder(out)
    source.check(may_stay=True)
    data = read_data(source)
    found = _follow(model, _problem(data, model, l1_ratio, standardize), n_alphas=points, eps=eps, tol=tol)
    report_reading(data, source.data.name)
    strengths, coefs = found.alphas / (1.0 if model == "logistic" else data.X.shape[0]), found.coefs
    nonzero, largest = np.count_nonzero(coefs, axis=0), np.abs(coefs).max(axis=0)
    head = ("alpha" if model != "logistic" else "1/C", "nonzero", "largest coefficient", "explained")
    rows = np.unique(np.linspace(0, len(strengths) - 1, ROWS).round()).astype(int)
    show_table(head, [
        (f"{strengths[k]:.6g}", f"{nonzero[k]:,}", f"{largest[k]:.4g}", f"{100.0 * found.deviance_ratio[k]:.1f} %")
        for k in rows
    ])  # fmt: skip
    if not found.status.is_answer:
        say(f"\n{found.status.sentence}")
    caption = f"{points} penalties down to {eps:g} of the largest, tol {tol:g}{', standardised' * standardize}."
    names = data.names or [f"feature {j}" for j in range(coefs.shape[0])]
    files = _publish(out, (strengths, coefs, names), f"{model} on {source.data.name}", caption)
    say("\n".join(f"wrote {path}" for path in files))
    answer({"strengths": strengths, "nonzero": nonzero, "status": str(found.status), "files": files})
    return 0 if found.status.is_answer else UNCONVERGED


def _problem(data: LabeledData, model: str, l1_ratio: float, standardize: bool) -> Any:
    """Return the problem with a penalty of strength 1; standardised features weigh by their deviations."""
    from ascd.estimators._base import elastic_net
    from ascd.estimators._data import deviations
    from ascd.problem.problem import Problem

    y, loss = data.y, "squared"
    if model == "logistic":
        values = np.unique(y if y.dtype.kind != "O" else y.astype(str))
        if values.size != 2:
            raise ValueError(f"a logistic path needs two classes; the target has {values.size} values")
        y, loss = np.where(y == values[1], 1.0, -1.0), "logistic"
    else:
        check_numeric(data)
        if np.ptp(y) == 0.0:
            raise ValueError(f"{data.target_words} is constant: there is no path; name another column with --target")
    ratio = l1_ratio if model == "elastic-net" else 1.0
    scale = deviations(data.X, None) if standardize else None
    penalty = elastic_net(ratio, 1.0 - ratio, data.X.shape[1], scale=scale)
    return Problem(data.X, np.asarray(y, dtype=float), loss, penalty)


def _follow(model: str, problem: Any, **grid: Any) -> Any:
    """Return the path; on a terminal a bar shows the time that is left."""
    from ascd import solver
    from ascd.results import Status

    is_bar, shown = bar_or_spinner(f"following the path of {model}")
    with shown:
        found = solver.path(problem, progress=is_bar, intercept=True, early_stop=False, **grid)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def path_chart(strengths: Any, coefs: Any, names: list[str], title: str, caption: str) -> Any:
    """Return a chart of the largest coefficients against the strength of the penalty, weaker to the right."""
    from ascd.reproduction.page import Axis, Chart, Series

    chosen = np.argsort(-np.abs(coefs).max(axis=1), kind="stable")[:MOST_CURVES]
    x = {"strength": np.log10(strengths[0] / strengths).tolist()}
    series = tuple(Series(names[j], x, coefs[j].tolist()) for j in chosen if np.any(coefs[j]))
    nonzero = np.count_nonzero(coefs, axis=0).tolist()
    count = Series("nonzero coefficients", x, [math.nan] * len(strengths), right=nonzero, color="#888888")
    axes = (Axis("strength", "log10(largest penalty / penalty)"),)
    text = f"{caption} The {len(series)} largest of {coefs.shape[0]:,} coefficients."
    return Chart("path", title, text, axes, (*series, count), "coefficient", "nonzero (dotted)", log=False)


def _publish(folder: Path, found: tuple[Any, Any, list[str]], title: str, caption: str) -> list[Path]:
    """Write the page, the numbers and, where matplotlib is there, pictures: all of them or none."""
    from importlib.util import find_spec

    from ascd.reproduction.page import Section, draw_charts, write_page

    chart = path_chart(*found, title, caption)
    with whole_folder(folder) as drafts:
        made = [write_page(drafts / "path.html", chart.title, [Section("path", "The path", READING, (chart,))])]
        made.append(drafts / "path.npz")
        np.savez_compressed(made[-1], strengths=found[0], coefs=found[1], names=np.array(found[2]))
        made += draw_charts([chart], drafts / "path") if find_spec("matplotlib") else []
    return [folder / path.name for path in made]
