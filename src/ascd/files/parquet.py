"""Parquet files by row groups and columns: what is not asked for is not read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.files.npy import Seal, reading
from ascd.files.targets import named_column


class ParquetReader:
    """Parquet files, one after the other, without some columns; their row groups are the groups.

    A file's handle serves one thread at a time; a copy in another process opens the files itself.
    """

    together, rows_apart, is_sparse = 1, False, False

    def __init__(self, paths: Sequence[Path], without: Sequence[str] = ()) -> None:
        self.paths, self.without, self.bytes_read = list(paths), tuple(without), 0
        self._open()
        schema, columns = self.files[0].schema_arrow, columns_of(self.files[0])
        for name in without:
            named_column(name, "target", columns)
        if len(set(columns)) < len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise ValueError(f"{paths[0]}: the column {twice!r} is there twice")
        self.names = [name for name in columns if name not in without]
        for path, file in zip(paths, self.files, strict=True):
            if columns_of(file) != columns:
                raise ValueError(f"{path} has other columns than {paths[0]}: {_difference(file, columns)}")
            for name in self.names:
                _check_type(name, file.schema_arrow.field(name).type, path)
            for name in without:
                _check_same(name, file.schema_arrow.field(name).type, schema.field(name).type, path, paths[0])
        kinds = {file.schema_arrow.field(name).type for file in self.files for name in self.names}
        self.dtype = np.dtype(np.float32 if {str(kind) for kind in kinds} == {"float"} else np.float64)
        heights = [file.metadata.row_group(g).num_rows for file, g in self.groups]
        self.ends = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
        self.shape = (int(self.ends[-1]), len(self.names))
        self.size = 8 * self.shape[0] * self.shape[1]
        self.counts = np.full(self.shape[1], self.shape[0])

    def _open(self) -> None:
        self.files, self.seals, self.lock = [opened(path) for path in self.paths], [*map(Seal, self.paths)], Lock()
        groups = [(file, g) for file in self.files for g in range(file.num_row_groups)]
        self.groups = [(file, g) for file, g in groups if file.metadata.row_group(g).num_rows]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("files", "groups", "lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        seals = self.seals
        self._open()
        self.seals = seals

    def read(self, rows: slice, columns: Array | None) -> Array:
        number = int(np.searchsorted(self.ends, rows.start, side="right")) - 1
        top = int(self.ends[number])
        names = self.names if columns is None else [self.names[j] for j in columns.tolist()]
        return self._columns(number, names, slice(rows.start - top, rows.stop - top))

    def column(self, name: str) -> Array:
        """One column of all rows, as it is (the target may be text)."""
        parts = [self._table(file, g, [name]).column(name).to_pandas() for file, g in self.groups]
        return np.concatenate([part.to_numpy() for part in parts]) if parts else np.empty(0)

    def _columns(self, number: int, names: Sequence[str], rows: slice) -> Array:
        """Columns of one row group, in Fortran order; missing values are nan.  All rows are decoded, some converted."""
        file, group = self.groups[number]
        with self.lock:
            self.seals[self.files.index(file)].check()
            table = self._table(file, group, names)
            meta, wanted = file.metadata.row_group(group), set(names)
            stored = (meta.column(k) for k in range(meta.num_columns))
            self.bytes_read += sum(one.total_compressed_size for one in stored if one.path_in_schema in wanted)
        table = table.slice(rows.start, rows.stop - rows.start)
        out = np.empty((table.num_rows, len(names)), order="F")
        for j, name in enumerate(names):
            out[:, j] = table.column(name).to_numpy(zero_copy_only=False)
        return out

    def _table(self, file: Any, group: int, names: Sequence[str]) -> Any:
        with reading(self.paths[self.files.index(file)]):
            return file.read_row_group(group, columns=list(names))


def opened(path: Path) -> Any:
    """The file, whose columns can be asked for."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("reading Parquet files needs pyarrow: pip install ascd[parquet]") from error
    try:
        return ParquetFile(path)
    except (ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from error


def columns_of(file: Any) -> list[str]:
    """The names of the columns, without the index of a DataFrame, which pandas stores beside them."""
    schema = file.schema_arrow
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _difference(file: Any, first: list[str]) -> str:
    """What tells the columns of a file from those of the first."""
    mine = columns_of(file)
    found = [f"it lacks {name!r}" for name in first if name not in mine][:1]
    found += [f"it has {name!r} besides" for name in mine if name not in first][:1]
    found += [f"it has {name!r} twice" for name in mine if mine.count(name) > 1][:1]
    if found:
        return ", and ".join(found)
    place = next(j for j, name in enumerate(mine) if name != first[j])
    return f"the same in another order, column {place} is {mine[place]!r} and not {first[place]!r}"


def _check_type(name: str, kind: Any, path: Path) -> None:
    from pyarrow import types

    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise TypeError(f"{path}: column {name!r} must hold numbers; it holds {kind}. Encode it, or leave it out")


def _check_same(name: str, kind: Any, first: Any, path: Path, before: Path) -> None:
    if kind != first:
        raise TypeError(f"{path}: the target {name!r} holds {kind}, in {before} it holds {first}")
