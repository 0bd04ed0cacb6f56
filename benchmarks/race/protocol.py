"""Equal precision for everybody: falling tolerances until the recomputed gap is reached, then timed repeats in turn.

Searching.  A peer is run from scratch with falling tolerances until its recomputed relative gap is at most the target;
where the first tolerance already succeeds, it is loosened as long as it does.  So the loosest success counts.  The
search stops where a fit takes longer than the budget, or all of them ``PATIENCE`` times as long ("not reached"), or
where ``STALLED`` smaller tolerances in a row change nothing.  It runs in a forked process that can be stopped, because
compiled code cannot be interrupted; where the system cannot fork, it runs here and is not stopped.  With the clock of
the processor it is the system that stops a fit, after so many seconds of its own work: other work costs it nothing.

Timing.  Each peer's fit with the tolerance of its first success is repeated, peers taking turns; the minimum counts.
Short fits are repeated more often, up to ``LITTLE`` seconds a peer, long ones less, down to ``ENOUGH``.
Peers that need more than ``CHEAP`` seconds and ``FAR`` times the fastest's keep the time of their search.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import time
import warnings
from dataclasses import dataclass

import numpy as np

from race import tasks
from race.peers.base import Failed

FAR, CHEAP = 4.0, 1.0
GRACE = 2.0
ENOUGH = 10.0
LITTLE, MOST = 0.2, 100
STALLED = 6
MILESTONE = 1e-3
PATIENCE = 4.0
LOOSEST = 10.0
#: Clocks by name.  The processor's tells the work of one thread on a machine that does other work too.
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


@dataclass
class Run:
    """One fit: what was asked, how long it took, what came out."""

    tol: float
    seconds: float
    gap: float
    nonzero: int
    reads: int | None = None


@dataclass
class Result:
    """A peer's time at a target; ``seconds`` is None where it was not reached."""

    seconds: float | None
    tol: float | None
    gap: float
    nonzero: int
    reads: int | None
    repeats: int = 0


@contextlib.contextmanager
def quiet():
    """Convergence is judged by the recomputed gap, not by warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def threads_limited(threads):
    """At most so many threads in BLAS and OpenMP; None leaves the defaults."""
    if threads is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads):
        yield


def timed(peer, task, tol, threads=1):
    """One fit by the clock of the peer, which all share."""
    clock = CLOCKS[peer.clock]
    with quiet():
        began = clock()
        answer = peer.fit(task, tol, threads)
        seconds = clock() - began
    return answer, seconds if answer.seconds is None else answer.seconds


def run(peer, task, tol):
    answer, seconds = timed(peer, task, tol)
    last = answer.coef[:, -1] if answer.coef.ndim == 2 else answer.coef
    return Run(tol, seconds, task.gap(answer), int(np.count_nonzero(last)), answer.reads)


class Search:
    """Runs of one peer on one task, each tolerance once."""

    def __init__(self, peer, task, budget, report):
        self.peer, self.task, self.budget, self.report = peer, task, budget, report
        self.runs: dict[int, Run] = {}  # by the number of steps down from tolerance 1
        self.over = False

    def at(self, step):
        """The run with tolerance factor^−step."""
        if step not in self.runs:
            self.runs[step] = run(self.peer, self.task, self.peer.factor**-step)
            self.report(self.runs[step])
            last, total = self.runs[step].seconds, sum(one.seconds for one in self.runs.values())
            self.over = self.over or last > self.budget or total > PATIENCE * self.budget
        return self.runs[step]

    def reach(self, target):
        """Look for the loosest tolerance that reaches the target."""
        step = round(-math.log(self.peer.start(self.task, target)) / math.log(self.peer.factor))
        if self.at(step).gap <= target:
            while not self.over and self.at(step - 1).gap <= target and self.peer.factor**-step < LOOSEST:
                step -= 1
            return
        best, since = self.at(step).gap, 0
        while not self.over and since < STALLED and self.peer.factor ** -(step + 1) >= self.peer.floor:
            step += 1
            gap = self.at(step).gap
            if gap <= target:
                return
            since = 0 if gap < best else since + 1
            best = min(best, gap)


def search(peer, task, targets, budget, report):
    """Report every run of the search for each target, the easiest first.

    The milestone before them gives those that get no further a gap to show.
    """
    looking = Search(peer, task, budget, report)
    for target in sorted({MILESTONE, *targets}, reverse=True):
        if not looking.over:
            looking.reach(target)


def searched(peer, task, targets, budget):
    """All runs of a search, in a process of its own where that is possible."""
    runs: list[Run] = []
    if not (peer.forked and hasattr(os, "fork")):
        with contextlib.suppress(Failed):
            search(peer, task, targets, budget, runs.append)
        return runs
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_search_in_child, args=(theirs, peer, task, targets, budget))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forking where threads exist
        child.start()
    theirs.close()
    patience = None if peer.clock == "processor" else budget + GRACE
    with contextlib.suppress(EOFError):
        while ours.poll(patience):
            runs.append(ours.recv())
    child.kill()
    child.join()
    return runs


def _search_in_child(pipe, peer, task, targets, budget):
    def report(one):
        pipe.send(one)
        _limit_work(peer, budget)

    _limit_work(peer, budget)
    with contextlib.suppress(Failed):
        search(peer, task, targets, budget, report)
    pipe.close()


def _limit_work(peer, budget):
    """Let the system end this process where the next fit takes longer than the budget by the processor's clock."""
    if peer.clock == "processor":
        import resource

        seconds = math.ceil(time.process_time() + budget + GRACE)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def first_success(runs, target):
    """The run with the loosest tolerance that reached the target."""
    return max((one for one in runs if one.gap <= target), key=lambda one: one.tol, default=None)


