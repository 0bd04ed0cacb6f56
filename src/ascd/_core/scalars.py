"""Functions of one number that compiled code and plain Python both call.

``exp_of_negative`` and ``log_of_one_plus`` are for loops over samples: polynomials without branches and calls, so that
several samples are computed at a time.  With ``math.exp`` and ``math.log1p`` logistic regression takes 1.14 times as
long (1.3 with many samples).  The coefficients interpolate at Chebyshev nodes; the results are within a few units of
the last place.

    exp(t) = 2^k·exp(r),       k = round(t / log 2),  |r| ≤ ½ log 2
    log(1 + u) = 2 artanh(s),  s = u / (2 + u),  here |s| ≤ ⅓
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np


def at(parameter: Any, j: int) -> Any:
    """The entry ``j`` of a parameter that is one number for all coordinates, or an array with one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import at
    >>> at(0.5, 3), float(at(np.array([1.0, 2.0]), 1))
    (0.5, 2.0)
    """
    kind = type(parameter)  # plain Python asks millions of times: what is met most often comes first
    if kind is float:
        return parameter
    is_array = kind is np.ndarray or hasattr(parameter, "shape")
    return parameter[j] if is_array and parameter.ndim else parameter


def wide(index: Any) -> int:
    """An index read from an array of integers, as the integer that all methods take, and known not to be negative.

    Without it every method would be compiled once for each width of integer, and every access would ask whether the
    index counts from the end.
    """
    return int(index)


def fetch(array: Any, place: int) -> None:
    """Ask for the memory of an entry that will be read soon, unless the parameter is one number for all."""


#: log 2 as a double in two parts, the first so short that its products with small integers are exact; what is missing.
LOG_2, REST_OF_LOG_2 = math.log(2.0), 2.3190468138462996e-17
SHORT_LOG_2 = 0.6931471803691238
TAIL_OF_LOG_2 = LOG_2 - SHORT_LOG_2
PER_LOG_2 = 1.0 / LOG_2
#: exp of less is too small for an ordinary double.
LOWEST_EXPONENT = -708.0
#: Added to an integer, it leaves that integer in the last bits of the sum.
TO_LAST_BITS = 1.5 * 2.0**52


def exp_of_negative(t: float) -> float:
    """exp(t) for t ≤ 0; 0 where that is no ordinary double any more; nan stays nan."""
    t = float(t)  # plain Python computes with these in half the time that NumPy's numbers take
    is_nothing = t < LOWEST_EXPONENT
    t = LOWEST_EXPONENT if is_nothing else t
    k = float(math.floor(t * PER_LOG_2 + 0.5)) if t <= 0.0 else t
    r = t - k * SHORT_LOG_2 - k * TAIL_OF_LOG_2
    low = 0.008333333333319601 + r * (0.0013888888952314775 + r * (0.00019841269890047113 + r * 2.4801485482328494e-05))
    high = 2.755724091857897e-06 + r * (2.763263963904103e-07 + r * 2.5110037605963777e-08)
    rest = 0.1666666666666668 + r * (0.0416666666664881 + r * (low + r * r * r * r * high))
    value = (1.0 + r * (1.0 + r * (0.5000000000000019 + r * rest))) * (1.0 - k * REST_OF_LOG_2)
    bits = np.float64(value).view(np.int64) + (np.float64(k + TO_LAST_BITS).view(np.int64) << 52)
    return 0.0 if is_nothing else float(np.int64(bits).view(np.float64))


def log_of_one_plus(u: float) -> float:
    """log(1 + u) for 0 ≤ u ≤ 1."""
    s = u / (2.0 + u)
    w = s * s
    high = 0.06667589315724629 + w * (0.05867139530651599 + w * (0.05422589197440007 + w * (
        0.03746071897775383 + w * 0.07815288900461426)))  # fmt: skip
    low = 0.11111111099118386 + w * (0.09090909948981357 + w * (0.07692271982430275 + w * high))
    return 2.0 * (s + s * w * (0.3333333333333333 + w * (0.19999999999999762 + w * (0.1428571428580005 + w * low))))


def teach_numba(options: dict[str, Any]) -> None:
    """Tell numba what the functions above are in compiled code."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, lower_builtin, overload, type_callable

    define: Any = partial(overload, strict=False, jit_options=options)

    def at_of(parameter: Any, j: Any) -> Any:
        if isinstance(parameter, types.Array):
            return lambda parameter, j: parameter[j]
        return lambda parameter, j: parameter

    def emit_fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(ask, [pointer, word(0), word(3), word(1)])  # to read, to be kept, data
        return context.get_dummy_value()

    prefetch = intrinsic(lambda typing, array, place: (types.void(array, types.int64), emit_fetch))

    def fetch_of(array: Any, place: Any) -> Any:
        if isinstance(array, types.Array):
            return lambda array, place: prefetch(array, np.int64(place))
        return lambda array, place: None

    def emit_wide(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index = context.cast(builder, arguments[0], signature.args[0], types.int64)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
        assume = builder.module.declare_intrinsic("llvm.assume", fnty=kind)
        builder.call(assume, [builder.icmp_signed(">=", index, ir.Constant(index.type, 0))])
        return index

    define(at)(at_of)
    define(fetch)(fetch_of)
    # in the code of its caller: as a function of its own, optimised apart, it keeps loops from vector registers
    type_callable(wide)(lambda context: lambda index: types.int64)
    lower_builtin(wide, types.Integer)(emit_wide)
