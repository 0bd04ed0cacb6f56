"""The data file of a command: its options, reading it, and checks of both; where commands write.

What can be known from the command line and from which files exist is checked before any file is read and before
anything heavy is imported: wrong usage, exit code 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from os.path import realpath
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np
from click.core import ParameterSource

from ascd.cli.console import say
from ascd.io.csv_files import WHITESPACE, Dialect, check_separator
from ascd.io.opening import PARQUET, as_bytes, not_on_disk, open_data, parquet_names
from ascd.io.readers import is_sparse_folder
from ascd.io.reading import FORMATS, guess_format, read_table
from ascd.io.tables import (
    DATES,
    FILLS,
    Choices,
    LabeledData,
    Recipe,
    as_target,
    check_complete,
    check_target,
    counted,
    find_target,
)

Decorator = Callable[[Any], Any]
Command = TypeVar("Command", bound=Callable[..., Any])
SEPARATORS = {
    "tab": "\t", "\\t": "\t", "space": WHITESPACE, " ": WHITESPACE, "comma": ",", "semicolon": ";", "pipe": "|",
}  # fmt: skip
#: Different values that a text column may have, to become columns of 0 and 1.
MOST_LEVELS = 20
#: Endings of arrays that are read chunk by chunk.
ARRAYS = (".npy", ".zarr")
#: Options without effect on a kind of data.
WRITTEN = frozenset(("sep", "decimal", "thousands", "header", "encoding", "na"))
NAMED = frozenset(("target", "without", "levels", "dates"))
UNUSED = {
    "csv": frozenset[str](),
    "parquet": WRITTEN,
    "libsvm": WRITTEN | NAMED,
    "npz": WRITTEN | NAMED,
    "data on disk": WRITTEN | {"format", "levels", "dates"},
}


class GroupedOption(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *arguments: Any, heading: str = "", **others: Any) -> None:
        super().__init__(*arguments, **others)
        self.heading = heading


class GroupedCommand(click.Command):
    """A command whose help lists options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "heading", ""), []).append(record)
        for heading, records in sorted(sections.items(), key=lambda section: section[0] == ""):
            with formatter.section(heading or "General options"):
                formatter.write_dl(records)


option = partial(click.option, cls=GroupedOption)
of_file = partial(option, heading="The data file")
of_columns = partial(option, heading="Columns and missing values")


class DataOptions(NamedTuple):
    """The data file, and what the options say about reading it; ``given`` names those that were given."""

    data: Path
    target: Any = None  # a name, or a tuple of several
    format: str | None = None
    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: bool | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()
    drop: bool = False
    impute: str | None = None
    levels: int = MOST_LEVELS
    dates: str | None = None
    without: tuple[str, ...] = ()
    memory: str | None = None
    given: frozenset[str] = frozenset()

    @property
    def dialect(self) -> Dialect:
        """What the options say about how a CSV file is written."""
        sep = None if self.sep is None else SEPARATORS.get(self.sep, self.sep)
        return Dialect(sep, self.decimal, self.header, self.encoding, self.thousands)

    @property
    def stays_on_disk(self) -> bool:
        """True where the data are read chunk by chunk, because of --memory or of what they are."""
        return self.memory is not None or self.data.is_dir() or self.data.suffix.lower() in ARRAYS

    def read(self, **others: Any) -> LabeledData:
        """Read the table; ``others`` are further arguments of ``read_table``."""
        choices = Choices(self.without, self.drop, self.impute or "", self.levels, self.dates or "")
        return read_table(
            self.data, self.target, self.format, dialect=self.dialect, choices=choices, na=self.na, **others
        )

    def check(self, may_stay: bool = False) -> None:
        """Raise an error for data that are not there, and for options with a wrong value or without effect."""
        with as_usage():
            check_separator(self.dialect.sep)
            if self.memory is not None:
                as_bytes(self.memory)
        check_there(self.data)
        if self.drop and self.impute:
            raise click.UsageError(
                f"--drop and --impute {self.impute} exclude each other: --drop leaves out the rows to be filled"
            )
        stays = may_stay and self.stays_on_disk
        if stays and self.data.is_file() and self.data.suffix.lower() not in (*ARRAYS, *PARQUET):
            raise click.UsageError(str(not_on_disk(self.data)))
        if not may_stay and (self.data.is_dir() or self.data.suffix.lower() in ARRAYS):
            raise click.UsageError(
                f"{self.data} is no file that this command reads, which needs the data in memory; fit and path read "
                "folders and arrays chunk by chunk"
            )
        with as_usage():
            kind = "data on disk" if stays else self.format or guess_format(self.data)
        for name in sorted(self.given & UNUSED[kind]):
            raise click.UsageError(f"{spelled(name)} has no effect on {kind} ({self.data}): leave it out")


