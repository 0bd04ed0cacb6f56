"""The data file of a command: its options, reading it, and checks of both; where commands write.

What can be known from the command line and from which files exist is checked before any file is read and before
anything heavy is imported: wrong usage, exit code 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce, wraps
from os.path import realpath
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ascd.cli.console import one_line, say
from ascd.io import opening, reading, tables

Decorator = Callable[[Any], Any]
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": reading.WHITESPACE}

EXISTING = click.Path(exists=True, path_type=Path)
FILE = (
    click.argument("data", type=EXISTING),
    click.option("--format", type=click.Choice(list(reading.FORMATS)), help="Of DATA.  [by the file's name]"),
    click.option("--sep", help="What separates columns of a CSV file: , ; tab space …  [found]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark of a CSV file.  [found]"),
    click.option("--header/--no-header", default=None, help="Whether the first line has names.  [found]"),
    click.option("--encoding", help="Of a CSV file, such as cp1252 or utf-16.  [utf-8]"),
    click.option("--na", multiple=True, help="A text that stands for a missing value; repeat for several."),
)
MEMORY = click.option("--memory", help="Read DATA (Parquet, or of ascd convert) in chunks, in so much memory (2GB).")
TARGET = click.option("--target", help="The target's column of a table.  [target, y or label, else the last]")
WITHOUT = click.option("--without", multiple=True, help="A column to leave out; repeat for several.")
DROP = click.option("--drop", is_flag=True, help="Leave out rows in which a value is missing.")
FILLED = "Fill missing numbers with this, missing words with the most frequent."
WORDS = "A text column becomes 0/1 columns if it has at most so many different values."
COLUMNS = (
    WITHOUT,
    DROP,
    click.option("--impute", type=click.Choice(tables.FILLS), help=FILLED),
    click.option("--levels", type=click.IntRange(1), default=20, show_default=True, help=WORDS),
)
COMPLETE = "--drop leaves out its rows, --without its column, --impute mean fills it"


class DataOptions(NamedTuple):
    """The data file, and what the options say about reading it."""

    data: Path
    target: str | None
    format: str | None
    memory: str | None
    dialect: reading.Dialect = reading.DETECT
    choices: tables.Choices = reading.AS_IT_IS

    @property
    def stays_on_disk(self) -> bool:
        """True where the data are read chunk by chunk, because of --memory or because they are a folder."""
        return self.memory is not None or self.data.is_dir()

    def check(self, may_stay: bool = False) -> None:
        """Raise an error for options with a wrong value, and for data that the command does not read."""
        if self.choices.drop and self.choices.impute:
            raise click.UsageError(f"--drop and --impute {self.choices.impute} exclude each other")
        if self.target is not None and self.target in self.choices.without:
            raise click.UsageError(f"--target {self.target} is left out by --without {self.target}")
        if self.data.is_dir() and not may_stay:
            raise click.UsageError(f"{self.data} is no file; fit and path read folders chunk by chunk")
        with as_usage():
            reading.check_separator(self.dialect.sep)
            opening.as_bytes(self.memory)
            if not (may_stay and self.stays_on_disk):
                self.format or reading.guess_format(self.data)
            elif self.data.suffix.lower() not in (*reading.FORMATS["parquet"], ".npy") and not self.data.is_dir():
                raise opening.not_on_disk(self.data)


def data_options(*options: Decorator) -> Decorator:
    """Add options that say how to read the data; the command gets them as one ``source``."""

    def decorate(command: Any) -> Any:
        @wraps(command)
        def bundled(**given: Any) -> Any:
            source = DataOptions(**{name: given.pop(name, None) for name in ("data", "target", "format", "memory")})
            dialect, choices = (_taken(kind, given) for kind in (reading.Dialect, tables.Choices))
            dialect = dialect._replace(sep=SEPARATORS.get(dialect.sep, dialect.sep))
            return command(source=source._replace(dialect=dialect, choices=choices), **given)

        return reduce(lambda made, option: option(made), reversed(options), bundled)

    return decorate


def _taken(kind: Any, given: dict[str, Any]) -> Any:
    found = {name: given.pop(name, None) for name in kind._fields}
    return kind(**{name: value for name, value in found.items() if value is not None})


def read_data(source: DataOptions) -> tables.LabeledData:
    """Read the data file; of data that stay on their disk read the target alone."""
    from pandas import Series

    if not source.stays_on_disk:
        table = reading.read_table(source.data, source.target, source.format, source.dialect, source.choices)
        tables.check_complete(table, source.data.name, COMPLETE)
        return table
    if source.choices.drop or source.choices.impute:
        raise click.UsageError("--drop and --impute need the data in memory; ascd convert has --drop")
    without, target = source.choices.without, source.target
    files = opening.parquet_files(source.data)
    if files:
        first = opening.open_parquet(files[0])
        left = [name for name in opening.parquet_columns(first) if name not in without]
        target = tables.find_target(left, target or opening.converted_target(first))
    data = opening.open_data(source.data, target=target, without=without, memory=source.memory)
    if data.y is None:
        raise ValueError(f"{source.data} holds no target; Parquet files and the folders of ascd convert do")
    recipe = tables.Recipe(written={"first": data.reader.first} if data.reader.is_sparse else {})
    notes = (f"{data.size / 1e6:,.1f} MB, read chunk by chunk",)
    return tables.LabeledData(data, tables.target_values(Series(data.y)), data.feature_names, target, notes, recipe)


def report_reading(data: tables.LabeledData, label: str) -> None:
    """Print how a file was read: what was found and what was done."""
    if data.notes:
        shape = f"{tables.counted(data.X.shape[0], 'row')}, {tables.counted(data.X.shape[1], 'feature')}"
        say(f"read {label}: {shape}{', ' + data.target_words.removeprefix('the ') if data.target else ''}")
        for note in data.notes:
            say(f"  {one_line(note)}")


def check_target(data: tables.LabeledData, is_classifier: bool = False) -> None:
    """Raise a ValueError for missing values, words where numbers are needed, and quantities where classes are."""
    y, gone = data.y, int(np.sum(~tables.has_target(data.y)))
    if gone:
        samples, row = tables.counted(gone, "sample"), int(np.argmin(tables.has_target(y))) + 1
        raise ValueError(
            f"{samples} without a target, or with an infinite one, the first in row {row}: --drop leaves them out"
        )
    if not is_classifier and y.dtype.kind not in "fiub":
        raise ValueError(
            f"{data.target_words} must be numbers here, its first value is {y[0]!r}; classes need logistic or svm"
        )
    if is_classifier and y.dtype.kind == "f" and (y != np.round(y)).any():
        raise ValueError(
            f"{data.target_words} has numbers such as {y[y != np.round(y)][0]:g}: is it a quantity? --model lasso fits "
            "one; classes are words or whole numbers"
        )


@contextmanager
def as_usage() -> Iterator[None]:
    """Translate an error of the library into one of wrong usage."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


# ---- where commands read and write


def folder_option(default: str) -> Decorator:
    """Return the option --out of commands that write a folder."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=default, show_default=True, help="The folder to write to.")


def file_options(default: Path | None, help: str) -> Decorator:
    """Return the options --out and --force of commands that write one file."""
    kind = click.Path(dir_okay=False, path_type=Path)
    out = click.option("--out", type=kind, default=default, show_default=default is not None, help=help)
    force = click.option("--force", is_flag=True, help="Overwrite a file that is there.")
    return lambda command: out(force(command))


def check_file(path: Path, force: bool, *read: Path) -> None:
    """Raise an error where a file would be overwritten, or its folder be made; never overwrite what is ``read``."""
    if realpath(path) in map(realpath, read):
        raise click.UsageError(f"--out {path} is a file that is read: it would be lost; name another file")
    check_folder(path)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: --force overwrites it, --out names another file")


def check_folder(path: Path) -> None:
    """Raise an error for a place in a folder that does not exist."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}; create it, or name another place")
