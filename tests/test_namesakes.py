"""Classes with one name: each runs its own code, though numba tells NamedTuples apart by name and fields."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

import ascd
from ascd._base.jit import kernel


def distance(factor: float) -> Any:
    """A class of penalties; all that come from here have one name."""

    class Distance(NamedTuple):
        strength: Any

        def cost(self, x: float, j: int) -> float:
            return factor * self.strength * abs(x)

        def prox(self, v: float, step: float, j: int) -> float:
            limit = factor * step * self.strength
            return v - limit if v > limit else (v + limit if v < -limit else 0.0)

        def subgradient(self, x: float, j: int) -> tuple[float, float]:
            limit = factor * self.strength
            return (limit if x > 0.0 else -limit), (-limit if x < 0.0 else limit)

        def cost_conjugate(self, u: float, j: int) -> float:
            return 0.0 if abs(u) <= factor * self.strength else math.inf

        def dual_scale(self, u: float, j: int) -> float:
            return 1.0 if abs(u) <= factor * self.strength else factor * self.strength / abs(u)

    return Distance


class L1(NamedTuple):
    """Named as one of the library's, with its fields."""

    strength: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return 100.0 * self.strength * abs(x)


class Pair(NamedTuple):
    first: Any
    second: Any


@kernel
def cost_at_two(penalty):
    return penalty.cost(2.0, 0)


@kernel
def costs_of_both(pair):
    return pair.first.cost(1.0, 0), pair.second.cost(1.0, 0)


def test_each_class_runs_its_own_code(compiled):
    kinds = [distance(factor) for factor in (1.0, 3.0, 7.0)]
    for _ in range(2):
        assert [cost_at_two(kind(1.0)) for kind in kinds] == [2.0, 6.0, 14.0]


def test_a_class_named_as_one_of_ours_runs_its_own_code(compiled):
    for _ in range(2):
        assert [cost_at_two(kind(1.0, 1.0, 0.0)) for kind in (ascd.L1, L1)] == [2.0, 200.0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_classes_inside_others_are_told_apart(compiled, order):
    kinds = distance(2.0), distance(5.0)
    for _ in range(2):
        found = costs_of_both(Pair(*(kinds[k](1.0) for k in order)))
        assert list(found) == [(2.0, 5.0)[k] for k in order]


def test_where_nothing_is_stored_they_are_told_apart_too(compiled, monkeypatch):
    monkeypatch.setattr(cost_at_two, "_on_disk", False)
    monkeypatch.setattr(cost_at_two, "_known", {})
    for _ in range(2):
        assert [cost_at_two(kind(1.0, 1.0, 0.0)) for kind in (ascd.L1, L1)] == [2.0, 200.0]


def test_the_second_class_of_a_name_is_minimised(compiled):
    """x = 10 − factor, and F(7) with factor 3 is 4.5 + 21."""
    for factor in (1.0, 3.0):
        problem = ascd.Problem([[1.0]], [10.0], penalty=distance(factor)(1.0))
        assert problem.objective([7.0]) == 4.5 + 7.0 * factor
    solution = ascd.solve(problem)
    assert solution.x == pytest.approx([7.0], rel=1e-9)
    assert solution.objective == pytest.approx(4.5 + 21.0, rel=1e-9)
