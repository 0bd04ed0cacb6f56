"""Numbers and words side by side: a text column is one 0/1 column a value to a model, and one code a row in memory.

A row without a value belongs to no level.  Where it is filled (``--impute``), it has a number for each level instead:

    X = [ onehot(codes) + gone·fillsᵀ ],    gone_k = 1 where row k has no value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix
from ascd.matrix.table import Table

#: Codes of a row: none of the levels, and no value at all.
NONE, GONE = -1, -2


class Numbers(NamedTuple):
    """Neighbouring columns of numbers; a missing value is nan, and an infinite one is no better."""

    names: list[str]
    values: Array

    def columns(self, places: list[int]) -> Numbers:
        return Numbers([self.names[place] for place in places], self.values[:, places])

    def rows(self, chosen: Array) -> Numbers:
        return self._replace(values=np.asfortranarray(self.values[chosen]))

    def gaps(self) -> Array:
        return np.asarray(~np.isfinite(self.values).all(axis=1))

    def bad(self) -> tuple[int, int, int]:
        """How many values are not finite, and row and place of the first."""
        found = np.argwhere(~np.isfinite(self.values))
        return (len(found), *found[0]) if found.size else (0, 0, 0)

    def times(self, coefs: Array) -> Array:
        return self.values @ coefs

    def block(self) -> Any:
        """For ``ascd.Table``."""
        return self.values

    def in_full(self) -> Array:
        return self.values


class Words(NamedTuple):
    """A text column: the names of its 0/1 columns, the code of each row, and what rows without a value have."""

    names: list[str]
    codes: Array
    fills: Array | None = None

    def columns(self, places: list[int]) -> Words:
        code = np.array([*range(len(self.names)), GONE, NONE], dtype=self.codes.dtype)  # the last are those of no level
        code[: len(self.names)] = NONE
        code[places] = np.arange(len(places))
        return Words([self.names[place] for place in places], code[self.codes])

    def rows(self, chosen: Array) -> Words:
        return self._replace(codes=self.codes[chosen])

    def gaps(self) -> Array:
        return (self.codes == GONE) & (self.fills is None)

    def bad(self) -> tuple[int, int, int]:
        """How many values are missing, and row and place of the first."""
        found = np.flatnonzero(self.gaps())
        return (found.size, int(found[0]), 0) if found.size else (0, 0, 0)

    def shares(self) -> Array:
        """Of each level among the rows that have a value."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))
        return counts / max(1, int(np.sum(self.codes != GONE)))

    def times(self, coefs: Array) -> Array:
        known = np.concatenate([coefs, np.zeros((2, coefs.shape[1]))])  # the last rows are those of NONE and GONE
        if self.fills is not None:
            known[GONE] = self.fills @ coefs
        return np.asarray(known[self.codes])

    def block(self) -> Any:
        """For ``ascd.Table``: a category, or sparse columns where rows have been filled."""
        import pandas

        if not self._fills().any():
            return pandas.Series(pandas.Categorical.from_codes(np.maximum(self.codes, NONE), pandas.Index(self.names)))
        from scipy import sparse

        there, gone = np.flatnonzero(self.codes >= 0), np.flatnonzero(self.codes == GONE)
        some = np.flatnonzero(self._fills())
        rows = np.concatenate([there, np.repeat(gone, some.size)])
        columns = np.concatenate([self.codes[there], np.tile(some, gone.size)])
        entries = np.concatenate([np.ones(there.size), np.tile(self._fills()[some], gone.size)])
        return sparse.csc_array((entries, (rows, columns)), shape=(self.codes.size, len(self.names)))

    def in_full(self) -> Array:
        return self.times(np.eye(len(self.names)))

    def _fills(self) -> Array:
        """What rows without a value have; 0 where there is none, or nothing is said."""
        known = self.fills is not None and bool((self.codes == GONE).any())
        return np.asarray(self.fills) if known else np.zeros(len(self.names))


def in_order(pieces: Sequence[Numbers | Words], names: Sequence[str]) -> list[Numbers | Words]:
    """The columns of these names, in this order."""
    place = {name: (number, j) for number, piece in enumerate(pieces) for j, name in enumerate(piece.names)}
    runs = groupby((place[name] for name in names), key=lambda found: found[0])
    return [pieces[number].columns([j for _, j in run]) for number, run in runs]


class Mixed:
    """Columns of numbers and of words as one matrix, for estimators and problems (through ``ascd.Table``).

    Attributes
    ----------
    shape : (rows, columns), with one column a level
    feature_names : names of all columns
    """

    def __init__(self, pieces: Sequence[Numbers | Words]) -> None:
        self.pieces = list(pieces)
        self.feature_names = [name for piece in self.pieces for name in piece.names]
        first = self.pieces[0]
        height = len(first.values if isinstance(first, Numbers) else first.codes)
        self.shape = (height, len(self.feature_names))

    def __len__(self) -> int:
        return self.shape[0]

    def as_design(self) -> Matrix:
        """Return the table as a matrix (``ascd.matrix.base``)."""
        return Table([piece.block() for piece in self.pieces]).as_design()

    def rows(self, chosen: Array) -> Mixed:
        """Some rows, by a mask or by their numbers."""
        return Mixed([piece.rows(chosen) for piece in self.pieces])

    def gaps_by_row(self) -> Array:
        """Which rows lack a value."""
        return np.any([piece.gaps() for piece in self.pieces], axis=0)

    def bad(self) -> tuple[int, int, int]:
        """How many values are missing or infinite, and row and column of the first."""
        ends = np.cumsum([0, *(len(piece.names) for piece in self.pieces)])
        found = [(*piece.bad(), end) for piece, end in zip(self.pieces, ends.tolist(), strict=False)]
        where = [(row, place + end) for count, row, place, end in found if count]
        return (sum(count for count, *_ in found), *min(where, default=(0, 0)))

    def filled(self, fills: Mapping[str, float]) -> Mixed:
        """The table with a number for every gap, by the names of the columns."""
        pieces: list[Numbers | Words] = []
        for piece in self.pieces:
            known = np.array([fills[name] for name in piece.names])
            if isinstance(piece, Words):
                pieces.append(piece._replace(fills=known))
            else:
                pieces.append(piece._replace(values=np.where(np.isfinite(piece.values), piece.values, known)))
        return Mixed(pieces)

    def __matmul__(self, coefs: Array) -> Array:
        """X·coefs, with a column an output."""
        ends = np.cumsum([0, *(len(piece.names) for piece in self.pieces)])
        parts = zip(self.pieces, ends[:-1], ends[1:], strict=True)
        return np.asarray(sum(piece.times(coefs[start:stop]) for piece, start, stop in parts))

    def to_numpy(self) -> Array:
        """All columns as one array."""
        return np.asfortranarray(np.hstack([piece.in_full() for piece in self.pieces]))
