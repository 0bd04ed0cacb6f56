"""``ascd fit``, ``ascd path`` and ``ascd predict``: models of data files, and what they predict.

A model takes the options that are parameters of its estimator.
"""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli import UNCONVERGED, console, options
from ascd.cli.commands import app
from ascd.cli.console import answer, say, show_table
from ascd.cli.options import check_target, read_data
from ascd.io.models import UNFILLED, Model, load, model_of, save
from ascd.io.reading import read_table
from ascd.io.tables import LabeledData, check_complete, counted, has_target, word_of
from ascd.io.writing import whole_folder, write_text

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
#: Of a path: coefficients that are drawn, the largest ones; rows that are printed.
MOST_CURVES, ROWS = 24, 12
SHARE, EPS = (click.FloatRange(0, 1, min_open=True, max_open=is_open) for is_open in (False, True))
TOL = click.FloatRange(0)


@app.command(cls=console.Command)
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
@console.common
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

    options.report_reading(data, label)
    stopwatch, is_on_disk, text = Stopwatch(), hasattr(data.X, "bytes_read"), f"fitting {model}"
    shown: Any = console.rounds_shown(text, data.X) if is_on_disk else console.advancing(text)
    if hasattr(estimator, "cv") and console.has_bar():
        estimator.set_params(progress=True)
        shown = nullcontext()
    with shown, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate below says the same, in numbers
        estimator.fit(data.X, data.y)
    found: dict[str, Any] = {"seconds": stopwatch.seconds, "compile_seconds": stopwatch.compile_seconds}
    fitted = model_of(estimator, _header(estimator, label, data), data.names)
    found |= {"score": math.nan, "nonzero": int(np.count_nonzero(fitted.coef))}
    with warnings.catch_warnings(), suppress(OSError):  # which says that the data cannot be read any more
        warnings.simplefilter("ignore")  # about one sample: the summary says that no score is known
        found["score"] = float(estimator.score(data.X, data.y))
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


