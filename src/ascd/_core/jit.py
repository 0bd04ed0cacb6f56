"""The one door to numba: generic kernels from plain NamedTuples, with a cache that stays true.

The idea
--------
The library's parts (a matrix, a loss, a rule, ...) are ``typing.NamedTuple`` classes whose methods are plain
Python.  Compiled code calls those methods through one shim a method, made here from ``ascd.protocols``: numba asks
the shim which implementation fits the argument's type and gets the class's own method.  One kernel, written once,
is thus specialised for every combination of parts, and the same code runs uncompiled when ``NUMBA_DISABLE_JIT=1``
is set.

numba is imported at the first call of a kernel, not at ``import ascd``: importing stays cheap.  What is kept on disk is
the matter of ``ascd._core.cache``; how numba is made to compile faster is that of ``ascd._core.compilers``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper, wraps
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from ascd._core.blame import compile_error, named_error
from ascd._core.cache import NotKept, digest, may_be_stored, namesakes, nests, open_folder, tell_not_kept
from ascd._core.compilers import collector_paused, kernel_options, name_files_apart, part_options
from ascd._core.contracts import compiled_methods, share_method
from ascd._core.scalars import at as at
from ascd._core.scalars import is_one as is_one
from ascd._core.scalars import teach_numba
from ascd._core.scalars import wide as wide
from ascd._core.timing import compiling, timed

Function = TypeVar("Function", bound=Callable[..., Any])

#: Kernels run as plain Python.  As numba does, we look once: at import.
is_interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

#: The same for the present call only, see ``debugging``; for all calls where ASCD_DEBUG is set at import.
_debugging: ContextVar[bool] = ContextVar("debugging", default=os.environ.get("ASCD_DEBUG", "0") not in ("", "0"))

_lock = RLock()
_helpers: list[Callable[..., Any]] = []
_strict: set[Callable[..., Any]] = set()
_kernels: list[Kernel] = []
_optional: dict[Callable[..., Any], Callable[..., Any]] = {}


@contextmanager
def debugging(wanted: bool) -> Iterator[None]:
    """Kernels called inside run as plain Python where it is wanted: NumPy checks indices, errors name their line."""
    token = _debugging.set(wanted or _debugging.get())
    try:
        yield
    finally:
        _debugging.reset(token)


def helper(function: Function) -> Function:
    """Let compiled code call this plain function, or this method of a part.

    Parts written outside this package use it for functions that their methods share, and for methods beyond their
    contract that they call on themselves or on their fields.

    Examples
    --------
    >>> from ascd import helper
    >>> @helper
    ... def square(value):
    ...     return value * value
    >>> square(3.0)
    9.0
    """
    code = function.__code__
    arguments = list(code.co_varnames[: code.co_argcount])
    if arguments[:1] == ["self"] and not function.__qualname__.rpartition(".")[0].endswith("<locals>"):
        is_new = function.__name__ not in compiled_methods()
        share_method(function.__name__, arguments)
        if is_new and _numba.cache_info().currsize:
            _register_method(function.__name__, arguments)
        return function
    _helpers.append(function)
    if _numba.cache_info().currsize:
        _register_helper(_numba(), function)
    return function


def strict_helper(function: Function) -> Function:
    """A helper whose operations are done in the order in which they stand: where another order over- or underflows."""
    _strict.add(function)
    return helper(function)


def optional_method(default: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a part that calls the part's method of the same name where its class has one, ``default`` else."""

    @wraps(default)
    def call(part: Any, *args: Any) -> Any:
        return getattr(type(part), default.__name__, default)(part, *args)

    _optional[call] = default
    if _numba.cache_info().currsize:
        _register_optional(_numba(), call, default)
    return call


@cache
def _numba() -> Any:
    """Import numba and teach it our protocol, once."""
    import numba
    from llvmlite import binding

    # A pass over the bounds reads four arrays and writes two.  To use vector registers the compiler must check at
    # run time that they do not overlap; by default it gives up beyond eight such checks.
    binding.set_option("ascd", "--runtime-memory-check-threshold=32")

    for method, arguments in compiled_methods().items():
        _register_method(method, arguments)
    teach_numba(part_options())
    for function, default in _optional.items():
        _register_optional(numba, function, default)
    for function in _helpers:
        _register_helper(numba, function)
    return numba


def _register_method(method: str, arguments: list[str]) -> None:
    """One shim for a method: it gives numba the implementation of the class at hand."""
    from numba import types
    from numba.extending import overload_method

    namespace: dict[str, Any] = {}
    exec(f"def shim({', '.join(arguments)}):\n    return self.instance_class.{method}", namespace)
    # strict would reject implementations with annotations; check_methods holds users to the names
    overload_method(types.BaseNamedTuple, method, strict=False, jit_options=part_options())(namespace["shim"])


def _register_helper(numba: Any, function: Callable[..., Any]) -> None:
    options = part_options() | ({"fastmath": False} if function in _strict else {})
    numba.extending.register_jitable(**options)(function)


