"""CUDA kernels of our own for passes over a dense array.

Libraries multiply arrays of one type only: float32 data would have to be converted to float64 a tile at a time, which
reads and writes five times as much as a pass needs.  These kernels read each entry once, as it is, and multiply and sum
in float64, so rounding errors are those that certificates count: (d + 8)·2⁻⁵³·‖a_j‖‖v‖ for any order of summation.

Memory is a number of *lines*, each of ``length`` entries that lie together: columns where the array is column-major,
rows where it is row-major.  Two kernels make all passes:

- ``along``: one sum a line, Σ_m values[l, m]·v[m].  The vectors are in shared memory, a tile of them a block; a warp
  takes ``LINES`` lines at a time, so that a vector's entry is read once for them.
- ``across``: one sum a place m, Σ_l values[l, m]·v[l].  A thread has its own places and walks over the lines.

Both may take a list of lines (``lines``) or of places (``places``) instead of all.  Sums over parts of a line, or over
some of the lines, are written apart and added up afterwards: no atomics, so a run gives the same digits every time.
Compiled in are ``T`` the type of an entry, ``NV`` the number of vectors, ``SQ`` whether Σa and Σa² are wanted too,
``WT`` whether Σ s·a² is, ``LISTED`` and ``PICKED`` whether lines or places come from a list, ``WIDTH`` the entries that
are read at once (1 where they are not aligned).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.sparse import LARGEST_SHORT

#: Types of entries that kernels read as they are, in CUDA's words.
TYPES = {
    "float64": "double", "float32": "float", "bool": "bool", "uint8": "unsigned char", "int8": "signed char",
    "uint16": "unsigned short", "int16": "short", "uint32": "unsigned int", "int32": "int", "int64": "long long",
}  # fmt: skip
#: As in the source below: lines a block takes at a time, entries of a tile, threads; vectors whose tiles fit together.
CUDA_LINES, CUDA_TILE, CUDA_THREADS, CUDA_VECTORS = 32, 2048, 256, 3
#: Launches: blocks that keep a device busy, groups of lines a block at most, lines a block at least, and CUDA's limit
#: of blocks.
CUDA_BLOCKS, CUDA_GROUPS, CUDA_FEWEST, CUDA_MOST_BLOCKS = 4000, 16, 64, 65_535

PASS_SOURCE = r"""
#define NOUT (NV + 2 * SQ + WT)
#define WARPS 8
#define LINES 4
#define TILE 2048
#define FEW 256

struct __align__(sizeof(T) * WIDTH) Run { T at[WIDTH]; };

__device__ __forceinline__ void gather(double* sums, double a, const double* vectors, int step, int m)
{
#pragma unroll
    for (int v = 0; v < NV; v++) sums[v] += a * vectors[v * step + m];
    if (SQ) { sums[NV] += a; sums[NV + 1] += a * a; }
    if (WT) sums[NV + 2 * SQ] += vectors[NV * step + m] * a * a;
}

