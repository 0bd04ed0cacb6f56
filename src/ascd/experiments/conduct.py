"""Do all jobs, some at a time; each is stored, and told in a line, as it finishes.

Jobs that compile the same kernels (the seeds of a method) are done by one worker one after the other, so that nothing
is compiled twice.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from ascd.experiments.jobs import Job, Plan
from ascd.experiments.measure import measure
from ascd.experiments.store import Store

Log = Callable[[str], None]


def conduct(plan: Plan, folder: Path, workers: int = 2, log: Log | None = None) -> int:
    """Do what is not done yet; returns how many jobs were.  ``log`` gets a line a finished group of jobs."""
    store = Store(folder)
    left = [job for job in plan.jobs.values() if store.find(job) is None]
    bundles = sorted(_bundles(left), key=lambda bundle: -sum(job.cost for job in bundle))
    tally = Tally(len(plan.jobs), len(plan.jobs) - len(left), sum(job.cost for job in left), log)
    if workers <= 1:
        for bundle in bundles:
            _do(bundle, folder)
            tally.add(bundle)
    else:
        _share(bundles, folder, workers, tally)
    return len(left)


class Tally:
    """Counts what is done, and says it with an estimate of the time that is left."""

    def __init__(self, total: int, done: int, cost: float, log: Log | None) -> None:
        self.total, self.done, self.cost, self.log = total, done, cost, log
        self.began, self.spent = time.monotonic(), 0.0
        if done and log:
            log(f"{done} of {total} runs are there already")

    def add(self, bundle: list[Job]) -> None:
        """A group of jobs is done."""
        self.done += len(bundle)
        self.spent += sum(job.cost for job in bundle)
        if self.log is None:
            return
        elapsed = time.monotonic() - self.began
        left = elapsed * (self.cost - self.spent) / self.spent
        seeds = f", {len(bundle)} seeds" if len(bundle) > 1 else ""
        width = len(str(self.total))
        ahead = f"about {in_words(left)} left" if self.done < self.total else f"{in_words(elapsed)} in all"
        self.log(f"[{self.done:{width}d}/{self.total}] {describe(bundle[0])}{seeds}; {ahead}")


def in_words(seconds: float) -> str:
    """A duration for people.

    Examples
    --------
    >>> from ascd.experiments.conduct import in_words
    >>> in_words(3.2), in_words(125.0), in_words(5400.0)
    ('3 s', '2 min', '1.5 h')
    """
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 3600.0 else f"{seconds / 3600.0:.1f} h"


def _share(bundles: list[list[Job]], folder: Path, workers: int, tally: Tally) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_die_on_interrupt) as pool:
        try:
            with _holding_back():
                waiting = {pool.submit(_do, bundle, folder): bundle for bundle in bundles}
            for done in as_completed(waiting):
                done.result()
                tally.add(waiting[done])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():  # Ctrl-C reaches them too, `kill` does not
                worker.terminate()
            raise


@contextmanager
def _holding_back() -> Iterator[None]:
    """Hold Ctrl-C back for a moment; workers that are started in it do so until they know how to end at it.

    Else a worker that is still importing would end with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_on_interrupt() -> None:
    """A worker ends at Ctrl-C at once: what it has stored is whole, what it was doing is done again."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _do(bundle: list[Job], folder: Path) -> None:
    """Do some jobs in order."""
    store = Store(folder)
    for job in bundle:
        store.keep(job, measure(job.kind, job.parameters))


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
