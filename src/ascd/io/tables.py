"""A table of named columns as features and target.

A column is numbers only where all its values are; otherwise every value stays the word that it was (07, TRUE).  Words
become 0/1 columns, stored as one code a row (``ascd.Table``), dates may become days, missing values may be filled.
What was done is kept as a ``Recipe``, so that a model treats the data that it predicts in the same way.
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
#: What fills missing numbers; a missing word becomes the most frequent one, with "zero" none.
FILLS = ("mean", "median", "zero")
#: A day, or a moment, in ISO 8601.
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
#: Words in small letters that pandas reads as truths in a column of nothing else.
TRUTHS = {"false": 0.0, "true": 1.0}
#: Names that a message lists.
SHOWN = 5
#: The category of a value that is none of the levels; it has no 0/1 column.
UNSEEN = "\0"
#: What to do with a column that has no value at all, or of which only some rows have one.
LEAVE_OUT = "--without {!r} leaves it out"


class ColumnError(ValueError):
    """A column that was named does not exist, or was named twice."""


class Choices(NamedTuple):
    """What is done to columns.

    Parameters
    ----------
    without : columns to leave out
    drop : leave out the rows in which a value is missing
    impute : {"", "mean", "median", "zero"}, what fills missing values of features
    levels : a text column with at most so many different values becomes 0/1 columns; 0: none does
    dates : {"", "days"}, dates as text, or as numbers of days since 1970
    """

    without: tuple[str, ...] = ()
    drop: bool = False
    impute: str = ""
    levels: int = 0
    dates: str = ""


class Recipe(NamedTuple):
    """What was done to the columns: fills of missing values, levels of text columns, columns of dates.

    ``written`` says how the file was written: fields of a CSV file's ``Dialect``; of a LIBSVM file the "first" index, 0
    or 1.  A model adds its features (None: they have no names) and their number.
    """

    fills: dict[str, Any] = {}  # noqa: RUF012  never changed
    levels: dict[str, list[str]] = {}  # noqa: RUF012
    dates: Sequence[str] = ()
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
        """Return some rows, by their numbers."""
        y = None if self.y is None else self.y[chosen]
        if self.frame is None:
            return self._replace(X=self.X.tocsr()[chosen].tocsc(), y=y)
        frame = self.frame.iloc[chosen]
        return self._replace(X=design_of(frame), y=y, frame=frame)

    @property
    def target_words(self) -> str:
        """The target, or several, in words: with its name where it has one."""
        named = [self.target] if isinstance(self.target, str) else self.target or ()
        return " ".join(["the target", ", ".join(map(repr, named))]).rstrip()

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

    def empty_column(self) -> str | None:
        """Return the name of the first column that has no value at all."""
        gone = () if self.frame is None or not len(self.frame) else self.missing().all(axis=0)
        return next((str(self.frame.columns[j]) for j in np.flatnonzero(gone)), None)


def counted(number: int, word: str) -> str:
    """Return a number with its word, in the plural unless it is 1: "1 row", "1,200 rows"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def level_names(name: str, levels: Sequence[str]) -> list[str]:
    """Return the names of the 0/1 columns: one a level; of two levels the second alone."""
    return [f"{name}={level}" for level in _coded(levels)]


def _coded(levels: Sequence[str]) -> Sequence[str]:
    return levels[1:] if len(levels) == 2 else levels


# ------------------------------------------------------------------------------------------------ values of columns


def check_names(chosen: Sequence[str], role: str, names: Sequence[str]) -> None:
    """Raise a ColumnError for a name that no column has, or that is given twice."""
    for number, name in enumerate(chosen):
        if name in chosen[:number]:
            raise ColumnError(f"{role} {name!r} is named twice")
        if name not in names:
            raise ColumnError(str(unknown_name(name, role, names)))


def find_target(names: Sequence[str], target: Any, optional: bool = False) -> Any:
    """Return the target's name: the one given (or a list of them), else one of TARGETS, else the last column.

    None where an ``optional`` target is not there.
    """
    if target is not None:
        chosen = [target] if isinstance(target, str) else list(target)
        missing = [name for name in chosen if name not in names]
        check_names(chosen, "target", [*names, *missing] if optional else names)
        return None if missing else target if isinstance(target, str) else chosen
    spelled = (name for wanted in TARGETS for name in (wanted, wanted.upper(), wanted.title()))
    found = next((name for name in spelled if name in names), None)
    return found if found is not None or optional else names[-1]


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


