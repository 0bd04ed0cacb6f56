"""Functions of one number that compiled code and plain Python both call, and that numba cannot find out for itself."""

from __future__ import annotations

import struct
from collections.abc import Callable
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


def teach_numba(options: dict[str, Any]) -> None:
    """Tell numba what the functions above are in compiled code."""
    from numba import types
    from numba.extending import overload

    natural, bits_as, number_as, ask_for = _instructions()

    @overload(at, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
    def _at(parameter: Any, j: Any) -> Any:
        if isinstance(parameter, types.Array):
            return lambda parameter, j: parameter[j]
        return lambda parameter, j: parameter

    @overload(is_one, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
    def _is_one(parameter: Any) -> Any:
        is_number = not isinstance(parameter, types.Array)
        return lambda parameter: is_number

    @overload(wide, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
    def _wide(index: Any) -> Any:
        return lambda index: natural(np.int64(index))

    @overload(bits_of, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
    def _bits_of(value: Any) -> Any:
        return lambda value: bits_as(value)

    @overload(from_bits, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
    def _from_bits(bits: Any) -> Any:
        return lambda bits: number_as(bits)

    @overload(fetch, strict=False, jit_options=options)  # type: ignore[untyped-decorator]
    def _fetch(array: Any, place: Any) -> Any:
        if isinstance(array, types.Array):
            return lambda array, place: ask_for(array, np.int64(place))
        return lambda array, place: None


def _instructions() -> tuple[Any, Any, Any, Any]:
    """The machine's instructions for ``wide``, ``bits_of``, ``from_bits`` and ``fetch``."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def emit_natural(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """The index as it is, of which the compiler may assume that it is not negative."""
        index, kind = arguments[0], ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
        assume = builder.module.declare_intrinsic("llvm.assume", fnty=kind)
        builder.call(assume, [builder.icmp_signed(">=", index, ir.Constant(index.type, 0))])
        return index

    def emit_bits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    def emit_number(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    def emit_fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(ask, [pointer, word(0), word(3), word(1)])  # to read, to be kept, data
        return context.get_dummy_value()

    def define(signature: Any, emit: Callable[..., Any]) -> Any:
        return intrinsic(lambda typing_context, value: (signature, emit))

    ask_for = intrinsic(lambda typing_context, array, place: (types.void(array, types.int64), emit_fetch))
    return (
        define(types.int64(types.int64), emit_natural),
        define(types.int64(types.float64), emit_bits),
        define(types.float64(types.int64), emit_number),
        ask_for,
    )
