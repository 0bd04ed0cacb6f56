"""Oracles on blocks whose estimates move: exact, sketched, blurred, random and cached products.

After a step Δ of block i the gradient of block b moves by A_bᵀHA_iΔ.  An oracle moves its estimate by ``gain`` times an
estimate of A_bᵀSA_iΔ, and the radius grows by what that estimate can be wrong, plus slack·‖A_i‖‖A_b‖‖Δ‖.  Scores are
computed anew for the blocks whose estimate has moved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import confidence_of, likely
from ascd._core.jit import at, helper, wide
from ascd.blocks.engine.point import read_block, rescore
from ascd.blocks.lengths import length_of
from ascd.matrix.columns import clear, dot, scatter


class GramBlocks(NamedTuple):
    """Products from a precomputed AᵀSA."""

    products: Array

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        matrix, outputs, gain = point.problem.matrix, point.problem.matrix.outputs, point.problem.gain
        first = matrix.starts[i]
        for b in range(point.x.size):
            for q in range(matrix.starts[b], matrix.starts[b + 1]):
                j = wide(matrix.order[q])
                for own in range(first, matrix.starts[i + 1]):
                    product = gain * self.products[j, wide(matrix.order[own])]
                    for t in range(outputs):
                        point.gradient[q * outputs + t] += product * change[(own - first) * outputs + t]
            rescore(point, b)
        move_by(point, i, change, point.problem.slack)


class RowsOfBlocks(NamedTuple):
    """Products of sparse columns through a row-wise copy of A; ``place`` is a column's in the order of the blocks."""

    data: Array
    indices: Array
    indptr: Array
    place: Array
    owner: Array  # the block of every place
    listed: Array
    is_listed: Array

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        problem, trail, outputs = point.problem, point.trail, point.problem.matrix.outputs
        count, touched = 0, 0
        for r in range(trail.filled[0]):
            k = wide(trail.rows[r])
            scale = problem.gain * at(problem.sample.weight, k)
            touched += wide(self.indptr[k + 1]) - wide(self.indptr[k])
            for p in range(self.indptr[k], self.indptr[k + 1]):
                q = wide(self.place[self.indices[p]])
                b = wide(self.owner[q])
                if not self.is_listed[b]:
                    self.is_listed[b] = True
                    self.listed[count] = b
                    count += 1
                for t in range(outputs):
                    point.gradient[q * outputs + t] += scale * self.data[p] * trail.image[k * outputs + t]
        for n in range(count):
            rescore(point, wide(self.listed[n]))
            self.is_listed[self.listed[n]] = False
        point.reads[0] += touched * problem.matrix.order.size / max(1, self.data.size)
        move_by(point, i, change, problem.slack)


class EmbeddedBlocks(NamedTuple):
    """Images of the columns, whose products are within ε‖a_i‖‖a_j‖: those of blocks within ε‖A_i‖‖A_b‖ (Frobenius)."""

    images: Array
    epsilon: float
    failure: float
    embedded: Array  # SA_iΔ
    room: Array

    def confidence(self) -> float:
        return likely(self.failure)

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        problem, matrix, outputs = point.problem, point.problem.matrix, point.problem.matrix.outputs
        self.embed(matrix, i, change)
        length = length_of(change)
        for b in range(point.x.size):
            place = matrix.starts[b] * outputs
            found = self.room[: (matrix.starts[b + 1] - matrix.starts[b]) * outputs]
            self.estimate_change(matrix, b, found)
            # the true change is no longer than this, and nothing beyond is nearer to it
            limit, size = problem.norm[i] * problem.norm[b] * length, length_of(found)
            share = problem.gain * (limit / size if size > limit else 1.0)
            for p in range(found.size):
                point.gradient[place + p] += share * found[p]
            error = self.epsilon * problem.whole[i] * problem.whole[b] * length
            point.intervals.offset[b] += problem.gain * error
            rescore(point, b)
        move_by(point, i, change, problem.slack)

    @helper
    def embed(self, matrix: Any, i: int, change: Array) -> None:
        """SA_iΔ, from the images of the block's columns."""
        outputs, first = matrix.outputs, matrix.starts[i]
        for p in range(self.embedded.size):
            self.embedded[p] = 0.0
        for q in range(first, matrix.starts[i + 1]):
            j = wide(matrix.order[q])
            for k in range(self.images.shape[0]):
                for t in range(outputs):
                    self.embedded[k * outputs + t] += self.images[k, j] * change[(q - first) * outputs + t]

    @helper
    def estimate_change(self, matrix: Any, b: int, out: Array) -> None:
        """(SA_b)ᵀSA_iΔ."""
        outputs, first = matrix.outputs, matrix.starts[b]
        for p in range(out.size):
            out[p] = 0.0
        for q in range(first, matrix.starts[b + 1]):
            j = wide(matrix.order[q])
            for k in range(self.images.shape[0]):
                for t in range(outputs):
                    out[(q - first) * outputs + t] += self.images[k, j] * self.embedded[k * outputs + t]


