"""What a fresh process and a whole run cost: the first minimize, and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tracemalloc

import numpy as np
import scipy.sparse as sp

import ascd

FIRST_RUN = """
import numpy as np, ascd
A = np.random.default_rng(0).standard_normal((100, {n}))
problem = ascd.Problem(A, A[:, 0] - A[:, 1], penalty=ascd.L1(10.0))
print(ascd.minimize(problem, rule={rule!r}).status)
"""


def start(quick):
    """Import and first minimize with an empty and with a filled cache of compiled code; the import alone."""
    for rule, n in (("a-ascd", 1000), ("ascd", 1000), ("a-ascd", 3000)):  # lazy selection from 1500 on
        with tempfile.TemporaryDirectory() as folder:
            cold, *warm = [_seconds_of(FIRST_RUN.format(rule=rule, n=n), folder) for _ in range(4)]
        yield {"what": f"import + first minimize, {rule}, n = {n}", "cold": cold, "warm": _least(warm)}
    yield {"what": "import alone", "cold": None, "warm": _least([_seconds_of("import ascd", "") for _ in range(4)])}


def _least(times):
    return np.min(times, axis=0).tolist()


def _seconds_of(code, cache):
    """Seconds by the clock and of the processor, first line to last, without the start of the interpreter itself."""
    timed = (
        f"import time; clock, work = time.perf_counter(), time.process_time()\n{code}\n"
        "print(time.perf_counter() - clock, time.process_time() - work)"
    )
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()[-2:]]


def memory(quick):
    """The peak that minimize allocates, in float64 numbers."""
    rng = np.random.default_rng(3)
    many = 400 if quick else 200_000
    for d, n in ((200, many), (many, 200)):
        A = sp.random(d, n, density=0.01, format="csc", random_state=rng)
        b = rng.standard_normal(d)
        for rule in ("ascd", "a-ascd"):
            options = {"rule": rule, "max_iter": 10 if quick else 50, "rng": 0, "record": None}
            ascd.minimize(ascd.Problem(A, b, penalty=ascd.L1(1.0)), **options)  # compiled code is not counted
            tracemalloc.start()
            ascd.minimize(ascd.Problem(A, b, penalty=ascd.L1(1.0)), **options)
            peak = tracemalloc.get_traced_memory()[1] / 8
            tracemalloc.stop()
            yield {"samples": d, "features": n, "rule": rule, "numbers": peak}
