"""What reading costs on this machine, beside the numbers of ``ascd.data.prices``: nanoseconds on one core.

python benchmarks/prices.py [--repeats N]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from common.tables import markdown_table

import ascd
from ascd.data import prices
from ascd.solver.column_model import ColumnModel


def shortest(action, repeats: int) -> float:
    """Nanoseconds of the shortest of some calls, after one to compile."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - began)
    return float(min(times))


def sweep_time(problem: ascd.Problem, repeats: int) -> float:
    """One sweep over all columns, at rest: what it costs to look at each."""
    n = problem.n_features
    slope, ones, zeros = problem.evaluate(np.zeros(n))[2], np.ones(problem.n_samples), np.zeros(n)

    def sweeps(count: int) -> float:
        everything = np.arange(n)
        model = ColumnModel(problem.parts.penalty, problem.design, everything, ones, zeros, slope, zeros.copy())
        return shortest(lambda: model.minimise(-1.0, count), repeats)

    return (sweeps(9) - sweeps(1)) / 8.0


def products_time(problem: ascd.Problem, repeats: int) -> float:
    n = problem.n_features
    every, weight, store = np.arange(n), np.ones(problem.n_samples), np.empty((n, n), order="F")
    return shortest(lambda: problem.design.multiplier(False).fill(store, every, every, every, weight, None), repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    d, n = 4000, 400
    dense = ascd.Problem(rng.standard_normal((d, n)), np.ones(d), penalty=ascd.L1(1e9))
    thin = ascd.Problem(rng.standard_normal((1, 4000)), np.ones(1), penalty=ascd.L1(1e9))
    columns = sp.random(20000, n, 0.01, format="csc", random_state=0)
    sparse = ascd.Problem(columns, np.ones(20000), penalty=ascd.L1(1e9))
    sparser = ascd.Problem(sp.random(2_000_000, n, 1e-4, format="csc", random_state=0), np.ones(2_000_000))
    stored, pairs = columns.nnz, columns.nnz**2 / 20000
    visit = sweep_time(thin, repeats) / 4000
    listed = products_time(sparser, repeats) / sparser.design.entries()
    rows = [
        ["DENSE_PRODUCT", prices.DENSE_PRODUCT, products_time(dense, repeats) / (n * n * d)],
        ["DENSE_ENTRY", prices.DENSE_ENTRY, (sweep_time(dense, repeats) - n * visit) / (n * d)],
        ["SPARSE_PRODUCT", prices.SPARSE_PRODUCT, max(0.0, products_time(sparse, repeats) - listed * stored) / pairs],
        ["SPARSE_ENTRY", prices.SPARSE_ENTRY, (sweep_time(sparse, repeats) - n * visit) / stored],
        ["LISTED", prices.LISTED, listed],
        ["VISIT", prices.VISIT, visit],
    ]
    print(markdown_table(["price, ns", "assumed", "here"], [[name, f"{a:g}", f"{b:.2f}"] for name, a, b in rows]))


if __name__ == "__main__":
    main()
