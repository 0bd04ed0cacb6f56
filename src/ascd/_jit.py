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

Methods and helpers are compiled for the kernels that call them and for nothing else (``_compilers``): no wrappers for
calls from Python or C, no machine code of their own, and the same flags as kernels have, because numba compiles a
method once for each set of flags it is called from.  That takes a third off the time of a first run.

numba is imported at the first call of a kernel, not at ``import ascd``: importing stays cheap.  What is kept on disk is
the matter of ``ascd._cache``.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper, wraps
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from ascd._blame import compile_error, named_error
from ascd._cache import digest, may_be_stored, nests, remove_stale
from ascd._clock import compiling, timed
from ascd._scalars import at as at
from ascd._scalars import teach_numba
from ascd._scalars import wide as wide
from ascd.protocols import check_methods as check_methods
from ascd.protocols import compiled_methods

Function = TypeVar("Function", bound=Callable[..., Any])

#: Reductions may be reordered (that is what lets a dot product use vector registers); nan and inf keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}

_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "fastmath": _FAST, "no_cfunc_wrapper": True}

#: Kernels run as plain Python.  As numba does, we look once: at import.
is_interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

#: The same for the present call only: see ``debugging``.
_debugging: ContextVar[bool] = ContextVar("debugging", default=False)

_lock = RLock()
_helpers: list[Callable[..., Any]] = []
_optional: dict[Callable[..., Any], Callable[..., Any]] = {}


@contextmanager
def debugging(wanted: bool) -> Iterator[None]:
    """Kernels called inside run as plain Python where it is wanted: NumPy checks indices, errors name their line."""
    token = _debugging.set(wanted or _debugging.get())
    try:
        yield
    finally:
        _debugging.reset(token)


def is_debugging() -> bool:
    """Inside ``debugging(True)``, or with ASCD_DEBUG in the environment, which is looked at in every call."""
    return _debugging.get() or os.environ.get("ASCD_DEBUG", "0") not in ("", "0")


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


