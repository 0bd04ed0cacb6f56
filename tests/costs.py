"""What tests cost, by file and the dearest ones: ``pytest -p tests.costs`` (with ``-n 2`` too).

Seconds of CPU, how many of them to compile, how much was compiled, CPU of processes that were started, and waiting.
An empty folder as ``NUMBA_CACHE_DIR`` shows what a fresh clone pays.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict

import numpy as np
import pytest
from numba.core import event

compiled, began = np.zeros(2), np.zeros(5)
costs: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(5))


class Compiler(event.Listener):  # methods of parts are compiled inside of kernels
    depth, began = 0, 0.0

    def on_start(self, _):
        self.began = self.began if self.depth else time.process_time()
        self.depth += 1

    def on_end(self, _):
        self.depth -= 1
        compiled[:] += (0.0, 0.0) if self.depth else (time.process_time() - self.began, 1.0)


def pytest_configure():
    event.register("numba:compile", Compiler())


def spent():
    own, used = time.process_time(), os.times()
    outside = used.children_user + used.children_system
    return np.array([own, *compiled, outside, time.perf_counter() - own - outside])


def pytest_runtest_logstart():
    began[:] = spent()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call):
    report = yield
    if call.when == "teardown":
        report.user_properties.append(("costs", (spent() - began).tolist()))
    return report


def pytest_runtest_logreport(report):
    value = dict(report.user_properties).get("costs", 0.0)
    for key in ("all", report.nodeid.partition("::")[0], report.nodeid):
        costs[key] += value


def pytest_terminal_summary(terminalreporter):
    terminalreporter.line(("{:>11}" * 5).format("CPU", "compiling", "compiled", "processes", "waiting"))
    ranked = sorted(costs, key=lambda key: ("::" in key, -costs[key][0] - costs[key][3]))
    files = [key for key in ranked if "::" not in key]
    for key in ranked[: len(files) + 25]:
        terminalreporter.line(("{:11.1f}" * 5).format(*costs[key]) + f"  {key}")
