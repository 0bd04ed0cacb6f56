"""``ascd predict``: predictions of a model file for a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli import options
from ascd.cli.console import answer, common, is_for_machines, one_line, say
from ascd.io.models import UNFILLED, Model, load
from ascd.io.reading import read_table
from ascd.io.tables import LabeledData, check_complete, has_target, word_of
from ascd.io.writing import write_text


@click.command()
@click.argument("model_file", type=options.EXISTING)
@options.data_options(*options.FILE)
@click.option("--probabilities", is_flag=True, help="Probabilities of the classes instead (logistic regression).")
@options.file_options(None, "A CSV file; printed by default.")
@common
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
    data = _data_for(model, source)
    predicted = model.predict_proba(data) if probabilities else model.predict(data)
    score = None if data.y is None else score_of(model, model.predict(data), np.asarray(data.y))
    if score is not None and not is_for_machines():
        click.echo(f"{score[0]} {score[1]:.4g}", err=True)
    head = [f"P({label})" for label in model.classes] if probabilities else ["prediction"]
    is_class = model.classes.size and not probabilities
    shown = np.array([word_of(label) for label in predicted], dtype=object) if is_class else predicted
    frame = pandas.DataFrame(shown.reshape(len(predicted), -1), columns=head)
    text = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    if out is not None:
        say(f"wrote {write_text(out, text)}")
    elif not is_for_machines():
        click.echo(text, nl=False)
    scored = None if score is None else dict([score])
    answer({"predictions": predicted, "score": scored, "file": out, "reading": data.notes})


def _data_for(model: Model, source: options.DataOptions) -> LabeledData:
    """Return the model's features, and the model's target where it is there."""
    target = model.header["data"]["target"]
    data = read_table(source.data, target, source.format, source.dialect, recipe=model.recipe)
    for note in data.notes:
        if "not seen" in note:
            click.echo(f"{source.data.name}: {one_line(note)}", err=True)
    check_complete(data, source.data.name, UNFILLED)
    return data


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
