"""The command line ``ascd``: fit, predict, path, convert, demo, reproduce, info.

Built on click (extra ``cli``), for its tab completion in bash, zsh and fish, its checked paths and choices, and its
one-line usage errors; argparse has no completion of its own.  Each command has a module of its own, prints through
``console.py`` and does no mathematics.

Exit codes: 0 done; 1 data that cannot be read or used, or work that fails; 2 wrong usage (``options.py``); 3 done, but
short of the tolerance; 130 interrupted; 143 ended by SIGTERM.  Every error is one line.
"""

from __future__ import annotations

import os
import sys

from ascd.cli.interrupts import Stopped, Watch, ignore_signals, leave, stoppable

TYPE_CHECKING = False  #: as in ``typing``, which is not waited for before Ctrl-C has its handler
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

ERROR, USAGE, UNCONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.  Without arguments it is the process's own, and Ctrl-C ends that.

    Everything that takes time to import is imported behind the handler of Ctrl-C.
    """
    watch, own_process = Watch(), arguments is None
    try:
        with stoppable(watch):
            try:
                _write_any_letter()
                return _run(arguments, watch)
            except (Stopped, KeyboardInterrupt):
                ignore_signals()  # until the handlers from before are back
                return _interrupted(own_process, watch.is_terminated)
    except (Stopped, KeyboardInterrupt):  # while the handlers were put in place, or taken away
        return _interrupted(own_process, watch.is_terminated)


def _write_any_letter() -> None:
    """Write letters that an output's encoding lacks, such as that of old Windows, as escapes: ≤ as \\u2264.

    Where standard error is closed, what is meant for it goes nowhere: ``print`` would take standard output instead.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: Sequence[str] | None, watch: Watch) -> int:
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
        raise Stopped from None
    except click.ClickException as error:
        _print_usage(error)
        return USAGE
    except BrokenPipeError:  # the reader of our output, say `head`, has gone
        sys.stderr.close()
        return ERROR
    except Exception as error:
        if watch.seen:  # what was interrupted failed in its own way
            raise Stopped from None
        if settings.debug:
            raise
        message = _one_line(str(error)) or type(error).__name__
        print(f"ascd: error: {message}  (--debug shows where)", file=sys.stderr)
        return USAGE if _is_absent(error) else ERROR


def _is_absent(error: Exception) -> bool:
    """Return True for an error of a name: a file, folder or column that is missing, or must not be there.

    What the system reports by itself has a number (errno): that is work that fails.
    """
    from ascd.io.columns import ColumnError

    is_named = isinstance(error, FileNotFoundError | FileExistsError) and error.errno is None
    return is_named or isinstance(error, ColumnError)


def _interrupted(own_process: bool, is_terminated: bool) -> int:
    code, word = (TERMINATED, "terminated") if is_terminated else (INTERRUPTED, "interrupted")
    print(f"ascd: {word}", file=sys.stderr)
    if own_process:
        leave(code)
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
    message = _one_line(error.format_message())
    print(f"{command}: error: {message}  ({command} --help lists the options)", file=sys.stderr)
