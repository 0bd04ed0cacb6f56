"""On a Dask cluster of this machine: rounds, what one costs, what travels, and more workers.

Processor time is that of all processes, this one (with the scheduler) and the workers.  Rounds are counted from the
first question on; the wait for the chunks themselves is not one.  ``dask_others`` has others on the same data.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager

import numpy as np
from race.cases import data_folder, load

import ascd
from ascd.matrix.open import open_design
from reaching import dask_others, generated
from reaching.timing import show

#: Chunks a worker.
PARTS = 10
#: λ_max over these.
SHARES = (10, 20, 100)
TRIES = 30


@contextmanager
def cluster(workers):
    from distributed import Client, LocalCluster

    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with LocalCluster(n_workers=workers, **how) as here, Client(here) as client:
        yield client


def run(options):
    try:
        import dask.array  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        print("dask is not installed: pip install ascd[dask]")
        return
    figures = {"rounds": rounds, "overhead": overhead, "workers": workers, "others": others}
    for name in options.figures.split(","):
        if name not in figures:
            raise SystemExit(f"--figures knows {', '.join(figures)}; got {name}")
        figures[name](options)


def chunked(A, by_rows, parts=2 * PARTS):
    """The data in parts on the workers."""
    import dask
    import dask.array as da

    d, n = A.shape
    chunks = (-(-d // parts), n) if by_rows else (d, -(-n // parts))
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        return da.from_array(A, chunks=chunks, asarray=False).persist()


def problems(scale):
    """name → data in memory, target, loss, are the chunks rows?"""
    tall, b = generated.dense(int(300_000 * scale), 200)
    wide, c = generated.dense(2000, int(40_000 * scale))
    text, t = generated.sparse(int(20_000 * scale) + 100, int(45_000 * scale) + 300, int(1_500_000 * scale) + 3000)
    labels, real = np.where(b > 0.0, 1.0, -1.0), load(data_folder(), "rcv1_sample")
    yield "tall squared", tall, b, "squared", True
    yield "wide squared", wide, c, "squared", False
    yield "text-like squared, by columns", text, t, "squared", False
    if real is not None:
        yield "rcv1_sample squared, by columns", real.X.tocsc(), real.y, "squared", False
    yield "tall logistic", tall[: len(b) // 3], labels[: len(b) // 3], "logistic", True


def rounds(options):
    with cluster(2):
        rows = [row for case in problems(options.scale) for row in rounds_of(*case)]
    head = [
        "data",
        "λ_max",
        "rounds",
        "passes",
        "MB out",
        "MB back",
        "a round besides, of max(d, n)",
        "calls skipped",
        "status",
    ]
    show("Dask: rounds to a gap of 1e-6, two workers, 20 chunks", head, rows)


def rounds_of(name, A, b, loss, by_rows):
    """A row for each λ."""
    X = chunked(A, by_rows)
    slope = b if loss == "squared" else 0.5 * b
    top = float(np.abs(A.T @ slope).max())
    for share in SHARES:
        problem = ascd.Problem(X, b, loss=loss, penalty=ascd.L1(top / share))
        found = ascd.solve(problem, tol=1e-6)
        source = problem.design
        sent, back = source.executor.sent, source.executor.received
        skipped = 1.0 - source.calls / (source.rounds * X.npartitions)
        a_round = (sent + back - of_working_set(problem, by_rows)) / source.rounds / (8.0 * max(A.shape))
        label, passes = f"{name} {A.shape[0]} x {A.shape[1]}", f"{found.reads / A.shape[1]:.1f}"
        bytes_moved = [f"{sent / 1e6:.2f}", f"{back / 1e6:.2f}", f"{a_round:.2f}"]
        yield [label, f"/{share}", str(source.rounds), passes, *bytes_moved, f"{skipped:.2f}", str(found.status)]


def of_working_set(problem, by_rows):
    """Bytes of the columns that were fetched, as they travel."""
    if by_rows:
        return 0
    design = problem.design
    held = np.flatnonzero(design.are_near(np.arange(problem.n_features)))
    return (12 if design.is_sparse else 8) * design.entries(held)


def spent(processes):
    """Processor seconds of some processes so far."""
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def overhead(_options):
    with cluster(2) as client:
        overhead_on(client)


def overhead_on(client):
    import os

    import dask.array as da
    import psutil

    processes = [psutil.Process(number) for number in (os.getpid(), *client.run(os.getpid).values())]
    X = da.from_array(np.zeros((2000, 20)), chunks=(100, 20)).persist()
    design, vector = open_design(X), np.ones(2000)
    ways = {
        "a task a worker": lambda: design.dots(np.arange(20), vector),
        "a new graph X.T @ v": lambda: (X.T @ da.from_array(vector, chunks=100)).compute(),
    }
    rows = []
    for name, ask in ways.items():
        ask()
        before = spent(processes)
        for _ in range(TRIES):
            ask()
        rows.append([name, f"{1000.0 * (spent(processes) - before) / TRIES:.0f}"])
    show("Dask: processor time of a round on 20 small chunks, all processes", ["round", "ms"], rows)


def timed(fit, repeats):
    fit()
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        fit()
        best = min(best, time.perf_counter() - start)
    return best


def workers(options):
    """One worker and two, and the solver in this process with two threads, on the same tall data."""
    A, b = generated.dense(int(2_000_000 * options.scale), 200)
    strength = generated.largest(A, b) / 20
    seconds = {}
    for count in (1, 2):
        with cluster(count):
            X = chunked(A, True)
            seconds[f"{count} workers"] = timed(lambda: fitted(X, b, strength), options.repeats)  # noqa: B023
    seconds["in memory, 2 threads"] = timed(lambda: fitted(A, b, strength), options.repeats)
    rows = [[name, f"{found:.2f}", f"{found / seconds['2 workers']:.2f}"] for name, found in seconds.items()]
    show(f"Dask: tall squared {A.shape[0]} x 200, λ_max/20", ["where", "seconds", "of two workers"], rows)


def fitted(X, b, strength):
    return ascd.solve(ascd.Problem(X, b, penalty=ascd.L1(strength), n_jobs=2), tol=1e-6, n_jobs=2)


def others(options):
    """L1-logistic regression and the Lasso by others, timed where their coefficients reach a gap of 1e-6."""
    A, b = generated.dense(int(100_000 * options.scale), 200)
    labels = np.where(b > 0.0, 1.0, -1.0)
    for loss, target, top in (("logistic", labels, 0.5), ("squared", b, 1.0)):
        strength = top * generated.largest(A, target) / 20
        race = dask_others.Race(A, target, loss, strength, options.repeats, options.limit)
        with cluster(2):
            race.ascd(chunked(A, True))
            race.dask_ml(chunked(A, True), -(-len(b) // (2 * PARTS)))
        race.spark(2 * PARTS)
        show(f"{loss}, L1, {A.shape[0]} x 200, λ_max/20, two processes, warm", dask_others.HEAD, race.rows)
