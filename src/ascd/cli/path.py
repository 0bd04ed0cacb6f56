"""``ascd path``: coefficients for falling penalties, as a table, a chart and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli.console import answer, common, say, show_table, working
from ascd.cli.options import data_options, numeric_target, read_data
from ascd.files import whole_folder
from ascd.report import Axis, Chart, Section, Series, draw_charts, write_page

#: Coefficients that are drawn, the largest ones; rows that are printed.
MOST_CURVES, ROWS = 24, 12


@click.command()
@data_options
@click.option("--model", type=click.Choice(["lasso", "elastic-net", "logistic"]), default="lasso", show_default=True)
@click.option("--l1-ratio", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Of the elastic net.")
@click.option("--points", type=click.IntRange(2), default=100, show_default=True, help="How many penalties.")
@click.option(
    "--eps",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-2,
    show_default=True,
    help="The smallest, relative to the largest.",
)
@click.option("--tol", type=float, default=1e-6, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("path"), show_default=True)
@common
def command(
    data: Path, target: str | None, format: str | None, model: str, l1_ratio: float, points: int, eps: float,
    tol: float, out: Path,
) -> None:  # fmt: skip
    """Coefficients along a path of penalties, as a table and a picture.

    Regression is fitted without an intercept after centring the target, and the features where they are dense.
    """
    table, label = read_data(data, target, format)
    if model != "logistic":
        numeric_target(table)
    with working(f"following the path of {model}"):
        strengths, coefs = _path(table, model, l1_ratio, points, eps, tol)
    names = table.names or [f"feature {j}" for j in range(coefs.shape[0])]
    caption = f"{points} penalties down to {eps:g} of the largest, tol {tol:g}."
    chart = path_chart(strengths, coefs, names, f"{model} on {label}", caption)
    rows = [int(k) for k in np.unique(np.linspace(0, len(strengths) - 1, ROWS).round())]
    nonzero = np.count_nonzero(coefs, axis=0)
    head = ("penalty" if model != "logistic" else "1/C", "nonzero", "largest coefficient")
    show_table(head, [(f"{strengths[k]:.6g}", f"{nonzero[k]:,}", f"{np.abs(coefs[:, k]).max():.4g}") for k in rows])
    files = _publish(out, chart, strengths, coefs, names)
    say("\n".join(f"wrote {path}" for path in files))
    answer({"strengths": strengths, "nonzero": nonzero, "files": files})


def _path(table: Any, model: str, l1_ratio: float, points: int, eps: float, tol: float) -> tuple[Any, Any]:
    """Falling strengths and coefficients, one column a strength."""
    from ascd import estimators

    if model == "logistic":
        values = np.unique(table.y)
        if values.size != 2:
            raise ValueError(f"a logistic path needs two classes; the target has {values.size} values")
        positive = (np.asarray(table.y) == values[1]).astype(float)
        weakest = 1.0 / np.abs(table.X.T @ (positive - positive.mean())).max()  # below it all coefficients are 0
        grid = np.geomspace(weakest, weakest / eps, points)
        coefs, Cs, _ = estimators.logistic_path(table.X, positive, Cs=grid, l1_ratio=1.0, tol=tol)
        return 1.0 / np.asarray(Cs), np.asarray(coefs).reshape(len(Cs), -1)[:, : table.X.shape[1]].T
    y = np.asarray(table.y, dtype=float) - np.mean(table.y)
    X = table.X if hasattr(table.X, "tocsc") else table.X - table.X.mean(axis=0)
    ratio = 1.0 if model == "lasso" else l1_ratio
    alphas, coefs, _ = estimators.enet_path(X, y, l1_ratio=ratio, eps=eps, tol=tol, alphas=points)
    return alphas, coefs


def path_chart(strengths: Any, coefs: Any, names: list[str], title: str, caption: str) -> Chart:
    """The largest coefficients against the strength of the penalty, weaker to the right."""
    chosen = np.argsort(-np.abs(coefs).max(axis=1), kind="stable")[:MOST_CURVES]
    x = {"strength": np.log10(strengths[0] / strengths).tolist()}
    series = tuple(Series(names[j], x, coefs[j].tolist()) for j in chosen if np.any(coefs[j]))
    nonzero = np.count_nonzero(coefs, axis=0).tolist()
    count = Series("nonzero coefficients", x, [0.0] * len(strengths), right=nonzero, color="#999999", dash=True)
    axes = (Axis("strength", "log10(largest penalty / penalty)"),)
    text = f"{caption} The {len(series)} largest of {coefs.shape[0]:,} coefficients."
    return Chart("path", title, text, axes, (*series, count), "coefficient", "nonzero (dotted)", log=False)


def _publish(folder: Path, chart: Chart, strengths: Any, coefs: Any, names: list[str]) -> list[Path]:
    """The page, the numbers and, where matplotlib is there, pictures: all of them or none."""
    from importlib.util import find_spec

    with whole_folder(folder) as drafts:
        made = [write_page(drafts / "path.html", chart.title, [Section("path", "The path", "", (chart,))])]
        made.append(drafts / "path.npz")
        np.savez_compressed(made[-1], strengths=strengths, coefs=coefs, names=np.array(names))
        made += draw_charts([chart], drafts / "path") if find_spec("matplotlib") else []
    return [folder / path.name for path in made]
