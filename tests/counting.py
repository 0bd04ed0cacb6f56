"""A design that answers only the questions of ``ascd.matrix.base.Matrix``, and counts and checks each of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ascd.matrix.base import Design, Part


class CountingMultiplier:
    """The products of another multiplier, counted."""

    def __init__(self, inner: Any, asked: Counter[str], n: int) -> None:
        self._inner, self._asked, self._n = inner, asked, n
        self.constant = inner.constant

    def fill(self, store, columns, left, right, weight, means):
        self._asked["multiplier.fill"] += left.size * right.size
        check_columns(columns, self._n)
        assert max(left.max(), right.max()) < columns.size
        assert np.all(weight >= 0.0)
        self._inner.fill(store, columns, left, right, weight, means)

    def is_cheap(self, count, size):
        return self._inner.is_cheap(count, size)

    def forget(self):
        self._inner.forget()


def check_columns(columns: Any, n: int) -> None:
    """Column numbers: one-dimensional integers inside 0 .. n − 1, none twice."""
    assert isinstance(columns, np.ndarray)
    assert columns.ndim == 1
    assert columns.dtype.kind in "iu"
    assert columns.size == 0 or (columns.min() >= 0 and columns.max() < n)
    assert np.unique(columns).size == columns.size


class Counting(Design):
    """Another design behind its door; ``take`` hands out copies, so that nothing but those columns can be read."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.asked = inner, Counter()

    @property
    def shape(self):
        return self._inner.shape

    @property
    def nbytes(self):
        return self._inner.nbytes

    @property
    def at_once(self):
        return self._inner.at_once

    @property
    def in_rounds(self):
        return self._inner.in_rounds

    @property
    def is_dear(self):
        return self._inner.is_dear

    def _note(self, question: str, columns: Any) -> None:
        check_columns(columns, self.shape[1])
        self.asked[question] += columns.size

    def _is_vector(self, vector: Any) -> None:
        assert np.ndim(vector) == 0 or np.shape(vector) == (self.shape[0],)

    def entries(self, columns=None):
        return self._inner.entries(columns)

    def sweep_price(self, columns):
        return self._inner.sweep_price(columns)

    def products_price(self, columns):
        return self._inner.products_price(columns)

    def survey(self, weight, vectors):
        self._note("survey", np.arange(self.shape[1]))
        self._is_vector(weight)
        assert vectors.shape[1:] == self.shape[:1]
        return self._inner.survey(weight, vectors)

    def squares(self, weight, columns):
        self._note("squares", columns)
        self._is_vector(weight)
        return self._inner.squares(weight, columns)

    def dots(self, columns, vector):
        self._note("dots", columns)
        self._is_vector(vector)
        return self._inner.dots(columns, vector)

    def careful_dots(self, columns, vector):
        self._note("careful_dots", columns)
        return self._inner.careful_dots(columns, vector)

    def add(self, columns, factors, image):
        self._note("add", columns)
        assert factors.shape == columns.shape
        self._is_vector(image)
        self._inner.add(columns, factors, image)

    def means(self, columns, weight):
        self._note("means", columns)
        return self._inner.means(columns, weight)

    def multiplier(self, keeps):
        return CountingMultiplier(self._inner.multiplier(keeps), self.asked, self.shape[1])

    def take(self, columns):
        """The columns, alone and under other numbers: whoever mixes up the two is found out."""
        self._note("take", columns)
        from ascd.matrix.open import open_design

        matrix, places = self._inner.take(columns)
        if places.size == 0:
            return Part(matrix, places)
        whole = matrix.to_scipy(*self.shape)
        chosen = whole[:, places[::-1]]
        return Part(open_design(chosen).matrix, np.arange(columns.size)[::-1].copy())

    def check_finite(self):
        self._inner.check_finite()


def behind_the_door(A: Any) -> Counting:
    """The data of A behind a counting door, without a matrix."""
    from ascd.matrix.open import open_design

    return Counting(open_design(A))
