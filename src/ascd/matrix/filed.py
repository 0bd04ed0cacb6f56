"""Data on a disk: read piece by piece, the next one while the last is used, and only columns that are asked for.

A file holds groups of rows.  Where the columns of a group lie apart, those that nobody asks for are not read: then
intervals save reading.  What is asked for often is kept near (``distant``), as far as the memory allowed goes:

    about half of it for columns kept near, a tenth for three pieces, the rest for vectors and products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values, unlocked
from ascd.matrix import prices
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.design import Survey
from ascd.matrix.local import Local
from ascd.matrix.pieces import Piece, Pieces, Reader
from ascd.matrix.row_major import DenseRowBlock
from ascd.matrix.sparse import CSC, LocalSparse, short_width, unsigned


class Filed:
    """A source that reads files; ``memory`` is what it may take, in bytes."""

    is_dear = True

    def __init__(self, reader: Reader, memory: float) -> None:
        self.reader, self.shape, self.counts = reader, reader.shape, reader.counts
        self.nbytes, self.pieces = int(min(reader.size, memory)), Pieces(reader, memory)
        self.near_limit, self.room = prices.FILE_NEAR * memory, prices.FILE_ROOM * memory

    @property
    def bytes_read(self) -> int:
        return self.reader.bytes_read

    def survey(self, weight: Any, vectors: Array) -> Survey:
        out = Survey.nothing(self.shape[1], len(vectors))
        for rows, there, values in self.pieces.of(None):
            share = weight if np.ndim(weight) == 0 else weight[rows]
            found = _answering(values).survey(share, np.ascontiguousarray(vectors[:, rows]))
            with np.errstate(all="ignore"):  # what is not finite is told by name, once norms have shown it
                for mine, theirs in zip(out, found, strict=True):
                    mine[..., there] += theirs
        return out

    def dots(self, columns: Array, vector: Array) -> Array:
        out = np.zeros(columns.size)
        for rows, there, values in self.pieces.of(columns):
            out[there] += _answering(values).dots(vector[rows])
        return out

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, vectors.shape[1]))
        for rows, there, values in self.pieces.of(columns):
            out[there] += _answering(values).dots_with_several(vectors[rows])
        return out

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        for rows, there, values in self.pieces.of(columns):
            _answering(values).add(factors[there], image[rows])

    def add_several(self, columns: Array, factors: Array, image: Array) -> None:
        for rows, there, values in self.pieces.of(columns):
            image[rows] += values @ factors[there]

    def fetch(self, columns: Array) -> Local:
        pieces = self.pieces.of(columns)
        if self.reader.is_sparse:
            return self._fetch_sparse(pieces, columns.size)
        whole = np.empty((self.shape[0], columns.size), order="F")
        for rows, there, values in pieces:
            whole[rows, there] = values
        return LocalDense(Dense(whole), whole.shape)

    def _fetch_sparse(self, pieces: Iterator[Piece], size: int) -> LocalSparse:
        from scipy import sparse

        groups: dict[int, list[Any]] = {}
        for rows, _, values in pieces:
            groups.setdefault(rows.start, []).append(values)
        stacks = [sparse.hstack(side) for side in groups.values()]
        whole = sparse.vstack(stacks, format="csc") if stacks else sparse.csc_array((self.shape[0], size))
        return _as_local(whole)

    def check_finite(self) -> None:
        for piece in self.pieces.of(None):
            finite_values(getattr(piece.values, "data", piece.values) if self.reader.is_sparse else piece.values, "A")


class _Columns:
    """Numbers that lie by columns."""

    def __init__(self, local: Local) -> None:
        self.local, self.every = local, np.arange(local.shape[1])

    def survey(self, weight: Any, vectors: Array) -> Survey:
        return self.local.survey(weight, vectors)

    def dots(self, vector: Array) -> Array:
        return self.local.dots(self.every, vector)

    def dots_with_several(self, vectors: Array) -> Array:
        return self.local.dots_with_several(self.every, vectors)

    def add(self, factors: Array, image: Array) -> None:
        self.local.add(self.every, factors, image)


class _Rows:
    """Numbers that lie by rows."""

    def __init__(self, values: Array) -> None:
        self.block, self.count = DenseRowBlock(values, None), values.shape[1]

    def survey(self, weight: Any, vectors: Array) -> Survey:
        out = Survey.nothing(self.count, len(vectors))
        self.block.survey(weight, vectors, out)
        return out

    def dots(self, vector: Array) -> Array:
        out = np.zeros(self.count)
        self.block.dots(vector, out)
        return out

    def dots_with_several(self, vectors: Array) -> Array:
        return np.stack([self.dots(vector) for vector in np.ascontiguousarray(vectors.T)], axis=1)

    def add(self, factors: Array, image: Array) -> None:
        self.block.add(factors, image)


def _answering(values: Any) -> _Columns | _Rows:
    if hasattr(values, "tocsc"):
        return _Columns(_as_local(values))
    if values.flags.f_contiguous:
        return _Columns(LocalDense(Dense(values), values.shape))
    return _Rows(values)


def _as_local(columns: Any) -> LocalSparse:
    """A SciPy matrix by columns, as it lies."""
    columns.sort_indices()
    return LocalSparse(CSC(*map(unlocked, unsigned(columns, short_width(columns)))), columns.shape)
