"""A matrix on a disk: read piece by piece, the next one while the last is used, and only columns that are requested.

A file holds groups of rows.  Where the columns of a group lie apart, those that are not requested are not read.  Some
formats decode a *chunk* at a time, all rows of a group and a few columns, whatever is requested of it.  Pieces are made
of whole chunks there, so that a pass decodes each one once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import CachedMatrix, DenseRows, joined
from ascd.matrix.dense import Dense, Local, LocalDense
from ascd.matrix.open import READ_IN_PLACE
from ascd.matrix.sparse import LocalSparse


class Reader(Protocol):
    """A file, or several: numbers by rows and columns."""

    shape: tuple[int, int]
    #: Bytes that all numbers take in the file, and those read so far.
    size: int
    bytes_read: int
    #: Where groups of rows end, from 0 on.
    ends: Array
    #: Columns of a group that are read together, whichever of them are requested, from column 0 on.
    together: int
    #: Can some rows of a group be read without the others?
    rows_apart: bool
    #: Stored entries of each column.
    counts: Array
    is_sparse: bool

    def read(self, rows: slice, columns: Array | None) -> Any:
        """Rows of one group, with these columns (all): an array in C or Fortran order, or a CSC matrix."""


class Piece(NamedTuple):
    """Rows, places among the requested columns, and the numbers there; before it is read, these columns (None: all)."""

    rows: slice
    there: Array
    values: Any


class FileMatrix(CachedMatrix):
    """A matrix in files; ``memory`` is what it may take, in bytes."""

    is_dear = answers_several = True

    def __init__(self, reader: Reader, memory: float) -> None:
        self.reader, self.shape, self.is_sparse = reader, reader.shape, reader.is_sparse
        self.memory, self.piece = memory, int(min(costs.BLOCK_BYTES, costs.FILE_PIECE * memory))
        self.cache_bytes, self.most_bytes = costs.FILE_NEAR * memory, costs.FILE_ROOM * memory

    @property
    def nbytes(self) -> int:
        return int(min(self.reader.size, self.memory))

    @property
    def counts(self) -> Array:
        return self.reader.counts

    @property
    def bytes_read(self) -> int:  # type: ignore[override]
        return self.reader.bytes_read

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        square, plain, total = np.zeros((3, self.shape[1]))
        out = ColumnStats(square, plain, total, np.zeros((len(vectors), self.shape[1])))
        for rows, there, values in self.pieces(None):
            share = weight if np.ndim(weight) == 0 else weight[rows]
            found = as_piece(values).column_stats(share, np.ascontiguousarray(vectors[:, rows]))
            with np.errstate(all="ignore"):  # what is not finite is named once norms have shown it
                for mine, theirs in zip(out, found, strict=True):
                    mine[..., there] += theirs
        return out

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, *vectors.shape[1:]))
        for rows, there, values in self.pieces(columns):
            out[there] += as_piece(values).dots(np.arange(values.shape[1]), vectors[rows])
        return out

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        for rows, there, values in self.pieces(columns):
            as_piece(values).add(np.arange(values.shape[1]), factors[there], out[rows])

    def fetch(self, columns: Array) -> Local:
        return joined(self.pieces(columns), (self.shape[0], columns.size), self.is_sparse)

    def pieces(self, columns: Array | None) -> Iterator[Piece]:
        """Yield what is requested in the order of the file; the next pieces are read ahead, unless they are large."""
        tallest = int(np.diff(self.reader.ends).max())
        is_large = not self.reader.rows_apart and self._chunk(tallest) > costs.FILE_PIECE * self.memory
        count, pool = 1 if is_large else 2, ThreadPoolExecutor(1, thread_name_prefix="ascd-read")
        waiting: deque[Future[Piece]] = deque()
        try:
            for place in self._places(columns):
                waiting.append(pool.submit(self._read, place))
                if len(waiting) == count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # Ctrl-C, or a run that ends early
            pool.shutdown(wait=True, cancel_futures=True)

    def _read(self, place: Piece) -> Piece:
        """Numbers that compiled code reads as they are; others (half precision, the other byte order) as float64."""
        values = self.reader.read(place.rows, place.values)
        return place._replace(values=values if values.dtype in READ_IN_PLACE else values.astype(np.float64))

    def _chunk(self, height: int) -> float:
        """Bytes of so many rows of columns that are read together."""
        d, n = self.shape
        return height * min(self.reader.together, n) * self.reader.size / (d * n)

    def _places(self, columns: Array | None) -> Iterator[Piece]:
        """Where the pieces are: none is too large, unless it is one chunk that can only be read as a whole."""
        wanted = np.arange(self.shape[1]) if columns is None else columns
        order = np.argsort(wanted, kind="stable")
        number = np.unique(wanted[order] // self.reader.together, return_inverse=True)[1]
        for start, stop in pairwise(self.reader.ends.tolist() if wanted.size else []):
            share = self.piece / self._chunk(stop - start)
            tall = max(1, int(min(1.0, share) * (stop - start))) if self.reader.rows_apart else stop - start
            for there in np.split(order, np.flatnonzero(np.diff(number // max(1, int(share)))) + 1):
                chosen = None if columns is None and there.size == wanted.size else wanted[there]
                for top in range(start, stop, tall):
                    yield Piece(slice(top, min(top + tall, stop)), there, chosen)


def as_piece(values: Any) -> LocalDense | LocalSparse | DenseRows:
    """Return a piece as a matrix: by columns, or dense by rows."""
    if hasattr(values, "tocsc"):
        return LocalSparse.of(values)
    return LocalDense(Dense(values), values.shape) if values.flags.f_contiguous else DenseRows(values, 0.0)
