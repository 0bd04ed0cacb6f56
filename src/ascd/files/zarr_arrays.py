"""Zarr arrays by chunks: those without a column that is asked for are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ascd._base.checks import Array


class ZarrReader:
    """A Zarr array of two dimensions; the rows of its chunks are the groups."""

    is_sparse = False

    def __init__(self, path: Path) -> None:
        array = _opened(path)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            form = f"{array.ndim}-dimensional, of {array.dtype}"
            raise ValueError(f"{path} must hold a two-dimensional array of numbers; it is {form}")
        self.array, self.shape, self.bytes_read = array, tuple(array.shape), 0
        self.entry = array.dtype.itemsize
        self.size = self.shape[0] * self.shape[1] * self.entry
        step, self.width = array.chunks
        self.ends = np.array([*range(0, self.shape[0], step), self.shape[0]])
        self.by_columns = self.width < self.shape[1]
        self.counts = np.full(self.shape[1], self.shape[0])

    def read(self, rows: slice, columns: Array | None) -> Array:
        height = rows.stop - rows.start
        if columns is None:
            self.bytes_read += height * self.shape[1] * self.entry
            return np.asarray(self.array[rows])
        chunks = int(np.unique(columns // self.width).size)
        self.bytes_read += height * min(chunks * self.width, self.shape[1]) * self.entry
        found = np.asarray(self.array.oindex[rows, columns])
        return np.asfortranarray(found) if self.by_columns else np.ascontiguousarray(found)


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
