"""The few coordinates that drift: their products, and the minimum over them with all others at rest.

Sweeps settle most coordinates within a dozen of them.  What takes hundreds are a few groups of nearly parallel columns,
in texts documents that occur twice, the more so with different labels: along Σ_i ±β_i of such a group the objective
falls while the slope v hardly moves, and a sweep goes a short way of 1/‖a_j‖² until one of them meets its end.  All
others only follow.  They are known by their drift, |x_j − x_j before|·‖a_j‖ over many sweeps: it is small for those
that have settled.

So those that drift most, strictly inside their box, are minimised over as a model of their own, with their products G:
sweeps that cost no columns, and Newton steps (``gram_model``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.local import Local
from ascd.problem.problem import Parts
from ascd.solver import tuning
from ascd.solver.models import GramModel
from ascd.solver.models import KnownGram as Known


class Settled(NamedTuple):
    """What a model took: columns read, and nanoseconds by its sweeps and Newton steps."""

    reads: int
    price: float


def largest_affordable(design: Local, budget: float) -> int:
    """How many coordinates a model may have for so many nanoseconds; 0 where even few cost more."""
    entries = design.entries() / design.shape[1]
    size, best = tuning.FEWEST_DRIFTING, 0
    while size <= tuning.MOST_DRIFTING:
        steps = tuning.DRIFT_NEWTONS * newton_price(size) + tuning.DRIFT_SWEEPS * sweep_price(size)
        if design.price_of_products(size, int(size * entries)) + steps > budget:
            break
        size, best = 2 * size, size
    return best


def sweep_price(size: int) -> float:
    """Nanoseconds of a sweep over the products of so many coordinates."""
    return tuning.DRIFT_PRODUCT * size**2


def newton_price(size: int) -> float:
    return tuning.DRIFT_CUBE * float(size) ** 3 + tuning.DRIFT_CALLS


def most_drifting(free: Array, drift: Array, most: int) -> Array:
    """Of the coordinates ``free``, those that have drifted most, rising."""
    moved = drift > 0.0
    free, drift = free[moved], drift[moved]
    if free.size > most:
        free = free[np.argpartition(drift, free.size - most)[free.size - most :]]
    return np.sort(free)


def settle(design: Local, parts: Parts, slope: Array, x: Array, columns: Array, worst: float) -> Settled:
    """Minimise over these columns; x and the slope move.  ``worst`` is the largest violation over ‖a_j‖."""
    size, d = columns.size, design.shape[0]
    weight = np.full(d, parts.sample.weight) if np.ndim(parts.sample.weight) == 0 else parts.sample.weight
    products, places = np.empty((size, size), order="F"), np.arange(size)
    design.multiplier(False).fill(products, columns, places, places, weight, None)
    start, image = x[columns], np.zeros(d)
    known = Known(columns, products, np.ones(size, dtype=np.bool_))
    model = GramModel(parts.penalty, known, design.dots(columns, slope), x)
    target = tuning.DRIFT_LEFT * worst * float(parts.norm[columns].min())
    taken = model.minimise(target, tuning.MOST_DRIFT_SWEEPS)
    design.add(columns, x[columns] - start, image)
    slope += weight * image
    price = design.products_price(columns) + taken.sweeps * sweep_price(size) + taken.newtons * newton_price(size)
    return Settled(3 * size, price)
