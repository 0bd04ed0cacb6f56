"""Compiled code takes the steps that plain Python takes, on dense and on sparse data.

Each row below is one specialisation, compiled for one storage, chosen so that every rule (lazy or not), oracle,
steepness, step and loss occurs; where it can be, it is one that other tests compile too.  All pairs are looked at
interpreted, in ``test_against_reference``.
"""

from __future__ import annotations

import copy
import pkgutil
from importlib import import_module

import numpy as np
import pytest
from combinations import ORACLE_NAMES, RULE_NAMES, STORAGES, library_oracle
from lockstep import BOUNDED_RULES, assemble
from problems import CASES

import ascd
from ascd._core.contracts import COMPILED
from ascd._core.jit import debugging
from ascd.engine.descent import descend
from ascd.engine.steepness import STEEPNESS
from ascd.engine.steps import STEPS

pytestmark = pytest.mark.usefixtures("lazy_everywhere")

SQUARED_L1 = "squared, wide, l1"
LOGISTIC = "logistic, wide, elastic net weighted, linear"
HUBER = "huber, tall, none, weights"
HUBER_L1 = "huber, wide, l1, start"
TALL_L1 = "squared, tall, l1 of strength 0"
HINGE = "squared_hinge, conflicting, box"
BOX = "squared, wide, half-infinite box"

#: rule (lazy where there is a lazy form and the oracle is "norm"), oracle, steepness, step, init, problem, storage
ROWS = [
    ("cyclic", "simulated", "gsl-s", "line-search", "none", HINGE, "sparse"),
    ("uniform", "exact", "gsl", "coordinate", "none", HUBER, "dense"),
    ("importance", "random", "gsl-r", "local", "none", LOGISTIC, "sparse"),
    ("steepest", "norm", "gs-r", "fixed", "gradient", SQUARED_L1, "dense"),
    ("ascd", "cached", "gs-s", "coordinate", "gradient", HUBER_L1, "dense"),
    ("u-ascd", "norm", "gsl-q", "fixed", "none", HUBER, "sparse"),
    ("a-ascd", "norm", "gs", "fixed", "gradient", TALL_L1, "sparse"),
    ("l-ascd", "sketch", "gs-q", "fixed", "none", SQUARED_L1, "dense"),
    ("working-set", "reference", "gs-s", "coordinate", "gradient", BOX, "dense"),
]
N_ITER = 30


def assembled(row, storage, seed=3):
    """The parts of a row, built without compiling."""
    rule, oracle, steepness, step, init, name, _ = row
    case = CASES[name]
    with debugging(True):
        problem = case.library(storage)
        return assemble(problem, rule, library_oracle(oracle), steepness, step, init, case.x0, seed)


def assert_same(found, expected):
    for a, b in zip(found.state(), expected.state(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(found.point.x, expected.point.x, rtol=1e-10, atol=1e-10)
    assert found.rng.bit_generator.state == expected.rng.bit_generator.state


def rounding_decides_the_pick(run, rule):
    """Is some coordinate optimal but for rounding?  Then its bounds are noise, and a rule may follow noise."""
    x, _, _, _, upper = run.state()
    return rule in BOUNDED_RULES and bool(np.any((upper < 1e-9) & ((upper > 0.0) | (x != 0.0))))


def advance_both(run, t, rule, loop):
    """One step of a loop, compiled or not; the same step in plain Python from a copy of the state must agree.

    Returns whether they could be compared, and how far x moved: rounding can decide which coordinate is picked, and
    whether a coordinate that is optimal moves at all.
    """
    plain, before = copy.deepcopy(run), run.point.x.copy()
    decided = not rounding_decides_the_pick(run, rule)
    summary, expected = run.descend(t, t + 1, loop), plain.descend(t, t + 1, descend.py_func)
    moves = [np.abs(which.point.x - before).max() for which in (run, plain)]
    if not decided or 0.0 < max(moves) < 1e-9:
        return False, max(moves)
    assert_same(run, plain)
    assert summary[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-7)
    return True, max(moves)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_compiled_is_interpreted_and_dense_is_sparse(row):
    dense, sparse = (assembled(row, storage) for storage in STORAGES)
    loops = [descend.compiled if storage == row[-1] else descend.py_func for storage in STORAGES]
    compared, alike = 0, 0
    for t in range(N_ITER):
        steps = advance_both(dense, t, row[0], loops[0]), advance_both(sparse, t, row[0], loops[1])
        decided = steps[0] == (True, pytest.approx(steps[1][1])) and steps[1][0]
        compared += steps[0][0] + steps[1][0]
        alike += decided and alike == t
        if alike == t + 1:  # up to the first step that rounding decides, the storages go the same way
            np.testing.assert_allclose(sparse.point.x, dense.point.x, rtol=1e-10, atol=1e-10)
    assert compared >= N_ITER / 2
    assert alike >= 3
    assert descend.compiled.signatures


def is_part(thing):
    """A named tuple with compiled methods, unlike those of results and reports."""
    if not (isinstance(thing, type) and issubclass(thing, tuple) and hasattr(thing, "_fields")):
        return False
    return bool((set(vars(thing)) - set(thing._fields)) & set(COMPILED))


def test_no_field_of_the_parts_hides_a_compiled_method():
    """Compiled code would read the method where it means the field."""
    modules = [import_module(each.name) for each in pkgutil.walk_packages(ascd.__path__, "ascd.")]
    parts = {part for module in modules for part in vars(module).values() if is_part(part)}
    names = set(COMPILED)
    clashes = [(part.__name__, field) for part in parts for field in part._fields if field in names]
    assert {"DescentPoint", "Huber", "LazyBounds", "SweepState"} <= {part.__name__ for part in parts}
    assert not clashes


def test_the_rows_cover_all_parts():
    for position, names in enumerate((RULE_NAMES, ORACLE_NAMES, STEEPNESS, STEPS)):
        counts = [sum(row[position] == name for row in ROWS) for name in names]
        assert min(counts) >= 1
    assert {CASES[row[-2]].loss for row in ROWS} == {"squared", "logistic", "huber", "squared_hinge"}
