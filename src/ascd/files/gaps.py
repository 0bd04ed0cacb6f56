"""Missing values: filled by a statistic of their column, or their rows left out.

What was filled in is kept in the table's recipe, so that a model does the same to the data it predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._base.checks import unknown_name
from ascd.files.columns import Choices, Recipe, Table

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
        kept &= has_target(y)
    if kept.all():
        return table
    rest = X.tocsr()[kept].tocsc() if hasattr(X, "tocsr") else np.asfortranarray(X[kept])
    note = f"{np.sum(~kept):,} of {kept.size:,} rows left out: a value is missing"
    return table._replace(X=rest, y=None if y is None else y[kept], notes=(*table.notes, note))


def _filled(table: Table, impute: str, recipe: Recipe) -> Table:
    """The table with its gaps filled by a statistic of the column, or as a model's recipe says."""
    X = table.X
    names = table.names or [str(j) for j in range(X.shape[1])]
    fills = dict(recipe.fills) or {name: _fill(X[:, j], name, impute) for j, name in enumerate(names)}
    gaps = np.isnan(X)
    for j in np.flatnonzero(gaps.any(axis=0)):
        X[gaps[:, j], j] = fills[names[j]]
    how = f"by the column's {impute}" if impute else "as in the model"
    notes = (f"{gaps.sum():,} missing values filled {how}",) if gaps.any() else ()
    return table._replace(X=X, notes=(*table.notes, *notes), recipe=table.recipe._replace(fills=fills))


def _fill(column: Any, name: str, impute: str) -> float:
    if impute not in FILLS:
        raise unknown_name(impute, "impute", FILLS)
    if np.isnan(column).all() and impute != "zero":
        raise ValueError(f"column {name!r} has no value at all: leave it out (--without {name!r})")
    return float(FILLS[impute](column))


def _gaps_by_row(X: Any) -> Any:
    if not hasattr(X, "tocoo"):
        return np.isnan(X).any(axis=1)
    stored = X.tocoo()
    gone = np.zeros(X.shape[0], dtype=bool)
    gone[stored.row[np.isnan(stored.data)]] = True
    return gone


def has_target(y: Any) -> Any:
    """Which rows have a target, all of several.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.files.gaps import has_target
    >>> has_target(np.array(["a", None], dtype=object)).tolist(), has_target(np.array([[1.0, np.nan]])).tolist()
    ([True, False], [False])
    """
    if getattr(y, "ndim", 1) == 2:
        return ~np.isnan(y).any(axis=1)
    return np.array([value is not None and value == value for value in y], dtype=bool)