def optional_method(default: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a part that calls the part's method of the same name where its class has one, ``default`` else."""

    @wraps(default)
    def call(part: Any, *args: Any) -> Any:
        return getattr(type(part), default.__name__, default)(part, *args)

    _optional[call] = default
    return call


@cache
def _numba() -> Any:
    """Import numba and teach it our protocol, once."""
    import numba
    from llvmlite import binding
    from numba import types
    from numba.extending import overload_method

    # A pass over the bounds reads four arrays and writes two.  To use vector registers the compiler must check at
    # run time that they do not overlap; by default it gives up beyond eight such checks.
    binding.set_option("ascd", "--runtime-memory-check-threshold=32")

    options = _part_options()
    for method, arguments in compiled_methods().items():
        namespace: dict[str, Any] = {}
        exec(f"def shim({', '.join(arguments)}):\n    return self.instance_class.{method}", namespace)
        # strict would reject implementations with annotations; check_methods holds users to the names
        overload_method(types.BaseNamedTuple, method, strict=False, jit_options=options)(namespace["shim"])

    teach_numba(options)
    for function, default in _optional.items():
        _register_optional(numba, function, default)
    for function in _helpers:
        _register_helper(numba, function)
    return numba


def _register_helper(numba: Any, function: Callable[..., Any]) -> None:
    numba.extending.register_jitable(**_part_options())(function)


def _register_optional(numba: Any, function: Callable[..., Any], default: Callable[..., Any]) -> None:
    name, arguments = default.__name__, default.__code__.co_varnames[: default.__code__.co_argcount]
    namespace: dict[str, Any] = {"default": default}
    choice = f"getattr({arguments[0]}.instance_class, {name!r}, default)"
    exec(f"def choose({', '.join(arguments)}):\n    return {choice}", namespace)
    numba.extending.overload(function, strict=False, jit_options=_part_options())(namespace["choose"])


def _part_options() -> dict[str, Any]:
    # numba's default for overloads, no_cpython_wrapper=True, is another set of flags; the compiler switches it on later
    return _OPTIONS | {"no_cpython_wrapper": False, "pipeline_class": _compilers()[0]}


@cache
def _compilers() -> tuple[type, type]:
    """numba's compiler for methods and helpers, whose code is linked into kernels, and the one for kernels."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.environment import lookup_environment

    class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """Code that is optimised and turned into machine code with the kernel that it is linked into."""

        def _optimize_final_module(self) -> None: ...

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        @property
        def codegen(self) -> PartLibrary:  # asked for set_env only
            return self

        def set_env(self, name: str, environment: Any) -> None: ...

    class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
        """Sets the environments (the constants that print and raise need) of the parts linked into it."""

        def _finalize_final_module(self) -> None:
            super()._finalize_final_module()
            for variable in self._final_module.global_variables:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)

    class KernelCompiler(Compiler):  # type: ignore[misc]
        library_class = KernelLibrary

        def define_pipelines(self) -> Any:
            self.state.library = self.library_class(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
            return super().define_pipelines()

    class PartCompiler(KernelCompiler):
        library_class = PartLibrary

        def define_pipelines(self) -> Any:
            # A part is a hundred numbers to the machine: a call that passes one is inlined, or it would cost too much.
            self.state.flags.forceinline = self.state.flags.no_cpython_wrapper = True
            return super().define_pipelines()

    return PartCompiler, KernelCompiler


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

    def __init__(self, function: Callable[..., Any], is_strict: bool = False) -> None:
        self.py_func, self.is_strict = function, is_strict
        # types of arguments met before → the dispatcher, or None where nested parts must be looked at in every call
        self._known: dict[tuple[type, ...], Callable[..., Any] | None] = {}
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        if is_interpreted or is_debugging():
            return self._interpreted(*args)
        types = tuple(map(type, args))
        if types in self._known:
            known = self._known[types]
            return self._compiled(*args) if known is None else known(*args)
        is_flat = may_be_stored(args) and not any(map(nests, args))
        self._known[types] = self.stored if is_flat else None
        with _collector_paused():
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

    def _compiled(self, *args: Any) -> Any:
        if may_be_stored(args):
            return self.stored(*args)
        try:
            return self.fresh(*args)
        except _numba().core.errors.NumbaError as error:
            raise compile_error(error, args) from error

    @property
    def stored(self) -> Any:
        """The compiled function whose specialisations are kept on disk."""
        return _compile(self.py_func, True, self.is_strict)

    @property
    def fresh(self) -> Any:
        """The compiled function for types from elsewhere, kept in memory only."""
        return _compile(self.py_func, False, self.is_strict)


def _compile(function: Callable[..., Any], stored: bool, is_strict: bool) -> Any:
    with _lock:  # threads may call the same kernel for the first time
        return _dispatcher(function, stored, is_strict)


@cache
def _dispatcher(function: Callable[..., Any], stored: bool, is_strict: bool) -> Any:
    with compiling():  # the first one imports numba
        dispatcher = _make_dispatcher(function, stored, is_strict)
    dispatcher.compile = timed(dispatcher.compile)  # called by numba where it meets new types
    return dispatcher


def _make_dispatcher(function: Callable[..., Any], stored: bool, is_strict: bool) -> Any:
    options = _OPTIONS | {"cache": stored, "pipeline_class": _compilers()[1]}
    if is_strict:
        options["fastmath"] = False
    if not stored:
        return _numba().njit(function, **options)
    plain = function.__qualname__
    function.__qualname__ = f"{plain}_{digest()}"  # names the cache file
    try:
        dispatcher = _numba().njit(function, **options)
    finally:
        function.__qualname__ = plain
    remove_stale(dispatcher.stats.cache_path)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile ``function`` lazily, generically and cached (see the top of this module)."""
    return Kernel(function)


def strict_kernel(function: Callable[..., Any]) -> Kernel:
    """A kernel whose operations are done in the order in which they stand, for algorithms that measure rounding."""
    return Kernel(function, is_strict=True)
