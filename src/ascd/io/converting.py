"""CSV files as Parquet and LIBSVM files as folders of .npy files, which are then read chunk by chunk.

The file is read by portions of rows, each as large as a share of the memory (parsing takes several times as much).  A
CSV portion becomes a row group of the Parquet file, a LIBSVM portion a group of the folder (``opening``).  The target
of a CSV file is read first, as a whole: pandas takes the type of a column from each portion alone, and 07 would become
7 in a portion of a target of words that holds numbers only.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.io import opening, reading, tables
from ascd.io.writing import DRAFT, whole_file

#: Share of the memory that a portion takes.
PORTION = 1.0 / 16.0
WAY = "--drop leaves out such rows"


def convert(
    source: Any, out: Any, *, target: str | None = None, without: Any = (), memory: Any = None,
    dialect: reading.Dialect = reading.DETECT, drop: bool = False, force: bool = False, format: str | None = None,
) -> opening.OnDisk:  # fmt: skip
    """Turn a CSV file into a Parquet file, or a LIBSVM file into a folder, for ``open_data``.

    Parameters
    ----------
    source : the CSV or LIBSVM file, compressed or not
    out : a file .parquet for CSV, a folder for LIBSVM; must not exist unless ``force`` is set
    target : the target's column in a CSV file; "target", "y" or "label", else the last, by default
    without : columns of a CSV file to leave out
    memory : bytes that converting may take, as in "2GB"
    dialect : how a CSV file is written; what is None is found from the file
    drop : leave out rows in which a value is missing
    force : replace what an earlier conversion wrote
    format : {"csv", "libsvm"}; by default from the file's name

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.io import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder) / "tiny.csv"
    ...     _ = source.write_text("age,size,price\\n1.5,2,3\\n4,5,6\\n")
    ...     data = convert(source, f"{folder}/tiny.parquet")
    >>> data, data.feature_names, data.y
    (OnDisk(2 x 2, 0.0 MB), ['age', 'size'], array([3, 6]))
    """
    source, out = Path(source), Path(out)
    if not source.is_file():
        raise reading.absent(source)
    kind = format or reading.guess_format(source)
    check_conversion(source, kind, out, force)
    size = int(PORTION * opening.as_bytes(memory))
    try:
        if kind == "libsvm":
            _write_folder(source, out, size, drop)
        else:
            _write_parquet(source, out, target, tuple(without), size, dialect, drop)
    except OSError as error:
        if error.filename == str(source):
            raise
        raise OSError(f"{out} could not be written: {error}") from error
    return opening.open_data(out, memory=memory)


def check_conversion(source: Path, kind: str, out: Path, force: bool) -> None:
    """Raise an error for formats that need no conversion, and for an ``out`` that cannot be written."""
    if kind not in ("csv", "libsvm"):
        raise ValueError(
            f"{source} is a file in {kind}; CSV and LIBSVM files are converted, others are read as they are"
        )
    if kind == "csv" and out.suffix.lower() not in reading.FORMATS["parquet"]:
        raise ValueError(f"a CSV file becomes a Parquet file: name it with .parquet at its end; got {out}")
    if not out.exists() or (kind == "libsvm" and out.is_dir() and not any(out.iterdir())):
        return
    if not force:
        raise FileExistsError(f"{out} exists; name another place, or allow it to be replaced (force=True, --force)")
    if not (opening.is_sparse_folder(out) if kind == "libsvm" else out.is_file()):
        raise FileExistsError(f"{out} is nothing that `ascd convert` wrote; name another place")


def _write_parquet(
    path: Path, out: Path, target: str | None, without: tuple[str, ...], size: int, given: reading.Dialect, drop: bool
) -> None:
    """Write the portions of a CSV file as row groups of a Parquet file."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise ImportError("converting CSV files needs pyarrow: pip install ascd[parquet]") from error
    written = reading.detect(path, given)
    dialect, decimal = written[0], written[0].decimal or "."
    columns = [str(name) for name in reading.read_csv(path, *written, nrows=0).columns]
    tables.check_names(without, "column", columns)
    names = [name for name in columns if name not in without and not tables.is_nameless(name)]
    target = tables.find_target(names, reading.column_name(target, dialect.header))
    features = [name for name in names if name != target]
    y = tables.target_values(reading.read_csv(path, *written, usecols=[target])[target], decimal=decimal)
    has_words = y.dtype.kind == "O"
    is_whole = y.dtype.kind in "iu" or (y.dtype.kind == "f" and np.isfinite(y).all() and (y == np.round(y)).all())
    kind = pyarrow.string() if has_words else pyarrow.int64() if is_whole else pyarrow.float64()
    recipe = tables.Recipe(levels={target: []} if has_words else {}, features=features)
    fields = [*((name, pyarrow.float64()) for name in features), (target, kind)]
    schema, count, start = pyarrow.schema(fields, metadata={opening.TARGET_KEY: target.encode()}), 0, 0
    rows = max(1, size // (8 * len(columns)))
    with (
        whole_file(out) as draft,
        ParquetWriter(draft, schema, compression="NONE", use_dictionary=False) as writer,
        reading.parsing(path, dialect),
        reading.read_csv(path, *written, list(recipe.levels), chunksize=rows) as frames,
    ):
        for frame in frames:
            where = path.name if not start else f"{path.name}, rows from {start + 1:,} on"
            start += len(frame)
            data = tables.label(frame.reset_index(drop=True), where, target, reading.AS_IT_IS, recipe, decimal)
            if not drop:
                tables.check_complete(data, where, WAY)
                gone = int(np.sum(~tables.has_target(data.y)))
                if gone:
                    lost = f"{tables.counted(gone, 'sample')} without a target, or with an infinite one"
                    raise ValueError(f"{where} has {lost}: {WAY}")
            kept = tables.has_target(data.y) & ~data.missing().any(axis=1)
            numbers = {name: data.frame[name].to_numpy()[kept] for name in features}
            writer.write_table(pyarrow.table({**numbers, target: data.y[kept]}, schema=schema))
            count += int(kept.sum())
        if not count:
            raise ValueError(f"--drop would leave out all rows of {path}")


def _write_folder(path: Path, folder: Path, size: int, drop: bool) -> None:
    """Write a LIBSVM file as row groups; the folder replaces an earlier one when all is written."""
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=folder.absolute().parent) as name:
        made = Path(name) / "new"
        made.mkdir()
        index = {"version": opening.VERSION, **_write_groups(path, made, size, drop)}
        (made / opening.INDEX).write_text(json.dumps(index), encoding="utf-8")
        if folder.exists():
            folder.rename(Path(name) / "old")
        made.rename(folder)


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
                raise ValueError(f"{path.name}: row {row} has a value or a label that is not finite: {WAY}")
            start, kept = start + len(y), np.setdiff1d(np.arange(len(y)), bad)
            X, y = X[kept], y[kept]
            if not len(y):  # comments
                continue
            columns = X.tocsc()
            columns.sum_duplicates()
            stored = columns.data, columns.indices, columns.indptr, y
            for kind, numbers in zip(opening.GROUP_FILES, stored, strict=True):
                np.save(opening.group_file(folder, len(offsets), kind), numbers)
            offsets.append(columns.indptr)
            ends.append(ends[-1] + len(y))
    if not any(one[-1] for one in offsets):
        raise ValueError(f"{path} has {'rows and no features' if offsets else 'no rows'}")
    first = int(all(one[min(1, one.size - 1)] == 0 for one in offsets))  # no index 0 anywhere: they begin at 1
    n = max(one.size - 1 for one in offsets)
    for number, one in enumerate(offsets):  # later groups may have more columns
        padded = np.concatenate([one, np.full(n + 1 - one.size, one[-1])]).astype(np.int64)
        np.save(opening.group_file(folder, number, "indptr"), padded[first:])
    return {"ends": ends, "first": first}
