"""Data on a disk: read piece by piece, the next one while the last is used, and only columns that are asked for.

A file holds groups of rows.  Where the columns of a group lie apart, those that nobody asks for are not read: then
intervals save reading.  What is asked for often is kept near (``distant``), as far as the memory allowed goes:

    about half of it for columns kept near, a tenth for three pieces, the rest for vectors and products.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._base.checks import Array, finite_values, unlocked
from ascd.data import prices
from ascd.data.dense import Dense, LocalDense
from ascd.data.design import Survey
from ascd.data.local import Local
from ascd.data.row_major import DenseRowBlock
from ascd.data.sparse import CSC, LocalSparse, short_width, unsigned

#: Numbers that are read as they are.
AS_THEY_ARE = tuple(np.dtype(kind) for kind in (np.float64, np.float32, np.int8, np.uint8))


class Reader(Protocol):
    """A file, or several: numbers by rows and columns."""

    shape: tuple[int, int]
    #: Bytes that all numbers take in the file, and those read so far.
    size: int
    bytes_read: int
    #: Where groups of rows end, from 0 on.
    ends: Array
    #: Do the columns of a group lie apart, so that others need not be read?
    by_columns: bool
    #: Stored entries of each column.
    counts: Array
    is_sparse: bool

    def read(self, rows: slice, columns: Array | None) -> Any:
        """Rows of one group, with these columns (all): an array in C or Fortran order, or a CSC matrix."""


class Piece(NamedTuple):
    """Rows and places among the columns in question, and the numbers there."""

    rows: slice
    there: slice
    values: Any


class Filed:
    """A source that reads files; ``memory`` is what it may take, in bytes."""

    is_dear = True

    def __init__(self, reader: Reader, memory: float) -> None:
        self.reader, self.shape, self.counts = reader, reader.shape, reader.counts
        self.nbytes = int(min(reader.size, memory))
        self.near_limit, self.room = prices.FILE_NEAR * memory, prices.FILE_ROOM * memory
        self.piece = int(min(prices.BLOCK_BYTES, prices.FILE_PIECE * memory))

    @property
    def bytes_read(self) -> int:
        return self.reader.bytes_read

    def survey(self, weight: Any, vectors: Array) -> Survey:
        out = Survey.nothing(self.shape[1], len(vectors))
        for rows, there, values in self._pieces(None):
            share = weight if np.ndim(weight) == 0 else weight[rows]
            found = _answering(values).survey(share, np.ascontiguousarray(vectors[:, rows]))
            for mine, theirs in zip(out, found, strict=True):
                mine[..., there] += theirs
        return out

    def dots(self, columns: Array, vector: Array) -> Array:
        out = np.zeros(columns.size)
        for rows, there, values in self._pieces(columns):
            out[there] += _answering(values).dots(vector[rows])
        return out

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, vectors.shape[1]))
        for rows, there, values in self._pieces(columns):
            out[there] += _answering(values).dots_with_several(vectors[rows])
        return out

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        for rows, there, values in self._pieces(columns):
            _answering(values).add(factors[there], image[rows])

    def add_several(self, columns: Array, factors: Array, image: Array) -> None:
        for rows, there, values in self._pieces(columns):
            image[rows] += values @ factors[there]

    def fetch(self, columns: Array) -> Local:
        pieces = self._pieces(columns)
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
        for piece in self._pieces(None):
            finite_values(getattr(piece.values, "data", piece.values) if self.reader.is_sparse else piece.values, "A")

    def _pieces(self, columns: Array | None) -> Iterator[Piece]:
        """What is asked for, in the order of the file; one piece is read ahead."""
        with closing(_read_ahead(self.reader, list(self._spans(columns)), columns)) as pieces:
            yield from pieces

    def _spans(self, columns: Array | None) -> Iterator[tuple[slice, slice]]:
        """Rows and places of the pieces: none takes more than it may."""
        asked = self.shape[1] if columns is None else columns.size
        if asked == 0:
            return
        row_bytes = self.reader.size / self.shape[0]
        entry = row_bytes / self.shape[1]
        width = asked if not self.reader.by_columns else None
        for start, stop in zip(self.reader.ends[:-1].tolist(), self.reader.ends[1:].tolist(), strict=True):
            across = min(asked, max(1, int(self.piece / (entry * (stop - start))))) if width is None else width
            tall = max(1, int(self.piece / (entry * across if self.reader.by_columns else row_bytes)))
            tall = stop - start if self.reader.is_sparse else tall
            for left in range(0, asked, across):
                there = slice(left, min(left + across, asked))
                yield from ((slice(top, min(top + tall, stop)), there) for top in range(start, stop, tall))


def _read_ahead(
    reader: Reader, spans: list[tuple[slice, slice]], columns: Array | None
) -> Generator[Piece, None, None]:
    n = reader.shape[1]

    def read(span: tuple[slice, slice]) -> Piece:
        rows, there = span
        is_all = columns is None and there.stop - there.start == n
        chosen = None if is_all else np.arange(there.start, there.stop) if columns is None else columns[there]
        return Piece(rows, there, _plain(reader.read(rows, chosen)))

    pool = ThreadPoolExecutor(1, thread_name_prefix="ascd-read")
    try:
        waiting = deque(pool.submit(read, span) for span in spans[:2])
        for following in [*spans[2:], None, None]:
            if waiting:
                yield waiting.popleft().result()
            if following is not None:
                waiting.append(pool.submit(read, following))
    finally:  # Ctrl-C, or a run that ends early
        pool.shutdown(wait=True, cancel_futures=True)


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


def _plain(values: Any) -> Any:
    """Numbers that compiled code reads as they are; others (half precision, the other byte order) as float64."""
    if values.dtype == np.bool_:
        return values.view(np.uint8)
    return values if values.dtype in AS_THEY_ARE else values.astype(np.float64)


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
