"""What all tests share, and what the examples in docstrings do.

Kernels run as plain Python: a specialisation takes seconds to compile and there are thousands of combinations of parts.
What is to be compiled asks for the fixture ``compiled``.  The innermost loops are written with NumPy, to the last bit:
they took most of the time.
"""

from __future__ import annotations

import gc
import os
import sys
from functools import wraps

import numpy as np
import pytest

from ascd._core import jit
from ascd.matrix import columns
from ascd.matrix.dense import Dense
from ascd.solver import sweeps

jit.is_interpreted = True


def entries(matrix, j):
    """A column of a dense matrix."""
    column = matrix.values[:, j]
    return column if column.dtype == np.float64 else column.astype(np.float64)


def total(terms):
    """Their sum in their order, as a loop adds them; NumPy's own has another one."""
    return 0.0 + float(terms.cumsum()[-1]) if terms.size else 0.0


def dot(matrix, j, vector):
    return total(entries(matrix, j) * vector)


def weighted_square(matrix, j, weight):
    return total(weight * entries(matrix, j) * entries(matrix, j))


def sums_with_one(matrix, j, vector):
    column = entries(matrix, j)
    return total(column * column), total(column), total(column * vector)


def scatter(matrix, j, weight, out):
    out[:] = weight * entries(matrix, j)


def clear(matrix, j, out):
    out[:] = 0.0


def move_gradient(matrix, j, change, weight, gradient):
    gradient += change * weight * entries(matrix, j)


def add_products(row, change, out):
    """Changes are taken four at a time, and left out where all of them are 0."""
    used, whole = change != 0.0, change.size - change.size % 4
    used[:whole] = used[:whole].reshape(-1, 4).any(axis=1).repeat(4)
    sums = out.reshape(row.size, change.size)
    if used.all():
        sums += row[:, None] * change
    else:
        sums[:, used] += row[:, None] * change[used]


def replace(module, quick):
    """Let plain Python call ``quick`` in the place of the helper of that name, and compiled code the helper still."""
    plain = getattr(module, quick.__name__)

    @wraps(quick)
    def call(matrix, *args):
        return (plain if isinstance(matrix, tuple) and type(matrix) is not Dense else quick)(matrix, *args)

    def teach():
        from numba.extending import overload

        overload(call, jit_options=jit._options(True), strict=False)(lambda *args: plain)

    jit._when_imported(teach)
    for name, user in list(sys.modules.items()):
        if name.startswith("ascd.") and getattr(user, quick.__name__, None) is plain:
            setattr(user, quick.__name__, call)


for function in (dot, weighted_square, sums_with_one, scatter, clear):
    replace(columns, function)
for function in (move_gradient, add_products):
    replace(sweeps, function)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Thousands of tests are made, and live to the end: walking them for garbage took a third of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)  # most of what tests make lives no longer than they do, and is in no circle
        gc.enable()


@pytest.fixture(autouse=True)
def huber_is_compiled(request, monkeypatch):
    """Each fit of ``HuberRegressor`` is hundreds of runs of the solver; vectors would be compiled on their own."""
    name, switch = request.node.name, os.environ.get("NUMBA_DISABLE_JIT", "0")
    if "HuberRegressor" in name and "check_fit2d_1" not in name and switch in ("", "0"):
        monkeypatch.setattr(jit, "is_interpreted", False)
