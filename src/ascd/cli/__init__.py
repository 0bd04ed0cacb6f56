"""The command line ``ascd``: fit, predict, path, convert, demo, reproduce, info.

Built on click (extra ``cli``), for its tab completion in bash, zsh and fish, its checked paths and choices, and its
one-line usage errors; argparse has no completion of its own.  Commands print through ``console.py`` and do no
mathematics.

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
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  #: as in ``typing``, which is not waited for before Ctrl-C has its handler
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

ERROR, USAGE, UNCONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


@contextmanager
def stoppable() -> Iterator[list[int]]:
    """Raise ``KeyboardInterrupt`` for SIGTERM, too; yields a list of the signals that have come.

    A callback of compiled code drops exceptions: Python's hook for these repeats the interrupt.
    """
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def stop(number: int, frame: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    def repeat(report: Any) -> None:
        if isinstance(report.exc_value, KeyboardInterrupt):
            threading.Timer(0.05, _thread.interrupt_main).start()
        else:
            hook(report)

    handlers, hook = (
        {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)},
        sys.unraisablehook,
    )
    try:
        for number in handlers:
            signal.signal(number, stop)
        sys.unraisablehook = repeat
        yield seen
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.  Without arguments it is the process's own, and Ctrl-C ends that.

    Everything that takes time to import is imported behind the handler of Ctrl-C.
    """
    seen: list[int] = []
    try:
        with stoppable() as seen:
            try:
                _write_any_letter()
                return _run(arguments, seen)
            except KeyboardInterrupt:
                if threading.current_thread() is threading.main_thread():  # the ending is not interrupted again
                    for number in (signal.SIGINT, signal.SIGTERM):
                        signal.signal(number, signal.SIG_IGN)
                return _interrupted(arguments is None, signal.SIGTERM in seen)
    except KeyboardInterrupt:  # while the handlers were put in place, or taken away
        return _interrupted(arguments is None, signal.SIGTERM in seen)


def _write_any_letter() -> None:
    """Write letters that an output's encoding lacks, such as that of old Windows, as escapes: ≤ as \\u2264.

    Where standard error is closed, what is meant for it goes nowhere: ``print`` would take standard output instead.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: Sequence[str] | None, seen: list[int]) -> int:
    try:
        import click
        import rich  # noqa: F401  every command prints with it
    except ImportError as error:
        print(f"ascd: the command line needs {error.name}: pip install ascd[cli]", file=sys.stderr)
        return ERROR
    from ascd.cli.app import app
    from ascd.cli.console import Output

    settings = Output()
    try:
        code = app.main(args=arguments, prog_name="ascd", standalone_mode=False, obj=settings)
        return code if isinstance(code, int) else 0
    except click.exceptions.Abort as error:  # click says so of files that end too early, too
        if isinstance(error.__cause__, EOFError):
            print("ascd: error: a file ends too early", file=sys.stderr)
            return ERROR
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        _print_usage(error)
        return USAGE
    except BrokenPipeError:  # the reader of our output, say `head`, has gone
        sys.stderr.close()
        return ERROR
    except Exception as error:
        if seen:  # what was interrupted failed in its own way
            raise KeyboardInterrupt from None
        if settings.debug:
            raise
        message = _one_line(str(error)) or type(error).__name__
        print(f"ascd: error: {message}  (--debug shows where)", file=sys.stderr)
        return USAGE if _is_absent(error) else ERROR


def _is_absent(error: Exception) -> bool:
    """Return True for an error of a name: a file, folder or column that is missing, or must not be there.

    What the system reports by itself has a number (errno): that is work that fails.
    """
    from ascd.io.tables import ColumnError

    is_named = isinstance(error, FileNotFoundError | FileExistsError) and error.errno is None
    return is_named or isinstance(error, ColumnError)


def _interrupted(own_process: bool, is_terminated: bool) -> int:
    """Say so; end the process at once, as Python would wait for threads that go on fitting, and for a compilation."""
    code, word = (TERMINATED, "terminated") if is_terminated else (INTERRUPTED, "interrupted")
    print(f"ascd: {word}", file=sys.stderr)
    if own_process:
        others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
        for thread in others:
            with suppress(RuntimeError):  # one that the signal found half started cannot be waited for
                thread.join(1.0 / len(others))
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _one_line(text: str) -> str:
    from ascd.cli.console import readable

    return " ".join(readable(text).split())


def _print_usage(error: Any) -> None:
    """Print one line: which command, what is wrong, where help is; the help itself for a command without arguments."""
    if type(error).__name__ == "NoArgsIsHelpError":  # of new versions of click
        error.show()
        return
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ascd"
    print(
        f"{command}: error: {_one_line(error.format_message())}  ({command} --help lists the options)", file=sys.stderr
    )
