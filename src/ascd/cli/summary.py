"""What ``ascd fit`` prints: data, score, certificate, and the largest coefficients, a table a class or target."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.tuning import A_MOMENT
from ascd.cli.console import say, show_table
from ascd.cli.estimating import CLASSIFIERS
from ascd.cli.models import Model
from ascd.files.counting import counted
from ascd.results.solution import Status

#: Coefficients of a table, and tables of a model with several classes or targets.
MOST_SHOWN, MOST_TABLES = 10, 20


def show_summary(
    fitted: Model, certificate: Any, model: str, score: float, seconds: tuple[float, float], out: Path
) -> None:
    """Print everything that a person wants to know of a fit."""
    header, where = fitted.header, fitted.header["data"]
    shape = f"{counted(where['samples'], 'sample')}, {counted(where['features'], 'feature')}"
    say(f"{header['estimator']} on {where['file']}: {shape}")
    for name, value in header["chosen"].items():
        say(f"  {name.rstrip('_')} chosen by cross-validation: {value:.6g}")
    say(f"  nonzero coefficients {np.count_nonzero(fitted.coef):,} of {fitted.coef.size:,}")
    name = "accuracy" if model in CLASSIFIERS else "D²" if model == "poisson" else "R²"
    once = f", and {seconds[1]:.2f} s to compile, or to load what is compiled" if seconds[1] > A_MOMENT else ""
    unknown = "is not known" if certificate.status is Status.UNREACHABLE else "is not defined for one sample"
    shown = as_score(score) if score == score else unknown
    say(f"  {name} on these data {shown}   in {seconds[0]:.2f} s{once}")
    gap, reads = certificate.gap, certificate.columns_read
    proved = f"at most {gap:.2g} above optimal" if gap < math.inf else "no bound on its distance to optimal is known"
    objective = "" if math.isnan(certificate.objective) else f"objective {certificate.objective:.8g}, "
    say(f"  certificate: {certificate.status}; {objective}{proved}")
    if not certificate.converged:
        say(f"  {certificate.status.sentence}")
    say(f"  {reads:,.0f} columns read, {reads / where['features']:.1f} a feature\n")
    for number in range(min(fitted.coef.shape[0], MOST_TABLES)):
        _show_largest(fitted, number)
    more = fitted.coef.shape[0] - MOST_TABLES
    if more > 0:
        say(f"… and {more:,} more {'classes' if fitted.classes.size else 'targets'}")
    say(f"wrote {out}")


def as_score(score: float) -> str:
    """Four decimals, or the size of a score that is far below 0.

    Examples
    --------
    >>> from ascd.cli.summary import as_score
    >>> as_score(0.98765), as_score(-1.234e56)
    ('0.9877', '-1.23e+56')
    """
    return f"{score:.4f}" if abs(score) < 1e4 else f"{score:.2e}"


def _show_largest(fitted: Model, number: int) -> None:
    """The largest coefficients of a class, or of the only function."""
    coef, names = fitted.coef[number], fitted.feature_names()
    order = np.argsort(-np.abs(coef))[:MOST_SHOWN]
    rows = [(names[j], f"{coef[j]:+.6g}") for j in order if coef[j] != 0.0]
    left = np.count_nonzero(coef) - len(rows)
    rows += [(f"… and {left:,} more", "")] if left else []
    intercept = ("intercept", f"{fitted.intercept[number]:+.6g}")
    show_table(("largest coefficients", "value"), [*rows, intercept], fitted.row_title(number))
    say()
