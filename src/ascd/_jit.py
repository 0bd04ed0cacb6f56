"""The one door to numba: generic kernels from plain NamedTuples, with a cache that stays true.

The idea
--------
The library's parts (a matrix, a loss, a rule, ...) are ``typing.NamedTuple`` classes whose methods are plain
Python.  Compiled code calls those methods through one shim a method, made here from ``ascd.protocols``: numba asks
the shim which implementation fits the argument's type and gets the class's own method.  One kernel, written once,
is thus specialised for every combination of parts, and the same code runs uncompiled when ``NUMBA_DISABLE_JIT=1``
is set.

Reference counting is switched off in compiled code (``_nrt``): a part holds many arrays, and counting each of them at
each call cost more than the calls.  The price: methods must not make new arrays; work arrays are fields.

Three rules keep the on-disk cache true:

- numba only notices edits of the file that a kernel stands in, so a digest of *all* sources of this package is
  made part of each kernel's name: any edit is a miss.
- a specialisation that mentions somebody else's type would make later processes import that module, and fail
  where it is absent: such specialisations are compiled, but never stored.
- numba is imported at the first call of a kernel, not at ``import ascd``: importing stays cheap.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ascd.protocols import CONTRACTS, methods_of

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]

#: Reductions may be reordered (that is what lets a dot product use vector registers); nan and inf keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}

_helpers: list[Callable[..., Any]] = []


def helper(function: Function) -> Function:
    """Let compiled code call this plain function.

    Parts written outside this package use it for functions that their methods share.

    Examples
    --------
    >>> from ascd import helper
    >>> @helper
    ... def square(value):
    ...     return value * value
    >>> square(3.0)
    9.0
    """
    _helpers.append(function)
    if _numba.cache_info().currsize:
        _register_helper(_numba(), function)
    return function


def at(parameter: Any, j: int) -> Any:
    """The entry ``j`` of a parameter that is one number for all coordinates, or an array with one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import at
    >>> at(0.5, 3), float(at(np.array([1.0, 2.0]), 1))
    (0.5, 2.0)
    """
    return parameter[j] if hasattr(parameter, "shape") and parameter.ndim else parameter


def wide(index: Any) -> int:
    """An index read from a narrow integer array, as the integer that all methods take.

    Without it every method would be compiled once for each width of integer.
    """
    return int(index)


@cache
def digest() -> str:
    """A fingerprint of every source file of the package."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


@cache
def _numba() -> Any:
    """Import numba and teach it our protocol, once."""
    import numba
    from llvmlite import binding
    from numba import types
    from numba.extending import overload, overload_method

    # A pass over the bounds reads four arrays and writes two.  To use vector registers the compiler must check at
    # run time that they do not overlap; by default it gives up beyond eight such checks.
    binding.set_option("ascd", "--runtime-memory-check-threshold=32")

    # A part is a hundred numbers to the machine: calls that pass one are inlined, or they would cost more than they do.
    options = {"fastmath": _FAST, "_nrt": False, "forceinline": True}
    for method, arguments in _compiled_methods().items():
        namespace: dict[str, Any] = {}
        exec(f"def shim({', '.join(arguments)}):\n    return self.instance_class.{method}", namespace)
        # strict would reject implementations with annotations; check_methods holds users to the names
        overload_method(types.BaseNamedTuple, method, strict=False, jit_options=options)(namespace["shim"])

    @overload(at, strict=False)  # type: ignore[untyped-decorator]
    def _at(parameter: Any, j: Any) -> Any:
        if isinstance(parameter, types.Array):
            return lambda parameter, j: parameter[j]
        return lambda parameter, j: parameter

    @overload(wide, strict=False)  # type: ignore[untyped-decorator]
    def _wide(index: Any) -> Any:
        return lambda index: np.int64(index)

    for function in _helpers:
        _register_helper(numba, function)
    return numba


@cache
def _compiled_methods() -> dict[str, list[str]]:
    return {name: arguments for contract in CONTRACTS for name, arguments in methods_of(contract).items()}


def _register_helper(numba: Any, function: Callable[..., Any]) -> None:
    numba.extending.register_jitable(fastmath=_FAST, _nrt=False)(function)


def _is_ours(value: Any) -> bool:
    """Can a later process import every type inside ``value`` from this package?"""
    if isinstance(value, tuple):
        home = type(value).__module__.partition(".")[0]
        return home in (_PACKAGE, "builtins") and all(map(_is_ours, value))
    return True


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Importing numba, compiling and loading make millions of objects that live; walking them costs a tenth of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Kernel:
    """A function that is compiled at its first call, once for each combination of argument types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self._was_called = False
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return self.py_func(*args)
        if not self._was_called:
            self._was_called = True
            with _collector_paused():
                return self._compiled(*args)
        return self._compiled(*args)

    def _compiled(self, *args: Any) -> Any:
        if all(map(_is_ours, args)):
            return self.stored(*args)
        try:
            return self.fresh(*args)
        except _numba().core.errors.NumbaError as error:
            raise TypeError(
                "a part of your own could not be compiled.  Its methods may use numbers, loops, arrays that are its "
                f"fields, and functions marked with ascd.helper; they must not make new arrays.  numba says:\n{error}"
            ) from error

    @property
    def stored(self) -> Any:
        """The compiled function whose specialisations are kept on disk."""
        return _compile(self.py_func, True)

    @property
    def fresh(self) -> Any:
        """The compiled function for types from elsewhere, kept in memory only."""
        return _compile(self.py_func, False)


@cache
def _compile(function: Callable[..., Any], stored: bool) -> Any:
    options = {"nogil": True, "error_model": "numpy", "cache": stored, "_nrt": False}
    if not stored:
        return _numba().njit(function, **options)
    plain = function.__qualname__
    function.__qualname__ = f"{plain}_{digest()}"  # names the cache file
    try:
        return _numba().njit(function, **options)
    finally:
        function.__qualname__ = plain


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile ``function`` lazily, generically and cached (see the top of this module)."""
    return Kernel(function)


def check_methods(part: Any, contract: type, role: str) -> None:
    """Raise a TypeError that names what is missing when ``part`` cannot play ``role`` in compiled code."""
    if not (isinstance(part, tuple) and hasattr(type(part), "_fields")):
        methods = ", ".join(methods_of(contract))
        raise TypeError(f"{role} must be a name or a NamedTuple with methods {methods}; got {part!r}")
    _check_kind(type(part), contract, role)


@cache
def _check_kind(kind: Any, contract: type, role: str) -> None:
    """Once for each class: reading signatures costs more than a small fit."""
    methods = methods_of(contract)
    if not kind._fields:
        # numba passes no ``self`` to methods of a tuple without fields; our own carry a number that nothing reads
        raise TypeError(f"{role} {kind.__name__} needs at least one field, for example  unit: float = 1.0")
    clash = sorted(set(kind._fields) & set(_compiled_methods()))
    if clash:
        raise TypeError(
            f"{role} {kind.__name__}: rename the field {clash[0]!r}, compiled code has a method of that name"
        )
    for method, expected in methods.items():
        found = getattr(kind, method, None)
        if found is None:
            raise TypeError(f"{role} {kind.__name__} lacks the method {method}({', '.join(expected)})")
        if list(inspect.signature(found).parameters) != expected:
            raise TypeError(f"{role} {kind.__name__}: {method} must be written {method}({', '.join(expected)})")