class BlurredBlocks(NamedTuple):
    """Exact products and a random error, of at most ε‖A_i‖‖A_b‖‖Δ‖."""

    epsilon: float
    work: Array  # SA_iΔ, 0 between updates
    room: Array

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        problem, matrix, trail = point.problem, point.problem.matrix, point.trail
        outputs, blur = matrix.outputs, self.epsilon * problem.norm[i] * length_of(change)
        for r in range(trail.filled[0]):
            k = wide(trail.rows[r])
            for p in range(k * outputs, (k + 1) * outputs):
                self.work[p] = at(problem.sample.weight, k) * trail.image[p]
        for b in range(point.x.size):
            found = self.room[: problem.ends[b + 1] - problem.ends[b]]
            read_block(matrix, b, self.work, found)
            unit = blur * problem.norm[b] / math.sqrt(found.size)
            for p in range(found.size):
                error = unit * (2.0 * rng.random() - 1.0)
                point.gradient[problem.ends[b] + p] += problem.gain * (found[p] + error)
            rescore(point, b)
        for r in range(trail.filled[0]):
            k = wide(trail.rows[r])
            for p in range(k * outputs, (k + 1) * outputs):
                self.work[p] = 0.0
        point.reads[0] += matrix.order.size
        move_by(point, i, change, problem.gain * self.epsilon + problem.slack)


class RandomBlocks(NamedTuple):
    """A random change of at most ‖A_i‖‖A_b‖‖Δ‖, with the radius that it needs, or the printed one, which is less."""

    printed: bool

    def is_safe(self) -> bool:
        return not self.printed

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        problem = point.problem
        scale = length_of(change) * problem.norm[i] * problem.gain
        for b in range(point.x.size):
            first, last = problem.ends[b], problem.ends[b + 1]
            unit, square = scale * problem.norm[b] / math.sqrt(last - first), 0.0
            for p in range(first, last):
                guess = unit * (2.0 * rng.random() - 1.0)
                point.gradient[p] += guess
                square += guess * guess
            if not self.printed:
                point.intervals.offset[b] += math.sqrt(square)
            rescore(point, b)
        move_by(point, i, change, problem.gain + problem.slack)


class CachedBlocks(NamedTuple):
    """Products of the blocks that keep moving with all columns; another oracle for the rest."""

    fallback: Any
    patience: int
    products: Array  # rows in the order of the blocks; ``width`` columns a slot
    width: int
    slot: Array
    moves: Array
    owner: Array
    used: Array
    tick: Array
    work: Array

    def confidence(self) -> float:
        return confidence_of(self.fallback)

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        self.moves[i] += 1
        if self.slot[i] < 0 and self.moves[i] >= self.patience:
            self.admit_block(point, i)
        if self.slot[i] < 0:
            self.fallback.update_block(point, i, change, rng)
            return
        matrix, slot = point.problem.matrix, self.slot[i]
        outputs, first = matrix.outputs, slot * self.width
        self.tick[0] += 1
        self.used[slot] = self.tick[0]
        for b in range(point.x.size):
            for q in range(matrix.starts[b], matrix.starts[b + 1]):
                for own in range(matrix.starts[i + 1] - matrix.starts[i]):
                    product = point.problem.gain * self.products[q, first + own]
                    for t in range(outputs):
                        point.gradient[q * outputs + t] += product * change[own * outputs + t]
            rescore(point, b)
        move_by(point, i, change, point.problem.slack)

    @helper
    def admit_block(self, point: Any, i: int) -> None:
        """Compute the products of block i into the slot that was used longest ago."""
        slot = np.argmin(self.used)
        if self.owner[slot] >= 0:
            self.slot[self.owner[slot]] = -1
            self.moves[self.owner[slot]] = 0
        self.owner[slot], self.slot[i] = i, slot
        matrix, first = point.problem.matrix, point.problem.matrix.starts[i]
        for q in range(first, matrix.starts[i + 1]):
            j = wide(matrix.order[q])
            scatter(matrix.columns, j, point.problem.sample.weight, self.work)
            for other in range(matrix.order.size):
                product = dot(matrix.columns, wide(matrix.order[other]), self.work)
                self.products[other, slot * self.width + q - first] = product
            clear(matrix.columns, j, self.work)
            point.reads[0] += matrix.order.size


class NormOfBlocks(NamedTuple):
    """``‖A_bᵀSA_iΔ‖ ≤ ‖A_i‖‖A_b‖‖Δ‖``: the estimates stay, one clock widens all radii."""

    unit: float = 1.0

    def keeps_estimates(self) -> bool:
        return True

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        widen_by(point, i, change, point.problem.gain + point.problem.slack)


class BlindedBlocks(NamedTuple):
    """Blocks of which nothing is known after a step, and the oracle for the others."""

    blocks: Array
    inner: Any

    def confidence(self) -> float:
        return confidence_of(self.inner)

    def update_block(self, point: Any, i: int, change: Array, rng: Any) -> None:
        self.inner.update_block(point, i, change, rng)
        for k in range(self.blocks.size):
            point.intervals.offset[self.blocks[k]] = np.inf


@helper
def widen_by(point: Any, i: int, change: Array, relative: float) -> None:
    """All radii grow by relative·‖A_i‖‖A_b‖‖Δ‖."""
    point.intervals.widen(length_of(change) * point.problem.norm[i] * relative)


@helper
def move_by(point: Any, i: int, change: Array, relative: float) -> None:
    """The same after the products of the step were added to the estimates, whose rounding counts."""
    widen_by(point, i, change, relative)
    point.intervals.moved(length_of(change) * point.problem.norm[i] * (point.problem.gain + point.problem.slack))
