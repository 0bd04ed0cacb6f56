"""Targets of a table: one column or several, found by name, and which rows have one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ascd._core.checks import unknown_name
from ascd.files.marks import is_missing, without_spaces

#: Names that a target is looked for by.
TARGETS = ("target", "y", "label")
#: Words that pandas reads as truths in a column of nothing else.
TRUTHS = {spelled: word == "true" for word in ("true", "false") for spelled in (word, word.upper(), word.title())}


class ColumnError(ValueError):
    """A column that was asked for by name is not there, or was asked for twice."""


def named_column(name: str, role: str, names: Sequence[str]) -> None:
    """Refuse a name that no column has."""
    if name not in names:
        raise ColumnError(str(unknown_name(name, role, names)))


def named_columns(chosen: Sequence[str], role: str, names: Sequence[str]) -> None:
    """Refuse names that no column has, and one that is given twice."""
    twice = next((name for number, name in enumerate(chosen) if name in chosen[:number]), None)
    if twice is not None:
        raise ColumnError(f"{role} {twice!r} is named twice")
    for name in chosen:
        named_column(name, role, names)


def target_of(names: list[str], target: str | None, optional: bool) -> str | None:
    chosen = target
    if chosen is None:  # in small letters, or in capitals
        spelled = (name for wanted in TARGETS for name in (wanted, wanted.upper(), wanted.title()))
        chosen = next((name for name in spelled if name in names), None)
    if chosen is None and not optional:
        chosen = names[-1]
    if chosen is None or chosen in names:
        return chosen
    if not optional:
        named_column(chosen, "target", names)
    return None


def targets_of(names: list[str], targets: Sequence[str], optional: bool) -> list[str] | None:
    """Several targets, each once; None where some are not there and need not be."""
    strange = [name for name in targets if name not in names]
    named_columns(targets, "target", [*names, *strange] if optional else names)
    return None if strange else list(targets)


def target_values(frame: Any, chosen: Any, are_words: bool) -> Any:
    """The values of a target, which may be known to be words; several as columns of numbers."""
    if isinstance(chosen, str):
        return (words_of if are_words else numbers_or_words)(frame[chosen])
    return np.column_stack([_numbers(frame[name]) for name in chosen])


def _numbers(column: Any) -> Any:
    """A column of several targets: numbers only."""
    values = numbers_truths_or_words(column)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"target {column.name!r} must be numbers where there are several; its first is {values[0]!r}")
    return values.astype(float)


def has_target(y: Any) -> Any:
    """Which rows have a target, all of several; an infinite one is none.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.files.targets import has_target
    >>> has_target(np.array(["a", None], dtype=object)).tolist(), has_target(np.array([[1.0, np.nan]])).tolist()
    ([True, False], [False])
    """
    if getattr(y, "ndim", 1) == 2:
        return np.isfinite(y).all(axis=1)
    if getattr(y, "dtype", np.dtype(object)).kind == "f":
        return np.isfinite(y)
    return np.array([value is not None and value == value for value in y], dtype=bool)


def numbers_or_words(column: Any) -> Any:
    """A column as numbers where all its values are (a word for a missing value is nan), else as it is."""
    import pandas

    if column.dtype.kind in "fiub":  # pandas' own types have gaps beside numbers
        return column.to_numpy(dtype=float, na_value=np.nan) if column.isna().any() else column.to_numpy()
    text, known = _text_of(column)
    numbers = pandas.to_numeric(without_spaces(text).where(~known), errors="coerce")
    if (numbers.notna() | known).all() and numbers.notna().any():
        return numbers.to_numpy(dtype=float)
    return text.where(~known, None).to_numpy(dtype=object)


def numbers_truths_or_words(column: Any) -> Any:
    """The same for a feature, where truths beside gaps are numbers as those of a full column are.

    Examples
    --------
    >>> import pandas
    >>> from ascd.files.targets import numbers_truths_or_words
    >>> numbers_truths_or_words(pandas.Series(["TRUE", None, "false"])).tolist()
    [1.0, nan, 0.0]
    """
    values = numbers_or_words(column)
    if values.dtype.kind in "fiub":
        return values
    words = [word_of(value) for value in values]
    is_truth = any(words) and all(word in TRUTHS for word in words if word)
    return np.array([TRUTHS.get(word, np.nan) for word in words], dtype=float) if is_truth else values


def words_of(column: Any) -> Any:
    """A column as words, also where all of them are numbers: 07 stays what it is if the column is text."""
    if column.dtype.kind in "fiub":
        return np.array([word_of(value) or None for value in numbers_or_words(column)], dtype=object)
    text, gone = _text_of(column)
    return text.where(~gone, None).to_numpy(dtype=object)


def word_of(value: Any) -> str:
    """A value of a text column; "" where it is missing.  Gaps turn whole numbers into floats: 3.0 is the word 3."""
    if value is None or value != value:
        return ""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _text_of(column: Any) -> tuple[Any, Any]:
    """A column as text, and where it has no value."""
    text = column.astype(object).where(column.notna(), "").astype(str)
    return text, text.map(is_missing)


def as_target(y: Any) -> Any:
    """A target that was stored as dates, bytes, decimals or objects as one that is text: numbers, or words."""
    import pandas

    return y if y.ndim > 1 or y.dtype.kind in "fiubUc" else numbers_or_words(pandas.Series(y))
