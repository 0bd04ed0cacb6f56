"""What compiled code sees of a block problem: the fields that rules ask for, one number a block.

With the norms ‖A_b‖ = λ_max(A_bᵀSA_b)^½ and 0 ≤ H_k ≤ M·I for the Hessian of every sample,

    ‖∂∇_b/∂X_i‖ ≤ M‖A_i‖‖A_b‖,       L_b = M‖A_b‖²,

and for losses that are not quadratic A_bᵀHA_i is within M/2·‖A_i‖‖A_b‖ of M/2·A_bᵀSA_i, as for single columns: both
are ``gain``·products ± ``slack``·norms.  The products A_bᵀSA_b of every block with itself are kept: they give the
norms, and the block's own gradient after its step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd.blocks.engine.rows import loss_of_rows
from ascd.blocks.groups import Groups
from ascd.engine.tuning import LARGEST_EXACT
from ascd.matrix.columns import clear, dot, scatter
from ascd.problem.problem import Parts, Sample


class BlockMatrix(NamedTuple):
    """Columns in the order of the blocks; ``start`` and ``stop`` count what reading a block costs."""

    columns: Any
    order: Array
    starts: Array
    entries: Array  # entries before each block, times the outputs
    outputs: int

    def start(self, j: int) -> int:
        return self.entries[j]

    def stop(self, j: int) -> int:
        return self.entries[j + 1]

    def ahead(self, j: int) -> None:
        self.columns.ahead(wide(self.order[self.starts[j]]))

    def stored(self) -> Array:
        """All entries, once for every output."""
        values = self.columns.stored()
        return np.broadcast_to(values, (self.outputs, *values.shape))


class BlockParts(NamedTuple):
    """A block problem for compiled code; all arrays but the first two and ``grams`` have one number a block."""

    matrix: BlockMatrix
    sample: Sample  # targets flat; weights one a sample
    loss: Any
    penalty: Any
    norm: Array  # ‖A_b‖, weighted by the samples
    lipschitz: Array  # L_b > 0
    largest: float
    gain: float
    slack: float
    ends: Array  # where blocks begin in the flat coefficients
    whole: Array  # the norm of Frobenius
    grams: Array  # A_bᵀSA_b of every block, one after the other
    places: Array  # where each begins


class Lengths(NamedTuple):
    """Spectral norms, norms of Frobenius, and the products that they come from."""

    spectral: Array
    whole: Array
    grams: Array
    places: Array


def block_parts(problem: Any, columns: Any) -> BlockParts:
    """The parts of a ``BlockProblem`` whose columns are in local memory."""
    loss, groups, bound = problem.loss, problem.groups, float(problem.loss.bound)
    lengths = block_lengths(columns, groups, problem.weight)
    lipschitz = bound * lengths.spectral**2
    # as for single columns: any positive number bounds the curvature of a block of zeros
    lipschitz[lipschitz == 0.0] = lipschitz[lipschitz > 0.0].min(initial=math.inf if lipschitz.any() else 1.0)
    gain, slack = (bound, 0.0) if loss.is_quadratic else (0.5 * bound, 0.5 * bound)
    target = getattr(loss, "target", np.zeros((problem.n_samples, problem.n_outputs)))
    return BlockParts(
        block_matrix(columns, groups, problem.n_outputs), Sample(target.ravel(), problem.weight), loss_of_rows(loss),
        problem.penalty, lengths.spectral, lipschitz, float(lipschitz.max()), gain, slack, problem.ends, lengths.whole,
        lengths.grams, lengths.places,
    )  # fmt: skip


def column_parts(problem: Any, parts: BlockParts) -> Parts:
    """The single columns, for oracles that are prepared from these."""
    square = problem.norm**2
    return Parts(
        parts.matrix.columns, Sample(np.zeros(problem.n_samples), problem.weight), None, None, problem.norm, square,
        float(square.max()), parts.gain, parts.slack,
    )  # fmt: skip


def block_matrix(columns: Any, groups: Groups, outputs: int) -> BlockMatrix:
    sizes = np.empty(groups.order.size, dtype=np.int64)
    count_entries(columns, groups.order, sizes)
    before = np.concatenate([[0], np.cumsum(outputs * sizes)])
    return BlockMatrix(columns, groups.order, groups.starts, before[groups.starts], outputs)


def block_lengths(columns: Any, groups: Groups, weight: Array) -> Lengths:
    """Norms of all blocks, weighted by the samples."""
    sizes = groups.sizes
    places = np.concatenate([[0], np.cumsum(sizes**2)])
    if 8 * places[-1] > LARGEST_EXACT:
        raise ValueError(
            f"minimize keeps the products of every block's columns, and blocks of up to {sizes.max()} columns would "
            f"need more than {LARGEST_EXACT / 2**30:g} GiB: use ascd.solve_blocks"
        )
    grams = np.empty(places[-1])
    fill_grams(columns, groups.order, groups.starts, weight, places, grams, np.zeros(weight.size))
    square, spectral = np.empty(groups.count), np.empty(groups.count)
    for size in np.unique(sizes):
        blocks = np.flatnonzero(sizes == size)
        stack = grams[places[blocks][:, None] + np.arange(size**2)].reshape(-1, size, size)
        with np.errstate(over="ignore"):
            square[blocks] = np.trace(stack, axis1=1, axis2=2)
        if not np.isfinite(square[blocks]).all():
            raise ValueError("A has blocks whose squared norm overflows float64: rescale A")
        # computed eigenvalues are off by a few ulps of the largest
        largest = stack[:, 0, 0] if size == 1 else np.linalg.eigvalsh(stack)[:, -1] * (1.0 + 1e-14 * size)
        spectral[blocks] = np.minimum(largest, square[blocks])
    return Lengths(np.sqrt(spectral), np.sqrt(square), grams, places)


@kernel
def count_entries(columns: Any, order: Array, out: Array) -> None:
    """Stored entries of every column, in the order of the blocks."""
    for q in range(order.size):
        j = wide(order[q])
        out[q] = columns.stop(j) - columns.start(j)


@kernel
def fill_grams(
    columns: Any, order: Array, starts: Array, weight: Array, places: Array, out: Array, room: Array
) -> None:
    """A_bᵀSA_b for every block; ``room`` has a number a sample, all 0."""
    for b in range(starts.size - 1):
        first, size = starts[b], starts[b + 1] - starts[b]
        for left in range(size):
            j = wide(order[first + left])
            scatter(columns, j, weight, room)
            for right in range(left + 1):
                product = dot(columns, wide(order[first + right]), room)
                out[places[b] + left * size + right] = product
                out[places[b] + right * size + left] = product
            clear(columns, j, room)
