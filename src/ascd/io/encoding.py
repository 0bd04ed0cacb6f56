"""A table of named columns as features: text becomes 0/1 columns, dates become days, missing values are filled.

The 0/1 columns of a text column are stored as one code a row (``ascd.Table``).  What was done is kept as a ``Recipe``,
so that a model treats the data that it predicts in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd.io.columns import (
    Marks,
    check_names,
    counted,
    days,
    find_target,
    has_target,
    is_date,
    numbers_truths_or_words,
    target_values,
    word_of,
    words,
)
from ascd.io.dialect import is_number

#: What fills missing numbers; a missing word becomes the most frequent one, with "zero" none.
FILLS = ("mean", "median", "zero")
#: What is done with columns of dates; by default they are text.
DATES = ("days", "drop")
#: More than this share of a text column's values are numbers: the others are mistakes rather than words.
MOSTLY = 0.5
#: Names that a message lists.
SHOWN = 5
#: The category of a value that is none of the levels; it has no 0/1 column.
UNSEEN = "\0"


class Choices(NamedTuple):
    """What is done to columns.

    Parameters
    ----------
    without : columns to leave out
    drop : leave out the rows in which a value is missing
    impute : {"", "mean", "median", "zero"}, what fills missing values of features
    levels : a text column with at most so many different values becomes 0/1 columns; 0: none does
    dates : {"", "days", "drop"}, dates as numbers of days since 1970, left out, or text
    """

    without: tuple[str, ...] = ()
    drop: bool = False
    impute: str = ""
    levels: int = 0
    dates: str = ""


class Recipe(NamedTuple):
    """What was done to the columns: fills of missing values, levels of text columns, columns of dates.

    ``written`` says how the file was written: fields of a CSV file's ``Dialect`` and "na", the texts for missing
    values; of a LIBSVM file the "first" index, 0 or 1.
    """

    fills: dict[str, Any] = {}  # noqa: RUF012  never changed
    levels: dict[str, list[str]] = {}  # noqa: RUF012
    dates: Sequence[str] = ()
    written: dict[str, Any] = {}  # noqa: RUF012

    @property
    def marks(self) -> Marks:
        """Decimal mark and mark between thousands of numbers in text."""
        return self.written.get("decimal") or ".", self.written.get("thousands")

    def source(self, feature: str) -> str:
        """Return the column that a feature is made from."""
        return next((name for name, values in self.levels.items() if feature in level_names(name, values)), feature)


class LabeledData(NamedTuple):
    """Features and target of a file.

    Parameters
    ----------
    X : array, sparse matrix or ``ascd.Table`` of shape (n_samples, n_features)
    y : target of shape (n_samples,) or (n_samples, n_targets); None where the file has none
    names : names of the features, or None
    target : name of the target, or list of names
    notes : what was found and done, in sentences
    frame : DataFrame of numbers and categories that X was made of; None for sparse data and data on disk
    """

    X: Any
    y: Any
    names: list[str] | None
    target: Any = None
    notes: tuple[str, ...] = ()
    recipe: Recipe = Recipe()
    frame: Any = None

    def rows(self, chosen: Array) -> LabeledData:
        """Return some rows, by a mask or by their numbers."""
        y = None if self.y is None else self.y[chosen]
        if self.frame is None:
            return self._replace(X=self.X.tocsr()[chosen].tocsc(), y=y)
        frame = self.frame.iloc[np.flatnonzero(chosen) if chosen.dtype == bool else chosen]
        return self._replace(X=design_of(frame), y=y, frame=frame)


def level_names(name: str, values: Sequence[str]) -> list[str]:
    """Return the names of the 0/1 columns: one a value; of two values the second alone."""
    return [f"{name}={value}" for value in (values[1:] if len(values) == 2 else values)]


def label(
    frame: Any, file: str, target: Any, target_optional: bool, features: Sequence[str] | None, choices: Choices,
    recipe: Recipe,
) -> LabeledData:  # fmt: skip
    """Return the target apart from the other columns, and these as features.

    Parameters
    ----------
    frame : DataFrame as it was read
    file : the file's name, for errors
    features : names of a model's features, which are then those of the result; None: all columns
    recipe : of the model's data
    """
    frame.columns = [str(name) for name in frame.columns]
    needed = list(dict.fromkeys(recipe.source(name) for name in features or ()))
    frame, notes = leave_out(frame, choices.without, needed)
    left = list(frame.columns)
    chosen = find_target(left, target, target_optional)
    is_words = isinstance(chosen, str) and chosen in recipe.levels
    y = None if chosen is None else target_values(frame, chosen, is_words, recipe.marks)
    if features is None:
        frame = frame if chosen is None else frame.drop(columns=chosen)
    else:
        missing = [name for name in needed if name not in left]
        if missing:
            raise ValueError(f"{file} lacks {len(missing)} of {len(needed)} features: {', '.join(missing[:SHOWN])}")
        frame = frame[needed]
    encoder = _Encoder(file, choices, recipe, features is not None, notes)
    frame = encoder.encoded(frame)
    found = [name for column, kind in frame.dtypes.items() for name in _features_of(column, kind)]
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{file}: two columns would be called {twice!r}: rename one, or leave it out (--without)")
    kept = Recipe({}, encoder.levels, encoder.dates, recipe.written)
    return fill(LabeledData(None, y, found, chosen, tuple(notes), kept, frame), choices, recipe.fills)


def leave_out(frame: Any, without: Sequence[str], needed: Sequence[str] = ()) -> tuple[Any, list[str]]:
    """Return the frame without the columns named, and without nameless ones that are empty or number the rows.

    Columns that a model ``needed`` stay.
    """
    check_names(without, "column", list(frame.columns))
    frame = frame.drop(columns=list(without))
    notes = [f"left out: {', '.join(without)}"] if without else []
    nameless = [name for name in frame.columns if name.startswith("Unnamed: ") and name not in needed]
    if len(frame.columns) > 2 and frame.columns[0] in nameless:
        column = frame.iloc[:, 0].to_numpy()
        if column.dtype.kind == "i" and column.size and (np.diff(column) == 1).all() and column[0] in (0, 1):
            frame = frame.drop(columns=nameless.pop(0))
            notes.append("the first column counts the rows: left out")
    empty = [name for name in nameless if frame[name].isna().all()]
    if empty and len(empty) < len(frame.columns):
        frame = frame.drop(columns=empty)
        notes.append(f"{counted(len(empty), 'column')} without name and values left out")
    return frame, notes


class _Encoder:
    """Turns columns into numbers and categories; collects levels, dates and notes."""

    def __init__(self, file: str, choices: Choices, recipe: Recipe, is_known: bool, notes: list[str]) -> None:
        self.file, self.choices, self.recipe, self.is_known, self.notes = file, choices, recipe, is_known, notes
        self.levels: dict[str, list[str]] = {}
        self.dates: list[str] = []
        if choices.dates not in ("", *DATES):
            raise unknown_name(choices.dates, "dates", DATES)

    def encoded(self, frame: Any) -> Any:
        """Return a DataFrame of float64 columns and categories."""
        import pandas

        if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in frame.dtypes) and not self.recipe.levels:
            return frame.astype(np.float64)
        columns = {name: self._column(name, frame[name]) for name in frame.columns}
        return pandas.DataFrame({name: one for name, one in columns.items() if one is not None}, index=frame.index)

    def _column(self, name: str, column: Any) -> Any:
        """Return the values of one column: numbers, a category, or None where it is left out."""
        dates = self.choices.dates
        if name in self.recipe.dates or (dates and not self.is_known and is_date(column)):
            if dates == "drop":
                self.notes.append(f"column {name!r} of dates left out")
                return None
            if not is_date(column):
                raise ValueError(
                    f"{self.file}: column {name!r} must be dates such as 2026-01-31, as in the model's data"
                )
            self.dates.append(name)
            self.notes.append(f"column {name!r} of dates as days since 1970-01-01")
            return days(column)
        if name in self.recipe.levels:
            return self._category(name, words(column), self.recipe.levels[name])
        values = numbers_truths_or_words(column, self.recipe.marks)
        if values.dtype.kind in "fiub":
            return values.astype(np.float64)
        return self._category(name, values, None)

    def _category(self, name: str, values: Array, levels: list[str] | None) -> Any:
        """Return a text column as a category; ``levels`` are those of a model."""
        import pandas

        codes, values = pandas.factorize(values)  # -1: missing
        spelled = [word_of(value) for value in values]
        found = sorted(set(spelled))
        if levels is None:
            self._check_words(name, codes, spelled, found)
        levels = self.levels[name] = found if levels is None else levels
        unseen = [word for word in found if word not in levels]
        if unseen:
            shown = ", ".join(unseen[:SHOWN])
            self.notes.append(f"values of {name!r} that the model has not seen count as none: {shown}")
        made = level_names(name, levels)
        shown = ", ".join(made[:SHOWN])
        self.notes.append(f"text column {name!r} as {counted(len(made), 'column')} of 0 and 1: {shown}")
        place = {level: number for number, level in enumerate(levels)}
        places = np.array([*(place.get(word, len(levels)) for word in spelled), -1])
        return pandas.Categorical.from_codes(places[codes], categories=pandas.Index([*levels, UNSEEN], dtype=object))

    def _check_words(self, name: str, codes: Array, spelled: list[str], found: list[str]) -> None:
        """Raise a ValueError where words cannot become 0/1 columns, and say what can be done."""
        is_word = np.array([*(not is_number(word, *self.recipe.marks) for word in spelled), False])
        rows, there = np.flatnonzero(is_word[codes]), int(np.sum(codes >= 0))
        first = spelled[codes[rows[0]]] if rows.size else ""
        if self.is_known and rows.size:
            raise ValueError(
                f"{self.file}: column {name!r} must be numbers, as in the model's data; row {rows[0] + 1} has "
                f"{first!r}: correct it, or name it with --na if it stands for a missing value"
            )
        if there and rows.size < MOSTLY * there:
            raise ValueError(
                f"{self.file}: column {name!r} has {rows.size} of {codes.size} values that are not numbers, the first "
                f"{first!r} in row {rows[0] + 1}: correct them, name them with --na, or leave the column out with "
                f"--without {name!r}"
            )
        way, limit = f"--without {name!r} leaves it out", self.choices.levels
        if not found:
            raise ValueError(f"{self.file}: column {name!r} has no value at all: {way}")
        if not limit:
            raise ValueError(f"{self.file} has columns that are not numbers: {name}; encode or drop them")
        if len(found) > limit:
            raise ValueError(
                f"{self.file}: text column {name!r} has {len(found)} different values, more than {limit}: --levels "
                f"{len(found)} makes a column of each, {way}, --dates days makes numbers of dates, --thousands names "
                f"a mark between thousands; the first value is {spelled[0]!r}"
            )


def _is_category(column: Any) -> bool:
    return str(column.dtype) == "category"


def _made(kind: Any) -> list[str]:
    """Return the levels of a category that have 0/1 columns."""
    levels = list(kind.categories[:-1])
    return levels[1:] if len(levels) == 2 else levels


def _features_of(name: str, kind: Any) -> list[str]:
    return [f"{name}={level}" for level in _made(kind)] if str(kind) == "category" else [name]


def design_of(frame: Any) -> Any:
    """Return the features of an encoded frame: an array, or an ``ascd.Table`` where there are text columns."""
    words = [name for name, kind in frame.dtypes.items() if str(kind) == "category"]
    if not words:
        return np.asfortranarray(frame.to_numpy(dtype=np.float64))
    from ascd.matrix.table import Table

    return Table(frame.assign(**{name: frame[name].cat.set_categories(_made(frame[name].dtype)) for name in words}))


def predictor(frame: Any, coefs: Array) -> Array:
    """Return the linear predictor X·coefs of an encoded frame; coefs has shape (n_features, n_outputs)."""
    if not any(str(kind) == "category" for kind in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64) @ coefs)
    out, start = np.zeros((len(frame), coefs.shape[1])), 0
    for name in frame:
        column = frame[name]
        if not _is_category(column):
            out += np.outer(column.to_numpy(), coefs[start])
            start += 1
            continue
        made = column.cat.set_categories(_made(column.dtype)).cat
        stop = start + len(made.categories)
        out += np.vstack([coefs[start:stop], np.zeros(coefs.shape[1])])[made.codes]  # code -1: none of the levels
        start = stop
    return out


def fill(data: LabeledData, choices: Choices, fills: dict[str, Any]) -> LabeledData:
    """Return the data with missing values filled or their rows left out, as chosen; ``fills`` are a model's."""
    if choices.impute not in ("", *FILLS):
        raise unknown_name(choices.impute, "impute", FILLS)
    if (choices.drop or choices.impute) and data.y is not None:  # nothing can fill a target
        known = has_target(data.y)
        if not known.any():
            raise no_target(data)
        data = _kept(data, known)
    if choices.drop:
        missing = missing_values(data)
        data = _kept(data, np.asarray(~missing.reshape(len(missing), -1).any(axis=1)))
    if data.frame is None:
        if (choices.impute or fills) and missing_values(data).any():
            raise ValueError("missing values of a sparse table cannot be filled; --drop leaves out their rows")
        return data
    if choices.impute or fills:
        frame = data.frame.mask(missing_values(data))
        fills = fills or {name: _fill_of(frame[name], name, choices.impute) for name in frame}
        count = int(frame.isna().to_numpy().sum())
        how = f"by the column's {choices.impute}" if choices.impute else "as in the model"
        notes = (*data.notes, f"{counted(count, 'missing value')} filled {how}") if count else data.notes
        frame, recipe = frame.fillna(fills), data.recipe._replace(fills=fills)
        data = data._replace(frame=frame, notes=notes, recipe=recipe)
    return data._replace(X=design_of(data.frame))


