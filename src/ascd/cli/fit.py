"""``ascd fit``: a model from a data file, with its certificate."""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ascd._core.clock import Stopwatch
from ascd.cli import UNCONVERGED
from ascd.cli.clusters import Cluster, check_cluster, connected, find_parts, read_parts, words_told
from ascd.cli.console import answer, common, fitting, say
from ascd.cli.estimating import CLASSIFIERS, MODELS, SEVERAL_TARGETS, make_estimator
from ascd.cli.explain import examine, explain, page_beside
from ascd.cli.models import as_classes, model_of, save_model
from ascd.cli.options import Source, fit_options
from ascd.cli.places import check_file, file_options
from ascd.cli.reading import (
    class_target,
    count_target,
    numeric_target,
    one_target,
    read_data,
    several_classes,
    single_target,
    tell_reading,
)
from ascd.cli.summary import show_summary
from ascd.cli.unused import refuse_without
from ascd.cli.usage import as_usage
from ascd.cli.watching import rounds_shown
from ascd.files import Table, groups_of, read_groups
from ascd.matrix.on_dask import is_collection
from ascd.results.solution import Status


@click.command()
@fit_options
@click.argument("more", nargs=-1, type=click.Path(path_type=Path))
@click.option("--scheduler", metavar="ADDRESS", help="Fit on the cluster of this scheduler of Dask's: tcp://…:8786.")
@click.option("--workers", type=click.IntRange(1), help="Fit on so many workers of Dask's, started on this machine.")
@click.option("--model", type=click.Choice(list(MODELS)), default="lasso", show_default=True)
@click.option("--alpha", type=float, help="Strength of the penalty, as in scikit-learn.")
@click.option("--l1-ratio", type=float, help="1 is the Lasso's penalty, 0 is ridge's.")
@click.option("--C", "C", type=float, help="Inverse strength for classifiers.")
@click.option("--loss", type=click.Choice(["hinge", "squared_hinge"]), help="Of the SVM.")
@click.option(
    "--groups", help="Groups of features: a file (one label per line, or JSON), or how many neighbours make one."
)
@click.option("--weights", type=click.Choice(["sqrt"]), help="Of groups: the roots of their sizes.  [1 each]")
@click.option("--epsilon", type=float, help="Where Huber's loss turns linear.")
@click.option("--positive", is_flag=True, default=None, help="Only non-negative coefficients.")
@click.option("--standardize", is_flag=True, default=None, help="Penalise coefficients of standardised features.")
@click.option("--cv", type=click.IntRange(2), help="Choose alpha or C by so many folds.")
@click.option("--intercept/--no-intercept", "fit_intercept", default=None, help="Fit an intercept.")
@click.option("--tol", type=float, help="Duality gap relative to the objective at zero.  [1e-6]")
@click.option("--max-iter", type=click.IntRange(1), help="Most iterations.")
@click.option("--classes", is_flag=True, help="Each number of the target is a class (logistic, svm).")
@click.option("--explain", "explained", is_flag=True, help="Which features, and how sure: a table and a page.")
@click.option(
    "--resamples", type=click.IntRange(5), default=50, show_default=True, help="Half-samples that --explain fits."
)
@file_options(Path("model.npz"), "The model file.")
@common
def command(
    source: Source, more: tuple[Path, ...], scheduler: str | None, workers: int | None, model: str, cv: int | None,
    classes: bool, explained: bool, resamples: int, out: Path, force: bool, **given: Any,
) -> int:  # fmt: skip
    """Fit a model to a data file; write a model file and a summary with its certificate.

    DATA is a LIBSVM, CSV, parquet or npz file; with --memory one that stays on its disk.  The exit code is 3 where the
    tolerance was not reached: the model is written, and the certificate says how far it can be from optimal.

    On a cluster (--scheduler, --workers) DATA MORE… are parquet or CSV files with the same columns, which its workers
    read.
    """
    cluster = Cluster(scheduler, workers)
    check_cluster(cluster, source, 1 + len(more), explained)
    refuse_without("resamples", "--explain", explained)
    refuse_without("classes", "a classifier (--model logistic or svm)", model in CLASSIFIERS)
    if given["groups"] is not None:
        given["groups"] = read_groups(given["groups"])
    with as_usage():
        if model not in SEVERAL_TARGETS and isinstance(source.target, tuple):
            raise one_target(model, len(source.target))
        estimator = make_estimator(model, cv, given)
        estimator._validate_params()
    check_file(out, force, source.data, *more)
    if explained:
        check_file(page_beside(out), force)
        if source.memory is not None or source.data.is_dir():
            raise click.UsageError("--explain fits half-samples, which need the data in memory, in one file")
    parts = find_parts(source, more) if cluster.is_wanted else None
    with connected(cluster) if parts else nullcontext():
        choice = Choice(model, bool(cv), classes, given["groups"], resamples if explained else 0, out)
        if parts is None:
            return _fit(*read_data(source, may_stay=True), estimator, choice)
        with words_told():
            return _fit(*read_parts(source, parts), estimator, choice)


