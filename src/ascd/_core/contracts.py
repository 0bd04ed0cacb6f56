"""Holding parts to the contracts of ``ascd.protocols``: methods that compiled code may call, and their arguments."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any

from ascd._core.checks import as_number
from ascd.protocols import CONTRACTS, OPTIONS


@cache
def methods_of(contract: type) -> dict[str, list[str]]:
    """The compiled methods of a contract: name → argument names, ``self`` included."""
    functions = {name: function for kind in reversed(contract.__mro__) for name, function in vars(kind).items()}
    return {
        name: list(function.__code__.co_varnames[: function.__code__.co_argcount])
        for name, function in functions.items()
        if not name.startswith("_") and hasattr(function, "__code__")
    }


#: Methods that parts call on themselves and on their fields, marked with ``ascd.helper``: name → argument names.
_shared: dict[str, list[str]] = {}


def share_method(name: str, arguments: list[str]) -> None:
    """Enter a method that compiled code may call; methods of one name have the same arguments wherever they stand."""
    known = compiled_methods().get(name, arguments)
    if known != arguments:
        said, other = ", ".join(arguments), ", ".join(known)
        raise TypeError(f"the method {name}({said}) needs another name: compiled code knows {name}({other})")
    _shared[name] = arguments


def compiled_methods() -> dict[str, list[str]]:
    """The methods of all contracts together, and those that parts share."""
    return {**_of_contracts(), **_shared}


@cache
def _of_contracts() -> dict[str, list[str]]:
    return {name: arguments for contract in CONTRACTS for name, arguments in methods_of(contract).items()}


def optional_methods_of(contract: type) -> dict[str, list[str]]:
    """The methods that a part may have beyond its contract: name → argument names."""
    options = OPTIONS.get(contract, ())
    return {name: arguments for option in options for name, arguments in methods_of(option).items()}


def check_methods(part: Any, contract: type, role: str) -> None:
    """Raise a TypeError that names what is missing when ``part`` cannot play ``role`` in compiled code."""
    kind: Any = type(part)
    if not (isinstance(part, tuple) and hasattr(kind, "_fields")):
        methods = ", ".join(methods_of(contract))
        raise TypeError(f"{role} must be a name or a NamedTuple with methods {methods}; got {part!r}")
    _check_kind(kind, contract, role)


def prepared(part: Any, contract: type, role: str, *arguments: Any) -> Any:
    """The part that will be compiled: what ``prepare`` returns where there is one, held to the contract."""
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
        # numba passes no ``self`` to methods of a tuple without fields; our own carry a number that nothing reads
        raise TypeError(f"{role} {kind.__name__} needs at least one field, for example  unit: float = 1.0")
    optional = optional_methods_of(contract)
    clash = sorted(set(kind._fields) & {*compiled_methods(), *optional})
    if clash:
        raise TypeError(
            f"{role} {kind.__name__}: rename the field {clash[0]!r}, {_owner(clash[0])} a method of that name"
        )
    required = methods_of(contract)
    for method, expected in required.items():
        if not hasattr(kind, method):
            raise TypeError(f"{role} {kind.__name__} lacks the method {method}({', '.join(expected)})")
    _check_signatures(kind, {**optional, **required}, role)


def _owner(name: str) -> str:
    return "compiled code has" if name in compiled_methods() else "the library asks for"


def _check_signatures(kind: Any, methods: dict[str, list[str]], role: str) -> None:
    for method, expected in methods.items():
        found = getattr(kind, method, None)
        if found is None:
            continue
        if not callable(found) or list(inspect.signature(found).parameters) != expected:
            raise TypeError(f"{role} {kind.__name__}: {method} must be written {method}({', '.join(expected)})")


def confidence_of(oracle: Any) -> float:
    """The probability with which all intervals of a run hold together: 1 where they always hold, 0 where nobody knows.

    Examples
    --------
    >>> import ascd
    >>> from ascd._core.contracts import confidence_of
    >>> confidence_of(ascd.Norm()), confidence_of(ascd.Random(printed=True))
    (1.0, 0.0)
    """
    if hasattr(oracle, "confidence"):
        return as_number(oracle.confidence(), f"{type(oracle).__name__}.confidence()", low=0.0, high=1.0)
    return 1.0 if asked(oracle, "is_safe", True) else 0.0


def likely(failure: float) -> float:
    """1 − ``failure``, but below 1 however small the failure is: what is likely is not proved.

    Examples
    --------
    >>> from ascd._core.contracts import likely
    >>> likely(0.25), likely(1e-30) < 1.0, likely(0.0)
    (0.75, True, 1.0)
    """
    return 1.0 if failure == 0.0 else min(1.0 - failure, math.nextafter(1.0, 0.0))


def asked(part: Any, option: str, default: bool) -> bool:
    """What an optional method without arguments says, or the default where a part has none.

    Examples
    --------
    >>> import ascd
    >>> from ascd._core.contracts import asked
    >>> asked(ascd.Cyclic(), "is_blind", False), asked(ascd.Steepest(), "is_blind", False)
    (True, False)
    """
    method = getattr(part, option, None)
    return default if method is None else bool(method())
