"""CUDA kernels of our own: passes, short columns, steps with momentum.

Libraries multiply arrays of one type only: float32 data would have to be converted to float64 a tile at a time, which
reads and writes five times as much as a pass needs.  These kernels read each entry once, as it is, and multiply and sum
in float64.  Entries of float32 (or of fewer digits) are float64 numbers too, so what is summed is what a host would
sum, and rounding errors are those of float64: (d + 8)·2⁻⁵³·‖a_j‖‖v‖ for any order of summation, as certificates count
them.

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

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.device.arrays import TYPES, Gpu
from ascd.matrix.sparse import LARGEST_SHORT

#: As in the source below: lines a block takes at a time, entries of a tile, threads; vectors whose tiles fit together.
CUDA_LINES, CUDA_TILE, CUDA_THREADS, CUDA_VECTORS = 32, 2048, 256, 3
#: Launches: blocks that keep a device busy, groups of lines a block at most, lines a block at least, the share of a
#: row's columns from which on all are read, since memory comes in sectors, and CUDA's limit of blocks.
CUDA_BLOCKS, CUDA_GROUPS, CUDA_FEWEST, CUDA_PICKED, CUDA_MOST_BLOCKS = 4000, 16, 64, 0.25, 65_535
#: Entries of 16 bits that lines of them begin at multiples of: products of others take five times as long.
CUDA_ALIGNED = 64

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

#: Columns of 16 bits: (a_ij − mean_j)·√h_i·share_j, rounded as they are gathered.  The library needs a copy for every
#: operation, each of eight bytes an entry; this writes two.  What is written lies as the data do.
HALVES_SOURCE = r"""
/* out lies as the data do: `count` columns of `span` rows, from the row `first` on, `pitch` entries a line of memory */
extern "C" __global__ void halves(const T* values, int stride, const int* columns, int count, int first, int span,
                                  const double* roots, const double* means, const double* shares, int pitch,
                                  unsigned short* out)
{
    const int along = COLUMNS ? span : count, across = COLUMNS ? count : span;
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= along) return;
    for (int l = blockIdx.y; l < across; l += gridDim.y) {
        const int c = COLUMNS ? l : m, r = COLUMNS ? m : l;
        const long long line = COLUMNS ? columns[c] : first + r, place = COLUMNS ? first + r : columns[c];
        double a = (double)values[line * stride + place];
        if (CENTRED) a -= means[c];
        const float rounded = (float)(a * roots[first + r] * shares[c]);
        unsigned short half;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(rounded));
        out[(long long)l * pitch + m] = half;
    }
}
"""

#: Proximal steps with momentum for penalties whose only kink is at zero, with derivatives low and high there:
#:
#:     x⁺ = prox(y − (L·D)⁻¹·∇(y)),       ∇(x⁺) = ∇(x) + G·(x⁺ − x),       y = x⁺ + β·(x⁺ − x),
#:
#: with β as in FISTA (Beck and Teboulle 2009), which restarts where it leads uphill (O'Donoghue and Candès 2015); ∇ is
#: known at y because it is linear.  The library multiplies by G; everything else is one block of threads.
MOMENTUM_SOURCE = r"""
__device__ double added(double value, double* shared)
{
    for (int away = 16; away > 0; away /= 2) value += __shfl_down_sync(0xffffffffu, value, away);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0.0;
    for (int warp = 0; warp < blockDim.x / 32; warp++) total += shared[warp];
    __syncthreads();
    return total;
}