def _kept(data: LabeledData, kept: Array) -> LabeledData:
    """Return the rows that are kept."""
    if kept.all():
        return data
    if not kept.any():
        empty = empty_column(data)
        why = f"column {empty!r} has no value at all" if empty else "every row lacks a value"
        way = f"--without {empty!r} leaves it out" if empty else "--impute mean fills them"
        raise ValueError(f"--drop would leave out all {kept.size:,} rows, as {why}: {way}")
    note = f"{np.sum(~kept):,} of {kept.size:,} rows left out: a value is missing"
    return data.rows(kept)._replace(notes=(*data.notes, note))


def _fill_of(column: Any, name: str, impute: str) -> Any:
    """Return what fills missing values of a column: a number, or a word (UNSEEN: none of the words)."""
    if impute == "zero":
        return UNSEEN if _is_category(column) else 0.0
    if column.isna().all():
        raise ValueError(f"column {name!r} has no value at all: leave it out (--without {name!r})")
    if _is_category(column):
        return str(column.mode().iloc[0])
    return float(column.mean() if impute == "mean" else column.median())


def missing_values(data: LabeledData) -> Array:
    """Return where features are missing or infinite: array (n_samples, n_columns), or (n_samples,) if sparse."""
    if data.frame is not None:
        numbers = data.frame.select_dtypes("number").columns
        gone = data.frame.isna()
        gone[numbers] |= np.isinf(data.frame[numbers])
        return np.asarray(gone.to_numpy())
    stored, gone = data.X.tocoo(), np.zeros(data.X.shape[0], dtype=bool)
    gone[stored.row[~np.isfinite(stored.data)]] = True
    return gone


def empty_column(data: LabeledData) -> str | None:
    """Return the name of the first column that has no value at all."""
    if data.frame is None or not len(data.frame):
        return None
    gone = np.flatnonzero(missing_values(data).all(axis=0))
    return str(data.frame.columns[gone[0]]) if gone.size else None


def no_target(data: LabeledData) -> ValueError:
    """Return the error of a target without values."""
    named = f"the target {data.target!r}" if isinstance(data.target, str) else "the target"
    return ValueError(f"{named} has no value at all: name another column with --target")
