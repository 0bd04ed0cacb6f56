"""Parts of a matrix made of others, where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ascd._core.checks import unlocked
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.local import Local
from ascd.matrix.sparse import CSC, LocalSparse, short_width, unsigned


def with_constant(part: Any, value: float) -> Any:
    """A copy with one more column; a part without rows stays as it is."""
    if 0 in part.shape:
        return part
    local: Local = part if isinstance(part, Local) else part.in_memory()
    column = np.full((part.shape[0], 1), value, order="F")
    if isinstance(local, LocalDense):
        return local.beside(LocalDense(Dense(column), column.shape))
    thin = sparse.csc_array(column)
    return local.beside(LocalSparse(CSC(*map(unlocked, unsigned(thin, short_width(thin)))), column.shape))
