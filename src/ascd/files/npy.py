"""Numbers in .npy files, read with ordinary calls.

Not through a memory map: a file that has become shorter is an error with a sentence, where a map would end the process.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ascd._core.checks import Array

#: What NumPy raises for a file that is damaged, by where the damage lies.
DAMAGED_ARRAY = (ValueError, EOFError, SyntaxError, TokenError)


class Seal:
    """A file as it was when it was opened: columns that are kept would not be those of a file written since."""

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, self.state_of(path)

    def check(self) -> None:
        """Raise an OSError if the file has changed."""
        try:
            now = self.state_of(self.path)
        except OSError as error:
            raise OSError(f"{self.path} can no longer be read: {error.strerror}") from error
        if now == self.state:
            return
        if now[1] < self.state[1]:
            raise OSError(f"{self.path} has become shorter than it was: {now[1]:,} of {self.state[1]:,} bytes are left")
        raise OSError(f"{self.path} has changed since it was opened: open it again")

    @staticmethod
    def state_of(path: Path) -> tuple[int, int, int]:
        """What tells one state of a file from another."""
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Errors of whatever reads a file, which differ between libraries, are one kind and name the file."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise OSError(f"{path} is damaged, or can no longer be read: {error}") from error


class Numbers:
    """The numbers of a .npy file as one long vector, in the order of the file."""

    def __init__(self, path: Path) -> None:
        self.path, self.bytes_read = path, 0
        self.seal = Seal(path)
        self.shape, self.is_fortran, self.dtype, self.offset = _header(path)
        self.count = math.prod(self.shape)
        self.size = self.count * self.dtype.itemsize

    def take(self, start: int, count: int) -> Array:
        """So many numbers from ``start`` on; booleans as bytes."""
        self.seal.check()
        with reading(self.path):
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
        if len(self.numbers.shape) != 2 or self.numbers.dtype.kind not in "fiub":
            form = f"{len(self.numbers.shape)}-dimensional, of {self.numbers.dtype}"
            raise ValueError(f"{path} must hold a two-dimensional array of numbers; it is {form}")
        self.shape, self.size, self.by_columns = self.numbers.shape, self.numbers.size, self.numbers.is_fortran
        self.dtype, self.together = self.numbers.dtype, 1 if self.by_columns else max(1, self.shape[1])
        self.ends, self.counts = np.array([0, self.shape[0]]), np.full(self.shape[1], self.shape[0])

    @property
    def bytes_read(self) -> int:
        return self.numbers.bytes_read

    def read(self, rows: slice, columns: Array | None) -> Array:
        d, n = self.shape
        height = rows.stop - rows.start
        if not self.by_columns:
            values = self.numbers.take(rows.start * n, height * n).reshape(-1, n)
            return values if columns is None else np.ascontiguousarray(values[:, columns])
        chosen = np.arange(n) if columns is None else columns
        kind = np.dtype(np.uint8) if self.numbers.dtype == np.bool_ else self.numbers.dtype
        if height == d and chosen.size and chosen[-1] - chosen[0] == chosen.size - 1 and (np.diff(chosen) == 1).all():
            return self.numbers.take(int(chosen[0]) * d, chosen.size * d).reshape(-1, d).T
        out = np.empty((height, chosen.size), dtype=kind, order="F")
        for there, first, last in runs(chosen):
            if height == d:
                out[:, there] = self.numbers.take(first * d, (last - first) * d).reshape(-1, d).T
                continue
            for place, column in zip(range(there.start, there.stop), range(first, last), strict=True):
                out[:, place] = self.numbers.take(column * d + rows.start, height)
        return out


def runs(columns: Array) -> Iterator[tuple[slice, int, int]]:
    """Neighbours among the columns: their places, the first column and the one after the last.

    Examples
    --------
    >>> import numpy as np
    >>> list(runs(np.array([3, 4, 5, 1])))
    [(slice(0, 3, None), 3, 6), (slice(3, 4, None), 1, 2)]
    """
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    for start, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), columns.size], strict=True):
        if stop > start:
            yield slice(start, stop), int(columns[start]), int(columns[stop - 1]) + 1


def loaded(path: Path) -> Array:
    """All numbers or words of a small .npy file."""
    try:
        found: Array = np.load(path, allow_pickle=False)
    except DAMAGED_ARRAY as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    return found


def _header(path: Path) -> tuple[Any, bool, Any, int]:
    """Shape, order, dtype and where the numbers begin; the file must hold all of them."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a .npy file")
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, is_fortran, dtype = read(file)
            offset = file.tell()
    except DAMAGED_ARRAY as error:
        raise ValueError(f"{path} is not a .npy file: {error}") from error
    if dtype.hasobject:
        raise ValueError(f"{path} holds Python objects, not numbers")
    if min(shape, default=0) < 0:
        raise ValueError(f"{path} is not a .npy file: its shape is {shape}")
    needed, there = math.prod(shape) * dtype.itemsize, path.stat().st_size - offset
    if there < needed:
        raise ValueError(f"{path} is incomplete: {there:,} of {needed:,} bytes of numbers are there")
    return shape, is_fortran, dtype, offset
