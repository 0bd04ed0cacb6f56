"""``ascd fit``: a model from a data file, with its certificate.

A model takes the options that are parameters of its estimator.
"""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli import UNCONVERGED, options
from ascd.cli.console import Command, advancing, answer, common, has_bar, rounds_shown, say, show_table
from ascd.cli.options import check_target, read_data, report_reading
from ascd.io.models import Model, model_of, save
from ascd.io.tables import LabeledData, counted

#: Names of models, and their estimators.
MODELS = {
    "lasso": "Lasso",
    "elastic-net": "ElasticNet",
    "ridge": "Ridge",
    "nnls": "NNLS",
    "huber": "HuberRegressor",
    "poisson": "PoissonRegressor",
    "logistic": "LogisticRegression",
    "svm": "LinearSVC",
}
CLASSIFIERS = ("logistic", "svm")
#: Coefficients of a table.
MOST_SHOWN = 10


@click.command(cls=Command)
@options.data_options(*options.FILE, options.MEMORY, options.TARGET, *options.COLUMNS)
@click.option("--model", type=click.Choice(list(MODELS)), default="lasso", show_default=True)
@click.option("--alpha", type=float, help="Strength of the penalty, as in scikit-learn.")
@click.option("--l1-ratio", type=float, help="1 is the Lasso's penalty, 0 is ridge's.")
@click.option("--C", "C", type=float, help="Inverse strength for classifiers.")
@click.option("--loss", type=click.Choice(["hinge", "squared_hinge"]), help="Of the SVM.")
@click.option("--epsilon", type=float, help="Where Huber's loss turns linear.")
@click.option("--positive", is_flag=True, default=None, help="Only non-negative coefficients.")
@click.option("--standardize", is_flag=True, default=None, help="Penalise coefficients of standardised features.")
@click.option("--intercept/--no-intercept", "fit_intercept", default=None, help="Fit an intercept.")
@click.option("--cv", type=click.IntRange(2), help="Choose alpha or C by so many folds.")
@click.option(
    "--choose", type=click.Choice(["best", "1se"]), help="The best, or the strongest within one standard error."
)
@click.option("--tol", type=float, help="Duality gap relative to the objective at zero.  [1e-6]")
@click.option("--max-iter", type=click.IntRange(1), help="Most iterations.")
@click.option("--explain", "explained", is_flag=True, help="Which features, and how sure: a table and a page.")
@click.option("--resamples", type=click.IntRange(5), default=50, show_default=True, help="Half-samples of --explain.")
@options.file_options(Path("model.npz"), "The model file.")
@common
def fit(
    source: options.DataOptions, model: str, cv: int | None, explained: bool, resamples: int, out: Path, force: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Fit a model to a data file; write a model file and a summary with its certificate.

    DATA is a LIBSVM, CSV or parquet file; with --memory one that stays on its disk.  The exit code is 3 where the
    tolerance was not reached: the model is written, and the certificate says how far it can be from optimal.
    """
    from ascd.cli.explain import page_beside
    from ascd.estimators._parameters import check_parameters

    options.check_file(out, force, source.data)
    if explained:
        options.check_file(page_beside(out), force)
    source.check(may_stay=True)
    if explained and source.stays_on_disk:
        raise click.UsageError("--explain fits half-samples, which need the data in memory, in one file")
    with options.as_usage():
        estimator = make_estimator(model, cv, given)
        check_parameters(estimator)
    data = read_data(source)
    check_target(data, model in CLASSIFIERS)
    if cv and cv > len(data.y):
        raise click.UsageError(f"--cv must be at most the number of samples, {len(data.y):,}; got {cv}")
    return _fit(data, source.data.name, estimator, model, resamples if explained else 0, out)


def _fit(data: LabeledData, label: str, estimator: Any, model: str, resamples: int, out: Path) -> int:
    """Fit, write and show the model; ``resamples`` is 0 where nothing is to be explained."""
    from ascd._core.timing import Stopwatch
    from ascd.cli.explain import examine, explain

    report_reading(data, label)
    stopwatch, is_on_disk, text = Stopwatch(), hasattr(data.X, "bytes_read"), f"fitting {model}"
    shown: Any = rounds_shown(text, data.X) if is_on_disk else advancing(text)
    if hasattr(estimator, "cv") and has_bar():
        estimator.set_params(progress=True)
        shown = nullcontext()
    with shown, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate below says the same, in numbers
        estimator.fit(data.X, data.y)
    found: dict[str, Any] = {"seconds": stopwatch.seconds, "compile_seconds": stopwatch.compile_seconds}
    fitted = model_of(estimator, _header(estimator, label, data), data.names)
    found |= {"score": _score(estimator, data), "nonzero": int(np.count_nonzero(fitted.coef))}
    evidence = examine(estimator, fitted, data, resamples) if resamples else None
    save(fitted, out)
    _show_summary(fitted, estimator.certificate_, model, found)
    say(f"wrote {out}")
    found["explained"] = None if evidence is None else explain(fitted, evidence, resamples, out)
    if is_on_disk:
        say(f"read {data.X.bytes_read / data.X.size:.2f} times the data, {data.X.bytes_read / 1e6:,.1f} MB")
        found["bytes_read"] = data.X.bytes_read
    answer({**fitted.header, **found, "classes": fitted.classes.tolist(), "model_file": out})
    return 0 if estimator.certificate_.status.is_answer else UNCONVERGED


def _score(estimator: Any, data: LabeledData) -> float:
    """Return the score on these data; nan for one sample, and where they cannot be read any more."""
    with warnings.catch_warnings(), suppress(OSError):
        warnings.simplefilter("ignore")  # about one sample: the summary says that no score is known
        return float(estimator.score(data.X, data.y))
    return math.nan


def _header(estimator: Any, label: str, data: LabeledData) -> dict[str, Any]:
    """Return what a model file says besides the coefficients."""
    from ascd.reproduction.page import versions

    certificate = estimator.certificate_
    facts = {name: float(getattr(certificate, name)) for name in ("gap", "tolerance", "objective", "columns_read")}
    chosen = (name for name in ("alpha_", "C_") if hasattr(estimator, name))
    parameters = {name: value for name, value in estimator.get_params().items() if isinstance(value, str | int | float)}
    parameters.pop("progress", None)  # how the fit was shown
    shape = {"samples": len(data.y), "features": data.X.shape[1], "target": data.target}
    return {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "chosen": {name: float(np.ravel(getattr(estimator, name))[0]) for name in chosen},
        "cv_error": cv_error(estimator),
        "certificate": {**facts, "status": str(certificate.status), "converged": bool(certificate.converged)},
        "data": {"file": label, **shape, "reading": list(data.notes), "recipe": data.recipe._asdict()},
        "versions": versions(),
    }


def _show_summary(fitted: Model, certificate: Any, model: str, found: dict[str, Any]) -> None:
    """Print data, score, certificate, and the largest coefficients, a table a class."""
    header, where = fitted.header, fitted.header["data"]
    shape = f"{counted(where['samples'], 'sample')}, {counted(where['features'], 'feature')}"
    say(f"{header['estimator']} on {where['file']}: {shape}")
    for name, value in header["chosen"].items():
        say(f"  {name.rstrip('_')} chosen by cross-validation: {value:.6g}")
    error = header["cv_error"]
    if error is not None:
        spread = f"{error['mean']:.4g} ± {error['standard_error']:.2g}"
        say(f"  {error['name']} over {error['folds']} folds: {spread} (mean and standard error)")
    say(f"  nonzero coefficients {found['nonzero']:,} of {fitted.coef.size:,}")
    name = "accuracy" if model in CLASSIFIERS else "D²" if model == "poisson" else "R²"
    score = "is not known" if math.isnan(found["score"]) else f"{found['score']:.4g}"
    once = f"and {found['compile_seconds']:.2f} s to compile, or to load what is compiled"
    say(f"  {name} on these data {score}   in {found['seconds']:.2f} s, {once}")
    gap, reads = certificate.gap, certificate.columns_read
    proved = f"at most {gap:.2g} above optimal" if gap < math.inf else "no bound on its distance to optimal is known"
    objective = "" if math.isnan(certificate.objective) else f"objective {certificate.objective:.8g}, "
    say(f"  certificate: {certificate.status}; {objective}{proved}")
    if not certificate.converged:
        say(f"  {certificate.status.sentence}")
    say(f"  {reads:,.0f} columns read, {reads / where['features']:.1f} a feature\n")
    for number in range(len(fitted.coef)):
        _show_largest(fitted, number)


def _show_largest(fitted: Model, number: int) -> None:
    """Print the largest coefficients of a class, or of the only output."""
    coef, names = fitted.coef[number], fitted.feature_names()
    order = np.argsort(-np.abs(coef))[:MOST_SHOWN]
    rows = [(names[j], f"{coef[j]:+.6g}") for j in order if coef[j] != 0.0]
    left = np.count_nonzero(coef) - len(rows)
    rows += [(f"… and {left:,} more", "")] if left else []
    intercept = ("intercept", f"{fitted.intercept[number]:+.6g}")
    show_table(("largest coefficients", "value"), [*rows, intercept], fitted.row_title(number))
    say()


# ---- from options to estimators


def make_estimator(model: str, cv: int | None, given: dict[str, Any]) -> Any:
    """Return an unfitted estimator with the options that were given; a ValueError names one that it does not take."""
    from ascd import estimators

    name = MODELS[model]
    taken = getattr(estimators, name)().get_params()
    chosen = {option: value for option, value in given.items() if value is not None}
    foreign = next((option for option in chosen if option not in (*taken, "choose")), None)
    if foreign is not None:
        listed = ", ".join(_flag(option) for option in given if option in taken) or "none"
        raise ValueError(f"model {model!r} takes no {_flag(foreign)}; it takes {listed}")
    if cv is None:
        if "choose" in chosen:
            raise ValueError("--choose needs --cv")
        return getattr(estimators, name)(**chosen)
    if not hasattr(estimators, f"{name}CV"):
        has = ", ".join(other for other, each in MODELS.items() if hasattr(estimators, f"{each}CV"))
        raise ValueError(f"model {model!r} has no cross-validation; {has} have")
    for option in ("alpha", "C"):
        if option in chosen:
            raise ValueError(f"--{option} and --cv exclude each other: cross-validation chooses it")
    if model == "logistic":
        chosen["l1_ratios"] = [chosen.pop("l1_ratio", 1.0)]
    return getattr(estimators, f"{name}CV")(cv=cv, **chosen)


def _flag(option: str) -> str:
    return f"--{option.removeprefix('fit_').replace('_', '-')}"


def cv_error(estimator: Any) -> dict[str, Any] | None:
    """Return mean and standard error over the folds of the score at the chosen penalty; None without folds."""
    if hasattr(estimator, "_error_path"):
        name, grid, chosen = estimator._measure, estimator.alphas_, estimator.alpha_
        table = np.asarray(getattr(estimator, estimator._error_path))
    elif hasattr(estimator, "scores_"):
        name, grid, chosen = "accuracy", estimator.Cs_, float(np.ravel(estimator.C_)[0])
        table = np.asarray(estimator.scores_)[:, 0].T
    else:
        return None
    found = table[int(np.argmin(np.abs(np.asarray(grid) - chosen)))]
    error = float(np.std(found, ddof=1)) / math.sqrt(found.size)
    return {"name": name, "mean": float(found.mean()), "standard_error": error, "folds": int(found.size)}
