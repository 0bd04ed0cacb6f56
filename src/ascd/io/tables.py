"""A table of named columns as features and target.

A column is numbers only where all its values are; otherwise every value stays the word that it was (07, TRUE).  Words
become 0/1 columns (``ascd.Table``); missing values may be filled.  What was done is kept as a
``Recipe``, so that a model treats the data that it predicts in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unknown_name

#: Texts in small letters that stand for a missing value.
MISSING = frozenset(("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "missing", "#n/a", "<na>", "nat"))
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: Names by which a target is found.
TARGETS = ("target", "y", "label")
#: What fills missing numbers; a missing word becomes the most frequent one.
FILLS = ("mean", "median")
#: Words in small letters that pandas reads as truths in a column of nothing else.
TRUTHS = {"false": 0.0, "true": 1.0}
#: Names that a message lists.
SHOWN = 5
#: What to do with a column.
LEAVE_OUT = "--without {!r} leaves it out"
DATES = ": dates have to be numbers, such as days since the first one, in the file"


class ColumnError(ValueError):
    """A column that was named does not exist, or was named twice."""


class Choices(NamedTuple):
    """What is done to columns.

    Parameters
    ----------
    without : columns to leave out
    drop : leave out the rows in which a value is missing
    impute : {"", "mean", "median"}, what fills missing values of features
    levels : a text column with at most so many different values becomes 0/1 columns; 0: none does
    """

    without: tuple[str, ...] = ()
    drop: bool = False
    impute: str = ""
    levels: int = 0


class Recipe(NamedTuple):
    """What was done to the columns: fills of missing values, levels of text columns.

    ``written`` says how the file was written: fields of a CSV file's ``Dialect``; of a LIBSVM file the "first" index, 0
    or 1.  A model adds its features (None: they have no names) and their number.
    """

    fills: dict[str, Any] = {}  # noqa: RUF012  never changed
    levels: dict[str, list[str]] = {}  # noqa: RUF012
    written: dict[str, Any] = {}  # noqa: RUF012
    features: Sequence[str] | None = None
    width: int = 0

    def sources(self) -> list[str]:
        """Return the columns that features are made from."""
        made = {feature: name for name, levels in self.levels.items() for feature in level_names(name, levels)}
        return list(dict.fromkeys(made.get(name, name) for name in self.features or ()))


class LabeledData(NamedTuple):
    """Features and target of a file.

    Parameters
    ----------
    X : array, sparse matrix or ``ascd.Table`` of shape (n_samples, n_features)
    y : target of shape (n_samples,); None where the file has none
    names : names of the features, or None
    target : name of the target
    notes : what was found and done, in sentences
    frame : DataFrame of numbers and words that X was made of; None for sparse data and data on disk
    """

    X: Any
    y: Any
    names: list[str] | None
    target: str | None = None
    notes: tuple[str, ...] = ()
    recipe: Recipe = Recipe()
    frame: Any = None

    def rows(self, chosen: Array) -> LabeledData:
        """Return some rows, by their numbers."""
        y = None if self.y is None else self.y[chosen]
        if self.frame is None:
            return self._replace(X=self.X.tocsr()[chosen].tocsc(), y=y)
        frame = self.frame.iloc[chosen]
        return self._replace(X=design_of(frame, self.recipe.levels), y=y, frame=frame)

    @property
    def target_words(self) -> str:
        """The target in words: with its name where it has one."""
        return f"the target {self.target!r}" if self.target else "the target"

    def missing(self) -> Array:
        """Return where features are missing or infinite: shape (n_samples, n_columns), or (n_samples, 1) if sparse."""
        if self.frame is not None:
            numbers = self.frame.select_dtypes("number").columns
            gone = self.frame.isna()
            gone[numbers] |= np.isinf(self.frame[numbers])
            return np.asarray(gone.to_numpy())
        stored, found = self.X.tocoo(), np.zeros((self.X.shape[0], 1), dtype=bool)
        found[stored.row[~np.isfinite(stored.data)]] = True
        return found


def counted(number: int, word: str) -> str:
    """Return a number with its word, in the plural unless it is 1: "1 row", "1,200 rows"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Return the first few names, with "..." where there are more."""
    return ", ".join([*names[:SHOWN], *(["..."] if len(names) > SHOWN else [])])


# ---- values of columns


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return True for a finite number in digits."""
    text = cell.strip(" \t")
    if decimal == ",":
        text = "" if "." in text else text.replace(",", ".")
    return NUMBER.fullmatch(text) is not None


