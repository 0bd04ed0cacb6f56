"""Where the time of a fit goes, with one thread and with more: what is shared among them, and what is not.

Seconds of each phase, less those of the phases inside it; those of folds side by side add up.  *Shared* is the part of
a phase in which several threads have work: what is left of it with many threads is what they cannot shorten.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from unittest.mock import patch

from ascd.solver.assessment import Assessment
from ascd.solver.choosing import WorkingSets
from ascd.solver.column_model import ColumnModel
from ascd.solver.gradient_bounds import GradientBounds
from ascd.solver.gram_model import GramModel
from ascd.solver.samples import Samples

from ascd._core import threads as pool
from ascd.estimators import _folds
from ascd.matrix.dense import DenseMultiplier
from ascd.matrix.local import Local
from ascd.matrix.sparse import SparseMultiplier
from ascd.problem import problem
from ascd.solver import assessment
from reaching.timing import show

#: phase → functions, each as the object that holds it and its name
PHASES = {
    "first pass": [(Local, "survey")],
    "gradient entries": [(Local, "dots"), (Local, "careful_dots")],
    "images": [(Local, "add")],
    "row lists": [(SparseMultiplier, "_list")],
    "products": [(SparseMultiplier, "fill"), (DenseMultiplier, "fill")],
    "sweeps over columns": [(ColumnModel, "minimise")],
    "columns taken": [(ColumnModel, "__init__")],
    "sweeps over products": [(GramModel, "minimise")],
    "Newton steps": [(GramModel, "_newton_step")],
    "losses": [(Samples, name) for name in ("evaluate", "gap", "secants")],
    "slopes compared": [(Samples, "keep"), (Samples, "compare")],
    "intervals": [(GradientBounds, "locate"), (GradientBounds, "read")],
    "screening": [(Assessment, "screen"), (Assessment, "measure"), (WorkingSets, "task")],
    "certificate": [(assessment, "prove")],
    "data opened": [(problem, "open_design")],
}
REST, WAITING = "everything else", "waiting for folds"
#: What a fold does beside is the rest; where folds run side by side, the thread that began them waits.
FOLDS = {WAITING: [(_folds, "side_by_side")], REST: [(_folds, "_with_threads")]}


#: Seconds of phases that are worth a line.
SEEN = 5e-4


class Watch:
    """Seconds of each phase, and how many of them several threads share."""

    def __init__(self):
        self.seconds, self.shared = defaultdict(float), defaultdict(float)
        self.here, self.lock, self.whole = threading.local(), threading.Lock(), 0.0

    @contextmanager
    def phase(self, name):
        """What happens inside belongs to this phase, and not to the one around it."""
        stack = self.here.__dict__.setdefault("stack", [])
        stack.append([name, 0.0])
        start = time.perf_counter()
        try:
            yield
        finally:
            taken, (_, inside) = time.perf_counter() - start, stack.pop()
            if stack:
                stack[-1][1] += taken
            with self.lock:
                self.seconds[name] += taken - inside

    def timed(self, name, function):
        @wraps(function)
        def call(*args, **kwargs):
            with self.phase(name):
                return function(*args, **kwargs)

        return call

    def counted(self, run_together):
        """Work that is shared counts for the phase that shares it."""

        def call(tasks):
            start = time.perf_counter()
            run_together(tasks)
            stack = self.here.__dict__.get("stack")
            with self.lock:
                self.shared[stack[-1][0] if stack else REST] += time.perf_counter() - start

        return call


@contextmanager
def watched():
    """Seconds of the phases of what runs inside."""
    watch = Watch()
    with ExitStack() as patches:
        for name, functions in (PHASES | FOLDS).items():
            for owner, function in functions:
                patches.enter_context(patch.object(owner, function, watch.timed(name, getattr(owner, function))))
        patches.enter_context(patch.object(pool, "run_together", watch.counted(pool.run_together)))
        start = time.perf_counter()
        with watch.phase(REST):
            yield watch
        watch.whole = time.perf_counter() - start


def run(fits, jobs, repeats):
    """A table a fit: the run of each number of threads that took least."""
    for name, fit in fits.items():
        watches = {count: quickest(partial(fit, count), repeats) for count in (1, *jobs)}
        rows = [row(phase, watches, jobs) for phase in (*PHASES, REST) if watches[1].seconds[phase] >= SEEN]
        head = ["phase", "seconds, one thread"]
        for count in jobs:
            head += [f"{count} threads", "shared", "times faster"]
        show(f"Phases of {name}", head, [*rows, total(watches, jobs)])


def quickest(fit, repeats):
    fit()  # compiles
    watches = []
    for _ in range(repeats):
        with watched() as watch:
            fit()
        watches.append(watch)
    return min(watches, key=lambda watch: watch.whole)


def row(phase, watches, jobs):
    alone, cells = watches[1].seconds[phase], []
    for count in jobs:
        now = watches[count].seconds[phase]
        cells += [f"{now:.3f}", f"{watches[count].shared[phase]:.3f}", f"{alone / max(now, 1e-9):.1f}"]
    return [phase, f"{alone:.3f}", *cells]


def total(watches, jobs):
    alone, cells = watches[1].whole, []
    for count in jobs:
        now, shared = watches[count].whole, sum(watches[count].shared.values())
        cells += [f"{now:.3f}", f"{shared:.3f}", f"{alone / now:.1f}"]
    return ["from beginning to end", f"{alone:.3f}", *cells]
