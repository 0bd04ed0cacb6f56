"""CSV files as Parquet and LIBSVM files as folders of .npy files, which are then read chunk by chunk.

The file is read by portions of rows, each as large as a share of the memory (parsing takes several times as much).  A
CSV portion becomes a row group of the Parquet file, a LIBSVM portion a group of the folder (``readers``).  The target
of a CSV file is read first, as a whole: pandas takes the type of a column from each portion alone, and 07 would become
7 in a portion of a target of words that holds numbers only.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.io import opening, reading, tables
from ascd.io.writing import DRAFT, whole_file

#: Share of the memory that a portion takes.
PORTION = 1.0 / 16.0
WAY = "--drop leaves out such rows, --impute mean fills features"


class Plan(NamedTuple):
    """What to write and how: arguments of ``convert``."""

    source: Path
    target: str | None
    memory: float
    dtype: Any
    choices: tables.Choices


def convert(
    source: Any, out: Any, *, target: str | None = None, without: Any = (), memory: Any = None,
    dtype: Any = np.float64, dialect: reading.Dialect = reading.DETECT, drop: bool = False, impute: str = "",
    force: bool = False, format: str | None = None, note: Callable[[str], Any] | None = None,
) -> opening.OnDisk:  # fmt: skip
    """Turn a CSV file into a Parquet file, or a LIBSVM file into a folder, for ``open_data``.

    Parameters
    ----------
    source : the CSV or LIBSVM file, compressed or not
    out : a file .parquet for CSV, a folder for LIBSVM; must not exist unless ``force`` is set
    target : the target's column in a CSV file; "target", "y" or "label", else the last, by default
    without : columns of a CSV file to leave out
    memory : bytes that converting may take, as in "2GB"
    dtype : {float64, float32} of the numbers written
    dialect : how a CSV file is written; what is None is found from the file
    drop : leave out rows in which a value is missing
    impute : {"", "mean", "zero"}, what fills missing values of features of a CSV file
    force : replace what an earlier conversion wrote
    format : {"csv", "libsvm"}; by default from the file's name
    note : called with what was found about a CSV file

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
    kind, number = format or reading.guess_format(source), np.dtype(dtype)
    if number not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}")
    if impute not in ("", "mean", "zero"):
        raise ValueError(f"impute must be '', 'mean' or 'zero', which need no sorted column; got {impute!r}")
    check_conversion(source, kind, out, force)
    plan = Plan(source, target, opening.as_bytes(memory), number, tables.Choices(tuple(without), drop, impute))
    try:
        with np.errstate(over="raise"):
            if kind == "libsvm":
                _write_folder(plan, out)
            else:
                _write_parquet(plan, out, dialect, note)
    except FloatingPointError as error:
        raise ValueError(f"{source} holds numbers too large for float32: leave out --float32 (dtype)") from error
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


class CsvFile(NamedTuple):
    """A CSV file whose columns have been looked at; the target of ``recipe`` is words if it has levels."""

    path: Path
    written: tuple[reading.Dialect, list[str] | None]
    target: str
    recipe: tables.Recipe

    def portions(self, rows: int) -> Iterator[tuple[str, tables.LabeledData]]:
        """Yield the features as numbers and the target, so many rows at a time, with words for where they are."""
        start, (dialect, _) = 0, self.written
        words, chosen = list(self.recipe.levels), [*(self.recipe.features or ()), self.target]
        with (
            reading.parsing(self.path, dialect),
            reading.read_csv(self.path, *self.written, words, chunksize=rows) as frames,
        ):
            for frame in frames:
                where = self.path.name if not start else f"{self.path.name}, rows from {start + 1:,} on"
                frame, decimal = frame[chosen].reset_index(drop=True), dialect.decimal or "."
                yield where, tables.label(frame, where, self.target, reading.AS_IT_IS, self.recipe, decimal)
                start += len(frame)


