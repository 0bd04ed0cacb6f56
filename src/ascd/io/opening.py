"""Data larger than memory: a file or folder that stays on its disk and is read in chunks.

Readers have the attributes that ``FileMatrix`` names.  Files are read with ordinary calls, not through a memory
map: a file that has become shorter is an error with a sentence, where a map would end the process.  Before each read, a
file must be as it was when it was opened, because columns that are cached would not be those of a file written since.

A folder of sparse row groups, which ``ascd convert`` writes, holds ``index.json`` (where groups end, and the first
index of the LIBSVM file), and for each group of rows a matrix in CSC and its target as four plain files:
``rows-00000.data.npy``, ``rows-00000.indices.npy``, ``rows-00000.indptr.npy``, ``rows-00000.target.npy``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_places
from ascd.io.reading import DEFAULT_MEMORY, FORMATS
from ascd.io.tables import ColumnError, check_names

INDEX, VERSION = "index.json", 4
GROUP_FILES = ("data", "indices", "indptr", "target")
#: Key of a Parquet file's metadata under which ``ascd convert`` keeps the target's name.
TARGET_KEY = b"ascd.target"


class OnDisk:
    """Data on a disk, for ``ascd.Problem`` and the estimators; made by ``open_data``.

    Attributes
    ----------
    shape : (samples, features)
    feature_names : list of names, or None
    y : the target that is stored with the data, or None
    size : bytes of the data on the disk
    bytes_read : bytes read so far; over ``size``, these are passes

    Examples
    --------
    >>> import tempfile, numpy as np, ascd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.eye(4))
    ...     data = ascd.open_data(f"{folder}/X.npy")
    >>> data.shape, data.size, data.bytes_read, data.y
    ((4, 4), 128, 0, None)
    """

    def __init__(self, reader: Any, memory: float, names: list[str] | None = None, y: Array | None = None) -> None:
        if 0 in reader.shape or not reader.size:
            raise ValueError(
                f"the data have {reader.shape[0]} rows and {reader.shape[1]} features: there is nothing to fit"
            )
        self.reader, self.shape, self.size, self._memory = reader, reader.shape, reader.size, memory
        self.feature_names, self.y = names, y
        self._design: Any = None
        if np.dtype(getattr(reader, "dtype", None)).newbyteorder("=") == np.float32:
            self.dtype = np.dtype(np.float32)  # coefficients shall be float32 too

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self) -> str:
        return f"OnDisk({self.shape[0]} x {self.shape[1]}, {self.size / 1e6:,.1f} MB)"

    @property
    def bytes_read(self) -> int:
        return int(self.reader.bytes_read)

    def as_design(self) -> Any:
        """Return the data as a matrix for problems; the same object in every call."""
        if self._design is None:
            from ascd.matrix.cached import FileMatrix

            self._design = FileMatrix(self.reader, self._memory)
            self._design.feature_names = self.feature_names
        return self._design


def open_data(path: Any, *, target: str | None = None, without: Sequence[str] = (), memory: Any = None) -> OnDisk:
    """Open data that stay on their disk; nothing but their description and the target is read.

    Parameters
    ----------
    path : a .npy file (C or Fortran order, any numbers), a Parquet file or a folder or list of them, or a folder that
        ``ascd convert`` wrote from a LIBSVM file
    target : the column of Parquet files that is the target: it becomes ``data.y`` and is no feature.  By default the
        target that ``ascd convert`` stored; without one every column is a feature
    without : columns of Parquet files that are no features
    memory : bytes that reading may take, as a number or as in "2GB"; 2 GiB by default

    Examples
    --------
    >>> import tempfile, numpy as np, pandas, ascd
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> frame = pandas.DataFrame(X, columns=list("abcd")).assign(price=X[:, 0] - X[:, 1], id=range(200))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/houses.parquet")
    ...     data = ascd.open_data(f"{folder}/houses.parquet", target="price", without=["id"], memory="100MB")
    ...     model = ascd.Lasso(alpha=0.1).fit(data, data.y)
    >>> data, data.feature_names, np.flatnonzero(model.coef_)
    (OnDisk(200 x 4, 0.0 MB), ['a', 'b', 'c', 'd'], array([0, 1]))
    """
    allowed = as_bytes(memory)
    files = [Path(one) for one in path] if isinstance(path, list | tuple) else parquet_files(Path(path)) or [Path(path)]
    if not files:
        raise ValueError("path must name at least one file; got an empty list")
    for one in files:
        if not one.exists():
            raise FileNotFoundError(f"no such file or folder: {one}")
    if all(map(is_parquet, files)):
        parquet = ParquetReader(files, without, target or converted_target(open_parquet(files[0])))
        return OnDisk(parquet, allowed, parquet.names, parquet.y)
    first = files[0]
    if len(files) > 1:
        raise ValueError(f"path may be a list of Parquet files only; got {', '.join(one.name for one in files[:3])}")
    if not is_sparse_folder(first) and first.suffix.lower() != ".npy":
        raise not_on_disk(first)
    if target is not None or without:
        raise ColumnError(f"target and without must be left out for {first}, whose columns have no names")
    if is_sparse_folder(first):
        folder = SparseReader(first)
        return OnDisk(folder, allowed, None, folder.y)
    return OnDisk(NpyReader(first), allowed)


def is_parquet(path: Path) -> bool:
    """Return True for a file that is named as a Parquet file."""
    return path.is_file() and path.suffix.lower() in FORMATS["parquet"]


def is_sparse_folder(path: Path) -> bool:
    """Return True for a folder that ``ascd convert`` wrote from a LIBSVM file."""
    return (path / INDEX).is_file()


def parquet_files(path: Path) -> list[Path]:
    """Return a Parquet file, or those of a folder in the order of their names; [] for other data."""
    if path.is_dir() and not is_sparse_folder(path):
        return sorted(filter(is_parquet, path.iterdir()))
    return [path] if is_parquet(path) else []


def not_on_disk(path: Path) -> ValueError:
    """Return the error of a file that is read as a whole only."""
    return ValueError(
        f"{path} cannot be read piece by piece: .npy, .parquet and folders that `ascd convert` writes can; "
        "`ascd convert` makes such data from CSV and LIBSVM files"
    )


def as_bytes(memory: Any) -> float:
    """Return a number of bytes from a number or from words such as "2GB"."""
    if memory is None:
        return float(DEFAULT_MEMORY)
    found = re.fullmatch(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?)\s*([KMGT]?)(i?)B?\s*", str(memory), re.IGNORECASE)
    value = float(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(found[2].upper() or " ") if found else 0.0
    if not 1 << 20 <= value < math.inf:  # less does not work at all
        raise ValueError(f"memory must be at least 1 MiB, as bytes or as in '500MB' or '2GB'; got {memory!r}")
    return value


# ---- dense .npy files


def state_of(path: Path) -> tuple[int, int, int] | None:
    """Return what distinguishes one state of a file from another; None where there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def reading(path: Path, before: tuple[int, int, int] | None) -> Iterator[None]:
    """Raise an OSError that names the file if it is not in the state that it had ``before``, or cannot be read."""
    now = state_of(path)
    if now != before:
        how = "can no longer be read: No such file or directory" if now is None else "has changed since it was opened"
        raise OSError(f"{path} {how}")
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise OSError(f"{path} is damaged, or can no longer be read: {error}") from error


