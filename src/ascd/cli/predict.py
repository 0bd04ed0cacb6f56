"""``ascd predict``: predictions of a model file for a data file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click
import numpy as np

from ascd.cli.console import answer, common, say, settings
from ascd.cli.models import Model, load_model
from ascd.cli.options import complete
from ascd.files import FORMATS, Table, read_table, write_text


@click.command()
@click.argument("model_file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", help="A column to leave out, and to score the predictions by.")
@click.option("--format", type=click.Choice(list(FORMATS)), help="Of DATA.  [told by its name]")
@click.option("--probabilities", is_flag=True, help="Probabilities of the classes instead (logistic regression).")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A CSV file; printed by default.")
@common
def command(
    model_file: Path, data: Path, target: str | None, format: str | None, probabilities: bool, out: Path | None
) -> None:
    """Predict with a fitted model.

    MODEL_FILE was written by `ascd fit`.  Features are matched by name where both sides have names, else by position;
    columns that the model does not know are left out.  Where DATA hold the target, the score is told on standard error.
    """
    model = load_model(model_file)
    table = _table_for(model, data, target, format)
    X = table.X
    predicted = model.probabilities(X) if probabilities else model.predict(X)
    score = None if table.y is None else score_of(model, model.predict(X), table.y)
    if score is not None and not settings().json:
        click.echo(f"{score[0]} {score[1]:.4f}", err=True)
    head = [f"P({label})" for label in model.classes] if probabilities else ["prediction"]
    text = _csv(predicted.reshape(len(predicted), -1), head)
    if out is not None:
        say(f"wrote {write_text(out, text)}")
    elif not settings().json:
        click.echo(text, nl=False)
    answer({"predictions": predicted, "score": None if score is None else dict([score]), "file": out})


def _table_for(model: Model, data: Path, target: str | None, format: str | None) -> Table:
    """The model's features in its order, and the target where it is there: the one asked for, else the model's own."""
    table = read_table(
        data,
        target or model.header["data"].get("target"),
        format,
        n_features=model.coef.shape[1],
        target_optional=True,
        features=model.names.tolist() or None,
    )
    if target is not None and table.target != target:
        raise ValueError(f"{data.name} has no column {target!r} to score by")
    complete(table._replace(y=None), data.name)
    return table


def score_of(model: Model, predicted: Any, y: Any) -> tuple[str, float]:
    """Accuracy, or R²."""
    y = np.asarray(y)
    if model.classes.size:
        return "accuracy", float(np.mean(predicted == y))
    return "R²", float(1.0 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2))


def _csv(rows: Any, head: list[str]) -> str:
    buffer = io.StringIO()
    buffer.write(",".join(head) + "\n")
    for row in rows:
        buffer.write(",".join(f"{value:.10g}" if isinstance(value, float) else str(value) for value in row) + "\n")
    return buffer.getvalue()
