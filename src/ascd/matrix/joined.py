"""Columns that came from parts, put together in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import unlocked
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.local import Local
from ascd.matrix.sparse import CSC, LocalSparse, short_width, unsigned


class Asked(NamedTuple):
    """A column part: where its columns stand among those in question, and what its row parts answered."""

    there: Any
    answers: list[Any]


def side_by_side(found: Sequence[Asked], shape: tuple[int, int], spans: Sequence[slice], is_sparse: bool) -> Local:
    """Blocks of columns, each in row parts with these spans; sparse if a part is."""
    if is_sparse:
        return _sparse(found, shape)
    values = np.empty(shape, order="F")
    for there, answers in found:
        for rows, block in zip(spans, answers, strict=True):
            values[rows, there] = block
    return LocalDense(Dense(values), shape)


def _sparse(found: Sequence[Asked], shape: tuple[int, int]) -> LocalSparse:
    from scipy import sparse

    whole = sparse.csc_array(shape)
    if shape[1]:
        order = np.concatenate([np.arange(shape[1])[column.there] for column in found])
        stacks = [sparse.vstack([sparse.csc_array(part) for part in column.answers]) for column in found]
        whole = sparse.hstack(stacks, format="csc")[:, np.argsort(order)]
        whole.sort_indices()
    return LocalSparse(CSC(*map(unlocked, unsigned(whole, short_width(whole)))), whole.shape)
