"""Storage as it comes: float32 and row-major data against float64 columns, and what a fit copies of them."""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import partial

import numpy as np

import ascd
from reaching import generated
from reaching.timing import in_turns, show

#: A process that makes the data, fits them, and tells what its memory grew by, as a share of them.
MEMORY = """
import sys, numpy as np, ascd
sys.path.insert(0, sys.argv[3])
from reaching import generated
from reaching.storage import FORMS, peak
small, b = generated.dense(2000, 4000)
big = FORMS[sys.argv[1]](generated.dense(4000, int(sys.argv[2]))[0] if sys.argv[2] != "0" else small)
b = np.random.default_rng(0).standard_normal(big.shape[0]) + np.asarray(big[:, :5].sum(axis=1), dtype=float).ravel()
warm = FORMS[sys.argv[1]](generated.dense(2000, 2100)[0])
c = b[:2000]
top = float(abs(np.asarray(warm.T @ c)).max())
ascd.solve(ascd.Problem(warm, c, penalty=ascd.L1(top / 20)), tol=1e-6)
top = float(max(abs(big[:, k:k + 500].T.astype(float) @ b).max() for k in range(0, big.shape[1], 500)))
before = peak()
solution = ascd.solve(ascd.Problem(big, b, penalty=ascd.L1(top / 20)), tol=1e-6)
size = big.nbytes if isinstance(big, np.ndarray) else big.data.nbytes + big.indices.nbytes + big.indptr.nbytes
print((peak() - before) / size, solution.status.value)
"""


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


def peak():
    """The most memory this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(options):
    A, b = generated.dense(4000, int(100_000 * options.scale))
    top = generated.largest(A, b)
    data = {name: FORMS[name](A) for name in ("float64 columns", "float64 rows", "float32 columns", "float32 rows")}
    fits = {name: partial(fit, X, b, top / 20) for name, X in data.items()}
    seconds, answers = in_turns(fits, options.repeats)
    rows = [
        [name, f"{seconds[name]:.3f}", f"{seconds[name] / seconds['float64 columns']:.2f}", f"{answers[name].gap:.1e}"]
        for name in fits
    ]
    show(
        f"Storage: Lasso {A.shape[0]} x {A.shape[1]}, λ_max/20", ["data", "seconds", "of float64 columns", "gap"], rows
    )
    del A, data, fits
    memory(options)


def fit(X, b, strength):
    return ascd.solve(ascd.Problem(X, b, penalty=ascd.L1(strength)), tol=1e-6)


def memory(options):
    """What a fit copies, in a process of its own."""
    rows = []
    for name in FORMS:
        command = [sys.executable, "-c", MEMORY, name, str(int(60_000 * options.scale)), str(options.here)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows.append([name, *(done.stdout.split() if done.returncode == 0 else [done.stderr[-200:], "failed"])])
    show("Memory that a fit takes beside the data, as a share of them", ["data", "share", "status"], rows)
