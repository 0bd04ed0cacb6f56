"""Functions of one number that compiled code and plain Python both call."""

from __future__ import annotations

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


def teach_numba(options: dict[str, Any]) -> None:
    """Tell numba what the functions above are in compiled code."""
    from llvmlite import ir
    from numba import types
    from numba.extending import lower_builtin, overload, type_callable

    define: Any = partial(overload, strict=False, jit_options=options)

    def at_of(parameter: Any, j: Any) -> Any:
        if isinstance(parameter, types.Array):
            return lambda parameter, j: parameter[j]
        return lambda parameter, j: parameter

    def emit_wide(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        index = context.cast(builder, arguments[0], signature.args[0], types.int64)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
        assume = builder.module.declare_intrinsic("llvm.assume", fnty=kind)
        builder.call(assume, [builder.icmp_signed(">=", index, ir.Constant(index.type, 0))])
        return index

    define(at)(at_of)
    # in the code of its caller: as a function of its own, optimised apart, it keeps loops from vector registers
    type_callable(wide)(lambda context: lambda index: types.int64)
    lower_builtin(wide, types.Integer)(emit_wide)