class Numbers:
    """The numbers of a .npy file as one long vector, in the order of the file."""

    def __init__(self, path: Path) -> None:
        self.path, self.bytes_read, self.state = path, 0, state_of(path)
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, SyntaxError, TokenError, IsADirectoryError, OverflowError) as error:
            raise ValueError(f"{path} is not a complete .npy file of numbers: {error}") from error
        if not isinstance(found, np.memmap):
            raise ValueError(f"{path} is not a .npy file")
        self.shape, self.dtype, self.offset = found.shape, found.dtype, found.offset
        self.is_fortran = bool(found.flags.f_contiguous and not found.flags.c_contiguous)
        self.size = found.nbytes

    def take(self, start: int = 0, count: int | None = None) -> Array:
        """Return ``count`` numbers from ``start`` on (all); booleans as bytes."""
        count = self.shape[0] if count is None else count
        with reading(self.path, self.state):
            found = np.fromfile(self.path, self.dtype, count, offset=self.offset + start * self.dtype.itemsize)
        self.bytes_read += found.nbytes
        if found.size < count:
            raise OSError(f"{self.path} has become shorter than it was: {found.size} of {count} numbers could be read")
        return found.view(np.uint8) if self.dtype == np.bool_ else found


class NpyReader:
    """A matrix in a .npy file, by rows (C order) or by columns (Fortran order)."""

    rows_apart, is_sparse = True, False

    def __init__(self, path: Path) -> None:
        self.numbers = Numbers(path)
        self.shape, self.dtype, self.size = self.numbers.shape, self.numbers.dtype, self.numbers.size
        if len(self.shape) != 2 or self.dtype.kind not in "fiub":
            form = f"{len(self.shape)}-dimensional, of {self.dtype}"
            raise ValueError(f"{path} must hold a two-dimensional array of numbers; it is {form}")
        self.by_columns = self.numbers.is_fortran
        self.together = 1 if self.by_columns else max(1, self.shape[1])
        self.ends, self.counts = np.array([0, self.shape[0]]), np.full(self.shape[1], self.shape[0])

    @property
    def bytes_read(self) -> int:
        return self.numbers.bytes_read

    def read(self, rows: slice, columns: Array | None) -> Array:
        (d, n), height = self.shape, rows.stop - rows.start
        if not self.by_columns:
            values = self.numbers.take(rows.start * n, height * n).reshape(-1, n)
            return values if columns is None else np.ascontiguousarray(values[:, columns])
        chosen = np.arange(n) if columns is None else columns
        spans = list(runs(chosen)) if height == d else [(column, column + 1) for column in chosen.tolist()]
        if len(spans) == 1:
            return self.numbers.take(spans[0][0] * d + rows.start, chosen.size * height).reshape(-1, height).T
        out, place = np.empty((chosen.size, height), dtype=np.uint8 if self.dtype == np.bool_ else self.dtype), 0
        for first, last in spans:
            values = self.numbers.take(first * d + rows.start, (last - first) * height)
            out[place : place + last - first] = values.reshape(-1, height)
            place += last - first
        return out.T