/* rows: x, gradient, y, gradient at y, x⁺, D, lengths, low, high, curvature; state: L, t, the largest bend, unit */
extern "C" __global__ void momentum(int size, int is_first, double* rows, const S* curved, S* change, double* state)
{
    __shared__ double shared[32];
    double *x = rows, *gradient = rows + size, *ahead = rows + 2 * size, *slope = rows + 3 * size;
    double *next = rows + 4 * size;
    const double *scale = rows + 5 * size, *lengths = rows + 6 * size, *low = rows + 7 * size;
    const double *high = rows + 8 * size, *curvature = rows + 9 * size;
    const double bound = state[0], t = state[1], unit = state[3];
    if (!is_first) {
        double length = 0.0, bend = 0.0, along = 0.0;
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            const double away = next[i] - ahead[i];
            const double after = gradient[i] + unit * lengths[i] * (double)curved[i];
            length += away * scale[i] * away;
            bend += away * (after - slope[i]);
            along += away * scale[i] * (next[i] - x[i]);
        }
        length = added(length, shared);
        bend = added(bend, shared);
        along = added(along, shared);
        const double following = 0.5 * (1.0 + sqrt(1.0 + 4.0 * t * t));
        const double share = along < 0.0 ? 0.0 : (t - 1.0) / following;
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            const double after = gradient[i] + unit * lengths[i] * (double)curved[i];
            ahead[i] = next[i] + share * (next[i] - x[i]);
            slope[i] = after + share * (after - gradient[i]);
            x[i] = next[i];
            gradient[i] = after;
        }
        if (threadIdx.x == 0) {
            state[1] = along < 0.0 ? 1.0 : following;
            if (length > 0.0) state[2] = max(state[2], bend / length);
        }
    }
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const double step = 1.0 / (bound * scale[i]), point = ahead[i] - step * slope[i];
        const double above = point - step * high[i], below = point - step * low[i];
        next[i] = (above > 0.0 ? above : below < 0.0 ? below : 0.0) / (1.0 + step * curvature[i]);
        change[i] = (S)((next[i] - x[i]) * lengths[i] / unit);
    }
}
"""


class Lines(NamedTuple):
    """Layout of an array: ``number`` lines of ``length`` entries, ``stride`` apart; ``width`` are read at once."""

    number: int
    length: int
    stride: int
    width: int
    are_columns: bool


def lines_of(values: Any) -> Lines:
    """Return how the entries of a CuPy array lie."""
    d, n = (int(size) for size in values.shape)
    size = int(values.itemsize)
    across, along = (int(stride) // size for stride in values.strides)
    if along == 1 and (across >= n or d == 1):
        stride, count, length, are_columns = across if d > 1 else n, d, n, False
    else:
        stride, count, length, are_columns = along if n > 1 else d, n, d, True
    if max(d, n, stride) > LARGEST_SHORT or length > CUDA_TILE * CUDA_MOST_BLOCKS:
        raise ValueError(f"A of shape {d} × {n} is too long for kernels on a GPU; fit it in parts, or on the host")
    width = min(4, 16 // size)
    is_aligned = stride % width == 0 and int(values.data.ptr) % (width * size) == 0
    return Lines(count, length, stride, width if is_aligned else 1, are_columns)


@cache
def compiled(name: str, source: str, defined: tuple[tuple[str, Any], ...]) -> Callable[..., None]:
    """Return a function that launches a kernel with these names and values compiled in."""
    import cupy

    made = cupy.RawKernel("".join(f"#define {word} {value}\n" for word, value in defined) + source, name)

    def launch(grid: tuple[int, int], *arguments: Any) -> None:
        made(grid, (CUDA_THREADS,), tuple(np.int32(one) if isinstance(one, int) else one for one in arguments))

    return launch


class Passes:
    """Passes over a dense array on a GPU, each a launch and a small sum, and its entries in float64, tile by tile.

    ``most`` is how many entries a tile has, so that it and what is computed from it take ``costs.DEVICE_SHARE`` of the
    data at most.
    """

    def __init__(self, values: Any, gpu: Gpu) -> None:
        self.values, self.gpu, self.lines, self.type = values, gpu, lines_of(values), TYPES[str(values.dtype)]
        self.d, self.n = values.shape
        room = min(costs.DEVICE_BLOCK, max(costs.DEVICE_FLOOR, costs.DEVICE_SHARE * values.nbytes))
        self.most = int(room // costs.DEVICE_ENTRY)
        self.nothing = gpu.put(np.zeros(1, dtype=np.int32))

    # ---- kernels

    def column_stats(self, weight: Any | None, vectors: Any) -> Any:
        """Return rows of sums by column: products with vectors (one a row), Σa, Σa², and Σ s·a² with weights s."""
        first = vectors[: CUDA_VECTORS - (weight is not None), :]
        found = self._sums(first, weight, squares=True)
        if vectors.shape[0] == first.shape[0]:
            return found
        others = self.dots(None, vectors[first.shape[0] :, :])
        count = first.shape[0]
        return self.gpu.xp.concatenate([found[:count, :], others, found[count:, :]])

    def squares(self, weight: Any, columns: Array) -> Any:
        """Return Σ s·a² of the columns."""
        return self._sums(self.gpu.xp.zeros((0, self.d)), weight, squares=False, columns=columns)[0, :]

    def dots(self, columns: Array | None, vectors: Any) -> Any:
        """Return products of the columns (all) with the vectors, one a row."""
        found = [
            self._sums(vectors[start : start + CUDA_VECTORS, :], None, squares=False, columns=columns)
            for start in range(0, vectors.shape[0], CUDA_VECTORS)
        ]
        return found[0] if len(found) == 1 else self.gpu.xp.concatenate(found)

    def add(self, columns: Array | None, factors: Array) -> Any:
        """Return Σ_i factors_i·a_columns_i."""
        if columns is not None and columns.size == 0:
            return self.gpu.xp.zeros(self.d)
        if not self.lines.are_columns and columns is not None and columns.size > CUDA_PICKED * self.n:
            whole = np.zeros(self.n)
            whole[columns] = factors
            columns, factors = None, whole
        rows = self.gpu.put(factors[None, :], np.float64)
        if self.lines.are_columns:
            return self._across(rows, None, False, self._as_list(columns), None)[0, :]
        return self._along(rows, None, False, None, self._as_list(columns))[0, :]

    def _sums(self, vectors: Any, weight: Any | None, squares: bool, columns: Array | None = None) -> Any:
        """Sums over the samples for these columns (all)."""
        if columns is not None and columns.size == 0:
            return self.gpu.xp.zeros((vectors.shape[0] + 2 * squares + (weight is not None), 0))
        if self.lines.are_columns:
            return self._along(vectors, weight, squares, self._as_list(columns), None)
        if columns is not None and columns.size > CUDA_PICKED * self.n:
            everything = self._across(vectors, weight, squares, None, None)
            return self.gpu.xp.take(everything, self.gpu.put(columns, np.int64), axis=1)
        return self._across(vectors, weight, squares, None, self._as_list(columns))

    def _as_list(self, columns: Array | None) -> Any | None:
        return None if columns is None else self.gpu.put(columns, np.int32)

    def _along(self, vectors: Any, weight: Any | None, squares: bool, lines: Any | None, places: Any | None) -> Any:
        count, length = self._sizes(lines, places)
        width = 1 if places is not None else self.lines.width
        parts = -(-length // CUDA_TILE)
        groups = min(CUDA_GROUPS, max(1, count * parts // (CUDA_LINES * CUDA_BLOCKS)))
        grid = (-(-count // (CUDA_LINES * groups)), parts)
        return self._launch("along", width, grid, vectors, weight, squares, lines, places, groups, (parts, count))

    def _across(self, vectors: Any, weight: Any | None, squares: bool, lines: Any | None, places: Any | None) -> Any:
        count, length = self._sizes(lines, places)
        width = 1 if places is not None or self.lines.length % self.lines.width else self.lines.width
        blocks = -(-length // (CUDA_THREADS * width))
        sums = int(vectors.shape[0]) + 2 * squares + (weight is not None)
        # sums of parts are added up later
        room = self.most * costs.DEVICE_ENTRY // (8 * max(1, sums) * length)
        parts = max(1, min(-(-CUDA_BLOCKS // blocks), -(-count // CUDA_FEWEST), room))
        span = -(-count // parts)
        parts = -(-count // span)
        grid = (blocks, parts)
        return self._launch("across", width, grid, vectors, weight, squares, lines, places, span, (parts, length))

    def _sizes(self, lines: Any | None, places: Any | None) -> tuple[int, int]:
        count = self.lines.number if lines is None else lines.shape[0]
        return int(count), int(self.lines.length if places is None else places.shape[0])

    def _launch(
        self, name: str, width: int, grid: tuple[int, int], vectors: Any, weight: Any | None, squares: bool,
        lines: Any | None, places: Any | None, step: int, shape: tuple[int, int],
    ) -> Any:  # fmt: skip
        """Sums by parts, added up."""
        xp, (count, length), vector_count = self.gpu.xp, self._sizes(lines, places), int(vectors.shape[0])
        rows = vectors if weight is None else xp.concatenate([vectors, weight[None, :]])
        out = xp.zeros((shape[0], vector_count + 2 * squares + (weight is not None), shape[1]))
        here, there = (self.nothing if one is None else one for one in (lines, places))
        choices = (vector_count, squares, weight is not None, lines is not None, places is not None, width)
        words = ("NV", "SQ", "WT", "LISTED", "PICKED", "WIDTH")
        defined = (("T", self.type), *zip(words, map(int, choices), strict=True))
        launch = compiled(name, PASS_SOURCE, defined)
        launch(grid, self.values, self.lines.stride, here, count, there, length, rows, step, out)
        return out[0, :, :] if shape[0] == 1 else out.sum(axis=0)

    # ---- tiles

    def tiles(self, columns: Array | None) -> Iterator[tuple[slice, slice, Any]]:
        """Yield rows, places among the columns, and these entries in float64: as many at a time as lie together."""
        count = self.n if columns is None else columns.size
        if self.lines.are_columns:
            tall = min(self.d, self.most)
            wide = max(1, min(count, self.most // tall))
        else:
            wide = max(1, min(count, self.most))
            tall = max(1, min(self.d, self.most // wide))
        for first in range(0, count, wide):
            there = slice(first, min(first + wide, count))
            places = there if columns is None else self.gpu.put(columns[there], np.int64)
            for top in range(0, self.d, tall):
                rows = slice(top, min(top + tall, self.d))
                yield rows, there, self.tile(rows, places)

    def tile(self, rows: slice, columns: Any) -> Any:
        """Return some rows of some columns in float64; columns are a slice or places on the GPU."""
        if isinstance(columns, slice):
            part = self.values[rows, columns]
        elif self.lines.are_columns:  # which stay together
            part = self.gpu.xp.take(self.values.T[:, rows], columns, axis=0).T
        else:
            part = self.gpu.xp.take(self.values[rows, :], columns, axis=1)
        return part.astype(np.float64, copy=False)

    def halves(self, columns: Array, root: Any, means: Any | None, shares: Any) -> Callable[[slice], Any]:
        """Return what gathers rows of these columns as 16-bit numbers: (a_ij − mean_j)·root_i·share_j."""
        lines, listed = self.lines, self._as_list(columns)
        defined = ("T", self.type), ("COLUMNS", int(lines.are_columns)), ("CENTRED", int(means is not None))
        launch = compiled("halves", HALVES_SOURCE, defined)

        def gather(rows: slice) -> Any:
            span = rows.stop - rows.start
            number, length = (columns.size, span) if lines.are_columns else (span, columns.size)
            pitch = -(-length // CUDA_ALIGNED) * CUDA_ALIGNED
            out = self.gpu.xp.empty((number, pitch), dtype=np.float16)
            grid = -(-length // CUDA_THREADS), min(number, CUDA_BLOCKS)
            launch(
                grid, self.values, lines.stride, listed, columns.size, rows.start, span, root,
                shares if means is None else means, shares, pitch, out,
            )  # fmt: skip
            found = out[:, :length]
            return found.T if lines.are_columns else found

        return gather
