"""What is no race to a gap: overhead on a tiny problem, the first fit of a fresh process, peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from race import cases, protocol, tasks

ROUNDS = 200
MEMORY_CASES = ("rcv1_sample", "easy sparse", "correlated 0.5", "mice_snp")
#: Import and first fit, as a user would write it.
FIRST_FIT = """
import time
import numpy as np
X = np.random.default_rng(0).standard_normal((100, 50))
y = X[:, 0] - X[:, 1]
{convert}
began = time.perf_counter()
from {module} import Lasso
imported = time.perf_counter()
Lasso(alpha=0.01).fit(X, y)
print(imported - began, time.perf_counter() - imported)
"""
TO_SPARSE = "import scipy.sparse as sp; X = sp.csc_matrix(X)"
MODULES = {"ascd": "ascd", "scikit-learn": "sklearn.linear_model", "celer": "celer", "skglm": "skglm"}


def estimators(peers):
    """The Lasso classes of the libraries at hand."""
    import importlib

    found = {}
    for name in (name for name in MODULES if name in peers):
        module = importlib.import_module(MODULES[name])
        if hasattr(module, "Lasso"):
            found[name] = module.Lasso
    return found


def tiny_overhead(peers, options):
    """Microseconds of Lasso.fit with intercept and default tolerance on 100 × 50, warm; the minimum of many in turn."""
    case = cases.tiny()
    alpha = tasks.strongest(case.X, case.y, "squared") / 20.0 / len(case.y)
    models = {name: model(alpha=alpha) for name, model in estimators(peers).items()}
    best = dict.fromkeys(models, float("inf"))
    with protocol.quiet(), protocol.threads_limited(1):
        for _ in range(ROUNDS):
            for name, model in models.items():
                began = time.perf_counter()
                model.fit(case.X, case.y)
                best[name] = min(best[name], time.perf_counter() - began)
    base = best.get("scikit-learn")
    return [
        {"peer": name, "microseconds": 1e6 * seconds, "scikit-learn": base and 1e6 * base}
        for name, seconds in best.items()
    ]


def first_fits(peers, options):
    """Seconds of the import and of the first fit in a fresh process: empty cache of compiled code, and a filled one."""
    rows = []
    for name in estimators(peers):
        for storage, convert in (("dense", ""), ("sparse", TO_SPARSE)):
            code = FIRST_FIT.format(module=MODULES[name], convert=convert)
            with tempfile.TemporaryDirectory() as folder:
                cold, *warm = [_seconds_of(code, folder) for _ in range(1 + max(1, options.repeats))]
            importing, fit = (min(column) for column in zip(*warm, strict=True))
            rows.append({"peer": name, "storage": storage, "import": importing, "cold": cold[1], "warm": fit})
    return rows


def _seconds_of(code, cache):
    """Seconds of the import and of the fit, without the start of the interpreter and the import of NumPy."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()[-2:]]


def peak_memory(peers, options):
    """Peak memory of a Lasso fit at λ_max/20 to gap 1e-6 above the input, each in a fresh process."""
    rows = []
    for name in (name for name in cases.names(options.case, options.quick) if name in MEMORY_CASES):
        for peer in (peer for peer in peers if peer in MODULES):
            code = f"from race.extras import print_peak; print_peak({peer!r}, {name!r}, {str(options.data)!r})"
            paths = os.pathsep.join([str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
            environment = os.environ | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
            if done.returncode == 0 and done.stdout.strip():
                rows.append({"peer": peer, "case": name, **json.loads(done.stdout)})
    return rows


def print_peak(peer_name, case_name, folder):
    """Run in the child: bytes of the input and two measures of the peak; nothing where the case is absent."""
    from race.peers import installed

    case = cases.get(case_name, folder)
    if case is None:
        return
    peer = installed(peer_name)[0][peer_name]
    protocol.warm_up({peer_name: peer}, ("lasso",), (case.storage,))
    task = tasks.make(case, "lasso", 20.0)
    tol = peer.start(task, 1e-6)
    resident = _resident_peak(peer, task, tol)
    tracemalloc.start()
    protocol.timed(peer, task, tol)
    traced = tracemalloc.get_traced_memory()[1]
    print(json.dumps({"storage": case.storage, "input": case.bytes, "traced": traced, "resident": resident}))


def _resident_peak(peer, task, tol):
    """Growth of the resident set's peak over a fit, where Linux lets a process reset it; else None.

    It counts memory that compiled code takes for itself, which tracemalloc does not see; tracemalloc in turn counts
    arrays whose pages were never touched.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    before = _status("VmRSS")
    protocol.timed(peer, task, tol)
    return max(0, _status("VmHWM") - before)


def _status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


EXTRAS = {"tiny": tiny_overhead, "start": first_fits, "memory": peak_memory}
