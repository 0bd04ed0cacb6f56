"""Which columns of tall data may move in the next round: products of these are asked for (``in_rows``).

Those that are free at an end of the step or violate optimality where it leads to; and some more, those whose gradient
entries are nearest to doing so, in lengths of their columns: a model is not exact, and the next penalty of a path is a
little smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.solver import tuning
from ascd.solver.screening import subgradients


def next_columns(penalty: Any, norm: Array, ends: Iterable[tuple[Array, Array]]) -> Array:
    """In rising order; all, where it would be nearly all.

    ``ends`` are points of a step with their gradients; the last one is where it leads to.
    """
    n = norm.size
    is_wanted, nearest, low, high = np.zeros(n, dtype=np.bool_), *np.empty((3, n))
    for x, gradient in ends:
        subgradients(penalty, x, low, high)
        nearest = np.maximum(low + gradient, -gradient - high) / np.maximum(norm, 1e-300)
        is_wanted |= low == high
    is_wanted |= nearest > 0.0
    moving = int(np.count_nonzero(is_wanted))
    count = moving + tuning.FEWEST_NEXT + int(tuning.NEXT_SHARE * moving)
    if count > tuning.MOST_COLUMNS * n:
        return np.arange(n)
    nearest[is_wanted] = math.inf
    return np.sort(np.argpartition(-nearest, count - 1)[:count])
