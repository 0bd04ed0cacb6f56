"""Pieces of files: what is asked for, cut so that a pass reads nothing twice, and read while the last one is used.

A piece takes a share of the memory allowed (``prices.FILE_PIECE``), and there are three: in use, read, being read.

Some formats decode a *chunk* at a time, all rows of a group and a few columns, whatever is asked of it.  Pieces are
made of whole chunks there, so that a pass decodes each one once.  A chunk larger than a piece is a piece by itself, and
none is read ahead of it; only one larger than all the memory is cut, and decoded again for each part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices

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
    #: Columns of a group that are read together, whichever of them are asked for, from column 0 on.
    together: int
    #: Can some rows of a group be read without the others?
    rows_apart: bool
    #: Stored entries of each column.
    counts: Array
    is_sparse: bool

    def read(self, rows: slice, columns: Array | None) -> Any:
        """Rows of one group, with these columns (all): an array in C or Fortran order, or a CSC matrix."""


class Piece(NamedTuple):
    """Rows and places among the columns in question, and the numbers there."""

    rows: slice
    there: slice | Array
    values: Any


class Span(NamedTuple):
    """Rows, places among the columns in question, and these columns (all)."""

    rows: slice
    there: slice | Array
    columns: Array | None


class Pieces:
    """A file in pieces; ``memory`` is what may be taken, in bytes."""

    def __init__(self, reader: Reader, memory: float) -> None:
        self.reader, self.shape, self.memory = reader, reader.shape, memory
        self.piece = int(min(prices.BLOCK_BYTES, prices.FILE_PIECE * memory))

    def of(self, columns: Array | None) -> Iterator[Piece]:
        """What is asked for, in the order of the file; the next ones are read ahead, unless they are large."""
        tallest = int(np.diff(self.reader.ends).max())
        is_large = not self.reader.rows_apart and self._chunk(tallest) > prices.FILE_PIECE * self.memory
        with closing(_read_ahead(self.reader, list(self._spans(columns)), 1 if is_large else 2)) as pieces:
            yield from pieces

    def _chunk(self, height: int) -> float:
        """Bytes of so many rows of columns that are read together."""
        d, n = self.shape
        return height * min(self.reader.together, n) * self.reader.size / (d * n)

    def _spans(self, columns: Array | None) -> Iterator[Span]:
        """The pieces: none takes more than it may, unless it is one chunk that can only be read as a whole."""
        n, together = self.shape[1], self.reader.together
        asked = np.arange(n) if columns is None else columns
        if asked.size == 0:
            return
        is_ordered = together in (1, n) or bool((np.diff(asked) >= 0).all())
        order = None if is_ordered else np.argsort(asked, kind="stable")
        ordered = asked if order is None else asked[order]
        chunks = np.concatenate([[0], np.cumsum(np.diff(ordered // together) != 0)])
        for start, stop in zip(self.reader.ends[:-1].tolist(), self.reader.ends[1:].tolist(), strict=True):
            chunk = self._chunk(stop - start)
            at_once = max(1, int(self.piece / chunk))
            breaks = np.flatnonzero(np.diff(chunks // at_once)) + 1
            for left, right in zip([0, *breaks.tolist()], [*breaks.tolist(), asked.size], strict=True):
                there = slice(left, right) if order is None else order[left:right]
                chosen = None if columns is None and right - left == asked.size else ordered[left:right]
                count = int(chunks[right - 1] - chunks[left]) + 1
                tall = self._height(stop - start, count * chunk)
                yield from (Span(slice(top, min(top + tall, stop)), there, chosen) for top in range(start, stop, tall))

    def _height(self, height: int, size: float) -> int:
        """Rows of a piece, of so many that take ``size`` bytes together."""
        if self.reader.is_sparse or (not self.reader.rows_apart and size <= self.memory):
            return height
        limit = self.piece if self.reader.rows_apart else prices.FILE_PART * self.memory
        return min(height, max(1, int(height * limit / size)))


def _read_ahead(reader: Reader, spans: list[Span], count: int) -> Generator[Piece, None, None]:
    """Read so many before they are needed."""

    def read(span: Span) -> Piece:
        return Piece(span.rows, span.there, _plain(reader.read(span.rows, span.columns)))

    pool = ThreadPoolExecutor(1, thread_name_prefix="ascd-read")
    try:
        waiting = deque(pool.submit(read, span) for span in spans[:count])
        for following in [*spans[count:], *[None] * count]:
            if waiting:
                yield waiting.popleft().result()
            if following is not None:
                waiting.append(pool.submit(read, following))
    finally:  # Ctrl-C, or a run that ends early
        pool.shutdown(wait=True, cancel_futures=True)


def _plain(values: Any) -> Any:
    """Numbers that compiled code reads as they are; others (half precision, the other byte order) as float64."""
    if values.dtype == np.bool_:
        return values.view(np.uint8)
    return values if values.dtype in AS_THEY_ARE else values.astype(np.float64)
