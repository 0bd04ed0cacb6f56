"""Compensated products and sums with proven error bounds, and elementwise arithmetic shared among threads.

An ordinary inner product of m terms is wrong by up to m·u·Σ|a_k v_k| with u = 2⁻⁵³, which is far more than it usually
is.  Where a certificate depends on the last digits, products are computed with compensation (Ogita, Rump and Oishi
2005): every product and every sum is split into its rounded value and its error, both exact (Dekker, Knuth),

    Σ a_k v_k  =  s + Σ e_i,         |e_i| ≤ u·|rounded value|.

The errors are summed in ordinary arithmetic: the result s + Σe_i is wrong by at most u·|result| + 2m·u·Σ|e_i|, and by
nothing at all where no operation was rounded.  Numbers near the end of float64's range have no exact products; they add
``SMALLEST_ERROR`` each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import strict_kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices

#: Half the distance from 1 to the next number.
UNIT = 2.0**-53
#: Products below TINY may have errors that are no float64 numbers; they are smaller than this.
TINY, SMALLEST_ERROR = 1e-290, 1e-322
#: Splits a number into two halves of 26 bits.
SPLITTER = 134217729.0
#: Numbers that are added in a row; the sums of such parts are added exactly.
SUMMED_A_PART = 1 << 14


@strict_kernel
def careful_products(
    matrix: Any, columns: Array, vector: Array, product: Array, error: Array, start: int, stop: int
) -> None:
    """⟨a_j, vector⟩ for the columns at positions ``start`` to ``stop``, and a bound on its error."""
    for i in range(start, stop):
        j = wide(columns[i])
        total, rest, size, lost = 0.0, 0.0, 0.0, 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            a, b = matrix.entry(p, j), vector[matrix.row(p)]
            term = a * b
            high, wide_b = SPLITTER * a, SPLITTER * b
            a_high, b_high = high - (high - a), wide_b - (wide_b - b)
            a_low, b_low = a - a_high, b - b_high
            missing = a_low * b_low - (((term - a_high * b_high) - a_low * b_high) - a_high * b_low)
            grown = total + term
            back = grown - total
            left = (total - (grown - back)) + (term - back)
            total = grown
            rest += missing + left
            size += abs(missing) + abs(left)
            lost += SMALLEST_ERROR if abs(term) < TINY and a != 0.0 and b != 0.0 else 0.0
        product[i] = total + rest
        count = 2.0 * (matrix.stop(j) - matrix.start(j)) + 4.0
        error[i] = (UNIT * abs(product[i]) if rest != 0.0 else 0.0) + 1.01 * count * UNIT * size + lost


def careful_sum(vector: Array) -> tuple[float, float]:
    """Return Σ vector_k and a bound on its error; parts that threads share are added exactly."""
    sums = np.empty((-(-vector.size // SUMMED_A_PART), 3))
    share(prices.SUMMED * vector.size, len(sums), careful_sums, vector, sums)
    totals, rests, sizes = sums.T.tolist()
    try:
        result, size = math.fsum(totals + rests), math.fsum(sizes)
    except (OverflowError, ValueError):  # numbers beyond float64, of both signs
        return math.nan, math.nan
    is_rounded = len(totals) > 1 or any(rests)
    return result, (UNIT * abs(result) if is_rounded else 0.0) + 1.01 * (vector.size + 2.0) * UNIT * size


@strict_kernel
def careful_sums(vector: Array, sums: Array, start: int, stop: int) -> None:
    """For each part: the rounded sum, the sum of its errors and that of their sizes."""
    for part in range(start, stop):
        total, rest, size = 0.0, 0.0, 0.0
        for number in range(part * SUMMED_A_PART, min((part + 1) * SUMMED_A_PART, vector.size)):
            k = wide(number)
            grown = total + vector[k]
            back = grown - total
            left = (total - (grown - back)) + (vector[k] - back)
            total = grown
            rest += left
            size += abs(left)
        sums[part, 0], sums[part, 1], sums[part, 2] = total, rest, size


def elementwise(ufunc: Any, first: Array, second: Any, out: Array | None = None) -> Array:
    """Return ufunc(first, second) for a vector and a vector or number, in a new vector or in ``out``.

    Examples
    --------
    >>> import numpy as np
    >>> elementwise(np.add, np.arange(3.0), 1.0)
    array([1., 2., 3.])
    """
    out = np.empty(first.size) if out is None else out
    share(prices.SUMMED * out.size, out.size, _fill, ufunc, first, second, out)
    return out


def _fill(ufunc: Any, first: Array, second: Any, out: Array, start: int, stop: int) -> None:
    ufunc(first[start:stop], second[start:stop] if np.ndim(second) else second, out=out[start:stop])


def support(vector: Array) -> Array:
    """Return the positions where the vector is not 0; NumPy finds True four times as fast as numbers.

    Examples
    --------
    >>> import numpy as np
    >>> support(np.array([0.0, -3.0, 2.0]))
    array([1, 2])
    """
    return np.flatnonzero(vector != 0.0)


def farthest(vector: Array) -> float:
    """Return the largest |v_k|; nan if there is one among them.

    Examples
    --------
    >>> import numpy as np
    >>> farthest(np.array([1.0, -3.0, 2.0]))
    3.0
    """
    found: list[float] = []
    share(prices.SUMMED * vector.size, vector.size, _note_farthest, vector, found)
    return float(np.max(found))


def _note_farthest(vector: Array, found: list[float], start: int, stop: int) -> None:
    part = vector[start:stop]
    found.append(max(float(part.max()), -float(part.min())))
