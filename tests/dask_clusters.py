"""Clusters for tests: workers are processes of their own that run kernels as plain Python, so that none compiles."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver

import numpy as np
import pytest
import scipy.sparse as sp

#: name → chunks, as shares of rows and columns; "frame" and "unknown" do not say how many rows they have
KINDS = ("rows", "columns", "both", "sparse", "frame", "unknown")
#: What every worker would import before its first answer.
OF_WORKERS = [
    "pytest", "distributed", "pandas", "scipy.sparse", "dask.array", "dask.dataframe",
    "ascd.matrix.on_dask", "ascd.matrix.device", "ascd.estimators.least_squares", "ascd.solver",
]  # fmt: skip


@cache
def start_method():
    """How workers begin: many do, and some again, so they are copies of a process that has imported all."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return "spawn"
    multiprocessing.set_forkserver_preload(OF_WORKERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        forkserver.ensure_running()
    return "forkserver"


def workers_are_copies():
    """Also those that a command starts inside of this."""
    import dask
    import distributed  # noqa: F401 - it has settings of its own, which are there before they are changed

    return dask.config.set({"distributed.worker.multiprocessing-method": start_method()})


@contextmanager
def local_cluster(n_workers=2):
    """A client of workers on this machine."""
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    how["env"] = {"NUMBA_DISABLE_JIT": "1"}
    with (
        workers_are_copies(),
        distributed.LocalCluster(n_workers=n_workers, **how) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def as_chunks(X, kind):
    """X as one of Dask's collections."""
    import dask.array as da
    import dask.dataframe as dd
    import pandas

    d, n = X.shape
    third, half = -(-d // 3), max(1, n // 2)
    if kind == "frame":
        return dd.from_pandas(pandas.DataFrame(X, columns=[f"x{j}" for j in range(n)]), npartitions=3)
    if kind == "unknown":
        return dd.from_pandas(pandas.DataFrame(X), npartitions=2).to_dask_array()
    chunks = {"rows": (third, n), "columns": (d, half), "both": (third, half), "sparse": (third, half)}[kind]
    array = da.from_array(np.asarray(X), chunks=chunks)
    return array.map_blocks(sp.csr_array) if kind == "sparse" else array


def kill_a_worker(client):
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def ready(client):
    """Two workers: those that were killed are back; where Dask has lost one for good, all begin anew."""
    try:
        client.wait_for_workers(2, timeout=30)
    except TimeoutError:
        client.restart()
        client.wait_for_workers(1, timeout=300)