FILE = (
    click.argument("data", type=click.Path(path_type=Path)),
    of_file("--format", type=click.Choice(list(FORMATS)), help="Of DATA.  [by the file's name]"),
    of_file("--sep", help="What separates columns of a CSV file: , ; tab space …  [found]"),
    of_file("--decimal", type=click.Choice([".", ","]), help="The decimal mark of a CSV file.  [found]"),
    of_file("--thousands", type=click.Choice([".", ",", "'", " "]), help="The mark between thousands.  [none]"),
    of_file("--header/--no-header", default=None, help="Whether the first line has names.  [found]"),
    of_file("--encoding", help="Of a CSV file, such as utf-8, cp1252 or utf-16.  [found]"),
    of_file("--na", multiple=True, help="A text that stands for a missing value; repeat for several."),
)
TARGETS = of_columns(
    "--target", multiple=True, help="The target's column; repeat for several.  [target, y or label, else the last]"
)
TARGET = of_columns("--target", help="The target's column of a table.  [target, y or label, else the last]")
WITHOUT = of_columns("--without", multiple=True, help="A column to leave out; repeat for several.")
DROP = of_columns("--drop", is_flag=True, help="Leave out rows in which a value is missing.")
FILL_WORDS = "Fill missing numbers with this, missing words with the most frequent."
LEVEL_WORDS = "A text column becomes 0/1 columns if it has at most so many different values."
COLUMNS = (
    WITHOUT,
    DROP,
    of_columns("--impute", type=click.Choice(FILLS), help=FILL_WORDS),
    of_columns("--levels", type=click.IntRange(1), default=MOST_LEVELS, show_default=True, help=LEVEL_WORDS),
    of_columns("--dates", type=click.Choice(DATES), help="Dates as numbers of days, or left out.  [as text]"),
)
MEMORY = of_file("--memory", help="Read DATA chunk by chunk, with so much memory (2GB): Parquet, or from ascd convert.")


def data_options(*options: Decorator) -> Callable[[Command], Command]:
    """Add options that say how to read the data; the command gets them as one ``source``."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(**given: Any) -> Any:
            found = {name: given.pop(name) for name in DataOptions._fields if name in given}
            if isinstance(found.get("target"), tuple):  # an option that can be repeated
                found["target"] = found["target"][0] if len(found["target"]) == 1 else found["target"] or None
            return command(source=DataOptions(**found, given=given_options() & set(found)), **given)

        made: Any = bundled
        for one in reversed(options):
            made = one(made)
        return made

    return decorate


def read_data(source: DataOptions) -> LabeledData:
    """Read the data file, or open data that stay on their disk."""
    if source.stays_on_disk:
        return _open(source)
    data = source.read()
    check_complete(data, source.data.name, "--drop leaves out their rows, --impute mean fills them")
    check_target(data, source.data.name, "--drop leaves them out")
    return data._replace(notes=(*data.notes, *_copies_of_target(data)))


def _open(source: DataOptions) -> LabeledData:
    """Open data that are read chunk by chunk, and read their target."""
    for name, given in (("--drop", source.drop), ("--impute", source.impute)):
        if given:
            raise click.UsageError(f"{name} needs the data in memory; ascd convert {name} does it once")
    if isinstance(source.target, tuple):
        raise click.UsageError(
            f"several targets need the data in memory: leave out --memory; got {', '.join(source.target)}"
        )
    names, target = parquet_names(source.data)
    left = [name for name in names if name not in source.without]
    target = find_target(left, source.target or target, optional=False) if left else source.target
    data = open_data(source.data, target=target, without=source.without, memory=source.memory)
    if data.y is None:
        raise ValueError(f"{source.data} holds no target; Parquet files and the folders of ascd convert do")
    note = f"{data.size / 1e6:,.1f} MB, read chunk by chunk"
    is_sparse = is_sparse_folder(source.data)
    recipe = Recipe(written={"first": data.reader.index["first"]}) if is_sparse else Recipe()
    found = LabeledData(data, as_target(data.y), data.feature_names, target, (note,), recipe)
    check_target(found, source.data.name, "leave them out of the file")
    return found


def _copies_of_target(data: LabeledData) -> list[str]:
    """Return a warning where a column of numbers equals the target: the fit would use the target to predict itself."""
    if data.frame is None or np.ndim(data.y) != 1 or data.y.dtype.kind not in "fiub" or len(data.y) < 2:
        return []
    numbers = data.frame.select_dtypes("number")
    first = numbers.columns[numbers.iloc[0].to_numpy() == data.y[0]]
    same = [name for name in first if np.array_equal(numbers[name].to_numpy(), data.y)]
    return [f"WARNING: column {name!r} equals the target; --without {name!r} leaves it out" for name in same[:1]]


def report_reading(data: LabeledData, label: str) -> None:
    """Print how a file was read: what was found and what was done."""
    if data.notes:
        shape = f"{counted(data.X.shape[0], 'row')}, {counted(data.X.shape[1], 'feature')}"
        say(f"read {label}: {shape}{', ' + data.target_words.removeprefix('the ') if data.target else ''}")
        for note in data.notes:
            say(f"  {' '.join(note.split())}")  # a name may have line breaks


def check_numeric(data: LabeledData) -> None:
    """Raise a ValueError for a target of words where numbers are needed."""
    if data.y.dtype.kind not in "fiub":
        raise ValueError(
            f"{data.target_words} must be numbers here, its first value is {data.y[0]!r}; classes need logistic or svm"
        )


def given_options() -> frozenset[str]:
    """Return the names of the options that were given, rather than left to their defaults."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    )


