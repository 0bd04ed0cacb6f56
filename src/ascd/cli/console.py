"""How commands talk: tables and lines for people, one JSON object for machines, never both on standard output."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from ascd.cli.words import readable

Command = TypeVar("Command", bound=Callable[..., Any])


class Settings:
    """What holds for every command."""

    def __init__(self) -> None:
        self.debug = False
        self.json = False


def _set(name: str, context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value:
        setattr(context.ensure_object(Settings), name, True)
    return value


def common(command: Command) -> Command:
    """Add the options that every command has."""
    flag = partial(click.option, is_flag=True, expose_value=False)
    debug = flag("--debug", callback=partial(_set, "debug"), help="Show the traceback of an error.")
    machine = flag("--json", callback=partial(_set, "json"), help="Print one JSON object instead of text.")
    return debug(machine(command))


def settings() -> Settings:
    """The settings of the running command."""
    return click.get_current_context().ensure_object(Settings)


def say(text: str = "") -> None:
    """A line for people; machines do not see it."""
    if not settings().json:
        click.echo(readable(text))


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A table for people; the first column is text, the others numbers."""
    if settings().json:
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
    """The result for machines, where they asked for it."""
    if settings().json:
        click.echo(json.dumps(_plain(result), indent=2))


@contextmanager
def advancing(text: str) -> Iterator[Callable[[float], None]]:
    """A bar on the terminal; yields a function that is told the share that is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar, announcing_on(console):
        task = bar.add_task(text, total=None)
        yield lambda share: bar.update(task, completed=share, total=1.0)


class Telling:
    """Text that is asked for whenever it is drawn."""

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text

    def __rich__(self) -> str:
        return self.text()


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner on the terminal while something takes long, and a line where compiling does."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(text), announcing_on(console):
        yield


@contextmanager
def fitting(text: str, estimator: Any, has_folds: bool) -> Iterator[None]:
    """A spinner, or for a cross-validation the estimator's own bar, with the time that is left."""
    if not has_folds or not library_bar():
        with working(text):
            yield
        return
    estimator.set_params(progress=True)
    try:
        yield
    finally:
        estimator.set_params(progress=False)  # how it was watched is no parameter of the model


def library_bar() -> bool:
    """Let the library's progress bars, which use rich's shared console, write to standard error; is that a terminal?"""
    import rich

    rich.reconfigure(stderr=True)
    return rich.get_console().is_terminal


@contextmanager
def announcing_on(console: Any) -> Iterator[None]:
    """Say on a terminal, and only there, that something is being compiled."""
    from ascd._core.clock import announcing

    if not console.is_terminal:
        yield
        return
    with announcing(console.print):
        yield


def _plain(value: Any) -> Any:
    """What JSON can hold: paths as text, NumPy's numbers as numbers, None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
