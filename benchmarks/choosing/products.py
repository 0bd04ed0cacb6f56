"""Would stored products of columns make steps cheap?  The least that they cost, beside ``uniform``'s iteration.

With a quadratic loss a step need not read its column: where ⟨a_j, a_k⟩ is stored for each column k that has moved, the
entry of j is a sum of as many terms as columns have moved ("covariance updates").  The rules' own picks are recorded.
For each column that moves Aᵀa_k is then computed, once and from rows, the cheapest way; and for each pick a sum of its
length is taken from numbers that lie side by side.  Selecting, the oracle and writing the products down, across memory,
come on top and are not counted.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from common.stepping import interleaved, stepper
from numba import njit

import ascd
from choosing.data import cases
from choosing.recording import recorded

RULES = ("a-ascd", "u-ascd")
#: Storages with more numbers than this are not filled: their sums are not timed.
MOST_NUMBERS = 10**9


def products(folder, quick, wanted=""):
    """Each rule's first 3n steps with the oracle "reference", sparse data."""
    for name, (A, y) in cases(folder, quick, wanted):
        if not sp.issparse(A):
            continue
        largest = np.abs(A.T @ y).max()
        for part in (20, 100):
            problem = ascd.Problem(A, y, penalty=ascd.L1(largest / part))
            for row in product_rows(problem, A, 2 if quick else 3):
                yield {"case": name, "part": part, **row}


def product_rows(problem, A, repeats):
    steps = 3 * problem.n_features
    rows, columns = A.tocsr(), A.tocsc()
    arrays = [array for form in (rows, columns) for array in (form.indptr, form.indices, form.data)]
    for rule in RULES:
        _, picks, did_move = recorded(problem, rule, "reference", steps)
        movers, (picked, places) = np.unique(picks[did_move]), np.unique(picks, return_inverse=True)
        runs = {
            "uniform": lambda: stepper(problem, "uniform", steepness="gsl-s")(steps),
            "products": lambda movers=movers: spent(compute, *arrays, movers, np.zeros(A.shape[1])) / steps,
        }
        if picked.size * movers.size <= MOST_NUMBERS:
            stored, change = np.full((picked.size, movers.size), 1e-3), np.zeros(movers.size)
            runs["sums"] = lambda parts=(stored, places, change): spent(add_up, *parts) / steps
        compute(*arrays, movers[:1], np.zeros(A.shape[1]))  # compiling is not counted
        best = {"sums": None, **interleaved(runs, repeats)}
        vectors = picked.size * movers.size / problem.n_features
        yield {"rule": rule, "movers": movers.size, **best, "vectors": vectors}


def spent(function, *arguments):
    """Seconds of the processor."""
    began = time.thread_time()
    function(*arguments)
    return time.thread_time() - began


@njit(fastmath=True)
def compute(row_starts, row_columns, row_values, starts, its_rows, values, movers, out):
    """Aᵀa_k for each mover k, one after the other."""
    for k in movers:
        out[:] = 0.0
        for p in range(starts[k], starts[k + 1]):
            row, entry = its_rows[p], values[p]
            for q in range(row_starts[row], row_starts[row + 1]):
                out[row_columns[q]] += entry * row_values[q]


@njit(fastmath=True)
def add_up(stored, places, change):
    """The entry of each pick from its stored products; each waits for the one before, as steps do."""
    for t in range(places.size):
        products, total = stored[places[t]], 0.0
        for k in range(change.size):
            total += products[k] * change[k]
        change[t % change.size] += 1e-9 * total
