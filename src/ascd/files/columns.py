"""Named columns become numbers: missing values are filled or their rows left out, text columns become 0/1 columns.

What was done is kept as a ``Recipe``, so that a model does the same to the data it predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import unknown_name
from ascd.files.dialect import is_missing

#: Names that a target is looked for by.
TARGETS = ("target", "y", "label")
#: At least this share of a column's values are numbers: the others are mistakes rather than words.
MOSTLY = 0.5
SHOWN = 5


class Choices(NamedTuple):
    """What is done to columns.

    Parameters
    ----------
    without : columns to leave out
    drop : leave out the rows in which a value is missing
    impute : {"", "mean", "median", "zero"}, what to fill missing values of features with
    levels : a text column with at most so many different values becomes 0/1 columns; 0: none does
    """

    without: tuple[str, ...] = ()
    drop: bool = False
    impute: str = ""
    levels: int = 0


class Recipe(NamedTuple):
    """What was done to the columns: values that fill gaps, and the values of text columns that have 0/1 columns."""

    fills: dict[str, float] = {}  # noqa: RUF012  never changed
    levels: dict[str, list[str]] = {}  # noqa: RUF012


class Table(NamedTuple):
    """A design, its target (None where the file holds none), the names of the features and of the target (or None).

    Several targets are columns of y, and ``target`` is then the list of their names.
    """

    X: Any
    y: Any
    names: list[str] | None
    target: Any = None
    notes: tuple[str, ...] = ()
    recipe: Recipe = Recipe()


def as_table(
    frame: Any,
    path: Path,
    target: Any,
    target_optional: bool,
    features: Sequence[str] | None,
    choices: Choices,
    recipe: Recipe,
) -> Table:
    """The target's column (or those of several) apart from the others, and these as numbers."""
    frame.columns = names = [str(name) for name in frame.columns]
    frame, notes = left_after(frame, choices.without)
    left = [str(name) for name in frame.columns]
    is_one = target is None or isinstance(target, str)
    chosen: Any = (target_of if is_one else _targets_of)(left, target, target_optional)
    y = None
    if chosen is not None:
        y = numbers_or_words(frame[chosen]) if is_one else np.column_stack([_numbers(frame[name]) for name in chosen])
    rest = frame if chosen is None else frame.drop(columns=chosen)
    if features is not None:
        wanted = list(dict.fromkeys(_source(name, recipe) for name in features))
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"{path} lacks {len(missing)} of {len(wanted)} features: {', '.join(missing[:SHOWN])}")
        rest = frame[wanted]
    columns, levels = _encoded(rest, path, choices.levels, recipe, notes)
    if features is not None:
        columns = {name: columns[name] for name in features}
    X = np.empty((len(frame), len(columns)), order="F")
    for j, column in enumerate(columns.values()):
        X[:, j] = column
    return Table(X, y, list(columns), chosen, tuple(notes), Recipe({}, levels))


def left_after(frame: Any, without: Sequence[str]) -> tuple[Any, list[str]]:
    """The frame without some columns: those named, and a first one without a name that counts the rows."""
    for name in without:
        if name not in frame.columns:
            raise unknown_name(name, "column", list(frame.columns))
        frame = frame.drop(columns=name)
    notes = [f"left out: {', '.join(without)}"] if without else []
    if len(frame.columns) > 2 and frame.columns[0].startswith("Unnamed: 0"):
        column = frame.iloc[:, 0].to_numpy()
        if column.dtype.kind == "i" and column.size and (np.diff(column) == 1).all() and column[0] in (0, 1):
            frame = frame.drop(columns=frame.columns[0])
            notes.append("the first column counts the rows: left out")
    return frame, notes


def target_of(names: list[str], target: str | None, optional: bool) -> str | None:
    """The target's name among these; None where it is optional and there is none."""
    chosen = target if target is not None else next((name for name in TARGETS if name in names), None)
    if chosen is None and not optional:
        chosen = names[-1]
    if chosen is None or chosen in names:
        return chosen
    if not optional:
        raise unknown_name(chosen, "target", names)
    return None