/* out[part, o, i]: sums over a tile of each line; vectors: NV of them, then the weights, each of `length` entries */
extern "C" __global__ void along(const T* values, int stride, const int* lines, int count, const int* places,
                                 int length, const double* vectors, int groups, double* out)
{
    __shared__ double tile[(NV + WT > 0 ? NV + WT : 1) * TILE];
    const int first = blockIdx.y * TILE, here = min(TILE, length - first);
    for (int v = 0; v < NV + WT; v++)
        for (int m = threadIdx.x; m < here; m += WARPS * 32)
            tile[v * TILE + m] = vectors[(long long)v * length + first + m];
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int g = 0; g < groups; g++) {
        const int begin = ((blockIdx.x * groups + g) * WARPS + warp) * LINES;
        if (begin >= count) break;
        double sums[LINES][NOUT];
        const T* start[LINES];
#pragma unroll
        for (int l = 0; l < LINES; l++) {
            const int i = min(begin + l, count - 1);
            start[l] = values + (long long)(LISTED ? lines[i] : i) * stride + (PICKED ? 0 : first);
#pragma unroll
            for (int o = 0; o < NOUT; o++) sums[l][o] = 0.0;
        }
#if PICKED
        for (int m = lane; m < here; m += 32) {
            const int p = places[first + m];
#pragma unroll
            for (int l = 0; l < LINES; l++) gather(sums[l], (double)start[l][p], tile, TILE, m);
        }
#else
        const int whole = here / WIDTH;
        for (int r = lane; r < whole; r += 32) {
            Run runs[LINES];
#pragma unroll
            for (int l = 0; l < LINES; l++) runs[l] = ((const Run*)start[l])[r];
#pragma unroll
            for (int k = 0; k < WIDTH; k++)
#pragma unroll
                for (int l = 0; l < LINES; l++) gather(sums[l], (double)runs[l].at[k], tile, TILE, r * WIDTH + k);
        }
        for (int m = whole * WIDTH + lane; m < here; m += 32)
#pragma unroll
            for (int l = 0; l < LINES; l++) gather(sums[l], (double)start[l][m], tile, TILE, m);
#endif
#pragma unroll
        for (int l = 0; l < LINES; l++)
#pragma unroll
            for (int o = 0; o < NOUT; o++) {
                double sum = sums[l][o];
                for (int away = 16; away > 0; away /= 2) sum += __shfl_down_sync(0xffffffffu, sum, away);
                if (lane == 0 && begin + l < count)
                    out[((long long)blockIdx.y * NOUT + o) * count + begin + l] = sum;
            }
    }
}

