"""A sparse matrix on a device (CuPy's CSC or CSR): passes are products there, in pieces of float64.

A piece is some columns of a CSC matrix, some rows of a CSR one: what lies together.  Products of columns with each
other are computed on the device, each less its weighted mean,

    Σ_k h_k·(a_ki − m_i)·(a_kj − m_j)  =  Σ_k h_k·a_ki·a_kj − m_i·m_j·Σ_k h_k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.devices import is_on_device, library_of
from ascd.matrix import prices
from ascd.matrix.base import ColumnStats
from ascd.matrix.device.arrays import Space, space_of
from ascd.matrix.remote import Multiplying
from ascd.matrix.sparse import LocalSparse


class DeviceSparse(Multiplying):
    """A CSC or CSR matrix where it lies (``there``)."""

    is_dear = is_sparse = True
    at_once = prices.DEVICE_AT_ONCE

    def __init__(self, there: Any) -> None:
        if getattr(there, "format", None) not in ("csc", "csr"):
            raise TypeError(f"A must be a CSC or CSR matrix where it is on a device; got {type(there).__name__}")
        self.space: Space = space_of(there.data)
        self.there, self.is_by_rows = there, there.format == "csr"
        self.shape: tuple[int, int] = (int(there.shape[0]), int(there.shape[1]))
        with self.space.here():
            self.ends = self.space.fetch(there.indptr).astype(np.int64)  # of columns (rows)
            self._counts = np.diff(self.ends)
            if self.is_by_rows:
                found = self.space.xp.bincount(there.indices, minlength=self.shape[1])
                self._counts = self.space.fetch(found).astype(np.int64)
        room = min(prices.DEVICE_BLOCK, max(prices.DEVICE_FLOOR, prices.DEVICE_SHARE * self.nbytes))
        self.most = max(1, int(room // prices.DEVICE_SPARSE_ENTRY))

    @property
    def nbytes(self) -> int:
        return int(self.ends[-1]) * (int(self.there.data.dtype.itemsize) + 4) + 4 * self.ends.size

    @property
    def counts(self) -> Array:
        return self._counts

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        """Return norms, sums and products from one pass: the ones and the weights go beside the vectors."""
        ones, every = np.ones((1, self.shape[0])), np.arange(self.shape[1])
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.shape[:1])
        found = self._products(every, np.concatenate([vectors, ones]))
        squares = self._products(every, np.concatenate([ones, weights[None]]), _squared, counts=False)
        return ColumnStats(squares[1], squares[0], found[-1], np.ascontiguousarray(found[:-1]))

    def squares(self, weight: Any, columns: Array) -> Array:
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.shape[:1])
        return self._products(columns, weights[None], _squared)[0]

    def dots(self, columns: Array, vector: Array) -> Array:
        return self._products(columns, vector[None])[0]

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        return np.ascontiguousarray(self._products(columns, vectors.T).T)

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """Return products with error bounds, computed on the host for some columns at a time: few are requested."""
        product, error = np.empty((2, columns.size))
        step = max(1, int(columns.size * self.most / max(1, int(self.counts[columns].sum()))))
        for start in range(0, columns.size, step):
            chosen = slice(start, min(start + step, columns.size))
            local = self.fetch(columns[chosen])
            product[chosen], error[chosen] = local.careful_dots(np.arange(local.shape[1]), vector)
        return product, error

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        self._note(columns)
        whole = np.zeros(self.shape[1])
        whole[columns] = factors
        with self.space.here():
            vector = self._put(whole if self.is_by_rows else factors)
            for rows, there, part in self._pieces(columns):
                out[rows] += self.space.fetch(part @ vector[there])

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Return products of columns with each other; the second are made dense, a few at a time."""
        self._note(first)
        out = np.empty((first.size, second.size))
        with self.space.here():
            left = self._columns(first).T.tocsr()
            weights = self._put(weight)
            step = max(1, self.most * prices.DEVICE_SPARSE_ENTRY // (24 * self.shape[0]))
            for start in range(0, second.size, step):
                there = slice(start, min(start + step, second.size))
                dense = self._columns(second[there]).toarray() * weights[:, None]
                out[:, there] = self.space.fetch(left @ dense)
        if means is not None:
            taken = float(weight.sum()) * np.outer(means[first], means[second])
            out -= taken
            out[np.abs(out) <= prices.LEFT_BY_MEANS * np.abs(taken)] = 0.0
        return out

    def fetch(self, columns: Array) -> LocalSparse:
        from scipy import sparse

        self._note(columns)
        if columns.size == 0:
            return LocalSparse.of(sparse.csc_array((self.shape[0], 0)))
        with self.space.here():
            there = self._columns(columns).tocsc()
            arrays = [self.space.fetch(one) for one in (there.data, there.indices, there.indptr)]
        return LocalSparse.of(sparse.csc_array(tuple(arrays), shape=(self.shape[0], columns.size)))

    def check_finite(self) -> None:
        with self.space.here():
            bad = int((~self.space.xp.isfinite(self.there.data)).sum())
        if bad:
            raise ValueError(f"A must be finite; it has {bad} nan or inf entries")

    def _products(
        self, columns: Array, vectors: Array, of: Callable[[Any], Any] = lambda part: part, counts: bool = True
    ) -> Array:
        """Products of these columns with the vectors, both one a row; ``of`` is applied to the entries before."""
        if counts:
            self._note(columns)
        are_most = self.is_by_rows or 2 * columns.size > self.shape[1]  # then all of them are multiplied
        with self.space.here():
            beside = self._put(vectors.T)
            total = self.space.zeros((self.shape[1] if are_most else columns.size, len(vectors)))
            for rows, there, part in self._pieces(None if are_most else columns):
                total[there] = total[there] + of(part).T @ beside[rows]
            found = self.space.fetch(total).T
        return np.ascontiguousarray(found[:, columns] if are_most else found)

    def _pieces(self, columns: Array | None) -> Iterator[tuple[slice, slice, Any]]:
        """Rows, places among the columns, and these entries in float64; all columns where rows lie together."""
        if self.is_by_rows:
            counts = np.diff(self.ends)
        else:
            counts = self.counts if columns is None else self.counts[columns]
        running, start = np.concatenate([[0], np.cumsum(counts)]), 0
        while start < counts.size:
            stop = int(np.searchsorted(running, running[start] + self.most, side="right")) - 1
            chosen = slice(start, min(max(stop, start + 1), counts.size))
            if self.is_by_rows:
                yield chosen, slice(None), self._wide(self.there[chosen])
            elif columns is None:
                yield slice(None), chosen, self._wide(self.there[:, chosen])
            else:
                yield slice(None), chosen, self._columns(columns[chosen])
            start = chosen.stop

    def _columns(self, columns: Array) -> Any:
        return self._wide(self.there[:, self.space.put(np.ascontiguousarray(columns, dtype=np.int64))])

    def _wide(self, part: Any) -> Any:
        return part if part.dtype == np.float64 else part.astype(np.float64)

    def _put(self, values: Array) -> Any:
        return self.space.put(np.ascontiguousarray(values, dtype=np.float64))

    def _note(self, columns: Array) -> None:
        """Count what a pass over these columns reads."""
        share = 1.0 if self.is_by_rows else float(self.counts[columns].sum()) / max(1, int(self.ends[-1]))
        self.bytes_read += int(share * self.nbytes)


def _squared(part: Any) -> Any:
    return type(part)((part.data * part.data, part.indices, part.indptr), shape=part.shape)


def is_there(A: Any) -> bool:
    """Return True for an array on a device, dense or sparse."""
    return is_on_device(A) or is_sparse_on_device(A)


def is_sparse_on_device(A: Any) -> bool:
    """Return True for a sparse matrix of CuPy."""
    return library_of(A) == "cupyx" and hasattr(A, "tocsc")
