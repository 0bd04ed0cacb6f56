"""CUDA kernels of our own, for CuPy's arrays and torch's tensors: passes, short columns, steps with momentum.

The libraries multiply arrays of one type only: float32 data would have to be converted to float64 a tile at a time,
which reads and writes five times as much as a pass needs.  These kernels read each entry once, as it is, and multiply
and sum in float64.  Where there is no compiler for them (another device, an older torch), or entries do not lie
together, passes are those of the library (``arrays.LibraryPasses``).

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
from ascd._core.devices import library_of
from ascd.matrix import costs
from ascd.matrix.base import Advanced, Bends
from ascd.matrix.device.arrays import LibraryPasses, Space, item_size, strides_of
from ascd.matrix.sparse import LARGEST_SHORT

#: Types of entries, by the end of their name, in CUDA's words.
TYPES = {"float64": "double", "float32": "float", "uint8": "unsigned char", "int8": "signed char", "bool": "bool"}

#: As in the source below: lines a block takes at a time, entries of a tile, threads; vectors whose tiles fit together.
CUDA_LINES, CUDA_TILE, CUDA_THREADS, CUDA_VECTORS = 32, 2048, 256, 3
#: Launches: blocks that keep a device busy, groups of lines a block at most, lines a block at least, the share of a
#: row's columns from which on all are read, since memory comes in sectors, and CUDA's limit of blocks.
CUDA_BLOCKS, CUDA_GROUPS, CUDA_FEWEST, CUDA_PICKED, CUDA_MOST_BLOCKS = 4000, 16, 64, 0.25, 65_535
#: Entries of 16 bits that lines of them begin at multiples of: products of others take five times as long.
CUDA_ALIGNED = 64

Launch = Callable[[tuple[int, int], list[Any]], None]

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


class CudaKernel(NamedTuple):
    """A kernel and what is compiled into it, as (name, value) pairs."""

    name: str
    source: str
    defined: tuple[tuple[str, Any], ...]

    @property
    def text(self) -> str:
        return "".join(f"#define {name} {value}\n" for name, value in self.defined) + self.source


def passes_of(chunks: LibraryPasses) -> Any:
    """Return kernels where there are some for this array, and the library's passes elsewhere."""
    lines, type_name = lines_of(chunks.values), TYPES.get(str(chunks.values.dtype).rpartition(".")[2])
    compile_kernel = COMPILERS.get(library_of(chunks.values))
    is_cuda = "cuda" in str(getattr(chunks.values, "device", "")).lower()
    if lines is None or type_name is None or compile_kernel is None or not is_cuda:
        return chunks
    try:
        return KernelPasses(chunks, lines, type_name, compile_kernel)
    except Exception as error:  # no compiler here: whatever it lacks, the library needs none
        chunks.reason = f"{type(error).__name__}: {error}"
        return chunks