def runs(columns: Array) -> Iterator[tuple[int, int]]:
    """Yield runs of adjacent columns: the first column and the one after the last."""
    breaks = (np.flatnonzero(np.diff(columns) != 1) + 1).tolist()
    for start, stop in zip([0, *breaks], [*breaks, columns.size], strict=True):
        if stop > start:
            yield int(columns[start]), int(columns[stop - 1]) + 1


# ---- Parquet files


class ParquetReader:
    """Parquet files, one after the other, without some columns; their row groups are the groups."""

    together, rows_apart, is_sparse = 1, False, False

    def __init__(self, paths: Sequence[Path], without: Sequence[str] = (), target: str | None = None) -> None:
        files, self.bytes_read = [open_parquet(path) for path in paths], 0
        columns, of_files = parquet_columns(files[0]), [*zip(paths, files, strict=True)]
        check_names([] if target is None else [target], "target", columns)
        check_names(without, "column", columns)
        if len(set(columns)) < len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise ValueError(f"{paths[0]}: the column {twice!r} is there twice")
        self.names = [name for name in columns if name not in without and name != target]
        for path, file in of_files:
            if parquet_columns(file) != columns:
                raise ValueError(f"{path} has other columns than {paths[0]}, or the same in another order")
        if target is not None and len({file.physical_schema.field(target).type for file in files}) > 1:
            raise TypeError(f"the target {target!r} has not the same type in all of {', '.join(map(str, paths))}")
        kinds = {_number_type(file.physical_schema, name, path) for path, file in of_files for name in self.names}
        self.dtype = np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)
        self.groups = [
            (path, state_of(path), group)
            for path, file in of_files
            for group in file.split_by_row_group()
            if group.row_groups[0].num_rows
        ]
        heights = [group.row_groups[0].num_rows for _, _, group in self.groups]
        self.ends = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
        self.shape = (int(self.ends[-1]), len(self.names))
        self.size = 8 * self.shape[0] * self.shape[1]
        self.counts = np.full(self.shape[1], self.shape[0])
        self.y = None
        if target is not None:  # as it is: it may be text
            parts = [self._table(k, [target]).column(target) for k in range(len(self.groups))]
            self.y = np.concatenate([one.to_pandas().to_numpy() for one in parts]) if parts else np.empty(0)

    def read(self, rows: slice, columns: Array | None) -> Array:
        """Return columns of one row group in Fortran order; all its rows are decoded, some converted."""
        number = int(np.searchsorted(self.ends, rows.start, side="right")) - 1
        names = self.names if columns is None else [self.names[j] for j in columns.tolist()]
        table = self._table(number, names).slice(rows.start - int(self.ends[number]), rows.stop - rows.start)
        out = np.empty((table.num_rows, len(names)), order="F")
        for j, name in enumerate(names):
            out[:, j] = table.column(name).to_numpy(zero_copy_only=False)
        return out

    def _table(self, number: int, names: list[str]) -> Any:
        path, state, group = self.groups[number]
        with reading(path, state):
            found = group.to_table(columns=names, use_threads=False)
            stored = group.metadata.row_group(group.row_groups[0].id)
            places = (group.physical_schema.get_field_index(name) for name in names)
            self.bytes_read += sum(stored.column(j).total_compressed_size for j in places)
        return found


