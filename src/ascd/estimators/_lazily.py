"""Predictions for Dask's collections: arrays of Dask that are computed later, chunk by chunk where the data are.

X·coef is a sum over the chunks of a row; the rest (classes, probabilities) is done to its blocks.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.extmath import softmax

from ascd._base.checks import Array
from ascd.data.on_dask import array_chunks, frame_chunks, is_frame


def times_lazily(X: Any, coefs: Array) -> Any:
    """X·coefs as an array of Dask, with one column a column of ``coefs``, or none where that is a vector."""
    import dask
    import dask.array as da

    lines, rows, columns = frame_chunks(X) if is_frame(X) else array_chunks(X)
    heights = [math.nan] * len(lines) if rows is None else np.diff(rows).tolist()
    multiply, total = dask.delayed(times_chunk, pure=True), dask.delayed(sum_of, pure=True)
    pieces = [dask.delayed(coefs[start:stop]) for start, stop in pairwise(columns.tolist())]
    kinds = set(X.dtypes) if is_frame(X) else {X.dtype}
    dtype = coefs.dtype if kinds == {np.dtype(np.float32)} else np.dtype(np.float64)
    found = []
    for line, height in zip(lines, heights, strict=True):
        products = [multiply(chunk, piece, dtype) for chunk, piece in zip(line, pieces, strict=True)]
        value = products[0] if len(products) == 1 else total(products)
        found.append(da.from_delayed(value, (height, *coefs.shape[1:]), dtype=dtype))
    return da.concatenate(found, allow_unknown_chunksizes=True)


def times_chunk(chunk: Any, coefs: Array, dtype: Any) -> Array:
    """On a worker: a dense product, whatever the chunk is."""
    values = chunk.to_numpy(dtype=dtype, na_value=np.nan) if hasattr(chunk, "iloc") else chunk
    return np.asarray(values @ coefs, dtype=dtype)


def sum_of(products: list[Array]) -> Array:
    return np.asarray(sum(products[1:], start=products[0]))


def classes_lazily(scores: Any, classes: Array) -> Any:
    """The class with the highest score: of two, the second where its score is positive."""
    dropped = {} if scores.ndim == 1 else {"drop_axis": 1}
    return scores.map_blocks(classes_of, classes, dtype=classes.dtype, **dropped)


def classes_of(scores: Array, classes: Array) -> Array:
    return np.asarray(classes[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])


def probabilities_lazily(odds: Any) -> Any:
    """The probability of each class from log-odds."""
    if odds.ndim == 2:
        return odds.map_blocks(softmax, dtype=odds.dtype)
    return odds.map_blocks(two_probabilities, dtype=odds.dtype, new_axis=1, chunks=(odds.chunks[0], (2,)))


def two_probabilities(odds: Array) -> Array:
    return np.stack([expit(-odds), expit(odds)], axis=1)
