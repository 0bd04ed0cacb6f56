"""Data for commands: read or generated, told in a few lines, and refused where values or targets are not usable."""

from __future__ import annotations

from typing import Any, NamedTuple

import click
import numpy as np

from ascd.cli.console import say
from ascd.cli.options import MOST_LEVELS, Source
from ascd.cli.unused import GENERATED, ON_DISK, refuse_both, refuse_unused
from ascd.cli.usage import check_source, is_word, stays_on_disk
from ascd.files import Recipe, Table
from ascd.files.counting import counted
from ascd.files.gaps import empty_column, no_target
from ascd.files.mixed import Mixed, Numbers
from ascd.files.targets import as_target, has_target, target_of


class Loaded(NamedTuple):
    """A table and where it is from."""

    table: Table
    label: str


def read_data(source: Source, may_stay: bool = False) -> Loaded:
    """Read the data file, or generate what a word stands for; it ``may_stay`` on its disk."""
    data = source.data
    refuse_both(source)
    check_source(source, takes_words=True, may_stay=may_stay)
    if is_word(source):
        refuse_unused(source, GENERATED)
        from ascd.reproduction.datasets import make_synthetic, make_text_like

        made = make_synthetic(1000, 5000, rng=0) if str(data) == "synthetic" else make_text_like(5000, 10_000, rng=0)
        return Loaded(Table(made.A, made.b, None), f"generated data ({data})")
    if may_stay and stays_on_disk(source):
        refuse_unused(source, ON_DISK)
        return Loaded(_left_on_disk(source), data.name)
    refuse_unused(source)
    table = source.read()
    complete(table, data.name)
    return Loaded(table, data.name)


def _left_on_disk(source: Source) -> Table:
    """Data that are read piece by piece, and their target."""
    from ascd.files.folders import is_folder_of_groups
    from ascd.files.opening import open_data, stored_names

    for option, given in (("--drop", source.drop), ("--impute", source.impute), ("--without", source.without)):
        if given:
            raise click.UsageError(f"{option} needs the data in memory; prepare the file before, as ascd convert does")
    if isinstance(source.target, tuple):
        raise click.UsageError(
            f"several targets need the data in memory: leave out --memory; got {', '.join(source.target)}"
        )
    names, is_converted = stored_names(source.data), is_folder_of_groups(source.data)
    chosen = target_of(names, source.target, optional=False) if names else source.target if is_converted else None
    data = open_data(source.data, target=chosen, memory=source.memory)
    if data.y is None:
        raise ValueError(f"{source.data} holds no target; Parquet files and the folders of ascd convert do")
    target = data.reader.index["target"] if is_converted else chosen
    note = f"{data.size / 1e6:,.1f} MB, read piece by piece"
    first = data.reader.index.get("first") if is_converted else None
    recipe = Recipe() if first is None else Recipe(written={"first": first})
    table = Table(data, as_target(data.y), data.feature_names, target, (note,), recipe)
    check_targets(table, source.data.name, OUTSIDE)
    return table


def tell_reading(table: Table, label: str) -> None:
    """How a file was read, in a few lines: what was found out and what was done.  For when nothing is wrong with it."""
    if table.notes:
        shape = f"{counted(table.X.shape[0], 'row')}, {counted(table.X.shape[1], 'feature')}"
        target = f", target {_named(table)}" if table.target else ""
        say(f"read {label}: {shape}{target}")
        for note in table.notes:
            say(f"  {' '.join(note.split())}")  # a name may have line breaks


def the_target(table: Table) -> str:
    """The target, or several, in words: with its name where it has one."""
    return f"the target {_named(table)}" if table.target else "the target"


def _named(table: Table) -> str:
    """The target's name, or those of several."""
    return repr(table.target) if isinstance(table.target, str) else ", ".join(map(repr, table.target))


OUTSIDE = "leave them out of the file"
MENDED = "--drop leaves out their rows, --impute mean fills them"


def complete(table: Table, label: str, mended: str = MENDED, without: str = "--without {!r} leaves it out") -> None:
    """Refuse data with missing values, naming the first place and what can be done."""
    samples, features = table.X.shape
    if not samples:
        raise ValueError(f"{label} has no rows")
    if not features:
        raise ValueError(f"{label} has {samples} samples and {features} features: there is nothing to do")
    empty = empty_column(table)
    if empty is not None:
        raise ValueError(f"{label}: column {empty!r} has no value at all: {without.format(empty)}")
    count, row, place = _not_finite(table.X)
    if count:
        column = repr(table.names[place]) if table.names else place
        raise ValueError(
            f"{label} has {counted(count, 'missing or infinite value')}, the first in feature {column}, row {row + 1}: "
            f"{mended}"
        )
    check_targets(table, label, "--drop leaves them out")


def check_targets(table: Table, label: str, mended: str) -> None:
    """Refuse samples without a target."""
    gone = 0 if table.y is None else int(np.sum(~has_target(table.y)))
    if gone and gone == len(table.y):
        raise no_target(table)
    if gone:
        raise ValueError(f"{label} has {counted(gone, 'sample')} without a target, or with an infinite one: {mended}")


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
        raise one_target(model, table.y.shape[1])


def one_target(model: str, count: int) -> ValueError:
    """The error of several targets for a model of one."""
    return ValueError(f"model {model!r} has one target; there are {count}: multi-task-lasso fits several")


def numeric_target(table: Table) -> None:
    """Refuse words where numbers are needed."""
    if table.y.dtype.kind not in "fiub":
        raise ValueError(
            f"{the_target(table)} must be numbers here, its first value is {table.y[0]!r}; classes need logistic or svm"
        )


def count_target(table: Table, model: str) -> None:
    """Refuse targets that are no counts."""
    y = np.asarray(table.y)
    lowest = int(np.argmin(y))
    if y[lowest] < 0:
        raise ValueError(
            f"{the_target(table)} must be 0 or more for model {model!r}, which fits counts; row {lowest + 1} has "
            f"{y[lowest]:g}: name another column with --target, or fit another model, such as --model lasso"
        )


def several_classes(table: Table) -> None:
    """Refuse a target that is the same everywhere where classes are needed."""
    values = sorted({str(value) for value in np.ravel(table.y)})
    if len(values) < 2:
        raise ValueError(
            f"{the_target(table)} is {values[0]} in every row: a classifier needs two classes; name another with "
            "--target"
        )


def class_target(table: Table) -> None:
    """Question numbers that look like a quantity where classes are needed."""
    y = np.asarray(table.y)
    if y.dtype.kind not in "fiu":
        return
    values = np.unique(y)
    is_whole = bool((values == np.round(values)).all())
    if values.size > 2 and (not is_whole or values.size > max(MOST_LEVELS, y.size // 10)):
        raise ValueError(
            f"{the_target(table)} has {values.size} different numbers in {y.size} samples ({values[0]:g} to "
            f"{values[-1]:g}): is it a quantity? --model lasso fits one; --classes takes each number for a class"
        )
