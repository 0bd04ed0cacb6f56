"""From what the user passed to a design: the one list of storages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import as_design, unlocked
from ascd.data.dense import Dense, LocalDense
from ascd.data.local import Local
from ascd.data.sparse import CSC, LocalSparse, short_width, unsigned


def open_design(A: Any) -> Local:
    """The data behind their door; converted at most once, never modified.  A design of one's own is taken as it is."""
    if isinstance(A, Local):
        return A
    given = as_design(A)
    if isinstance(given, np.ndarray):
        return LocalDense(Dense(unlocked(given)), given.shape)
    return LocalSparse(CSC(*map(unlocked, unsigned(given, short_width(given)))), given.shape)
