"""The same call gives the same bits, wherever NumPy puts its arrays.

Compiled sums are reordered.  A loop that stores as well is compiled twice, in vectors and plain, and a comparison of
addresses decides which runs: two small arrays side by side in memory, or not, then mean other last bits.
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import ascd
from ascd.problem.losses import Sample
from ascd.problem.samples import evaluate_samples
from ascd.problem.terms import gap_of_blocks, gap_of_coordinates, measure_blocks
from ascd.solver.bounds import products_with_references

SOURCES = sorted(Path(ascd.__file__).parent.rglob("*.py"))

# ------------------------------------------------------------------------------------------- loops as they stand


def innermost_loops(tree):
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and getattr(getattr(loop.iter, "func", None), "id", "") == "range":
            inside = [node for line in loop.body for node in ast.walk(line)]
            if not any(isinstance(node, ast.For | ast.While) for node in inside):
                yield loop, inside


def targets_of(node):
    if isinstance(node, ast.AugAssign):
        return [node.target]
    if isinstance(node, ast.Assign):
        return [part for target in node.targets for part in getattr(target, "elts", [target])]
    return []


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def sums_numbers(node):
    """total += …, total -= … or total = … total …, but not a count."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        counted = node.value.body if isinstance(node.value, ast.IfExp) else node.value
        is_count = isinstance(counted, ast.Compare | ast.BoolOp | ast.UnaryOp) or (
            isinstance(counted, ast.Constant) and isinstance(counted.value, int)
        )
        return not is_count
    return isinstance(node, ast.Assign) and any(
        isinstance(value, ast.BinOp) and isinstance(target, ast.Name) and target.id in names_in(value)
        for target, value in zip(
            targets_of(node), getattr(node.value, "elts", [node.value]) if targets_of(node) else [], strict=False
        )
    )


def stores_at_its_own_place(loop, inside):
    """Is some a[k] written, with k the loop's counter or one more or less?"""
    own = {loop.target.id}
    own |= {
        node.targets[0].id
        for node in inside
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "wide"
        and own & names_in(node.value.args[0])
        and not any(isinstance(part, ast.Subscript) for part in ast.walk(node.value))
    }
    written = [target for node in inside for target in targets_of(node) if isinstance(target, ast.Subscript)]
    return any(
        own & names_in(target.slice) and not any(isinstance(part, ast.Subscript) for part in ast.walk(target.slice))
        for target in written
    )


def is_one_by_one(inside):
    """Random numbers, and products with whole columns, come one after the other: such a loop never runs in vectors."""
    return any(isinstance(node, ast.Name) and node.id in ("rng", "dot") for node in inside)


def offending_loops(text):
    for loop, inside in innermost_loops(ast.parse(text)):
        if any(map(sums_numbers, inside)) and stores_at_its_own_place(loop, inside) and not is_one_by_one(inside):
            yield loop.lineno


def test_loops_that_add_up_store_nothing():
    found = [f"{path.name}:{line}" for path in SOURCES for line in offending_loops(path.read_text(encoding="utf-8"))]
    assert found == []


# ------------------------------------------------------------------------------------------- kernels on near arrays

DISTANCES = (0, 2, 4, 8, 16, 64)


def placed(arrays, distance):
    """Copies of the arrays one after the other in one buffer, so many numbers apart."""
    buffer, found, first = np.zeros(sum(array.size for array in arrays) + distance * len(arrays) + 8), [], 0
    for array in arrays:
        found.append(buffer[first : first + array.size])
        found[-1][:] = array
        first += array.size + distance
    return found


def of_blocks(x, u, radius, room):
    penalty = ascd.Problem(np.eye(x.size), x, penalty=ascd.GroupL2(0.1, groups=x.size)).penalty
    ends, blocks, one = np.array([0, x.size]), np.array([0]), np.ones(1)
    measured = measure_blocks(penalty, x, u, np.abs(radius[:1]), ends, one, blocks, room, np.zeros(1))
    return gap_of_blocks(penalty, x, u, np.abs(radius[:1]), ends, blocks, 0.7, room), measured


def of_coordinates(x, u, radius, _):
    penalty, listed = ascd.L1L2(0.1, 0.2).check(x.size), np.arange(x.size)
    return gap_of_coordinates(penalty, x, u, np.abs(radius), listed, listed[:0], 0.7)


def of_samples(target, weight, predictor, gradient):
    curvature = np.empty(predictor.size)
    value = evaluate_samples(Sample(target, np.abs(weight)), ascd.Squared(), predictor, gradient, curvature, None)[0]
    return value, gradient.tobytes()


def of_references(gradient, reference, _, __):
    sums = np.empty((1, 2))
    products_with_references(gradient, reference[None], np.zeros(1, dtype=np.int64), sums, 0, 1)
    return sums.tobytes()


@pytest.mark.parametrize("call", [of_blocks, of_coordinates, of_samples, of_references])
@pytest.mark.parametrize("size", [3, 4, 5, 9, 15, 17, 31, 40])
def test_sums_do_not_depend_on_places(call, size):
    arrays = np.random.default_rng(size).standard_normal((4, size))
    orders = (arrays, arrays[::-1])
    first, *others = (
        call(*(placed(order, distance) if order is arrays else placed(order, distance)[::-1]))
        for order in orders
        for distance in DISTANCES
    )
    assert all(other == first for other in others)
