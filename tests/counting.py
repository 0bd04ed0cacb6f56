"""A matrix that has nothing but the methods of ``ascd.matrix.base.Matrix``, and counts and checks each call."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ascd.matrix.base import Matrix, Multiplier, Part
from ascd.matrix.open import open_design


def check_columns(columns: Any, n: int) -> None:
    """Column indices: one-dimensional integers inside 0 .. n − 1, none twice."""
    assert isinstance(columns, np.ndarray)
    assert columns.ndim == 1
    assert columns.dtype.kind in "iu"
    assert columns.size == 0 or (columns.min() >= 0 and columns.max() < n)
    assert np.unique(columns).size == columns.size


class CountingMultiplier(Multiplier):
    """The products of another multiplier, counted."""

    def __init__(self, inner: Any, asked: Counter[str], n: int) -> None:
        self._inner, self._asked, self._n = inner, asked, n
        self.constant, self.is_cheap, self.forget = inner.constant, inner.is_cheap, inner.forget

    def fill(self, store, columns, left, right, weight, means):
        self._asked["multiplier.fill"] += left.size * right.size
        check_columns(columns, self._n)
        assert max(left.max(), right.max()) < columns.size
        assert np.all(weight >= 0.0)
        self._inner.fill(store, columns, left, right, weight, means)


class Counting(Matrix):
    """Another matrix behind its methods; ``take`` hands out copies, so that nothing but those columns can be read."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.asked, self.shape = inner, Counter(), inner.shape
        for name in ("at_once", "in_rounds", "is_dear", "is_sparse", "entries", "sweep_cost", "products_cost"):
            setattr(self, name, getattr(inner, name))
        self.check_finite = inner.check_finite

    @property
    def nbytes(self):
        return self._inner.nbytes

    def _forward(self, name: str, columns: Any, *arguments: Any, vectors: Any = ()) -> Any:
        check_columns(columns, self.shape[1])
        self.asked[name] += columns.size
        for vector in vectors:
            assert np.ndim(vector) == 0 or np.shape(vector) == self.shape[:1]
        return getattr(self._inner, name)(*arguments)

    def column_stats(self, weight, vectors):
        assert vectors.shape[1:] == self.shape[:1]
        return self._forward("column_stats", np.arange(self.shape[1]), weight, vectors, vectors=[weight])

    def squares(self, weight, columns):
        return self._forward("squares", columns, weight, columns, vectors=[weight])

    def dots(self, columns, vector):
        return self._forward("dots", columns, columns, vector, vectors=[vector])

    def careful_dots(self, columns, vector):
        return self._forward("careful_dots", columns, columns, vector, vectors=[vector])

    def add(self, columns, factors, out):
        assert factors.shape == columns.shape
        self._forward("add", columns, columns, factors, out, vectors=[out])

    def means(self, columns, weight):
        return self._forward("means", columns, columns, weight, vectors=[weight])

    def multiplier(self, keeps):
        return CountingMultiplier(self._inner.multiplier(keeps), self.asked, self.shape[1])

    def take(self, columns):
        """The columns, alone and under other indices: whoever mixes up the two is found out."""
        matrix, places = self._forward("take", columns, columns)
        if places.size == 0:
            return Part(matrix, places)
        chosen = matrix.to_scipy(*self.shape)[:, places[::-1]]
        return Part(open_design(chosen).matrix, np.arange(columns.size)[::-1].copy())


def behind_the_door(A: Any) -> Counting:
    """The data of A with their methods alone, without a storage."""
    return Counting(open_design(A))