class KernelPasses:
    """The passes of ``LibraryPasses``, each a launch and a small sum."""

    def __init__(self, chunks: LibraryPasses, lines: Lines, type_name: str, compile_kernel: Any) -> None:
        self.chunks, self.lines, self.type, self.compile = chunks, lines, type_name, compile_kernel
        self.space: Space = chunks.space
        self.nothing = self.space.put(np.zeros(1, dtype=np.int32))
        self._kernel("along", 1, False, False, False, False, lines.width)

    def column_stats(self, weight: Any | None, vectors: Any) -> Any:
        first = vectors[: CUDA_VECTORS - (weight is not None), :]
        found = self._sums(first, weight, squares=True)
        if vectors.shape[0] == first.shape[0]:
            return found
        others = self.dots(None, vectors[first.shape[0] :, :])
        count = first.shape[0]
        return self.space.join([found[:count, :], others, found[count:, :]])

    def squares(self, weight: Any, columns: Array) -> Any:
        return self._sums(self.space.zeros((0, self.chunks.d)), weight, squares=False, columns=columns)[0, :]

    def dots(self, columns: Array | None, vectors: Any) -> Any:
        found = [
            self._sums(vectors[start : start + CUDA_VECTORS, :], None, squares=False, columns=columns)
            for start in range(0, vectors.shape[0], CUDA_VECTORS)
        ]
        return found[0] if len(found) == 1 else self.space.join(found)

    def add(self, columns: Array | None, factors: Any) -> Any:
        if columns is not None and columns.size == 0:
            return self.space.zeros((self.chunks.d,))
        if self.lines.are_columns:
            return self._across(factors[None, :], None, False, self._as_list(columns), None)[0, :]
        if columns is not None and columns.size > CUDA_PICKED * self.chunks.n:
            return self.add(None, self._spread(factors, columns))
        return self._along(factors[None, :], None, False, None, self._as_list(columns))[0, :]

    def _sums(self, vectors: Any, weight: Any | None, squares: bool, columns: Array | None = None) -> Any:
        """Sums over the samples for these columns (all)."""
        if columns is not None and columns.size == 0:
            return self.space.zeros((vectors.shape[0] + 2 * squares + (weight is not None), 0))
        if self.lines.are_columns:
            return self._along(vectors, weight, squares, self._as_list(columns), None)
        if columns is not None and columns.size > CUDA_PICKED * self.chunks.n:
            everything = self._across(vectors, weight, squares, None, None)
            return self.space.take(everything, self.space.put(np.asarray(columns, dtype=np.int64)), axis=1)
        return self._across(vectors, weight, squares, None, self._as_list(columns))

    def _as_list(self, columns: Array | None) -> Any | None:
        return None if columns is None else self.space.put(np.ascontiguousarray(columns, dtype=np.int32))

    def _spread(self, factors: Any, columns: Array) -> Any:
        """A vector of n entries with the factors at these places."""
        out = np.zeros(self.chunks.n)
        out[columns] = self.space.fetch(factors)
        return self.space.put(out)

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
        room = self.chunks.most * costs.DEVICE_ENTRY // (8 * max(1, sums) * length)
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
        space, (count, length), vector_count = self.space, self._sizes(lines, places), int(vectors.shape[0])
        rows = vectors if weight is None else space.join([vectors, weight[None, :]])
        out = space.zeros((shape[0], vector_count + 2 * squares + (weight is not None), shape[1]))
        here, there = (self.nothing if one is None else one for one in (lines, places))
        choices = (squares, weight is not None, lines is not None, places is not None)
        kernel = self._kernel(name, vector_count, *choices, width)
        kernel(grid, [self.chunks.values, self.lines.stride, here, count, there, length, rows, step, out])
        return out[0, :, :] if shape[0] == 1 else space.xp.sum(out, axis=0)

    def _kernel(self, name: str, *numbers: Any) -> Launch:
        names = ("NV", "SQ", "WT", "LISTED", "PICKED", "WIDTH")
        defined = [(one, int(number)) for one, number in zip(names, numbers, strict=True)]
        return self.compiled(name, PASS_SOURCE, ("T", self.type), *defined)

    def compiled(self, name: str, source: str, *defined: tuple[str, Any]) -> Launch:
        """Return a kernel with these names and values compiled in."""
        launch: Launch = self.compile(CudaKernel(name, source, defined), str(self.space.device))
        return launch


