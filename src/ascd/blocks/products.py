"""Columns times several outputs at once: AᵀV and Z += AX, for rows of T numbers.

Dense columns go through the linear algebra library; one output through the design's own questions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel, wide
from ascd._base.threads import share
from ascd.data import prices
from ascd.data.dense import Dense
from ascd.data.design import Design


def products(design: Design, columns: Array, slope: Array) -> Array:
    """⟨a_j, slope_t⟩ for some columns j and all outputs t."""
    if slope.shape[1] == 1 or not hasattr(design, "matrix"):
        return np.stack([design.dots(columns, vector) for vector in np.ascontiguousarray(slope.T)], axis=1)
    part = design.take(columns)
    out = np.zeros((columns.size, slope.shape[1]))
    if isinstance(part.matrix, Dense):
        step = max(1, prices.BLOCK // slope.shape[0])
        for start in range(0, columns.size, step):
            places = part.places[start : start + step]
            out[start : start + step] = _dense(part.matrix, places).T @ slope
    else:
        price = prices.SPARSE_ENTRY * design.entries(columns) * slope.shape[1]
        share(price, columns.size, fill_products, part.matrix, part.places, slope, out)
    return out


def add(design: Design, columns: Array, change: Array, image: Array) -> None:
    """image += A_columns·change."""
    if image.shape[1] == 1 or not hasattr(design, "matrix"):
        for t in range(image.shape[1]):
            column = image[:, t].copy()
            design.add(columns, change[:, t].copy(), column)
            image[:, t] = column
        return
    part = design.take(columns)
    if isinstance(part.matrix, Dense):
        step = max(1, prices.BLOCK // image.shape[0])
        for start in range(0, columns.size, step):
            image += _dense(part.matrix, part.places[start : start + step]) @ change[start : start + step]
    else:
        add_products(part.matrix, part.places, change, image)


def _dense(matrix: Dense, places: Array) -> Array:
    """The columns as they lie where they are neighbours, gathered where they are not."""
    is_run = bool(places.size and places[-1] - places[0] + 1 == places.size and np.all(np.diff(places) == 1))
    return matrix.values[:, places[0] : places[-1] + 1] if is_run else matrix.values[:, places]


@kernel
def fill_products(matrix: Any, places: Array, slope: Array, out: Array, start: int, stop: int) -> None:
    for i in range(start, stop):
        j = wide(places[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            k, entry = wide(matrix.row(p)), matrix.entry(p, j)
            for t in range(slope.shape[1]):
                out[i, t] += entry * slope[k, t]


@kernel
def add_products(matrix: Any, places: Array, change: Array, image: Array) -> None:
    for i in range(places.size):
        j = wide(places[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            k, entry = wide(matrix.row(p)), matrix.entry(p, j)
            for t in range(image.shape[1]):
                image[k, t] += entry * change[i, t]
