"""Data laid out by samples or by features, and with a constant feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def by_samples(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)


def by_features(X: Any) -> Any:
    return X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)


def with_constant(X: Any, value: float) -> Any:
    """X with a constant last column, in X's own layout."""
    column = np.full((X.shape[0], 1), float(value))
    if sparse.issparse(X):
        return sparse.hstack([X, column], format=X.format)
    extended = np.empty((X.shape[0], X.shape[1] + 1), order="C" if X.flags.c_contiguous else "F")
    extended[:, :-1], extended[:, -1:] = X, column
    return extended
