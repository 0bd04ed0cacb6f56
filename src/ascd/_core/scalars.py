"""Functions of one number that compiled code and plain Python both call.

The first ones depend on types, or are single instructions of the machine.  ``exp_of_negative`` and ``log_of_one_plus``
are for loops over samples: polynomials without branches and calls, so that several samples are computed at a time.
With ``math.exp`` and ``math.log1p``, which take one number a call, logistic regression takes 1.14 times as long (1.3
with many samples).  The coefficients interpolate at Chebyshev nodes; the results are within a few units of the last
place (``tests/test_losses.py`` compares with ``math``).

    exp(t) = 2^k·exp(r),       k = round(t / log 2),  |r| ≤ ½ log 2
    log(1 + u) = 2 artanh(s),  s = u / (2 + u),  here |s| ≤ ⅓
"""

from __future__ import annotations

import math
import struct
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


def is_one(parameter: Any) -> bool:
    """Is this parameter one number for all coordinates?  Compiled code knows it beforehand, and leaves out the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd._core.scalars import is_one
    >>> is_one(0.5), is_one(np.array([1.0, 2.0]))
    (True, False)
    """
    return np.ndim(parameter) == 0


def wide(index: Any) -> int:
    """An index read from an array of integers, as the integer that all methods take, and known not to be negative.

    Without it every method would be compiled once for each width of integer, and every access would ask whether the
    index counts from the end.
    """
    return int(index)


_write_number, _read_number = struct.Struct("<d").pack, struct.Struct("<d").unpack
_write_bits, _read_integer = struct.Struct("<Q").pack, struct.Struct("<q").unpack


def bits_of(value: float) -> int:
    """The 64 bits of a double, read as an integer with a sign.

    Examples
    --------
    >>> from ascd._core.scalars import bits_of, from_bits
    >>> hex(bits_of(1.0)), from_bits(bits_of(1.0) + (3 << 52))
    ('0x3ff0000000000000', 8.0)
    """
    return _read_integer(_write_number(value))[0]


def from_bits(bits: int) -> float:
    """The double with these 64 bits; what stands beyond them is left out, as in compiled code."""
    return _read_number(_write_bits(bits & 0xFFFFFFFFFFFFFFFF))[0]


def fetch(array: Any, place: int) -> None:
    """Ask for the memory of an entry that will be read soon; there is nothing to ask for in plain Python, nor where
    the parameter is one number for all."""


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
    """exp(t) for t ≤ 0; 0 where that is no ordinary double any more; nan stays nan.

    Examples
    --------
    >>> from ascd._core.scalars import exp_of_negative
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


def log_of_one_plus(u: float) -> float:
    """log(1 + u) for 0 ≤ u ≤ 1.

    Examples
    --------
    >>> from ascd._core.scalars import log_of_one_plus
    >>> log_of_one_plus(1e-20), round(log_of_one_plus(1.0), 12)
    (1e-20, 0.69314718056)
    """
    s = u / (2.0 + u)
    w = s * s
    high = 0.06667589315724629 + w * (0.05867139530651599 + w * (0.05422589197440007 + w * (
        0.03746071897775383 + w * 0.07815288900461426)))  # fmt: skip
    low = 0.11111111099118386 + w * (0.09090909948981357 + w * (0.07692271982430275 + w * high))
    return 2.0 * (s + s * w * (0.3333333333333333 + w * (0.19999999999999762 + w * (0.1428571428580005 + w * low))))


def teach_numba(options: dict[str, Any]) -> None:
    """Tell numba what the functions above are in compiled code."""
    from numba import types
    from numba.extending import lower_builtin, overload, type_callable

    as_bits, as_number, prefetch = _instructions()

    def define(function: Any, choose: Any) -> None:
        overload(function, strict=False, jit_options=options)(choose)

    def at_of(parameter: Any, j: Any) -> Any:
        if isinstance(parameter, types.Array):
            return lambda parameter, j: parameter[j]
        return lambda parameter, j: parameter

    def is_one_of(parameter: Any) -> Any:
        is_number = not isinstance(parameter, types.Array)
        return lambda parameter: is_number

    def fetch_of(array: Any, place: Any) -> Any:
        if isinstance(array, types.Array):
            return lambda array, place: prefetch(array, np.int64(place))
        return lambda array, place: None

    define(at, at_of)
    define(is_one, is_one_of)
    define(fetch, fetch_of)
    define(bits_of, lambda value: lambda value: as_bits(value))
    define(from_bits, lambda bits: lambda bits: as_number(bits))
    # in the code of its caller: as a function of its own, optimised apart, it keeps loops from vector registers
    type_callable(wide)(lambda context: lambda index: types.int64)
    lower_builtin(wide, types.Integer)(_emit_wide)


def _emit_wide(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the index as an int64 of which the compiler may assume that it is not negative."""
    from llvmlite import ir
    from numba import types

    index = context.cast(builder, arguments[0], signature.args[0], types.int64)
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
    assume = builder.module.declare_intrinsic("llvm.assume", fnty=kind)
    builder.call(assume, [builder.icmp_signed(">=", index, ir.Constant(index.type, 0))])
    return index


def _instructions() -> tuple[Any, Any, Any]:
    """Return the machine's instructions for ``bits_of``, ``from_bits`` and ``fetch``."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def emit_cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    def emit_fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(ask, [pointer, word(0), word(3), word(1)])  # to read, to be kept, data
        return context.get_dummy_value()

    return (
        intrinsic(lambda typing, value: (types.int64(types.float64), emit_cast)),
        intrinsic(lambda typing, bits: (types.float64(types.int64), emit_cast)),
        intrinsic(lambda typing, array, place: (types.void(array, types.int64), emit_fetch)),
    )
