"""``ascd fit``: a model from a data file, with its certificate."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd._base.clock import Stopwatch
from ascd._base.tuning import A_MOMENT
from ascd.cli import UNCONVERGED
from ascd.cli.console import answer, common, say, show_table, working
from ascd.cli.estimating import CLASSIFIERS, MODELS, make_estimator
from ascd.cli.models import model_of, save_model
from ascd.cli.options import data_options, numeric_target, read_data
from ascd.files import Table

MOST_SHOWN = 10


@click.command()
@data_options
@click.option("--model", type=click.Choice(list(MODELS)), default="lasso", show_default=True)
@click.option("--alpha", type=float, help="Strength of the penalty, as in scikit-learn.")
@click.option("--l1-ratio", type=float, help="1 is the Lasso's penalty, 0 is ridge's.")
@click.option("--C", "C", type=float, help="Inverse strength for classifiers.")
@click.option("--loss", type=click.Choice(["hinge", "squared_hinge"]), help="Of the SVM.")
@click.option("--epsilon", type=float, help="Where Huber's loss turns linear.")
@click.option("--positive", is_flag=True, default=None, help="Only non-negative coefficients.")
@click.option("--cv", type=click.IntRange(2), help="Choose alpha or C by so many folds.")
@click.option("--intercept/--no-intercept", "fit_intercept", default=None, help="Fit an intercept.")
@click.option("--tol", type=float, help="Duality gap relative to the objective at zero.  [1e-6]")
@click.option("--max-iter", type=click.IntRange(1), help="Most iterations.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("model.npz"), show_default=True)
@common
def command(
    data: Path, target: str | None, format: str | None, model: str, cv: int | None, out: Path, **given: Any
) -> int:
    """Fit a model to a data file; write a model file and a summary with its certificate.

    DATA is a LIBSVM, CSV, parquet or npz file.  The exit code is 3 where the tolerance was not reached: the model is
    written, and the certificate says how far it can be from optimal.
    """
    estimator = make_estimator(model, cv, given)
    table, label = read_data(data, target, format)
    if model not in CLASSIFIERS:
        numeric_target(table)
    clock = Stopwatch()
    with working(f"fitting {model}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate below says the same, in numbers
        estimator.fit(table.X, table.y)
    seconds, compile_seconds = clock.seconds, clock.compile_seconds
    header = _header(estimator, label, table)
    fitted = model_of(estimator, header, table.names)
    save_model(fitted, out)
    _summary(fitted, estimator, table, model, (seconds, compile_seconds), out)
    times = {"seconds": seconds, "compile_seconds": compile_seconds}
    answer({**header, **times, "nonzero": int(np.count_nonzero(fitted.coef)), "model_file": out})
    return 0 if estimator.certificate_.status.is_answer else UNCONVERGED


def _header(estimator: Any, label: str, table: Table) -> dict[str, Any]:
    from ascd.experiments.store import versions

    found = (name for name in ("alpha_", "C_") if hasattr(estimator, name))
    chosen = {name: float(np.ravel(getattr(estimator, name))[0]) for name in found}
    parameters = {name: value for name, value in estimator.get_params().items() if isinstance(value, str | int | float)}
    return {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "chosen": chosen,
        "certificate": certificate_facts(estimator.certificate_),
        "data": {"file": label, "samples": table.X.shape[0], "features": table.X.shape[1], "target": table.target},
        "versions": versions(),
    }


def certificate_facts(certificate: Any) -> dict[str, Any]:
    """A certificate as numbers and text."""
    facts = {name: float(getattr(certificate, name)) for name in ("gap", "tolerance", "objective", "columns_read")}
    return {**facts, "status": str(certificate.status), "converged": bool(certificate.converged)}


def _summary(fitted: Any, estimator: Any, table: Any, model: str, seconds: tuple[float, float], out: Path) -> None:
    header, certificate = fitted.header, fitted.header["certificate"]
    where = header["data"]
    say(f"{header['estimator']} on {where['file']}: {where['samples']:,} samples, {where['features']:,} features")
    for name, value in header["chosen"].items():
        say(f"  {name.rstrip('_')} chosen by cross-validation: {value:.6g}")
    score = "accuracy" if model in CLASSIFIERS else "D²" if model == "poisson" else "R²"
    say(f"  nonzero coefficients {np.count_nonzero(fitted.coef):,} of {fitted.coef.size:,}")
    once = f", and {seconds[1]:.2f} s of compiling, once" if seconds[1] > A_MOMENT else ""
    say(f"  {score} on these data {estimator.score(table.X, table.y):.4f}   in {seconds[0]:.2f} s{once}")
    reads, gap = certificate["columns_read"], certificate["gap"]
    status, objective = certificate["status"], certificate["objective"]
    proved = f"at most {gap:.2g} above optimal" if gap < math.inf else "no bound on its distance to optimal is known"
    say(f"  certificate: {status}; objective {objective:.8g}, {proved}")
    if not certificate["converged"]:
        say(f"  {estimator.certificate_.status.sentence}")
    say(f"  {reads:,.0f} columns read, {reads / where['features']:.1f} a feature\n")
    _largest(fitted)
    say(f"\nwrote {out}")


def _largest(fitted: Any) -> None:
    """The largest coefficients, of the first class where there are several."""
    coef = fitted.coef[0]
    order = np.argsort(-np.abs(coef))[:MOST_SHOWN]
    names = fitted.names if fitted.names.size else np.array([f"feature {j}" for j in range(coef.size)])
    rows = [(str(names[j]), f"{coef[j]:+.6g}") for j in order if coef[j] != 0.0]
    show_table(("largest coefficients", "value"), [*rows, ("intercept", f"{fitted.intercept[0]:+.6g}")])