def _register_optional(numba: Any, function: Callable[..., Any], default: Callable[..., Any]) -> None:
    name, arguments = default.__name__, default.__code__.co_varnames[: default.__code__.co_argcount]
    namespace: dict[str, Any] = {"default": default}
    choice = f"getattr({arguments[0]}.instance_class, {name!r}, default)"
    exec(f"def choose({', '.join(arguments)}):\n    return {choice}", namespace)
    numba.extending.overload(function, strict=False, jit_options=part_options())(namespace["choose"])


class Kernel:
    """A function that is compiled at its first call, once for each combination of argument types."""

    def __init__(self, function: Callable[..., Any], is_strict: bool = False) -> None:
        self.py_func, self.is_strict = function, is_strict
        self._on_disk = True
        # types of arguments met before → the dispatcher, or None where nested parts must be looked at in every call
        self._known: dict[tuple[type, ...], Callable[..., Any] | None] = {}
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        if is_interpreted or _debugging.get():
            return self._interpreted(*args)
        types = tuple(map(type, args))
        try:
            if types in self._known:
                known = self._known[types]
                return self._compiled(*args) if known is None else known(*args)
            return self._first(types, args)
        except OSError as error:  # a full disk, say: numba writes what it compiled before it runs it
            if not self._on_disk:
                raise
            self._keep_in_memory(error)
            return self._first(types, args)

    def _first(self, types: tuple[type, ...], args: tuple[Any, ...]) -> Any:
        """The first call with these types."""
        known = self.stored if may_be_stored(args) and not any(map(nests, args)) else None
        self._known[types] = known if self._on_disk else None
        with collector_paused():
            return self._compiled(*args)

    def _interpreted(self, *args: Any) -> Any:
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return self.py_func(*args)
        except Exception as error:
            named = named_error(error)
            if named is None:
                raise
            raise named from error

    def _keep_in_memory(self, reason: object) -> None:
        self._on_disk = False
        self._known.clear()
        tell_not_kept(reason)

    def _compiled(self, *args: Any) -> Any:
        stored = self.stored if may_be_stored(args) else None
        if stored is not None and self._on_disk:
            return stored(*args)
        compiled = _compile(self.py_func, False, self.is_strict, namesakes(args))
        try:
            return compiled(*args)
        except _numba().core.errors.NumbaError as error:
            raise compile_error(error, args) from error

    @property
    def stored(self) -> Any:
        """The compiled function whose specialisations are kept on disk, where that is possible."""
        if self._on_disk:
            try:
                return _compile(self.py_func, True, self.is_strict)
            except NotKept as reason:
                self._keep_in_memory(reason)
        return self.fresh

    @property
    def fresh(self) -> Any:
        """The compiled function for types from elsewhere, kept in memory only."""
        return _compile(self.py_func, False, self.is_strict)


def _compile(function: Callable[..., Any], stored: bool, is_strict: bool, kinds: tuple[type, ...] = ()) -> Any:
    with _lock:  # threads may call the same kernel for the first time
        return _dispatcher(function, stored, is_strict, kinds)


@cache
def _dispatcher(function: Callable[..., Any], stored: bool, is_strict: bool, kinds: tuple[type, ...]) -> Any:
    """The compiled function; one of its own for ``kinds``, classes that numba would take for others."""
    with compiling():  # the first one imports numba
        dispatcher = _make_dispatcher(function, stored, is_strict)
    dispatcher.compile = timed(dispatcher.compile)  # called by numba where it meets new types
    return dispatcher


def _make_dispatcher(function: Callable[..., Any], stored: bool, is_strict: bool) -> Any:
    numba, options = _numba(), kernel_options() | ({"fastmath": False} if is_strict else {})
    if not stored:
        return numba.njit(function, **options)
    plain = function.__qualname__
    function.__qualname__ = f"{plain}_{digest()}"  # names the cache file
    try:
        dispatcher = numba.njit(function, cache=True, **options)
    except RuntimeError as error:  # no folder to be found
        raise NotKept("neither the package's folder nor one of the user's can be written") from error
    finally:
        function.__qualname__ = plain
    name_files_apart(dispatcher)
    open_folder(dispatcher.stats.cache_path)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile ``function`` lazily, generically and cached (see the top of this module)."""
    return _listed(Kernel(function))


def strict_kernel(function: Callable[..., Any]) -> Kernel:
    """A kernel whose operations are done in the order in which they stand, for algorithms that measure rounding."""
    return _listed(Kernel(function, is_strict=True))


def _listed(made: Kernel) -> Kernel:
    _kernels.append(made)
    return made


def cache_folders() -> tuple[list[str], str]:
    """Folders that hold the compiled kernels, and why there are none ("" where there are)."""
    if is_interpreted:
        return [], "kernels are not compiled: NUMBA_DISABLE_JIT is set"
    try:
        return sorted({_compile(each.py_func, True, each.is_strict).stats.cache_path for each in _kernels}), ""
    except NotKept as reason:
        return [], str(reason)
