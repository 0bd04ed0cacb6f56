"""Classes with one name: each runs its own code, though numba tells NamedTuples apart by name and fields."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import ascd
from ascd._core.jit import kernel


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
    """It is a penalty of one's own, compiled from the first look at the data to the proof: 3|x| and the library's."""
    rng = np.random.default_rng(11)
    A, x = rng.standard_normal((30, 8)), np.linspace(-2.0, 3.0, 8)
    b = A @ x + rng.standard_normal(30)
    for factor in (1.0, 3.0):
        penalty = distance(factor)(10.0)
        problem = ascd.Problem(A, b, penalty=penalty)
        twin = ascd.Problem(A, b, penalty=ascd.L1(10.0 * factor))
        assert problem.objective(x) == pytest.approx(twin.objective(x), rel=1e-12)
    mine, theirs = (ascd.solve(each, tol=1e-10) for each in (problem, twin))
    assert mine.converged
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert 0 < np.count_nonzero(mine.x) < 8
    alone = ascd.Problem([[1.0]], [40.0], penalty=penalty)  # one column has no products with others
    assert ascd.solve(alone).x == pytest.approx([10.0], rel=1e-9)
