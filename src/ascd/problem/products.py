"""Columns times several outputs at once: AᵀV and Z += AX, for rows of T numbers.

Several outputs take one call (``dots_with_several``, ``add_several``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array


def products(design: Any, columns: Array, slope: Array) -> Array:
    """⟨a_j, slope_t⟩ for some columns j and all outputs t."""
    if slope.shape[1] > 1:
        found: Array = design.dots_with_several(columns, slope)
        return found
    return np.stack([design.dots(columns, vector) for vector in np.ascontiguousarray(slope.T)], axis=1)


def add(design: Any, columns: Array, change: Array, image: Array) -> None:
    """image += A_columns·change."""
    if image.shape[1] > 1:
        design.add_several(columns, change, image)
        return
    for t in range(image.shape[1]):
        column = image[:, t].copy()
        design.add(columns, change[:, t].copy(), column)
        image[:, t] = column
