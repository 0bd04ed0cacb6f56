"""Missing and infinite values: filled by a statistic of their column, or their rows left out.

What was filled in is kept in the table's recipe, so that a model does the same to the data it predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._core.checks import unknown_name
from ascd.files.columns import Choices, Recipe, Table
from ascd.files.counting import counted
from ascd.files.mixed import Mixed, Numbers, Words
from ascd.files.targets import has_target

#: What a missing value of a column can be filled with.
FILLS: dict[str, Callable[[Any], float]] = {"mean": np.nanmean, "median": np.nanmedian, "zero": lambda column: 0.0}


def without_gaps(table: Table, choices: Choices, recipe: Recipe) -> Table:
    """Missing values filled, or their rows left out, as chosen; by default the table as it is."""
    if choices.drop or choices.impute:
        table = _without_rows(table, every_gap=choices.drop)
    if not (choices.impute or recipe.fills):
        return table
    if not hasattr(table.X, "tocoo"):
        return _filled(table, choices.impute, recipe)
    if _gaps_by_row(table.X).any():
        raise ValueError("missing values of a sparse table cannot be filled; --drop leaves out their rows")
    return table


def _without_rows(table: Table, every_gap: bool) -> Table:
    """The table without rows that have no target, which nobody can fill, and without those that have another gap."""
    X, y = table.X, table.y
    kept = ~_gaps_by_row(X) if every_gap else np.ones(X.shape[0], dtype=bool)
    if y is not None:
        known = has_target(y)
        if not known.any():
            raise no_target(table)
        kept &= known
    if kept.all():
        return table
    if every_gap and not kept.any():
        empty = empty_column(table)
        why = f"column {empty!r} has no value at all" if empty else "every row lacks a value"
        way = f"--without {empty!r} leaves it out" if empty else "--impute mean fills them"
        raise ValueError(f"--drop would leave out all {kept.size:,} rows, as {why}: {way}")
    rest = rows_of(X, kept)
    note = f"{np.sum(~kept):,} of {kept.size:,} rows left out: a value is missing"
    return table._replace(X=rest, y=None if y is None else y[kept], notes=(*table.notes, note))


def no_target(table: Table) -> ValueError:
    """The error of a target without values."""
    named = f"the target {table.target!r}" if isinstance(table.target, str) else "the target"
    return ValueError(f"{named} has no value at all: name another column with --target")


def empty_column(table: Table) -> str | None:
    """The first column of numbers that has no value at all."""
    X = table.X
    if hasattr(X, "tocoo"):
        return None
    names = table.names or [f"feature {j}" for j in range(X.shape[1])]
    for piece in X.pieces if isinstance(X, Mixed) else [Numbers(names, X)]:
        if isinstance(piece, Numbers) and len(piece.values):
            gone = np.flatnonzero(np.isnan(piece.values).all(axis=0))
            if gone.size:
                return piece.names[gone[0]]
    return None


def _filled(table: Table, impute: str, recipe: Recipe) -> Table:
    """The table with its gaps filled by a statistic of the column, or as a model's recipe says."""
    names = table.names or [str(j) for j in range(table.X.shape[1])]
    X = table.X if isinstance(table.X, Mixed) else Mixed([Numbers(names, table.X)])
    fills = dict(recipe.fills) or {
        name: value for piece in X.pieces for name, value in zip(piece.names, _fills(piece, impute), strict=True)
    }
    count = sum(piece.bad()[0] for piece in X.pieces)
    how = f"by the column's {impute}" if impute else "as in the model"
    notes = (f"{counted(count, 'missing value')} filled {how}",) if count else ()
    filled: Any = X.filled(fills)
    filled = filled if X is table.X else filled.pieces[0].values
    return table._replace(X=filled, notes=(*table.notes, *notes), recipe=table.recipe._replace(fills=fills))


def _fills(piece: Numbers | Words, impute: str) -> list[float]:
    """What gaps of a piece's columns are filled with; of a level it is the statistic of its 0/1 column."""
    if impute not in FILLS:
        raise unknown_name(impute, "impute", FILLS)
    if isinstance(piece, Words):
        shares = piece.shares()
        found = {"mean": shares, "median": (1.0 + np.sign(shares - 0.5)) / 2.0, "zero": np.zeros_like(shares)}
        return [float(value) for value in found[impute]]
    known = np.where(np.isfinite(piece.values), piece.values, np.nan)
    empty = np.flatnonzero(np.isnan(known).all(axis=0))
    if empty.size and impute != "zero":
        name = piece.names[empty[0]]
        raise ValueError(f"column {name!r} has no value at all: leave it out (--without {name!r})")
    return [float(FILLS[impute](column)) for column in known.T]


def rows_of(X: Any, chosen: Any) -> Any:
    """Some rows, by a mask or by their numbers, of an array, a sparse matrix or a table of numbers and words."""
    if isinstance(X, Mixed):
        return X.rows(chosen)
    return X.tocsr()[chosen].tocsc() if hasattr(X, "tocsr") else np.asfortranarray(X[chosen])


def _gaps_by_row(X: Any) -> Any:
    if isinstance(X, Mixed):
        return X.gaps_by_row()
    if not hasattr(X, "tocoo"):
        return ~np.isfinite(X).all(axis=1)
    stored = X.tocoo()
    gone = np.zeros(X.shape[0], dtype=bool)
    gone[stored.row[~np.isfinite(stored.data)]] = True
    return gone
