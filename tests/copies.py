"""Processes that have imported everything: copies of one that did, each with outputs, folder and group of its own.

A command imports for two seconds before it does what a test looks at.  Here one process imports once, and is copied
(fork) for every command; a copy runs a script as ``python -c`` does, hears signals and ends as any process.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from select import select

import ascd

#: Takes orders, and is copied for each: another server that imports more, and takes orders from there on; or a keeper,
#: which tells number and exit code of its child, the process wanted.
SERVER = """
import json, os, socket, sys
from importlib import import_module
import numba, numpy

numba.njit(lambda x: x[0] + x.size)(numpy.ones(1))  # before its first compilation numba gets ready for 0.3 s
handles, words, script = [int(sys.argv[1])], sys.argv[2:], None
while script is None:
    orders = socket.socket(fileno=handles[0])
    for name in words:
        import_module(name)
    while True:
        order, handles, _, _ = socket.recv_fds(orders, 1 << 20, 3)
        if not order:
            os._exit(0)
        if os.fork() == 0:
            break
        for handle in handles:
            os.close(handle)
    orders.close()
    script, words, folder, surroundings = json.loads(order)
child = os.fork()
if child:
    os.close(handles[0]), os.close(handles[1])
    os.write(handles[2], f"{child}\\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(handles[2], f"{code}\\n".encode())
    os._exit(0)
os.setsid()
os.dup2(handles[0], 1), os.dup2(handles[1], 2)
for handle in handles:
    os.close(handle)
sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
sys.argv[1:] = words
os.chdir(folder)
os.environ.clear()
os.environ.update(surroundings)
sys.path[1:1] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
numba.config.reload_config()
if "ascd._core.jit" in sys.modules:
    sys.modules["ascd._core.jit"].is_interpreted = bool(numba.config.DISABLE_JIT)
exec(script, {"__name__": "__main__"})
"""

#: The end of a process that has shown all: to take apart what it has imported takes longer than most of what it did.
LEAVE = """
import os, sys
sys.stdout.flush(), sys.stderr.flush()
os._exit({})
"""
#: What kernels and estimators need, without the library itself: it may be another one.
OTHERS = ("scipy.sparse", "scipy.linalg", "sklearn.linear_model")
#: What commands import.
COMMANDS = (
    "matplotlib.figure", "matplotlib.backends.backend_svg", "matplotlib.backends.backend_agg", "pandas",
    "rich.progress", "sklearn.linear_model", "sklearn.model_selection",
    "ascd.cli.models", "ascd.estimators", "ascd.solver", "ascd.io.converting", "ascd.reproduction.demo",
)  # fmt: skip
can_copy = sys.platform == "linux"


class Copy:
    """What ``subprocess.Popen`` is for a process of its own."""

    def __init__(self, script, arguments, folder, surroundings, modules=COMMANDS):
        pipes = [os.pipe() for _ in range(3)]
        order = json.dumps([script, arguments, str(folder), surroundings]).encode()
        socket.send_fds(_server(modules), [order], [write for _, write in pipes])
        for _, write in pipes:
            os.close(write)
        self.stdout, self.stderr, self._told = (os.fdopen(read) for read, _ in pipes)
        self.pid, self.returncode = int(self._told.readline()), None

    def poll(self):
        """None while the process lives."""
        return "ended" if select([self._told], [], [], 0.0)[0] else None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        """The rest of both outputs, when the process has ended."""
        streams = (self.stdout, self.stderr, self._told)
        with ThreadPoolExecutor(len(streams)) as pool:
            reads = [pool.submit(stream.read) for stream in streams]
            try:
                out, error, code = (read.result(timeout) for read in reads)
            except TimeoutError:
                os.killpg(self.pid, signal.SIGKILL)
                raise
        for stream in streams:
            stream.close()
        self.returncode = int(code)
        return out, error


def copy_of_package(folder):
    """The package in another folder, with Python's bytecode but without kernels; returns the folder."""
    package = Path(ascd.__file__).parent
    shutil.copytree(package, folder / "ascd", ignore=shutil.ignore_patterns("*.nb[ic]"))
    return folder


def ended(script, surroundings, modules, before=()):
    """Exit code and outputs of a script; ``before`` are words before the command, which then begins from nothing."""
    if before or not can_copy:
        command = [*before, sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False)
        return done.returncode, done.stdout, done.stderr
    child = Copy(script + LEAVE.format(0), [], os.getcwd(), surroundings, modules)
    told = child.communicate()
    return child.returncode, *told


@cache
def _server(modules):
    """The way to the process that is copied; it could compile, and each copy does as its surroundings say."""
    here, there = socket.socketpair()
    if modules == OTHERS:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(there.fileno()), *modules],
            pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        )  # fmt: skip
        atexit.register(lambda: here.close() or server.wait())
    else:
        socket.send_fds(_server(OTHERS), [json.dumps([None, modules, "", {}]).encode()], [there.fileno()])
        atexit.register(here.close)
    there.close()
    return here
