"""Named columns become numbers: missing values are filled or their rows left out, text columns become 0/1 columns.

The 0/1 columns of a text column are kept as one code a row (``mixed``).  What was done is kept as a ``Recipe``, so that
a model does the same to the data it predicts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.files.counting import counted
from ascd.files.dialect import is_number
from ascd.files.mixed import GONE, NONE, Mixed, Numbers, Words, in_order
from ascd.files.targets import (
    named_columns,
    numbers_truths_or_words,
    target_of,
    target_values,
    targets_of,
    word_of,
    words_of,
)

#: At least this share of a column's values are numbers: the others are mistakes rather than words.
MOSTLY = 0.5
SHOWN = 5
#: A number with a sign of a unit or currency, such as 10% or $1.50, or with the minus of typography or bookkeeping.
DECORATED = re.compile(r"[+-]?[$€£¥]\s?[\d.,]+|[+-]?[\d.,]+\s?[$€£¥%]|\u2212[\d.,]+|\([\d.,]+\)")


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
    """What was done to the columns: values that fill gaps, and the values of text columns that have 0/1 columns.

    Those of a target that is text are its classes.

    ``written`` says how a CSV file was written: its "sep", "decimal", "header" and "na", texts for missing values; of a
    LIBSVM file, which index is the "first", 0 or 1.
    """

    fills: dict[str, float] = {}  # noqa: RUF012  never changed
    levels: dict[str, list[str]] = {}  # noqa: RUF012
    written: dict[str, Any] = {}  # noqa: RUF012

    def source(self, feature: str) -> str:
        """The column that a feature is made from."""
        return next((name for name, values in self.levels.items() if feature in level_names(name, values)), feature)


class Table(NamedTuple):
    """A design, its target (None where the file holds none), the names of the features and of the target (or None).

    The design is an array, a sparse matrix, or ``Mixed`` where there are text columns.

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
    wanted = list(dict.fromkeys(recipe.source(name) for name in features or ()))
    frame, notes = left_after(frame, choices.without, wanted)
    left = [str(name) for name in frame.columns]
    is_one = target is None or isinstance(target, str)
    chosen: Any = (target_of if is_one else targets_of)(left, target, target_optional)
    y = None if chosen is None else target_values(frame, chosen, is_one and chosen in recipe.levels)
    rest = frame if chosen is None else frame.drop(columns=chosen)
    if features is not None:
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"{path} lacks {len(missing)} of {len(wanted)} features: {', '.join(missing[:SHOWN])}")
        rest = frame[wanted]
        _check_words(rest, path, recipe)
    pieces, levels = _encoded(rest, path, choices.levels, recipe, notes)
    found = [name for piece in pieces for name in piece.names]
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{path.name}: two columns would be called {twice!r}: rename one, or leave it out (--without)")
    if features is not None and found != list(features):
        pieces, found = in_order(pieces, features), list(features)
    return Table(_side_by_side(pieces, len(frame)), y, found, chosen, tuple(notes), Recipe({}, levels))


def _side_by_side(pieces: list[Numbers | Words], height: int) -> Any:
    """One array where all are numbers."""
    if any(isinstance(piece, Words) for piece in pieces):
        return Mixed(pieces)
    return np.asfortranarray(np.hstack([np.empty((height, 0)), *(piece.in_full() for piece in pieces)]))


def left_after(frame: Any, without: Sequence[str], needed: Sequence[str] = ()) -> tuple[Any, list[str]]:
    """The frame without some columns: those named, and of those without a name empty ones and a count of the rows.

    What a model ``needed`` stays, whatever it holds here.
    """
    named_columns(without, "column", list(frame.columns))
    frame = frame.drop(columns=list(without))
    notes = [f"left out: {', '.join(without)}"] if without else []
    nameless = [name for name in frame.columns if name.startswith("Unnamed: ") and name not in needed]
    if len(frame.columns) > 2 and frame.columns[0].startswith("Unnamed: 0") and frame.columns[0] in nameless:
        column = frame.iloc[:, 0].to_numpy()
        if column.dtype.kind == "i" and column.size and (np.diff(column) == 1).all() and column[0] in (0, 1):
            frame = frame.drop(columns=frame.columns[0])
            notes.append("the first column counts the rows: left out")
    empty = [name for name in nameless if name in frame.columns and frame[name].isna().all()]
    if empty and len(empty) < len(frame.columns):
        frame = frame.drop(columns=empty)
        notes.append(f"{counted(len(empty), 'column')} without name and values left out")
    return frame, notes


