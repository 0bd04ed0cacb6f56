"""Commands as a shell would run them: in this process, or in one of their own that can be interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from copies import Copy, can_copy

from ascd.cli import main

#: A process that says on standard output when a function is called; then it goes on, or sleeps so many seconds.
TELLING = """
import sys, time
from importlib import import_module

module, name, nap = sys.argv.pop(1).split(":")
place = import_module(module)
called = getattr(place, name)

def telling(*arguments, **options):
    print("running", flush=True)
    time.sleep(float(nap))
    return called(*arguments, **options)

setattr(place, name, telling)
from ascd.cli import main
sys.exit(main())
"""


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def start(script, *arguments, folder, **switches):
    """A process with a group of its own, as a terminal gives it, that has imported what commands need where it can."""
    if not can_copy:
        return start_afresh(script, *arguments, folder=folder, **switches)
    return Copy(script, list(map(str, arguments)), folder, {**os.environ, **switches})


def start_afresh(script, *arguments, folder, **switches):
    """The same for a process that has imported nothing."""
    search = os.pathsep.join([str(Path(main.__code__.co_filename).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": search, **switches},
        start_new_session=True,
    )


def press_ctrl_c(child):
    """Interrupt the process and all that it started; returns the exit code and both outputs."""
    os.killpg(child.pid, signal.SIGINT)
    out, error = child.communicate(timeout=120)
    return child.returncode, out, error
