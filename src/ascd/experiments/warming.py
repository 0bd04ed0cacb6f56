"""The first run compiles; on two cores a second process can compile the race's kernels while the first one fits.

Both keep what they compile on disk, so the second one only has to end before the race begins.  Where compiled code is
there already, or cannot be kept, nothing is started.  ``python -m ascd.experiments.warming`` is the second process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ascd._core.clock import compiling


@contextmanager
def compiled_beside() -> Iterator[Callable[[], None]]:
    """Start the second process if it is worth it; yields a function that waits for it, which counts as compiling."""
    if not is_cold() or (os.cpu_count() or 1) < 2:
        yield lambda: None
        return
    silent = subprocess.DEVNULL
    other = subprocess.Popen([sys.executable, "-m", __name__], stdin=silent, stdout=silent, stderr=silent)

    def wait() -> None:
        with compiling():
            other.wait()

    try:
        yield wait
    finally:
        other.terminate()
        other.wait()


def is_cold() -> bool:
    """Can compiled code be kept on disk, and is none there?"""
    from ascd._core.jit import cache_folders, is_interpreted

    folders, _ = cache_folders()
    return bool(folders) and not is_interpreted and not any(True for one in folders for _ in Path(one).glob("*.nbi"))


def compile_rules() -> None:
    """One step of every rule of the demo: what it calls is compiled and kept."""
    from ascd.engine.minimize import minimize
    from ascd.engine.naming import named_part
    from ascd.engine.oracles import ORACLES
    from ascd.engine.rules import RULES
    from ascd.experiments.demo import METHODS, synthetic_data

    _, problem = synthetic_data()
    for method in METHODS.values():
        rule, oracle = named_part(method.rule, RULES, "rule"), named_part(method.oracle, ORACLES, "oracle")
        parts = {"rule": rule, "oracle": oracle, "steepness": method.steepness, "step": "fixed", "init": "gradient"}
        minimize(problem, **parts, max_iter=1, tol=0.0, record=1, rng=0)


if __name__ == "__main__":
    compile_rules()
