"""The block form of every oracle of ``ascd.engine.oracles``, and of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count
from ascd._core.contracts import prepared
from ascd.blocks.engine import angle, products
from ascd.blocks.engine.parts import BlockParts
from ascd.engine.oracles import (
    Blind,
    Cached,
    Exact,
    Measured,
    Norm,
    Random,
    Reference,
    Simulated,
    Sketch,
    Stochastic,
    oracle_part,
)  # fmt: skip
from ascd.engine.oracles.exact import Gram
from ascd.problem.problem import Parts
from ascd.protocols import BlockOracle


class Start(NamedTuple):
    """What oracles are prepared from: the problem in blocks and in columns, its coefficients, and the steepness."""

    parts: BlockParts
    columns: Parts
    coefficients: Array
    steepness: Any
    rng: Any

    @property
    def longest(self) -> int:
        return int(np.diff(self.parts.ends).max())


def as_block_oracle(oracle: Any, start: Start) -> Any:
    """The compiled oracle for a name or a part, ours or the user's own."""
    oracle = oracle_part(oracle)
    build = FORMS_OF_ORACLES.get(type(oracle))
    return prepared(oracle, BlockOracle, "oracle", start.parts, start.rng) if build is None else build(oracle, start)


def _exact(oracle: Exact, start: Start) -> Any:
    made, matrix = oracle.prepare(start.columns, start.rng), start.parts.matrix
    if isinstance(made, Gram):
        return products.GramBlocks(made.products)
    place, count = np.empty(matrix.order.size, dtype=np.int64), start.parts.norm.size
    place[matrix.order] = np.arange(matrix.order.size)
    owner = np.repeat(np.arange(count), np.diff(matrix.starts))
    listed, is_listed = np.empty(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    return products.RowsOfBlocks(made.data, made.indices, made.indptr, place, owner, listed, is_listed)


def _sketch(oracle: Sketch, start: Start) -> Any:
    made = oracle.prepare(start.columns, start.rng)
    embedded = np.empty(made.images.shape[0] * start.parts.matrix.outputs)
    return products.EmbeddedBlocks(made.images, made.epsilon, made.failure, embedded, np.empty(start.longest))


def _simulated(oracle: Simulated, start: Start) -> Any:
    epsilon = oracle.prepare(start.columns, start.rng).epsilon
    return products.BlurredBlocks(epsilon, np.zeros(start.parts.sample.target.size), np.empty(start.longest))


def _cached(oracle: Cached, start: Start) -> Any:
    matrix, count = start.parts.matrix, start.parts.norm.size
    width = int(np.diff(matrix.starts).max())
    capacity = min(max(1, as_count(oracle.capacity, "Cached capacity") // width), count)
    return products.CachedBlocks(
        fallback=as_block_oracle(oracle.fallback, start),
        patience=as_count(oracle.patience, "Cached patience"),
        products=np.empty((matrix.order.size, capacity * width), order="F"),
        width=width,
        slot=np.full(count, -1, dtype=np.int64),
        moves=np.zeros(count, dtype=np.int64),
        owner=np.full(capacity, -1, dtype=np.int64),
        used=np.zeros(capacity, dtype=np.int64),
        tick=np.zeros(1, dtype=np.int64),
        work=np.zeros(start.parts.sample.weight.size),
    )


def _blind(oracle: Blind, start: Start) -> Any:
    blocks = oracle._replace(inner="norm").prepare(start.parts, start.rng).columns  # its checks of the numbers
    return products.BlindedBlocks(blocks, as_block_oracle(oracle.inner, start))


def _reference(oracle: Reference, start: Start) -> Any:
    made = angle.start_angle(start.parts, start.coefficients, start.steepness)
    return angle.ReferencedBlocks(*made, np.zeros(8), oracle.checked_patience())


def _measured(oracle: Measured, start: Start) -> Any:
    return angle.MeasuredBlocks(*angle.start_angle(start.parts, start.coefficients, start.steepness), np.zeros(3))


def _stochastic(oracle: Stochastic, start: Start) -> Any:
    raise TypeError("oracle 'stochastic' estimates single entries, for an ascd.Problem; blocks need another oracle")


FORMS_OF_ORACLES: dict[type, Callable[[Any, Start], Any]] = {
    Exact: _exact,
    Sketch: _sketch,
    Simulated: _simulated,
    Norm: lambda oracle, start: products.NormOfBlocks(),
    Random: lambda oracle, start: products.RandomBlocks(oracle.checked_printed()),
    Cached: _cached,
    Reference: _reference,
    Measured: _measured,
    Blind: _blind,
    Stochastic: _stochastic,
}