/* out[part, o, m]: sums over `span` of the lines; vectors: NV of them, then the weights, each of `count` entries */
extern "C" __global__ void across(const T* values, int stride, const int* lines, int count, const int* places,
                                  int length, const double* vectors, int span, double* out)
{
    __shared__ double tile[(NV + WT > 0 ? NV + WT : 1) * FEW];
    const int m = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
    const bool mine = m < length;
    const int at = mine ? (PICKED ? places[m] : m) : 0;
    double sums[WIDTH][NOUT];
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
#pragma unroll
        for (int o = 0; o < NOUT; o++) sums[k][o] = 0.0;
    const int begin = blockIdx.y * span, end = min(begin + span, count);
    for (int first = begin; first < end; first += FEW) {
        const int here = min(FEW, end - first);
        __syncthreads();
        for (int v = 0; v < NV + WT; v++)
            for (int l = threadIdx.x; l < here; l += blockDim.x)
                tile[v * FEW + l] = vectors[(long long)v * count + first + l];
        __syncthreads();
        if (mine) {
#pragma unroll 8
            for (int l = 0; l < here; l++) {
                const long long line = LISTED ? lines[first + l] : first + l;
                const Run run = *(const Run*)(values + line * stride + at);
#pragma unroll
                for (int k = 0; k < WIDTH; k++) gather(sums[k], (double)run.at[k], tile, FEW, l);
            }
        }
    }
    if (mine)
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
#pragma unroll
            for (int o = 0; o < NOUT; o++)
                out[((long long)blockIdx.y * NOUT + o) * length + m + k] = sums[k][o];
}
"""


class Lines(NamedTuple):
    """Layout of an array: ``number`` lines of ``length`` entries, ``stride`` apart; ``width`` are read at once."""

    number: int
    length: int
    stride: int
    width: int
    are_columns: bool


def lines_of(values: Any) -> Lines | None:
    """Return how the entries of a CuPy array lie; None where neither rows nor columns lie together."""
    (d, n), size = values.shape, int(values.itemsize)
    down, right = (int(stride) // size for stride in values.strides)
    if right == 1 and (down >= n or d == 1):
        stride, count, length, are_columns = down if d > 1 else n, d, n, False
    elif down == 1 and (right >= d or n == 1):
        stride, count, length, are_columns = right if n > 1 else d, n, d, True
    else:
        return None
    if max(d, n, stride) > LARGEST_SHORT or length > CUDA_TILE * CUDA_MOST_BLOCKS:
        raise ValueError(f"A of shape {d} × {n} is too long for kernels on a GPU; fit it in parts, or on the host")
    width = min(4, 16 // size)
    is_aligned = stride % width == 0 and int(values.data.ptr) % (width * size) == 0
    return Lines(count, length, stride, width if is_aligned else 1, are_columns)


@cache
def compiled(name: str, defined: tuple[tuple[str, Any], ...]) -> Callable[..., None]:
    """Return a kernel with these names and values compiled in."""
    import cupy

    return cupy.RawKernel("".join(f"#define {word} {value}\n" for word, value in defined) + PASS_SOURCE, name)


class Passes:
    """Passes over a dense array on a GPU, each a launch and a small sum; ``room`` is what they may take, in bytes."""

    def __init__(self, values: Any, gpu: Any, lines: Lines, room: float) -> None:
        self.values, self.gpu, self.lines, self.room = values, gpu, lines, room
        self.nothing = gpu.put(np.zeros(1, dtype=np.int32))

    def over_samples(
        self, vectors: Any, weight: Any | None = None, squares: bool = False, columns: Array | None = None
    ) -> Any:
        """Return rows of sums by column (all): products with vectors (one a row), Σa, Σa², and Σ s·a² with weights s.

        There are ``CUDA_VECTORS`` vectors at most, one less with weights.
        """
        return self._launch(self.lines.are_columns, vectors, weight, squares, columns)

    def over_columns(self, factors: Array, columns: Array | None) -> Any:
        """Return Σ_i factors_i·a_columns_i."""
        rows = self.gpu.put(factors[None, :], np.float64)
        return self._launch(not self.lines.are_columns, rows, None, False, columns)[0, :]

    def _launch(self, is_along: bool, vectors: Any, weight: Any | None, squares: bool, columns: Array | None) -> Any:
        """Sums by parts along lines or across them, added up."""
        xp, (number, size, stride, width, are_columns) = self.gpu.xp, self.lines
        lines, places = (columns, None) if are_columns else (None, columns)
        count, length = number if lines is None else lines.size, size if places is None else places.size
        sums, kept = int(vectors.shape[0]) + 2 * squares + (weight is not None), count if is_along else length
        if count * length == 0:
            return xp.zeros((sums, kept))
        if places is not None or (not is_along and size % width):
            width = 1
        if is_along:
            parts = -(-length // CUDA_TILE)
            step = min(CUDA_GROUPS, max(1, count * parts // (CUDA_LINES * CUDA_BLOCKS)))
            blocks = -(-count // (CUDA_LINES * step))
        else:
            blocks = -(-length // (CUDA_THREADS * width))
            most = int(self.room / (8 * max(1, sums) * length))  # sums of parts are added up later
            step = -(-count // max(1, min(-(-CUDA_BLOCKS // blocks), -(-count // CUDA_FEWEST), most)))
            parts = -(-count // step)
        choices = (vectors.shape[0], squares, weight is not None, lines is not None, places is not None, width)
        words = ("NV", "SQ", "WT", "LISTED", "PICKED", "WIDTH")
        defined = (("T", TYPES[str(self.values.dtype)]), *zip(words, map(int, choices), strict=True))
        rows = vectors if weight is None else xp.concatenate([vectors, weight[None, :]])
        here, there = (self.nothing if one is None else self.gpu.put(one, np.int32) for one in (lines, places))
        out = xp.zeros((parts, sums, kept))
        sizes = [np.int32(one) for one in (stride, count, length, step)]
        given = (self.values, sizes[0], here, sizes[1], there, sizes[2], rows, sizes[3], out)
        compiled("along" if is_along else "across", defined)((blocks, parts), (CUDA_THREADS,), given)
        return out[0, :, :] if parts == 1 else out.sum(axis=0)
