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
        return self.starts[1:] - self.starts[:-1]

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
    if isinstance(groups, Groups):
        return groups
    groups = 1 if groups is None else groups
    if isinstance(groups, Integral) and not isinstance(groups, bool):
        if groups < 1 or n % groups:
            raise ValueError(f"groups={groups} must be positive and divide the number of columns, {n}")
        return Groups(np.arange(n), np.arange(0, n + 1, int(groups)))
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must be a number, sizes, labels or lists of columns; got {groups!r}")
    given = list(groups)
    if given and all(isinstance(part, Iterable) and not isinstance(part, str) for part in given):
        labels = _labels_of_lists([np.asarray(list(part)) for part in given], n)
    else:
        labels = _labels_of_numbers(np.asarray(given), n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return Groups(np.argsort(labels, kind="stable"), starts)


def _labels_of_numbers(given: Array, n: int) -> Array:
    total = int(given.sum()) if given.dtype.kind in "iu" else None
    if total == n and given.size == n > 1 and (given == 1).all():
        # n others that add up to n are no sizes: one of them is 0 or less
        raise ValueError(
            f"groups can be read as {n} labels and as {n} sizes: pass lists of columns, or groups=1 for single columns"
        )
    if total == n and (given.size != n or n == 1):
        if given.min() < 1:
            raise ValueError(f"groups: group {int(np.argmax(given < 1))} is empty; sizes must be at least 1")
        return np.repeat(np.arange(given.size), given)
    if given.size != n:
        raise ValueError(
            f"groups must be one label for each of the {n} columns, sizes that add up to {n}, or lists of columns; got "
            f"{given.size} entries" + ("" if total is None else f" that add up to {total}")
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(f"groups: the label of column {int(np.argmax(np.isnan(given)))} is nan")
    return np.unique(given, return_inverse=True)[1].ravel()


def _labels_of_lists(parts: list[Array], n: int) -> Array:
    labels = np.full(n, -1)
    for number, part in enumerate(parts):
        if part.size == 0:
            raise ValueError(f"groups: group {number} is empty")
        if part.dtype.kind not in "iu" or part.ndim != 1:
            raise TypeError(f"groups: group {number} must list column numbers; got {part.tolist()!r}")
        for column in part.tolist():
            if not 0 <= column < n:
                raise ValueError(f"groups: group {number} has column {column}, and columns are 0 .. {n - 1}")
            if labels[column] == number:
                raise ValueError(f"groups: group {number} has column {column} more than once")
            if labels[column] >= 0:
                both = f"group {labels[column]} and in group {number}"
                raise ValueError(f"groups must not overlap: column {column} is in {both}")
            labels[column] = number
    missing = np.flatnonzero(labels < 0)
    if missing.size:
        raise ValueError(f"groups must cover all columns: {missing.size} are in none, the first is column {missing[0]}")
    return labels


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
