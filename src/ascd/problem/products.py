"""Columns times several outputs at once: AᵀV and Z += AX, for rows of T numbers.

A design with methods for several outputs (``dots_with_several``, ``add_several``) is called once; another once for each
output.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array


def products(design: Any, columns: Array, raw_gradient: Array) -> Array:
    """Return ⟨a_j, v_t⟩ for some columns j and all outputs t, of shape (n_columns, n_outputs)."""
    if raw_gradient.shape[1] > 1 and hasattr(design, "dots_with_several"):
        found: Array = design.dots_with_several(columns, raw_gradient)
        return found
    return np.stack([design.dots(columns, vector) for vector in np.ascontiguousarray(raw_gradient.T)], axis=1)


def add(design: Any, columns: Array, change: Array, predictor: Array) -> None:
    """Add A_columns·change to the predictions, in place."""
    if predictor.shape[1] > 1 and hasattr(design, "add_several"):
        design.add_several(columns, change, predictor)
        return
    for t in range(predictor.shape[1]):
        column = predictor[:, t].copy()
        design.add(columns, change[:, t].copy(), column)
        predictor[:, t] = column