def days(column: Any) -> Any:
    """Return dates as days since 1970-01-01 (nan: missing); None where a value is no date in ISO 8601."""
    import pandas

    if column.dtype.kind in "fiub":
        return None
    text = pandas.Series(words(column), dtype=object)
    known = text.dropna()
    if column.dtype.kind != "M" and not (len(known) and all(DATE.fullmatch(cell.strip()) for cell in known)):
        return None
    moments = pandas.to_datetime(text, format="ISO8601", utc=True)
    return ((moments - pandas.Timestamp(0, tz="UTC")) / pandas.Timedelta(days=1)).to_numpy(dtype=float)


def target_values(frame: Any, chosen: Any, are_words: bool = False, decimal: str = ".") -> Any:
    """Return a target's values, numbers or words, or those of several as columns of numbers."""
    if isinstance(chosen, str):
        found = None if are_words else numbers(frame[chosen], decimal, truths=False)
        return words(frame[chosen]) if found is None else found
    columns = [numbers(frame[name], decimal) for name in chosen]
    for name, values in zip(chosen, columns, strict=True):
        if values is None:
            first = words(frame[name])[0]
            raise ValueError(f"target {name!r} must be numbers where there are several; its first is {first!r}")
    return np.column_stack([values.astype(float) for values in columns])


def as_target(y: Any) -> Any:
    """Return a target that was stored as dates, bytes, decimals or objects as numbers or words."""
    import pandas

    return y if y.ndim > 1 or y.dtype.kind in "fiubUc" else target_values({"y": pandas.Series(y)}, "y")


