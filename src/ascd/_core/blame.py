"""Errors in parts of the user's own: which class, which method, which line.

Run as plain Python, an error has a traceback: the innermost frame that is a method of a part from elsewhere is the one
to name.  Where there is none, the library may have failed to use what such a method returned: the line that failed
calls it, or belongs to a method of the same name around it.  Compiled, numba's text holds a list of places ("File …,
line …") among its own: those that lie inside a method of such a part are the user's.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from ascd._core.cache import is_ours

#: The methods that a line of Python calls.
_CALL = re.compile(r"\.(\w+)\(")
#: Where numba says that something happened, and those of its causes that a user can do something with.
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)')
_CAUSE = re.compile(r"(Unknown attribute '\w+'|Untyped global name '\w+'|NameError: .*|Use of unsupported .*)")

HOW_TO = (
    "Its methods may use numbers, loops, arrays that are its fields, and functions marked with ascd.helper; they must "
    "not make new arrays.  With ASCD_DEBUG=1 in the environment (or, for rules, oracles and steps, debug=True) it runs "
    "as plain Python, whose errors are easier to read"
)


class Place(NamedTuple):
    """A line of a method of somebody's class."""

    kind: str
    method: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.kind}.{self.method}"

    @property
    def where(self) -> str:
        return f"({os.path.basename(self.file)}, line {self.line})"


def named_error(error: Exception) -> Exception | None:
    """The same error with the user's class, method and line in its text; None where it comes from nowhere of theirs."""
    place, trace = None, error.__traceback__
    while trace is not None:
        owner, code = trace.tb_frame.f_locals.get("self"), trace.tb_frame.f_code
        if _is_users(owner):
            place = Place(type(owner).__name__, code.co_name, code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    place = _answered_by(error) if place is None else place
    if place is None:
        return None
    text = f"{place}: {error} {place.where}"
    try:
        return type(error)(text)
    except TypeError:  # an exception that takes other arguments
        return RuntimeError(f"{place}: {type(error).__name__}: {error} {place.where}")


def _answered_by(error: Exception) -> Place | None:
    """The user's method whose answer the innermost line could not use."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return None
    code = trace.tb_frame.f_code
    called = {code.co_name, *_CALL.findall(linecache.getline(code.co_filename, trace.tb_lineno))}
    for part in users_parts(tuple(trace.tb_frame.f_locals.values())):
        for method in _codes_of(type(part)):
            if not called.isdisjoint({method.co_name, f"{method.co_name}_at"}):  # ``bounds_at`` hands on ``bounds``
                return Place(type(part).__name__, method.co_name, method.co_filename, method.co_firstlineno)
    return None


def compile_error(error: Exception, arguments: tuple[Any, ...]) -> TypeError:
    """What numba could not compile, in words: the user's class, method and line where numba says it."""
    text, parts = str(error), {type(part): part for part in users_parts(arguments)}
    place = _first_place(text, list(parts))
    cause = _CAUSE.search(text)
    said = f": {cause[1]}" if cause else ""
    who = f"{place}{said} {place.where}" if place else " or ".join(kind.__name__ for kind in parts) + said
    return TypeError(f"a part of your own could not be compiled: {who}.  {HOW_TO}.  numba says:\n{text}")


def users_parts(value: Any) -> Iterator[Any]:
    """Every part from elsewhere inside a value."""
    if isinstance(value, tuple):
        if _is_users(value):
            yield value
        for field in value:
            yield from users_parts(field)


def _is_users(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields") and not is_ours(type(value))


def _first_place(text: str, kinds: list[type]) -> Place | None:
    """The first of numba's places inside a method of one of these classes: numba names the innermost first."""
    methods = [(kind, code) for kind in kinds for code in _codes_of(kind)]
    for file, number in _PLACE.findall(text):
        for kind, code in methods:
            lines = [line for _, _, line in code.co_lines() if line is not None]
            if _same_file(file, code.co_filename) and code.co_firstlineno <= int(number) <= max(lines):
                return Place(kind.__name__, code.co_name, code.co_filename, int(number))
    return None


def _codes_of(kind: type) -> Iterator[CodeType]:
    for attribute in vars(kind).values():
        code = getattr(attribute, "__code__", None)
        if code is not None:
            yield code


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
