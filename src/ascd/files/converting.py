"""CSV and LIBSVM files once turned into a folder of row groups (``folders``), which is then read piece by piece.

The file is read by portions of rows (``portions``); each becomes one group, by columns.  The data appear when
everything has been written (``placing``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.files.dialect import Dialect, detect
from ascd.files.folders import group_name
from ascd.files.opening import OnDisk, as_bytes, open_data
from ascd.files.placing import place
from ascd.files.portions import Noted, Portion, WordsBelow, csv_portions, libsvm_portions
from ascd.files.reading import DETECT, guess_format
from ascd.files.refusals import absent
from ascd.files.separators import unpacking

Told = Callable[[int], None]


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
    tell = noted or _nobody
    for note in (found.words, *found.notes) if kind == "csv" else ():
        tell(note)

    def portions(found: Dialect) -> Iterator[Portion]:
        if kind == "libsvm":
            return libsvm_portions(source, allowed)
        return csv_portions(source, target, tuple(without), allowed, found, na, tell)

    def written(found: Dialect) -> Dialect | None:
        """Write the folder; where the file is not what its beginning shows, tell what it is instead."""
        try:
            place(folder, lambda drafts: _write(drafts, portions(found), number, source, told))
        except UnicodeDecodeError:
            if found.encoding == "cp1252":
                raise
            return found._replace(encoding="cp1252")
        except WordsBelow as error:
            return found._replace(as_text=(*found.as_text, error.column))
        return None

    try:
        with unpacking(source):
            better: Dialect | None = found
            while better is not None:
                better = written(better)
    except OSError as error:
        if error.filename == str(source):
            raise
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


def _write(drafts: Path, portions: Iterator[Portion], dtype: Any, source: Path, told: Told | None) -> dict[str, Any]:
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
    facts = {"names": last.names, "target": last.target, "first": last.first}
    return {"shape": [ends[-1], n], "ends": ends, "sparse": bool(offsets), **facts}


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