def _header(estimator: Any, label: str, data: LabeledData) -> dict[str, Any]:
    """Return what a model file says besides the coefficients."""
    from ascd.reproduction.page import versions

    certificate = estimator.certificate_
    facts = {name: float(getattr(certificate, name)) for name in ("gap", "tolerance", "objective", "columns_read")}
    parameters = {name: value for name, value in estimator.get_params().items() if isinstance(value, str | int | float)}
    parameters.pop("progress", None)  # how the fit was shown
    if hasattr(estimator, "l1_ratios"):
        parameters["l1_ratio"] = float(estimator.l1_ratio_)
    shape = {"samples": len(data.y), "features": data.X.shape[1], "target": data.target}
    return {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "chosen": {name: getattr(estimator, name) for name in ("alpha_", "C_") if hasattr(estimator, name)},
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
    names = fitted.feature_names()
    for number, coef in enumerate(fitted.coef):
        largest = np.argsort(-np.abs(coef))[:MOST_SHOWN]
        rows = [(names[j], f"{coef[j]:+.6g}") for j in largest if coef[j] != 0.0]
        left = np.count_nonzero(coef) - len(rows)
        rows += [(f"… and {left:,} more", "")] if left else []
        rows.append(("intercept", f"{fitted.intercept[number]:+.6g}"))
        show_table(("largest coefficients", "value"), rows, fitted.row_title(number))
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
        chosen["l1_ratios"] = [chosen.pop("l1_ratio", 0.0)]
    return getattr(estimators, f"{name}CV")(cv=cv, **chosen)


def _flag(option: str) -> str:
    return f"--{option.removeprefix('fit_').replace('_', '-')}"


def cv_error(estimator: Any) -> dict[str, Any] | None:
    """Return mean and standard error over the folds of the score at the chosen penalty; None without folds."""
    if hasattr(estimator, "_error_path"):
        name, grid, chosen = estimator._measure, estimator.alphas_, estimator.alpha_
        table = np.asarray(getattr(estimator, estimator._error_path))
    elif hasattr(estimator, "scores_"):
        name, grid, chosen = "accuracy", estimator.Cs_, estimator.C_
        table = np.asarray(estimator.scores_)[:, 0].T
    else:
        return None
    found = table[int(np.argmin(np.abs(np.asarray(grid) - chosen)))]
    error = float(np.std(found, ddof=1)) / math.sqrt(found.size)
    return {"name": name, "mean": float(found.mean()), "standard_error": error, "folds": int(found.size)}


# ---- paths


@app.command(cls=console.Command)
@options.data_options(*options.FILE, options.MEMORY, options.TARGET, *options.COLUMNS)
@click.option("--model", type=click.Choice(["lasso", "elastic-net", "logistic"]), default="lasso", show_default=True)
@click.option("--l1-ratio", type=SHARE, default=0.5, show_default=True, help="Of the elastic net.")
@click.option("--standardize", is_flag=True, help="Penalise coefficients of standardised features.")
@click.option("--points", type=click.IntRange(2), default=100, show_default=True, help="How many penalties.")
@click.option("--eps", type=EPS, default=1e-2, show_default=True, help="The smallest, relative to the largest.")
@click.option("--tol", type=TOL, default=1e-6, show_default=True, help="Duality gap relative to that at zero.")
@options.folder_option("path")
@console.common
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
    problem, is_bar = _problem(data, model, l1_ratio, standardize), console.has_bar()
    with nullcontext() if is_bar else console.advancing(f"following the path of {model}"):
        found = solver.path(
            problem, n_alphas=points, eps=eps, tol=tol, progress=is_bar, intercept=True, early_stop=False
        )
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    options.report_reading(data, source.data.name)
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


# ---- predictions


@app.command()
@click.argument("model_file", type=options.EXISTING)
@options.data_options(*options.FILE)
@click.option("--probabilities", is_flag=True, help="Probabilities of the classes instead (logistic regression).")
@options.file_options(None, "A CSV file; printed by default.")
@console.common
def predict(model_file: Path, source: options.DataOptions, probabilities: bool, out: Path | None, force: bool) -> None:
    """Predict with a fitted model.

    MODEL_FILE was written by `ascd fit`.  Features are matched by name where both sides have names, else by position;
    columns that the model does not know are left out.  How a CSV file is written is found as for a fit; what it does
    not show (header, decimal mark) is as in the fit, unless an option says so.  Values that the model has not seen,
    and the score where DATA hold the target, are printed on standard error.
    """
    import pandas

    source.check()
    if out is not None:
        options.check_file(out, force, model_file, source.data)
    model = load(model_file)
    target = model.header["data"]["target"]
    data = read_table(source.data, target, source.format, source.dialect, recipe=model.recipe)
    for note in data.notes:
        if "not seen" in note:
            click.echo(f"{source.data.name}: {console.one_line(note)}", err=True)
    check_complete(data, source.data.name, UNFILLED)
    predicted = model.predict_proba(data) if probabilities else model.predict(data)
    score = None if data.y is None else score_of(model, model.predict(data), np.asarray(data.y))
    if score is not None and not console.is_for_machines():
        click.echo(f"{score[0]} {score[1]:.4g}", err=True)
    head = [f"P({label})" for label in model.classes] if probabilities else ["prediction"]
    is_class = model.classes.size and not probabilities
    shown = np.array([word_of(label) for label in predicted], dtype=object) if is_class else predicted
    frame = pandas.DataFrame(shown.reshape(len(predicted), -1), columns=head)
    text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    if out is not None:
        say(f"wrote {write_text(out, text)}")
    elif not console.is_for_machines():
        click.echo(text, nl=False)
    scored = None if score is None else dict([score])
    answer({"predictions": predicted, "score": scored, "file": out, "reading": data.notes})


def score_of(model: Model, predicted: Any, y: Any) -> tuple[str, float] | None:
    """Return accuracy or R² over the rows that have a target; None where none has, or all have the same number."""
    from sklearn.metrics import r2_score

    known = has_target(y)
    predicted, y = predicted[known], y[known]
    if model.classes.size and y.size:
        return "accuracy", float(np.mean([word_of(a) == word_of(b) for a, b in zip(predicted, y, strict=True)]))
    if not y.size or y.dtype.kind not in "biuf" or np.ptp(y) == 0.0:
        return None
    return "R²", float(r2_score(y, predicted))
