"""Checks that the theory's functions share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ascd._core.checks import as_count, as_number

Array = NDArray[np.float64]


def positive(value: float, name: str) -> float:
    return as_number(value, name, low=0, strict=True)


def check_support(n: int, s: int, c: float = 1.0) -> float:
    """The number c * s of coordinates of the support in the active set."""
    if as_count(s, "s") > as_count(n, "n"):
        raise ValueError(f"s must be at most n = {n}; got {s}")
    return s * as_number(c, "c", low=0, high=1, strict=True)


def as_floats(values: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold real numbers; got {values!r}") from None


def semidefinite(Q: ArrayLike) -> Array:
    """Q as a float array, refused unless square, symmetric and semidefinite."""
    matrix = as_floats(Q, "Q")
    if matrix.ndim != 2 or not 0 < matrix.shape[0] == matrix.shape[1]:
        raise ValueError(f"Q must be a square matrix; got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
        raise ValueError(f"Q must be finite and symmetric; got {Q!r}")
    values = np.linalg.eigvalsh(matrix)
    if values[0] < -1e-10 * np.abs(values).max():
        raise ValueError(f"Q must be positive semidefinite; got one with the eigenvalue {values[0]:g}")
    return matrix
