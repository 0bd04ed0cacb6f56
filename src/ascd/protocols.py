"""The contracts between the parts, stated once.

A part is a ``typing.NamedTuple`` with at least one field whose methods are plain Python.  Compiled code may call the
methods below on it, with these argument names; ``ascd._jit`` makes its shims from this file.  A class of one's own
that follows a contract runs compiled like the library's.  Two rules come from the compiler: methods must not make
new arrays (work arrays are fields), and functions that methods share are marked with ``ascd.helper``.

What a part needs of the problem is built by optional plain methods that run uncompiled before the descent:
``prepare`` returns the part that will be compiled (see each contract).
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Protocol


class Matrix(Protocol):
    """Where the stored entries of column j are: at positions ``start(j)`` to ``stop(j)``."""

    def start(self, j: int) -> int: ...
    def stop(self, j: int) -> int: ...
    def row(self, p: int) -> int: ...
    def entry(self, p: int, j: int) -> float: ...
    def ahead(self, j: int) -> None: ...


class Loss(Protocol):
    """One sample, target y, prediction z.  Also, uncompiled: ``curvature_bound()``, optional ``check_target(b)``."""

    def value(self, y: float, z: float) -> float: ...
    def derivative(self, y: float, z: float) -> float: ...
    def curvature(self, y: float, z: float) -> float: ...
    def conjugate(self, y: float, u: float) -> float: ...
    def is_quadratic(self) -> bool: ...


class Penalty(Protocol):
    """One coordinate.  Also, uncompiled and optional: ``check(n)``, ``is_smooth()``."""

    def cost(self, x: float, j: int) -> float: ...
    def prox(self, v: float, step: float, j: int) -> float: ...
    def subgradient(self, x: float, j: int) -> tuple[float, float]: ...
    def cost_conjugate(self, u: float, j: int) -> float: ...
    def dual_scale(self, u: float, j: int) -> float: ...


class PiecewisePenalty(Penalty, Protocol):
    """A penalty made of quadratic pieces: curvature and ends of the one around x.  Uncompiled: ``scaled(factor)``."""

    def piece(self, x: float, j: int) -> tuple[float, float, float]: ...


class Steepness(Protocol):
    """The score of a coordinate at a known gradient entry g, and its bounds over g ± r (r may be infinite)."""

    def score(self, penalty: Any, j: int, x: float, g: float) -> float: ...
    def bounds(self, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]: ...


class LazySteepness(Steepness, Protocol):
    """A steepness for lazy selection: the upper bound with its sign, and (uncompiled) ``rates(norm)``."""

    def signed_upper(self, penalty: Any, j: int, x: float, g: float, r: float) -> float: ...


class Oracle(Protocol):
    """Follow a step of coordinate i: move ``point.intervals`` of the others.

    Uncompiled and optional: ``prepare(parts, rng)``, ``is_safe()``.
    """

    def update(self, point: Any, i: int, change: float, rng: Any) -> None: ...


class Rule(Protocol):
    """Choose the coordinate of step t.  Uncompiled and optional: ``prepare(parts, oracle, steepness)``."""

    def select(self, point: Any, t: int, rng: Any) -> int: ...


class CountingRule(Rule, Protocol):
    """A rule that can tell from how many coordinates it chooses."""

    def active_count(self, point: Any) -> int: ...


class Step(Protocol):
    """The new x_i, its own gradient entry there and that entry's error.  Optional: ``prepare(parts)``."""

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]: ...


class Point(Protocol):
    """Where the descent stands (``ascd.descent.Point``): fields problem, x, image, slope, intervals, reads."""

    def partial(self, j: int) -> float: ...


class Intervals(Protocol):
    """Bounds on every gradient entry (``ascd.intervals.Intervals``)."""

    def radius_at(self, j: int) -> float: ...
    def pin(self, j: int, gradient: float, error: float) -> None: ...
    def widen(self, amount: float) -> None: ...
    def score_at(self, j: int, g: float) -> float: ...
    def bounds_at(self, j: int) -> tuple[float, float]: ...
    def signed_upper_at(self, j: int) -> float: ...


