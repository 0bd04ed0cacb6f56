"""CUDA code of the passes: entries are read as they are, and multiplied and summed in float64.

Memory is a number of *lines*, each of ``length`` entries that lie together: columns where the array is column-major,
rows where it is row-major.  Two kernels answer everything:

- ``along``: one sum a line, Σ_m values[l, m]·v[m].  The vectors are in shared memory, a tile of them a block; a warp
  takes ``LINES`` lines at a time, so that a vector's entry is read once for them.
- ``across``: one sum a place m, Σ_l values[l, m]·v[l].  A thread has its own places and walks over the lines.

Both may take a list of lines (``lines``) or of places (``places``) instead of all.  Sums over parts of a line, or over
some of the lines, are written apart and added up afterwards: no atomics, so a run gives the same digits every time.

What is compiled in: ``T`` the type of an entry, ``NV`` the number of vectors, ``SQ`` whether Σa and Σa² are wanted too,
``WT`` whether Σ s·a² is, ``LISTED`` and ``PICKED`` whether lines or places come from a list, ``WIDTH`` the entries that
are read at once (1 where they are not aligned).
"""

from __future__ import annotations

SOURCE = r"""
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
