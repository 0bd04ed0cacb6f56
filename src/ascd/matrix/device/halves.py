"""Columns of short numbers by one kernel: (a_ij − mean_j)·√h_i·share_j, rounded to 16 bits, as they are gathered.

The library needs a copy for every operation, each of eight bytes an entry; this writes two.  Lines are columns or rows,
as in ``cuda_source``; what is written lies as the data do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices

SOURCE = r"""
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


class Kind(NamedTuple):
    """What the kernel is compiled for."""

    type: str
    are_columns: bool
    is_centred: bool
    name: str = "halves"

    def source(self) -> str:
        numbers = f"#define COLUMNS {int(self.are_columns)}\n#define CENTRED {int(self.is_centred)}\n"
        return f"#define T {self.type}\n{numbers}{SOURCE}"


def halves_of(passes: Any, columns: Array, root: Any, means: Any | None, shares: Any) -> Callable[[slice], Any] | None:
    """These columns of some rows, as products of halves take them; None where there are no kernels, or no halves."""
    if not hasattr(passes, "compile") or passes.space.half is None:
        return None
    space, lines = passes.space, passes.lines
    kind = Kind(passes.type, lines.are_columns, means is not None)
    launch = passes.compile(kind, str(space.device))
    listed = space.put(np.ascontiguousarray(columns, dtype=np.int32))

    def gather(rows: slice) -> Any:
        span = rows.stop - rows.start
        number, length = (columns.size, span) if lines.are_columns else (span, columns.size)
        pitch = -(-length // prices.CUDA_ALIGNED) * prices.CUDA_ALIGNED
        out = space.half_empty((number, pitch))
        grid = -(-length // prices.CUDA_THREADS), min(number, prices.CUDA_BLOCKS)
        launch(grid, [
            passes.chunks.values, lines.stride, listed, columns.size, rows.start, span, root,
            shares if means is None else means, shares, pitch, out,
        ])  # fmt: skip
        found = out[:, :length]
        return found.T if lines.are_columns else found

    return gather
