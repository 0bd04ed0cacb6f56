"""Predictions for Dask's collections: arrays of Dask that are computed later, chunk by chunk where the data are.

X·coef is a sum over the chunks of a row; the rest (classes, probabilities) is done to its blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.extmath import softmax

from ascd._core.checks import Array
from ascd.matrix.on_dask import check_chunk, is_frame, known_widths


def times_lazily(X: Any, coefs: Array) -> Any:
    """X·coefs as an array of Dask, with one column a column of ``coefs``, or none where that is a vector."""
    kinds = set(X.dtypes) if is_frame(X) else {X.dtype}
    dtype = coefs.dtype if kinds == {np.dtype(np.float32)} else np.dtype(np.float64)
    return _frame_times(X, coefs, dtype) if is_frame(X) else _array_times(X, coefs, dtype)


def _frame_times(X: Any, coefs: Array, dtype: Any) -> Any:
    import dask
    import dask.array as da

    multiply, shared = dask.delayed(times_chunk, pure=True), dask.delayed(coefs)
    products = [multiply(chunk, shared, dtype) for chunk in X.to_delayed()]
    shape = (math.nan, *coefs.shape[1:])
    pieces = [da.from_delayed(one, shape, dtype=dtype) for one in products]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def _array_times(X: Any, coefs: Array, dtype: Any) -> Any:
    """By Dask's own blocks, which it joins with those that make X: chunks are no results that stand by themselves."""
    import dask.array as da

    widths, last = known_widths(X), coefs.shape[1:]
    pieces = da.from_array(coefs, chunks=(widths, *last))
    kind = {"dtype": dtype, "meta": np.empty((0,) * (2 + len(last)), dtype)}
    places = (X, "ij", pieces, "jk"[: coefs.ndim], dtype, None)
    products = da.blockwise(times_in_row, "ijk"[: 1 + coefs.ndim], *places, adjust_chunks={"j": 1}, **kind)
    return products[:, 0] if len(widths) == 1 else products.sum(axis=1)


def times_in_row(chunk: Any, coefs: Array, dtype: Any) -> Array:
    """One of the products whose sum over the column chunks is asked for."""
    return times_chunk(chunk, coefs, dtype)[:, None]


def times_chunk(chunk: Any, coefs: Array, dtype: Any) -> Array:
    """On a worker: a dense product, whatever the chunk is."""
    values = chunk.to_numpy(dtype=dtype, na_value=np.nan) if hasattr(chunk, "iloc") else chunk
    values = values if hasattr(values, "shape") else np.asarray(values)
    check_chunk(values, (None, coefs.shape[0]), name="X")
    return np.asarray(values @ coefs, dtype=dtype)


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
