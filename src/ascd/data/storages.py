"""From what the user passed to a design: the one list of storages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import as_design, unlocked
from ascd.data import prices
from ascd.data.dense import Dense, LocalDense
from ascd.data.design import Design
from ascd.data.sparse import CSC, LocalSparse, short_width, unsigned


def open_design(A: Any) -> Design:
    """The data behind their door; converted at most once, never modified.  A design of one's own is taken as it is."""
    if hasattr(A, "careful_dots"):  # no array has that
        _check_design(A)
        return A
    given = as_design(A)
    if isinstance(given, np.ndarray):
        return LocalDense(Dense(unlocked(given)), given.shape)
    return LocalSparse(CSC(*map(unlocked, unsigned(given, short_width(given)))), given.shape)


def entry_price(matrix: Any) -> float:
    """Nanoseconds to read one entry of a column: a sweep reads it twice."""
    return 0.5 * (prices.DENSE_ENTRY if isinstance(matrix, Dense) else prices.SPARSE_ENTRY)


def _check_design(design: Any) -> None:
    missing = [name for name in vars(Design) if not name.startswith("_") and not hasattr(design, name)]
    if missing:
        raise TypeError(f"A: {type(design).__name__} does not answer {', '.join(missing)}; see ascd.data.design.Design")
