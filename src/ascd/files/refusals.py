"""What is wrong with a file that cannot be read, in a sentence that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

from ascd.files.counting import counted
from ascd.files.dialect import Dialect, first_look
from ascd.files.separators import separator_name

#: Bytes that the place of a column takes.
OFFSET = 8


def absent(path: Path) -> FileNotFoundError:
    """The error of a path that is no file."""
    return FileNotFoundError(f"no such file: {path}" if not path.exists() else f"not a file: {path}")


def not_libsvm(path: Path, error: Exception) -> ValueError:
    """The error of a file that LIBSVM did not write."""
    return ValueError(
        f"{path} is not a LIBSVM file, as its name or --format says: {error}; --format names another: csv, parquet, npz"
    )


def check_index(columns: int, path: Path, memory: float) -> None:
    """Refuse a LIBSVM file with an index so large that the places of its columns alone take more than the memory."""
    needed = OFFSET * (columns + 1.0)
    if needed > memory:
        raise ValueError(
            f"{path.name} has an index {columns - 1:,}: the places of so many columns take {needed / 1e9:.1f} GB, more "
            f"than the {memory / 1e9:.1f} GB that reading may take; number the features anew, or give `ascd convert` "
            "more with --memory"
        )


def not_csv(error: Exception, path: Path, dialect: Dialect) -> ValueError:
    """What is wrong with a file that pandas cannot parse."""
    quote = re.search(r"EOF inside string starting at row (\d+)", str(error))
    if quote:  # pandas counts from 0
        return ValueError(f"{path.name}: a quote that is opened in row {int(quote[1]) + 1} of the file is never closed")
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if not found:
        return ValueError(f"{path} is not a table in CSV: {error}")
    return ValueError(
        f"{path.name}: line {found[2]} has {found[3]} fields, the lines before it have {found[1]}: is the separator "
        f"{separator_name(dialect.sep or ',')} right (--sep), or does a field lack its quotes?"
    )


def check_width(shape: tuple[int, int], path: Path, dialect: Dialect) -> None:
    """One column is a target without features: the separator must be another one."""
    samples, features = shape
    if features:
        return
    line, better = first_look(path, dialect)
    advice = f"--sep {better!r}" if better and better != dialect.sep else "--sep"
    if dialect.sep is None:
        raise ValueError(
            f"{path.name} has {counted(samples, 'sample')} and 0 features: its lines, such as {line!r}, are one "
            "column, which would be the target. If something separates columns, name it with --sep"
        )
    raise ValueError(
        f"{path.name} has {counted(samples, 'sample')} and 0 features: with the separator "
        f"{separator_name(dialect.sep)} a line such as {line!r} is one column; name the separator with {advice}"
    )
