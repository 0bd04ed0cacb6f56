"""``ascd predict``: predictions of a model file for a data file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli.console import answer, common, say, settings
from ascd.cli.models import Model, load_model
from ascd.cli.options import FILE, Source, with_source
from ascd.cli.places import check_file, file_options
from ascd.cli.reading import complete
from ascd.cli.summary import as_score
from ascd.cli.unused import refuse_unused, refuse_without
from ascd.cli.usage import check_source
from ascd.cli.words import readable
from ascd.files import Recipe, Table, write_text
from ascd.files.dialect import is_number
from ascd.files.reading import column_name
from ascd.files.targets import TRUTHS, has_target, word_of

#: What need not be said of a CSV file.
PLAIN = ("separator ',', header",)
MENDED = "a model that was fitted with --impute fills them"


@click.command()
@click.argument("model_file", type=click.Path(path_type=Path))
@with_source(
    *FILE, click.option("--target", multiple=True, help="A column to leave out, and to score by; repeat for several.")
)
@click.option("--probabilities", is_flag=True, help="Probabilities of the classes instead (logistic regression).")
@file_options(None, "A CSV file; printed by default.")
@common
def command(model_file: Path, source: Source, probabilities: bool, out: Path | None, force: bool) -> None:
    """Predict with a fitted model.

    MODEL_FILE was written by `ascd fit`.  Features are matched by name where both sides have names, else by position;
    columns that the model does not know are left out.  A CSV file is read as that of the fit was (header, separator,
    decimal mark, words for missing values), unless it is plainly written in another way or an option says so.  How it
    was read, and the score where DATA hold the target, are printed on standard error.
    """
    refuse_without("force", "--out", out is not None)
    check_source(source)
    if out is not None:
        check_file(out, force, model_file, source.data)
    model = load_model(model_file)
    table = _table_for(model, source)
    X = table.X
    predicted = model.probabilities(X) if probabilities else model.predict(X)
    score = None if table.y is None else score_of(model, model.predict(X), np.asarray(table.y))
    if score is not None and not settings().json:
        click.echo(f"{score[0]} {as_score(score[1])}", err=True)
    several = predicted.ndim == 2 and not probabilities
    head = model.target_names() if several else ["prediction"]
    head = [f"P({label})" for label in model.classes] if probabilities else head
    is_class = model.classes.size and not probabilities
    shown = np.array([word_of(label) for label in predicted], dtype=object) if is_class else predicted
    text = _csv(shown.reshape(len(predicted), -1), head)
    if out is not None:
        say(f"wrote {write_text(out, text)}")
    elif not settings().json:
        click.echo(text, nl=False)
    answer(
        {
            "predictions": predicted,
            "score": None if score is None else dict([score]),
            "file": out,
            "reading": table.notes,
        }
    )


def _table_for(model: Model, source: Source) -> Table:
    """The model's features in its order, and the target where it is there: the one asked for, else the model's own."""
    asked, learnt = source.target, Recipe(**model.header["data"].get("recipe", {}))
    refuse_unused(source._replace(asked=source.asked - {"target"}))
    wanted = source._replace(target=asked or model.header["data"].get("target"))
    if isinstance(wanted.target, str) and model.classes.dtype.kind == "U" and not all(map(is_number, model.classes)):
        learnt = learnt._replace(levels={**learnt.levels, wanted.target: model.classes.tolist()})
    table = wanted.read(
        n_features=model.coef.shape[1], target_optional=True, features=model.names.tolist() or None, recipe=learnt
    )
    called = asked if asked is None or isinstance(asked, str) else list(asked)
    if called is not None and table.target not in (called, column_name(called, False)):
        raise click.UsageError(f"{source.data.name} has no column {asked!r} to score by")
    _tell(table, source.data.name, "sep" in learnt.written)
    complete(table._replace(y=None), source.data.name, MENDED, MENDED)
    return table


def _tell(table: Table, label: str, is_learnt: bool) -> None:
    """How the file was read where that is not the plain way, and what the model does not know."""
    same = is_learnt and not any(note.startswith("the model's data had") for note in table.notes)
    for note in table.notes:
        is_usual = note in PLAIN or note.startswith("text column") or note.endswith("filled as in the model")
        if "not seen" not in note and (is_usual or settings().json):
            continue
        how = "read as the model's data were: " if same and note == table.notes[0] else ""
        click.echo(readable(f"{label}: {how}{' '.join(note.split())}"), err=True)


def score_of(model: Model, predicted: Any, y: Any) -> tuple[str, float] | None:
    """Accuracy, or R², over the rows that have a target; None where none has."""
    known = has_target(y)
    predicted, y = predicted[known], y[known]
    if not y.size or (not model.classes.size and y.dtype.kind not in "biuf"):
        return None
    if model.classes.size:
        return "accuracy", float(np.mean([_label(a) == _label(b) for a, b in zip(predicted, y, strict=True)]))
    if predicted.shape != y.shape:
        raise ValueError(f"the model has {predicted[0].size} targets; {y[0].size} were given to score by")
    spread = np.sum((y - y.mean(axis=0)) ** 2, axis=0)
    if not np.all(spread > 0.0):  # one row, or a constant: there is nothing to explain
        return None
    return "R²", float(np.mean(1.0 - np.sum((y - predicted) ** 2, axis=0) / spread))  # of several targets the mean


def _label(value: Any) -> str:
    """A class as a word, also where one file has numbers or truths, and another, with gaps or other classes, words."""
    word = word_of(value)
    return str(int(TRUTHS[word])) if word in TRUTHS else word


def _csv(rows: Any, head: list[str]) -> str:
    """A table in CSV; a name with a comma or a line break is quoted."""
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(head)
    lines.writerows([f"{value:.10g}" if isinstance(value, float) else str(value) for value in row] for row in rows)
    return buffer.getvalue()
