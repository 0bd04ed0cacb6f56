"""Folders of row groups, which ``ascd convert`` writes: each group by columns, dense or sparse, and an index.

========================  ===========================================================================
``index.json``            shape, where groups end, names, the target's name, dense or sparse, ``data``
``groups-…``              the folder that ``data`` names, one for each conversion (``placing``); in it:
``rows-00000.npy``        the numbers of a dense group, in Fortran order
``rows-00000.data.npy``   of a sparse group: entries, their rows (``.indices``), columns (``.indptr``)
``target.npy``            the target
========================  ===========================================================================

Of a LIBSVM file the index keeps the ``first`` index, 0 or 1.  In version 1 all lay beside the index.  Shapes must be
those of the index, or the folder is not opened.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_places
from ascd.files.npy import NpyReader, Numbers, loaded, runs

INDEX, VERSION = "index.json", 2
#: How the folder of a conversion's numbers begins.
DATA = "groups-"


class FolderReader:
    """The matrix in such a folder."""

    together = 1

    def __init__(self, folder: Path) -> None:
        self.index, self.folder = read_index(folder), folder
        self.place = folder / self.index["data"]
        self.shape, self.ends = tuple(self.index["shape"]), np.array(self.index["ends"])
        if self.ends[0] != 0 or (np.diff(self.ends) < 1).any() or self.ends[-1] != self.shape[0]:
            raise self._differs(f"its groups of rows end at {self.index['ends']}, and it has {self.shape[0]} rows")
        self.is_sparse = bool(self.index["sparse"])
        self.rows_apart = not self.is_sparse
        try:
            if self.is_sparse:
                self._open_sparse()
            else:
                self._open_dense()
        except FileNotFoundError as error:
            raise self._differs(f"{error.filename} is missing") from error

    def target(self) -> Array:
        """The target, an entry a row."""
        try:
            found = loaded(self.place / "target.npy")
        except FileNotFoundError as error:
            raise self._differs(f"{error.filename} is missing") from error
        self._check("target.npy", found.shape, (self.shape[0],))
        return found

    def _open_dense(self) -> None:
        self.groups = [NpyReader(self.place / f"{name}.npy") for name in self._names()]
        for height, name, one in zip(np.diff(self.ends), self._names(), self.groups, strict=True):
            self._check(f"{name}.npy", one.shape, (int(height), self.shape[1]))
        self.counts = np.full(self.shape[1], self.shape[0])
        self.size = sum(one.size for one in self.groups)

    def _open_sparse(self) -> None:
        self.offsets = [loaded(self.place / f"{name}.indptr.npy") for name in self._names()]
        self.entries = [Numbers(self.place / f"{name}.data.npy") for name in self._names()]
        self.rows = [Numbers(self.place / f"{name}.indices.npy") for name in self._names()]
        parts = zip(self._names(), self.offsets, self.entries, self.rows, strict=True)
        for name, offsets, entries, rows in parts:
            self._check(f"{name}.indptr.npy", offsets.shape, (self.shape[1] + 1,))
            self._check(f"{name}.data.npy", entries.shape, (int(offsets[-1]),))
            self._check(f"{name}.indices.npy", rows.shape, (int(offsets[-1]),))
            if offsets.dtype.kind not in "iu" or rows.dtype.kind not in "iu":
                raise self._differs(f"{self.place / name}.indices.npy or .indptr.npy holds no whole numbers")
            if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
                raise self._differs(f"{self.place / name}.indptr.npy has columns that begin before the last one's end")
        self.counts = np.sum([np.diff(one) for one in self.offsets], axis=0)
        self.size = sum(one.size for one in (*self.entries, *self.rows))

    def _names(self) -> list[str]:
        return [group_name(number) for number in range(self.ends.size - 1)]

    def _check(self, name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
        if tuple(found) != expected:
            raise self._differs(f"{self.place / name} has shape {tuple(found)}, not {expected}")

    def _differs(self, how: str) -> ValueError:
        return ValueError(f"{self.folder} is not what its {INDEX} says: {how}. Run ascd convert again, with --force")

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
        found = csc_array((entries, rows, ends), shape=(height, chosen.size))
        try:
            check_places(found)
        except ValueError as error:
            raise self._differs(f"{self.rows[number].path}: {error}") from error
        if not found.has_canonical_format:
            raise self._differs(f"{self.rows[number].path} has rows of a column twice, or not in their order")
        return found


def group_name(number: int) -> str:
    return f"rows-{number:05d}"


def is_folder_of_groups(path: Path) -> bool:
    return (path / INDEX).is_file()


def read_index(folder: Path) -> dict[str, Any]:
    """The index; ``data`` names the folder of the numbers, from the index's own."""
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if index.get("version") == 1:
            index["data"] = "."
        known = {"version", "shape", "ends", "sparse", "names", "target", "data"} <= set(index) and _is_sound(index)
    except (ValueError, TypeError, AttributeError):
        known = False
    if not known or index["version"] not in (1, VERSION):
        raise ValueError(f"{folder / INDEX} is not an index that this version of ascd knows: run ascd convert again")
    return index


def _is_sound(index: dict[str, Any]) -> bool:
    """Are shape, ends, names, the folder of the numbers and the first index of their kinds?"""
    shape, ends, names = index["shape"], index["ends"], index["names"]
    are_whole = all(isinstance(part, list) and all(type(one) is int for one in part) for part in (shape, ends))
    if not are_whole or len(shape) != 2 or len(ends) < 2 or not isinstance(index["data"], str):
        return False
    if index.get("first") not in (None, 0, 1):
        return False
    return names is None or (len(names) == shape[1] and all(isinstance(name, str) for name in names))