def race(peers, task, targets, repeats=3, budget=60.0, threads=(1,)):
    """{(target, threads): {peer: Result}}; searches use one thread."""
    able = {name: peer for name, peer in peers.items() if task.kind in peer.kinds}
    with threads_limited(1):
        runs = {name: searched(peer, task, targets, budget) for name, peer in able.items()}
    results = {}
    for count in threads:
        with threads_limited(count):
            for target in targets:
                results[target, count] = timings(able, task, target, runs, repeats, count)
    return results


def timings(peers, task, target, runs, repeats, threads):
    """The minimum over repeats in turn, for all peers that reach the target."""
    chosen = {name: first_success(found, target) for name, found in runs.items()}
    results = {name: _result(chosen[name], runs[name]) for name in peers}
    best = min((one.seconds for one in chosen.values() if one), default=0.0)
    near = [name for name, one in chosen.items() if one and one.seconds <= max(CHEAP, FAR * best)]
    times: dict[str, list[float]] = {name: [] for name in near}
    waiting = near if repeats else []
    while waiting:
        for name in waiting:
            with contextlib.suppress(Failed):
                times[name].append(timed(peers[name], task, chosen[name].tol, threads)[1])
        waiting = [name for name in waiting if times[name] and _unsettled(times[name], repeats)]
    for name in near:
        results[name].seconds = min(times[name], default=results[name].seconds)
        results[name].repeats = len(times[name])
    return results


def _unsettled(times, repeats):
    """Whether a fit is to be timed again."""
    return sum(times) < (ENOUGH if len(times) < repeats else LITTLE) and len(times) < MOST


def _result(one, runs):
    if one is not None:
        return Result(one.seconds, one.tol, one.gap, one.nonzero, one.reads)
    best = min(runs, key=lambda other: other.gap, default=Run(np.nan, np.nan, np.inf, 0))
    return Result(None, None, best.gap, best.nonzero, best.reads)


def warm_up(peers, kinds, storages=("dense", "sparse")):
    """Compile everything on small tasks: seconds of each peer's first fits, and what it turned out unable to do here.

    An installed version may not work with the others installed; such a peer is left out of that kind of task.
    """
    spent, unable = dict.fromkeys(peers, 0.0), {}
    for kind in kinds:
        for storage in storages:
            task = tasks.small(kind, storage)
            for name in (name for name in peers if kind in peers[name].kinds):
                try:
                    spent[name] += timed(peers[name], task, 1e-4)[1]
                except Failed as error:  # with this storage; it stays in the races of the other
                    unable[f"{name} for {kind}, {storage}"] = str(error)
                except Exception as error:
                    unable[f"{name} for {kind}, {storage}"] = f"{type(error).__name__}: {error}"
                    peers[name].kinds = tuple(other for other in peers[name].kinds if other != kind)
    return spent, unable
