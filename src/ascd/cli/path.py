"""``ascd path``: coefficients against the strength of the penalty."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli import UNCONVERGED, options
from ascd.cli.console import Command, advancing, answer, common, has_bar, say, show_table
from ascd.cli.options import check_target, read_data, report_reading
from ascd.io.tables import LabeledData
from ascd.io.writing import whole_folder

#: Coefficients that are drawn, the largest ones; rows that are printed.
MOST_CURVES, ROWS = 24, 12
SHARE, EPS = (click.FloatRange(0, 1, min_open=True, max_open=is_open) for is_open in (False, True))
TOL = click.FloatRange(0)


@click.command(cls=Command)
@options.data_options(*options.FILE, options.MEMORY, options.TARGET, *options.COLUMNS)
@click.option("--model", type=click.Choice(["lasso", "elastic-net", "logistic"]), default="lasso", show_default=True)
@click.option("--l1-ratio", type=SHARE, default=0.5, show_default=True, help="Of the elastic net.")
@click.option("--standardize", is_flag=True, help="Penalise coefficients of standardised features.")
@click.option("--points", type=click.IntRange(2), default=100, show_default=True, help="How many penalties.")
@click.option("--eps", type=EPS, default=1e-2, show_default=True, help="The smallest, relative to the largest.")
@click.option("--tol", type=TOL, default=1e-6, show_default=True, help="Duality gap relative to that at zero.")
@options.folder_option("path")
@common
def path(
    source: options.DataOptions, model: str, l1_ratio: float, standardize: bool, points: int, eps: float, tol: float,
    out: Path,
) -> int:  # fmt: skip
    """Coefficients along a path of penalties, as a table and a picture.

    An intercept is fitted.  Penalties are scikit-learn's alpha, for logistic regression 1/C.
    """
    from ascd import solver
    from ascd.results import Status

    options.check_folder(out)
    source.check(may_stay=True)
    data = read_data(source)
    problem, is_bar = _problem(data, model, l1_ratio, standardize), has_bar()
    with nullcontext() if is_bar else advancing(f"following the path of {model}"):
        found = solver.path(
            problem, n_alphas=points, eps=eps, tol=tol, progress=is_bar, intercept=True, early_stop=False
        )
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
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
    files = _publish(out, strengths, coefs, data.names or [f"feature {j}" for j in range(coefs.shape[0])])
    say("\n".join(f"wrote {path}" for path in files))
    answer({"strengths": strengths, "nonzero": nonzero, "status": str(found.status), "files": files})
    return 0 if found.status.is_answer else UNCONVERGED


def _problem(data: LabeledData, model: str, l1_ratio: float, standardize: bool) -> Any:
    """Return the problem with a penalty of strength 1; standardised features weigh by their deviations."""
    from ascd.estimators._data import deviations
    from ascd.estimators.least_squares import ElasticNet
    from ascd.problem.problem import Problem

    check_target(data, model == "logistic")
    y, loss = data.y, "squared"
    if model == "logistic":
        values = np.unique(y if y.dtype.kind != "O" else y.astype(str))
        if values.size != 2:
            raise ValueError(f"a logistic path needs two classes; the target has {values.size} values")
        y, loss = np.where(y == values[1], 1.0, -1.0), "logistic"
    elif np.ptp(y) == 0.0:
        raise ValueError(f"{data.target_words} is constant: there is no path; name another column with --target")
    ratio = l1_ratio if model == "elastic-net" else 1.0
    scale = deviations(data.X, None) if standardize else None
    penalty = ElasticNet()._penalty(1.0, ratio, data.X.shape[1], scale)
    return Problem(data.X, np.asarray(y, dtype=float), loss, penalty)


def _publish(folder: Path, strengths: Any, coefs: Any, names: list[str]) -> list[Path]:
    """Write the numbers and, where matplotlib is there, a picture."""
    with whole_folder(folder) as drafts:
        made = [drafts / "path.npz"]
        np.savez_compressed(made[0], strengths=strengths, coefs=coefs, names=np.array(names))
        if find_spec("matplotlib"):
            from ascd.plotting import plot_coefficients

            made.append(drafts / "path.png")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about letters that the font lacks
                plot_coefficients(strengths, coefs, most=MOST_CURVES, names=names).figure.savefig(made[1], dpi=150)
    return [folder / path.name for path in made]
