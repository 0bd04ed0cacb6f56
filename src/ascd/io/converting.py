"""LIBSVM files as folders of .npy files (``opening``), which are then read chunk by chunk.

The file is read by portions of rows, each as large as a share of the memory (parsing takes several times as much), and
each portion becomes a group of the folder.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.io import opening, reading
from ascd.io.writing import DRAFT

#: Share of the memory that a portion takes.
PORTION = 1.0 / 16.0


def convert(source: Any, out: Any, *, memory: Any = None, drop: bool = False, force: bool = False) -> opening.OnDisk:
    """Turn a LIBSVM file into a folder for ``open_data``; tables become Parquet files by pandas, pyarrow or DuckDB.

    Parameters
    ----------
    source : the LIBSVM file, compressed or not
    out : the folder; must not exist unless ``force`` is set
    memory : bytes that converting may take, as in "2GB"
    drop : leave out rows in which a value is not finite
    force : replace what an earlier conversion wrote

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.io import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder) / "tiny.svm"
    ...     _ = source.write_text("3 1:1.5 2:2\\n6 2:5\\n")
    ...     data = convert(source, f"{folder}/tiny")
    >>> data, data.y
    (OnDisk(2 x 2, 0.0 MB), array([3., 6.]))
    """
    source, out = Path(source), Path(out)
    check_conversion(source, out, force)
    size = int(PORTION * opening.as_bytes(memory))
    try:
        with tempfile.TemporaryDirectory(prefix=DRAFT, dir=out.absolute().parent) as name:
            made = Path(name) / "new"
            made.mkdir()
            index = {"version": opening.VERSION, **_write_groups(source, made, size, drop)}
            (made / opening.INDEX).write_text(json.dumps(index), encoding="utf-8")
            if out.exists():
                out.rename(Path(name) / "old")
            made.rename(out)
    except OSError as error:
        if error.filename == str(source):
            raise
        raise OSError(f"{out} could not be written: {error}") from error
    return opening.open_data(out, memory=memory)


def check_conversion(source: Path, out: Path, force: bool) -> None:
    """Raise an error for tables, and for a folder that would be lost."""
    if not source.is_file():
        raise reading.absent(source)
    if source.name.lower().endswith((*reading.FORMATS["csv"], *reading.FORMATS["parquet"])):
        raise ValueError(
            f"{source} is a table: LIBSVM files are converted; Parquet files are read as they are, CSV files become "
            "Parquet files by pandas, pyarrow or DuckDB"
        )
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not force:
        raise FileExistsError(f"{out} exists; name another place, or allow it to be replaced (force=True, --force)")
    if not opening.is_sparse_folder(out):
        raise FileExistsError(f"{out} is nothing that `ascd convert` wrote; name another place")


def _write_groups(path: Path, folder: Path, size: int, drop: bool) -> dict[str, Any]:
    """Write the groups; return what the index says of them."""
    offsets: list[Array] = []
    ends, start = [0], 0
    with reading.unpacked(path) as file:
        while lines := file.readlines(size):
            X, y = reading.parse_libsvm(io.BytesIO(b"".join(lines)), path, size / PORTION)
            bad = np.unique(np.concatenate([X.tocoo().row[~np.isfinite(X.data)], np.flatnonzero(~np.isfinite(y))]))
            if bad.size and not drop:
                row = start + bad[0] + 1
                raise ValueError(
                    f"{path.name}: row {row} has a value or a label that is not finite: --drop leaves out such rows"
                )
            start, kept = start + len(y), np.setdiff1d(np.arange(len(y)), bad)
            X, y = X[kept], y[kept]
            if not len(y):  # comments
                continue
            columns = X.tocsc()
            columns.sum_duplicates()
            stored = columns.data, columns.indices, columns.indptr, y
            for kind, numbers in zip(opening.GROUP_FILES, stored, strict=True):
                np.save(folder / f"{opening.group_name(len(offsets))}.{kind}.npy", numbers)
            offsets.append(columns.indptr)
            ends.append(ends[-1] + len(y))
    if not any(one[-1] for one in offsets):
        raise ValueError(f"{path} has {'rows and no features' if offsets else 'no rows'}")
    first = int(all(one[min(1, one.size - 1)] == 0 for one in offsets))  # no index 0 anywhere: they begin at 1
    n = max(one.size - 1 for one in offsets)
    for number, one in enumerate(offsets):  # later groups may have more columns
        padded = np.concatenate([one, np.full(n + 1 - one.size, one[-1])]).astype(np.int64)
        np.save(folder / f"{opening.group_name(number)}.indptr.npy", padded[first:])
    return {"ends": ends, "first": first}
