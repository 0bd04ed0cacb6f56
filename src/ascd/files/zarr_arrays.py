"""Zarr arrays by chunks: those without a column that is asked for are not read.

An array on a disk is a folder of files, and each write changes one of them: before every read, the files that it needs
must be as they were when the array was opened, since columns that are kept would not be those of an array written
since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.files.npy import Seal, reading

#: Where the shape of an array stands, in the two versions of the format.
DESCRIPTIONS = ("zarr.json", ".zarray")


class Seals:
    """The files of an array as they were when it was opened; a chunk of nothing but fill values has no file."""

    def __init__(self, path: Path, array: Any) -> None:
        self.path, self.stored = path, getattr(array, "shards", None) or array.chunks
        metadata = getattr(array, "metadata", None)  # zarr 3
        self.name = getattr(metadata, "encode_chunk_key", None) or array._chunk_key
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        self.states = {one: Seal.state_of(one) for one in files}

    def check(self, rows: slice, columns: Array) -> None:
        """Raise an OSError if a file has changed that holds some of these numbers, or says how many there are."""
        if self.path.is_file():  # all in one archive
            self._check(self.path)
            return
        for name in DESCRIPTIONS:
            self._check(self.path / name)
        height, width = self.stored
        across = np.unique(columns // width).tolist()
        for down in range(rows.start // height, (rows.stop - 1) // height + 1):
            for number in across:
                self._check(self.path / self.name((down, number)))

    def _check(self, file: Path) -> None:
        try:
            now = Seal.state_of(file)
        except FileNotFoundError:
            now = None
        if now != self.states.get(file):
            raise OSError(f"{self.path} has changed since it was opened: open it again")


class ZarrReader:
    """A Zarr array of two dimensions; the rows of its chunks are the groups."""

    rows_apart, is_sparse = False, False

    def __init__(self, path: Path) -> None:
        array = _opened(path)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            form = f"{array.ndim}-dimensional, of {array.dtype}"
            raise ValueError(f"{path} must hold a two-dimensional array of numbers; it is {form}")
        self.path, self.array, self.shape, self.bytes_read = path, array, tuple(array.shape), 0
        self.seals = Seals(path, array)
        self.dtype, self.entry = array.dtype, array.dtype.itemsize
        self.size = self.shape[0] * self.shape[1] * self.entry
        self.step, self.together = array.chunks
        self.ends = np.array([*range(0, self.shape[0], self.step), self.shape[0]])
        self.by_columns = self.together < self.shape[1]
        self.counts = np.full(self.shape[1], self.shape[0])

    def read(self, rows: slice, columns: Array | None) -> Array:
        chosen = np.arange(self.shape[1]) if columns is None else columns
        self.seals.check(rows, chosen)
        self.bytes_read += self._decoded(rows, chosen) * self.entry
        with reading(self.path):
            if columns is None:
                return np.asarray(self.array[rows])
            found = np.asarray(self.array.oindex[rows, columns])
        return np.asfortranarray(found) if self.by_columns else np.ascontiguousarray(found)

    def _decoded(self, rows: slice, columns: Array) -> int:
        """Numbers of the chunks that hold these rows of one group and these columns; each is decoded as a whole."""
        top, left = rows.start // self.step * self.step, np.unique(columns // self.together) * self.together
        return int(min(self.step, self.shape[0] - top) * np.minimum(self.together, self.shape[1] - left).sum())


def _opened(path: Path) -> Any:
    try:
        import zarr  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("reading Zarr arrays needs zarr: pip install ascd[zarr]") from error
    try:
        found = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr's own errors differ between its versions
        raise ValueError(f"{path} is not a Zarr array: {error}") from error
    if not hasattr(found, "chunks"):
        raise ValueError(f"{path} is a Zarr group; give the path of one of its arrays: {', '.join(sorted(found))}")
    return found
