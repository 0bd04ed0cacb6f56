"""The one door to numba: generic kernels from plain NamedTuples, and a cache on disk that never holds stale code.

The library's parts (a matrix, a loss, a rule, ...) are ``typing.NamedTuple`` classes whose methods are plain Python.
Compiled code calls them through one ``overload_method`` for each method name of ``ascd.protocols``, which gives numba
the method of the class at hand: one kernel is specialised for every combination of parts.  The same code runs
uncompiled where ``NUMBA_DISABLE_JIT=1`` or ``ASCD_DEBUG=1`` is set.  numba is imported at the first call of a kernel.

**Cache.**  A digest of all sources that a kernel can reach is part of each kernel's file name, so an edit of any of
them compiles anew; files of other digests are removed when they are a week old.  Users' classes get compiled functions
of their own, which are not stored: later processes might lack their modules, and numba tells NamedTuples apart by the
names of classes and fields alone.

**Beyond numba's documentation** two things are used: options (``_PRIVATE``), without which compiling takes half as
long again and steps are slower, and the name of a file in its cache: numba numbers them, and two processes that compile
at once could give one number to two specialisations.  Where numba has changed there, kernels are compiled without the
options, or not stored, and a warning says so.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property, partial, update_wrapper, wraps
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from ascd._core import contracts
from ascd._core.timing import compiling

Function = TypeVar("Function", bound=Callable[..., Any])

#: Kernels run as plain Python.  As numba does, we look once: at import.
is_interpreted = any(os.environ.get(name, "0") not in ("", "0") for name in ("NUMBA_DISABLE_JIT", "ASCD_DEBUG"))
#: The same for the present call only, see ``debugging``.
_debugging: ContextVar[bool] = ContextVar("debugging", default=False)

_lock = threading.RLock()
_kernels: list[Kernel] = []
#: Functions that tell numba about helpers, once it is imported.
_registrations: list[Callable[[Any], None]] = []
#: Why compiled code is not kept, once that has been said.
_not_kept: list[object] = []


@contextmanager
def debugging(wanted: bool) -> Iterator[None]:
    """Run kernels inside as plain Python where it is wanted: NumPy checks indices, errors name their line."""
    if wanted:
        contracts.detours.add("debugging")
    token = _debugging.set(wanted or _debugging.get())
    try:
        yield
    finally:
        _debugging.reset(token)


# ---- kernels


class Kernel:
    """A function that is compiled at its first call, once for each combination of argument types.

    A strict one does its operations in the order written, for algorithms that measure rounding.
    """

    def __init__(self, function: Callable[..., Any], is_strict: bool = False) -> None:
        self.py_func, self.is_strict = function, is_strict
        update_wrapper(self, function)
        _kernels.append(self)

    def __call__(self, *args: Any) -> Any:
        if not (is_interpreted or contracts.detours):
            return self.compiled(*args)
        if not (is_interpreted or _debugging.get()):
            return self.compiled_for(args)(*args)
        with np.errstate(all="ignore"):  # compiled code does not warn either
            return self.py_func(*args)

    def compiled_for(self, args: tuple[Any, ...]) -> Any:
        """Return numba's dispatcher for these arguments: one of its own for the users' classes among them."""
        with _lock:  # threads may call the same kernel for the first time
            return _make_dispatcher(self.py_func, self.is_strict, contracts.users_classes(args))

    @cached_property
    def compiled(self) -> Any:
        return self.compiled_for(())


kernel = Kernel
strict_kernel = partial(Kernel, is_strict=True)


@cache
def _make_dispatcher(function: Callable[..., Any], is_strict: bool, users: tuple[type, ...]) -> Any:
    """Return numba's dispatcher; what it compiles is stored unless it is for users' classes."""
    with compiling():  # the first one imports numba
        make = partial(_numba().njit, function, **_options(False, is_strict))
        dispatcher = make()
        if not users and not _is_stored(dispatcher):
            dispatcher = make()
        dispatcher.compile = partial(_compile, dispatcher.compile, users)  # called by numba where it meets new types
    return dispatcher


def _compile(compiler: Callable[..., Any], users: tuple[type, ...], signature: Any) -> Any:
    """Compile for one signature, or load it; errors in a user's part name it."""
    try:
        with compiling(), _interrupt_kept():
            return compiler(signature)
    except OSError as error:  # a full disk, say: the code is compiled, and only was not written
        _tell_not_kept(error)
        return compiler(signature)
    except _numba().core.errors.NumbaError as error:
        if not users:
            raise
        raise contracts.compile_error(error, users) from error


