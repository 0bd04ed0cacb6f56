"""Data laid out by samples or by features, and with a constant feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ascd._core.checks import Array
from ascd.estimators._elsewhere import is_elsewhere
from ascd.matrix.arithmetic import support


def by_samples(X: Any) -> Any:
    if is_elsewhere(X):
        raise ValueError(
            "the dual of a support vector machine reads samples one by one, which must be in memory: use "
            "loss='squared_hinge' and dual=False, or pass an array"
        )
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)


def by_features(X: Any) -> Any:
    if is_elsewhere(X):
        return X
    return X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)


def held_out(X: Any, rows: Array, used: Array) -> Callable[[Array], Array]:
    """A function coefs ↦ X[rows]·coefs for coefficients that are zero outside ``used``: other columns are not read."""
    if is_elsewhere(X):
        return lambda coefs: np.asarray(X.times(coefs)[rows])
    chosen = X[:, used][rows] if sparse.issparse(X) else X[np.ix_(rows, used)]
    return lambda coefs: np.asarray(chosen @ coefs[used])


def sparse_columns(coefs: Array) -> Any:
    """Coefficients, a column for each fit, without their zeros.  SciPy would look for them row by row."""
    there = [support(column) for column in coefs.T]
    ends = np.cumsum([0, *map(len, there)])
    values = [column[rows] for column, rows in zip(coefs.T, there, strict=True)]
    return sparse.csc_array((np.concatenate(values), np.concatenate(there), ends), shape=coefs.shape)


def with_constant(X: Any, value: float) -> Any:
    """X with a constant last column, in X's own layout."""
    if is_elsewhere(X):
        return X.with_constant(float(value))
    column = np.full((X.shape[0], 1), float(value))
    if sparse.issparse(X):
        return sparse.hstack([X, column], format=X.format)
    extended = np.empty((X.shape[0], X.shape[1] + 1), order="C" if X.flags.c_contiguous else "F")
    extended[:, :-1], extended[:, -1:] = X, column
    return extended
