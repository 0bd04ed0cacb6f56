"""Sparse columns whose rows come in any order, none of them twice: read as they lie.

To sort the rows of all columns takes as long as five passes over them, and a support vector machine with a small C
takes two.  Products of columns and vectors ask for no order.  For what does, the few columns asked for are sorted, or
all of them, once: products of columns with each other, and rows that threads have of their own.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.jit import kernel, wide
from ascd._core.threads import threads_here
from ascd.matrix.design import Part
from ascd.matrix.prices import SORTED_ALONE
from ascd.matrix.sparse import CSC, SIGNED, LocalSparse, short_width, unsigned


class Unordered(LocalSparse):
    """Sparse columns in memory; ``in_order`` are the same with rising rows."""

    @cached_property
    def in_order(self) -> LocalSparse:
        return LocalSparse(self._sorted(self.matrix.to_scipy(*self.shape).copy()), self.shape)

    def _sorted(self, columns: Any) -> CSC:
        columns.sort_indices()
        return CSC(*unsigned(columns, SIGNED[self.matrix.indices.dtype]))

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        """Every row has its terms in the order of the columns, here and there."""
        if threads_here() == 1:
            super().add(columns, factors, image)
        else:
            self.in_order.add(columns, factors, image)

    def take(self, columns: Array) -> Part:
        """The columns with rising rows: a few are copied and sorted by themselves."""
        if columns.size > SORTED_ALONE * self.shape[1]:
            return self.in_order.take(columns)
        few = self._sorted(self.matrix.to_scipy(*self.shape)[:, columns])
        return Part(few, np.arange(columns.size))

    def beside(self, other: LocalSparse) -> LocalSparse:
        return self.in_order.beside(other)

    def add_several(self, columns: Array, factors: Array, image: Array) -> None:
        self.in_order.add_several(columns, factors, image)


def as_they_lie(A: Any) -> Any:
    """A design for a CSC matrix of float64 whose rows are not sorted; anything else, and rows that come twice, as is.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> from ascd.matrix.unordered import as_they_lie
    >>> rows, ends = np.array([2, 0, 1]), np.array([0, 2, 3])
    >>> type(as_they_lie(csc_array((np.ones(3), rows, ends), shape=(3, 2)))).__name__
    'Unordered'
    >>> type(as_they_lie(csc_array(np.eye(3)))).__name__
    'csc_array'
    """
    if getattr(A, "format", "") != "csc" or A.dtype != np.float64 or A.has_canonical_format or A.has_sorted_indices:
        return A
    width = short_width(A)
    matrix = CSC(*map(unlocked, unsigned(A, width)))
    is_clean = not has_row_twice(matrix, np.zeros(A.shape[0], dtype=width), A.shape[1])
    return Unordered(matrix, A.shape) if is_clean else A


@kernel
def has_row_twice(matrix: Any, last: Array, n: int) -> bool:
    """Has a column two entries in a row?  ``last`` is room for the last column met in every row, its number plus 1."""
    for number in range(n):
        j = wide(number)
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            if last[k] == number + 1:
                return True
            last[k] = number + 1
    return False
