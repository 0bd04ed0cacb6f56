"""Columns of a table: which one is the target, and whether values are numbers, truths, dates or words.

A column is numbers only where all its values are; otherwise every value stays the word that it was (07, TRUE).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ascd._core.checks import Array, unknown_name
from ascd.io.dialect import is_missing, plain_number

#: Names by which a target is found.
TARGETS = ("target", "y", "label")
#: Words that pandas reads as truths in a column of nothing else.
TRUTHS = {spelled: word == "true" for word in ("true", "false") for spelled in (word, word.upper(), word.title())}
#: A day, or a moment, in ISO 8601.
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
#: Decimal mark and mark between thousands of numbers in text.
Marks = tuple[str, str | None]
PLAIN: Marks = (".", None)


class ColumnError(ValueError):
    """A column that was named does not exist, or was named twice."""


def counted(number: int, word: str) -> str:
    """Return a number with its word, in the plural unless it is 1: "1 row", "1,200 rows"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def check_names(chosen: Sequence[str], role: str, names: Sequence[str]) -> None:
    """Raise a ColumnError for a name that no column has, or that is given twice."""
    for number, name in enumerate(chosen):
        if name in chosen[:number]:
            raise ColumnError(f"{role} {name!r} is named twice")
        if name not in names:
            raise ColumnError(str(unknown_name(name, role, names)))


def find_target(names: Sequence[str], target: Any, optional: bool) -> Any:
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


def target_values(frame: Any, chosen: Any, are_words: bool, marks: Marks = PLAIN) -> Any:
    """Return a target's values, or those of several as columns of numbers."""
    if isinstance(chosen, str):
        return words(frame[chosen]) if are_words else numbers_or_words(frame[chosen], marks)
    columns = [numbers_truths_or_words(frame[name], marks) for name in chosen]
    for name, values in zip(chosen, columns, strict=True):
        if values.dtype.kind not in "fiub":
            raise ValueError(f"target {name!r} must be numbers where there are several; its first is {values[0]!r}")
    return np.column_stack([values.astype(float) for values in columns])


def as_target(y: Any) -> Any:
    """Return a target that was stored as dates, bytes, decimals or objects as numbers or words."""
    import pandas

    return y if y.ndim > 1 or y.dtype.kind in "fiubUc" else numbers_or_words(pandas.Series(y))


def has_target(y: Any) -> Array:
    """Return which rows have a finite target, or all of several."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        return np.asarray(np.isfinite(y) if y.ndim == 1 else np.isfinite(y).all(axis=1))
    return np.array([value is not None and value == value for value in y], dtype=bool)


def numbers_or_words(column: Any, marks: Marks = PLAIN) -> Any:
    """Return a column as numbers where all its values are (nan: missing), else as words (None: missing)."""
    import pandas

    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=float, na_value=np.nan) if column.isna().any() else column.to_numpy()
    text, gone = _text_of(column)
    plain = text if marks == PLAIN else text.map(lambda cell: plain_number(cell, *marks))
    numbers = pandas.to_numeric(plain.where(~gone), errors="coerce")
    if (numbers.notna() | gone).all() and numbers.notna().any():
        return numbers.to_numpy(dtype=float)
    return text.where(~gone, None).to_numpy(dtype=object)


def numbers_truths_or_words(column: Any, marks: Marks = PLAIN) -> Any:
    """Return the same for a feature, where truths beside missing values are 1 and 0, as in a full column."""
    values = numbers_or_words(column, marks)
    if values.dtype.kind in "fiub":
        return values
    found = {word_of(value) for value in set(values)} - {""}
    is_truth = bool(found) and found <= set(TRUTHS)
    return np.array([TRUTHS.get(word_of(value), np.nan) for value in values], dtype=float) if is_truth else values


def words(column: Any) -> Any:
    """Return a column as words, also where all of them are numbers (None: missing)."""
    if column.dtype.kind in "fiub":
        return np.array([word_of(value) or None for value in numbers_or_words(column)], dtype=object)
    text, gone = _text_of(column)
    return text.where(~gone, None).to_numpy(dtype=object)


def word_of(value: Any) -> str:
    """Return a value of a text column; "" where it is missing.  Missing values make whole numbers floats: 3.0 is 3."""
    if value is None or value != value:
        return ""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def is_date(column: Any) -> bool:
    """Return True for a column of dates: by its type, or text in ISO 8601 in every cell that is not missing."""
    if column.dtype.kind in "fiubM":
        return bool(column.dtype.kind == "M")
    text, gone = _text_of(column)
    return not gone.all() and all(DATE.fullmatch(cell.strip()) for cell in text[~gone])


def days(column: Any) -> Array:
    """Return dates as days since 1970-01-01 (nan: missing)."""
    import pandas

    text, gone = _text_of(column)
    moments = pandas.to_datetime(text.where(~gone, None), format="ISO8601", utc=True)
    found = (moments - pandas.Timestamp(0, tz="UTC")) / pandas.Timedelta(days=1)
    return np.asarray(found.to_numpy(dtype=float, na_value=np.nan))


def _text_of(column: Any) -> tuple[Any, Any]:
    """Return a column as text, and where it has no value."""
    text = column.astype(object).where(column.notna(), "").astype(str).astype(object)
    return text, text.map(is_missing).astype(bool)
