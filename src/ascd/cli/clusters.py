"""``ascd fit`` on a cluster of Dask's: files are read by its workers, and nothing of them comes here but the target."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from glob import glob
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import click

from ascd.cli.alike import check_alike
from ascd.cli.console import say
from ascd.cli.options import Source
from ascd.cli.reading import OUTSIDE, Loaded, check_targets
from ascd.cli.unused import refuse_unused
from ascd.cli.usage import as_usage, check_there
from ascd.files import Dialect, Recipe, Table, guess_format
from ascd.files.dialect import detect
from ascd.files.reading import as_written, column_name, column_names, csv_options
from ascd.files.separators import OPENERS, check_separator
from ascd.files.targets import as_target, named_column, target_of
from ascd.matrix.dask_cluster import computed

#: What files may be in, to be read in parts.
IN_PARTS = ("parquet", "csv")
#: Options that change the table as a whole, which no worker has.
WHOLE = ("drop", "impute", "memory")


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
        raise click.UsageError(f"{files} files can be fitted together on a cluster only: --workers 2 starts one here")
    if cluster.scheduler and cluster.workers:
        raise click.UsageError(
            "--scheduler and --workers exclude each other: one names a cluster, the other starts one"
        )
    if cluster.is_wanted and is_explained:
        raise click.UsageError(
            "--explain fits half-samples again and again, which must be in memory: leave out the cluster"
        )
    for name in WHOLE if cluster.is_wanted else ():
        if name in source.asked:
            raise click.UsageError(
                f"--{name} looks at the table as a whole, which no worker has: do it before, or fit here"
            )


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
    with _workers(LocalCluster, cluster.workers) as here, Client(here) as client:
        say(f"{cluster.workers} workers on this machine, dashboard {client.dashboard_link}")
        yield client


def _workers(kind: Any, count: int | None) -> Any:
    """A cluster on this machine, started by a thread that does not hear Ctrl-C.

    Its workers do not either, which would end with a traceback each; they end with this process, which does.
    """
    made: Future[Any] = Future()

    def make() -> None:
        if hasattr(signal, "pthread_sigmask"):
            ensure_running()  # of multiprocessing, which hears Ctrl-C again after this
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        quiet = {"silence_logs": logging.ERROR}  # what fails on a worker is told here, in one line
        try:
            made.set_result(kind(n_workers=count, threads_per_worker=1, dashboard_address=":0", **quiet))
        except Exception as error:
            made.set_exception(error)

    Thread(target=make, daemon=True).start()
    return made.result()


class Parts(NamedTuple):
    """Files with the same columns, in one format, and how they are written where that is CSV."""

    paths: list[str]
    kind: str
    written: Dialect | None


def find_parts(source: Source, others: Sequence[Path]) -> Parts:
    """The files; wrong ones are refused before a worker is asked."""
    paths = [found for path in (source.data, *others) for found in (sorted(glob(str(path))) or [str(path)])]
    kind = _kind_of(paths, source)
    refuse_unused(source, f"{kind} files on a cluster")
    if isinstance(source.target, tuple):
        raise click.UsageError(f"--target must be one column on a cluster; got {', '.join(source.target)}")
    written = _written(paths, source) if kind == "csv" else None
    check_alike(paths, written)
    return Parts(paths, kind, written)


def read_parts(source: Source, parts: Parts) -> Loaded:
    """The files as one table whose features stay on the workers."""
    paths, _, written = parts
    frame = _frame(paths, written, source)
    names = [str(name) for name in frame.columns]
    for name in source.without:
        named_column(name, "column", names)
    frame = frame.drop(columns=list(source.without))
    chosen = column_name(source.target, written.header) if written else source.target
    target = target_of([name for name in names if name not in source.without], chosen, False)
    X, y = frame.drop(columns=[target]), as_target(computed(frame[target]))
    _check_numbers(X)
    label = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"
    say(f"read {label}: {len(y):,} rows, {X.shape[1]:,} features in {X.npartitions} parts, target {target!r}")
    for note in (written.words, *written.notes) if written else ():
        say(f"  {' '.join(note.split())}")
    recipe = Recipe(written=as_written(written, source.na)) if written else Recipe()
    table = Table(X, y, [str(name) for name in X.columns], target, recipe=recipe)
    check_targets(table, label, OUTSIDE)
    return Loaded(table, label)


def _kind_of(paths: list[str], source: Source) -> str:
    """The format of all files, which must be there."""
    with as_usage():
        check_separator(source.dialect.sep)
        kinds = {source.format or guess_format(path) for path in paths}
    if len(kinds) > 1 or not kinds <= set(IN_PARTS):
        told = ", ".join(sorted(kinds))
        raise click.UsageError(f"on a cluster all files must be {' or all '.join(IN_PARTS)}; got {told}")
    for path in paths:
        check_there(Path(path))
    return kinds.pop()


def _written(paths: list[str], source: Source) -> Dialect:
    """How the CSV files are written, found out from the beginning of each: all must be written in the same way."""
    found = {path: detect(Path(path), source.dialect) for path in paths}
    marked = next((path for path in paths if found[path].is_marked), paths[0])
    first = found[marked]
    for path, other in found.items():
        same = other._replace(notes=first.notes, as_text=first.as_text)
        same = same if other.is_marked else same._replace(decimal=first.decimal, thousands=first.thousands)
        if same._replace(is_marked=True) != first._replace(is_marked=True):
            raise ValueError(
                f"the files are written in different ways: {Path(marked).name} has {first.words}, {Path(path).name} "
                f"has {other.words}; --sep, --decimal and --no-header hold for all of them"
            )
    return first


def _frame(paths: list[str], written: Dialect | None, source: Source) -> Any:
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise ImportError("--scheduler and --workers need dask's tables: pip install ascd[dask]") from error
    if written is None:
        return dd.read_parquet(paths)
    is_packed = any(Path(path).suffix.lower() in OPENERS for path in paths)
    is_plain = not is_packed and written.encoding in ("utf-8-sig", "cp1252")
    whole = {} if is_plain else {"blocksize": None}  # others have no middle to begin at
    options = {**csv_options(written, source.na), **whole}
    seen = dd.read_csv(paths, **options).dtypes
    further = {name: _further_on(kind) for name, kind in seen.items() if kind.kind not in "fb"}
    frame = dd.read_csv(paths, **{**options, "dtype": {**(options["dtype"] or {}), **further}})
    return frame.rename(columns=dict(zip(frame.columns, column_names(list(frame.columns), written), strict=True)))


def _further_on(kind: Any) -> Any:
    """The type of a column in all parts: whole numbers may become decimals or gaps, and words numbers, as in 07."""
    return "float64" if kind.kind in "iu" else str


@contextmanager
def words_told() -> Iterator[None]:
    """Tell of words that begin further on than Dask has looked, where its own error shows tables and advises code."""
    try:
        yield
    except ValueError as error:
        found = re.search(r"\n\| (.+?) +\| \w+ +\| float64", str(error))
        if not found or "Mismatched dtypes" not in str(error):
            raise
        word = re.search(r"could not convert string to float: ('.*?')", str(error))
        told = f", the first {word[1]}" if word else ""
        raise ValueError(
            f"column {found[1]!r} begins with numbers and has words further on{told}: mend them, name them with --na, "
            f"or leave the column out with --without {found[1]!r}"
        ) from error


def _check_numbers(X: Any) -> None:
    """Refuse text, which would have to be looked through as a whole."""
    for name, kind in X.dtypes.items():
        if kind.kind not in "fiub":
            raise ValueError(
                f"column {name!r} holds text, or dates: on a cluster files must hold numbers; --without {name!r} "
                "leaves it out, and ascd fit without a cluster makes columns of 0 and 1 of it"
            )
