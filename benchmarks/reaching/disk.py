"""Data on a disk ten times (three times) as large as the memory allowed: passes over the file, time, memory.

Every fit runs in a process of its own; what the system remembers of the file is dropped before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from reaching.timing import show

ROWS = 4000
SIZE = 1.5e9
#: A process that fits a file and tells passes, seconds, what its memory grew by, the gap.
FIT = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np, ascd
from reaching.storage import Resident
path, memory, share = sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
small = np.asfortranarray(np.random.default_rng(0).standard_normal((300, 200)))
np.save(path + ".small.npy", small)
for tried in (ascd.open_data(path + ".small.npy"),):  # compiles
    problem = ascd.Problem(tried, small[:, 0], penalty=ascd.L1(1.0))
    ascd.solve(problem, tol=1e-8, intercept=True)
b, top = np.load(path + ".target.npy"), float(np.load(path + ".top.npy"))
data = ascd.open_data(path, memory=memory)
with Resident() as resident:
    start = time.perf_counter()
    if share > 0.0:
        problem = ascd.Problem(data, b, penalty=ascd.L1(top / share))
        found = ascd.solve(problem, tol=1e-6, intercept=True)
        gap, x = found.gap, found.x
    else:
        problem = ascd.Problem(data, b, penalty=ascd.L1(1.0))
        found = ascd.path(problem, n_alphas=100, eps=0.01, intercept=True, tol=1e-5, early_stop=False)
        gap, x = float(found.gaps.max()), found.coefs[:, -1]
    seconds = time.perf_counter() - start
gap, nonzero = gap / found.zero_objective, int(np.count_nonzero(x))
print(json.dumps([data.bytes_read / data.size, seconds, resident.grown / data.size, gap, nonzero, str(found.status)]))
"""


def run(options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for order in ("F", "C"):
            path, size = write(Path(folder), int(SIZE * options.scale), order)
            speed = bandwidth(path)
            cases = [(10, 0.1), (20, 0.1), (100, 0.1), (0, 0.1), (0, 1 / 3)] if order == "F" else [(20, 0.1)]
            rows += [row(options, path, size, speed, order, *case) for case in cases]
            path.unlink()
    head = ["file", "fit", "memory allowed", "passes", "seconds", "of bandwidth's", "memory taken", "gap", "nonzero"]
    show(f"Disk: {size / 1e9:.2f} GB; passes and memory in sizes of the file", head, rows)


def row(options, path, size, speed, order, share, allowed):
    forget(path)
    command = [sys.executable, "-c", FIT, str(options.here), str(path), str(allowed * size), str(share)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    kind, name = "columns" if order == "F" else "rows", f"λ_max/{share}" if share else "path of 100"
    if done.returncode:
        return [kind, name, f"{allowed:.2f}", *[""] * 5, done.stderr[-200:]]
    passes, seconds, memory, gap, nonzero, status = json.loads(done.stdout)
    print(f"  {kind}, {name}: {passes:.2f} passes, {seconds:.2f} s, {status}", flush=True)
    numbers = [f"{passes:.2f}", f"{seconds:.2f}", f"{seconds / (passes * size / speed):.2f}", f"{memory:.2f}"]
    return [kind, name, f"{allowed:.2f}", *numbers, f"{gap:.1e}", str(nonzero)]


def write(folder, size, order):
    """Blocks of 20 columns with a common part and 100 true coefficients, written block by block."""
    rng = np.random.default_rng(0)
    n = max(400, size // (8 * ROWS) // 400 * 400)
    path = folder / f"{order}.npy"
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(ROWS, n), fortran_order=order == "F")
    b = np.zeros(ROWS)
    chosen = set(rng.choice(n, 100, replace=False).tolist())
    for start in range(0, n, 400):
        common = np.repeat(rng.standard_normal((ROWS, 20)), 20, axis=1)
        block = 0.5 * common + rng.standard_normal((ROWS, 400))
        file[:, start : start + 400] = block
        for j in sorted(chosen & set(range(start, start + 400))):
            b += rng.standard_normal() * block[:, j - start]
    b += 0.1 * b.std() * rng.standard_normal(ROWS)
    b -= b.mean()
    top = max(float(np.abs(file[:, start : start + 400].T @ b).max()) for start in range(0, n, 400))
    file.flush()
    del file
    np.save(f"{path}.target.npy", b)
    np.save(f"{path}.top.npy", top)
    return path, 8 * ROWS * n


def bandwidth(path):
    """Bytes a second of one pass from the first byte to the last."""
    forget(path)
    start, size = time.perf_counter(), 0
    with path.open("rb") as file:
        while block := file.read(32 << 20):
            size += len(block)
    return size / (time.perf_counter() - start)


def forget(path):
    """Drop what the system keeps of the file in memory."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