def spelled(name: str) -> str:
    """Return an option as it is given on the command line."""
    context = click.get_current_context()
    found = next(one for one in context.command.params if one.name == name)
    return (found.secondary_opts if context.params.get(name) is False and found.secondary_opts else found.opts)[0]


def check_needed(name: str, needed: str, is_there: bool) -> None:
    """Raise a usage error for an option that has an effect beside something else only."""
    if name in given_options() and not is_there:
        raise click.UsageError(
            f"{spelled(name)} has no effect without {needed}: add that, or leave {spelled(name)} out"
        )


@contextmanager
def as_usage() -> Iterator[None]:
    """Translate an error of the library into one of wrong usage."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


class Number(click.FloatRange):
    """A number in a range; nan, which passes every comparison, is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


def check_there(path: Path) -> None:
    """Raise an error for a path where nothing is, and for pipes and devices, which can be read once only."""
    try:
        is_there = path.exists()
    except (OSError, RuntimeError):  # links that lead to each other; a name that no file can have
        is_there = False
    if not is_there:
        raise FileNotFoundError(f"no such file: {path}")
    if not (path.is_file() or path.is_dir()):
        raise FileNotFoundError(f"not a file: {path}: pipes and devices can be read once only; save the data to a file")


def folder_option(default: str) -> Decorator:
    """Return the option --out of commands that write a folder."""
    kind = click.Path(file_okay=False, path_type=Path)
    return option("--out", type=kind, default=Path(default), show_default=True, help="The folder to write to.")


def file_options(default: Path | None, help: str) -> Decorator:
    """Return the options --out and --force of commands that write one file."""

    def add(command: Any) -> Any:
        kind = click.Path(dir_okay=False, path_type=Path)
        out = option("--out", type=kind, default=default, show_default=default is not None, help=help)
        return out(option("--force", is_flag=True, help="Overwrite a file that is there.")(command))

    return add


def check_file(path: Path, force: bool, *read: Path) -> None:
    """Raise an error where a file would be overwritten, or its folder be made; never overwrite what is ``read``."""
    if realpath(path) in map(realpath, read):
        raise click.UsageError(f"--out {path} is a file that is read: it would be lost; name another file")
    if path.exists() and not path.is_file():
        raise click.UsageError(f"--out {path} is not a file that can be replaced; name another")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}; create it, or name another file with --out")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: --force overwrites it, --out names another file")


def announce_folder(path: Path, place: str = " with --out") -> bool:
    """Raise an error for a folder in a place that does not exist; return whether the folder is new."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}; create it, or name another place{place}")
    return not path.exists()