def words(column: Any) -> Any:
    """Return a column as words, also where all of them are numbers (None: missing)."""
    if column.dtype.kind in "fiub":
        return np.array([word_of(value) or None for value in column], dtype=object)
    text = column.astype(str).fillna("").astype(object)
    return text.mask(text.str.strip().str.lower().isin(MISSING), None).to_numpy(dtype=object)


def word_of(value: Any) -> str:
    """Return a value of a text column; "" where it is missing.  Missing values make whole numbers floats: 3.0 is 3."""
    import pandas

    if pandas.isna(value):
        return ""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def numbers(column: Any, decimal: str = ".", truths: bool = True) -> Any:
    """Return a column as numbers (nan: missing), or None where a value is none.

    ``truths``: take TRUE and FALSE beside missing values for 1 and 0, as in a column without missing values.
    """
    import pandas

    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=float, na_value=np.nan) if column.isna().any() else column.to_numpy()
    text = pandas.Series(words(column), dtype=object)
    known = text.dropna()
    if truths and len(known) and known.str.lower().isin(TRUTHS).all():
        return text.str.lower().map(TRUTHS).to_numpy(dtype=float)
    if decimal == ",":  # 1.250 may be a number with a mark between thousands, or be meant otherwise
        known = known.where(~known.str.contains(".", regex=False), "no number").str.replace(",", ".")
    found = pandas.to_numeric(known, errors="coerce")
    return found.reindex(text.index).to_numpy(dtype=float) if len(found) and found.notna().all() else None


def target_values(column: Any, are_words: bool = False, decimal: str = ".") -> Any:
    """Return a target's values: numbers, or words."""
    found = None if are_words else numbers(column, decimal, truths=False)
    return words(column) if found is None else found


def has_target(y: Any) -> Array:
    """Return which samples have a target; an infinite one is none."""
    if y.dtype.kind in "fiub":
        return np.asarray(np.isfinite(y))
    return np.array([value is not None and value == value for value in y], dtype=bool)


# ---- features and target


def check_names(chosen: Sequence[str], role: str, names: Sequence[str]) -> None:
    """Raise a ColumnError for a name that no column has, or that is given twice."""
    for number, name in enumerate(chosen):
        if name in chosen[:number]:
            raise ColumnError(f"{role} {name!r} is named twice")
        if name not in names:
            raise ColumnError(str(unknown_name(name, role, names)))


def is_nameless(name: str) -> bool:
    """Return True for what pandas calls a column whose header is empty, such as the numbers of the rows."""
    return name.startswith("Unnamed: ")


def find_target(names: Sequence[str], target: str | None, optional: bool = False) -> Any:
    """Return the target's name: the one given, else one of TARGETS, else the last; None if optional and not there."""
    if not names:
        raise ValueError("there is no column with a name")
    if target is not None:
        if not optional:
            check_names([target], "target", names)
        return target if target in names else None
    spelled = (name for wanted in TARGETS for name in (wanted, wanted.upper(), wanted.title()))
    found = next((name for name in spelled if name in names), None)
    return found if found is not None or optional else names[-1]


def label(
    frame: Any, file: str, target: str | None, choices: Choices, recipe: Recipe | None = None, decimal: str = "."
) -> LabeledData:
    """Return the target apart from the other columns, and these as features; columns without a name are left out.

    With a ``recipe`` of a model's data the features are the model's, and the target may be missing.
    """
    frame.columns = [str(name) for name in frame.columns]
    known = recipe or Recipe()
    check_names(choices.without, "column", list(frame.columns))
    nameless = list(filter(is_nameless, frame.columns))
    notes = [f"left out: {', '.join(choices.without)}"] if choices.without else []
    notes += [f"{counted(len(nameless), 'column')} without a name left out"] if nameless else []
    frame = frame.drop(columns=[*choices.without, *nameless])
    chosen = find_target(list(frame.columns), target, optional=recipe is not None)
    y = None if chosen is None else target_values(frame[chosen], chosen in known.levels, decimal)
    if recipe is not None and recipe.features is not None:
        needed = recipe.sources()
        missing = [name for name in needed if name not in frame.columns]
        if missing:
            raise ValueError(f"{file} lacks {len(missing)} of {len(needed)} features: {listed(missing)}")
        frame = frame[needed]
    elif chosen is not None:
        frame = frame.drop(columns=chosen)
    frame, levels = _typed(frame, file, choices, recipe, decimal, notes)
    found = [one for name in frame for one in (level_names(name, levels[name]) if name in levels else [name])]
    if not found:
        raise ValueError(f"{file} has {len(frame)} samples and 0 features: is the separator right (--sep)?")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{file}: two columns would be called {twice!r}: rename one, or leave it out (--without)")
    data = LabeledData(None, y, found, chosen, tuple(notes), Recipe(levels=levels), frame)
    return fill(data, choices, known.fills)


