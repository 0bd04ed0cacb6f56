"""Options and arguments that several commands share: the data file and how to read it, and parts by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ascd.files import FORMATS, Choices, Dialect, Table, read_table
from ascd.files.gaps import FILLS
from ascd.files.separators import WHITESPACE

Command = TypeVar("Command", bound=Callable[..., Any])
SEPARATORS = {
    "tab": "\t", "\\t": "\t", "space": WHITESPACE, " ": WHITESPACE, "comma": ",", "semicolon": ";", "pipe": "|",
}  # fmt: skip
#: Different values that a text column may have, to become columns of 0 and 1.
MOST_LEVELS = 20


class Source(NamedTuple):
    """The data file, and what the options say about reading it."""

    data: Path
    target: Any = None  # a name, or a tuple of several
    format: str | None = None
    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    na: tuple[str, ...] = ()
    drop: bool = False
    impute: str | None = None
    levels: int = MOST_LEVELS
    without: tuple[str, ...] = ()
    memory: str | None = None
    asked: frozenset[str] = frozenset()  # the options that were given, whatever they say

    @property
    def dialect(self) -> Dialect:
        """What the options say about the way in which a CSV file is written."""
        return Dialect(None if self.sep is None else SEPARATORS.get(self.sep, self.sep), self.decimal, self.header)

    def read(self, **others: Any) -> Table:
        """The table; ``others`` are further arguments of ``read_table``."""
        return read_table(
            self.data,
            self.target,
            self.format,
            dialect=self.dialect,
            choices=Choices(self.without, self.drop, self.impute or "", self.levels),
            na=self.na,
            **others,
        )


def given_options() -> frozenset[str]:
    """The names of the options that the user gave, rather than left to their defaults."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    )


class Number(click.FloatRange):
    """A number in a range; nan, which no comparison refuses, is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


class Named(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click only
    """A part's name, of rules and oracles with literal arguments in parentheses, as the library's tables know them."""

    def __init__(self, role: str) -> None:
        self.name = self.role = role

    def table(self) -> Mapping[str, Any]:
        """The parts by their names."""
        from ascd.engine.oracles import ORACLES
        from ascd.engine.rules import RULES
        from ascd.engine.steepness import STEEPNESS
        from ascd.engine.steps import STEPS

        tables: dict[str, Mapping[str, Any]] = {"rule": RULES, "oracle": ORACLES, "steepness": STEEPNESS, "step": STEPS}
        return tables[self.role]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ascd._core.checks import unknown_name
        from ascd.engine.naming import named_part

        table = self.table()
        try:
            if self.role in ("rule", "oracle"):
                named_part(value, table, self.role)
            elif value not in table:
                raise unknown_name(value, self.role, table)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.table() if name.startswith(incomplete)]


FILE = (
    click.argument("data", type=click.Path(path_type=Path)),
    click.option("--format", type=click.Choice(list(FORMATS)), help="Of DATA.  [by the file's name]"),
    click.option("--sep", help="What separates columns of a CSV file: , ; tab space …  [found out]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark of a CSV file.  [found out]"),
    click.option("--header/--no-header", default=None, help="Has a CSV file names in its first line?  [found out]"),
    click.option("--na", multiple=True, help="A text that stands for a missing value; repeat for several."),
)
COLUMNS = (
    click.option("--target", help="The target's column in a CSV or parquet file.  [target, y or label, else the last]"),
    click.option("--without", multiple=True, help="A column to leave out; repeat for several."),
    click.option("--drop", is_flag=True, help="Leave out rows in which a value is missing."),
    click.option("--impute", type=click.Choice(list(FILLS)), help="Fill missing values of each column with this."),
    click.option(
        "--levels",
        type=click.IntRange(1),
        default=MOST_LEVELS,
        show_default=True,
        help="A text column becomes 0/1 columns if it has at most so many different values.",
    ),
)


def with_source(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Add options that say how to read the data; the command gets them as one ``source``."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(**given: Any) -> Any:
            found = {name: given.pop(name) for name in Source._fields if name in given}
            if isinstance(found.get("target"), tuple):  # an option that can be repeated
                found["target"] = found["target"][0] if len(found["target"]) == 1 else found["target"] or None
            return command(source=Source(**found, asked=given_options() & set(found)), **given)

        made: Any = bundled
        for option in reversed(options):
            made = option(made)
        return made

    return decorate


MEMORY = click.option(
    "--memory", help="Read DATA piece by piece, with so much memory (2GB): Parquet, folders of ascd convert."
)
data_options = with_source(*FILE, *COLUMNS)
large_data_options = with_source(*FILE, *COLUMNS, MEMORY)
#: For fits: models with several targets, data that stay on their disk.
fit_options = with_source(
    *FILE,
    click.option(
        "--target",
        multiple=True,
        help="The target's column in a CSV or parquet file; repeat for several.  [target, y or label, else the last]",
    ),
    *COLUMNS[1:],
    MEMORY,
)
