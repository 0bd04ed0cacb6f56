"""Compilers made from numba's inner classes, and the guard that does without them where numba has changed.

- Reference counting is switched off (``_nrt``): a part holds many arrays, and counting each of them at each call cost
  more than the calls.  The price: methods must not make new arrays; work arrays are fields.
- Methods and helpers are compiled for the kernels that call them and for nothing else: no wrappers for calls from
  Python or C, no machine code of their own, and the same flags as kernels have, because numba compiles a method once
  for each set of flags it is called from.  That takes a third off the time of a first run.

- Files of compiled code never share a name.  numba numbers them, and two processes that compile at once can give one
  number to two specialisations: later processes would load the wrong one.

None of this is promised by numba.  What is used is looked up before the first kernel, and a small kernel with a helper
is compiled and run before the first compilation (not where everything comes from the cache).  Where one of them fails,
plain numba compiles instead: the same answers, later, and a warning says so once.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from uuid import uuid4

import numpy as np

from ascd._core.notes import tell_once

#: Reductions may be reordered (that is what lets a dot product use vector registers); nan and inf keep their meaning.
#: Which order it is must not depend on where arrays lie in memory, or the same call would give other last bits.  It
#: would where a loop both stores and adds up: LLVM compares addresses, and takes the plain loop where small arrays are
#: neighbours (what a negative index would reach counts as part of an array).  So loops that add up store nothing, as
#: ``tests/test_same_bits.py`` holds.
_FAST = {"reassoc", "contract", "nsz"}

#: Options that numba documents, and those of ours beyond.
_PUBLIC = {"nogil": True, "error_model": "numpy", "fastmath": _FAST}
_INNER = {"_nrt": False, "no_cfunc_wrapper": True, "no_cpython_wrapper": False}

#: What is called or replaced in numba's library of compiled code.
_LIBRARY = (
    "_optimize_final_module",
    "_finalize_final_module",
    "_finalize_dynamic_globals",
    "_ensure_finalized",
    "get_pointer_to_function",
    "enable_object_caching",
)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Importing numba, compiling and loading make millions of objects that live; walking them costs a tenth of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Raise anew a Ctrl-C that came while LLVM was at work.

    It is raised where Python is next asked something: in the function that LLVM hands its machine code to.  It is lost
    there, and so is the code: numba would say that there is no compiled object.  Other threads hear no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    lost: list[BaseException] = []
    hook = sys.unraisablehook

    def keep(report: Any) -> None:
        if report.exc_value is None or isinstance(report.exc_value, Exception):
            hook(report)
        else:
            lost.append(report.exc_value)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = hook
    if lost:
        raise lost[0]


def kernel_options() -> dict[str, Any]:
    """Options of numba for a kernel."""
    return _options(1)


def part_options() -> dict[str, Any]:
    """Options of numba for methods and helpers, whose code is linked into kernels."""
    # numba's default for overloads, no_cpython_wrapper=True, is another set of flags; the compiler switches it on later
    return _options(0)


def _options(place: int) -> dict[str, Any]:
    made = _compilers()
    return _PUBLIC if made is None else _PUBLIC | _INNER | {"pipeline_class": made[place]}


@cache
def _compilers() -> tuple[type, type] | None:
    """The compilers of parts and of kernels; None where numba lacks what they are made of."""
    try:
        return _make()
    except Exception as error:  # whatever a changed numba may raise
        _tell(error)
        return None


def _tell(error: Exception) -> None:
    import numba

    tell_once(
        f"numba {numba.__version__} has changed inside ({type(error).__name__}: {error}): kernels are compiled without "
        "ascd's own compiler, which gives the same answers but takes longer.  A newer ascd may know this numba."
    )


def _must_have(kind: Any, *names: str) -> None:
    """Raise an AttributeError where a class of numba's lacks what is used of it."""
    for name in names:
        getattr(kind, name)


def _libraries() -> tuple[type, type]:
    """What holds the code of parts and of kernels."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.environment import lookup_environment

    _must_have(JITCodeLibrary, *_LIBRARY)

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
            with no_interrupt_lost():
                super()._finalize_final_module()
            for variable in self._final_module.global_variables:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)

    return PartLibrary, KernelLibrary


def _make() -> tuple[type, type]:
    from numba.core.compiler import Compiler, Flags
    from numba.core.cpu import CPUTargetOptions

    part_library, kernel_library = _libraries()
    _must_have(Compiler, "define_pipelines")
    CPUTargetOptions.parse_as_flags(Flags(), dict(_INNER))  # KeyError where one is unknown

    class KernelCompiler(Compiler):  # type: ignore[misc]
        library_class = kernel_library

        def define_pipelines(self) -> Any:
            if _trial.passed():
                self.prepare()
            return super().define_pipelines()

        def prepare(self) -> None:
            self.state.library = self.library_class(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()

    class PartCompiler(KernelCompiler):
        library_class = part_library

        def prepare(self) -> None:
            # A part is a hundred numbers to the machine: a call that passes one is inlined, or it would cost too much.
            self.state.flags.forceinline = self.state.flags.no_cpython_wrapper = True
            super().prepare()

    return PartCompiler, KernelCompiler


def name_files_apart(dispatcher: Any) -> None:
    """Give every file of compiled code a name that no other process gives; numba's own where it has changed inside."""
    with suppress(AttributeError):
        files: Any = dispatcher._cache._cache_file
        kind: Any = type(files)
        files.__class__ = _named_apart(kind)


@cache
def _named_apart(kind: Any) -> type:
    _must_have(kind, "_load_index", "_save_index", "_save_data")

    class NamedApart(kind):  # type: ignore[misc]
        """The index may lose what another process writes at the same moment: that is compiled again."""

        def save(self, key: Any, data: Any) -> None:
            name = self._load_index().get(key, f"{self._index_name.removesuffix('.nbi')}.{uuid4().hex}.nbc")
            self._save_data(name, data)
            self._save_index(self._load_index() | {key: name})

    return NamedApart


class _Trial:
    """Do our compilers work?  Tried once, when something is first compiled."""

    def __init__(self) -> None:
        self.outcome: bool | None = None

    def passed(self) -> bool:
        if self.outcome is None:
            self.outcome = True  # the trial itself is compiled by them
            try:
                _compile_and_run()
            except Exception as error:
                self.outcome = False
                _tell(error)
        return self.outcome


_trial = _Trial()


def _compile_and_run() -> None:
    """A kernel with a helper that computes, and one that raises: the latter needs its environment."""
    from numba import njit
    from numba.extending import register_jitable

    def part(value: float) -> float:
        if value < 0.0:
            raise ValueError("below zero")
        return 2.0 * value

    def kernel(values: Any) -> float:
        return part(values[0])

    register_jitable(**part_options())(part)
    compiled = njit(**kernel_options())(kernel)
    if compiled(np.array([1.5])) != 3.0:
        raise ArithmeticError("a trial kernel computes wrongly")
    try:
        compiled(np.array([-1.0]))
    except ValueError:
        return
    raise ArithmeticError("a trial kernel does not raise")
