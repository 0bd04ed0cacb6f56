"""What parts must have, which classes are the user's, and the error for those that cannot be compiled."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from ascd._core.checks import as_number
from ascd.protocols import CONTRACTS, OPTIONS, ColumnStorage

# ---- the methods of parts


def arguments_of(function: Any) -> list[str]:
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


@cache
def methods_of(contract: type) -> dict[str, list[str]]:
    """Return the compiled methods of a contract: name → argument names, ``self`` included."""
    functions = {name: function for kind in reversed(contract.__mro__) for name, function in vars(kind).items()}
    compiled = {name: each for name, each in functions.items() if name[0] != "_" and hasattr(each, "__code__")}
    return {name: arguments_of(function) for name, function in compiled.items()}


#: All methods that compiled code may call, those marked with ``ascd.helper`` among them: name → argument names, which
#: are the same in all classes.
COMPILED = {name: arguments for contract in CONTRACTS for name, arguments in methods_of(contract).items()}


def optional_methods_of(contract: type) -> dict[str, list[str]]:
    """Return the methods that a part may have beyond its contract: name → argument names."""
    return {name: found for option in OPTIONS.get(contract, ()) for name, found in methods_of(option).items()}


def check_methods(part: Any, contract: type, role: str) -> None:
    """Raise a TypeError that says what is missing where ``part`` cannot be compiled as ``role``."""
    kind: Any = type(part)
    if not (isinstance(part, tuple) and hasattr(kind, "_fields")):
        methods = ", ".join(methods_of(contract))
        name = "" if contract is ColumnStorage else "a name or "
        raise TypeError(f"{role} must be {name}a NamedTuple with methods {methods}; got {part!r}")
    _check_kind(kind, contract, role)
    for field in part:
        if not is_ours(kind) or (isinstance(field, tuple) and users_classes(field)):
            detours.add("users' classes")


def prepared(part: Any, contract: type, role: str, *arguments: Any) -> Any:
    """Return the part that will be compiled: what ``prepare`` returns where there is one, checked."""
    if hasattr(part, "prepare") and not isinstance(part, type):
        kind = type(part)
        _check_signatures(kind, {"prepare": optional_methods_of(contract)["prepare"]}, role)
        part = part.prepare(*arguments)
        role = role if type(part) is kind else f"what {kind.__name__}.prepare returns as {role}"
    check_methods(part, contract, role)
    return part


@cache
def _check_kind(kind: Any, contract: type, role: str) -> None:
    if not kind._fields:
        # numba passes no ``self`` to methods of a tuple without fields; our own have a number that is not read
        raise TypeError(f"{role} {kind.__name__} needs at least one field, for example  unit: float = 1.0")
    optional, required = optional_methods_of(contract), methods_of(contract)
    clash = sorted(set(kind._fields) & {*COMPILED, *optional})
    if clash:
        raise TypeError(f"{role} {kind.__name__}: rename the field {clash[0]!r}, there is a method of that name")
    for method, expected in required.items():
        if not hasattr(kind, method):
            raise TypeError(f"{role} {kind.__name__} lacks the method {method}({', '.join(expected)})")
    _check_signatures(kind, {**optional, **required}, role)


def _check_signatures(kind: Any, methods: dict[str, list[str]], role: str) -> None:
    for method, expected in methods.items():
        found = getattr(kind, method, None)
        if found is not None and (not callable(found) or list(inspect.signature(found).parameters) != expected):
            raise TypeError(f"{role} {kind.__name__}: {method} must be written {method}({', '.join(expected)})")


def asked(part: Any, option: str, default: bool) -> bool:
    """Return the answer of an optional method without arguments, or the default where a part has none."""
    method = getattr(part, option, None)
    return default if method is None else bool(method())


def confidence_of(oracle: Any) -> float:
    """Return the probability with which all intervals of a run hold together: 1 where proved, 0 where unknown."""
    if hasattr(oracle, "confidence"):
        return as_number(oracle.confidence(), f"{type(oracle).__name__}.confidence()", low=0.0, high=1.0)
    return 1.0 if asked(oracle, "is_safe", True) else 0.0


def likely(failure: float) -> float:
    """Return 1 − ``failure``, below 1 however small the failure is."""
    return 1.0 if failure == 0.0 else min(1.0 - failure, math.nextafter(1.0, 0.0))


# ---- classes of the user's

#: Why calls of kernels may not go straight to the compiled function; empty as a rule.
detours: set[str] = set()


@cache
def is_ours(kind: Any) -> bool:
    """Return whether a class is from this package, or Python's own."""
    return str(kind.__module__).partition(".")[0] in ("ascd", "builtins")


def users_classes(value: Any) -> tuple[type, ...]:
    """Return the classes of the parts inside a value, itself included, that are not from this package."""
    kind = value.__class__
    found: tuple[type, ...] = (kind,) if hasattr(value, "_fields") and not is_ours(kind) else ()
    if isinstance(value, tuple):
        for field in value:
            found += users_classes(field) if isinstance(field, tuple) else ()
    return found


# ---- errors in the user's methods

#: Where numba says that something happened, and those of its causes that a user can do something with.
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)')
_CAUSE = re.compile(r"(Unknown attribute '\w+'|Untyped global name '\w+'|NameError: .*|Use of unsupported .*)")

HOW_TO = (
    "Its methods may use numbers, loops, arrays that are its fields, and functions marked with ascd.helper; they must "
    "not make new arrays.  With ASCD_DEBUG=1 in the environment (or, for rules, oracles and steps, debug=True) it runs "
    "as plain Python, whose errors are easier to read"
)


def compile_error(error: Exception, kinds: Sequence[type]) -> TypeError:
    """Return the error for what numba could not compile, with class, method and line where numba says them.

    The first of numba's places inside a method of one of the classes is the innermost.
    """
    text, who = str(error), " or ".join(kind.__name__ for kind in kinds)
    cause = _CAUSE.search(text)
    reason = f": {cause[1]}" if cause else ""
    codes = [(kind, each.__code__) for kind in kinds for each in vars(kind).values() if hasattr(each, "__code__")]
    places = ((file, line, *each) for file, line in _PLACE.findall(text) for each in codes)
    for file, line, kind, code in places:
        last = max(number for _, _, number in code.co_lines() if number is not None)
        is_inside = code.co_firstlineno <= int(line) <= last
        if is_inside and os.path.realpath(file) == os.path.realpath(code.co_filename):
            who = f"{kind.__name__}.{code.co_name}"
            reason += f" ({os.path.basename(file)}, line {line})"
            break
    return TypeError(f"a part of your own could not be compiled: {who}{reason}.  {HOW_TO}.  numba says:\n{text}")