def _write_parquet(plan: Plan, out: Path, given: reading.Dialect, note: Callable[[str], Any] | None) -> None:
    """Write the portions of a CSV file as row groups of a Parquet file."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise ImportError("converting CSV files needs pyarrow: pip install ascd[parquet]") from error
    path, written = plan.source, reading.detect(plan.source, given)
    dialect, _ = written
    columns = [str(name) for name in reading.read_csv(path, *written, nrows=0).columns]
    tables.check_names(plan.choices.without, "column", columns)
    names = [name for name in columns if name not in plan.choices.without]
    target = tables.find_target(names, reading.column_name(plan.target, dialect.header))
    features = [name for name in names if name != target]
    reading.check_width((0, len(features)), path, dialect)
    alone = reading.read_csv(path, *written, usecols=[target])
    y = tables.target_values(alone, target, decimal=dialect.decimal or ".")
    is_whole = y.dtype.kind in "iu" or (y.dtype.kind == "f" and np.isfinite(y).all() and (y == np.round(y)).all())
    kind = pyarrow.string() if y.dtype.kind == "O" else pyarrow.int64() if is_whole else pyarrow.float64()
    recipe = tables.Recipe(levels={target: []} if y.dtype.kind == "O" else {}, features=features)
    file, rows = CsvFile(path, written, target, recipe), max(1, int(PORTION * plan.memory / (8.0 * len(columns))))
    if plan.choices.impute:
        fills = _fills(plan.choices.impute, features, file.portions(rows))
        file = file._replace(recipe=recipe._replace(fills=fills))
    fields = [*((name, pyarrow.from_numpy_dtype(plan.dtype)) for name in features), (target, kind)]
    schema, count = pyarrow.schema(fields, metadata={opening.TARGET_KEY: target.encode()}), 0
    plain = {"compression": "NONE", "use_dictionary": False}
    with whole_file(out) as draft, ParquetWriter(draft, schema, **plain) as writer:
        for where, data in file.portions(rows):
            if not (plan.choices.drop or plan.choices.impute):
                tables.check_complete(data, where, WAY)
                tables.check_target(data, where, WAY)
            kept = tables.has_target(data.y) & ~data.missing().any(axis=1)
            numbers = {name: data.frame[name].to_numpy()[kept].astype(plan.dtype) for name in features}
            writer.write_table(pyarrow.table({**numbers, target: data.y[kept]}, schema=schema))
            count += int(kept.sum())
        if not count:
            raise ValueError(f"--drop would leave out all rows of {path}")
    if note is not None:
        note(dialect.words)


def _fills(impute: str, features: list[str], portions: Iterator[tuple[str, tables.LabeledData]]) -> dict[str, float]:
    """Return what fills missing values: zeros, or the means of the columns, from a pass of their own."""
    if impute == "zero":
        return dict.fromkeys(features, 0.0)
    sums, counts = np.zeros(len(features)), np.zeros(len(features))
    for _, data in portions:
        known = ~data.missing()
        sums += np.where(known, data.frame.to_numpy(), 0.0).sum(axis=0)
        counts += known.sum(axis=0)
    if not counts.all():
        raise ValueError(f"column {features[int(np.argmin(counts))]!r} has no value at all: leave it out (--without)")
    return dict(zip(features, (sums / counts).tolist(), strict=True))


def _write_folder(plan: Plan, folder: Path) -> None:
    """Write a LIBSVM file as row groups; the folder replaces an earlier one when all is written."""
    if plan.choices.impute:
        raise ValueError("missing values of a sparse file cannot be filled (impute); drop leaves out their rows")
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=folder.absolute().parent) as name:
        made = Path(name) / "new"
        made.mkdir()
        index = {"version": opening.VERSION, **_write_groups(plan, made)}
        (made / opening.INDEX).write_text(json.dumps(index), encoding="utf-8")
        if folder.exists():
            folder.rename(Path(name) / "old")
        made.rename(folder)


def _write_groups(plan: Plan, folder: Path) -> dict[str, Any]:
    """Write the groups; return what the index says of them."""
    offsets: list[Array] = []
    ends, start = [0], 0
    with reading.unpacked(plan.source) as file:
        while lines := file.readlines(int(PORTION * plan.memory)):
            X, y = reading.parse_libsvm(io.BytesIO(b"".join(lines)), plan.source, plan.memory)
            start += len(y)
            X, y = _finite_rows(X, y, plan, start - len(y))
            if not len(y):  # comments
                continue
            columns = X.tocsc()
            columns.sum_duplicates()
            stored = columns.data.astype(plan.dtype, copy=False), columns.indices, columns.indptr, y
            for kind, numbers in zip(opening.GROUP_FILES, stored, strict=True):
                np.save(folder / f"{opening.group_name(len(offsets))}.{kind}.npy", numbers)
            offsets.append(columns.indptr)
            ends.append(ends[-1] + len(y))
    if not any(one[-1] for one in offsets):
        raise ValueError(f"{plan.source} has {'rows and no features' if offsets else 'no rows'}")
    first = int(all(one[min(1, one.size - 1)] == 0 for one in offsets))  # no index 0 anywhere: they begin at 1
    n = max(one.size - 1 for one in offsets)
    for number, one in enumerate(offsets):  # later groups may have more columns
        padded = np.concatenate([one, np.full(n + 1 - one.size, one[-1])]).astype(np.int64)
        np.save(folder / f"{opening.group_name(number)}.indptr.npy", padded[first:])
    return {"ends": ends, "first": first}


def _finite_rows(X: Any, y: Array, plan: Plan, before: int) -> tuple[Any, Array]:
    """Return the rows whose entries and labels are finite; an error unless others may be left out."""
    bad = np.unique(np.concatenate([X.tocoo().row[~np.isfinite(X.data)], np.flatnonzero(~np.isfinite(y))]))
    if not bad.size:
        return X, y
    if not plan.choices.drop:
        raise ValueError(
            f"{plan.source.name}: row {before + bad[0] + 1} has a value or a label that is not finite; --drop "
            "leaves out such rows"
        )
    kept = np.setdiff1d(np.arange(len(y)), bad)
    return X[kept], y[kept]
