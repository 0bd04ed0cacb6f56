"""Products of columns that are not near: brought near first, or computed where they are."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.local import Local


class HasNear(Protocol):
    """A design that makes columns local."""

    def local(self, columns: Array) -> tuple[Local, Array]: ...
    def are_near(self, columns: Array) -> Array: ...


class GivesProducts(Protocol):
    """A source that computes products of columns itself."""

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array: ...


class NearMultiplier:
    """Products of columns that are brought near first."""

    def __init__(self, design: HasNear, keeps: bool, constant: float) -> None:
        self.design, self.keeps, self.constant = design, keeps, constant
        self.local: Local | None = None
        self.inner: Any = None

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        if not self.design.are_near(columns).all():
            self.forget()  # memory for what comes
        local, places = self.design.local(columns)
        if self.local is not local:  # other columns are near now
            self.local, self.inner = local, local.multiplier(self.keeps)
        here = None if means is None else _spread(means[columns], places)
        self.inner.fill(store, places, left, right, weight, here)

    def is_cheap(self, count: int, size: int) -> bool:
        """They are near then, all of them."""
        return True

    def forget(self) -> None:
        self.local = self.inner = None


class RemoteMultiplier:
    """Products computed where the data are."""

    def __init__(self, source: GivesProducts, constant: float) -> None:
        self.source, self.constant = source, constant

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        store[np.ix_(left, right)] = self.source.products(columns[left], columns[right], weight, means)

    def is_cheap(self, count: int, size: int) -> bool:
        """One pass for all is cheaper than one for each that moves."""
        return True

    def forget(self) -> None:
        """Nothing is kept."""


def _spread(values: Array, places: Array) -> Array:
    """An array that has the values at these places."""
    out = np.zeros(int(places.max()) + 1)
    out[places] = values
    return out
