"""Data that are not near: read block by block from memory or a file, or asked for in parts elsewhere.

A pass answers for all columns at once, so single columns may cost as much as all.  Therefore columns that are asked for
in small numbers are fetched in one pass and kept *near*, in local memory (``near_limit`` bytes at most).  Working sets
and columns that intervals leave open are such; from then on they are answered from there.  A pass is needed for the
rest alone.

Where the data are dear to move (``RemoteSource``) only working sets are brought near, never columns whose products are
asked for.  Where rows are many and columns few (``gives_products``) not even those are: products of columns with each
other are computed where the data are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.design import Design, KeptProducts, Multiplier, Part, RowParts, Survey
from ascd.matrix.distant_products import NearMultiplier, RemoteMultiplier
from ascd.matrix.local import Local
from ascd.matrix.sources import AnswersSeveral, BringsColumns, InRounds, RemoteSource, Source


class Near(NamedTuple):
    """Columns in local memory: which, and the place of every column there (−1)."""

    local: Local
    held: Array
    place: Array


class Distant(Design):
    """A design whose data are at a source; some columns are near.  Errors name columns that have names."""

    def __init__(self, source: Source) -> None:
        self.source, self.shape, self.is_dear = source, source.shape, source.is_dear
        self._remote = cast(RemoteSource, source) if hasattr(source, "gives_products") else None
        self._rounds = cast(InRounds, source) if hasattr(source, "expect") else None
        self.at_once = self._remote.at_once if self._remote else 0
        self.in_rounds = self._rounds is not None and self.at_once > 0
        self.brings_columns = bool(getattr(source, "brings_columns", False))
        self.answers_several = self.is_dear and self._remote is None and hasattr(source, "dots_with_several")
        # bytes that columns may take in local memory, all together, even for a moment
        self._room = float(getattr(source, "room", math.inf))
        # replaced as a whole: folds of a cross-validation ask from several threads
        self._held: Near | None = None

    @property
    def _near(self) -> Near:
        """Nothing at first; what kind of nothing is known once the source has been asked for something."""
        if self._held is None:
            nothing = np.empty(0, dtype=np.int64)
            self._held = Near(self.source.fetch(nothing), nothing, np.full(self.shape[1], -1, dtype=np.int64))
        return self._held

    @property
    def nbytes(self) -> int:
        return self.source.nbytes

    @property
    def most_near(self) -> int:
        """Columns of ordinary length that fit near; all where the source decides itself what comes near."""
        n = self.shape[1]
        if self._remote:
            return n
        return int(self.source.near_limit / max(1.0, self._bytes(np.arange(n)) / n))

    @property
    def counts(self) -> Array:
        return self.source.counts

    @property
    def bytes_read(self) -> int:
        """Bytes read of the data so far."""
        return self.source.bytes_read

    def entries(self, columns: Array | None = None) -> int:
        return int((self.counts if columns is None else self.counts[columns]).sum())

    def sweep_price(self, columns: Array) -> float:
        if self._remote and self._remote.gives_products:  # columns are never fetched where products can be
            return math.inf
        return self._near.local.entry_price * 2.0 * self.entries(columns) + prices.VISIT * columns.size

    def products_price(self, columns: Array) -> float:
        return self._near.local.price_of_products(columns.size, self.entries(columns))

    def survey(self, weight: Any, vectors: Array) -> Survey:
        return self.source.survey(weight, vectors)

    def dots(self, columns: Array, vector: Array) -> Array:
        near = self._held if self._remote else self._bring(columns)
        if near is None or near.held.size == 0:
            return self.source.dots(columns, vector)
        places = near.place[columns]
        is_near = places >= 0
        if is_near.all():
            return near.local.dots(places, vector)
        out = np.empty(columns.size)
        out[is_near] = near.local.dots(places[is_near], vector)
        out[~is_near] = self.source.dots(columns[~is_near], vector)
        return out

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        """Products with several vectors: one pass over what is not near, where the source has such."""
        if not self.answers_several:
            return super().dots_with_several(columns, vectors)
        near = self._bring(columns) or self._near
        places, out = near.place[columns], np.empty((columns.size, vectors.shape[1]))
        is_far = places < 0
        out[~is_far] = near.local.dots_with_several(places[~is_far], vectors)
        if is_far.any():
            out[is_far] = cast(AnswersSeveral, self.source).dots_with_several(columns[is_far], vectors)
        return out

    def dots_and_worst(self, columns: Array, vector: Array, low: Array, high: Array, most: int) -> Array:
        """Products; columns for which they are farthest outside −high .. −low come near in the same round."""
        near = self._near
        is_far = near.place[columns] < 0
        far, out = columns[is_far], np.empty(columns.size)
        if not far.size or self._bytes(near.held) + most * self._bytes(far) / far.size > self.source.near_limit:
            return self.dots(columns, vector)
        out[~is_far] = near.local.dots(near.place[columns[~is_far]], vector)
        bringing = cast(BringsColumns, self.source)
        out[is_far], brought, local = bringing.dots_and_worst(far, vector, low[is_far], high[is_far], most)
        if brought.size:
            self._hold(near.local.beside(local), np.concatenate([near.held, brought]))
        return out

    def are_near(self, columns: Array) -> Array:
        """Which of them are in local memory?"""
        return self._near.place[columns] >= 0

    def squares(self, weight: Any, columns: Array) -> Array:
        if self._remote:
            return self._remote.squares(weight, columns)
        local, places = self.local(columns)
        return local.squares(weight, places)

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        if self._remote:
            return self._remote.careful_dots(columns, vector)
        product, error = np.empty((2, columns.size))
        for start, stop in self._portions(columns):
            local, places = self.local(columns[start:stop])
            product[start:stop], error[start:stop] = local.careful_dots(places, vector)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        near = self._bring(columns) if not self._remote or self._are_near(columns) else None
        if near is not None:
            near.local.add(near.place[columns], factors, image)
        elif columns.size:
            self.source.add(columns, factors, image)

    def add_several(self, columns: Array, factors: Array, image: Array) -> None:
        """image += A_columns·factors, both with a column an output: one round or pass where the data are elsewhere."""
        if self._rounds and columns.size and not self._are_near(columns):
            self._rounds.add(columns, factors, image)
            return
        if self.answers_several and self._bring(columns) is None:
            cast(AnswersSeveral, self.source).add_several(columns, factors, image)
            return
        super().add_several(columns, factors, image)

    def expect(self, columns: Array, weight: Array) -> None:
        """Products of these columns with such weights will be asked for; where that is a round, another brings them."""
        if self._rounds:
            self._rounds.expect(columns, weight)

    @property
    def row_parts(self) -> RowParts | None:
        """Parts that hold all columns of some rows, where a round asks them all."""
        return self._rounds if self.in_rounds else None

    def with_constant(self, value: float) -> Distant | None:
        """One more column, which is constant; None where only its columns could be put beside it."""
        return Distant(self._rounds.with_constant(value)) if self._rounds and self.in_rounds else None

    @property
    def rounds(self) -> int:
        """Round trips so far, where the data are asked in rounds."""
        return int(getattr(self.source, "rounds", 0))

    def kept_products(self, intercept: bool, constant: float) -> KeptProducts | None:
        """Products that stay at the source, where it keeps some."""
        make = getattr(self.source, "kept_products", None)
        return None if make is None else make(intercept, constant)

    def means(self, columns: Array, weight: Array) -> Array:
        if self._rounds:
            return self._rounds.means(columns, weight)
        return super().means(columns, weight)

    def multiplier(self, keeps: bool) -> Multiplier:
        constant = self._near.local.multiplier(keeps).constant
        if self._remote and self._remote.gives_products:
            return RemoteMultiplier(self._remote, constant)
        return NearMultiplier(self, keeps, constant)

    def take(self, columns: Array) -> Part:
        local, places = self.local(columns)
        return Part(local.matrix, places)

    def in_memory(self) -> Local:
        """A copy of all columns in local memory."""
        return self.source.fetch(np.arange(self.shape[1]))

    def check_finite(self) -> None:
        self.source.check_finite()

    def local(self, columns: Array) -> tuple[Local, Array]:
        """The columns in local memory, and their places: near, or fetched for this once where they are too many."""
        near = self._bring(columns)
        if near is not None:
            return near.local, near.place[columns]
        self._make_room(self._bytes(columns))
        return self.source.fetch(columns), np.arange(columns.size)

    def _portions(self, columns: Array) -> Iterator[tuple[int, int]]:
        """Parts of the columns that may be fetched together."""
        size = max(1, int(columns.size * self.source.near_limit / max(1.0, 2.0 * self._bytes(columns))))
        for start in range(0, columns.size, size):
            yield start, min(start + size, columns.size)

    def _bytes(self, columns: Array) -> float:
        """What the columns take in local memory."""
        return self._near.local.entry_bytes * self.entries(columns)

    def _are_near(self, columns: Array) -> bool:
        return self._held is not None and bool((self._held.place[columns] >= 0).all())

    def _bring(self, columns: Array) -> Near | None:
        """The columns kept near, with these among them: they are fetched where there is room."""
        near, limit = self._near, self.source.near_limit
        missing = columns[near.place[columns] < 0]
        if missing.size == 0:
            return near
        if self._bytes(columns) > limit:
            return None
        both = self._bytes(near.held) + self._bytes(missing)
        if both <= limit and 2.0 * both <= self._room:  # for a moment there are those before and all together
            return self._hold(near.local.beside(self.source.fetch(missing)), np.concatenate([near.held, missing]))
        del near
        self._make_room(self._bytes(columns))
        return self._hold(self.source.fetch(columns), columns.copy())

    def _make_room(self, needed: float) -> None:
        """Let the columns kept near go where others of so many bytes have no room beside them."""
        if self._held is not None and self._bytes(self._held.held) + needed > self._room:
            self._held = None

    def _hold(self, local: Local, held: Array) -> Near:
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[held] = np.arange(held.size)
        self._held = Near(local, held, place)
        return self._held