def open_parquet(path: Path) -> Any:
    """Return a Parquet file as a fragment of a data set."""
    try:
        from pyarrow import dataset
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install ascd[parquet]") from error
    try:
        return next(dataset.dataset(path, format="parquet").get_fragments())
    except (ValueError, OSError) as error:  # pyarrow's errors are among them
        raise ValueError(f"{path} is not a Parquet file: {error}") from error


def parquet_columns(file: Any) -> list[str]:
    """Return the names of the columns, without the index of a DataFrame, which pandas stores beside them."""
    schema = file.physical_schema
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def converted_target(file: Any) -> str | None:
    """Return the target's name in a Parquet file that ``ascd convert`` wrote."""
    found = (file.physical_schema.metadata or {}).get(TARGET_KEY)
    return None if found is None else found.decode()


def _number_type(schema: Any, name: str, path: Path) -> Any:
    """Return the NumPy type of a column; an error where it holds no numbers."""
    kind = schema.field(name).type
    found = np.dtype(kind.to_pandas_dtype())
    if found.kind not in "fiub":
        raise TypeError(
            f"{path}: column {name!r} must hold numbers; it holds {kind}. Encode it, or leave it out (without)"
        )
    return found


# ---- folders of sparse row groups


def group_file(folder: Path, number: int, kind: str) -> Path:
    """Return one of the files of a row group."""
    return folder / f"rows-{number:05d}.{kind}.npy"


class SparseReader:
    """The matrix in a folder of sparse row groups; ``first`` is the first index of the LIBSVM file."""

    together, rows_apart, is_sparse = 1, False, True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
            if index["version"] != VERSION or index["first"] not in (0, 1):
                raise ValueError(f"{INDEX} is not an index that this version of ascd knows")
            self.first, self.ends, self.groups, targets = index["first"], np.array(index["ends"]), [], []
            for number in range(self.ends.size - 1):
                data, rows, offsets, y = (Numbers(group_file(folder, number, one)) for one in GROUP_FILES)
                self.groups.append((data, rows, _offsets_of(offsets, data, rows)))
                targets.append(y.take())
            if not targets or [len(one) for one in targets] != np.diff(self.ends).tolist():
                raise ValueError(f"its groups of rows end at {index['ends']}, and their targets elsewhere")
            self.counts = np.sum([np.diff(offsets) for _, _, offsets in self.groups], axis=0)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._damaged(error) from error
        self.y, self.shape = np.concatenate(targets), (int(self.ends[-1]), self.counts.size)
        self.size = sum(data.size + rows.size for data, rows, _ in self.groups)

    def _damaged(self, error: Any) -> ValueError:
        return ValueError(f"{self.folder} is damaged: {error}. Run ascd convert again, with --force")

    @property
    def bytes_read(self) -> int:
        return sum(data.bytes_read + rows.bytes_read for data, rows, _ in self.groups)

    def read(self, rows: slice, columns: Array | None) -> Any:
        from scipy.sparse import csc_array

        number = int(np.searchsorted(self.ends, rows.start, side="right")) - 1
        data, indices, offsets = self.groups[number]
        chosen = np.arange(self.shape[1]) if columns is None else columns
        spans = [(int(offsets[first]), int(offsets[last])) for first, last in runs(chosen)]
        entries, places = (
            np.concatenate([one.take(start, stop - start) for start, stop in spans]) for one in (data, indices)
        )
        ends = np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])
        found = csc_array((entries, places, ends), shape=(int(np.diff(self.ends)[number]), chosen.size))
        try:
            check_places(found)
        except ValueError as error:
            raise self._damaged(f"{indices.path}: {error}") from error
        if not found.has_canonical_format:
            raise self._damaged(f"{indices.path} has rows of a column twice, or not in their order")
        return found


def _offsets_of(file: Numbers, data: Numbers, rows: Numbers) -> Array:
    """Return where columns begin among the entries of a group; an error where they are not those of the group."""
    found = file.take()
    if found.size < 2 or found[0] != 0 or (found[1:] < found[:-1]).any():
        raise ValueError(f"{file.path} has columns that begin before the last one's end")
    if not data.shape == rows.shape == (found[-1],):
        raise ValueError(f"{data.path} or {rows.path} has not the {found[-1]} entries of {file.path}")
    return found
