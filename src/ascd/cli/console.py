"""Output of commands: tables and lines for people, one JSON object for machines, progress on terminals."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import click

from ascd.io.writing import json_ready

Command = TypeVar("Command", bound=Callable[..., Any])
#: Characters without a space that are shown of a word, and how long it may be.
SHOWN, LONGEST = 60, 200
LONG = re.compile(rf"\S{{{LONGEST},}}")


class Output:
    """How the running command prints: with tracebacks, as JSON."""

    def __init__(self) -> None:
        self.debug = False
        self.json = False


def _set(name: str, context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value:
        setattr(context.ensure_object(Output), name, True)
    return value


def common(command: Command) -> Command:
    """Add the options that every command has."""
    flag = partial(click.option, is_flag=True, expose_value=False)
    debug = flag("--debug", callback=partial(_set, "debug"), help="Show the traceback of an error.")
    machine = flag("--json", callback=partial(_set, "json"), help="Print one JSON object instead of text.")
    return debug(machine(command))


def output() -> Output:
    """Return the settings of the running command."""
    return click.get_current_context().ensure_object(Output)


def readable(text: str) -> str:
    """Return text from a file without characters that would steer a terminal, and with long words cut short.

    Examples
    --------
    >>> from ascd.cli.console import readable
    >>> readable("a\\x1b[31m red\\n  name"), len(readable("x" * 5000))
    ('a [31m red\\n  name', 61)
    """
    plain = "".join(letter if letter.isprintable() or letter in "\n\u00a0\u202f" else " " for letter in text)
    return LONG.sub(lambda word: f"{word[0][:SHOWN]}…", plain)


def say(text: str = "") -> None:
    """Print a line for people."""
    if not output().json:
        click.echo(readable(text))


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table for people; the first column is text, the others numbers."""
    if output().json:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*head[:1], title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in head[1:]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(Text(readable(cell)) for cell in row))  # plain: a name such as [/b] is no markup
    Console(soft_wrap=True).print(table)


def answer(result: dict[str, Any]) -> None:
    """Print the result for machines."""
    if output().json:
        click.echo(json.dumps(json_ready(result), indent=2))


@contextmanager
def advancing(text: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on the terminal; yields a function that takes the share that is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeRemainingColumn())
    console = Console(stderr=True)
    is_off = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=is_off) as bar, announcing_on(console):
        task = bar.add_task(text, total=None)
        yield lambda share: bar.update(task, completed=share, total=1.0)


@contextmanager
def working(text: Any) -> Iterator[None]:
    """Show a spinner on the terminal, and a line where compiling takes long."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(text), announcing_on(console):
        yield


@contextmanager
def fitting(text: str, estimator: Any, has_folds: bool) -> Iterator[None]:
    """Show a spinner, or for a cross-validation the estimator's own bar, with the time that is left."""
    if not has_folds or not library_bar():
        with working(text):
            yield
        return
    estimator.set_params(progress=True)
    try:
        yield
    finally:
        estimator.set_params(progress=False)  # how it was shown is no parameter of the model


def library_bar() -> bool:
    """Direct the library's progress bars to standard error; return whether that is a terminal."""
    import rich

    rich.reconfigure(stderr=True)
    return rich.get_console().is_terminal


@contextmanager
def announcing_on(console: Any) -> Iterator[None]:
    """Say on a terminal, and only there, that something is being compiled."""
    from ascd._core.timing import announcing

    if not console.is_terminal:
        yield
        return
    with announcing(console.print):
        yield


@contextmanager
def rounds_shown(text: str, X: Any) -> Iterator[None]:
    """Show on a terminal how often data on disk have been read, and the smallest duality gap."""
    from ascd.results.progress import looking_on

    class Shown:
        gap, wanted = math.inf, 0.0

        def __rich__(self) -> str:
            gap = f"gap {self.gap:.1e} ({self.wanted:.1e} is wanted)" if self.gap < math.inf else "no gap known yet"
            return f"{text}: {X.bytes_read / X.size:.1f} times the data read, {gap}"

    shown = Shown()

    def tell(now: Any) -> None:
        shown.gap, shown.wanted = min(shown.gap, now.gap), now.enough

    with working(shown), looking_on(tell):
        yield
