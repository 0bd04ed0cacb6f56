"""A sparse matrix on a device (CuPy's CSC or CSR): passes are products there, chunks in float64.

A chunk is columns of a CSC matrix, rows of a CSR one: what lies together.  Products of columns with each other are
computed on the device, each less its weighted mean,

    Σ_k h_k·(a_ki − m_i)·(a_kj − m_j)  =  Σ_k h_k·a_ki·a_kj − m_i·m_j·Σ_k h_k.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.devices import is_on_device, library_of
from ascd.matrix import prices
from ascd.matrix.base import Survey
from ascd.matrix.device.arrays import Space, space_of
from ascd.matrix.remote import Multiplying
from ascd.matrix.sparse import LocalSparse


class DeviceSparse(Multiplying):
    """A CSC or CSR matrix where it lies."""

    is_dear = is_sparse = True
    at_once = prices.DEVICE_AT_ONCE

    def __init__(self, matrix: Any) -> None:
        if getattr(matrix, "format", None) not in ("csc", "csr"):
            raise TypeError(f"A must be a CSC or CSR matrix where it is on a device; got {type(matrix).__name__}")
        self.space: Space = space_of(matrix.data)
        self.matrix, self.is_by_rows = matrix, matrix.format == "csr"
        self.shape: tuple[int, int] = (int(matrix.shape[0]), int(matrix.shape[1]))
        with self.space.here():
            pointers = self.space.fetch(matrix.indptr).astype(np.int64)
            self._counts = self._column_counts(pointers)
        self.ends = pointers  # where columns (rows) end
        room = min(prices.DEVICE_BLOCK, max(prices.DEVICE_FLOOR, prices.DEVICE_SHARE * self.nbytes))
        self.most = max(1, int(room // prices.DEVICE_SPARSE_ENTRY))

    @property
    def nbytes(self) -> int:
        return int(self.ends[-1]) * (int(self.matrix.data.dtype.itemsize) + 4) + 4 * self.ends.size

    @property
    def counts(self) -> Array:
        return self._counts

    def survey(self, weight: Any, vectors: Array) -> Survey:
        """Return norms, sums and products from one pass: the ones and the weights go beside the vectors."""
        self._note(None)
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.shape[:1])
        with self.space.here():
            there = self._put(np.concatenate([vectors, np.ones((1, self.shape[0]))]).T)
            beside = self._put(np.stack([np.ones(self.shape[0]), weights], axis=1))
            found = self._products(lambda part: part, there)
            squares = self._products(_squared, beside)
        return Survey(squares[1], squares[0], found[-1], np.ascontiguousarray(found[:-1]))

    def squares(self, weight: Any, columns: Array) -> Array:
        self._note(columns)
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.shape[:1])
        with self.space.here():
            return self._chosen(columns, _squared, self._put(weights[:, None]))

    def dots(self, columns: Array, vector: Array) -> Array:
        self._note(columns)
        with self.space.here():
            return self._chosen(columns, lambda part: part, self._put(vector[:, None]))

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
            if not self.is_by_rows:
                for part, there in self._some_columns(columns):
                    out += self.space.fetch(part @ self._put(factors[there]))
                return
            vector = self._put(whole)
            for start, stop in self._spans():
                out[start:stop] += self.space.fetch(self._wide(self.matrix[start:stop]) @ vector)

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
            bad = int((~self.space.xp.isfinite(self.matrix.data)).sum())
        if bad:
            raise ValueError(f"A must be finite; it has {bad} nan or inf entries")

    def _chosen(self, columns: Array, of: Any, vectors: Any) -> Array:
        """Products of some columns with one vector: the columns alone where they lie together and are few."""
        if self.is_by_rows or 2 * columns.size > self.shape[1]:
            return np.asarray(self._products(of, vectors)[0][columns])
        out = np.empty(columns.size)
        for part, there in self._some_columns(columns):
            out[there] = self.space.fetch(of(part).T @ vectors)[:, 0]
        return out

    def _products(self, of: Any, vectors: Any) -> Array:
        """Products of all columns with the vectors, one a row of the answer."""
        if not self.is_by_rows:
            found = [of(self._wide(self.matrix[:, start:stop])).T @ vectors for start, stop in self._spans()]
            return np.ascontiguousarray(self.space.fetch(self.space.join(found)).T)
        total = self.space.zeros((self.shape[1], vectors.shape[1]))
        for start, stop in self._spans():
            total = total + of(self._wide(self.matrix[start:stop])).T @ vectors[start:stop]
        return np.ascontiguousarray(self.space.fetch(total).T)

    def _some_columns(self, columns: Array) -> Iterator[tuple[Any, slice]]:
        """Some of the columns at a time, in float64."""
        running = np.cumsum(self.counts[columns])
        start = 0
        while start < columns.size:
            before = running[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(running, before + self.most, side="right")))
            yield self._columns(columns[start:stop]), slice(start, stop)
            start = stop

    def _columns(self, columns: Array) -> Any:
        return self._wide(self.matrix[:, self.space.put(np.ascontiguousarray(columns, dtype=np.int64))])

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Columns of a CSC matrix, rows of a CSR one, that make a chunk."""
        start, size = 0, self.ends.size - 1
        while start < size:
            stop = int(np.searchsorted(self.ends, self.ends[start] + self.most, side="right")) - 1
            stop = min(max(stop, start + 1), size)
            yield start, stop
            start = stop

    def _column_counts(self, pointers: Array) -> Array:
        if not self.is_by_rows:
            return np.diff(pointers)
        xp = self.space.xp
        found = xp.bincount(self.matrix.indices, minlength=self.shape[1])
        return self.space.fetch(found).astype(np.int64)

    def _wide(self, part: Any) -> Any:
        return part if part.dtype == np.float64 else part.astype(np.float64)

    def _put(self, values: Array) -> Any:
        return self.space.put(np.ascontiguousarray(values, dtype=np.float64))

    def _note(self, columns: Array | None) -> None:
        share = 1.0 if columns is None or self.is_by_rows else float(self.counts[columns].sum()) / max(1, self.ends[-1])
        self.bytes_read += int(share * self.nbytes)


def _squared(part: Any) -> Any:
    return type(part)((part.data * part.data, part.indices, part.indptr), shape=part.shape)


def is_there(A: Any) -> bool:
    """Return True for an array on a device, dense or sparse."""
    return is_on_device(A) or is_sparse_on_device(A)


def is_sparse_on_device(A: Any) -> bool:
    """Return True for a sparse matrix of CuPy."""
    return library_of(A) == "cupyx" and hasattr(A, "tocsc")
