"""A matrix on a disk: read piece by piece, the next one while the last is used, and only columns that are requested.

A file holds groups of rows.  Where the columns of a group lie apart, those that are not requested are not read.  Some
formats decode a *chunk* at a time, all rows of a group and a few columns, whatever is requested of it.  Pieces are made
of whole chunks there, so that a pass decodes each one once.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise, starmap
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import CachedMatrix, joined
from ascd.matrix.dense import Local
from ascd.matrix.open import READ_IN_PLACE, as_stored

#: Rows, places among the requested columns, and the numbers there; before they are read, these columns (None: all).
Piece = tuple[slice, Array, Any]


class FileMatrix(CachedMatrix):
    """A matrix in files; ``memory`` is what it may take, in bytes.

    The reader has a method ``read(rows, columns)`` for rows of one group with these columns (None: all), an array in C
    or Fortran order or a CSC matrix, and these attributes:

    shape, is_sparse, counts : as those of a matrix
    size, bytes_read : bytes that all numbers take in the files, and those read so far
    ends : where groups of rows end, from 0 on
    together : columns of a group that are read together, whichever of them are requested, from column 0 on
    rows_apart : some rows of a group can be read without the others
    """

    is_dear = answers_several = True

    def __init__(self, reader: Any, memory: float) -> None:
        self.reader, self.shape, self.is_sparse = reader, reader.shape, reader.is_sparse
        self.memory, self.piece = memory, int(min(costs.BLOCK_BYTES, costs.FILE_PIECE * memory))
        self.cache_bytes, self.most_bytes = costs.FILE_NEAR * memory, costs.FILE_ROOM * memory

    nbytes = property(lambda self: int(min(self.reader.size, self.memory)))
    counts = property(lambda self: self.reader.counts)
    bytes_read = property(lambda self: self.reader.bytes_read)  # type: ignore[assignment]

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        square, plain, total = np.zeros((3, self.shape[1]))
        out = ColumnStats(square, plain, total, np.zeros((len(vectors), self.shape[1])))
        for rows, there, values in self.pieces(None):
            share = weight if np.ndim(weight) == 0 else weight[rows]
            found = as_stored(values, 0.0).column_stats(share, np.ascontiguousarray(vectors[:, rows]))
            with np.errstate(all="ignore"):  # what is not finite is named once norms have shown it
                for mine, theirs in zip(out, found, strict=True):
                    mine[..., there] += theirs
        return out

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, *vectors.shape[1:]))
        for rows, there, values in self.pieces(columns):
            out[there] += as_stored(values, 0.0).dots(np.arange(values.shape[1]), vectors[rows])
        return out

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        for rows, there, values in self.pieces(columns):
            as_stored(values, 0.0).add(np.arange(values.shape[1]), factors[there], out[rows])

    def fetch(self, columns: Array) -> Local:
        return joined(self.pieces(columns), (self.shape[0], columns.size), self.is_sparse)

    def pieces(self, columns: Array | None) -> Iterator[Piece]:
        """Yield what is requested in the order of the file; the next piece is read ahead, unless they are large."""
        tallest = int(np.diff(self.reader.ends).max())
        if not self.reader.rows_apart and self._chunk(tallest) > costs.FILE_PIECE * self.memory:
            yield from starmap(self._read, self._places(columns))
            return
        with ThreadPoolExecutor(1, thread_name_prefix="ascd-read") as pool:
            reading: Iterator[Any] = (pool.submit(self._read, *place) for place in self._places(columns))
            for piece, _next in pairwise(chain(reading, [None])):
                yield piece.result()

    def _read(self, rows: slice, there: Array, columns: Array | None) -> Piece:
        """Numbers that compiled code reads as they are; others (half precision, the other byte order) as float64."""
        values = self.reader.read(rows, columns)
        return rows, there, values if values.dtype in READ_IN_PLACE else values.astype(np.float64)

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
                    yield slice(top, min(top + tall, stop)), there, chosen
