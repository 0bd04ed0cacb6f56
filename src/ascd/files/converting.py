"""CSV and LIBSVM files once turned into a folder of row groups (``folders``), which is then read piece by piece.

The file is read in portions of rows that fit into a part of the memory; each becomes one group, by columns.  The data
appear when everything has been written (``placing``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd.files.columns import left_after
from ascd.files.dialect import Dialect, detect, is_number
from ascd.files.folders import group_name
from ascd.files.opening import OnDisk, as_bytes, open_data
from ascd.files.placing import place
from ascd.files.reading import DETECT, csv_options, guess_format, name_columns
from ascd.files.refusals import absent, check_width, not_csv, not_libsvm
from ascd.files.separators import OPENERS, unpacking
from ascd.files.targets import has_target, numbers_or_words, target_of

#: What a portion may take of the memory: parsing takes several times as much.
PORTION = 1.0 / 16.0
#: A line of LIBSVM's format whose first index, behind the label, is 0: indices count from 0 in this file.
ZERO = re.compile(rb"^[^\S\n]*[^\s#]+[^\S\n]+(qid:\d+[^\S\n]+)?[+-]?0+:", re.MULTILINE)
#: Rows that show how many columns there are.
FIRST_ROWS = 1000
Told = Callable[[int], None]
Noted = Callable[[str], None]


def convert(
    source: Any, folder: Any, *, target: str | None = None, without: Any = (), memory: Any = None,
    dtype: Any = np.float64, dialect: Dialect = DETECT, na: Any = (), force: bool = False, told: Told | None = None,
    format: str | None = None, noted: Noted | None = None,
) -> OnDisk:  # fmt: skip
    """Turn a CSV or LIBSVM file into a folder that ``open_data`` reads piece by piece.

    Parameters
    ----------
    source : the CSV or LIBSVM file, compressed or not
    folder : where to write; must not exist, or be empty, unless ``force`` is set
    target : the target's column in a CSV file; "target", "y" or "label", else the last, by default
    without : columns of a CSV file to leave out
    memory : bytes that converting may take, as in "2GB"
    dtype : {float64, float32} of the numbers written
    dialect : how a CSV file is written; what is left out is found out
    na : further texts that stand for a missing value
    force : replace what an earlier conversion wrote to the folder
    told : called with the number of rows written so far
    format : {"csv", "libsvm"}; by default from the file's name
    noted : called with what was found out about a CSV file, and with what was assumed

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder) / "tiny.csv"
    ...     _ = source.write_text("age,size,price\\n1.5,2,3\\n4,5,6\\n")
    ...     data = convert(source, f"{folder}/tiny")
    >>> data, data.feature_names, data.y
    (OnDisk(2 x 2, 0.0 MB), ['age', 'size'], array([3, 6]))
    """
    source, folder = Path(source), Path(folder)
    if not source.is_file():
        raise absent(source)
    kind, allowed, number = format or guess_format(source), as_bytes(memory), np.dtype(dtype)
    if number not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}")
    check_convertible(source, kind)
    _check_place(folder, force)
    found = detect(source, dialect) if kind == "csv" else dialect
    if noted is not None and kind == "csv":
        for note in (found.words, *found.notes):
            noted(note)

    def portions() -> Iterator[_Portion]:
        if kind == "libsvm":
            return _libsvm(source, allowed)
        return _csv(source, target, tuple(without), allowed, found, na, noted or _nobody)

    try:
        with unpacking(source):
            try:
                place(folder, lambda drafts: _write(drafts, portions(), number, source, told))
            except UnicodeDecodeError:  # beyond what was looked at
                found = found._replace(encoding="cp1252")
                place(folder, lambda drafts: _write(drafts, portions(), number, source, told))
    except OSError as error:
        raise OSError(f"{folder} could not be written: {error}") from error
    return open_data(folder, memory=memory)


def _nobody(note: str) -> None:
    """Nobody is told."""


def check_convertible(source: Path, kind: str) -> None:
    """Refuse formats that need no conversion."""
    if kind not in ("csv", "libsvm"):
        raise ValueError(
            f"{source} is a file in {kind}; CSV and LIBSVM files are converted, others are read as they are"
        )


def _check_place(folder: Path, force: bool) -> None:
    if folder.is_file():
        raise FileExistsError(f"{folder} is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(
            f"{folder} is not empty; name another folder, or allow it to be replaced (force=True, --force)"
        )


class _Portion:
    """Rows: numbers (an array or a CSR matrix), targets, and names where the file has some."""

    def __init__(self, X: Any, y: Array, names: list[str] | None, target: str | None) -> None:
        self.X, self.y, self.names, self.target = X, y, names, target


def _csv(
    path: Path, target: str | None, without: tuple[str, ...], memory: float, dialect: Dialect, na: Any, noted: Noted
) -> Iterator[_Portion]:  # fmt: skip
    import pandas

    how = csv_options(dialect, na)
    try:
        yield from _csv_portions(pandas, path, target, without, memory, dialect, how, noted)
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise not_csv(error, path, dialect) from error


def _csv_portions(
    pandas: Any, path: Path, target: str | None, without: tuple[str, ...], memory: float, dialect: Dialect,
    how: dict[str, Any], noted: Noted,
) -> Iterator[_Portion]:  # fmt: skip
    first = pandas.read_csv(path, nrows=FIRST_ROWS, **how)
    if not len(first):
        raise ValueError(f"{path.name} has a header of {first.shape[1]} columns and no rows")
    rows = max(1, int(PORTION * memory / (8.0 * max(1, first.shape[1]))))
    chosen: str | None = None
    names: list[str] = []
    starts: dict[str, Any] = {}
    with pandas.read_csv(path, chunksize=rows, **how) as portions:
        for number, frame in enumerate(portions):
            name_columns(frame, dialect)
            if number == 0:  # the first portion decides for all
                kept, notes = left_after(frame, without)
                starts = {name: frame[name].iloc[0] for name in frame.columns if name not in (*kept.columns, *without)}
                for note in notes:
                    noted(note)
                names, chosen = list(kept.columns), target_of(list(kept.columns), target, optional=False)
                check_width((len(first), len(names) - 1), path, dialect)
            _check_left_out(frame, starts, path, number * rows)
            kept = frame[names]
            rest = kept.drop(columns=chosen)
            X = np.empty(rest.shape, order="F")
            for j, name in enumerate(rest.columns):
                X[:, j] = _as_numbers(rest[name], name, path, number * rows)
            y = numbers_or_words(kept[chosen])
            gone = np.flatnonzero(~has_target(y))
            if gone.size:
                row = number * rows + gone[0] + 1
                raise ValueError(
                    f"{path.name}: the target {chosen!r} has no finite value in row {row}; fill or drop it"
                )
            yield _Portion(X, y, list(rest.columns), chosen)


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


def _libsvm(path: Path, memory: float) -> Iterator[_Portion]:
    import io

    from sklearn.datasets import load_svmlight_file

    opener = OPENERS.get(path.suffix, open)
    with opener(path, "rb") as file:  # one look at all of it: a portion by itself does not tell
        starts_at_zero = any(ZERO.search(b"".join(lines)) for lines in iter(lambda: file.readlines(1 << 24), []))
    with opener(path, "rb") as file:
        while lines := file.readlines(int(PORTION * memory)):
            try:
                X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=starts_at_zero)
            except (ValueError, IndexError, OverflowError) as error:
                raise not_libsvm(path, error) from error
            yield _Portion(X, y, None, "label")


def _write(drafts: Path, portions: Iterator[_Portion], dtype: Any, source: Path, told: Told | None) -> dict[str, Any]:
    """Write the groups and the target; what the index says of them."""
    ends, targets, offsets, last = [0], [], [], None
    for portion in portions:
        if not portion.X.shape[0]:  # comments
            continue
        stem, last = drafts / group_name(len(ends) - 1), portion
        if hasattr(portion.X, "tocsc"):
            columns = portion.X.tocsc()
            columns.sum_duplicates()
            np.save(f"{stem}.data.npy", _rounded(columns.data, dtype, source))
            np.save(f"{stem}.indices.npy", columns.indices)
            offsets.append((stem, columns.indptr))
        else:
            np.save(f"{stem}.npy", _rounded(np.asfortranarray(portion.X), dtype, source))
        ends.append(ends[-1] + portion.X.shape[0])
        targets.append(portion.y)
        if told is not None:
            told(ends[-1])
    if last is None or ends[-1] == 0:
        raise ValueError(f"{source} has no rows")
    n = max((one.size - 1 for _, one in offsets), default=last.X.shape[1])
    if n == 0 or (offsets and not any(one[-1] for _, one in offsets)):
        raise ValueError(f"{source} has {ends[-1]} rows and no features")
    for stem, one in offsets:  # later portions may have more columns
        np.save(f"{stem}.indptr.npy", np.concatenate([one, np.full(n + 1 - one.size, one[-1])]).astype(np.int64))
    y = np.concatenate(targets)
    np.save(drafts / "target.npy", y.astype(str) if y.dtype.kind == "O" else y)
    return {"shape": [ends[-1], n], "ends": ends, "sparse": bool(offsets), "names": last.names, "target": last.target}


def _rounded(values: Array, dtype: Any, source: Path) -> Array:
    """The numbers in the type to write, if it holds them."""
    with np.errstate(over="ignore"):
        found = values.astype(dtype, copy=False)
    lost = np.isinf(found) & np.isfinite(values)
    if lost.any():
        raise ValueError(
            f"{source} holds {values[lost][0]:g}, too large for float32: leave out --float32 (dtype), or scale it"
        )
    return found
