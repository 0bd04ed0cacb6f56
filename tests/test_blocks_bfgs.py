"""L-BFGS by itself: the compact form is the textbook's recursion, and lengths are found on every convex line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ascd.blocks.bfgs import Line, Pairs, Vector, pairs_kept, search
from ascd.blocks.tuning import FLAT_ENOUGH, LEAST_FALL

from ascd.blocks import tuning

# ------------------------------------------------------------------------------------------- directions


def recursion(pairs, g, times):
    """Two loops (Nocedal, 1980), with the inner product of the matrix ``times``."""
    q, factors = g.copy(), []
    for s, y in reversed(pairs):
        factors.append((s @ times @ q) / (s @ times @ y))
        q = q - factors[-1] * y
    s, y = pairs[-1]
    q = q * (s @ times @ y) / (y @ times @ y)
    for (s, y), factor in zip(pairs, reversed(factors), strict=True):
        q = q + (factor - (y @ times @ q) / (s @ times @ y)) * s
    return -q


@pytest.mark.parametrize("has_duals", [False, True])
@pytest.mark.parametrize("memory", [1, 3, 8])
def test_directions_are_those_of_the_two_loops(monkeypatch, memory, has_duals):
    monkeypatch.setattr("ascd.blocks.tuning.SMOOTH_MEMORY", memory)
    rng, n = np.random.default_rng(0), 12
    hessian, times = (root @ root.T + np.eye(n) for root in rng.standard_normal((2, n, n)))
    if not has_duals:
        times = np.eye(n)

    def vector(u):
        return Vector(u, times @ u if has_duals else u)

    def gradient(x):  # in the inner product: F′(x)·p = pᵀ·times·gradient
        return vector(np.linalg.solve(times, hessian @ x) if has_duals else hessian @ x)

    pairs, x, taken = Pairs(n, has_duals), rng.standard_normal(n), []
    here = gradient(x)
    for _ in range(6):
        way = pairs.direction(here)
        expected = recursion(taken[-memory:], here.plain, times) if taken else -here.plain
        np.testing.assert_allclose(way.plain, expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(way.dual, times @ way.plain, rtol=1e-7, atol=1e-7)
        slope = here.dual @ way.plain
        length = -slope / (way.plain @ hessian @ way.plain)
        x = x + length * way.plain
        before, here = here, gradient(x)
        pairs.add(length, way, before, slope, here)
        taken.append((length * way.plain, here.plain - before.plain))


def test_a_step_without_curvature_makes_it_begin_afresh():
    pairs, g = Pairs(3, False), np.array([1.0, 2.0, 3.0])
    same, way = Vector(g, g), Vector(-g, -g)
    pairs.add(1.0, way, same, float(-g @ g), same)
    assert pairs.order == []
    np.testing.assert_array_equal(pairs.direction(same).plain, -g)


# ------------------------------------------------------------------------------------------- lengths

LINES = {
    "parabola": (lambda t: 0.5 * (t - 3.0) ** 2, lambda t: t - 3.0),
    "kink": (lambda t: 50.0 * max(t - 0.01, 0.0) - t, lambda t: 49.0 if t > 0.01 else -1.0),
    "flat": (lambda t: math.exp(-t), lambda t: -math.exp(-t)),
    "steep": (lambda t: math.exp(min(9.0 * t, 700.0)) - 10.0 * t, lambda t: 9.0 * math.exp(min(9.0 * t, 700.0)) - 10.0),
    "far": (lambda t: math.log(math.cosh(1e-3 * t - 5.0)), lambda t: 1e-3 * math.tanh(1e-3 * t - 5.0)),
}


@pytest.mark.parametrize("first", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("name", ["parabola", "flat", "steep", "far"])
def test_a_length_falls_and_flattens(name, first):
    value, slope = LINES[name]
    start = Line(value(0.0), slope(0.0), None)
    length, there = search(lambda t: Line(value(t), slope(t), t), start, first)
    assert there.slopes == length > 0.0
    assert there.value <= start.value + LEAST_FALL * length * start.slope + 1e-12
    assert abs(there.slope) <= FLAT_ENOUGH * abs(start.slope)


@pytest.mark.parametrize("there", [(math.nan, math.nan), (math.inf, math.inf), (1.0, -1.0)])
def test_a_line_without_such_a_length_is_left(there):
    assert search(lambda t: Line(*there, None), Line(0.0, -1.0, None), 1.0) is None
    value, slope = LINES["kink"]  # its slope is never flat
    assert search(lambda t: Line(value(t), slope(t), None), Line(0.0, -1.0, None), 1.0) is None


def test_long_vectors_have_more_pairs_as_far_as_memory_goes():
    assert pairs_kept(1_000, False) == pairs_kept(1_000, True) == tuning.SMOOTH_MEMORY
    assert pairs_kept(300_000, True) == tuning.LONG_MEMORY
    assert pairs_kept(1_000_000, False) == 20
    assert pairs_kept(1_000_000_000, True) == tuning.SMOOTH_MEMORY