def _typed(
    frame: Any, file: str, choices: Choices, recipe: Recipe | None, decimal: str, notes: list[str]
) -> tuple[Any, dict[str, list[str]]]:
    """Return a frame of columns of float64 or of words, and the levels of these: a model's, or those that are there."""
    import pandas

    known = recipe.levels if recipe else {}
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in frame.dtypes) and not known:
        return frame.astype(np.float64), {}
    columns, levels = {}, {}
    for name in frame.columns:
        found = None if name in known else numbers(frame[name], decimal)
        if found is not None:
            columns[name] = found.astype(np.float64)
            continue
        columns[name] = text = words(frame[name])
        values = sorted({word for word in text if word is not None})
        if name not in known:
            _check_words(f"{file}: column {name!r}", name, text, values, choices, recipe, decimal)
        levels[name] = known.get(name) or values
        unseen = [value for value in values if value not in levels[name]]
        if unseen:
            notes.append(f"values of {name!r} that the model has not seen count as none: {listed(unseen)}")
        made = level_names(name, levels[name])
        notes.append(f"text column {name!r} as {counted(len(made), 'column')} of 0 and 1: {listed(made)}")
    return pandas.DataFrame(columns, index=frame.index), levels


def _check_words(
    column: str, name: str, text: Array, values: list[str], choices: Choices, recipe: Recipe | None, decimal: str
) -> None:
    """Raise a ValueError where words cannot become 0/1 columns, and say what can be done."""
    if not values:
        raise ValueError(f"{column} has no value at all: {LEAVE_OUT.format(name)}")
    none = {value for value in values if not is_number(value, decimal)}
    rows = [row for row, word in enumerate(text) if word in none]
    first = f"{text[rows[0]]!r} in row {rows[0] + 1}" if rows else ""
    if recipe is not None and rows:
        data, way = (", as in the model's data", "") if recipe.width else ("", f"; {LEAVE_OUT.format(name)}")
        raise ValueError(
            f"{column} must be numbers{data}; the first that is none is {first}: correct it, name it with --na if it "
            f"stands for a missing value, or name the decimal mark (--decimal){way}"
        )
    if len(rows) < 0.5 * sum(word is not None for word in text):  # the others are mistakes rather than words
        raise ValueError(
            f"{column} has {len(rows)} of {len(text)} values that are not numbers, the first {first}: correct them, "
            f"name them with --na; {LEAVE_OUT.format(name)}"
        )
    if len(values) > choices.levels:
        raise ValueError(
            f"{column.replace('column', 'text column')} has {len(values)} different values, more than "
            f"{choices.levels}: --levels {len(values)} makes a column of each, {LEAVE_OUT.format(name)}; one is "
            f"{values[0]!r}{DATES if re.match('[0-9]+[-/.][0-9]+[-/.][0-9]', values[0]) else ''}"
        )


def _coded(levels: Sequence[str]) -> Any:
    """Return the levels that have a 0/1 column: all, or of two the second alone."""
    return levels[1:] if len(levels) == 2 else levels


def level_names(name: str, levels: Sequence[str]) -> list[str]:
    """Return the names of the 0/1 columns of a text column."""
    return [f"{name}={level}" for level in _coded(levels)]


def _codes(column: Any, levels: Any) -> Array:
    """Return the place of each word among the levels; -1 where it is none of them, or missing."""
    import pandas

    return np.asarray(pandas.Index(levels, dtype=object).get_indexer(column.astype(object)))


