"""exp and log for loops over samples: polynomials without branches and calls, so that several samples go at a time.

The losses of logistic and Poisson regression are nearly all exp and log.  A library's functions take one number a call
and cost three times as much as these.  The coefficients interpolate the functions at Chebyshev nodes; the results are
within a few units of the last place (``tests/test_elementary.py`` holds them against ``math``).

    exp(t) = 2^k·exp(r),            k = round(t / log 2),  |r| ≤ ½ log 2
    log(1 + u) = 2 artanh(s),       s = u / (2 + u),  here |s| ≤ ⅓
    log(m·2^e) = e·log 2 + log m,   ½√2 ≤ m ≤ √2
"""

from __future__ import annotations

import math

from ascd._core.jit import helper
from ascd._core.scalars import bits_of, from_bits

#: log 2 as a double in two parts, the first so short that its products with small integers are exact; what is missing.
LOG_2, REST_OF_LOG_2 = math.log(2.0), 2.3190468138462996e-17
SHORT_LOG_2 = 0.6931471803691238
TAIL_OF_LOG_2 = LOG_2 - SHORT_LOG_2
PER_LOG_2 = 1.0 / LOG_2
#: exp of less is too small for an ordinary double.
LOWEST_EXPONENT = -708.0
#: Added to an integer, it leaves that integer in the last bits of the sum.
TO_LAST_BITS = 1.5 * 2.0**52
#: The bits of ½√2: where the range of m begins.
ROOT_OF_HALF = 0x3FE6A09E667F3BCD
SMALLEST_NORMAL = 2.0**-1022


@helper
def exp_of_negative(t: float) -> float:
    """exp(t) for t ≤ 0; 0 where that is no ordinary double any more; nan stays nan.

    Examples
    --------
    >>> from ascd._core.elementary import exp_of_negative
    >>> exp_of_negative(0.0), round(exp_of_negative(-1.0), 12)
    (1.0, 0.367879441171)
    """
    t = float(t)  # plain Python computes with these in half the time that NumPy's numbers take
    is_nothing = t < LOWEST_EXPONENT
    t = LOWEST_EXPONENT if is_nothing else t
    k = float(math.floor(t * PER_LOG_2 + 0.5)) if t <= 0.0 else t
    r = t - k * SHORT_LOG_2 - k * TAIL_OF_LOG_2
    low = 0.008333333333319601 + r * (0.0013888888952314775 + r * (0.00019841269890047113 + r * 2.4801485482328494e-05))
    high = 2.755724091857897e-06 + r * (2.763263963904103e-07 + r * 2.5110037605963777e-08)
    rest = 0.1666666666666668 + r * (0.0416666666664881 + r * (low + r * r * r * r * high))
    value = (1.0 + r * (1.0 + r * (0.5000000000000019 + r * rest))) * (1.0 - k * REST_OF_LOG_2)
    return 0.0 if is_nothing else from_bits(bits_of(value) + (bits_of(k + TO_LAST_BITS) << 52))


@helper
def log_of_one_plus(u: float) -> float:
    """log(1 + u) for 0 ≤ u ≤ 1.

    Examples
    --------
    >>> from ascd._core.elementary import log_of_one_plus
    >>> log_of_one_plus(1e-20), round(log_of_one_plus(1.0), 12)
    (1e-20, 0.69314718056)
    """
    s = u / (2.0 + u)
    w = s * s
    high = 0.06667589315724629 + w * (0.05867139530651599 + w * (0.05422589197440007 + w * (
        0.03746071897775383 + w * 0.07815288900461426)))  # fmt: skip
    low = 0.11111111099118386 + w * (0.09090909948981357 + w * (0.07692271982430275 + w * high))
    return 2.0 * (s + s * w * (0.3333333333333333 + w * (0.19999999999999762 + w * (0.1428571428580005 + w * low))))


@helper
def log_of(p: float) -> float:
    """log(p) for p > 0 (of the smallest ordinary double, where p is less).

    Examples
    --------
    >>> from ascd._core.elementary import log_of
    >>> log_of(1.0), round(log_of(0.1), 12)
    (0.0, -2.302585092994)
    """
    bits = bits_of(p if p > SMALLEST_NORMAL else SMALLEST_NORMAL)
    e = (bits - ROOT_OF_HALF) >> 52
    f = from_bits(bits - (e << 52)) - 1.0
    s = f / (2.0 + f)
    w = s * s
    low = 0.11111105565129939 + w * (0.09091444727837474 + w * (0.07665855309105386 + w * 0.07308292712444311))
    rest = 0.3333333333333335 + w * (0.19999999999949722 + w * (0.14285714313001635 + w * low))
    return e * LOG_2 + 2.0 * (s + s * w * rest)