def _targets_of(names: list[str], targets: Sequence[str], optional: bool) -> list[str] | None:
    """Several targets, each once; None where some are not there and need not be."""
    twice = next((name for number, name in enumerate(targets) if name in targets[:number]), None)
    if twice is not None:
        raise ValueError(f"target {twice!r} is named twice")
    strange = [name for name in targets if name not in names]
    if strange and not optional:
        raise unknown_name(strange[0], "target", names)
    return None if strange else list(targets)


def _numbers(column: Any) -> Any:
    """A column of several targets: numbers only."""
    values = numbers_or_words(column)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"target {column.name!r} must be numbers where there are several; its first is {values[0]!r}")
    return values.astype(float)


def _source(feature: str, recipe: Recipe) -> str:
    """The column that a feature is made from."""
    return next((name for name, values in recipe.levels.items() if feature in level_names(name, values)), feature)


def level_names(name: str, values: Sequence[str]) -> list[str]:
    """One 0/1 column a value; of two values the second alone, which tells the first as well."""
    return [f"{name}={value}" for value in (values[1:] if len(values) == 2 else values)]


def numbers_or_words(column: Any) -> Any:
    """A column as numbers where all its values are (a word for a missing value is nan), else as it is."""
    import pandas

    if column.dtype.kind in "fiub":
        return column.to_numpy()
    text = column.astype(object).where(column.notna(), "").astype(str)
    known = text.map(is_missing)
    numbers = pandas.to_numeric(text.where(~known), errors="coerce")
    if (numbers.notna() | known).all() and numbers.notna().any():
        return numbers.to_numpy(dtype=float)
    return text.where(~known, None).to_numpy(dtype=object)


def _encoded(
    frame: Any, path: Path, limit: int, recipe: Recipe, notes: list[str]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The columns as numbers by their names, and the values of the text columns among them."""
    columns: dict[str, Any] = {}
    levels: dict[str, list[str]] = {}
    for name in frame.columns:
        values = numbers_or_words(frame[name])
        if name not in recipe.levels and values.dtype.kind in "fiub":
            columns[name] = values
            continue
        words = np.array(["" if value is None or value != value else str(value) for value in values], dtype=object)
        found = sorted(set(words) - {""})
        levels[name] = recipe.levels[name] if name in recipe.levels else _checked(name, words, found, path, limit)
        strange = sorted(set(found) - set(levels[name]))
        if strange:
            notes.append(f"values of {name!r} that the model has not seen count as none: {', '.join(strange[:SHOWN])}")
        made = level_names(name, levels[name])
        notes.append(f"text column {name!r} as {len(made)} columns of 0 and 1: {', '.join(made[:SHOWN])}")
        for column in made:
            columns[column] = np.where(words == "", np.nan, words == column.removeprefix(f"{name}="))
    return columns, levels


def _checked(name: str, words: Any, found: list[str], path: Path, limit: int) -> list[str]:
    """The values of a text column, where they are few enough; else an error that says what can be done."""
    import pandas

    numbers = pandas.to_numeric(pandas.Series(words), errors="coerce").notna().to_numpy()
    there = words != ""
    if numbers.sum() > MOSTLY * there.sum():
        wrong = np.flatnonzero(there & ~numbers)
        raise ValueError(
            f"{path.name}: column {name!r} has {len(wrong)} of {len(words)} values that are not numbers, the first "
            f"{str(words[wrong[0]])!r} in row {wrong[0] + 1}: mend them, name them with --na, or leave the column out "
            f"with --without {name!r}"
        )
    if not found:
        raise ValueError(f"{path.name}: column {name!r} has no value at all: leave it out with --without {name!r}")
    if limit and len(found) > limit:
        raise ValueError(
            f"{path.name}: text column {name!r} has {len(found)} different values, more than {limit}: --levels "
            f"{len(found)} makes a column of each, --without {name!r} leaves it out"
        )
    if not limit:
        raise ValueError(f"{path} has columns that are not numbers: {name}; encode or drop them")
    return found
