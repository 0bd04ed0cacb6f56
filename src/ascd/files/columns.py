"""Named columns become numbers: missing values are filled or their rows left out, text columns become 0/1 columns.

What was done is kept as a ``Recipe``, so that a model does the same to the data it predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import unknown_name
from ascd.files.dialect import is_missing

#: What a missing value of a column can be filled with.
FILLS: dict[str, Callable[[Any], float]] = {"mean": np.nanmean, "median": np.nanmedian, "zero": lambda column: 0.0}
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
    """A design, its target (None where the file holds none), the names of the features and of the target (or None)."""

    X: Any
    y: Any
    names: list[str] | None
    target: str | None = None
    notes: tuple[str, ...] = ()
    recipe: Recipe = Recipe()


def as_table(
    frame: Any,
    path: Path,
    target: str | None,
    target_optional: bool,
    features: Sequence[str] | None,
    choices: Choices,
    recipe: Recipe,
) -> Table:
    """The target's column apart from the others, and these as numbers."""
    frame.columns = names = [str(name) for name in frame.columns]
    frame, notes = left_after(frame, choices.without)
    chosen = target_of([str(name) for name in frame.columns], target, target_optional)
    y = None if chosen is None else numbers_or_words(frame[chosen])
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


def without_gaps(table: Table, choices: Choices, recipe: Recipe) -> Table:
    """Missing values filled, or their rows left out, as chosen; by default the table as it is."""
    if choices.drop or choices.impute:
        table = _without_rows(table, every_gap=choices.drop)
    if not (choices.impute or recipe.fills):
        return table
    if not hasattr(table.X, "tocoo"):
        return _filled(table, choices.impute, recipe)
    if _gaps_by_row(table.X).any():
        raise ValueError("missing values of a sparse table cannot be filled; --drop leaves out their rows")
    return table


def _without_rows(table: Table, every_gap: bool) -> Table:
    """The table without rows that have no target, which nobody can fill, and without those that have another gap."""
    X, y = table.X, table.y
    kept = ~_gaps_by_row(X) if every_gap else np.ones(X.shape[0], dtype=bool)
    if y is not None:
        kept &= np.array([value is not None and value == value for value in y], dtype=bool)
    if kept.all():
        return table
    rest = X.tocsr()[kept].tocsc() if hasattr(X, "tocsr") else np.asfortranarray(X[kept])
    note = f"{np.sum(~kept):,} of {kept.size:,} rows left out: a value is missing"
    return table._replace(X=rest, y=None if y is None else y[kept], notes=(*table.notes, note))


def _filled(table: Table, impute: str, recipe: Recipe) -> Table:
    """The table with its gaps filled by a statistic of the column, or as a model's recipe says."""
    X = table.X
    names = table.names or [str(j) for j in range(X.shape[1])]
    fills = dict(recipe.fills) or {name: _fill(X[:, j], name, impute) for j, name in enumerate(names)}
    gaps = np.isnan(X)
    for j in np.flatnonzero(gaps.any(axis=0)):
        X[gaps[:, j], j] = fills[names[j]]
    how = f"by the column's {impute}" if impute else "as in the model"
    notes = (f"{gaps.sum():,} missing values filled {how}",) if gaps.any() else ()
    return table._replace(X=X, notes=(*table.notes, *notes), recipe=table.recipe._replace(fills=fills))


def _fill(column: Any, name: str, impute: str) -> float:
    if impute not in FILLS:
        raise unknown_name(impute, "impute", FILLS)
    if np.isnan(column).all() and impute != "zero":
        raise ValueError(f"column {name!r} has no value at all: leave it out (--without {name!r})")
    return float(FILLS[impute](column))


def _gaps_by_row(X: Any) -> Any:
    if not hasattr(X, "tocoo"):
        return np.isnan(X).any(axis=1)
    stored = X.tocoo()
    gone = np.zeros(X.shape[0], dtype=bool)
    gone[stored.row[np.isnan(stored.data)]] = True
    return gone


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
    chosen = target if target is not None else next((name for name in TARGETS if name in names), None)
    if chosen is None and not optional:
        chosen = names[-1]
    if chosen is None or chosen in names:
        return chosen
    if not optional:
        raise unknown_name(chosen, "target", names)
    return None


def _source(feature: str, recipe: Recipe) -> str:
    """The column that a feature is made from."""
    return next((name for name, values in recipe.levels.items() if feature in _level_names(name, values)), feature)


def _level_names(name: str, values: Sequence[str]) -> list[str]:
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
        made = _level_names(name, levels[name])
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