def has_target(y: Any) -> Array:
    """Return which rows have a finite target, or all of several."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        return np.asarray(np.isfinite(y).reshape(len(y), -1).all(axis=1))
    return np.array([value is not None and value == value for value in y], dtype=bool)


# ------------------------------------------------------------------------------------------------ features and target


def label(
    frame: Any, file: str, target: Any, choices: Choices, recipe: Recipe | None = None, decimal: str = "."
) -> LabeledData:
    """Return the target apart from the other columns, and these as features.

    Parameters
    ----------
    frame : DataFrame as it was read
    file : the file's name, for errors
    recipe : of a model's data: its features are those of the result, and the target may be missing
    decimal : the decimal mark of numbers in text
    """
    frame.columns = [str(name) for name in frame.columns]
    known = recipe or Recipe()
    needed = known.sources()
    frame, notes = leave_out(frame, choices.without, needed)
    chosen = find_target(list(frame.columns), target, optional=recipe is not None)
    is_words = isinstance(chosen, str) and chosen in known.levels
    y = None if chosen is None else target_values(frame, chosen, is_words, decimal)
    if recipe is not None and recipe.features is not None:
        missing = [name for name in needed if name not in frame.columns]
        if missing:
            raise ValueError(f"{file} lacks {len(missing)} of {len(needed)} features: {', '.join(missing[:SHOWN])}")
        frame = frame[needed]
    elif chosen is not None:
        frame = frame.drop(columns=chosen)
    frame, kept = _encoded(frame, file, choices, recipe, decimal, notes)
    features = [level_names(name, kept.levels[name]) if name in kept.levels else [name] for name in frame]
    found = [name for each in features for name in each]
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{file}: two columns would be called {twice!r}: rename one, or leave it out (--without)")
    return fill(LabeledData(None, y, found, chosen, tuple(notes), kept, frame), choices, known.fills)


def leave_out(frame: Any, without: Sequence[str], needed: Sequence[str] = ()) -> tuple[Any, list[str]]:
    """Return the frame without the columns named, and without nameless ones that are empty or number the rows.

    Columns that a model ``needed`` stay.
    """
    check_names(without, "column", list(frame.columns))
    frame = frame.drop(columns=list(without))
    notes = [f"left out: {', '.join(without)}"] if without else []
    nameless = [name for name in frame.columns if name.startswith("Unnamed: ") and name not in needed]
    for name in nameless if len(frame.columns) > 2 else ():
        column = frame[name].to_numpy()
        counts = column.dtype.kind == "i" and column.size and (np.diff(column) == 1).all() and column[0] in (0, 1)
        if counts or frame[name].isna().all():
            frame = frame.drop(columns=name)
            notes.append(f"a column without a name that {'counts the rows' if counts else 'has no values'} is left out")
    return frame, notes


def _encoded(
    frame: Any, file: str, choices: Choices, recipe: Recipe | None, decimal: str, notes: list[str]
) -> tuple[Any, Recipe]:
    """Return a frame of float64 columns and categories, and what was done: what the recipe says, or the choices."""
    import pandas

    known, kept = recipe or Recipe(), Recipe({}, {}, [])
    if choices.dates not in ("", "days"):
        raise unknown_name(choices.dates, "dates", ["days"])
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in frame.dtypes) and not known.levels:
        return frame.astype(np.float64), kept
    columns = {}
    for name in frame.columns:
        column, is_date = frame[name], name in known.dates
        found = days(column) if is_date or (choices.dates and recipe is None) else None
        if found is not None:
            kept = kept._replace(dates=[*kept.dates, name])
            notes.append(f"column {name!r} of dates as days since 1970-01-01")
        elif is_date:
            raise ValueError(f"{file}: column {name!r} must be dates such as 2026-01-31, as in the model's data")
        elif name not in known.levels:
            found = numbers(column, decimal)
        if found is not None:
            columns[name] = found.astype(np.float64)
            continue
        codes, values = pandas.factorize(words(column))  # -1: missing
        if name not in known.levels:
            _check_words(f"{file}: column {name!r}", name, codes, list(values), choices, recipe is not None, decimal)
        kept.levels[name] = known.levels.get(name) or sorted(values)
        columns[name] = _category(name, codes, list(values), kept.levels[name], notes)
    return pandas.DataFrame(columns, index=frame.index), kept


def _category(name: str, codes: Array, values: list[str], levels: list[str], notes: list[str]) -> Any:
    """Return a text column as a category of its levels and of UNSEEN."""
    import pandas

    unseen = set(values) - set(levels)
    if unseen:
        first = ", ".join(sorted(unseen)[:SHOWN])
        notes.append(f"values of {name!r} that the model has not seen count as none: {first}")
    made = level_names(name, levels)
    notes.append(f"text column {name!r} as {counted(len(made), 'column')} of 0 and 1: {', '.join(made[:SHOWN])}")
    kind = pandas.CategoricalDtype(pandas.Index([*levels, UNSEEN], dtype=object))
    shown = np.array([*(UNSEEN if word in unseen else word for word in values), None], dtype=object)
    return pandas.Categorical(shown[codes], dtype=kind)


def _check_words(
    column: str, name: str, codes: Array, values: list[str], choices: Choices, is_known: bool, decimal: str
) -> None:
    """Raise a ValueError where words cannot become 0/1 columns, and say what can be done."""
    is_word = np.array([*(not is_number(word, decimal) for word in values), False])
    rows, there = np.flatnonzero(is_word[codes]), int(np.sum(codes >= 0))
    first = f"{values[codes[rows[0]]]!r} in row {rows[0] + 1}" if rows.size else ""
    if not values:
        raise ValueError(f"{column} has no value at all: {LEAVE_OUT.format(name)}")
    if is_known and rows.size:
        raise ValueError(
            f"{column} must be numbers, as in the model's data; the first that is none is {first}: correct it, name it "
            "with --na if it stands for a missing value, or name the decimal mark (--decimal)"
        )
    if rows.size < 0.5 * there:  # mostly numbers: the others are mistakes rather than words
        raise ValueError(
            f"{column} has {rows.size} of {codes.size} values that are not numbers, the first {first}: correct them, "
            f"name them with --na; {LEAVE_OUT.format(name)}"
        )
    if len(values) > choices.levels:
        raise ValueError(
            f"{column.replace('column', 'text column')} has {len(values)} different values, more than "
            f"{choices.levels}: --levels {len(values)} makes a column of each, {LEAVE_OUT.format(name)}, --dates days "
            f"makes numbers of dates; the first value is {values[0]!r}"
        )


def _coded_frame(frame: Any) -> tuple[Any, bool]:
    """Return an encoded frame whose categories have the levels of 0/1 columns alone, and whether it has categories."""
    texts = [name for name, kind in frame.dtypes.items() if kind == "category"]
    coded = {name: frame[name].cat.set_categories(_coded(list(frame[name].cat.categories[:-1]))) for name in texts}
    return frame.assign(**coded), bool(texts)


def design_of(frame: Any) -> Any:
    """Return the features of an encoded frame: an array, or an ``ascd.Table`` where there are text columns."""
    coded, has_text = _coded_frame(frame)
    if not has_text:
        return np.asfortranarray(frame.to_numpy(dtype=np.float64))
    from ascd.matrix.table import Table

    return Table(coded)


def predictor(data: LabeledData, coefs: Array) -> Array:
    """Return the linear predictor X·coefs of a frame without compiled code; coefs: (n_features, n_outputs)."""
    import pandas

    coded, has_text = _coded_frame(data.frame)
    if not has_text:
        return np.asarray(coded.to_numpy(dtype=np.float64) @ coefs)
    out = np.zeros((len(coded), coefs.shape[1]))
    for start in range(0, len(coded), 1000):  # 0/1 columns take eight bytes a number here
        numbers = pandas.get_dummies(coded.iloc[start : start + 1000], prefix_sep="=", dtype=float)
        out[start : start + 1000] = numbers[data.names].to_numpy() @ coefs
    return out


# ------------------------------------------------------------------------------------------------ missing values


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
        frame = data.frame.mask(data.missing())
        fills = fills or {name: _fill_of(frame[name], name, choices.impute) for name in frame}
        count = int(frame.isna().to_numpy().sum())
        how = f"by the column's {choices.impute}" if choices.impute else "as in the model"
        notes = (*data.notes, f"{counted(count, 'missing value')} filled {how}") if count else data.notes
        data = data._replace(frame=frame.fillna(fills), notes=notes, recipe=data.recipe._replace(fills=fills))
    return data._replace(X=design_of(data.frame))


def _kept(data: LabeledData, kept: Array) -> LabeledData:
    """Return the rows that are kept."""
    if kept.all():
        return data
    if not kept.any():
        empty, why = data.empty_column(), f"every row lacks a value, or {data.target_words}"
        if empty is not None:
            why = f"column {empty!r} has no value at all: {LEAVE_OUT.format(empty)}"
        raise ValueError(f"--drop would leave out all {kept.size:,} rows, as {why}")
    note = f"{np.sum(~kept):,} of {kept.size:,} rows left out: a value is missing"
    return data.rows(np.flatnonzero(kept))._replace(notes=(*data.notes, note))


def _fill_of(column: Any, name: str, impute: str) -> Any:
    """Return what fills missing values of a column: a number, or a word (UNSEEN: none of the words)."""
    is_text = column.dtype == "category"
    if impute == "zero":
        return UNSEEN if is_text else 0.0
    if column.isna().all():
        raise ValueError(f"column {name!r} has no value at all: {LEAVE_OUT.format(name)}")
    return str(column.mode().iloc[0]) if is_text else float(column.mean() if impute == "mean" else column.median())


def check_complete(data: LabeledData, file: str, way: str, without: str = LEAVE_OUT) -> None:
    """Raise a ValueError for missing features that names the first one and the ``way`` to do without it."""
    samples, features = data.X.shape
    if not samples or not features:
        raise ValueError(f"{file} has {samples} samples and {features} features: there is nothing to do")
    empty, gone = data.empty_column(), data.missing()
    if empty is not None:
        raise ValueError(f"{file}: column {empty!r} has no value at all: {without.format(empty)}")
    if gone.any():
        row = int(np.argmax(gone.any(axis=1)))
        where = f"in feature {data.frame.columns[np.argmax(gone[row])]!r}, " if data.frame is not None else "in "
        count = counted(int(gone.sum()), "missing or infinite value")
        raise ValueError(f"{file} has {count}, the first {where}row {row + 1}: {way}")


def check_target(data: LabeledData, file: str, way: str) -> None:
    """Raise a ValueError for samples without a target."""
    gone = 0 if data.y is None else int(np.sum(~has_target(data.y)))
    if gone:
        raise ValueError(f"{file} has {counted(gone, 'sample')} without a target, or with an infinite one: {way}")
