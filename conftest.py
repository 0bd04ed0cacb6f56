"""What all tests share, and what the examples in docstrings do.

Kernels run as plain Python: a specialisation takes seconds to compile and there are thousands of combinations of parts.
What is to be compiled asks for the fixture ``compiled``.  Two things took most of the time and do not run as they
are written: the innermost loops over columns are NumPy's, to the last bit, and kernels of few types are ``Compiled``.
"""

from __future__ import annotations

import gc
import sys
from functools import wraps

import numpy as np
import pytest

from ascd._core import contracts, jit
from ascd.matrix import columns
from ascd.matrix.dense import Dense
from ascd.matrix.sparse import CSC
from ascd.problem import samples, softmax
from ascd.problem.block_penalties import BlockNorm
from ascd.solver import newton, sweeps

#: Must numba not compile?
IS_DISABLED = jit.is_interpreted
jit.is_interpreted = True


def entries(matrix, j):
    """The rows of a column's entries and the entries, of a dense or a sparse matrix."""
    if type(matrix) is CSC:
        rows, column = (part[matrix.indptr[j] : matrix.indptr[j + 1]] for part in (matrix.indices, matrix.data))
    else:
        rows, column = slice(None), matrix.values[:, j]
    return rows, column if column.dtype == np.float64 else column.astype(np.float64)


def total(terms):
    """Their sum in their order, as a loop adds them; NumPy's own has another one."""
    return 0.0 + float(terms.cumsum()[-1]) if terms.size else 0.0


def on(rows, weight):
    """Weights of these rows, or the one weight of all."""
    return weight[rows] if np.ndim(weight) else weight


def dot(matrix, j, vector):
    rows, column = entries(matrix, j)
    return total(column * vector[rows])


def weighted_square(matrix, j, weight):
    rows, column = entries(matrix, j)
    return total(on(rows, weight) * column * column)


def sums_with_one(matrix, j, vector):
    rows, column = entries(matrix, j)
    return total(column * column), total(column), total(column * vector[rows])


def scatter(matrix, j, weight, out):
    rows, column = entries(matrix, j)
    out[rows] = on(rows, weight) * column


def clear(matrix, j, out):
    out[entries(matrix, j)[0]] = 0.0


def move_gradient(matrix, j, change, weight, gradient):
    rows, column = entries(matrix, j)
    gradient[rows] += change * on(rows, weight) * column


def add_products(row, change, out):
    """Changes are taken four at a time, and left out where all of them are 0."""
    used, whole = change != 0.0, change.size - change.size % 4
    used[:whole] = used[:whole].reshape(-1, 4).any(axis=1).repeat(4)
    sums = out.reshape(row.size, change.size)
    if used.all():
        sums += row[:, None] * change
    else:
        sums[:, used] += row[:, None] * change[used]


def fill_gradient(matrix, j, raw_gradient, outputs, out, first):
    rows, column = entries(matrix, j)
    sums = (column[:, None] * raw_gradient.reshape(-1, outputs)[rows]).cumsum(axis=0)
    out[first : first + outputs] = sums[-1] if column.size else 0.0


def add_to_gradient(matrix, j, change, first, own, raw_gradient, outputs):
    rows, column = entries(matrix, j)
    change = column[:, None] * change[first : first + outputs]
    raw_gradient.reshape(-1, outputs)[rows] += own.reshape(-1, outputs)[rows] * change


def replace(module, quick):
    """Let plain Python call ``quick`` in the place of the helper of that name, and compiled code the helper still."""
    plain = getattr(module, quick.__name__)

    @wraps(quick)
    def call(matrix, *args):
        return (plain if isinstance(matrix, tuple) and type(matrix) not in (Dense, CSC) else quick)(matrix, *args)

    def teach(numba):
        numba.extending.overload(call, jit_options=jit._options(True), strict=False)(lambda *args: plain)

    jit._when_imported(teach)
    for name, user in list(sys.modules.items()):
        if name.startswith("ascd.") and getattr(user, quick.__name__, None) is plain:
            setattr(user, quick.__name__, call)


for function in (dot, weighted_square, sums_with_one, scatter, clear):
    replace(columns, function)
for function in (move_gradient, add_products, fill_gradient, add_to_gradient):
    replace(sweeps, function)


class Compiled:
    """A kernel that is compiled wherever its arguments are numbers, arrays and parts of the library that hold these.

    There are few such types for each of these, compiled in half a second each, and plain Python spent most of its time
    in them.
    """

    def __init__(self, kernel):
        self.kernel = kernel

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def __call__(self, *args):
        is_wanted = not jit._debugging.get() and all(map(self.is_known, args))
        return self.kernel.compiled(*args) if is_wanted else self.kernel(*args)

    @staticmethod
    def is_known(value):
        if not isinstance(value, tuple) or type(value) is BlockNorm:
            return True
        return contracts.is_ours(type(value)) and all(isinstance(field, float | np.ndarray) for field in value)


if not IS_DISABLED:
    for module, name in (
        (sweeps, "sweep_gram"), (sweeps, "sweep_blocks"), (newton, "gather_free"), (softmax, "fill_softmax"),
        (softmax, "fill_gaps"), (samples, "evaluate_part"), (samples, "add_losses"), (samples, "gap_of_part"),
    ):  # fmt: skip
        setattr(module, name, Compiled(getattr(module, name)))


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
    """A fit of ``HuberRegressor`` is hundreds of runs of the solver, and these files fit it hundreds of times.

    Vectors would be compiled on their own.  The call for small problems takes as long to compile as all other kernels
    of a fit: it is left out.
    """
    name = request.node.name
    is_here = "HuberRegressor" in name and request.path.name in ("test_estimator_checks.py", "test_estimator_cv.py")
    if is_here and "check_fit2d_1" not in name and not IS_DISABLED:
        monkeypatch.setattr(jit, "is_interpreted", False)
        monkeypatch.setattr("ascd.solver.tuning.SMALL_ENTRIES", 0)