def lines_of(values: Any) -> Lines | None:
    """Return how the entries lie; None where neither rows nor columns lie together."""
    d, n = (int(size) for size in values.shape)
    strides = strides_of(values)
    if strides is None or max(d, n, *strides) > LARGEST_SHORT:
        return None
    across, along = strides
    if along == 1 and (across >= n or d == 1):
        stride, count, length, are_columns = across if d > 1 else n, d, n, False
    elif across == 1 and (along >= d or n == 1):
        stride, count, length, are_columns = along if n > 1 else d, n, d, True
    else:
        return None
    if length > CUDA_TILE * CUDA_MOST_BLOCKS:
        return None
    size = item_size(values)
    width = min(4, 16 // size)
    is_aligned = stride % width == 0 and address_of(values) % (width * size) == 0
    return Lines(count, length, stride, width if is_aligned else 1, are_columns)


def address_of(values: Any) -> int:
    """Return where the entries begin in memory."""
    if hasattr(values, "data_ptr"):
        return int(values.data_ptr())
    memory = getattr(values, "data", None)
    return int(getattr(memory, "ptr", 1))


@cache
def compiled_by_cupy(kernel: CudaKernel, device: str) -> Launch:
    """Return the kernel, compiled by CuPy."""
    import cupy

    made = cupy.RawKernel(kernel.text, kernel.name)
    made.compile()

    def launch(grid: tuple[int, int], arguments: list[Any]) -> None:
        made(grid, (CUDA_THREADS,), tuple(np.int32(one) if isinstance(one, int) else one for one in arguments))

    return launch


@cache
def compiled_by_torch(kernel: CudaKernel, device: str) -> Launch:
    """Return the kernel, compiled by torch."""
    import torch

    made = torch.cuda._compile_kernel(kernel.text, kernel.name)

    def launch(grid: tuple[int, int], arguments: list[Any]) -> None:
        made(grid=(*grid, 1), block=(CUDA_THREADS, 1, 1), args=arguments)

    return launch


COMPILERS = {"cupy": compiled_by_cupy, "torch": compiled_by_torch}


def halves_of(passes: Any, columns: Array, root: Any, means: Any | None, shares: Any) -> Callable[[slice], Any] | None:
    """Return what gathers rows of these columns as 16-bit numbers; None where there are no kernels, or no such type."""
    if not isinstance(passes, KernelPasses) or passes.space.half is None:
        return None
    space, lines, half = passes.space, passes.lines, passes.space.half
    defined = ("T", passes.type), ("COLUMNS", int(lines.are_columns)), ("CENTRED", int(means is not None))
    launch = passes.compiled("halves", HALVES_SOURCE, *defined)
    listed = space.put(np.ascontiguousarray(columns, dtype=np.int32))

    def gather(rows: slice) -> Any:
        span = rows.stop - rows.start
        number, length = (columns.size, span) if lines.are_columns else (span, columns.size)
        pitch = -(-length // CUDA_ALIGNED) * CUDA_ALIGNED
        out = space.empty((number, pitch), half)
        grid = -(-length // CUDA_THREADS), min(number, CUDA_BLOCKS)
        launch(grid, [
            passes.chunks.values, lines.stride, listed, columns.size, rows.start, span, root,
            shares if means is None else means, shares, pitch, out,
        ])  # fmt: skip
        found = out[:, :length]
        return found.T if lines.are_columns else found

    return gather


def advance(
    gram: Any, x: Array, gradient: Array, scale: Array, bends: Bends, bound: float, count: int
) -> Advanced | None:
    """Return where ``count`` proximal steps with momentum lead from x; None where there are no kernels."""
    passes, space, size = gram.source.passes, gram.space, x.size
    if not isinstance(passes, KernelPasses) or size == 0:
        return None
    lengths = gram.own_lengths
    rows = np.stack([x, gradient, x, gradient, x, scale, lengths, *bends])
    unit = float(np.max(np.abs(gradient) * lengths / (bound * scale))) or 1.0  # short numbers do not reach far
    launch = passes.compiled("momentum", MOMENTUM_SOURCE, ("S", "double" if gram.is_exact else "float"))
    with space.here():
        there, state = space.put(rows), space.put(np.array([bound, 1.0, 0.0, unit]))
        change, curved = (space.empty((size,), gram.kind) for _ in range(2))
        launch((1, 1), [size, 1, there, curved, change, state])
        for _ in range(count):
            space.times_into(gram.store, change, curved)
            launch((1, 1), [size, 0, there, curved, change, state])
        found, bend = space.fetch(there[:2, :]), float(space.fetch(state)[2])
    return Advanced(found[0].copy(), found[1].copy(), bend) if np.isfinite(found).all() else None
