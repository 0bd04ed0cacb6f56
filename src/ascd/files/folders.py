"""Folders of row groups, which ``ascd convert`` writes: each group by columns, dense or sparse, and an index.

========================  ===========================================================================
``index.json``            shape, where groups end, names, the target's name, dense or sparse
``rows-00000.npy``        the numbers of a dense group, in Fortran order
``rows-00000.data.npy``   of a sparse group: entries, their rows (``.indices``), columns (``.indptr``)
``target.npy``            the target
========================  ===========================================================================
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd.files.npy import NpyReader, Numbers, runs

INDEX, VERSION = "index.json", 1


class FolderReader:
    """The matrix in such a folder."""

    by_columns = True

    def __init__(self, folder: Path) -> None:
        self.index = read_index(folder)
        self.shape, self.ends = tuple(self.index["shape"]), np.array(self.index["ends"])
        self.is_sparse = bool(self.index["sparse"])
        groups = range(self.ends.size - 1)
        if self.is_sparse:
            self._open_sparse(folder, groups)
        else:
            self._open_dense(folder, groups)

    def _open_dense(self, folder: Path, groups: range) -> None:
        self.groups = [NpyReader(folder / f"{group_name(number)}.npy") for number in groups]
        self.counts = np.full(self.shape[1], self.shape[0])
        self.size = sum(one.size for one in self.groups)

    def _open_sparse(self, folder: Path, groups: range) -> None:
        self.offsets = [np.load(folder / f"{group_name(number)}.indptr.npy") for number in groups]
        self.entries = [Numbers(folder / f"{group_name(number)}.data.npy") for number in groups]
        self.rows = [Numbers(folder / f"{group_name(number)}.indices.npy") for number in groups]
        self.counts = np.sum([np.diff(one) for one in self.offsets], axis=0)
        self.size = sum(one.size for one in (*self.entries, *self.rows))

    @property
    def bytes_read(self) -> int:
        return sum(one.bytes_read for one in ((*self.entries, *self.rows) if self.is_sparse else self.groups))

    def read(self, rows: slice, columns: Array | None) -> Any:
        number = int(np.searchsorted(self.ends, rows.start, side="right")) - 1
        if self.is_sparse:
            return self._read_sparse(number, columns)
        top = int(self.ends[number])
        return self.groups[number].read(slice(rows.start - top, rows.stop - top), columns)

    def _read_sparse(self, number: int, columns: Array | None) -> Any:
        from scipy.sparse import csc_array

        offsets = self.offsets[number]
        chosen = np.arange(self.shape[1]) if columns is None else columns
        spans = [(int(offsets[first]), int(offsets[last])) for _, first, last in runs(chosen)]
        entries = np.concatenate([self.entries[number].take(start, stop - start) for start, stop in spans])
        rows = np.concatenate([self.rows[number].take(start, stop - start) for start, stop in spans])
        ends = np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])
        height = int(self.ends[number + 1] - self.ends[number])
        return csc_array((entries, rows, ends), shape=(height, chosen.size))


def group_name(number: int) -> str:
    return f"rows-{number:05d}"


def is_folder_of_groups(path: Path) -> bool:
    return (path / INDEX).is_file()


def read_index(folder: Path) -> dict[str, Any]:
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        known = {"version", "shape", "ends", "sparse", "names", "target"} <= set(index)
    except (ValueError, TypeError):
        known = False
    if not known or index["version"] != VERSION:
        raise ValueError(f"{folder / INDEX} is not an index that this version of ascd knows: run ascd convert again")
    return index