@contextmanager
def _interrupt_kept() -> Iterator[None]:
    """Raise a Ctrl-C that arrived while LLVM was at work: Python drops it in the function that takes LLVM's code."""
    if threading.current_thread() is not threading.main_thread():  # other threads get no signals
        yield
        return
    lost: list[KeyboardInterrupt] = []
    hook = sys.unraisablehook

    def keep(report: Any) -> None:
        if isinstance(report.exc_value, KeyboardInterrupt):
            lost.append(report.exc_value)
        else:
            hook(report)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if lost:
            raise lost[0]


# ---- functions and methods that compiled code calls


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


def helper(function: Function, is_strict: bool = False) -> Function:
    """Let compiled code call this plain function, or this method of a part.

    Parts written outside this package use it for functions that their methods share, and for methods beyond their
    contract that they call on themselves or on their fields.  A strict one does its operations in the order written,
    where another order over- or underflows.

    Examples
    --------
    >>> from ascd import helper
    >>> @helper
    ... def square(value):
    ...     return value * value
    >>> square(3.0)
    9.0
    """
    arguments = contracts.arguments_of(function)
    if arguments[:1] == ["self"] and not function.__qualname__.rpartition(".")[0].endswith("<locals>"):
        name, is_new = function.__name__, function.__name__ not in contracts.COMPILED
        known = contracts.COMPILED.setdefault(name, arguments)
        if known != arguments:
            given, other = ", ".join(arguments), ", ".join(known)
            raise TypeError(f"the method {name}({given}) needs another name: compiled code knows {name}({other})")
        if is_new and _numba.cache_info().currsize:
            _register_method(_numba(), name, arguments)
    else:
        _when_imported(lambda numba: numba.extending.register_jitable(**_options(True, is_strict))(function))
    return function


strict_helper = partial(helper, is_strict=True)


