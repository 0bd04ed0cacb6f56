"""Output of commands: tables and lines for people, one JSON object for machines, progress on terminals."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from ascd.io.writing import json_ready

#: Words without a space that are longer than 200 characters; 60 of them are shown.
LONG = re.compile(r"(\S{60})\S{140,}")
#: The options that begin a section of the help.
HEADINGS = {
    "format": "The file", "target": "Columns", "model": "Model", "cv": "Cross-validation", "tol": "Solver",
    "explained": "Explanation", "out": "Output",
}  # fmt: skip


class Command(click.Command):
    """A command whose help lists the options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[Any]] = {}
        title = "Options"
        for option in self.get_params(ctx):
            title, record = HEADINGS.get(str(option.name), title), option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def common(command: Any) -> Any:
    """Add the options that every command has; they are kept in the context's object."""

    def flag(name: str, help: str) -> Any:
        return click.option(f"--{name}", is_flag=True, expose_value=False, help=help, callback=_keep)

    command = flag("json", "Print one JSON object instead of text.")(command)
    return flag("debug", "Show the traceback of an error.")(command)


def _keep(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.ensure_object(dict)[parameter.name] = value


def is_for_machines() -> bool:
    """Return True where the running command prints JSON."""
    return bool(click.get_current_context().ensure_object(dict).get("json"))


def readable(text: str) -> str:
    """Return text from a file without characters that would steer a terminal, and with long words cut short.

    Examples
    --------
    >>> from ascd.cli.console import readable
    >>> readable("a\\x1b[31m red\\n  name"), len(readable("x" * 5000))
    ('a [31m red\\n  name', 61)
    """
    plain = "".join(letter if letter.isprintable() or letter in "\n\u00a0\u202f" else " " for letter in text)
    return LONG.sub(r"\1…", plain)


def one_line(text: str) -> str:
    """Return text from a file as a readable line."""
    return " ".join(readable(text).split())


def say(text: str = "") -> None:
    """Print a line for people."""
    if not is_for_machines():
        click.echo(readable(text))


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table for people; the first column is text, the others numbers."""
    if is_for_machines():
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
    if is_for_machines():
        click.echo(json.dumps(json_ready(result), indent=2))


def print_usage(error: Any) -> None:
    """Print one line: which command, what is wrong, where help is; the help itself for a command without arguments."""
    if type(error).__name__ == "NoArgsIsHelpError":  # of new versions of click
        error.show()
        return
    command = error.ctx.command_path if getattr(error, "ctx", None) else "ascd"
    click.echo(f"{command}: error: {one_line(error.format_message())}  ({command} --help lists the options)", err=True)


# ---- progress on a terminal


@contextmanager
def advancing(text: str) -> Iterator[Callable[..., None]]:
    """Show a bar on a terminal, and a line where compiling takes long.

    Yields a function that takes the share that is done, where it is known, and another text.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from ascd._core.timing import announcing

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda share=None, text=text: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar, announcing(console.print):
        task = bar.add_task(text, total=None)
        yield lambda share=None, text=text: bar.update(
            task, completed=share, total=None if share is None else 1.0, description=text
        )


def has_bar() -> bool:
    """Return True where the library can show its bar, with the time that is left: on terminals, on standard error."""
    import rich

    rich.reconfigure(stderr=True)
    return rich.get_console().is_terminal


@contextmanager
def rounds_shown(text: str, X: Any) -> Iterator[None]:
    """Show on a terminal how often data on disk have been read, and the smallest duality gap."""
    from ascd.results import looking_on

    smallest = math.inf
    with advancing(text) as advance:

        def tell(now: Any) -> None:
            nonlocal smallest
            smallest = min(smallest, now.gap)
            gap = f"gap {smallest:.1e} ({now.enough:.1e} is wanted)" if smallest < math.inf else "no gap known yet"
            advance(text=f"{text}: {X.bytes_read / X.size:.1f} times the data read, {gap}")

        with looking_on(tell):
            yield
