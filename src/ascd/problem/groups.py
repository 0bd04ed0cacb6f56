"""Blocks of columns, and products of columns with all outputs.

``order`` lists the columns block by block, and block b is ``order[starts[b] : starts[b + 1]]``.  Inside the solver
coefficients are in that order, so that a block is contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix


@dataclass(frozen=True, eq=False)
class Groups:
    """Blocks of columns; each column belongs to one."""

    order: Array
    starts: Array

    @property
    def count(self) -> int:
        return self.starts.size - 1

    @cached_property
    def sizes(self) -> Array:
        sizes: Array = self.starts[1:] - self.starts[:-1]
        return sizes

    def columns(self, blocks: Array) -> Array:
        """Return positions in ``order`` of the columns of some blocks, which are in rising order."""
        if blocks.size == self.count:
            return np.arange(self.order.size)
        first = self.starts[blocks]
        sizes = self.starts[blocks + 1] - first
        return np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())


def as_groups(groups: Any, n: int) -> Groups:
    """Return the partition of n columns that a user means.

    - None: every column by itself
    - a number: that many neighbours each
    - a list of lists: the columns of each group
    - n labels, one a column: columns with the same label are a group, in the order of the labels
    - integers that add up to n: sizes of groups of neighbours
    """
    if groups is None:
        return Groups(np.arange(n), np.arange(n + 1))
    if isinstance(groups, Groups):
        return groups
    if isinstance(groups, Integral) and not isinstance(groups, bool):
        size = int(groups)
        if size < 1 or n % size:
            raise ValueError(f"groups={size} must be positive and divide the number of columns, {n}")
        return Groups(np.arange(n), np.arange(0, n + 1, size))
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must be a number, sizes, labels or lists of columns; got {groups!r}")
    given = list(groups)
    if given and all(isinstance(part, Iterable) and not isinstance(part, str) for part in given):
        return _of_lists([np.asarray(list(part)) for part in given], n)
    return _of_numbers_or_labels(np.asarray(given), n)


def _ends(sizes: Array) -> Array:
    """Where groups of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _of_numbers_or_labels(given: Array, n: int) -> Groups:
    total = int(given.sum()) if given.dtype.kind in "iu" else None
    if total == n and given.size == n > 1:
        if (given == 1).all():  # n others that add up to n are no sizes: one of them is 0 or less
            raise ValueError(
                f"groups can be read as {n} labels and as {n} sizes: pass lists of columns, or groups=1 for single "
                "columns"
            )
    elif total == n:
        if given.min() < 1:
            raise ValueError(f"groups: group {int(np.argmax(given < 1))} is empty; sizes must be at least 1")
        return Groups(np.arange(n), _ends(given))
    if given.size != n:
        raise ValueError(
            f"groups must be one label for each of the {n} columns, sizes that add up to {n}, or lists of columns; got "
            f"{given.size} entries" + ("" if total is None else f" that add up to {total}")
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(f"groups: the label of column {int(np.argmax(np.isnan(given)))} is nan")
    labels = np.unique(given, return_inverse=True)[1].ravel()
    return Groups(np.argsort(labels, kind="stable"), _ends(np.bincount(labels)))


def _of_lists(parts: list[Array], n: int) -> Groups:
    for number, part in enumerate(parts):
        if part.size == 0:
            raise ValueError(f"groups: group {number} is empty")
        if part.dtype.kind not in "iu" or part.ndim != 1:
            raise TypeError(f"groups: group {number} must list column numbers; got {part.tolist()!r}")
        if part.min() < 0 or part.max() >= n:
            wrong = part.max() if part.max() >= n else part.min()
            raise ValueError(f"groups: group {number} has column {wrong}, and columns are 0 .. {n - 1}")
    order, sizes = np.concatenate(parts).astype(np.int64), np.array([part.size for part in parts])
    count = np.bincount(order, minlength=n)
    if count.max() > 1:
        j = int(np.argmax(count))
        first, second = np.repeat(np.arange(sizes.size), sizes)[order == j][:2]
        if first == second:
            raise ValueError(f"groups: group {first} has column {j} more than once")
        raise ValueError(f"groups must not overlap: column {j} is in group {first} and in group {second}")
    if count.min() == 0:
        missing = np.flatnonzero(count == 0)
        raise ValueError(f"groups must cover all columns: {missing.size} are in none, the first is column {missing[0]}")
    return Groups(order, _ends(sizes))


def products(matrix: Matrix, columns: Array, V: Array) -> Array:
    """Return A_columnsᵀV, of shape (len(columns), n_outputs), for V of shape (n_samples, n_outputs)."""
    if V.shape[1] == 1:
        return matrix.dots(columns, V.ravel())[:, None]
    return matrix.dots(columns, V)


def add(matrix: Matrix, columns: Array, change: Array, Z: Array) -> None:
    """Add A_columns·change to Z in place; change has shape (len(columns), n_outputs)."""
    if Z.shape[1] == 1:
        matrix.add(columns, change.ravel(), Z.reshape(-1))
    else:
        matrix.add(columns, change, Z)


def nonzero_rows(x: Array) -> Array:
    """Return the rows of x, of shape (n, n_outputs), that are not zero; ten times as fast as ``any`` for one output."""
    return np.flatnonzero(x[:, 0] != 0.0 if x.shape[1] == 1 else x.any(axis=1))
