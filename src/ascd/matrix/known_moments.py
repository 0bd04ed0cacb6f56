"""Means and products of columns that a pass has brought, kept for those who ask again.

Weights are those of the pass up to a factor, w = f·s: means are the same then, and products f times as large.  For
other means m than the weighted ones m_s, with S = Σs,

    Σ_k s_k (a_ki − m_i)(a_kj − m_j) = Σ_k s_k (a_ki − m_si)(a_kj − m_sj) + S·(m_si − m_i)(m_sj − m_j).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.part_answers import Moments


class KnownMoments:
    """The last ones that have room, of a matrix with n columns."""

    def __init__(self, n: int) -> None:
        self.n = n
        # replaced as a whole: folds of a cross-validation ask from several threads
        self._kept: tuple[tuple[Any, Moments], ...] = ()

    def keep(self, weight: Any, moments: Moments) -> None:
        kept = weight if np.ndim(weight) == 0 else weight.copy()
        size = moments.products.nbytes + np.asarray(kept).nbytes  # weights of tall data are longer than products
        most = min(prices.MOMENTS_KEPT, max(1, prices.PRODUCTS_KEPT // size))
        self._kept = ((kept, moments), *self._kept)[:most]

    def means(self, columns: Array, weight: Array) -> Array | None:
        found = self._find(weight, columns)
        return None if found is None else found[1].means[found[2][columns]]

    def of_all(self, weight: Array) -> Moments | None:
        """Of all columns in their order, with these weights."""
        everything = np.arange(self.n)
        found = self._find(weight, everything)
        if found is None:
            return None
        factor, known, place = found
        return Moments(
            everything, factor * known.total, known.means[place], factor * known.products[np.ix_(place, place)]
        )

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array | None:
        """Of the first columns with the second, each less its mean (None: 0)."""
        found = self._find(weight, np.concatenate([first, second]))
        if found is None:
            return None
        factor, known, place = found
        there = place[first], place[second]
        left, right = (
            known.means[here] - (0.0 if means is None else means[chosen])
            for here, chosen in zip(there, (first, second), strict=True)
        )
        return np.asarray(factor * (known.products[np.ix_(*there)] + known.total * np.outer(left, right)))

    def _find(self, weight: Array, columns: Array) -> tuple[float, Moments, Array] | None:
        """The factor f, the moments, and where columns stand in them."""
        for kept, found in self._kept:
            factor, place = _multiple(weight, kept), np.full(self.n, -1)
            place[found.columns] = np.arange(found.columns.size)
            if factor is not None and (place[columns] >= 0).all():
                return factor, found, place
        return None


def _multiple(weight: Array, kept: Any) -> float | None:
    """The factor f with weight = f·kept, exactly; None where there is none."""
    where = int(np.argmax(kept)) if np.ndim(kept) else 0
    base = float(kept[where] if np.ndim(kept) else kept)
    if base <= 0.0:
        return None
    factor = float(weight[where]) / base
    return factor if bool(np.all(weight == factor * kept)) else None
