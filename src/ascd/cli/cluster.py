"""``ascd fit`` on a Dask cluster: Parquet files are read by its workers; only the target comes here."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from glob import glob
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from threading import Thread
from typing import Any

import click

from ascd.cli.console import say
from ascd.cli.data import IN_FILE, check_targets
from ascd.cli.options import DataOptions, check_there, spelled
from ascd.io.columns import as_target, check_names, find_target
from ascd.io.encoding import LabeledData
from ascd.io.opening import PARQUET
from ascd.io.readers import converted_target, open_parquet, parquet_columns

#: Options that have an effect on Parquet files on a cluster.
USED = frozenset(("data", "format", "target", "without"))


def check_cluster(source: DataOptions, others: Sequence[Path], is_explained: bool) -> list[str]:
    """Return the paths of the files; raise an error for options that do not go together."""
    if is_explained:
        raise click.UsageError(
            "--explain fits half-samples again and again, which must be in memory: leave out the cluster"
        )
    for name in sorted(source.given - USED):
        raise click.UsageError(
            f"{spelled(name)} is not for a cluster, where no worker has the whole table: do it before, or fit here"
        )
    if isinstance(source.target, tuple):
        raise click.UsageError(f"--target must be one column on a cluster; got {', '.join(source.target)}")
    paths = [found for path in (source.data, *others) for found in (sorted(glob(str(path))) or [str(path)])]
    for path in paths:
        check_there(Path(path))
        if Path(path).is_file() and Path(path).suffix.lower() not in PARQUET:
            raise click.UsageError(f"a cluster reads Parquet files; `ascd convert` makes one of a CSV file; got {path}")
    _check_same_columns([Path(path) for path in paths if Path(path).is_file()])
    return paths


def _check_same_columns(paths: list[Path]) -> None:
    first = parquet_columns(open_parquet(paths[0])) if paths else []
    for path in paths[1:]:
        names = parquet_columns(open_parquet(path))
        other = next((name for name in {*first} ^ {*names}), None)
        if other is not None:
            how = "has besides" if other in names else "lacks"
            raise ValueError(
                f"{path.name} {how} the column {other!r}, compared with {paths[0].name}: files that are fitted "
                "together must have the same columns"
            )


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Yield a client of a scheduler, or of workers that are started here and end with it."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--scheduler and --workers need dask: pip install ascd[dask]") from error
    if scheduler:
        try:
            client = Client(scheduler)
        except (OSError, ValueError, TimeoutError) as error:
            raise ConnectionError(f"no scheduler answers at {scheduler}: {error}") from None
        with client:
            say(f"cluster at {scheduler}, dashboard {client.dashboard_link}")
            yield client
        return
    with _started(LocalCluster, workers) as here, Client(here) as client:
        say(f"{workers} workers on this machine, dashboard {client.dashboard_link}")
        yield client


def _started(kind: Any, count: int | None) -> Any:
    """Return a cluster on this machine, started by a thread with Ctrl-C blocked.

    Its workers inherit that: they would end with a traceback each.  They end with this process.
    """
    made: Future[Any] = Future()

    def make() -> None:
        if hasattr(signal, "pthread_sigmask"):
            ensure_running()  # of multiprocessing, which unblocks Ctrl-C afterwards
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        options = {"silence_logs": logging.ERROR}  # what fails on a worker is reported here, in one line
        try:
            made.set_result(kind(n_workers=count, threads_per_worker=1, dashboard_address=":0", **options))
        except Exception as error:
            made.set_exception(error)

    Thread(target=make, daemon=True).start()
    return made.result()


def read_parts(source: DataOptions, paths: list[str]) -> tuple[LabeledData, str]:
    """Return the files as one table whose features stay on the workers, and a label."""
    import dask.dataframe as dd

    from ascd.matrix.dask_executors import computed

    frame = dd.read_parquet(paths)
    names = [str(name) for name in frame.columns]
    check_names(source.without, "column", names)
    files = [Path(path) for path in paths if Path(path).is_file()]
    stored = converted_target(open_parquet(files[0])) if files else None
    left = [name for name in names if name not in source.without]
    target = find_target(left, source.target or stored, optional=False)
    X, y = frame[[name for name in left if name != target]], as_target(computed(frame[target]))
    for name, kind in X.dtypes.items():
        if kind.kind not in "fiub":
            raise ValueError(
                f"column {name!r} holds text, or dates: on a cluster files must hold numbers; --without {name!r} "
                "leaves it out, and ascd fit without a cluster makes columns of 0 and 1 of it"
            )
    label = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"
    say(f"read {label}: {len(y):,} rows, {X.shape[1]:,} features in {X.npartitions} parts, target {target!r}")
    data = LabeledData(X, y, [str(name) for name in X.columns], target)
    check_targets(data, label, IN_FILE)
    return data, label
