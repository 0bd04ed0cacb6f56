"""Proximal steps with momentum that stay on the device: two launches each, and nothing travels in between.

For penalties that bend at zero alone: their slopes there lie between ``low`` and ``high``, and beside it they have a
constant ``curvature``.  A step is

    x⁺ = prox(y − (L·D)⁻¹·∇(y)),       ∇(x⁺) = ∇(x) + G·(x⁺ − x),       y = x⁺ + β·(x⁺ − x),

with β as in FISTA, which starts again where it leads uphill; ∇ is known at y because it is linear.  The library
multiplies by G; everything else is one block of threads, which adds up what decides about β.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.design import Advanced, Bends

SOURCE = r"""
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


class Kind(NamedTuple):
    """What the kernel is compiled for: the type of the products."""

    type: str
    name: str = "momentum"

    def source(self) -> str:
        return f"#define S {self.type}\n{SOURCE}"


def advance(
    gram: Any, x: Array, gradient: Array, scale: Array, bends: Bends, bound: float, count: int
) -> Advanced | None:
    """So many steps from x; None where there are no kernels."""
    passes, space, size = gram.source.passes, gram.space, x.size
    if not hasattr(passes, "compile") or size == 0:
        return None
    lengths = gram.own_lengths
    rows = np.stack([x, gradient, x, gradient, x, scale, lengths, *bends])
    unit = float(np.max(np.abs(gradient) * lengths / (bound * scale))) or 1.0  # short numbers do not reach far
    launch = passes.compile(Kind("double" if gram.is_exact else "float"), str(space.device))
    with space.here():
        there, state = space.put(rows), space.put(np.array([bound, 1.0, 0.0, unit]))
        change = space.like(gram.store, size)
        curved = space.like(gram.store, size)
        launch((1, 1), [size, 1, there, curved, change, state])
        for _ in range(count):
            space.times_into(gram.store, change, curved)
            launch((1, 1), [size, 0, there, curved, change, state])
        found, bend = space.fetch(there[:2, :]), float(space.fetch(state)[2])
    return Advanced(found[0].copy(), found[1].copy(), bend) if np.isfinite(found).all() else None
