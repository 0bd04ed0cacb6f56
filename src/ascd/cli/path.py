"""``ascd path``: coefficients against the strength of the penalty."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli import UNCONVERGED
from ascd.cli.console import answer, common, library_bar, say, show_table, working
from ascd.cli.options import Number, Source, large_data_options
from ascd.cli.places import announce_folder, folder_option, wrote
from ascd.cli.reading import numeric_target, read_data, tell_reading, the_target
from ascd.cli.unused import refuse_without
from ascd.files import Table, whole_folder
from ascd.reproduction.charts import Axis, Chart, Section, Series, draw_charts
from ascd.reproduction.page import write_page

#: Coefficients that are drawn, the largest ones; rows that are printed.
MOST_CURVES, ROWS = 24, 12
#: What the library says of a target that no feature explains.
NO_PATH = "every alpha makes all coefficients zero"
#: A share of the deviance that rounding errors explain.
NOTHING = 1e-20
READING = (
    "To the left the penalty is strong and all coefficients are 0; to the right it is weak. Solid: coefficients. "
    "Dotted: how many are not 0."
)


@click.command()
@large_data_options
@click.option("--model", type=click.Choice(["lasso", "elastic-net", "logistic"]), default="lasso", show_default=True)
@click.option(
    "--l1-ratio", type=Number(0, 1, min_open=True), default=0.5, show_default=True, help="Of the elastic net."
)
@click.option("--points", type=click.IntRange(2), default=100, show_default=True, help="How many penalties.")
@click.option(
    "--eps",
    type=Number(0, 1, min_open=True, max_open=True),
    default=1e-2,
    show_default=True,
    help="The smallest, relative to the largest.",
)
@click.option("--tol", type=Number(0), default=1e-6, show_default=True, help="Duality gap relative to that at zero.")
@folder_option("path")
@common
def command(source: Source, model: str, l1_ratio: float, points: int, eps: float, tol: float, out: Path) -> int:
    """Coefficients along a path of penalties, as a table and a picture.

    An intercept is fitted.  Penalties are scikit-learn's alpha, for logistic regression 1/C.
    """
    refuse_without("l1_ratio", "--model elastic-net", model == "elastic-net")
    is_new = announce_folder(out)
    table, label = read_data(source, may_stay=True)
    problem = _problem(table, model, l1_ratio)
    tell_reading(table, label)
    try:
        found = _follow(problem, model, n_alphas=points, eps=eps, tol=tol)
    except ValueError as error:
        if NO_PATH not in str(error):
            raise
        raise _no_path(table) from error
    if max(found.deviance_ratio) < NOTHING:
        raise _no_path(table)
    strengths, coefs = found.alphas / (1.0 if model == "logistic" else table.X.shape[0]), found.coefs
    names = table.names or [f"feature {j}" for j in range(coefs.shape[0])]
    caption = f"{points} penalties down to {eps:g} of the largest, tol {tol:g}."
    chart = path_chart(strengths, coefs, names, f"{model} on {label}", caption)
    rows = [int(k) for k in np.unique(np.linspace(0, len(strengths) - 1, ROWS).round())]
    nonzero = np.count_nonzero(coefs, axis=0)
    head = ("alpha" if model != "logistic" else "1/C", "nonzero", "largest coefficient", "explained")
    show_table(head, [_row(strengths, coefs, nonzero, found.deviance_ratio, k) for k in rows])
    if not found.status.is_answer:
        say(f"\n{found.status.sentence}")
    files = _publish(out, chart, strengths, coefs, names)
    say(wrote(files, out, is_new))
    answer({"strengths": strengths, "nonzero": nonzero, "status": str(found.status), "files": files})
    return 0 if found.status.is_answer else UNCONVERGED


def _no_path(table: Table) -> ValueError:
    return ValueError(
        f"{the_target(table)} is constant, or no feature varies with it: every penalty makes all coefficients 0, so "
        "there is no path; name another column with --target"
    )


def _problem(table: Table, model: str, l1_ratio: float) -> Any:
    from ascd.problem.penalties import L1, L1L2
    from ascd.problem.problem import Problem

    if model == "logistic":
        values = np.unique(table.y)
        if values.size != 2:
            raise ValueError(f"a logistic path needs two classes; the target has {values.size} values")
        signs = np.where(np.asarray(table.y) == values[1], 1.0, -1.0)
        return Problem(table.X, signs, loss="logistic", penalty=L1(1.0))
    numeric_target(table)
    ratio = 1.0 if model == "lasso" else l1_ratio
    penalty = L1(1.0) if ratio == 1.0 else L1L2(ratio, 1.0 - ratio)
    return Problem(table.X, np.asarray(table.y, dtype=float), penalty=penalty)


def _follow(problem: Any, model: str, **grid: Any) -> Any:
    """The path, with a bar on a terminal that shows the time that is left."""
    from ascd.results.solution import Status
    from ascd.solver import path

    options: dict[str, Any] = {**grid, "intercept": True, "early_stop": False}
    if library_bar():
        found = path(problem, progress=True, **options)
    else:
        with working(f"following the path of {model}"):
            found = path(problem, **options)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def _row(strengths: Any, coefs: Any, nonzero: Any, explained: Any, k: int) -> tuple[str, ...]:
    largest = f"{np.abs(coefs[:, k]).max():.4g}"
    return f"{strengths[k]:.6g}", f"{nonzero[k]:,}", largest, f"{100.0 * explained[k]:.1f} %"


def path_chart(strengths: Any, coefs: Any, names: list[str], title: str, caption: str) -> Chart:
    """The largest coefficients against the strength of the penalty, weaker to the right."""
    chosen = np.argsort(-np.abs(coefs).max(axis=1), kind="stable")[:MOST_CURVES]
    x = {"strength": np.log10(strengths[0] / strengths).tolist()}
    series = tuple(Series(names[j], x, coefs[j].tolist()) for j in chosen if np.any(coefs[j]))
    nonzero = np.count_nonzero(coefs, axis=0).tolist()
    count = Series("nonzero coefficients", x, [math.nan] * len(strengths), right=nonzero, color="#888888")
    axes = (Axis("strength", "log10(largest penalty / penalty)"),)
    text = f"{caption} The {len(series)} largest of {coefs.shape[0]:,} coefficients."
    return Chart("path", title, text, axes, (*series, count), "coefficient", "nonzero (dotted)", log=False)


def _publish(folder: Path, chart: Chart, strengths: Any, coefs: Any, names: list[str]) -> list[Path]:
    """The page, the numbers and, where matplotlib is there, pictures: all of them or none."""
    from importlib.util import find_spec

    with whole_folder(folder) as drafts:
        made = [write_page(drafts / "path.html", chart.title, [Section("path", "The path", READING, (chart,))])]
        made.append(drafts / "path.npz")
        np.savez_compressed(made[-1], strengths=strengths, coefs=coefs, names=np.array(names))
        made += draw_charts([chart], drafts / "path") if find_spec("matplotlib") else []
    return [folder / path.name for path in made]
