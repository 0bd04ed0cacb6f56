"""Rows of a CSV or LIBSVM file by portions, each as large as a part of the memory: parsing takes several times as much.

The first portion of a CSV file decides for all: which columns there are, which is the target, and which columns without
a name are left out.  pandas tells the type of a column from each portion alone.  A target of words may have portions of
numbers only, in which 07 would be 7: then the file is read anew, with all of the target as text (``WordsBelow``).
Indices of a LIBSVM file count from 0 where one of them is 0, anywhere in the file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.files.columns import left_after
from ascd.files.dialect import Dialect, is_number
from ascd.files.reading import column_name, csv_options, name_columns
from ascd.files.refusals import check_index, check_width, not_csv, not_libsvm
from ascd.files.separators import unpacked
from ascd.files.targets import has_target, numbers_or_words, target_of, words_of

#: What a portion may take of the memory.
PORTION = 1.0 / 16.0
#: Rows that show how many columns there are.
FIRST_ROWS = 1000
#: A line of LIBSVM's format whose first index, behind the label, is 0: indices count from 0 in this file.
ZERO = re.compile(rb"^[^\S\n]*[^\s#]+[^\S\n]+(qid:\d+[^\S\n]+)?[+-]?0+:", re.MULTILINE)
Noted = Callable[[str], None]


class WordsBelow(Exception):
    """Some portions of the target are numbers, others words: ``column``, as pandas calls it, must be read as text."""

    def __init__(self, column: Any) -> None:
        self.column = column


class Portion(NamedTuple):
    """Rows: numbers (an array or a CSR matrix), targets, and names, or the index of a LIBSVM file's first column."""

    X: Any
    y: Array
    names: list[str] | None
    target: str | None
    first: int | None = None


def csv_portions(
    path: Path, target: str | None, without: tuple[str, ...], memory: float, dialect: Dialect, na: Any, noted: Noted
) -> Iterator[Portion]:  # fmt: skip
    """The rows of a CSV file; ``noted`` is told which columns are left out."""
    import pandas

    how = csv_options(dialect, na)
    try:
        first = pandas.read_csv(path, nrows=FIRST_ROWS, **how)
        if not len(first):
            raise ValueError(f"{path.name} has a header of {first.shape[1]} columns and no rows")
        rows = max(1, int(PORTION * memory / (8.0 * max(1, first.shape[1]))))
        with pandas.read_csv(path, chunksize=rows, **how) as frames:
            yield from _as_portions(frames, path, target, without, dialect, noted)
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise not_csv(error, path, dialect) from error


def _as_portions(
    frames: Any, path: Path, target: str | None, without: tuple[str, ...], dialect: Dialect, noted: Noted
) -> Iterator[Portion]:  # fmt: skip
    chosen: str | None = None
    names: list[str] = []
    starts: dict[str, Any] = {}
    before, has_numbers = 0, False
    for frame in frames:
        read = list(frame.columns)
        name_columns(frame, dialect)
        if not before:
            kept, notes = left_after(frame, without)
            names = list(kept.columns)
            starts = {name: frame[name].iloc[0] for name in frame.columns if name not in (*names, *without)}
            for note in notes:
                noted(note)
            chosen = target_of(names, column_name(target, dialect.header), optional=False)
            check_width((len(frame), len(names) - 1), path, dialect)
        _check_left_out(frame, starts, path, before)
        features = [name for name in names if name != chosen]
        X = np.empty((len(frame), len(features)), order="F")
        for j, name in enumerate(features):
            X[:, j] = _as_numbers(frame[name], name, path, before)
        called = read[list(frame.columns).index(chosen)]
        y = (words_of if called in dialect.as_text else numbers_or_words)(frame[chosen])
        if before and (y.dtype.kind == "O") == has_numbers:
            raise WordsBelow(called)
        has_numbers = y.dtype.kind != "O"
        gone = np.flatnonzero(~has_target(y))
        if gone.size:
            row = before + gone[0] + 1
            raise ValueError(f"{path.name}: the target {chosen!r} has no finite value in row {row}; fill or drop it")
        yield Portion(X, y, features, chosen)
        before += len(frame)


def _check_left_out(frame: Any, starts: dict[str, Any], path: Path, before: int) -> None:
    """Refuse a column without a name that was left out, as empty or a count of rows, and is something else below."""
    for name, start in starts.items():
        is_empty = start is None or start != start
        as_before = frame[name].isna() if is_empty else frame[name] == start + np.arange(before, before + len(frame))
        wrong = np.flatnonzero(~as_before.to_numpy())
        if wrong.size:
            what = "has no value" if is_empty else "counts the rows"
            raise ValueError(
                f"{path.name}: a column without a name ({name!r}) {what} before row {before + wrong[0] + 1}, and has "
                f"{frame[name].iloc[wrong[0]]} there: name it in the file, or leave it out (--without {name!r})"
            )


def _as_numbers(column: Any, name: str, path: Path, before: int) -> Array:
    values = numbers_or_words(column)
    if values.dtype.kind in "fiub":
        found = np.asarray(values, dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(found))
        if bad.size == 0:
            return found
        what = "no value" if np.isnan(found[bad[0]]) else "an infinite value"
        raise ValueError(f"{path.name}: column {name!r} has {what} in row {before + bad[0] + 1}; fill or drop it")
    row, word = next(
        (row, value) for row, value in enumerate(values) if value is not None and not is_number(str(value))
    )
    raise ValueError(
        f"{path.name}: column {name!r} holds text, the first is {word!r} in row {before + row + 1}; leave it out "
        f"(--without {name!r}) or encode it first"
    )


def libsvm_portions(path: Path, memory: float) -> Iterator[Portion]:
    """The rows of a LIBSVM file."""
    from sklearn.datasets import load_svmlight_file

    with unpacked(path) as file:  # one look at all of it: a portion by itself does not tell
        starts_at_zero = any(ZERO.search(b"".join(lines)) for lines in iter(lambda: file.readlines(1 << 24), []))
    before = 0
    with unpacked(path) as file:
        while lines := file.readlines(int(PORTION * memory)):
            try:
                X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=starts_at_zero)
            except (ValueError, IndexError, OverflowError) as error:
                raise not_libsvm(path, error) from error
            check_index(X.shape[1] + (not starts_at_zero), path, memory)
            _check_finite(X, y, path, before)
            before += len(y)
            yield Portion(X, y, None, "label", 0 if starts_at_zero else 1)


def _check_finite(X: Any, y: Array, path: Path, before: int) -> None:
    """Refuse portions of a LIBSVM file with entries or labels that no fit takes."""
    rows = np.concatenate([X.tocoo().row[~np.isfinite(X.data)], np.flatnonzero(~np.isfinite(y))])
    if rows.size:
        raise ValueError(
            f"{path.name}: row {before + rows.min() + 1} has a value or a label that is not finite; fill or drop it"
        )
