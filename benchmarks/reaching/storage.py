"""Storage as it comes: float32 and row-major data against float64 columns, and what a fit copies of them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np

import ascd
from reaching import generated
from reaching.timing import in_turns, show

#: A process that makes the data, fits others like them (to compile), fits them, and tells what its memory grew by.
MEMORY = """
import sys
sys.path.insert(0, sys.argv[3])
import numpy as np, ascd
from ascd.matrix import costs
from reaching.storage import FORMS, Resident, fit
from reaching import generated
form = FORMS[sys.argv[1]]
costs.SMALL_DATA = 0
fit(form(generated.dense(400, 300)[0]), generated.dense(400, 300)[1], 200.0)
A, b = generated.dense(4000, int(sys.argv[2]))
strength = generated.largest(A, b) / 20
X = form(A)
if X is not A:
    del A
size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
with Resident() as resident:
    solution = fit(X, b, strength)
print(f"{size / 1e6:.0f} {resident.grown / size:.3f} {solution.status.value}")
"""


class Resident:
    """The memory of this process while something runs: what it has grown by, at most."""

    def __enter__(self):
        self.start, self.most, self.ends = self.now(), 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def __exit__(self, *error):
        self.ends.set()
        self.watcher.join()
        self.grown = max(0, self.most - self.start)

    def watch(self):
        while not self.ends.wait(0.002):
            self.most = max(self.most, self.now())

    @staticmethod
    def now():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def as_csr(A):
    import scipy.sparse as sp

    return sp.csr_array(np.where(A > 1.2, A, 0.0))


FORMS = {
    "float64 columns": lambda A: A,
    "float64 rows": np.ascontiguousarray,
    "float32 columns": lambda A: np.asfortranarray(A, dtype=np.float32),
    "float32 rows": lambda A: np.ascontiguousarray(A, dtype=np.float32),
    "int8 columns": lambda A: np.asfortranarray(np.clip(np.round(20.0 * A), -127, 127), dtype=np.int8),
    "sparse rows": as_csr,
}


def run(options):
    A, b = generated.dense(4000, int(100_000 * options.scale))
    top = generated.largest(A, b)
    data = {name: FORMS[name](A) for name in ("float64 columns", "float64 rows", "float32 columns", "float32 rows")}
    for jobs in sorted({1, *options.jobs}):  # one core may be bound by arithmetic; all of them share one memory
        fits = {name: partial(fit, X, b, top / 20, jobs) for name, X in data.items()}
        seconds, answers = in_turns(fits, options.repeats)
        rows = [[name, f"{seconds[name]:.3f}", f"{seconds[name] / seconds['float64 columns']:.2f}"] for name in fits]
        title = f"Storage: Lasso {A.shape[0]} x {A.shape[1]}, λ_max/20, n_jobs={jobs}"
        gaps = [f"{answers[name].gap:.1e}" for name in fits]
        head = ["data", "seconds", "of float64 columns", "gap"]
        show(title, head, [[*row, gap] for row, gap in zip(rows, gaps, strict=True)])
    del A, data, fits
    memory(options)


def fit(X, b, strength, jobs=1):
    return ascd.solve(ascd.Problem(X, b, penalty=ascd.L1(strength), n_jobs=jobs), tol=1e-6, n_jobs=jobs)


def memory(options):
    """What a fit copies, in a process of its own."""
    rows = []
    for name in FORMS:
        command = [sys.executable, "-c", MEMORY, name, str(int(60_000 * options.scale)), str(options.here)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows.append([name, *(done.stdout.split() if done.returncode == 0 else ["", done.stderr[-200:], "failed"])])
    show("Memory that a fit takes beside the data, as a share of them", ["data", "MB", "share", "status"], rows)