def design_of(frame: Any, levels: dict[str, list[str]]) -> Any:
    """Return the features of a typed frame: an array, or an ``ascd.Table`` where there are text columns."""
    if not levels:
        return np.asfortranarray(frame.to_numpy(dtype=np.float64))
    from pandas import Categorical

    from ascd.matrix.table import Table

    coded = {name: _coded(known) for name, known in levels.items()}
    return Table(frame.assign(**{
        name: Categorical.from_codes(_codes(frame[name], known), known) for name, known in coded.items()
    }))  # fmt: skip


def predictor(data: LabeledData, coefs: Array) -> Array:
    """Return the linear predictor X·coefs of a frame without compiled code; coefs: (n_features, n_outputs)."""
    frame, levels = data.frame, data.recipe.levels
    if not levels:
        return np.asarray(frame.to_numpy(dtype=np.float64) @ coefs)
    out, place = np.zeros((len(frame), coefs.shape[1])), 0
    for name in frame:
        if name not in levels:
            out += frame[name].to_numpy()[:, None] * coefs[place]
            place += 1
            continue
        known = _coded(levels[name])
        of_level = np.vstack([coefs[place : place + len(known)], np.zeros(coefs.shape[1])])
        out += of_level[_codes(frame[name], known)]
        place += len(known)
    return out


# ---- missing values


def fill(data: LabeledData, choices: Choices, fills: dict[str, Any]) -> LabeledData:
    """Return the data with missing values filled or their rows left out, as chosen; ``fills`` are a model's."""
    if choices.impute not in ("", *FILLS):
        raise unknown_name(choices.impute, "impute", FILLS)
    if (choices.drop or choices.impute) and data.y is not None:  # nothing can fill a target
        data = _kept(data, has_target(data.y))
    if choices.drop:
        data = _kept(data, np.asarray(~data.missing().any(axis=1)))
    if data.frame is None:
        if (choices.impute or fills) and data.missing().any():
            raise ValueError("missing values of a sparse table cannot be filled; --drop leaves out their rows")
        return data
    if choices.impute or fills:
        frame, levels = data.frame.mask(data.missing()), data.recipe.levels
        fills = fills or {name: _fill_of(frame[name], name in levels, choices.impute) for name in frame}
        count = int(frame.isna().to_numpy().sum())
        how = f"by the column's {choices.impute}" if choices.impute else "as in the model"
        notes = (*data.notes, f"{counted(count, 'missing value')} filled {how}") if count else data.notes
        data = data._replace(frame=frame.fillna(fills), notes=notes, recipe=data.recipe._replace(fills=fills))
    return data._replace(X=design_of(data.frame, data.recipe.levels))


def _kept(data: LabeledData, kept: Array) -> LabeledData:
    """Return the rows that are kept."""
    if kept.all():
        return data
    if not kept.any():
        raise ValueError(
            f"--drop would leave out all {kept.size:,} rows: every one lacks a value, or {data.target_words}"
        )
    note = f"{np.sum(~kept):,} of {kept.size:,} rows left out: a value is missing"
    return data.rows(np.flatnonzero(kept))._replace(notes=(*data.notes, note))


def _fill_of(column: Any, is_text: bool, impute: str) -> Any:
    """Return what fills missing values of a column: a number, or the most frequent word."""
    if column.isna().all():
        raise ValueError(f"column {column.name!r} has no value at all: {LEAVE_OUT.format(column.name)}")
    return str(column.mode().iloc[0]) if is_text else float(getattr(column, impute)())


def check_complete(data: LabeledData, file: str, way: str) -> None:
    """Raise a ValueError for missing features that names the first one and the ``way`` to do without it."""
    samples, features = data.X.shape
    if not samples or not features:
        raise ValueError(f"{file} has {samples} samples and {features} features: there is nothing to do")
    gone = data.missing()
    if gone.any():
        row = int(np.argmax(gone.any(axis=1)))
        where = f"in feature {data.frame.columns[np.argmax(gone[row])]!r}, " if data.frame is not None else "in "
        count = counted(int(gone.sum()), "missing or infinite value")
        raise ValueError(f"{file} has {count}, the first {where}row {row + 1}: {way}")