def optional_method(default: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a part that calls the part's method of the same name, or ``default`` where there is none."""

    @wraps(default)
    def call(part: Any, *args: Any) -> Any:
        return getattr(type(part), default.__name__, default)(part, *args)

    arguments = contracts.arguments_of(default)
    chosen = f"getattr({arguments[0]}.instance_class, {default.__name__!r}, default)"
    _when_imported(lambda numba: _overload(partial(numba.extending.overload, call), arguments, chosen, default=default))
    return call


def _when_imported(register: Callable[[Any], None]) -> None:
    """Register something with numba when it is imported, or now where it is."""
    _registrations.append(register)
    if _numba.cache_info().currsize:
        register(_numba())


@cache
def _numba() -> Any:
    """Import numba and register all that compiled code may call, once."""
    import numba.extending
    from llvmlite import binding

    # A pass over the bounds reads four arrays and writes two.  To use vector registers the compiler must check at
    # run time that they do not overlap; by default it gives up beyond eight such checks.
    binding.set_option("ascd", "--runtime-memory-check-threshold=32")
    _register_at_and_wide()
    for method, arguments in contracts.COMPILED.items():
        _register_method(numba, method, arguments)
    for register in _registrations:
        register(numba)
    return numba


def _register_at_and_wide() -> None:
    """Tell numba what ``at`` and ``wide`` are in compiled code."""
    from llvmlite import ir
    from numba import types
    from numba.extending import lower_builtin, overload, type_callable

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

    overload(at, strict=False, jit_options=_options(True))(at_of)
    # in the code of its caller: as a function of its own, optimised apart, it keeps loops from vector registers
    type_callable(wide)(lambda context: lambda index: types.int64)
    lower_builtin(wide, types.Integer)(emit_wide)


def _register_method(numba: Any, method: str, arguments: list[str]) -> None:
    of_tuples = partial(numba.extending.overload_method, numba.types.BaseNamedTuple, method)
    _overload(of_tuples, arguments, f"self.instance_class.{method}")


def _overload(register: Callable[..., Any], arguments: list[str], chosen: str, **namespace: Any) -> None:
    """Let numba compile what the expression ``chosen`` names, in a function of these arguments."""
    exec(f"def choose({', '.join(arguments)}):\n    return {chosen}", namespace)
    # strict would reject implementations with annotations; check_methods checks the names of arguments
    register(strict=False, jit_options=_options(True))(namespace["choose"])


# ---- how numba compiles

#: Reductions may be reordered (that is what lets a dot product use vector registers); nan and inf keep their meaning.
#: The order must not depend on where arrays lie in memory, or the same call would give other last bits.  It would where
#: a loop both stores and adds up: LLVM compares addresses, and takes the plain loop where small arrays are neighbours.
#: So loops that add up store nothing, as ``tests/test_same_bits.py`` checks.
_PUBLIC = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


#: Options that numba does not document: no reference counting, which cost more than the calls (a part holds many
#: arrays); no wrappers for C; calls that pass a part, a hundred numbers to the machine, are inlined.
_PRIVATE = {"_nrt": False, "no_cfunc_wrapper": True, "forceinline": True}


def _options(is_part: bool, is_strict: bool = False) -> dict[str, Any]:
    """Return numba's options for a kernel, or for methods and helpers, which need no wrappers for Python."""
    private = {**_PRIVATE, "no_cpython_wrapper": is_part} if _knows_private_options() else {}
    return {**_PUBLIC, **private, **({"fastmath": False} if is_strict else {})}


@cache
def _knows_private_options() -> bool:
    """Return whether this numba has the options; where it has not, a warning says so once."""
    try:
        from numba.core.compiler import Flags
        from numba.core.cpu import CPUTargetOptions

        CPUTargetOptions.parse_as_flags(Flags(), {**_PRIVATE, "no_cpython_wrapper": True})
    except Exception as error:  # whatever a changed numba may raise
        reason = f"numba has changed inside ({type(error).__name__}: {error})"
        rest = "kernels are compiled with its documented options alone, which gives the same answers but takes longer"
        warnings.warn(f"{reason}: {rest}", RuntimeWarning, stacklevel=2)
        return False
    return True


# ---- what is kept on disk

#: Packages and modules without kernels and parts, which no package with kernels imports: edits compile nothing anew.
WITHOUT_KERNELS = ("estimators", "io", "cli", "__main__.py")
#: Letters of the digest in the names of files (48 bits); files of other digests are kept for a week.
DIGEST_SIZE, SECONDS_KEPT = 12, 7 * 24 * 3600.0
_CACHED = re.compile(rf"_([0-9a-f]{{{DIGEST_SIZE}}})-\d+\.py\d+\w*(\.\w+)?\.nb[ic]$")


def _is_stored(dispatcher: Any) -> bool:
    """Let a dispatcher keep what it compiles in numba's cache, its files named by the digest; False where it cannot."""
    function = dispatcher.py_func
    plain = function.__qualname__
    try:
        function.__qualname__ = f"{plain}_{digest()}"  # names the files
        dispatcher.enable_caching()
        files = dispatcher._cache._cache_file
        files._data_name = lambda number: f"{files._index_name.removesuffix('.nbi')}.{uuid4().hex}.nbc"
        remove_stale(dispatcher.stats.cache_path)
        return True
    except RuntimeError:
        _tell_not_kept("no folder of the package or the user can be written, or there are no source files")
    except AttributeError as error:
        _tell_not_kept(f"numba has changed inside ({error})")
    finally:
        function.__qualname__ = plain
    return False


@cache
def digest() -> str:
    """Return a fingerprint of the sources of all kernels."""
    root, fingerprint = Path(__file__).parents[1], hashlib.sha256()
    sources = sorted(root.rglob("*.py"))
    if not sources:
        raise RuntimeError("the package is installed without its source files")
    for path in sources:
        inside = path.relative_to(root)
        if inside.parts[0] not in WITHOUT_KERNELS:
            content = path.read_bytes()
            fingerprint.update(f"{inside.as_posix()}\0{len(content)}\0".encode() + content)
    return fingerprint.hexdigest()[:DIGEST_SIZE]


@cache
def remove_stale(folder: str) -> None:
    """Remove the kernels of other sources in this folder that are older than a week; once a process and folder."""
    for path in Path(folder).glob("*.nb[ic]"):
        found = _CACHED.search(path.name)
        if found and found[1] != digest():
            with suppress(OSError):  # another process may be removing it, or permissions are missing
                if time.time() - path.stat().st_mtime > SECONDS_KEPT:
                    path.unlink()


def _tell_not_kept(reason: object) -> None:
    """Warn that every process compiles for itself: once in a process, whatever the filters of warnings are."""
    if not _not_kept:
        _not_kept.append(reason)
        slow = "compiled code is not kept on disk, so every process compiles anew, which takes seconds"
        text = f"{slow}: {reason}.  NUMBA_CACHE_DIR may name another folder"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def cache_folders() -> list[str]:
    """Return the folders that hold the compiled kernels; none where they are not compiled, or not kept."""
    if is_interpreted:
        return []
    return sorted({kernel.compiled.stats.cache_path for kernel in _kernels} - {None})
