"""What models share: the blocks of a working set, which of their coefficients are free, and steps that are cut.

Free coefficients are those around which the penalty is smooth; ``block_piece`` of the penalty tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd.blocks import tuning
from ascd.problem.lengths import length_of


class Working(NamedTuple):
    """Blocks of a working set: block i has the rows starts[i] .. starts[i + 1]; ``places`` are these rows' own."""

    blocks: Array
    starts: Array
    places: Array
    outputs: int

    @property
    def longest(self) -> int:
        return int(np.diff(self.starts).max()) * self.outputs


class Free(NamedTuple):
    """Rows that are free in all outputs, with their penalty's slope and what its Hessian is made of."""

    rows: Array
    starts: Array
    slope: Array
    unit: Array
    kappa: Array
    ridge: Array


class Pieces(NamedTuple):
    """Entry by entry: is it free, the penalty's slope, x/‖x_b‖; κ_b and m_b for every row."""

    is_free: Array
    slope: Array
    unit: Array
    kappa: Array
    ridge: Array


def pieces_of(penalty: Any, working: Working, x: Array) -> Pieces:
    """The penalty around x."""
    slope, unit = np.empty(x.shape), np.zeros(x.shape)
    kink, ridge, length = np.empty((3, working.blocks.size))
    fill_pieces(penalty, working.blocks, working.starts, x.ravel(), slope.ravel(), kink, ridge, length, x.shape[1])
    sizes = np.diff(working.starts)
    is_free = ~np.isnan(slope)
    with np.errstate(all="ignore"):
        # a single coefficient has no direction to turn to: |x| is straight
        kink[np.add.reduceat(is_free.sum(axis=1), working.starts[:-1]) == 1] = 0.0
        away = np.repeat(length, sizes)[:, None]
        np.divide(x, away, out=unit, where=(away > 0.0) & is_free)
        kappa = np.divide(kink, length, out=np.zeros(kink.size), where=length > 0.0)
    return Pieces(is_free, slope, unit, np.repeat(kappa, sizes), np.repeat(ridge, sizes))


def free_rows(penalty: Any, working: Working, x: Array) -> Free | None:
    """The free rows; None where a row is free in some outputs and held in others."""
    found = pieces_of(penalty, working, x)
    is_free = found.is_free.all(axis=1)
    if (found.is_free.any(axis=1) != is_free).any():
        return None
    rows = np.flatnonzero(is_free)
    block = np.repeat(np.arange(working.blocks.size), np.diff(working.starts))[rows]
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    return Free(rows, starts, found.slope[rows], found.unit[rows], found.kappa[rows], found.ridge[rows])


def try_lengths(
    penalty: Any, working: Working, x: Array, change: Array, model: Callable[[Array, float], float], promised: float
) -> Array | None:
    """The length of a step that lowers Q most, of those tried, as a change of x; None if none lowers it.

    ``model`` is asked for the smooth part of Q after a move, which differs from length·change in few coefficients;
    ``promised`` is the fall of Q by the whole step if the penalty stayed on its pieces.

    The penalty may have a kink where a coefficient changes its sign.  So such coefficients are also tried at 0, and
    lengths at which some of them arrive there: where columns depend on each other, steps are far too long.
    """
    before = blocks_cost(penalty, working.blocks, working.starts, x.ravel(), x.shape[1])
    best, gain = None, 0.0
    for lengths, crossing in _lengths(working, x, change):
        if lengths is tuning.LENGTHS and best is not None:
            break
        lowest = np.inf
        for length in lengths:
            straight = x + length * change
            stops = crossing <= length * (1.0 + 1e-12)
            value = np.inf
            for there in (straight, np.where(stops, 0.0, straight))[: 1 + int(stops.any())]:
                moved: Array = there - x
                after = blocks_cost(penalty, working.blocks, working.starts, there.ravel(), x.shape[1])
                here = model(moved, length) + after - before
                value = min(value, here)
                if here < gain:
                    best, gain = moved, here
                if gain <= -tuning.KEPT_PROMISE * promised < 0.0:
                    return best
            if value > lowest and lengths is not tuning.LENGTHS:  # Q is convex: longer steps are worse
                break
            lowest = value
    return best


def _lengths(working: Working, x: Array, change: Array) -> Iterator[tuple[Sequence[float], Array]]:
    """Lengths to try, each with those at which coefficients arrive at 0: one by one, or blocks where nearest."""
    single = np.divide(-x, change, out=np.full(x.shape, np.inf), where=x * change < 0.0)
    yield (1.0,), single
    along = np.add.reduceat((x * change).sum(axis=1), working.starts[:-1])
    square = np.add.reduceat((change**2).sum(axis=1), working.starts[:-1])
    nearest = np.divide(-along, square, out=np.full(along.size, np.inf), where=(along < 0.0) & (square > 0.0))
    whole = np.broadcast_to(np.repeat(nearest, np.diff(working.starts))[:, None], x.shape)
    for crossing in (single, whole):
        ends = np.unique(crossing[crossing < 1.0])
        yield [float(ends[i]) for i in tuning.CROSSINGS if i < ends.size], crossing
    yield tuning.LENGTHS, single


@kernel
def fill_pieces(
    penalty: Any, blocks: Array, starts: Array, x: Array, slope: Array, kink: Array, ridge: Array, length: Array,
    outputs: int,
) -> None:  # fmt: skip
    for i in range(blocks.size):
        low, high = wide(starts[i]) * outputs, wide(starts[i + 1]) * outputs
        kink[i], ridge[i] = penalty.block_piece(x[low:high], wide(blocks[i]), slope[low:high])
        length[i] = length_of(x[low:high])


@kernel
def blocks_cost(penalty: Any, blocks: Array, starts: Array, x: Array, outputs: int) -> float:
    """Σ Ψ_b over the blocks of a working set."""
    total = 0.0
    for i in range(blocks.size):
        total += penalty.block_cost(x[wide(starts[i]) * outputs : wide(starts[i + 1]) * outputs], wide(blocks[i]))
    return total


@kernel
def largest_distance(penalty: Any, blocks: Array, starts: Array, x: Array, g: Array, outputs: int) -> float:
    """The largest distance from optimality among the blocks of a working set."""
    most = 0.0
    for i in range(blocks.size):
        low, high = wide(starts[i]) * outputs, wide(starts[i + 1]) * outputs
        most = max(most, penalty.block_distance(x[low:high], g[low:high], wide(blocks[i])))
    return most