class Choice(NamedTuple):
    """What the options say besides the data and the estimator; ``resamples`` is 0 where nothing is to be explained."""

    model: str
    has_folds: bool
    classes: bool
    groups: Any
    resamples: int
    out: Path


def _fit(table: Table, label: str, estimator: Any, choice: Choice) -> int:
    model, has_folds, classes, groups, resamples, out = choice
    if model not in SEVERAL_TARGETS:
        single_target(table, model)
    elif np.ndim(table.y) == 1:
        numeric_target(table)
        table = table._replace(y=np.asarray(table.y).reshape(-1, 1))
    if groups is not None:
        estimator.set_params(groups=groups_of(groups, table))
    if model not in CLASSIFIERS:
        numeric_target(table)
        if model == "poisson":
            count_target(table, model)
    else:
        several_classes(table)
        if not classes:
            class_target(table)
        table = table._replace(y=as_classes(table.y))
    folds = estimator.get_params().get("cv") or 0
    if folds > len(table.y):
        raise click.UsageError(f"--cv must be at most the number of samples, {len(table.y):,}; got {folds}")
    tell_reading(table, label)
    clock = Stopwatch()
    is_far = hasattr(table.X, "bytes_read") or is_collection(table.X)
    watched = rounds_shown(f"fitting {model}", table.X) if is_far and not has_folds else None
    with watched or fitting(f"fitting {model}", estimator, has_folds), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate below says the same, in numbers
        estimator.fit(table.X, table.y)
    seconds, compile_seconds = clock.seconds, clock.compile_seconds
    header = _header(estimator, label, table)
    fitted = model_of(estimator, header, table.names)
    score = _score(estimator, table)
    known = examine(model, estimator, fitted, table, resamples) if resamples else None
    save_model(fitted, out)
    show_summary(fitted, estimator.certificate_, model, score, (seconds, compile_seconds), out)
    found = None if known is None else explain(fitted, known, resamples, out)
    times = {"seconds": seconds, "compile_seconds": compile_seconds}
    numbers = {"score": score, "nonzero": int(np.count_nonzero(fitted.coef)), "explained": found}
    if hasattr(table.X, "bytes_read") and not is_collection(table.X):
        say(f"read {table.X.bytes_read / table.X.size:.2f} times the data, {table.X.bytes_read / 1e6:,.1f} MB")
        numbers["bytes_read"] = table.X.bytes_read
    if fitted.classes.size:
        numbers["classes"] = fitted.classes.tolist()
    answer({**header, **times, **numbers, "model_file": out})
    return 0 if estimator.certificate_.status.is_answer else UNCONVERGED


def _score(estimator: Any, table: Table) -> float:
    """On these data; nan for one sample, and where they are out of reach."""
    if estimator.certificate_.status is Status.UNREACHABLE:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one sample: the summary says that no score is defined
        return float(estimator.score(table.X, table.y))


def _header(estimator: Any, label: str, table: Table) -> dict[str, Any]:
    from ascd.experiments.store import versions

    found = (name for name in ("alpha_", "C_") if hasattr(estimator, name))
    chosen = {name: float(np.ravel(getattr(estimator, name))[0]) for name in found}
    parameters = {name: value for name, value in estimator.get_params().items() if isinstance(value, str | int | float)}
    shape = {"samples": len(table.y), "features": table.X.shape[1], "target": table.target}
    return {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "chosen": chosen,
        "certificate": certificate_facts(estimator.certificate_),
        "data": {"file": label, **shape, "reading": list(table.notes), "recipe": table.recipe._asdict()},
        "versions": versions(),
    }


def certificate_facts(certificate: Any) -> dict[str, Any]:
    """A certificate as numbers and text."""
    facts = {name: float(getattr(certificate, name)) for name in ("gap", "tolerance", "objective", "columns_read")}
    return {**facts, "status": str(certificate.status), "converged": bool(certificate.converged)}
