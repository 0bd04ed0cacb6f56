"""Do all jobs, two at a time, with a progress bar; each is stored as it finishes.

Jobs that compile the same kernels (the seeds of a method) are done by one worker one after the other, so that nothing
is compiled twice.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ascd.experiments.jobs import Job, Plan
from ascd.experiments.measure import measure
from ascd.experiments.store import Store


def conduct(plan: Plan, folder: Path, workers: int = 2, quiet: bool = False) -> int:
    """Do what is not done yet; returns how many jobs were."""
    store = Store(folder)
    left = [job for job in plan.jobs.values() if store.find(job) is None]
    bundles = sorted(_bundles(left), key=lambda bundle: -sum(job.cost for job in bundle))
    with _progress(sum(job.cost for job in left), quiet) as advance:
        if workers <= 1:
            for bundle in bundles:
                advance(_do(bundle, folder), bundle)
            return len(left)
        _share(bundles, folder, workers, advance)
    return len(left)


def _share(bundles: list[list[Job]], folder: Path, workers: int, advance: Any) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_die_on_interrupt) as pool:
        waiting = {pool.submit(_do, bundle, folder): bundle for bundle in bundles}
        try:
            for done in as_completed(waiting):
                advance(done.result(), waiting[done])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():  # Ctrl-C reaches them too, `kill` does not
                worker.terminate()
            raise


def _die_on_interrupt() -> None:
    """A worker ends at Ctrl-C at once: what it has stored is whole, what it was doing is done again."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _do(bundle: list[Job], folder: Path) -> str:
    """Do some jobs in order; returns what they were."""
    store = Store(folder)
    for job in bundle:
        store.keep(job, measure(job.kind, job.parameters))
    return describe(bundle[0])


def describe(job: Job) -> str:
    """A job in a few words.

    Examples
    --------
    >>> from ascd.experiments.conduct import describe
    >>> from ascd.experiments.jobs import Job
    >>> describe(Job("descent", {"problem": "lasso", "rule": "ascd", "oracle": "norm", "features": 10}))
    'lasso n = 10, ascd norm'
    """
    if job.kind == "descent":
        return "{problem} n = {features}, {rule} {oracle}".format(**job.parameters)
    return job.kind


def _bundles(jobs: list[Job]) -> list[list[Job]]:
    """Jobs that differ in their seed alone."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        rest = {key: value for key, value in job.parameters.items() if key != "seed"}
        groups.setdefault(Job(job.kind, rest).name, []).append(job)
    return list(groups.values())


@contextmanager
def _progress(total: float, quiet: bool) -> Iterator[Any]:
    """Yield advance(what, bundle); the bar shows the share of the estimated work and the time that remains."""
    if quiet:
        yield lambda what, bundle: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("running"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[last]}"),
    )
    with Progress(*columns, speed_estimate_period=300.0, console=Console(stderr=True)) as bar:
        task = bar.add_task("run", total=max(total, 1e-9), last="")
        yield lambda what, bundle: bar.update(task, advance=sum(job.cost for job in bundle), last=what)
