"""Data larger than memory: a file or folder that stays on its disk and is read in chunks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.io import readers
from ascd.io.reading import DEFAULT_MEMORY, FORMATS
from ascd.io.tables import ColumnError

PARQUET = FORMATS["parquet"]
#: The least memory that works at all, in bytes.
LEAST_MEMORY = 1 << 20


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
        return self._design

    @cached_property
    def _design(self) -> Any:
        from ascd.matrix.files import FileMatrix

        design = FileMatrix(self.reader, self._memory)
        design.feature_names = self.feature_names
        return design


def open_data(path: Any, *, target: str | None = None, without: Sequence[str] = (), memory: Any = None) -> OnDisk:
    """Open data that stay on their disk; nothing but their description and the target is read.

    Parameters
    ----------
    path : a .npy file (C or Fortran order, any numbers), a Parquet file or a folder or list of them, a Zarr array, or a
        folder written by ``ascd convert`` from a LIBSVM file
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
    several = [Path(one) for one in path] if isinstance(path, list | tuple) else _files_of(Path(path))
    if not several:
        raise ValueError("path must name at least one file; got an empty list")
    first = several[0]
    for one in several:
        if not one.exists():
            raise FileNotFoundError(f"no such file or folder: {one}")
    if len(several) > 1 and not all(one.suffix.lower() in PARQUET for one in several):
        raise ValueError(f"path may be a list of Parquet files only; got {', '.join(one.name for one in several[:3])}")
    if first.is_file() and first.suffix.lower() in PARQUET:
        target = target or readers.converted_target(readers.open_parquet(first))
        reader = readers.ParquetReader(several, tuple(without), target)
        return OnDisk(reader, allowed, reader.names, None if target is None else reader.column(target))
    is_sparse = readers.is_sparse_folder(first)
    for argument, given in (("target", target), ("without", without or None)):
        if given is not None and not (is_sparse and given == "label"):
            kind = ColumnError if is_sparse else ValueError
            raise kind(f"{argument} must be left out for {first}, whose columns have no names; got {given!r}")
    if is_sparse:
        folder = readers.SparseReader(first)
        return OnDisk(folder, allowed, None, folder.y)
    is_zarr = first.suffix.lower() == ".zarr" or any((first / name).is_file() for name in readers.ZARR_METADATA)
    if first.suffix.lower() != ".npy" and not is_zarr:
        raise not_on_disk(first)
    return OnDisk(readers.ZarrReader(first) if is_zarr else readers.NpyReader(first), allowed)


def parquet_names(path: Path) -> tuple[list[str], str | None]:
    """Return the columns of Parquet files and the target that ``ascd convert`` stored; ([], None) for other data."""
    first = _files_of(path)[0]
    if not (first.is_file() and first.suffix.lower() in PARQUET):
        return [], None
    file = readers.open_parquet(first)
    return readers.parquet_columns(file), readers.converted_target(file)


def not_on_disk(path: Path) -> ValueError:
    """Return the error of a file that is read as a whole only."""
    return ValueError(
        f"{path} cannot be read piece by piece: .npy, .parquet, .zarr and folders that `ascd convert` writes can; "
        "`ascd convert` makes such data from CSV and LIBSVM files"
    )


def as_bytes(memory: Any) -> float:
    """Return a number of bytes from a number or from words such as "2GB".

    Examples
    --------
    >>> as_bytes("2GB"), as_bytes("512 MiB"), as_bytes("1E9")
    (2000000000.0, 536870912.0, 1000000000.0)
    """
    if memory is None:
        return float(DEFAULT_MEMORY)
    found = re.fullmatch(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?)\s*([KMGT]?)(i?)B?\s*", str(memory), re.IGNORECASE)
    value = float(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(found[2].upper() or " ") if found else 0.0
    if not LEAST_MEMORY <= value < float("inf"):
        raise ValueError(f"memory must be at least 1 MiB, as bytes or as in '500MB' or '2GB'; got {memory!r}")
    return value


def _files_of(path: Path) -> Sequence[Path]:
    """Return the Parquet files of a folder, in the order of their names; else the path itself."""
    if path.is_dir() and not readers.is_sparse_folder(path):
        found = sorted(file for file in path.iterdir() if file.suffix.lower() in PARQUET)
        if found:
            return found
    return [path]
