"""The command line ``ascd``: fit, predict, path, convert, demo, reproduce, info.

Built on click (extra ``cli``).  Commands print through ``console.py`` and do no mathematics.

Exit codes: 0 done; 1 data that cannot be read or used, or work that fails; 2 wrong usage (``options.py``); 3 done, but
short of the tolerance; 130 interrupted; 143 ended by SIGTERM.  Every error is one line.  Ctrl-C and SIGTERM stop a
command at once, and nothing half done is written.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
from contextlib import suppress

TYPE_CHECKING = False  #: as in ``typing``, which is not waited for before Ctrl-C has its handler
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

ERROR, USAGE, UNCONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Without arguments they are those of the process: then SIGTERM stops the command as Ctrl-C does, and both end the
    process.  Everything that takes time to import is imported behind the handlers of these signals.
    """
    is_own, seen = arguments is None, []  # type: ignore[var-annotated]
    try:
        try:
            if is_own:
                stop_on_signals(seen)
            return _run(arguments, seen)
        except KeyboardInterrupt:
            for number in (signal.SIGINT, signal.SIGTERM) if is_own else ():  # the ending is not interrupted again
                signal.signal(number, signal.SIG_IGN)
            raise
    except KeyboardInterrupt:
        code, word = (TERMINATED, "terminated") if signal.SIGTERM in seen else (INTERRUPTED, "interrupted")
        print(f"ascd: {word}", file=sys.stderr)
        if is_own:
            _end_process(code)
        return code


def stop_on_signals(seen: list[int]) -> None:
    """Raise ``KeyboardInterrupt`` for SIGINT and SIGTERM, and note them in ``seen``.

    A callback of compiled code drops exceptions: Python's hook for these repeats the interrupt.
    """

    def stop(number: int, frame: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    def repeat(report: Any) -> None:
        if isinstance(report.exc_value, KeyboardInterrupt):
            threading.Timer(0.05, _thread.interrupt_main).start()
        else:
            sys.__unraisablehook__(report)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sys.unraisablehook = repeat


def _end_process(code: int) -> NoReturn:
    """End at once, as Python would wait for threads that go on fitting, and for a compilation."""
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    for thread in others:
        with suppress(RuntimeError):  # one that the signal found half started cannot be waited for
            thread.join(1.0 / len(others))
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(arguments: Sequence[str] | None, seen: list[int]) -> int:
    if sys.stderr is None:  # closed: print would take standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an encoding may lack letters, as that of old Windows: ≤ becomes \u2264
            stream.reconfigure(errors="backslashreplace")
    try:
        import click
        import rich  # noqa: F401  every command prints with it
    except ImportError as error:
        print(f"ascd: the command line needs {error.name}: pip install ascd[cli]", file=sys.stderr)
        return ERROR
    from ascd.cli import models  # noqa: F401  its commands
    from ascd.cli.commands import app
    from ascd.cli.console import one_line, print_usage
    from ascd.io.tables import ColumnError

    settings: dict[str, bool] = {}
    try:
        code = app.main(args=arguments, prog_name="ascd", standalone_mode=False, obj=settings)
        return code if isinstance(code, int) else 0
    except click.exceptions.Abort as error:  # click says so of files that end too early, too
        if isinstance(error.__cause__, EOFError):
            print("ascd: error: a file ends too early", file=sys.stderr)
            return ERROR
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        print_usage(error)
        return USAGE
    except BrokenPipeError:  # the reader of our output, say `head`, has gone
        sys.stderr.close()
        return ERROR
    except Exception as error:
        if seen:  # what was interrupted failed in its own way
            raise KeyboardInterrupt from None
        if settings.get("debug"):
            raise
        message = one_line(str(error)) or type(error).__name__
        print(f"ascd: error: {message}  (--debug shows where)", file=sys.stderr)
        is_ours = isinstance(error, FileNotFoundError | FileExistsError) and error.errno is None  # not the system's
        return USAGE if is_ours or isinstance(error, ColumnError) else ERROR