def level_names(name: str, values: Sequence[str]) -> list[str]:
    """One 0/1 column a value; of two values the second alone, which tells the first as well."""
    return [f"{name}={value}" for value in (values[1:] if len(values) == 2 else values)]


def _encoded(
    frame: Any, path: Path, limit: int, recipe: Recipe, notes: list[str]
) -> tuple[list[Numbers | Words], dict[str, list[str]]]:
    """The columns in their order, and the values of the text columns among them."""
    pieces: list[Numbers | Words] = []
    levels: dict[str, list[str]] = {}
    waiting: dict[str, Array] = {}  # neighbours that are numbers become one piece
    for name in frame.columns:
        is_known = name in recipe.levels
        values = (words_of if is_known else numbers_truths_or_words)(frame[name])
        if not is_known and values.dtype.kind in "fiub":
            waiting[name] = values
            continue
        words = np.array([word_of(value) for value in values], dtype=object)
        found = sorted(set(words) - {""})
        levels[name] = recipe.levels[name] if is_known else _checked(name, words, found, path, limit)
        strange = sorted(set(found) - set(levels[name]))
        if strange:
            notes.append(f"values of {name!r} that the model has not seen count as none: {', '.join(strange[:SHOWN])}")
        odd = next((word for word in found if DECORATED.fullmatch(word)), None) if not recipe.levels else None
        if odd is not None:
            notes.append(
                f"column {name!r} is text: {odd!r} is a number with other characters; remove them to use it so"
            )
        made = level_names(name, levels[name])
        notes.append(f"text column {name!r} as {counted(len(made), 'column')} of 0 and 1: {', '.join(made[:SHOWN])}")
        pieces += [*_joined(waiting), Words(made, _codes(words, levels[name][-len(made) :]))]
        waiting = {}
    return [*pieces, *_joined(waiting)], levels


def _check_words(frame: Any, path: Path, recipe: Recipe) -> None:
    """Refuse words where a model has numbers."""
    for name in frame.columns:
        values = numbers_truths_or_words(frame[name]) if name not in recipe.levels else np.empty(0)
        if values.dtype.kind in "fiub":
            continue
        words = [(row, word) for row, word in enumerate(map(word_of, values), start=1) if word and not is_number(word)]
        if words:
            row, word = words[0]
            raise ValueError(
                f"{path.name}: column {name!r} must be numbers, as in the model's data; row {row} has {word!r}: mend "
                "it, or name it with --na if it stands for a missing value"
            )


def _codes(words: Array, levels: Sequence[str]) -> Array:
    """The place of each word among the levels, in the smallest integers that hold them."""
    place = {level: number for number, level in enumerate(levels)} | {"": GONE}
    return np.fromiter((place.get(word, NONE) for word in words), np.min_scalar_type(-len(levels) - 1), len(words))


def _joined(columns: dict[str, Array]) -> list[Numbers | Words]:
    """Columns of numbers as one piece, where there are any."""
    if not columns:
        return []
    values = np.empty((len(next(iter(columns.values()))), len(columns)), order="F")
    for j, column in enumerate(columns.values()):
        values[:, j] = column
    return [Numbers(list(columns), values)]


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
            f"{len(found)} makes a column of each, --without {name!r} leaves it out; the first value is {words[0]!r}"
        )
    if not limit:
        raise ValueError(f"{path} has columns that are not numbers: {name}; encode or drop them")
    return found