class Inner(Protocol):
    """Methods that only the library's own rules and oracles call on themselves."""

    def find_threshold(self, point: Any) -> float: ...
    def fill(self, point: Any, i: int) -> None: ...
    def arrange(self) -> None: ...
    def settle(self, j: int, value: float) -> None: ...
    def replace_top(self, value: float) -> None: ...
    def put(self, position: int, j: int, value: float) -> None: ...
    def sink(self, position: int) -> None: ...
    def level(self, intervals: Any, j: int) -> float: ...
    def evaluate_all(self, intervals: Any, rng: Any) -> None: ...
    def renew(self, intervals: Any, j: int) -> None: ...
    def renew_top(self, intervals: Any) -> None: ...
    def largest_bound(self, intervals: Any) -> float: ...
    def bound(self, intervals: Any, j: int) -> float: ...
    def build_set(self, point: Any) -> None: ...
    def adjust_window(self, point: Any) -> None: ...
    def distance(self, point: Any, j: int) -> float: ...
    def widened(self, intervals: Any, j: int, travel: float) -> None: ...
    def choose(self, intervals: Any, rng: Any) -> None: ...
    def refresh(self, point: Any) -> None: ...
    def follow_step(self, point: Any, i: int, change: float) -> None: ...
    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]: ...
    def refill(self, intervals: Any) -> None: ...
    def distribute(self) -> None: ...
    def bucket_of(self, value: float) -> int: ...
    def rekey(self, j: int, value: float) -> None: ...


CONTRACTS: tuple[type, ...] = (
    Matrix, Loss, Penalty, PiecewisePenalty, Steepness, LazySteepness, Oracle, Rule, CountingRule, Step, Point,
    Intervals, Inner,
)  # fmt: skip


def methods_of(contract: type) -> dict[str, list[str]]:
    """The compiled methods of a contract: name → argument names, ``self`` included."""
    functions = {name: function for kind in reversed(contract.__mro__) for name, function in vars(kind).items()}
    return {
        name: list(function.__code__.co_varnames[: function.__code__.co_argcount])
        for name, function in functions.items()
        if not name.startswith("_") and hasattr(function, "__code__")
    }


@cache
def compiled_methods() -> dict[str, list[str]]:
    """The methods of all contracts together."""
    return {name: arguments for contract in CONTRACTS for name, arguments in methods_of(contract).items()}


def check_methods(part: Any, contract: type, role: str) -> None:
    """Raise a TypeError that names what is missing when ``part`` cannot play ``role`` in compiled code."""
    kind: Any = type(part)
    if not (isinstance(part, tuple) and hasattr(kind, "_fields")):
        methods = ", ".join(methods_of(contract))
        raise TypeError(f"{role} must be a name or a NamedTuple with methods {methods}; got {part!r}")
    _check_kind(kind, contract, role)


@cache
def _check_kind(kind: Any, contract: type, role: str) -> None:
    if not kind._fields:
        # numba passes no ``self`` to methods of a tuple without fields; our own carry a number that nothing reads
        raise TypeError(f"{role} {kind.__name__} needs at least one field, for example  unit: float = 1.0")
    clash = sorted(set(kind._fields) & set(compiled_methods()))
    if clash:
        raise TypeError(
            f"{role} {kind.__name__}: rename the field {clash[0]!r}, compiled code has a method of that name"
        )
    for method, expected in methods_of(contract).items():
        found = getattr(kind, method, None)
        if found is None:
            raise TypeError(f"{role} {kind.__name__} lacks the method {method}({', '.join(expected)})")
        if list(inspect.signature(found).parameters) != expected:
            raise TypeError(f"{role} {kind.__name__}: {method} must be written {method}({', '.join(expected)})")
