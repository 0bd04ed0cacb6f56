"""Options and arguments that several commands share: the data file and how to read it, and parts by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np
from click.shell_completion import CompletionItem

from ascd.cli.console import say
from ascd.files import FORMATS, Choices, Dialect, Recipe, Table, read_table
from ascd.files.counting import counted
from ascd.files.dialect import WHITESPACE
from ascd.files.gaps import FILLS
from ascd.files.mixed import Mixed, Numbers
from ascd.files.targets import has_target, target_of

Command = TypeVar("Command", bound=Callable[..., Any])
GENERATED = ("synthetic", "text")
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": WHITESPACE, " ": WHITESPACE, "comma": ",", "semicolon": ";"}
#: Different values that a text column may have, to become columns of 0 and 1.
MOST_LEVELS = 20


class Loaded(NamedTuple):
    """A table and where it is from."""

    table: Table
    label: str


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

    def read(self, **others: Any) -> Table:
        """The table; ``others`` are further arguments of ``read_table``."""
        sep = None if self.sep is None else SEPARATORS.get(self.sep, self.sep)
        return read_table(
            self.data,
            self.target,
            self.format,
            dialect=Dialect(sep, self.decimal, self.header),
            choices=Choices(self.without, self.drop, self.impute or "", self.levels),
            na=self.na,
            **others,
        )


class Named(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click only
    """A part's name, with literal arguments in parentheses; completed and checked by the library's tables."""

    def __init__(self, role: str) -> None:
        self.name = self.role = role

    def names(self) -> list[str]:
        from ascd.engine.oracles import ORACLES
        from ascd.engine.rules import RULES
        from ascd.engine.steepness import STEEPNESS
        from ascd.engine.steps import STEPS

        return list({"rule": RULES, "oracle": ORACLES, "steepness": STEEPNESS, "step": STEPS}[self.role])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ascd._base.checks import unknown_name

        names = self.names()
        if str(value).partition("(")[0] not in names:
            self.fail(str(unknown_name(value, self.role, names)), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]


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
            return command(source=Source(**found), **given)

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


def read_data(source: Source, may_stay: bool = False) -> Loaded:
    """Read the data file, or generate what a word stands for; it ``may_stay`` on its disk."""
    data = source.data
    if str(data) in GENERATED and not data.exists():
        from ascd.datasets import make_synthetic, make_text_like

        made = make_synthetic(1000, 5000, rng=0) if str(data) == "synthetic" else make_text_like(5000, 10_000, rng=0)
        return Loaded(Table(made.A, made.b, None), f"generated data ({data})")
    if may_stay and (source.memory is not None or data.is_dir() or data.suffix in (".npy", ".zarr")):
        return Loaded(_left_on_disk(source), data.name)
    table = source.read()
    complete(table, data.name)
    return Loaded(table, data.name)


def _left_on_disk(source: Source) -> Table:
    """Data that are read piece by piece, and their target."""
    from ascd.files.folders import is_folder_of_groups
    from ascd.files.opening import open_data

    for option, given in (("--drop", source.drop), ("--impute", source.impute), ("--without", source.without)):
        if given:
            raise ValueError(f"{option} needs the data in memory; prepare the file before, as ascd convert does")
    if isinstance(source.target, tuple):
        raise ValueError(f"several targets need the data in memory: leave out --memory; got {', '.join(source.target)}")
    is_converted = is_folder_of_groups(source.data)
    data = open_data(source.data, target=source.target if is_converted else None, memory=source.memory)
    target = data.reader.index["target"] if is_converted else source.target
    if data.y is None and data.feature_names:
        target = target_of(data.feature_names, target, optional=False)
        data = open_data(source.data, target=target, memory=source.memory)
    if data.y is None:
        raise ValueError(f"{source.data} holds no target; Parquet files and the folders of ascd convert do")
    note = f"{data.size / 1e6:,.1f} MB, read piece by piece"
    return Table(data, data.y, data.feature_names, target, (note,))


def tell_reading(table: Table, label: str) -> None:
    """How a file was read, in a few lines: what was found out and what was done.  For when nothing is wrong with it."""
    if table.notes:
        shape = f"{counted(table.X.shape[0], 'row')}, {counted(table.X.shape[1], 'feature')}"
        target = f", target {_named(table)}" if table.target else ""
        say(f"read {label}: {shape}{target}")
        for note in table.notes:
            say(f"  {' '.join(note.split())}")  # a name may have line breaks


def _named(table: Table) -> str:
    """The target's name, or those of several."""
    return repr(table.target) if isinstance(table.target, str) else ", ".join(map(repr, table.target))


MENDED = "--drop leaves out their rows, --impute mean fills them"


def complete(table: Table, label: str, mended: str = MENDED) -> None:
    """Refuse data with missing values, naming the first place and what can be done."""
    samples, features = table.X.shape
    if not samples or not features:
        raise ValueError(f"{label} has {samples} samples and {features} features: there is nothing to do")
    count, row, place = _not_finite(table.X)
    if count:
        column = repr(table.names[place]) if table.names else place
        raise ValueError(
            f"{label} has {counted(count, 'missing or infinite value')}, the first in feature {column}, row {row + 1}: "
            f"{mended}"
        )
    gone = 0 if table.y is None else int(np.sum(~has_target(table.y)))
    if gone:
        raise ValueError(f"{label} has {counted(gone, 'sample')} without a target: --drop leaves them out")


def _not_finite(X: Any) -> tuple[int, int, int]:
    """How many values are missing or infinite, and row and column of the first."""
    if isinstance(X, Mixed):
        return X.bad()
    if not hasattr(X, "tocoo"):
        return Numbers([], X).bad()
    stored = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(stored.data))
    return (bad.size, stored.row[bad[0]], stored.col[bad[0]]) if bad.size else (0, 0, 0)


def single_target(table: Table, model: str) -> None:
    """Refuse several targets where a model has one."""
    if np.ndim(table.y) == 2:
        count = table.y.shape[1]
        raise ValueError(f"model {model!r} has one target; there are {count}: multi-task-lasso fits several")


def numeric_target(table: Table) -> None:
    """Refuse words where numbers are needed."""
    if table.y.dtype.kind not in "fiub":
        named = f"target {_named(table)}" if table.target else "target"
        raise ValueError(
            f"the {named} must be numbers here, its first value is {table.y[0]!r}; classes need logistic or svm"
        )


def class_target(table: Table) -> None:
    """Question numbers that look like a quantity where classes are needed."""
    y = np.asarray(table.y)
    if y.dtype.kind not in "fiu":
        return
    values = np.unique(y)
    is_whole = bool((values == np.round(values)).all())
    if values.size > 2 and (not is_whole or values.size > max(MOST_LEVELS, y.size // 10)):
        named = f"target {_named(table)}" if table.target else "target"
        raise ValueError(
            f"the {named} has {values.size} different numbers in {y.size} samples ({values[0]:g} to {values[-1]:g}): "
            "is it a quantity? --model lasso fits one; --classes takes each number for a class"
        )


def recipe_of(header: dict[str, Any]) -> Recipe:
    """The recipe that a model file holds."""
    return Recipe(**header["data"].get("recipe", {}))
