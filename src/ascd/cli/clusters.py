"""``ascd fit`` on a cluster of Dask's: files are read by its workers, and nothing of them comes here but the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import unknown_name
from ascd.cli.console import say
from ascd.cli.options import Source
from ascd.cli.reading import Loaded
from ascd.cli.unused import refuse_unused
from ascd.files import Table, guess_format
from ascd.files.separators import check_separator
from ascd.files.targets import target_of

#: What files may be in, to be read in parts.
IN_PARTS = ("parquet", "csv")
#: Options that change the table as a whole, which no worker has.
WHOLE = ("drop", "impute", "header", "memory")


class Cluster(NamedTuple):
    """Where to fit: a scheduler's address, or how many workers to start here."""

    scheduler: str | None
    workers: int | None

    @property
    def is_wanted(self) -> bool:
        return bool(self.scheduler or self.workers)


def check_cluster(cluster: Cluster, source: Source, files: int, is_explained: bool) -> None:
    """Refuse options that do not go together, before any work."""
    if files > 1 and not cluster.is_wanted:
        raise ValueError(f"{files} files can be fitted together on a cluster only: --workers 2 starts one here")
    if cluster.scheduler and cluster.workers:
        raise ValueError("--scheduler and --workers exclude each other: one names a cluster, the other starts one")
    if cluster.is_wanted and is_explained:
        raise ValueError("--explain fits half-samples again and again, which must be in memory: leave out the cluster")
    for name in WHOLE if cluster.is_wanted else ():
        if name in source.asked:
            raise ValueError(f"--{name} looks at the table as a whole, which no worker has: do it before, or fit here")


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """A client; workers that are started here end with it."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--scheduler and --workers need dask: pip install ascd[dask]") from error
    if cluster.scheduler:
        try:
            client = Client(cluster.scheduler)
        except (OSError, ValueError, TimeoutError) as error:
            raise ConnectionError(f"no scheduler answers at {cluster.scheduler}: {error}") from None
        with client:
            say(f"cluster at {cluster.scheduler}, dashboard {client.dashboard_link}")
            yield client
        return
    start = LocalCluster(n_workers=cluster.workers, threads_per_worker=1, dashboard_address=":0")
    with start as here, Client(here) as client:
        say(f"{cluster.workers} workers on this machine, dashboard {client.dashboard_link}")
        yield client


def read_parts(source: Source, others: Sequence[Path]) -> Loaded:
    """The files as one table whose features stay on the workers."""
    paths = [found for path in (source.data, *others) for found in (sorted(glob(str(path))) or [str(path)])]
    kinds = {source.format or guess_format(path) for path in paths}
    if len(kinds) > 1 or not kinds <= set(IN_PARTS):
        raise ValueError(f"on a cluster all files must be {' or all '.join(IN_PARTS)}; got {', '.join(sorted(kinds))}")
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        raise FileNotFoundError(f"no such file: {missing[0]}")
    kind = kinds.pop()
    refuse_unused(source, f"{kind} files on a cluster")
    frame = _frame(kind, paths, source)
    names = [str(name) for name in frame.columns]
    for name in source.without:
        if name not in names:
            raise unknown_name(name, "column", names)
    frame = frame.drop(columns=list(source.without))
    given = source.target if isinstance(source.target, tuple) else (source.target,)
    if len(given) > 1:
        raise ValueError(f"--target must be one column on a cluster; got {', '.join(map(str, given))}")
    target = target_of([name for name in names if name not in source.without], given[0] if given else None, False)
    X, y = frame.drop(columns=[target]), np.asarray(frame[target].compute())
    label = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"
    say(f"read {label}: {len(y):,} rows, {X.shape[1]:,} features in {X.npartitions} parts, target {target!r}")
    return Loaded(Table(X, y, [str(name) for name in X.columns], target), label)


def _frame(kind: str, paths: list[str], source: Source) -> Any:
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise ImportError("--scheduler and --workers need dask's tables: pip install ascd[dask]") from error
    if kind == "parquet":
        return dd.read_parquet(paths)
    check_separator(source.dialect.sep)
    return dd.read_csv(
        paths, sep=source.dialect.sep or ",", decimal=source.decimal or ".", na_values=list(source.na) or None
    )
