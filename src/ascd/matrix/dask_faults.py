"""What can go wrong on a cluster, in a sentence that says what to do.

Workers that are lost are Dask's matter: their chunks are computed again, and the round goes on.  The rest is told here.

============================  ==================================================================================
scheduler gone                ``DataGone``: the solver ends with the best point so far
data that cannot be made      ``DataGone`` too: they were put on a worker by hand (``client.scatter``)
again
no worker left                ``DataGone`` too, when they have been waited for
a worker out of memory        ``MemoryError``: what to chunk differently
another version of ascd, or   ``RuntimeError``, before any work
none; no worker at all
============================  ==================================================================================
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from ascd.matrix import prices
from ascd.matrix.design import DataGone

PACKAGE = __name__.partition(".")[0]


def check_workers(client: Any) -> None:
    """Raise an error unless scheduler and workers have this version."""
    if client.asynchronous:
        raise TypeError("the client must not be asynchronous: fits wait for their rounds; use Client(...) without it")
    with told(client):
        found = client.get_versions(packages=[PACKAGE])
        if not found["workers"]:  # they may still be starting
            _wait_for_a_worker(client, RuntimeError)
            found = client.get_versions(packages=[PACKAGE])
    here = _version(found["client"])
    others = {"the scheduler": found["scheduler"], **found["workers"]}
    wrong = {name: _version(info) for name, info in others.items() if info and _version(info) != here}
    if wrong:
        name, version = next(iter(wrong.items()))
        has = f"{PACKAGE} {version}" if version else f"no {PACKAGE}"
        raise RuntimeError(
            f"{PACKAGE} {here} is here, but {len(wrong)} of {len(others)} places on the cluster differ: {name} has "
            f"{has}; install {PACKAGE}=={here} there, where scheduler and workers run"
        )


def wait_until_done(client: Any, futures: Sequence[Any]) -> None:
    """However long they take, unless nobody is left to compute them."""
    from distributed import wait

    while True:
        try:
            wait(futures, timeout=prices.WORKERS_AWAITED)
            return
        except (TimeoutError, asyncio.TimeoutError):
            _wait_for_a_worker(client, DataGone)


def _wait_for_a_worker(client: Any, kind: type[Exception]) -> None:
    try:
        client.wait_for_workers(1, timeout=prices.WORKERS_AWAITED)
    except TimeoutError as error:
        raise kind(
            f"the cluster has had no worker for {prices.WORKERS_AWAITED:g} seconds: start some (dask worker ADDRESS), "
            "or look at what its workers say when they start"
        ) from error


def _version(info: Any) -> str | None:
    version = info["packages"].get(PACKAGE)
    return None if version in (None, "MISSING") else str(version)


@contextmanager
def told(client: Any) -> Iterator[None]:
    """Turn what Dask raises into errors that say what to do."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise MemoryError(
            f"workers were killed again and again while they worked on one task ({error.task}), most likely for want "
            "of memory. Make chunks smaller (X.rechunk), so that a worker can hold its chunks twice; give workers more "
            "memory or use more of them; keep data in float32 or sparse"
        ) from error
    except CancelledError as error:
        if "connection-lost" in str(error) or "scheduler-restart" in str(error) or client.status != "running":
            raise DataGone(_SCHEDULER_GONE) from error
        raise DataGone(
            "chunks of X are lost and cannot be computed again: they were on a worker that is gone, and were put there "
            "by client.scatter or by a future that has no graph. Make X from files or from functions "
            "(dask.array.from_delayed, read_parquet), or scatter with broadcast=True"
        ) from error
    except Exception as error:  # a chunk's file may be missing, say: that is told as it is
        if isinstance(error, CommClosedError) or client.status != "running" or "trying to connect" in str(error):
            raise DataGone(_SCHEDULER_GONE) from error
        raise


_SCHEDULER_GONE = (
    "the cluster's scheduler has gone away, and the chunks with it. Start it again (or another one), make a new Client "
    "and fit again"
)
