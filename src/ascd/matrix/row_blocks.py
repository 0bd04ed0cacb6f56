"""Sources that pass their rows from first to last, in one block or several; ``row_major`` and ``row_sparse`` are such.

A pass for some columns reads what ``passed`` says, all of the data at most.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.design import Survey
from ascd.matrix.local import Local


class Block(Protocol):
    """Some rows of some columns."""

    def survey(self, weight: Any, vectors: Array, out: Survey) -> None:
        """Add what these rows bring."""

    def dots(self, vector: Array, out: Array) -> None:
        """out += products with the vector's entries for these rows."""

    def add(self, factors: Array, image: Array) -> None:
        """image (of these rows) += Σ factors·columns."""

    def check_finite(self) -> None: ...


class RowBlocks(ABC):
    """Blocks of rows, one after the other."""

    counts: Array
    is_dear = False

    def __init__(self, shape: tuple[int, int], nbytes: int) -> None:
        self.shape, self.nbytes, self.bytes_read = shape, nbytes, 0
        self.near_limit = max(prices.NEAR_FLOOR, prices.NEAR_SHARE * nbytes)

    def survey(self, weight: Any, vectors: Array) -> Survey:
        out = Survey.nothing(self.shape[1], len(vectors))
        for rows, block in self._pass(None):
            block.survey(weight if np.ndim(weight) == 0 else weight[rows], vectors[:, rows], out)
        return out

    def dots(self, columns: Array, vector: Array) -> Array:
        out = np.zeros(columns.size)
        for rows, block in self._pass(columns):
            block.dots(vector[rows], out)
        return out

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        for rows, block in self._pass(columns):
            block.add(factors, image[rows])

    def check_finite(self) -> None:
        for _, block in self._pass(None):
            block.check_finite()

    def fetch(self, columns: Array) -> Local:
        """These columns in local memory; one pass."""
        self.bytes_read += self.passed(columns)
        return self.gather(columns)

    def _pass(self, columns: Array | None) -> Iterator[tuple[slice, Block]]:
        self.bytes_read += self.passed(columns)
        return self.blocks(columns)

    @abstractmethod
    def passed(self, columns: Array | None) -> int:
        """Bytes that a pass for these columns reads."""

    @abstractmethod
    def blocks(self, columns: Array | None) -> Iterator[tuple[slice, Block]]:
        """Blocks of all rows, one after the other, with these columns (all)."""

    @abstractmethod
    def gather(self, columns: Array) -> Local:
        """These columns in local memory."""
